//! Integers have 64 bits and addresses 32: lengths and offsets that do not fit an address mean what they mean elsewhere.

use serde_json::json;

#[test]
fn lengths_and_offsets_beyond_an_address_do_not_wrap() {
    super::each(&[
        ("substr('x', PHP_INT_MIN)", json!("x")),
        ("substr('abc', 1 << 32)", json!("")),
        ("substr('abc', 0, (1 << 32) + 1)", json!("abc")),
        ("substr('abc', -(1 << 32) - 1, 2)", json!("ab")),
        ("substr_replace('abc', 'x', 1 << 32)", json!("abcx")),
        ("mb_substr('bar', 1 << 32, 1) . '|' . mb_substr('bar', 0, 1 << 32)", json!("|bar")),
        ("mb_strcut('bar', 0, 1 << 32)", json!("bar")),
        ("iconv_substr('bar', 0, (1 << 32) + 1)", json!("bar")),
        ("@'abc'[(1 << 32) + 1]", json!("")),
        ("isset('abc'[1 << 32])", json!(false)),
        ("$s = 'abc'; isset($s[(1 << 32) + 1])", json!(false)),
        ("strncmp('ab', 'ac', (1 << 32) + 1) < 0", json!(true)),
        ("substr_compare('ab', 'ac', 0, (1 << 32) + 1) < 0", json!(true)),
        ("try { strpos('abc', 'a', 1 << 32); } catch (ValueError) { return 'refused'; }", json!("refused")),
        ("strspn('abc', 'abc', 1 << 32)", json!(0)),
        ("str_split('abc', (1 << 32) + 1)[0]", json!("abc")),
        ("number_format(15151, -1) . '|' . number_format(15151, -20)", json!("15,150|0")),
        (
            "$f = fopen('php://memory', 'w+'); fwrite($f, 'abc'); rewind($f); stream_get_contents($f, 1 << 32)",
            json!("abc"),
        ),
        ("fseek(fopen('php://memory', 'w+'), 1 << 32)", json!(-1)),
        ("$d = new PDO('sqlite::memory:'); $d->query('select 1')->getColumnMeta(0)['len']", json!(-1)),
    ]);
}
