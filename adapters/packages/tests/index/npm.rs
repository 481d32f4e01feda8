//! JavaScript: which versions are chosen, and where they lie.

use dormouse_core::ErrorCode;
use dormouse_core::packages::PackageManager;
use serde_json::json;

use crate::build::{Tarball, package};
use crate::server::Server;
use crate::{fetch, npm, places, present, request, settings, text, told};

#[tokio::test]
async fn packages_lie_high_and_deeper_where_versions_conflict() {
    let server = Server::start().await;
    package(&server, &[Tarball::new("app", "1.0.0").needs(json!({"ms": "^1.0.0", "mid": "*"}))]);
    package(&server, &[Tarball::new("mid", "1.0.0").needs(json!({"ms": "^2.0.0", "leaf": "^1"}))]);
    package(&server, &[Tarball::new("leaf", "1.0.0").needs(json!({"ms": "2"}))]);
    package(&server, &[Tarball::new("ms", "1.9.0"), Tarball::new("ms", "2.1.0")]);
    let fetched = npm(&server, &["app"]).await.unwrap();
    let wanted = [
        "node_modules/app 1.0.0",
        "node_modules/leaf 1.0.0",
        "node_modules/leaf/node_modules/ms 2.1.0",
        "node_modules/mid 1.0.0",
        "node_modules/mid/node_modules/ms 2.1.0",
        "node_modules/ms 1.9.0",
    ];
    assert_eq!(places(&fetched), wanted);
    assert_eq!(
        text(&fetched.packages[2], "node_modules/leaf/node_modules/ms/index.js"),
        "module.exports = '2.1.0';\n"
    );
    let downloads = server.asked().iter().filter(|asked| asked.path.contains("ms-2.1.0")).count();
    assert_eq!(downloads, 1, "an archive is fetched once for all of its places");
}

#[tokio::test]
async fn scopes_aliases_and_circles() {
    let server = Server::start().await;
    package(&server, &[Tarball::new("@a/b", "1.0.0").needs(json!({"c": "1", "old": "npm:c@0.9.0"}))]);
    package(&server, &[Tarball::new("c", "0.9.0"), Tarball::new("c", "1.0.0").needs(json!({"@a/b": "^1"}))]);
    let fetched = npm(&server, &["@a/b@^1"]).await.unwrap();
    assert_eq!(
        places(&fetched),
        ["node_modules/@a/b 1.0.0", "node_modules/c 1.0.0", "node_modules/old 0.9.0"]
    );
    assert!(server.asked().iter().any(|asked| asked.path == "/npm/@a%2fb"));
}

#[tokio::test]
async fn peers_are_installed_beside_and_conflicts_told() {
    let server = Server::start().await;
    let plugin =
        Tarball::new("plugin", "1.0.0").says("peerDependencies", json!({"core": "^2", "extra": "*"}));
    package(&server, &[plugin.says("peerDependenciesMeta", json!({"extra": {"optional": true}}))]);
    package(
        &server,
        &[Tarball::new("core", "1.0.0"), Tarball::new("core", "2.0.0"), Tarball::new("core", "3.0.0")],
    );
    let fetched = npm(&server, &["plugin"]).await.unwrap();
    assert_eq!(places(&fetched), ["node_modules/core 2.0.0", "node_modules/plugin 1.0.0"]);
    let error = npm(&server, &["plugin", "core@3"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsatisfiable);
    assert!(error.message().contains("`plugin` 1.0.0 needs `core` ^2, and 3.0.0"), "{error}");
}

#[tokio::test]
async fn optional_packages_are_left_out_when_they_cannot_be() {
    let server = Server::start().await;
    let optional = json!({"mac": "1", "gone": "1", "native": "1", "fine": "1"});
    package(&server, &[Tarball::new("app", "1.0.0").says("optionalDependencies", optional)]);
    package(&server, &[Tarball::new("mac", "1.0.0").says("os", json!(["darwin"]))]);
    package(&server, &[Tarball::new("native", "1.0.0").file("binding.gyp", b"{}")]);
    package(&server, &[Tarball::new("fine", "1.0.0")]);
    let fetched = npm(&server, &["app"]).await.unwrap();
    assert_eq!(places(&fetched), ["node_modules/app 1.0.0", "node_modules/fine 1.0.0"]);
    assert_eq!(fetched.notes.len(), 3, "{:?}", fetched.notes);
    for (name, part) in [("mac", "other platforms"), ("native", "native code")] {
        let error = npm(&server, &[name]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
        let told = told(&error);
        assert!(told.contains(part) && told.contains("Docker"), "{told}");
    }
}

#[tokio::test]
async fn pkg_04_scripts_are_not_run_and_programs_are_made() {
    let server = Server::start().await;
    let tool = Tarball::new("tool", "1.0.0")
        .says("scripts", json!({"postinstall": "node -e 'process.exit(1)'"}))
        .says("bin", json!({"tool": "./cli.js", "../up": "cli.js", "gone": "none.js", "modern": "m.mjs"}))
        .file("cli.js", b"")
        .file("m.mjs", b"");
    package(&server, &[tool]);
    let fetched = npm(&server, &["tool"]).await.unwrap();
    assert_eq!(fetched.notes, ["the install scripts of `tool` were not run"]);
    let package = &fetched.packages[0];
    let cli = "#!/usr/bin/env node\nrequire(\"../tool/cli.js\");\n";
    assert_eq!(text(package, "node_modules/.bin/tool"), cli);
    assert_eq!(text(package, "node_modules/.bin/up"), cli);
    assert_eq!(
        text(package, "node_modules/.bin/modern"),
        "#!/usr/bin/env node\nimport(\"../tool/m.mjs\");\n"
    );
    assert!(!package.files.iter().any(|file| file.path.contains(".bin/gone") || file.path.contains("..")));
}

#[tokio::test]
async fn what_is_there_stays_and_is_replaced_when_asked() {
    let server = Server::start().await;
    package(&server, &[Tarball::new("ms", "1.0.0"), Tarball::new("ms", "2.0.0")]);
    package(&server, &[Tarball::new("app", "1.0.0").needs(json!({"ms": "^2"}))]);
    let there = present("ms", "1.0.0", "node_modules/ms", &[]);
    let user = present("user", "1.0.0", "node_modules/user", &["ms@^1"]);
    let mut wanted = request(PackageManager::Npm, &["ms"]);
    wanted.present = vec![there.clone(), user];
    let fetched = fetch(settings(&server), wanted.clone()).await.unwrap();
    assert_eq!((places(&fetched).len(), fetched.satisfied), (0, vec![there]));
    wanted.requirements = vec!["app".into()];
    let fetched = fetch(settings(&server), wanted.clone()).await.unwrap();
    assert_eq!(places(&fetched), ["node_modules/app 1.0.0", "node_modules/app/node_modules/ms 2.0.0"]);
    wanted.requirements = vec!["ms@2".into()];
    let fetched = fetch(settings(&server), wanted).await.unwrap();
    assert_eq!(places(&fetched), ["node_modules/ms 2.0.0"]);
    assert_eq!(fetched.notes, ["`user` 1.0.0 requires `ms@^1`, but 2.0.0 is installed now"]);
}

#[tokio::test]
async fn unknown_names_and_versions_are_told() {
    let server = Server::start().await;
    package(&server, &[Tarball::new("app", "1.0.0").needs(json!({"gone": "1"}))]);
    for (text, code, part) in [
        ("gone", ErrorCode::NotFound, "`gone`"),
        ("app", ErrorCode::NotFound, "`gone`, which `app` 1.0.0 needs"),
        ("app@^2", ErrorCode::Unsatisfiable, "`^2`"),
        ("app@none", ErrorCode::NotFound, "`none`"),
        ("../app", ErrorCode::CapabilityUnavailable, "address"),
        ("App@1\u{7}", ErrorCode::ArgsInvalid, "not a requirement"),
    ] {
        let error = npm(&server, &[text]).await.unwrap_err();
        assert_eq!(error.code(), code, "{text}: {error}");
        assert!(error.message().contains(part), "{text}: {error}");
    }
}
