//! Escape, in PHP.

use super::*;

#[test]
fn esc_02_native_code_is_missing() {
    case(&[PHP], || {
        Attack::new(PHP).ends(&["raised"]).run(&[
            "FFI::cdef('int system(const char *);', 'libc.so.6')->system('id');",
            "dl('x.so');",
            "pcntl_exec('/bin/sh');",
            "socket_create(AF_INET, SOCK_STREAM, SOL_TCP);",
            "opcache_compile_file('/etc/passwd');",
            "shmop_open(1, 'c', 0600, 100);",
            "require '/etc/passwd';",
            "new COM('x');",
        ]);
    });
}

#[test]
fn esc_03_starting_a_process_is_a_clear_error() {
    case(&[PHP], || {
        for code in
            ["shell_exec('id')", "exec('id')", "system('id')", "passthru('id')", "popen('id', 'r')", "`id`"]
        {
            let outcome = sandbox::eval(PHP, &format!("({code}) ?: false"));
            assert_eq!(value(&outcome)["value"], false, "{code}: {}", told(&outcome));
            assert!(outcome.stderr.text.contains("Warning: "), "{code}: {}", told(&outcome));
        }
        for code in ["proc_open('id', [], $p);", "pcntl_fork();"] {
            assert_ends(&sandbox::eval(PHP, code), &["raised Error"]);
        }
        assert_eq!(value(&sandbox::eval(PHP, "posix_kill(2, 9)"))["value"], false);
        let outcome = sandbox::eval(PHP, "mail('a@b.c', 's', 'm')");
        assert!(!told(&outcome).contains("\"value\": true"), "{}", told(&outcome));
    });
}

#[test]
fn esc_04_source_and_data_bombs_are_errors_or_limits() {
    case(&[PHP], || {
        let ends = ["raised", "returned", "limit_time", "limit_memory", "limit_stack"];
        Attack::new(PHP).wall(4_000).ends(&ends).run(&[
            &format!("{}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000)),
            &format!("{}1", "!".repeat(1_000_000)),
            &format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
            &format!("{}1", "fn() => ".repeat(20_000)),
            &"if (1) {".repeat(50_000),
            &format!("1{}", " + 1".repeat(200_000)),
            &format!("$a{}", "->b".repeat(100_000)),
            &format!("$a{} = 1", "[0]".repeat(100_000)),
            "eval(str_repeat('(', 1000000));",
            "json_decode(str_repeat('[', 1000000), depth: 2147483647);",
            "json_decode(str_repeat('{\"a\":', 100000), depth: 2147483647);",
            "unserialize(str_repeat('a:1:{i:0;', 100000), ['max_depth' => 0]);",
            "unserialize('O:8:\"stdClass\":2147483647:{');",
            "preg_match('/' . str_repeat('(?:', 100000) . str_repeat(')', 100000) . '/', 'a');",
            "preg_match('/(?R)/', str_repeat('a', 1000));",
            "$d = new DOMDocument; $d->loadXML(str_repeat('<a>', 100000) . str_repeat('</a>', 100000), LIBXML_PARSEHUGE); $d->saveXML();",
            "$d = new DOMDocument; $n = $d; for ($i = 0; $i < 10000; $i++) $n = $n->appendChild($d->createElement('a')); $d->saveXML(); $d->cloneNode(true); $d->normalize();",
            "Dom\\HTMLDocument::createFromString(str_repeat('<div>', 5000), LIBXML_NOERROR)->saveHtml();",
            "$x = '<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\">'; $p = 'a'; foreach (range('b', 'm') as $c) { $x .= \"<!ENTITY $c '\" . str_repeat(\"&$p;\", 10) . \"'>\"; $p = $c; } (new DOMDocument)->loadXML(\"$x]><a>&m;</a>\", LIBXML_NOENT | LIBXML_PARSEHUGE);",
            "preg_match('/^(a+)+$/', str_repeat('a', 60) . 'b');",
            "new SplFixedArray(PHP_INT_MAX);",
            "var_export(unserialize(serialize((function () { $a = []; for ($i = 0; $i < 3000; $i++) $a = [$a]; return $a; })())), true); 1",
            "$d = new DateTime('@' . PHP_INT_MAX); $d->modify('+1000000000 years'); 1",
            "bcpow('9', '999999');",
            "iterator_count(new DatePeriod(new DateTime, new DateInterval('PT1S'), new DateTime('+9999 years')));",
            "gzinflate(str_repeat(gzdeflate(str_repeat('a', 1 << 20)), 1000)); 1",
            "mb_convert_encoding(str_repeat('a', 1 << 24), 'HTML', 'UTF-8'); 1",
        ]);
    });
}

#[test]
fn esc_05_a_patched_interpreter_is_gone_with_its_run() {
    case(&[PHP], || {
        Attack::new(PHP).wall(3_000).ends(&CONTAINED).run(&[
            "ini_set('precision', 1); ini_set('memory_limit', '1M'); date_default_timezone_set('Asia/Tokyo'); chdir('/tmp'); putenv('X=1');",
            "set_error_handler(fn() => die(1)); set_exception_handler(fn() => die(2)); ob_start(fn() => ''); setlocale(LC_ALL, 'C');",
            "$GLOBALS['canary'] = 1; mt_srand(1); spl_autoload_register(function () { die(3); }); stream_wrapper_unregister('file');",
        ]);
        let clean = "[0.1 + 0.2, ini_get('memory_limit'), date_default_timezone_get(), getcwd(), getenv('X'), isset($canary), count(spl_autoload_functions()), in_array('file', stream_get_wrappers()), ob_get_level()]";
        let found = value(&sandbox::eval(PHP, clean));
        let flat: Vec<_> =
            found["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
        assert_eq!(json!(flat), json!([0.1 + 0.2, "-1", "UTC", "/tmp", false, false, 0, true, 0]));
    });
}

#[test]
fn esc_06_configuration_tricks_have_no_effect_on_the_wall() {
    case(&[PHP], || {
        let canary = canary::path();
        let code = format!(
            "ini_set('open_basedir', '/'); ini_set('disable_functions', ''); ini_set('include_path', '/'); ini_set('auto_prepend_file', '/etc/passwd'); ini_set('sys_temp_dir', '/'); ini_set('error_log', '/etc/x'); putenv('LD_PRELOAD=/tmp/x.so'); error_log('x'); return @file_get_contents({:?});",
            canary.display()
        );
        let mut request = sandbox::request(PHP, code);
        let variables = [("LD_PRELOAD", "/tmp/x.so"), ("PHPRC", "/etc"), ("PHP_INI_SCAN_DIR", "/etc")];
        request.context.grants.environment =
            variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let outcome = sandbox::run_request(request);
        assert_eq!(value(&outcome)["value"], false, "{}", told(&outcome));
        Attack::new(PHP).wall(300).ends(&["limit_time"]).run(&[
            "set_time_limit(0); ini_set('max_execution_time', '0'); ignore_user_abort(true); while (true);",
        ]);
    });
}

#[test]
fn esc_07_replaced_functions_do_not_reach_the_encoder() {
    case(&[PHP], || {
        for code in [
            "function array_is_list_() { return 1; } set_error_handler(fn() => 666); return ['a' => 1];",
            "class stdClass_ {} ini_set('serialize_precision', '1'); ini_set('precision', '1'); return ['a' => 1];",
            "ob_start(fn($s) => '666'); return ['a' => 1];",
        ] {
            let plain = json!({"type": "array", "is_list": false, "count": 1, "value": {"a": {"type": "int", "value": 1}}});
            assert_eq!(value(&sandbox::eval(PHP, code)), plain, "{code}");
        }
        let json = value(&sandbox::eval(
            PHP,
            "new class implements JsonSerializable { public $a = 1; function jsonSerialize(): mixed { return 666; } function __get($n) { return 666; } function __serialize(): array { return []; } }",
        ));
        assert_eq!(json["properties"], json!({"a": {"type": "int", "value": 1}}), "{json}");
    });
}

#[test]
fn esc_08_only_what_was_granted_is_seen_of_the_surroundings() {
    case(&[PHP], || {
        let code = "ob_start(); phpinfo(); $info = ob_get_clean(); return [getenv(), $_ENV, $argv ?? [], getcwd(), php_uname(), get_current_user(), gethostname(), sys_get_temp_dir(), php_ini_loaded_file(), get_include_path(), getmypid(), str_split($info, 9000), get_defined_constants()['PHP_BINARY']];";
        let outcome = sandbox::eval(PHP, code);
        nothing_of_the_host(&answer(&outcome).to_string());
        // The home is the guest's own.
        let home = json!({"type": "string", "value": "/tmp"});
        assert_eq!(value(&outcome)["value"][0]["value"], json!({"HOME": home}), "no variable was granted");
        let granted = sandbox::snippet(PHP, "getenv()").env("ONLY", "this");
        let value = value(&sandbox::run(granted));
        assert_eq!(value["value"], json!({"HOME": home, "ONLY": {"type": "string", "value": "this"}}));
    });
}
