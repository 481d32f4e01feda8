//! `npm` and `pip` as a command line starts them, over a real tree and a real registry.

use std::sync::Arc;

use dormouse_core::sandbox::Owner;
use dormouse_core::{OfferedPrograms as _, ProgramCall, ProgramRun};
use dormouse_packages::{Indexes, PackagePrograms};
use serde_json::{Value as Json, json};

use crate::build::{Form, Tarball, Wheel, integrity, package, project};
use crate::install::{Sandbox, path};
use crate::server::Server;
use crate::settings;

/// A command line in `/workspace/app`: its exit status, and what it said on both streams.
async fn npm(server: &Server, sandbox: &mut Sandbox, line: &str) -> (u8, String) {
    run(server, sandbox, "npm", line).await
}

/// The same of any program.
pub(crate) async fn run(server: &Server, sandbox: &mut Sandbox, program: &str, line: &str) -> (u8, String) {
    let packages = Arc::new(Indexes::new(settings(server)).unwrap());
    let call = ProgramCall {
        name: program.into(),
        arguments: line.split_whitespace().map(str::to_owned).collect(),
        directory: "/workspace/app".into(),
        ..ProgramCall::default()
    };
    let programs = PackagePrograms::new(packages, "3.14.0");
    let ended =
        programs.run(ProgramRun::of(&Owner::local()), &call, sandbox).await.expect("it is one of them");
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

/// The newest that fits is not what the lock file names.
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
    let without = "install --no-package-lock";
    assert_eq!(npm(&server, &mut sandbox, without).await, (0, "\nadded 3 packages\n".into()));
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

fn locked(sandbox: &Sandbox) -> Json {
    serde_json::from_str(&text(sandbox, "package-lock.json").unwrap()).unwrap()
}

/// The versions of a lock file, without the root.
fn versions(lock: &Json) -> Vec<String> {
    let packages = lock["packages"].as_object().unwrap().iter().skip(1);
    packages.map(|(path, about)| format!("{path} {}", about["version"].as_str().unwrap())).collect()
}

/// The file is npm's own to the byte, but for the addresses: this text is what npm 11 writes of the same registry.
#[tokio::test]
async fn npm_install_writes_the_lock_file_that_npm_writes() {
    let server = registry().await;
    let tool = Tarball::new("@a/tool", "1.2.0")
        .says("bin", json!("./cli.js"))
        .says("license", json!({"type": "MIT", "url": "x"}))
        .says("engines", json!({"node": ">=18"}))
        .says("scripts", json!({"postinstall": "true"}))
        .says("peerDependencies", json!({"ms": "2"}))
        .says("optionalDependencies", json!({"mac": "1"}))
        .file("cli.js", b"");
    package(&server, &[tool]);
    let mut sandbox = Sandbox::new(1 << 20);
    put(
        &sandbox,
        "package.json",
        &json!({"name": "x", "version": "1.0.0", "devDependencies": {"only-dev": "1"}}),
    );
    let (status, said) = npm(&server, &mut sandbox, "install app @a/tool").await;
    assert_eq!(status, 0, "{said}");
    assert_eq!(npm(&server, &mut sandbox, "install").await.0, 0);
    let hash = |name: &str| integrity(&server.bytes(&format!("/tarballs/{name}.tgz")));
    let wanted = include_str!("lock.json")
        .replace("HASH-TOOL", &hash("@a-tool-1.2.0"))
        .replace("HASH-APP", &hash("app-1.0.0"))
        .replace("HASH-MAC", &hash("mac-1.0.0"))
        .replace("HASH-MS", &hash("ms-2.1.3"))
        .replace("HASH-DEV", &hash("only-dev-1.0.0"));
    assert_eq!(text(&sandbox, "package-lock.json").unwrap(), wanted);
    let before = sandbox.all();
    let (status, said) = npm(&server, &mut sandbox, "ci").await;
    assert_eq!(status, 0, "{said}");
    assert_eq!(sandbox.all(), before, "what it names is what lies there");
    assert_eq!(npm(&server, &mut sandbox, "install").await.1.lines().nth(1), Some("up to date"));
    assert_eq!(sandbox.all(), before);
}

#[tokio::test]
async fn npm_install_takes_the_versions_of_a_lock_file_where_they_fit() {
    let server = registry().await;
    let mut sandbox = Sandbox::new(1 << 20);
    let hash = integrity(&Tarball::new("ms", "2.0.0").build());
    let lock = json!({"lockfileVersion": 3, "packages": {
        "": {"dependencies": {"app": "^1.0.0"}},
        "node_modules/app": {"version": "1.0.0", "resolved": "https://h/app.tgz", "dependencies": {"ms": "^2.0.0"}},
        "node_modules/gone": {"version": "1.0.0"},
        "node_modules/ms": {"version": "2.0.0", "integrity": hash},
    }});
    put(&sandbox, "package-lock.json", &lock);
    put(&sandbox, "package.json", &json!({"dependencies": {"app": "^1.0.0"}}));
    put(&sandbox, "node_modules/gone/package.json", &json!({"name": "gone", "version": "1.0.0"}));
    let (status, said) = npm(&server, &mut sandbox, "install").await;
    assert!(status == 0 && said.contains("added 2 packages"), "{said}");
    assert_eq!(text(&sandbox, "node_modules/ms/index.js").unwrap(), "module.exports = '2.0.0';\n");
    assert!(text(&sandbox, "node_modules/gone/package.json").is_none(), "nothing needs it");
    let made = locked(&sandbox);
    assert_eq!(versions(&made), ["node_modules/app 1.0.0", "node_modules/ms 2.0.0"]);
    assert_eq!(made["packages"]["node_modules/app"]["resolved"], "https://h/app.tgz", "as it stood there");
    // One more, and one that the lock file's version does not satisfy: the other place keeps its version.
    assert_eq!(npm(&server, &mut sandbox, "install -E ms@2.1.3").await.0, 0);
    put(&sandbox, "package.json", &json!({"dependencies": {"app": "^1.0.0", "ms": "~2.1.0"}}));
    assert_eq!(npm(&server, &mut sandbox, "install --save-dev only-dev").await.0, 0);
    let made = locked(&sandbox);
    assert_eq!(
        versions(&made),
        ["node_modules/app 1.0.0", "node_modules/ms 2.1.3", "node_modules/only-dev 1.0.0"]
    );
    assert_eq!(made["packages"]["node_modules/only-dev"]["dev"], true);
    assert!(!made.to_string().contains(&server.url), "{made}");
    // What is not asked for stays in the file.
    assert_eq!(npm(&server, &mut sandbox, "install --omit=dev").await.0, 0);
    assert!(text(&sandbox, "node_modules/only-dev/package.json").is_none());
    assert_eq!(locked(&sandbox), made);
    assert_eq!(npm(&server, &mut sandbox, "install --no-save only-dev").await.0, 0);
    assert_eq!(locked(&sandbox), made);
    let (status, said) = npm(&server, &mut sandbox, "uninstall app").await;
    assert!(status == 0 && said.contains("removed 1 package\n"), "{said}");
    assert_eq!(versions(&locked(&sandbox)), ["node_modules/ms 2.1.3", "node_modules/only-dev 1.0.0"]);
    let (_, said) = npm(&server, &mut sandbox, "uninstall ms only-dev").await;
    assert!(said.contains("removed 2 packages"), "{said}");
    assert!(versions(&locked(&sandbox)).is_empty());
    assert_eq!(npm(&server, &mut sandbox, "install app").await.0, 0);
    let (_, said) = npm(&server, &mut sandbox, "uninstall app").await;
    assert!(said.contains("removed 2 packages"), "what only it needed goes with it: {said}");
    assert!(text(&sandbox, "node_modules/ms/package.json").is_none());
}

/// Whether it is saved or not, and with a lock file or without one.
#[tokio::test]
async fn npm_uninstall_leaves_what_others_need() {
    let server = registry().await;
    for (with, listed, lock) in [
        ("", json!({"app": "^1.0.0"}), true),
        ("--no-save", json!({"app": "^1.0.0", "ms": "^2.1.3"}), true),
        ("--no-package-lock", json!({"app": "^1.0.0"}), false),
    ] {
        let mut sandbox = Sandbox::new(1 << 20);
        let install = if lock { "install app ms" } else { "install --no-package-lock app ms" };
        assert_eq!(npm(&server, &mut sandbox, install).await, (0, "\nadded 2 packages\n".into()));
        let before = text(&sandbox, "package-lock.json");
        assert_eq!(before.is_some(), lock);
        let line = format!("uninstall ms {with}");
        assert_eq!(npm(&server, &mut sandbox, &line).await, (0, "\nup to date\n".into()), "{with}");
        assert!(text(&sandbox, "node_modules/ms/package.json").is_some(), "`app` needs it: {with}");
        assert_eq!(manifest(&sandbox)["dependencies"], listed, "{with}");
        if lock {
            assert_eq!(versions(&locked(&sandbox)), ["node_modules/app 1.0.0", "node_modules/ms 2.1.3"]);
        }
        let line = format!("uninstall app ms {with}");
        assert_eq!(npm(&server, &mut sandbox, &line).await, (0, "\nremoved 2 packages\n".into()), "{with}");
        assert!(text(&sandbox, "node_modules/ms/package.json").is_none(), "{with}");
    }
    // Where who needs what is not worked out, what another asks for stays as well.
    let mut sandbox = Sandbox::new(1 << 20);
    assert_eq!(npm(&server, &mut sandbox, "install app only-dev").await.0, 0);
    sandbox.0.remove(&path("/workspace/app/package.json"), false).unwrap();
    assert_eq!(
        npm(&server, &mut sandbox, "uninstall ms only-dev").await,
        (0, "\nremoved 1 package\n".into())
    );
    assert!(text(&sandbox, "node_modules/ms/package.json").is_some());
    // What cannot be read is told before anything goes.
    put(&sandbox, "package.json", &json!({"dependencies": {"app": "^1.0.0"}}));
    put(&sandbox, "package-lock.json", &json!("<<<<<<<"));
    let before = sandbox.all();
    assert_eq!(npm(&server, &mut sandbox, "uninstall app").await.0, 1);
    assert_eq!(sandbox.all(), before);
}

/// npm refuses to compare with what is no hash, and so does this.
#[tokio::test]
async fn npm_ci_refuses_an_integrity_that_is_no_hash() {
    let server = registry().await;
    let mut sandbox = Sandbox::new(1 << 20);
    put(&sandbox, "package.json", &json!({"dependencies": {"ms": "^2.0.0"}}));
    let hash = integrity(&Tarball::new("ms", "2.0.0").build());
    let lock = |integrity: &str| {
        json!({"lockfileVersion": 3, "packages": {
            "": {"dependencies": {"ms": "^2.0.0"}},
            "node_modules/ms": {"version": "2.0.0", "integrity": integrity},
        }})
    };
    put(&sandbox, "package-lock.json", &lock("sha512-abc"));
    let before = sandbox.all();
    let (status, said) = npm(&server, &mut sandbox, "ci").await;
    let told = "`package-lock.json` has an integrity of `node_modules/ms` that is not a hash";
    assert!(status == 1 && said.contains(told), "{said}");
    assert_eq!(sandbox.all(), before, "nothing was installed");
    put(&sandbox, "package-lock.json", &lock(&hash));
    assert_eq!(npm(&server, &mut sandbox, "ci").await, (0, "\nadded 1 package\n".into()));
}

/// A folder beside the program that is run, as bundles have it.
#[tokio::test]
async fn pip_installs_into_a_folder_of_ones_own() {
    let server = Server::start().await;
    let points = b"[console_scripts]\ntool = tool.cli:main\n";
    project(
        &server,
        Form::Json,
        &[
            Wheel::new("tool", "1.0").requires("lib").file("tool-1.0.dist-info/entry_points.txt", points),
            Wheel::new("tool", "2.0").requires("lib"),
        ],
    );
    project(&server, Form::Json, &[Wheel::new("lib", "1.0")]);
    for line in
        ["install --target=vendor tool==1.0", "install -t vendor tool==1.0", "install -tvendor tool==1.0"]
    {
        let mut sandbox = Sandbox::new(1 << 20);
        let (status, said) = run(&server, &mut sandbox, "pip", line).await;
        assert_eq!((status, said.as_str()), (0, "Successfully installed lib-1.0 tool-1.0\n"), "{line}");
        let has = |sandbox: &Sandbox, name: &str| text(sandbox, name).is_some();
        for name in
            ["vendor/tool-1.0.dist-info/METADATA", "vendor/lib-1.0.dist-info/METADATA", "vendor/bin/tool"]
        {
            assert!(has(&sandbox, name), "{name}");
        }
        assert!(!sandbox.all().keys().any(|name| name.contains(".local")), "{line}");
        let (_, said) = run(&server, &mut sandbox, "pip", line).await;
        assert!(said.contains("Requirement already satisfied: tool (1.0)"), "{said}");
        let (status, said) = run(&server, &mut sandbox, "pip", "install -U --target vendor tool").await;
        let told = "Requirement already satisfied: lib (1.0)\nSuccessfully installed tool-2.0\n";
        assert_eq!((status, said.as_str()), (0, told), "{line}");
        assert!(has(&sandbox, "vendor/tool-2.0.dist-info/METADATA"));
        for name in ["vendor/tool-1.0.dist-info/METADATA", "vendor/bin/tool"] {
            assert!(!has(&sandbox, name), "{name} is of the version before");
        }
    }
    let mut sandbox = Sandbox::new(1 << 20);
    for (line, wanted) in [
        ("install tool --target", "--target needs a folder"),
        ("install --prefix=/workspace/x tool", "the option --prefix is not offered here"),
        ("install -ehere tool", "/workspace/app/here"),
    ] {
        let (status, said) = run(&server, &mut sandbox, "pip", line).await;
        assert!(status != 0 && said.contains(wanted), "{line}: {said}");
    }
}

#[tokio::test]
async fn a_lock_file_that_cannot_be_obeyed_is_left_as_it_is_and_told() {
    let server = registry().await;
    let mut sandbox = Sandbox::new(1 << 20);
    put(&sandbox, "package.json", &json!({"dependencies": {"ms": "2"}}));
    let links =
        json!({"lockfileVersion": 3, "packages": {"node_modules/x": {"link": true, "resolved": "x"}}});
    put(&sandbox, "package-lock.json", &links);
    let (status, said) = npm(&server, &mut sandbox, "install").await;
    assert!(status == 0 && said.contains("added 1 package"), "{said}");
    assert!(
        said.contains("from elsewhere than a registry: the lock file is neither used nor written"),
        "{said}"
    );
    assert_eq!(locked(&sandbox), links);
    put(&sandbox, "package-lock.json", &json!("<<<<<<<"));
    let before = sandbox.all();
    let (status, said) = npm(&server, &mut sandbox, "install").await;
    assert!(status == 1 && said.contains("--no-package-lock"), "{said}");
    assert_eq!(sandbox.all(), before);
    assert_eq!(npm(&server, &mut sandbox, "install --no-package-lock").await.0, 0);
    sandbox.0.remove(&path("/workspace/app/package-lock.json"), false).unwrap();
    put(&sandbox, "package.json", &json!({"dependencies": {"ms": "2"}, "overrides": {"ms": "2.0.0"}}));
    let (status, said) = npm(&server, &mut sandbox, "install").await;
    assert!(status == 0 && said.contains("`overrides`"), "{said}");
    assert!(text(&sandbox, "package-lock.json").is_none());
    // Without what only developers need there is no whole file to write.
    put(
        &sandbox,
        "package.json",
        &json!({"dependencies": {"ms": "2"}, "devDependencies": {"only-dev": "1"}}),
    );
    let (status, said) = npm(&server, &mut sandbox, "install --omit=dev").await;
    assert!(status == 0 && said.contains("no lock file was written: `only-dev@1`"), "{said}");
    assert!(text(&sandbox, "package-lock.json").is_none());
}

#[tokio::test]
async fn npm_view_shows_what_the_registry_says() {
    let server = registry().await;
    let told =
        Tarball::new("told", "1.0.0").says("description", json!("Tells")).says("license", json!("MIT"));
    package(&server, &[told.needs(json!({"ms": "^2.0.0"}))]);
    let mut sandbox = Sandbox::new(1 << 20);
    for (line, wanted) in [
        ("view ms version", "2.1.3\n"),
        ("info ms@~2.0 version", "2.0.0\n"),
        ("view ms versions", "[ '2.0.0', '2.1.3' ]\n"),
        ("view ms versions --json", "[\n  \"2.0.0\",\n  \"2.1.3\"\n]\n"),
        ("view ms dist-tags", "{ latest: '2.1.3' }\n"),
        ("view ms dist-tags.latest", "2.1.3\n"),
        ("view app dependencies", "{ ms: '^2.0.0' }\n"),
        ("view ms name version", "name = 'ms'\nversion = '2.1.3'\n"),
        ("view ms nothing", ""),
        (
            "view told",
            "\ntold@1.0.0 | MIT | deps: 1 | versions: 1\nTells\n\ndependencies:\nms: ^2.0.0\n\ndist-tags:\nlatest: 1.0.0\n",
        ),
    ] {
        assert_eq!(npm(&server, &mut sandbox, line).await, (0, wanted.to_owned()), "{line}");
    }
    let (_, said) = npm(&server, &mut sandbox, "view ms --json").await;
    assert!(said.contains("sha512-") && !said.contains(&server.url), "the address is the operator's: {said}");
    let (status, said) = npm(&server, &mut sandbox, "view nowhere").await;
    assert!(status == 1 && said.contains("no JavaScript package `nowhere`"), "{said}");
    put(&sandbox, "package.json", &json!({"name": "ms"}));
    assert!(npm(&server, &mut sandbox, "view").await.1.contains("\nms@2.1.3 | "), "the folder's own");
    let (status, said) = npm(&server, &mut sandbox, "exec mocha").await;
    assert!(status == 1 && said.contains("`npx NAME`"), "{said}");
}

#[tokio::test]
async fn npm_outdated_lists_what_lies_there_in_another_version() {
    let server = registry().await;
    let mut sandbox = Sandbox::new(1 << 20);
    put(&sandbox, "package.json", &json!({"dependencies": {"ms": "~2.0.0", "app": "^1.0.0"}}));
    assert_eq!(npm(&server, &mut sandbox, "install").await.0, 0);
    let table = "Package  Current  Wanted  Latest  Location         Depended by\n\
                 ms         2.0.0   2.0.0   2.1.3  node_modules/ms  app\n";
    assert_eq!(npm(&server, &mut sandbox, "outdated").await, (1, table.to_owned()));
    assert_eq!(npm(&server, &mut sandbox, "outdated app").await, (0, String::new()));
    let listed = json!({"dependencies": {"app": "^1.0.0"}, "devDependencies": {"only-dev": "1"}});
    put(&sandbox, "package.json", &listed);
    let (status, said) = npm(&server, &mut sandbox, "outdated --json").await;
    let told: Json = serde_json::from_str(&said).unwrap();
    let missing = json!({"only-dev": {"wanted": "1.0.0", "latest": "1.0.0", "dependent": "app"}});
    assert_eq!((status, told), (1, missing));
    assert!(npm(&server, &mut sandbox, "outdated").await.1.contains("only-dev  MISSING   1.0.0   1.0.0  -"));
    put(&sandbox, "package.json", &json!({"dependencies": {"nowhere": "1"}}));
    let (status, said) = npm(&server, &mut sandbox, "outdated").await;
    assert!(status == 0 && said.starts_with("npm warn ") && said.contains("`nowhere`"), "{said}");
}

#[tokio::test]
async fn npm_pkg_reads_and_changes_fields_of_package_json() {
    let server = registry().await;
    let mut sandbox = Sandbox::new(1 << 20);
    put(&sandbox, "package.json", &json!({"name": "x", "scripts": {"test": "a"}}));
    for (line, wanted) in [
        ("pkg get name", "\"x\"\n"),
        ("pkg get none", "{}\n"),
        ("pkg get name scripts.test", "{\n  \"name\": \"x\",\n  \"scripts.test\": \"a\"\n}\n"),
        ("pkg set scripts.build=tsc keywords[]=a", ""),
        ("pkg set --json private=true", ""),
        ("pkg delete scripts.test none", ""),
    ] {
        assert_eq!(npm(&server, &mut sandbox, line).await, (0, wanted.to_owned()), "{line}");
    }
    let changed = json!({"name": "x", "scripts": {"build": "tsc"}, "keywords": ["a"], "private": true});
    assert_eq!(manifest(&sandbox), changed);
    for line in ["pkg", "pkg set name", "pkg set name.first=x", "pkg set --json name=x", "pkg fix"] {
        let (status, said) = npm(&server, &mut sandbox, line).await;
        assert!(status == 1 && said.starts_with("npm error "), "{line}: {said}");
    }
    assert_eq!(manifest(&sandbox), changed, "what was refused has changed nothing");
}
