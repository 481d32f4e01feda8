//! A client cannot tell the providers apart but by `provider`.

use serde_json::{Value as Json, json};

use super::{Desk, told};

/// Snippets whose answers must be equal to the letter.
const PYTHON: [&str; 14] = [
    "1 + 1",
    "print('out'); import sys; print('err', file=sys.stderr); 'value'",
    "[1, 2.5, None, True, 'text', b'bytes', {'a': [1, 2]}, (1, 2), {3}]",
    "float('nan'), float('inf'), -0.0, 10**30",
    "x = []; x.append(x); x",
    "(n for n in range(100))",
    "import itertools; itertools.count()",
    "'a' * 100000",
    "'\\ud800'",
    "1 / 0",
    "def f():\n    raise ValueError('no') from KeyError('k')\nf()",
    "import sys; sys.exit(3)",
    "class A:\n    def __init__(self): self.a = 1\nA()",
    "x = 5",
];

const JAVASCRIPT: [&str; 10] = [
    "1 + 1",
    "console.log('out'); console.error('err'); 'value'",
    "[1, 2.5, null, true, 'text', {a: [1, 2]}, undefined, 10n ** 30n]",
    "new Map([[1, 2], ['a', {b: 1}]])",
    "const x = {}; x.self = x; x",
    "NaN",
    "'a'.repeat(100000)",
    "await Promise.resolve(7)",
    "var kept = 5; kept",
    "Symbol('s')",
];

/// Without the marks below a line of a traceback, which Python 3.11 sets otherwise than 3.14.
fn marked(mut answer: Json) -> Json {
    if let Some(text) = answer["exception"]["traceback"].as_str() {
        let marks = |line: &&str| line.trim().is_empty() || !line.trim().chars().all(|c| "~^".contains(c));
        answer["exception"]["traceback"] = text.lines().filter(marks).collect::<Vec<_>>().join("\n").into();
    }
    answer
}

fn compare(language: &str, snippets: &[&str]) {
    Desk::each(&format!("same values in {language}"), |desk| {
        desk.container("box");
        let made = desk.call("sandbox_create", json!({"name": "cell"}));
        assert_eq!(made["provider"], "wasm");
        let ask = |sandbox: &str, code: &str| -> Json {
            desk.call("sandbox_eval", json!({"sandbox": sandbox, "language": language, "code": code}))
        };
        let (mut differ, provider) = (Vec::new(), desk.provider().as_str());
        for code in snippets {
            let (container, cell) = (ask("box", code), ask("cell", code));
            let providers = (&container["provider"], &cell["provider"]);
            assert_eq!(providers, (&json!(provider), &json!("wasm")), "{container}");
            let (container, cell) = (marked(told(container)), marked(told(cell)));
            if container != cell {
                differ.push(format!("{code}\n  {provider} {container}\n  wasm   {cell}"));
            }
        }
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    });
}

#[test]
fn python_gives_the_same_values() {
    compare("python", &PYTHON);
}

#[test]
fn javascript_gives_the_same_values() {
    compare("javascript", &JAVASCRIPT);
}

#[test]
fn s3_10_variables_last_are_listed_and_go() {
    Desk::each("s3_10", |desk| {
        desk.container("box");
        let on = |tool: &str, mut arguments: Json| {
            arguments["sandbox"] = "box".into();
            desk.call(tool, arguments)
        };
        on("sandbox_eval", json!({"code": "x = 42\nimport math\ny = [1, 2]"}));
        assert_eq!(
            on("sandbox_eval", json!({"code": "x + 1"}))["result"],
            json!({"type": "int", "value": 43})
        );
        assert_eq!(on("sandbox_get_var", json!({"name": "y", "query": "sum(value)"}))["result"]["value"], 3);
        let listed = on("sandbox_vars", json!({}));
        let names: Vec<&str> =
            listed["variables"].as_array().unwrap().iter().filter_map(|v| v["name"].as_str()).collect();
        assert!(names.contains(&"x") && names.contains(&"y"), "{listed}");
        let unknown = on("sandbox_get_var", json!({"name": "z"}));
        assert_eq!(unknown["error"]["code"], "not_found");
        // Python and command lines see one tree.
        on("sandbox_eval", json!({"code": "open('/workspace/a.txt', 'w').write('from python')"}));
        assert_eq!(desk.exec("box", "cat a.txt")["stdout"], "from python");
        assert_eq!(on("sandbox_read", json!({"path": "/workspace/a.txt"}))["content"], "from python");
        on("sandbox_reset", json!({}));
        assert_eq!(on("sandbox_eval", json!({"code": "x"}))["exception"]["class"], "NameError");
        assert_eq!(desk.exec("box", "cat a.txt")["stdout"], "from python");
    });
}

/// S2-13: what `sandbox_capabilities` says that a provider can do is what it does, and it does nothing else.
#[test]
fn s2_13_each_provider_can_do_what_it_says() {
    Desk::each("s2_13_abilities", |desk| {
        let known = desk.call("sandbox_capabilities", json!({}));
        let all = known["abilities"].as_array().unwrap();
        let names: Vec<&str> = all.iter().map(|able| able["provider"].as_str().unwrap()).collect();
        assert_eq!(known["providers"], json!(names));
        assert_eq!(names, ["wasm", desk.provider().as_str()]);
        for able in all {
            let provider = able["provider"].as_str().unwrap();
            let has = |list: &str, word: &str| able[list].as_array().unwrap().contains(&json!(word));
            let on = |tool: &str, mut arguments: Json| {
                arguments["sandbox"] = provider.into();
                desk.call(tool, arguments)
            };
            let made = desk.call("sandbox_create", json!({"name": provider, "provider": provider}));
            assert_eq!(made["provider"], provider, "{made}");
            for limit in ["memory_bytes", "disk_bytes", "files", "cpu_millis", "processes"] {
                assert_eq!(made["limits"][limit].is_u64(), has("limits", limit), "{provider} {limit}");
            }
            let codes = [
                ("javascript", "1 + 1"),
                ("php", "return 1 + 1;"),
                ("python", "1 + 1"),
                ("typescript", "1 + 1"),
            ];
            for (language, code) in codes {
                let ran = on("sandbox_eval", json!({"language": language, "code": code}));
                assert_eq!(
                    ran["result"]["value"] == json!(2),
                    has("languages", language),
                    "{provider} {language}: {ran}"
                );
            }
            for include in ["both", "files", "memory"] {
                let saved = on("sandbox_checkpoint", json!({"include": include}));
                assert_eq!(
                    saved["error"].is_null(),
                    has("include", include),
                    "{provider} {include}: {saved}"
                );
            }
            on("sandbox_eval", json!({"code": "kept = 42"}));
            on("sandbox_stop", json!({}));
            let kept = on("sandbox_eval", json!({"code": "kept"}))["result"]["value"] == json!(42);
            assert_eq!(able["variables"], if kept { "saved" } else { "awake" }, "{provider}");
            let system = desk.exec(
                provider,
                "python3 -c 'import subprocess; subprocess.run([\"/bin/true\"], check=True)'",
            )["exit_code"]
                == json!(0);
            assert_eq!(able["system_programs"], system, "{provider}");
            let fixed = on("sandbox_eval", json!({"code": "1", "allow_eval": false}))["error"].is_null();
            assert_eq!(able["fixed"], fixed, "{provider}");
            let image = desk.call("sandbox_create", json!({"provider": provider, "image": desk.image()}));
            assert_eq!(able["images"] == "container", image["error"].is_null(), "{provider}: {image}");
            let waits = desk.call("sandbox_create", json!({"provider": provider, "warm_pool": "require"}));
            assert_eq!(able["warm_pool"], waits["error"]["code"] != "args_invalid", "{provider}: {waits}");
            let network =
                desk.exec(provider, "ls /sys/class/net 2>/dev/null | grep -v '^lo$'")["stdout"].clone();
            assert_eq!((able["network"].as_str(), network.as_str()), (Some("none"), Some("")), "{provider}");
        }
        let first = desk.call("sandbox_eval", json!({"code": "1 + 1"}));
        let snippets: Vec<&Json> =
            all.iter().filter(|able| able["snippets"] == true).map(|able| &able["provider"]).collect();
        assert_eq!(snippets, [&first["provider"]], "{first}");
    });
}
