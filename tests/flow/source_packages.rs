//! Source distributions of Python, built in a sandbox of their own: from an index that a test serves, through the MCP server. What
//! builds them lies in the source itself, so that no other package is needed.

#![expect(clippy::disallowed_methods, reason = "tar packs the archives of this test")]

use std::fs;
use std::path::Path;
use std::process::Command;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// A back end that makes a wheel of `own.py`, and does `HOOK` before.
const BACKEND: &str = r#"
import os, sys, zipfile

def get_requires_for_build_wheel(settings=None):
    return []

def build_wheel(folder, settings=None, metadata=None):
    print("built", os.getcwd())
    HOOK
    name = "own-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.write("own.py")
        wheel.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
        wheel.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("own-1.0.dist-info/RECORD", "")
    return name
"#;
const PROJECT: &str = "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n";

/// An index with the source distribution of one package, and a server that installs from it.
struct World {
    _runtime: tokio::runtime::Runtime,
    _folder: TempDir,
    wire: Wire,
    next: i64,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("own-1.0");
        fs::create_dir(&source).unwrap();
        for (name, text) in files {
            fs::write(source.join(name), text).unwrap();
        }
        Self::of(folder, |folder| {
            let done =
                Command::new("tar").args(["-czf", "own-1.0.tar.gz", "own-1.0"]).current_dir(folder).status();
            assert!(done.unwrap().success());
        })
    }

    /// The same with an archive that `pack` makes of the folder.
    fn of(folder: TempDir, pack: impl FnOnce(&Path)) -> Self {
        pack(folder.path());
        let archive = fs::read(folder.path().join("own-1.0.tar.gz")).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let address = runtime.block_on(serve(archive));
        let state = folder.path().join("state");
        let wire = Wire::greeted(&[
            "--state-dir",
            state.to_str().unwrap(),
            "--tools",
            "all",
            "--packages",
            "on",
            "--package-allow",
            "*",
            "--pip-index",
            &format!("http://{address}/simple"),
            "--timeout-max",
            "10s",
        ]);
        let mut world = Self { _runtime: runtime, _folder: folder, wire, next: 0 };
        let created = world.call("sandbox_create", json!({"name": "app", "env": ["TOKEN=secret"]}));
        assert_eq!(created["error"], Json::Null, "{created}");
        world
    }

    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        self.next += 1;
        self.wire.call(self.next, tool, arguments)["structuredContent"].take()
    }

    fn install(&mut self) -> Json {
        self.call("sandbox_install", json!({"sandbox": "app", "packages": ["own"]}))
    }

    /// Installing must be refused, with nothing left.
    #[track_caller]
    fn refused(&mut self, code: &str, word: &str) {
        let answer = self.install();
        let error = &answer["error"];
        assert_eq!(error["code"], code, "{answer}");
        assert!(error["message"].as_str().unwrap().contains(word) && error["hint"].is_string(), "{answer}");
        assert_eq!(self.exec("ls -A /workspace"), "outputs\n");
    }

    /// What a command line writes to standard output.
    fn exec(&mut self, line: &str) -> String {
        let done = self.call("sandbox_exec", json!({"sandbox": "app", "command": line}));
        done["stdout"].as_str().unwrap_or_else(|| panic!("{done}")).to_owned()
    }

    fn value(&mut self, code: &str) -> Json {
        self.call("sandbox_eval", json!({"sandbox": "app", "code": code}))["result"]["value"].take()
    }

    fn end(self) {
        assert_eq!(self.wire.end(PATIENCE).status, Some(0));
    }
}

/// Serves the archive, and the page that names it. Its address.
async fn serve(archive: Vec<u8>) -> std::net::SocketAddr {
    let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(&archive));
    let page = json!({"meta": {"api-version": "1.1"}, "name": "own", "files": [
        {"filename": "own-1.0.tar.gz", "url": "../../own-1.0.tar.gz", "hashes": {"sha256": hash}},
    ]});
    let page = page.to_string();
    let router = Router::new()
        .route(
            "/simple/own/",
            get(move || async move { ([(CONTENT_TYPE, "application/vnd.pypi.simple.v1+json")], page) }),
        )
        .route("/own-1.0.tar.gz", get(move || async move { archive }))
        .fallback(|| async { StatusCode::NOT_FOUND });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let _ = axum::serve(listener, router).await;
    });
    address
}

fn backend(hook: &str) -> String {
    BACKEND.replace("HOOK", hook)
}

#[test]
fn a_source_distribution_is_built_and_installed() {
    let mut world = World::new(&[
        ("pyproject.toml", PROJECT),
        ("backend.py", &backend("pass")),
        ("own.py", "COUNT = 7\n"),
    ]);
    let installed = world.install();
    assert_eq!(installed["installed"][0]["name"], "own", "{installed}");
    let note = installed["notes"][0].as_str().unwrap();
    assert!(note.contains("own-1.0.tar.gz") && note.contains("built"), "{note}");
    assert_eq!(world.value("import own; own.COUNT"), 7);
    // What built it is not in the sandbox.
    assert_eq!(world.exec("ls -A /workspace"), ".local\noutputs\n");
    world.end();
}

/// Another back end of the same project: an editable wheel names the folder of its source.
const EDITABLE: &str = r#"
def build_editable(folder, settings=None, metadata=None):
    name = "own-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("own.pth", os.getcwd() + "\n")
        wheel.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
        wheel.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("own-1.0.dist-info/RECORD", "")
    return name
"#;

#[test]
fn projects_of_the_sandbox_are_installed_as_copies_or_where_they_lie() {
    let text = backend("pass") + EDITABLE;
    let mut world =
        World::new(&[("pyproject.toml", PROJECT), ("backend.py", &text), ("own.py", "COUNT = 7\n")]);
    for (path, content) in [("pyproject.toml", PROJECT), ("backend.py", &text), ("own.py", "COUNT = 8\n")] {
        let path = format!("/workspace/lib/{path}");
        let written =
            world.call("sandbox_write", json!({"sandbox": "app", "path": path, "content": content}));
        assert_eq!(written["error"], Json::Null, "{written}");
    }
    let copied = world.call("sandbox_install", json!({"sandbox": "app", "packages": ["./lib"]}));
    assert_eq!(copied["installed"][0]["name"], "own", "{copied}");
    assert_eq!(
        world.value("import own; [own.COUNT, own.__file__.startswith('/workspace/.local/')]")[0]["value"],
        8
    );
    // The same version again, from where it lies.
    assert!(world.exec("(cd lib && pip install -e .)").contains("Successfully installed own-1.0"));
    world.exec("echo 'COUNT = 9' > lib/own.py");
    assert_eq!(
        world.exec("python3 -c 'import own; print(own.COUNT, own.__file__)'"),
        "9 /workspace/lib/own.py\n"
    );
    let url = "cat .local/lib/python3.14/site-packages/own-1.0.dist-info/direct_url.json";
    assert!(world.exec(url).contains("\"editable\":true"));
    for (packages, code) in [
        ("./none", "not_found"),
        ("/workspace/outputs", "args_invalid"),
        ("git+https://h/own", "capability_unavailable"),
    ] {
        let refused = world.call("sandbox_install", json!({"sandbox": "app", "packages": [packages]}));
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    world.end();
}

/// A module is compiled when it is installed, again when it was changed, and not at all where it cannot be.
#[test]
fn what_is_installed_is_compiled() {
    let files = [("pyproject.toml", PROJECT), ("backend.py", &backend("pass")), ("own.py", "COUNT = 7\n")];
    let mut world = World::new(&files);
    world.install();
    let cached = "/workspace/.local/lib/python3.14/site-packages/__pycache__/own.cpython-314.pyc";
    assert_eq!(world.value(&format!("import own; own.__cached__ == '{cached}' and own.COUNT")), 7);
    let data = format!(
        "import importlib.util as u; open('{cached}', 'rb').read()[:8] == u.MAGIC_NUMBER + b'\\3\\0\\0\\0'"
    );
    assert_eq!(world.value(&data), true);
    world.exec("echo 'COUNT = 8' > .local/lib/python3.14/site-packages/own.py");
    assert_eq!(world.exec("python3 -c 'import own; print(own.COUNT)'"), "8\n");
    assert!(world.exec("pip uninstall -y own").contains("Successfully"));
    assert_eq!(world.exec("ls -A .local/lib/python3.14/site-packages 2>/dev/null"), "");
    world.end();
    let files = [("pyproject.toml", PROJECT), ("backend.py", &backend("pass")), ("own.py", "no Python\n")];
    let mut world = World::new(&files);
    assert_eq!(world.install()["installed"][0]["name"], "own");
    assert_eq!(world.value(&format!("import os; os.path.exists('{cached}')")), false);
    world.end();
}

#[test]
fn lng_31_a_build_sees_and_touches_nothing_of_the_sandbox_or_the_host() {
    let hook = r#"
    seen = sorted(os.environ) + os.listdir("/workspace") + [os.path.exists("/workspace/secret.txt")]
    for path in ["/etc/own", "/own", "../../../own", "/workspace/.local/own"]:
        try:
            with open(path, "w") as file: file.write("x")
        except OSError: pass
    with open("own.py", "w") as file: file.write(f"SEEN = {'|'.join(map(str, seen))!r}")
    "#;
    let mut world =
        World::new(&[("pyproject.toml", PROJECT), ("backend.py", &backend(hook.trim())), ("own.py", "")]);
    world.exec("printf x > /workspace/secret.txt");
    let installed = world.install();
    assert_eq!(installed["installed"][0]["name"], "own", "{installed}");
    let seen = world.value("import own; own.SEEN");
    let seen: Vec<&str> = seen.as_str().unwrap().split('|').collect();
    assert!(seen.contains(&"False") && seen.contains(&"source"), "{seen:?}");
    assert!(!seen.contains(&"TOKEN") && !seen.contains(&"secret.txt"), "{seen:?}");
    assert_eq!(world.exec("ls -A /workspace"), ".local\noutputs\nsecret.txt\n");
    assert_eq!(world.value("import os; os.path.exists('/workspace/.local/own')"), false);
    world.end();
}

#[test]
fn lng_32_a_build_that_loops_fills_the_disk_or_ends_the_interpreter_is_refused() {
    for (hook, word) in [
        ("while True: pass", "limit of 10"),
        ("open('full', 'wb').write(b'x' * (400 << 20))", "build failed"),
        ("os._exit(3)", "build failed"),
        ("raise RuntimeError('no compiler here')", "no compiler here"),
        ("os.remove('own.py')", "build failed"),
        ("return 'nothing'", "made no wheel"),
        ("open(os.path.join(folder, 'second.whl'), 'w').close()", "made no wheel"),
    ] {
        let files = [("pyproject.toml", PROJECT), ("backend.py", &backend(hook)), ("own.py", "")];
        let mut world = World::new(&files);
        world.refused("capability_unavailable", word);
        world.end();
    }
}

#[test]
fn lng_33_a_wheel_that_a_build_made_is_checked_like_any_other() {
    for (from, to, code, word) in [
        ("own-1.0.dist-info/METADATA", "../METADATA", "capability_unavailable", "METADATA"),
        ("Name: own", "Name: other", "capability_unavailable", "another package"),
        ("own-1.0.dist-info/WHEEL", "/etc/WHEEL", "package_refused", "path that is not taken"),
    ] {
        let backend = backend("pass").replace(from, to);
        let mut world = World::new(&[("pyproject.toml", PROJECT), ("backend.py", &backend), ("own.py", "")]);
        world.refused(code, word);
        world.end();
    }
}

#[test]
fn lng_34_sources_with_links_bad_descriptions_or_a_compiler_are_refused() {
    let linked = tempfile::tempdir().unwrap();
    let source = linked.path().join("own-1.0");
    fs::create_dir(&source).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.join("own.py")).unwrap();
    let mut world = World::of(linked, |folder| {
        let done =
            Command::new("tar").args(["-czf", "own-1.0.tar.gz", "own-1.0"]).current_dir(folder).status();
        assert!(done.unwrap().success());
    });
    world.refused("capability_unavailable", "own.py");
    world.end();
    for (project, word) in [
        ("[build-system", "pyproject.toml cannot be read"),
        ("[build-system]\nrequires = ['maturin']\nbuild-backend = 'maturin'\n", "no compiler"),
        ("[build-system]\nrequires = ['absent']\nbuild-backend = 'absent'\n", "`absent`"),
        ("[build-system]\nrequires = []\nbuild-backend = 'absent'\n", "absent"),
    ] {
        let mut world = World::new(&[("pyproject.toml", project), ("own.py", "")]);
        world.refused("capability_unavailable", word);
        world.end();
    }
}
