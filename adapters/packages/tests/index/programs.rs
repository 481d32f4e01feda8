//! `npm` as a command line starts it, over a real tree and a real registry.

use std::sync::Arc;

use dormouse_core::sandbox::Owner;
use dormouse_core::{OfferedPrograms as _, ProgramCall};
use dormouse_packages::{Indexes, PackagePrograms};
use serde_json::{Value as Json, json};

use crate::build::{Tarball, integrity, package};
use crate::install::{Sandbox, path};
use crate::server::Server;
use crate::settings;

/// A command line in `/workspace/app`: its exit status, and what it said on both streams.
async fn npm(server: &Server, sandbox: &mut Sandbox, line: &str) -> (u8, String) {
    let packages = Arc::new(Indexes::new(settings(server)).unwrap());
    let call = ProgramCall {
        name: "npm".into(),
        arguments: line.split_whitespace().map(str::to_owned).collect(),
        directory: "/workspace/app".into(),
        ..ProgramCall::default()
    };
    let programs = PackagePrograms::new(packages, "3.14.0");
    let ended = programs.run(&Owner::local(), &call, sandbox).await.expect("npm is one of them");
    let said = [ended.output, ended.errors].concat();
    (ended.status, String::from_utf8(said).unwrap())
}

fn put(sandbox: &Sandbox, name: &str, value: &Json) {
    sandbox.0.write(&path(&format!("/workspace/app/{name}")), value.to_string().as_bytes()).unwrap();
}

fn text(sandbox: &Sandbox, name: &str) -> Option<String> {
    let bytes = sandbox.all().remove(&format!("app/{name}"))??;
    Some(String::from_utf8(bytes).unwrap())
}

fn manifest(sandbox: &Sandbox) -> Json {
    serde_json::from_str(&text(sandbox, "package.json").unwrap()).unwrap()
}

async fn registry() -> Server {
    let server = Server::start().await;
    package(&server, &[Tarball::new("ms", "2.0.0"), Tarball::new("ms", "2.1.3")]);
    package(&server, &[Tarball::new("app", "1.0.0").needs(json!({"ms": "^2.0.0"}))]);
    package(&server, &[Tarball::new("only-dev", "1.0.0")]);
    package(&server, &[Tarball::new("mac", "1.0.0").says("os", json!(["darwin"]))]);
    server
}

/// the newest that fits is not what the lock file names.
#[tokio::test]
async fn npm_ci_installs_what_the_lock_file_names_and_nothing_else() {
    let server = registry().await;
    let mut sandbox = Sandbox::new(1 << 20);
    let hash = integrity(&Tarball::new("ms", "2.0.0").build());
    let lock = json!({"lockfileVersion": 3, "packages": {
        "": {"dependencies": {"app": "^1.0.0"}},
        "node_modules/app": {"version": "1.0.0", "dependencies": {"ms": "^2.0.0"}},
        "node_modules/mac": {"version": "1.0.0", "optional": true},
        "node_modules/ms": {"version": "2.0.0", "integrity": hash},
        "node_modules/only-dev": {"version": "1.0.0", "dev": true},
    }});
    put(
        &sandbox,
        "package.json",
        &json!({"dependencies": {"app": "^1.0.0"}, "devDependencies": {"only-dev": "1"}}),
    );
    assert_eq!(npm(&server, &mut sandbox, "install").await, (0, "\nadded 3 packages\n".into()));
    assert_eq!(text(&sandbox, "node_modules/ms/index.js").unwrap(), "module.exports = '2.1.3';\n");
    put(&sandbox, "node_modules/stray/package.json", &json!({"name": "stray", "version": "1.0.0"}));
    let (status, said) = npm(&server, &mut sandbox, "ci").await;
    assert!(status == 1 && said.contains("there is none") && said.contains("npm install"), "{said}");
    put(&sandbox, "package-lock.json", &lock);
    let (status, said) = npm(&server, &mut sandbox, "ci").await;
    assert!(status == 0 && said.contains("added 3 packages") && said.contains("other machines"), "{said}");
    assert_eq!(text(&sandbox, "node_modules/ms/index.js").unwrap(), "module.exports = '2.0.0';\n");
    assert!(text(&sandbox, "node_modules/stray/package.json").is_none(), "it holds nothing else");
    assert!(text(&sandbox, "node_modules/mac/package.json").is_none());
    assert_eq!(npm(&server, &mut sandbox, "ci --omit dev").await.0, 0);
    assert!(text(&sandbox, "node_modules/only-dev/package.json").is_none());
    let before = sandbox.all();
    let mut wrong = lock.clone();
    wrong["packages"]["node_modules/ms"]["integrity"] = integrity(b"another").into();
    put(&sandbox, "package-lock.json", &wrong);
    let (status, said) = npm(&server, &mut sandbox, "ci").await;
    assert!(status == 1 && said.contains("another hash in the registry than in the lock file"), "{said}");
    put(&sandbox, "package-lock.json", &lock);
    assert_eq!(sandbox.all(), before, "what was refused has changed nothing");
    put(&sandbox, "package.json", &json!({"dependencies": {"app": "^2.0.0", "more": "1"}}));
    let (status, said) = npm(&server, &mut sandbox, "ci").await;
    assert!(status == 1 && said.contains("its `app` 1.0.0 does not satisfy `^2.0.0`"), "{said}");
    assert!(said.contains("`more@1` is missing in it"), "{said}");
}

/// `--save-dev` and its like say in which list of `package.json` a package is named.
#[tokio::test]
async fn npm_saves_a_package_in_the_list_that_was_asked_for() {
    let server = registry().await;
    let mut sandbox = Sandbox::new(1 << 20);
    put(&sandbox, "package.json", &json!({"name": "x"}));
    assert_eq!(npm(&server, &mut sandbox, "install --save-dev only-dev").await.0, 0);
    let named = json!({"name": "x", "devDependencies": {"only-dev": "^1.0.0"}});
    assert_eq!(manifest(&sandbox), named);
    assert_eq!(npm(&server, &mut sandbox, "i only-dev").await.0, 0);
    assert_eq!(manifest(&sandbox), named, "it stays where it is named");
    assert_eq!(npm(&server, &mut sandbox, "i -E -O ms@2.0.0").await.0, 0);
    assert_eq!(npm(&server, &mut sandbox, "i -P only-dev").await.0, 0);
    let named = json!({
        "name": "x", "devDependencies": {}, "dependencies": {"only-dev": "^1.0.0"},
        "optionalDependencies": {"ms": "2.0.0"},
    });
    assert_eq!(manifest(&sandbox), named);
    assert_eq!(npm(&server, &mut sandbox, "i --no-save app").await.0, 0);
    assert_eq!(manifest(&sandbox), named);
    assert_eq!(npm(&server, &mut sandbox, "uninstall ms only-dev").await.0, 0);
    assert_eq!(
        manifest(&sandbox),
        json!({"name": "x", "devDependencies": {}, "dependencies": {}, "optionalDependencies": {}})
    );
}
