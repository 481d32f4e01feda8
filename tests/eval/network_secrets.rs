//! A secret of the network is in no sandbox and in nothing that is kept of it (NET-17): each language uses one, and everything that
//! is left is searched for its value, in every form that a server could give it back in.

use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::{BASE64, HEXLOWER};
use dormouse::network::NetworkGrant;
use dormouse::sandbox::Owner;
use dormouse::wasm::{Settings, WasmProvider};
use dormouse_tests::outside::Outside;
use dormouse_tests::wire::{PATIENCE, Wire};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, ending, sandbox};
use memchr::memmem;
use serde_json::json;

/// Uses the secret, shows its placeholder and what the server has seen of it, keeps both, and raises with both.
const PROGRAMS: [(&str, &str); 3] = [
    (
        PYTHON,
        "import json, os, urllib.request as u\n\
         key = os.environ['KEY']\n\
         kept = json.load(u.urlopen(u.Request('https://keys.test:$HTTPS/echo', data=key.encode(), headers={'Authorization': 'Bearer ' + key})))\n\
         open('/tmp/kept', 'w').write(json.dumps(kept)); print(key, kept)\n\
         raise ValueError(key, kept)",
    ),
    (
        JAVASCRIPT,
        "var key = process.env.KEY;\n\
         var kept = await (await fetch('https://keys.test:$HTTPS/echo', {method: 'POST', body: key, headers: {authorization: 'Bearer ' + key}})).json();\n\
         require('fs').writeFileSync('/tmp/kept', JSON.stringify(kept)); console.log(key, kept);\n\
         throw new Error(key + JSON.stringify(kept))",
    ),
    (
        PHP,
        "$key = getenv('KEY');\n\
         $context = stream_context_create(['http' => ['method' => 'POST', 'content' => $key, 'header' => \"Authorization: Bearer $key\"]]);\n\
         $kept = file_get_contents('https://keys.test:$HTTPS/echo', false, $context);\n\
         file_put_contents('/tmp/kept', $kept); echo $key, $kept;\n\
         throw new Exception($key . $kept);",
    ),
];

/// The forms of a value.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let bytes = value.as_bytes();
    let mut forms =
        vec![bytes.to_vec(), HEXLOWER.encode(bytes).into_bytes(), bytes.iter().rev().copied().collect()];
    // In Base64 a value looks different at each of three offsets; its ends belong to its neighbours too.
    for offset in 0..3 {
        let text = BASE64.encode(&[&b"xxx"[..offset], bytes].concat());
        forms.push(text.as_bytes()[4..text.len() - 4].to_vec());
    }
    forms
}

/// Whether one of the forms is in these bytes.
fn holds(bytes: &[u8], forms: &[Vec<u8>]) -> bool {
    forms.iter().any(|form| memmem::find(bytes, form).is_some())
}

/// The files in which one of the forms is.
fn found(folder: &Path, forms: &[Vec<u8>]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(self::found(&path, forms));
        } else if fs::read(&path).is_ok_and(|bytes| holds(&bytes, forms)) {
            found.push(path);
        }
    }
    found
}

#[test]
fn net_17_a_secret_is_in_nothing_that_is_left_of_its_use() {
    let outside = Outside::new();
    let forms = forms(outside.secret());
    let provider = Settings::new().and_then(WasmProvider::new).unwrap();
    for (language, program) in PROGRAMS {
        let mut request = outside.snippet(language, program).into_request().unwrap();
        let of = ("test", language);
        outside
            .dormouse
            .runtime()
            .give_network(&Owner::local(), &NetworkGrant::default(), of, &mut request.context)
            .unwrap();
        let placeholder =
            request.context.grants.environment.iter().find(|(name, _)| name == "KEY").unwrap().1.clone();
        let mut session = sandbox::wait(provider.session(&request.language)).unwrap();
        let outcome = sandbox::wait(provider.continue_session(&mut session, &request)).unwrap();
        let said = format!("{outcome:?}");
        // The server has got the value, and what it says of it is stars.
        assert!(said.contains("Bearer ****"), "{language}: {}", ending::told(&outcome));
        assert!(outcome.stdout.text.contains(&placeholder), "{language}: {said}");
        assert!(!holds(said.as_bytes(), &forms), "{language}: {said}");
        assert_eq!(outcome.network.as_ref().map(|used| used.secrets_masked > 0), Some(true), "{language}");
        // All of its memory. The search finds what is there.
        let memory = sandbox::wait(provider.checkpoint(&mut session)).unwrap().to_bytes();
        assert!(holds(&memory, &[placeholder.into_bytes()]), "{language}: the placeholder is in its memory");
        assert!(!holds(&memory, &forms), "{language}");
        // What is kept of a sandbox.
        let kept = sandbox::wait(outside.dormouse.sandbox(&format!("of-{language}"))).unwrap();
        sandbox::wait(kept.eval(language, outside.code(program))).unwrap();
        sandbox::wait(kept.checkpoint()).unwrap();
        sandbox::wait(kept.stop()).unwrap();
    }
    let key = outside.folder().join("key");
    assert_eq!(
        found(outside.folder(), &forms),
        [key],
        "the search finds the operator's file, and nothing else"
    );
}

#[test]
fn net_17_a_server_that_logs_everything_logs_and_answers_no_secret() {
    let outside = Outside::new();
    let forms = forms(outside.secret());
    let (rules, state) = (outside.folder().join("served.toml"), outside.folder().join("served"));
    let text = outside.code(
        "trust = [\"ca.pem\"]\n[[profile.default.allow]]\nhost = \"localhost\"\nport = $HTTPS\naddresses = [\"127.0.0.0/8\", \"::1/128\"]\n\
         [secret.KEY]\nfile = \"key\"\nhosts = [\"localhost\"]\n",
    );
    fs::write(&rules, text).unwrap();
    let words =
        ["--network", rules.to_str().unwrap(), "--state-dir", state.to_str().unwrap(), "--tools", "all"];
    let mut wire = Wire::start_with(&words, &[("DORMOUSE_LOG", "trace")]);
    wire.greet();
    let mut said = String::new();
    for (id, (language, program)) in (1..).step_by(4).zip(PROGRAMS) {
        let code = outside.code(program).replace("keys.test", "localhost");
        let made = wire.call(id, "sandbox_create", json!({"network": "default"}));
        let sandbox = &made["structuredContent"]["id"];
        let ran = wire.call(
            id + 1,
            "sandbox_eval",
            json!({"sandbox": sandbox, "language": language, "code": code}),
        );
        assert!(ran.to_string().contains("Bearer ****"), "{language}: {ran}");
        let kept = wire.call(id + 2, "sandbox_checkpoint", json!({"sandbox": sandbox}));
        let stopped = wire.call(id + 3, "sandbox_stop", json!({"sandbox": sandbox}));
        said.push_str(&format!("{made}{ran}{kept}{stopped}"));
    }
    let log = wire.end(PATIENCE).complaint();
    assert!(log.contains("TRACE"), "{log}");
    assert!(!holds(log.as_bytes(), &forms) && !holds(said.as_bytes(), &forms));
    assert_eq!(found(outside.folder(), &forms), [outside.folder().join("key")]);
}
