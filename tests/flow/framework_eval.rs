//! The profile `eval`: `framework__eval` over standard input and output, as the seed describes it (S1-01, S1-10 to S1-12,
//! S1-28 to S1-36).

use std::fs;

use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// The seed's own example: a repository behind the container, which finds nothing or throws.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "vendor/autoload.php",
        "<?php spl_autoload_register(function ($class) {
            $file = '/project/src/' . strtr($class, '\\\\', '/') . '.php';
            if (is_file($file)) require $file;
        });",
    );
    write(
        "src/App/User/UserRepository.php",
        "<?php namespace App\\User;\nclass UserRepository {\n    public function findByEmail(string $email): ?array { return null; }\n    \
         public function get(string $email): array {\n        throw new UserNotFoundException(\"No user with email '$email'\");\n    }\n}\n",
    );
    write(
        "src/App/User/UserNotFoundException.php",
        "<?php namespace App\\User;\nclass UserNotFoundException extends \\RuntimeException {}\n",
    );
    write(
        "config/container.php",
        "<?php return new class { public function get(string $id) { return new $id(); } };",
    );
    folder
}

fn server(folder: &TempDir, more: &[&str]) -> Wire {
    let path = folder.path().to_str().unwrap();
    Wire::greeted(&[&["--profile", "eval", "--project", path], more].concat())
}

fn structured(wire: &mut Wire, id: i64, snippet: &str) -> Json {
    wire.call(id, "framework__eval", json!({"snippet": snippet}))["structuredContent"].clone()
}

#[test]
fn s1_01_the_tool_is_listed_in_the_seeds_words() {
    let folder = project();
    let mut wire = server(&folder, &[]);
    let tools = wire.ask(1, "tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 1, "{tools}");
    let tool = &tools[0];
    assert_eq!(tool["name"], "framework__eval");
    assert_eq!(
        tool["description"],
        "Execute a PHP snippet against the live container, return structured result"
    );
    let input = &tool["inputSchema"];
    assert_eq!(input["required"], json!(["snippet"]));
    assert_eq!(input["additionalProperties"], false);
    let types = ["snippet", "timeout_ms", "allow_writes", "allow_network"]
        .map(|name| input["properties"][name]["type"].clone());
    assert_eq!(json!(types), json!(["string", "integer", "boolean", "boolean"]));
    let timeout = &input["properties"]["timeout_ms"];
    assert_eq!(
        (&timeout["default"], &timeout["minimum"], &timeout["maximum"]),
        (&json!(5_000), &json!(100), &json!(60_000))
    );
}

#[test]
fn s1_36_the_seeds_two_examples_come_back_in_its_form() {
    let folder = project();
    let mut wire = server(&folder, &[]);
    let none = structured(
        &mut wire,
        1,
        "$users = container(App\\User\\UserRepository::class);\nreturn $users->findByEmail('does-not-exist@example.com');",
    );
    assert_eq!(none["result"], json!({"type": "null", "value": null}));
    assert_eq!(
        (&none["stdout"], &none["stderr"], &none["exception"]),
        (&json!(""), &json!(""), &json!(null))
    );
    assert!(none["duration_ms"].is_u64() && none["memory_peak_bytes"].is_u64(), "{none}");
    assert_eq!(
        (&none["ok"], &none["exit_code"], &none["timed_out"]),
        (&json!(true), &json!(0), &json!(false))
    );

    let thrown = structured(&mut wire, 2, "return container(App\\User\\UserRepository::class)->get('x');");
    assert_eq!(thrown["result"], json!(null));
    let exception = &thrown["exception"];
    assert_eq!(exception["class"], "App\\User\\UserNotFoundException");
    assert_eq!(exception["message"], "No user with email 'x'");
    assert_eq!(exception["file"], "src/App/User/UserRepository.php");
    assert_eq!(exception["line"], 5);
    assert_eq!(
        exception["stack_trace"][0],
        "App\\User\\UserRepository->get (src/App/User/UserRepository.php:5)"
    );
    assert_eq!((&thrown["ok"], &thrown["exit_code"]), (&json!(false), &json!(1)));
}

#[test]
fn s1_13_the_typed_values_of_the_seed() {
    let folder = project();
    let mut wire = server(&folder, &[]);
    for (id, (snippet, wanted)) in (1..).zip([
        ("return 1 + 1;", json!({"type": "int", "value": 2})),
        ("return 'text';", json!({"type": "string", "value": "text"})),
        ("return null;", json!({"type": "null", "value": null})),
        (
            "return [1];",
            json!({"type": "array", "is_list": true, "count": 1, "value": [{"type": "int", "value": 1}]}),
        ),
        ("return NAN;", json!({"type": "float", "value": "NaN"})),
    ]) {
        assert_eq!(structured(&mut wire, id, snippet)["result"], wanted, "{snippet}");
    }
    let object = structured(&mut wire, 20, "class User { public $id = 42; } return new User();");
    assert_eq!((&object["result"]["type"], &object["result"]["class"]), (&json!("object"), &json!("User")));
    assert!(object["result"]["id"].is_u64(), "{object}");
    let endless = structured(&mut wire, 21, "return (function () { for ($i = 0; ; $i++) yield $i; })();");
    let result = &endless["result"];
    assert_eq!((&result["type"], &result["exhausted"]), (&json!("iterable"), &json!(false)));
    assert_eq!(result["preview"].as_array().unwrap().len(), 50);
    assert!(result.get("size_hint").is_none_or(Json::is_null), "{result}");
}

#[test]
fn s1_30_to_s1_35_the_guard_rails_hold() {
    let folder = project();
    let mut wire = server(&folder, &[]);
    let looped = wire.call(1, "framework__eval", json!({"snippet": "for (;;);", "timeout_ms": 200}));
    let killed = &looped["structuredContent"];
    assert_eq!((&killed["timed_out"], &killed["exit_code"]), (&json!(true), &json!(124)));
    assert_eq!((&killed["result"], &killed["exception"]), (&json!(null), &json!(null)));
    let bomb = structured(&mut wire, 2, "$a = 'x'; for (;;) $a .= $a;");
    assert!(
        bomb["exception"]["class"] == "OutOfMemoryError" || bomb["error"]["code"] == "limit_memory",
        "{bomb}"
    );
    for (id, function) in (3..).zip(["exec", "shell_exec", "passthru", "system", "proc_open", "popen"]) {
        let call = match function {
            "proc_open" => "proc_open('id', [], $pipes)".to_owned(),
            "popen" => "popen('id', 'r')".to_owned(),
            _ => format!("{function}('id')"),
        };
        let answer = structured(&mut wire, id, &format!("return {call};"));
        let printed = answer["stdout"].as_str().unwrap();
        assert!(!printed.contains("uid="), "{answer}");
        let refused = !answer["exception"].is_null()
            || matches!(answer["result"]["value"], Json::Null | Json::Bool(false));
        assert!(refused, "{function}: {answer}");
    }
    let write = "return file_put_contents('/project/out.txt', 'x');";
    assert_eq!(structured(&mut wire, 20, write)["result"]["value"], 1, "the run's own file");
    for (id, (arguments, code)) in (21..).zip([
        (json!({"snippet": "1", "allow_writes": true}), "write_denied"),
        (json!({"snippet": "1", "allow_network": true}), "network_denied"),
        (json!({"snippet": "1", "timeout_ms": 60_001}), "args_invalid"),
        (json!({"snippet": "1", "preview_offset": -1}), "args_invalid"),
        (json!({"snippet": "1", "unsafe": true}), "args_invalid"),
        (json!({"code": "1"}), "args_invalid"),
        (json!({"snippet": ""}), "args_invalid"),
    ]) {
        let answer = wire.call(id, "framework__eval", arguments);
        assert_eq!(answer["structuredContent"]["error"]["code"], code, "{answer}");
        assert!(answer["structuredContent"]["duration_ms"].is_u64());
        let hint = answer["structuredContent"]["error"]["hint"].as_str().unwrap();
        assert!(!hint.contains("`code`") && !hint.contains("`stdin`"), "a field that there is not: {hint}");
    }
    assert!(!folder.path().join("out.txt").exists());

    let mut writable = server(&folder, &["--allow-writes"]);
    assert_eq!(structured(&mut writable, 1, write)["result"]["value"], 1, "the run's own file");
    assert!(!folder.path().join("out.txt").exists(), "a call has to ask");
    let asked = json!({"snippet": write, "allow_writes": true});
    let written = writable.call(2, "framework__eval", asked);
    assert_eq!(written["structuredContent"]["result"]["value"], 1, "{written}");
    assert_eq!(fs::read_to_string(folder.path().join("out.txt")).unwrap(), "x");
}

#[test]
fn s1_24_there_is_no_eval() {
    let folder = project();
    for more in [&[][..], &["--no-eval"]] {
        let mut wire = server(&folder, more);
        let answer = structured(&mut wire, 1, "return eval('return 1;');");
        assert_eq!((&answer["result"], &answer["ok"]), (&json!(null), &json!(false)), "{answer}");
        let told = answer["exception"]["message"].as_str().unwrap_or_default();
        assert!(told.contains("not allowed"), "{answer}");
        assert_eq!(structured(&mut wire, 2, "return 1;")["result"]["value"], 1);
        let asked = wire.call(3, "framework__eval", json!({"snippet": "1", "allow_eval": true}));
        assert_eq!(asked["structuredContent"]["error"]["code"], "args_invalid", "{asked}");
    }
}

#[test]
fn s1_08_a_snippet_that_looks_like_something_else_is_a_snippet() {
    let folder = project();
    let mut wire = server(&folder, &[]);
    for (id, (snippet, ends)) in (1..).zip([
        ("})(); echo 'escaped'; (function () {", "ParseError"),
        ("--unsafe", "ParseError"),
        ("?>text", ""),
        ("\u{feff}<?php return 7;", ""),
        ("declare(strict_types=1); return 7;", ""),
        ("namespace A; use ArrayObject as B; return (new B([1]))->count();", ""),
        ("return 7; __halt_compiler(); })()", ""),
    ]) {
        let answer = structured(&mut wire, id, snippet);
        let class = answer["exception"]["class"].as_str().unwrap_or_default();
        assert_eq!(class, ends, "{snippet}: {answer}");
        assert!(!answer["stdout"].as_str().unwrap().contains("escaped"), "{answer}");
    }
}

#[test]
fn another_language_is_told_in_the_words_of_a_tool_that_has_one() {
    let folder = project();
    let mut wire = server(&folder, &[]);
    let answer = wire.call(1, "framework__eval", json!({"snippet": "const x = () => 1; console.log(x)"}));
    let hint = answer["structuredContent"]["exception"]["hint"].as_str().unwrap();
    assert!(hint.contains("looks like JavaScript") && hint.ends_with("this tool runs PHP alone"), "{answer}");
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("this tool runs PHP alone"), "{answer}");
}

#[test]
fn s1_15_more_of_a_result_is_shown_on_request() {
    let folder = project();
    let mut wire = server(&folder, &[]);
    let mut seen = Vec::new();
    for (id, offset) in [(1, 0), (2, 50), (3, 100)] {
        let asked = json!({"snippet": "return range(0, 119);", "preview_offset": offset});
        let answer = wire.call(id, "framework__eval", asked)["structuredContent"].clone();
        assert_eq!(answer["result"]["count"], 120, "{answer}");
        seen.extend(answer["result"]["value"].as_array().unwrap().iter().map(|item| item["value"].clone()));
    }
    assert_eq!(json!(seen), json!((0..120).collect::<Vec<_>>()));
}

#[test]
fn s1_20_the_working_directory_is_the_project_and_what_is_written_there_is_the_runs_own() {
    let folder = project();
    let code = "return [getcwd(), @file_put_contents('rel.txt', 'x'), is_file('/project/config/container.php'), \
                container('ArrayObject')->count()];";
    for (more, wanted) in
        [(&[][..], json!(["/project", 1, true, 0])), (&["--cwd", "/tmp"], json!(["/tmp", 1, true, 0]))]
    {
        let mut wire = server(&folder, more);
        let answer = structured(&mut wire, 1, code);
        let seen: Vec<&Json> =
            answer["result"]["value"].as_array().unwrap().iter().map(|item| &item["value"]).collect();
        assert_eq!(json!(seen), wanted, "{answer}");
    }
    assert!(!folder.path().join("rel.txt").exists());
}

#[test]
fn without_a_project_the_start_and_the_instructions_say_so() {
    let mut wire = Wire::start(&["--profile", "eval"]);
    let told = wire.greet()["result"]["instructions"].as_str().unwrap().to_owned();
    assert!(told.contains("without a project") && told.contains("no `container()`"), "{told}");
    assert_eq!(structured(&mut wire, 1, "return 1 + 1;")["result"]["value"], 2);
    let ran = wire.end(std::time::Duration::from_secs(20));
    assert!(ran.complaint().contains("WARN") && ran.complaint().contains("--project"), "{}", ran.complaint());

    let folder = project();
    let mut wire = Wire::start(&["--profile", "eval", "--project", folder.path().to_str().unwrap()]);
    let told = wire.greet()["result"]["instructions"].as_str().unwrap().to_owned();
    assert!(told.contains("`container()` returns its services"), "{told}");
    let ran = wire.end(std::time::Duration::from_secs(20));
    assert!(!ran.complaint().contains("--project"), "{}", ran.complaint());
}

#[test]
fn profiles_can_be_combined() {
    let (folder, state) = (project(), tempfile::tempdir().unwrap());
    let places =
        ["--project", folder.path().to_str().unwrap(), "--state-dir", state.path().to_str().unwrap()];
    let mut wire = Wire::greeted(&[&["--profile", "eval,sprites,rlm"][..], &places].concat());
    let tools = wire.ask(1, "tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["framework__eval", "sprite_create", "rlm_exec"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(structured(&mut wire, 2, "return 1 + 1;")["result"]["value"], 2);
    let ran = wire.call(3, "rlm_exec", json!({"code": "x = 20 + 1\nx * 2"}));
    assert!(ran["content"][0]["text"].as_str().unwrap().contains("42"), "{ran}");
}

#[test]
fn an_unknown_profile_is_refused_with_the_known_ones() {
    let ran = dormouse_tests::binary::dormouse(&["mcp", "--profile", "other"], b"");
    assert_eq!(ran.status, Some(2));
    assert!(ran.complaint().contains("sandbox, eval"), "{}", ran.complaint());
}
