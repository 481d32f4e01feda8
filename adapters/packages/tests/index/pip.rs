//! Python: which versions are chosen, and where their files go.

use dormouse_core::ErrorCode;
use dormouse_core::packages::{PackageEvent, PackageManager, Packages as _};
use dormouse_packages::Indexes;
use serde_json::json;

use crate::build::{Form, Wheel, project};
use crate::server::Server;
use crate::{fetch, names, pip, present, request, settings, text, told};

const SITE: &str = "lib/python3.14/site-packages";

/// `app` needs `lib` and `util`; its newest version wants a `lib` that `util` does not bear.
fn conflicting(server: &Server, form: Form) {
    project(
        server,
        form,
        &[
            Wheel::new("app", "1.0").requires("lib>=1").requires("util"),
            Wheel::new("app", "2.0").requires("lib>=2").requires("util"),
        ],
    );
    project(server, form, &[Wheel::new("lib", "1.5"), Wheel::new("lib", "2.1")]);
    project(server, form, &[Wheel::new("util", "1.0").requires("lib<2")]);
}

#[tokio::test]
async fn a_newer_version_that_does_not_fit_is_given_up_for_an_older() {
    for form in [Form::Json, Form::JsonMetadata, Form::Html] {
        let server = Server::start().await;
        conflicting(&server, form);
        let fetched = pip(&server, &["app"]).await.unwrap();
        assert_eq!(names(&fetched), ["app 1.0", "lib 1.5", "util 1.0"]);
        assert!(fetched.notes.is_empty(), "{:?}", fetched.notes);
    }
}

#[tokio::test]
async fn the_indexs_own_metadata_spares_the_wheels_that_are_not_taken() {
    let server = Server::start().await;
    conflicting(&server, Form::JsonMetadata);
    pip(&server, &["app"]).await.unwrap();
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.path).collect();
    assert!(asked.contains(&"/files/app-2.0-py3-none-any.whl.metadata".to_owned()), "{asked:?}");
    assert!(!asked.contains(&"/files/app-2.0-py3-none-any.whl".to_owned()), "{asked:?}");
}

#[tokio::test]
async fn a_contradiction_names_both_sides() {
    let server = Server::start().await;
    conflicting(&server, Form::Json);
    let error = pip(&server, &["app==2.0"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsatisfiable);
    for part in ["app", "lib", "util", "<2", ">=2"] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    let error = pip(&server, &["lib>=9"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsatisfiable);
    assert!(error.message().contains(">=9"), "{error}");
    assert!(!error.message().contains("asked 0"), "what was asked has no version: {error}");
}

#[tokio::test]
async fn extras_and_markers_bring_what_they_name() {
    let server = Server::start().await;
    project(
        &server,
        Form::Json,
        &[Wheel::new("app", "1.0")
            .requires("socks>=1; extra == 'socks'")
            .requires("old; python_version < '3.11'")
            .requires("windows; sys_platform == 'win32'")
            .requires("here; sys_platform == 'wasi'")],
    );
    for name in ["socks", "old", "windows", "here"] {
        project(&server, Form::Json, &[Wheel::new(name, "1.0")]);
    }
    assert_eq!(names(&pip(&server, &["app"]).await.unwrap()), ["app 1.0", "here 1.0"]);
    let with = pip(&server, &["App[Socks]>=1; python_version >= '3'"]).await.unwrap();
    assert_eq!(names(&with), ["app 1.0", "here 1.0", "socks 1.0"]);
    assert_eq!(names(&pip(&server, &["socks", "old; python_version < '3'"]).await.unwrap()), ["socks 1.0"]);
}

#[tokio::test]
async fn yanked_early_and_unfitting_versions_are_passed_over() {
    let server = Server::start().await;
    for form in [Form::Json, Form::Html] {
        project(
            &server,
            form,
            &[
                Wheel::new("app", "1.0"),
                Wheel::new("app", "1.1").listed("yanked", json!("broken")),
                Wheel::new("app", "1.2").listed("requires-python", json!(">=3.15")),
                Wheel::new("app", "1.3").tag("cp314-cp314-manylinux_2_17_x86_64"),
                Wheel::new("app", "2.0rc1"),
            ],
        );
        assert_eq!(names(&pip(&server, &["app"]).await.unwrap()), ["app 1.0"]);
        assert_eq!(names(&pip(&server, &["app>=2.0rc1"]).await.unwrap()), ["app 2.0rc1"]);
    }
}

#[tokio::test]
async fn what_is_there_stays_until_an_upgrade() {
    let server = Server::start().await;
    project(&server, Form::Json, &[Wheel::new("lib", "1.5"), Wheel::new("lib", "2.1")]);
    let there = present("lib", "1.5", &format!("{SITE}/lib-1.5.dist-info"), &[]);
    let user = present("user", "1.0", &format!("{SITE}/user-1.0.dist-info"), &["lib<2"]);
    let mut wanted = request(PackageManager::Pip, &["lib"]);
    wanted.present = vec![there.clone(), user];
    let fetched = fetch(settings(&server), wanted.clone()).await.unwrap();
    assert_eq!((names(&fetched).len(), fetched.satisfied), (0, vec![there]));
    assert!(server.asked().is_empty(), "nothing had to be asked");
    wanted.upgrade = true;
    let fetched = fetch(settings(&server), wanted.clone()).await.unwrap();
    assert_eq!(names(&fetched), ["lib 2.1"]);
    assert_eq!(fetched.notes, ["`user` 1.0 requires `lib<2`, but 2.1 is installed now"]);
    wanted.upgrade = false;
    wanted.requirements = vec!["lib>=2".into()];
    assert_eq!(names(&fetch(settings(&server), wanted).await.unwrap()), ["lib 2.1"]);
}

#[tokio::test]
async fn native_code_is_a_clear_error() {
    let server = Server::start().await;
    project(&server, Form::Json, &[Wheel::new("fast", "1.0").tag("cp314-cp314-manylinux_2_17_x86_64")]);
    project(&server, Form::Json, &[Wheel::new("app", "1.0").requires("fast")]);
    for name in ["fast", "app"] {
        let error = pip(&server, &[name]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
        let told = told(&error);
        assert!(
            told.contains("`fast` 1.0") && told.contains("manylinux") && told.contains("Docker"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn files_lie_where_python_looks_for_them() {
    let server = Server::start().await;
    let points = b"[console_scripts]\ntool = tool.cli:main [x]\nbad/name = tool:x\nodd = not python\n[other]\nx = y:z\n";
    project(
        &server,
        Form::Json,
        &[Wheel::new("tool", "1.0")
            .file("tool-1.0.dist-info/entry_points.txt", points)
            .file("tool-1.0.data/scripts/helper", b"#!python -E\nprint(1)\n")
            .file("tool-1.0.data/data/share/tool/x.txt", b"data")
            .file("tool-1.0.data/purelib/more.py", b"")
            .file("tool-1.0.data/headers/tool.h", b"")
            .file("tool/with, comma.txt", b"")],
    );
    let fetched = pip(&server, &["tool"]).await.unwrap();
    let package = &fetched.packages[0];
    let script = text(package, "bin/tool");
    assert!(
        script.starts_with("#!/usr/bin/env python3\n") && script.contains("from tool.cli import main"),
        "{script}"
    );
    assert_eq!(text(package, "bin/helper"), "#!/usr/bin/env python3\nprint(1)\n");
    let programs: Vec<&str> =
        package.files.iter().filter(|file| file.executable).map(|file| file.path.as_str()).collect();
    assert_eq!(programs, ["bin/helper", "bin/tool"]);
    for path in ["share/tool/x.txt", &format!("{SITE}/more.py"), &format!("{SITE}/tool.py")] {
        text(package, path);
    }
    assert_eq!(text(package, &format!("{SITE}/tool-1.0.dist-info/INSTALLER")), "dormouse\n");
    assert_eq!(text(package, &format!("{SITE}/tool-1.0.dist-info/REQUESTED")), "");
    let record = text(package, &format!("{SITE}/tool-1.0.dist-info/RECORD"));
    assert_eq!(record.lines().count(), package.files.len());
    for line in
        ["../../../bin/tool,sha256=", "\"tool/with, comma.txt\",sha256=", "tool-1.0.dist-info/RECORD,,"]
    {
        assert!(record.contains(line), "{line}: {record}");
    }
    assert!(!package.files.iter().any(|file| file.path.ends_with(".h")));
}

#[tokio::test]
async fn a_pinned_hash_holds() {
    let server = Server::start().await;
    project(&server, Form::Json, &[Wheel::new("lib", "1.0")]);
    let hash = crate::build::sha256(&server.bytes("/files/lib-1.0-py3-none-any.whl"));
    let pinned = format!("lib==1.0 --hash=sha256:{hash}");
    assert_eq!(names(&pip(&server, &[&pinned]).await.unwrap()), ["lib 1.0"]);
    let other = format!("lib==1.0 --hash=sha256:{}", "0".repeat(64));
    assert_eq!(pip(&server, &[&other]).await.unwrap_err().code(), ErrorCode::PackageRefused);
}

#[tokio::test]
async fn what_goes_on_is_told() {
    let server = Server::start().await;
    project(&server, Form::Json, &[Wheel::new("lib", "1.0")]);
    let events = std::sync::Mutex::new(Vec::new());
    let indexes = Indexes::new(settings(&server)).unwrap();
    let wanted = request(PackageManager::Pip, &["lib"]);
    indexes.fetch(&wanted, &|event| events.lock().unwrap().push(event)).await.unwrap();
    let events = events.into_inner().unwrap();
    assert_eq!(events.first(), Some(&PackageEvent::Resolving { packages: 0 }));
    assert_eq!(events.last(), Some(&PackageEvent::Unpacking { name: "lib".into() }));
    let size = server.bytes("/files/lib-1.0-py3-none-any.whl").len() as u64;
    let name = "lib-1.0-py3-none-any.whl".to_owned();
    assert!(
        events.contains(&PackageEvent::Downloading { name, bytes: size, total: Some(size) }),
        "{events:?}"
    );
}
