//! The lock file of npm through the real server: obeyed, written, and read by npm itself.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use data_encoding::BASE64;
use dormouse_tests::binary;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

/// Two versions of a package whose one module says its version: the version, its archive, and the hash of that.
const VERSIONS: [(&str, &str, &str); 2] = [
    (
        "2.0.0",
        "H4sIAAAAAAACA+3UvQrCMBDA8cw+Rbili6RpCBWEPkywh1TNB00rBfHdTasgdHHRDvV+y4VbbvonmMPZHDEPzylO0Tv2ZTIptZ5mMp9SavV+j/uiKJViXLIF9LEzbTrP/tMN\
         nLEIew42wpbDFdvYeDculJBCwp2RFXt1nzeuxiHV/4sbH/tXu3n/6U+g/pdgfd1fUOAQfNvFKpuizzYUBiGErNwDJq5s6QAMAAA=",
        "riDla0t18W9uD7tpt7R3OhKgabp5fO/8kMngvi3eYxIdFdkSQB3eXs6sUx9rfI97HvKpQjDlthBtTpFBbRTeAg==",
    ),
    (
        "2.1.3",
        "H4sIAAAAAAACA+3UvQrCMBDA8cw+Rbili6RJDBUEHybYIFXzQdJKQXx30yoIXVy0Q73fcuGWm/4J+nDWR1OG52Sn5B35Mp5VSo0zm07OlXy/h70QlZSEcjKDLrU65vPkP93A\
         aWtgR8EmWFO4mpga74aFZIJt4E7Qgr26LxtXmz7X/4sbH/uX22n/+U/A/udgfd1dDDN98LFN+2KMvlhhGAghtHAP2yL8YwAMAAA=",
        "70aOCsqv9B+9PYkpnEjPViFYElFz4uFupMEo5gaF4TutymX1z/YdUKljzZJPm9hzinXwJPWrTY/qnqwx8IsqSw==",
    ),
];

/// A registry that has this one package; its address.
fn registry() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let base = address.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let mut reader = BufReader::new(stream);
            let mut first = String::new();
            let _ = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                line.clear();
            }
            let path = first.split(' ').nth(1).unwrap_or_default();
            let archive = VERSIONS.iter().find(|(version, ..)| path == format!("/t/{version}.tgz"));
            let (status, body) = match archive {
                Some((_, archive, _)) => ("200 OK", BASE64.decode(archive.as_bytes()).unwrap()),
                None if path == "/ms" => ("200 OK", document(&base).to_string().into_bytes()),
                None => ("404 Not Found", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = reader.get_mut().write_all(&[head.as_bytes(), &body].concat());
        }
    });
    address
}

fn document(base: &str) -> Json {
    let mut versions = json!({});
    for (version, _, hash) in VERSIONS {
        let dist =
            json!({"tarball": format!("{base}/t/{version}.tgz"), "integrity": format!("sha512-{hash}")});
        versions[version] = json!({"name": "ms", "version": version, "dist": dist});
    }
    json!({"name": "ms", "dist-tags": {"latest": "2.1.3"}, "versions": versions})
}

#[test]
fn npm_install_obeys_and_writes_a_lock_file_that_npm_itself_reads() {
    let folder = tempfile::tempdir().unwrap();
    let (state, address) = (folder.path().join("state"), registry());
    let arguments = [
        "--state-dir",
        state.to_str().unwrap(),
        "--packages",
        "on",
        "--package-allow",
        "*",
        "--npm-registry",
        &address,
    ];
    let mut wire = Wire::greeted(&arguments);
    wire.call(1, "sandbox_create", json!({"name": "box"}));
    let mut id = 1;
    let mut exec = |line: &str| {
        id += 1;
        let ran = wire.call(id, "sandbox_exec", json!({"sandbox": "box", "command": line}));
        let answer = &ran["structuredContent"];
        assert_eq!(answer["exit_code"], 0, "{line}: {ran}");
        answer["stdout"].as_str().unwrap().to_owned()
    };
    exec(
        "mkdir app && cd app && echo '{\"name\": \"app\", \"version\": \"1.0.0\"}' > package.json && npm install ms@2.0.0",
    );
    let first = exec("cat package-lock.json");
    assert!(first.contains("\"version\": \"2.0.0\"") && !first.contains(&address), "{first}");
    // What it names is had again, though a newer one fits what the package.json asks for.
    exec("rm -r node_modules && npm install");
    assert_eq!(exec("node -p 'require(\"ms\")'"), "2.0.0\n");
    exec("npm ci");
    assert_eq!((exec("node -p 'require(\"ms\")'"), exec("cat package-lock.json")), ("2.0.0\n".into(), first));
    // And not where it does not fit.
    exec("sed -i 's/\\^2.0.0/~2.1.0/' package.json && npm install");
    assert_eq!(exec("node -p 'require(\"ms\")'"), "2.1.3\n");
    let (manifest, lock) = (exec("cat package.json"), exec("cat package-lock.json"));
    exec("npm uninstall ms");
    assert!(!exec("cat package-lock.json package.json").contains("\"ms\""));
    wire.end(PATIENCE);

    let Some(npm) = binary::installed("npm", "a part of the lock file of npm") else { return };
    let app = folder.path().join("app");
    std::fs::create_dir(&app).unwrap();
    std::fs::write(app.join("package.json"), manifest).unwrap();
    std::fs::write(app.join("package-lock.json"), &lock).unwrap();
    let cache = folder.path().join("cache");
    let npm = |words: &[&str]| {
        let mut command = binary::started(&npm, words);
        command.current_dir(&app).env("npm_config_cache", &cache).env("npm_config_registry", &address);
        let ran = binary::finish(command, b"");
        assert_eq!(ran.status, Some(0), "{words:?}: {}{}", ran.text(), ran.complaint());
        ran.text()
    };
    assert!(npm(&["ls", "--all", "--package-lock-only"]).contains("ms@2.1.3"));
    npm(&["ci", "--no-audit", "--no-fund"]);
    assert_eq!(
        std::fs::read_to_string(app.join("node_modules/ms/index.js")).unwrap(),
        "module.exports='2.1.3'\n"
    );
    npm(&["install", "--no-audit", "--no-fund", "--omit-lockfile-registry-resolved"]);
    assert_eq!(
        std::fs::read_to_string(app.join("package-lock.json")).unwrap(),
        lock,
        "npm leaves it as it is"
    );
}
