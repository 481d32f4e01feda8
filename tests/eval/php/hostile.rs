//! Extensions and input that means them harm: PHP's errors within the run's limits, or the end of that run, and the next one works.

use dormouse::Outcome;
use dormouse_tests::ending::{ending, exception, told, value};
use dormouse_tests::{PHP, sandbox};
use serde_json::json;

use super::each;

/// Runs what may give a value, an exception or meet a limit, and never ends the guest.
#[track_caller]
fn within_limits(code: &str) -> Outcome {
    let outcome = sandbox::eval(PHP, code);
    let end = ending(&outcome);
    let allowed = end == "returned" || end.starts_with("raised ") || end.starts_with("limit_");
    assert!(allowed, "{code} ended with `{end}`: {}", told(&outcome));
    outcome
}

fn the_next_run_works() {
    assert_eq!(sandbox::value_of(PHP, "1 + 1")["value"], json!(2));
}

/// An archive of 1 MB that unpacks to 1 GiB, read whole.
#[test]
fn lng_41_a_zip_bomb_meets_the_limits() {
    let code = "$z = new ZipArchive; $z->open('a.zip', ZipArchive::CREATE); file_put_contents('zeros', str_repeat(\"\\0\", 64 << 20)); for ($i = 0; $i < 4; $i++) $z->addFile('zeros', \"f$i\"); $z->close(); $z->open('a.zip'); $all = []; for ($round = 0; $round < 32; $round++) for ($i = 0; $i < 4; $i++) { $part = $z->getFromName(\"f$i\"); if ($part === false) throw new RuntimeException('refused'); $all[] = $part; } count($all)";
    let outcome = within_limits(code);
    assert_ne!(ending(&outcome), "returned");
    the_next_run_works();
}

#[test]
fn lng_42_damaged_archives_are_errors() {
    each(&[
        ("file_put_contents('a.zip', 'PK' . random_bytes(3000)); (new ZipArchive)->open('a.zip')", json!(19)),
        (
            "$z = new ZipArchive; $z->open('a.zip', ZipArchive::CREATE); $z->addFromString('one', str_repeat('text', 100)); $z->close(); $b = file_get_contents('a.zip'); $wrong = 0; for ($i = 0; $i < strlen($b); $i++) { $c = $b; $c[$i] = chr(ord($c[$i]) ^ 0xff); file_put_contents('b.zip', $c); $r = new ZipArchive; if ($r->open('b.zip') === true) { if (@$r->getFromName('one', 1000) === 'x') $wrong++; } } $wrong",
            json!(0),
        ),
        // A path out of the folder stays in it.
        (
            "$z = new ZipArchive; $z->open('a.zip', ZipArchive::CREATE); $z->addFromString('../../escaped', 'x'); $z->close(); $z->open('a.zip'); mkdir('in'); $z->extractTo('in'); [file_exists('escaped'), file_exists('/escaped'), file_exists('in/escaped')] == [false, false, true]",
            json!(true),
        ),
    ]);
}

/// 60,000 by 60,000 pixels are 14 GB.
#[test]
fn lng_43_pictures_of_any_claimed_size_meet_the_limits() {
    let header = "\"\\x89PNG\\r\\n\\x1a\\n\" . ($p = fn($t, $d) => pack('N', strlen($d)) . $t . $d . pack('N', crc32($t . $d)))('IHDR', pack('NNCCCCC', 60000, 60000, 8, 6, 0, 0, 0)) . $p('IDAT', gzcompress(str_repeat(\"\\0\", 1000))) . $p('IEND', '')";
    for code in [
        format!("@imagecreatefromstring({header})"),
        "@imagecreatetruecolor(60000, 60000)".to_owned(),
        "@imagecreatetruecolor(PHP_INT_MAX, 2)".to_owned(),
        "@imagecreatefromstring(\"GIF89a\" . pack('vvCCC', 60000, 60000, 0, 0, 0) . ',' . pack('vvvvC', 0, 0, 60000, 60000, 0) . \"\\x02\\x01\\x00;\")".to_owned(),
        "@imagescale(imagecreatetruecolor(10, 10), 100000, 100000)".to_owned(),
    ] {
        let outcome = within_limits(&format!("json_encode({code})"));
        if ending(&outcome) == "returned" {
            assert_eq!(value(&outcome)["value"], "false", "{code}");
        }
        the_next_run_works();
    }
    each(&[
        ("@imagecreatefromstring('no picture')", json!(false)),
        (
            "ob_start(); imagepng(imagecreatetruecolor(30, 30)); $b = ob_get_clean(); $n = 0; for ($i = 8; $i < strlen($b); $i++) { $c = $b; $c[$i] = chr(ord($c[$i]) ^ 0x55); @imagecreatefromstring($c); $n++; } $n > 50",
            json!(true),
        ),
        (
            "ob_start(); imagejpeg(imagecreatetruecolor(30, 30)); $b = ob_get_clean(); $n = 0; for ($i = 2; $i < strlen($b); $i++) { $c = $b; $c[$i] = chr(ord($c[$i]) ^ 0x55); @imagecreatefromstring($c); $n++; } $n > 300",
            json!(true),
        ),
    ]);
}

#[test]
fn lng_44_sodium_refuses_wrong_sizes() {
    for (code, class, part) in [
        (
            "sodium_crypto_secretbox('a', 'short', 'short')",
            "SodiumException",
            "must be SODIUM_CRYPTO_SECRETBOX_NONCEBYTES bytes long",
        ),
        (
            "sodium_crypto_sign_verify_detached('a', 'b', 'c')",
            "SodiumException",
            "must be SODIUM_CRYPTO_SIGN_BYTES bytes long",
        ),
        ("sodium_crypto_generichash('a', '', 1)", "SodiumException", "unsupported output length"),
        (
            "sodium_crypto_pwhash(16, 'p', str_repeat('s', 16), 1, 1)",
            "SodiumException",
            "must be greater than or equal to",
        ),
        ("sodium_crypto_pwhash(PHP_INT_MAX, 'p', str_repeat('s', 16), 1, 8192)", "SodiumException", "length"),
        ("sodium_unpad('abc', 0)", "SodiumException", "must be greater than"),
    ] {
        let outcome = sandbox::eval(PHP, code);
        let raised = exception(&outcome);
        assert!(raised.class == class && raised.message.contains(part), "{code}: {raised:?}");
    }
    let outcome = within_limits("sodium_crypto_pwhash(16, 'p', str_repeat('s', 16), 1, 8 << 30)");
    assert_ne!(ending(&outcome), "returned");
    the_next_run_works();
}

#[test]
fn lng_45_numbers_that_no_memory_holds_are_errors() {
    for code in [
        "gmp_pow(2, 1 << 40)",
        "gmp_pow(gmp_pow(2, 1 << 20), 1 << 20)",
        "gmp_init(3) << (1 << 36)",
        "gmp_setbit($a = gmp_init(0), 1 << 33)",
        "gmp_random_bits(1 << 40)",
        "gmp_fact(1 << 40)",
        "gmp_import('a', PHP_INT_MAX)",
        "gmp_export('5', PHP_INT_MAX)",
    ] {
        assert_ne!(ending(&within_limits(code)), "returned", "{code}");
    }
    each(&[
        ("gmp_strval(gmp_pow(1, PHP_INT_MAX))", json!("1")),
        ("gmp_strval(gmp_pow(-1, PHP_INT_MAX))", json!("-1")),
        ("gmp_strval(gmp_init(-5) >> PHP_INT_MAX)", json!("-1")),
        ("gmp_strval(gmp_root(7, PHP_INT_MAX))", json!("1")),
    ]);
    the_next_run_works();
}

#[test]
fn lng_46_files_that_are_no_files_have_a_kind() {
    each(&[
        (
            "$n = 0; for ($i = 1; $i < 201; $i++) { $n += is_string((new finfo(FILEINFO_MIME_TYPE))->buffer(random_bytes($i))); } $n",
            json!(200),
        ),
        ("@mime_content_type('/tmp/none')", json!(false)),
        ("@(new finfo(FILEINFO_NONE))->buffer(str_repeat('{\"a\":[', 20000)) !== ''", json!(true)),
    ]);
}

#[test]
fn lng_47_ciphers_and_keys_refuse_what_does_not_fit() {
    each(&[
        (
            "@openssl_decrypt('no text of it', 'aes-256-cbc', 'key', OPENSSL_RAW_DATA, str_repeat('i', 16))",
            json!(false),
        ),
        ("@openssl_encrypt('a', 'aes-256-gcm', 'key', 0, '', $tag)", json!(false)),
        ("@openssl_encrypt('a', 'none', 'key')", json!(false)),
        (
            "@openssl_pkey_get_private(\"-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----\\n\")",
            json!(false),
        ),
        ("@openssl_pkey_new(['private_key_bits' => 1 << 20])", json!(false)),
        ("@openssl_verify('a', 'b', 'no key')", json!(false)),
        (
            "$k = openssl_pkey_new(['private_key_type' => OPENSSL_KEYTYPE_EC, 'curve_name' => 'secp384r1']); openssl_pkey_export($k, $pem); $n = 0; for ($i = 30; $i < strlen($pem) - 30; $i++) { $c = $pem; $c[$i] = 'A'; @openssl_pkey_get_private($c); $n++; } $n > 100",
            json!(true),
        ),
    ]);
    let outcome = sandbox::eval(PHP, "openssl_random_pseudo_bytes(0)");
    let raised = exception(&outcome);
    assert_eq!(raised.class, "ValueError");
}

#[test]
fn lng_48_regular_expressions_that_take_for_ever_meet_the_limits() {
    within_limits("json_encode(@mb_ereg('^(a+)+$', str_repeat('a', 40) . 'b'))");
    each(&[("@mb_ereg(str_repeat('(', 5000), 'a')", json!(false))]);
    the_next_run_works();
}
