//! Archives and indexes that mean harm.

use dormouse_core::ErrorCode;
use dormouse_core::packages::PackageManager;
use dormouse_packages::{Bounds, Settings};
use serde_json::json;

use crate::build::{Form, Tarball, Wheel, integrity, project, registered, sha256, tgz, zip};
use crate::server::{Say, Server};
use crate::{fetch, npm, pip, request, settings, told};

const WHEEL: &str = "/files/lib-1.0-py3-none-any.whl";

/// An index whose only wheel is these bytes, with their right hash.
async fn with_wheel(bytes: Vec<u8>) -> Server {
    let server = Server::start().await;
    project(
        &server,
        Form::JsonMetadata,
        &[Wheel::new("lib", "1.0").listed("hashes", json!({"sha256": sha256(&bytes)}))],
    );
    server.put(WHEEL, Say::Body("application/octet-stream", bytes));
    server
}

async fn with_tarball(bytes: Vec<u8>) -> Server {
    let server = Server::start().await;
    registered(&server, &[(json!({"name": "lib", "version": "1.0.0"}), bytes)]);
    server
}

fn info(files: &[(&str, &[u8])]) -> Vec<u8> {
    let own: [(&str, &[u8]); 2] = [
        ("lib-1.0.dist-info/METADATA", b"Name: lib\nVersion: 1.0\n\n"),
        ("lib-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\n"),
    ];
    let all = own.iter().chain(files).map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()));
    zip(&all.collect::<Vec<_>>())
}

const BAD_NAMES: [&str; 8] =
    ["../up", "/etc/x", "a/../../up", "a//b", "./a/./b", "a\\..\\b", "a\nb", "a/../b"];

#[tokio::test]
async fn pkg_01_names_that_lead_out_of_a_wheel_are_refused() {
    for name in BAD_NAMES {
        let server = with_wheel(info(&[(name, b"x")])).await;
        let error = pip(&server, &["lib"]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PackageRefused, "{name:?}: {error}");
        assert!(told(&error).contains("nothing was installed"), "{error}");
    }
    for name in ["lib-1.0.data/data/../../x", "lib-1.0.data/scripts/../x"] {
        let server = with_wheel(info(&[(name, b"x")])).await;
        assert_eq!(pip(&server, &["lib"]).await.unwrap_err().code(), ErrorCode::PackageRefused, "{name}");
    }
}

#[tokio::test]
async fn pkg_01_doubled_names_and_folders_that_are_files_are_refused() {
    for files in [
        &[("Lib.py", &b"1"[..]), ("lib.py", b"2")][..],
        &[("a", b"1"), ("a/b", b"2")],
        &[("lib-2.0.dist-info/METADATA", b"")],
        &[("lib.py", b"1"), ("lib-1.0.data/purelib/lib.py", b"2")],
    ] {
        let server = with_wheel(info(files)).await;
        let error = pip(&server, &["lib"]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PackageRefused, "{files:?}");
    }
}

#[tokio::test]
async fn wheels_that_are_none_are_refused() {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    let about = file("lib-1.0.dist-info/METADATA", "Name: lib\nVersion: 1.0\n\n");
    for bytes in [
        b"no zip".to_vec(),
        Vec::new(),
        zip(std::slice::from_ref(&about)),
        zip(&[about.clone(), file("lib-1.0.dist-info/WHEEL", "Wheel-Version: 2.0\n")]),
        zip(&[file("lib-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")]),
        zip(&[
            file("other-1.0.dist-info/METADATA", ""),
            file("other-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n"),
        ]),
        info(&[])[..80].to_vec(),
    ] {
        let server = with_wheel(bytes).await;
        let error = pip(&server, &["lib"]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PackageRefused, "{error}");
    }
}

#[tokio::test]
async fn pkg_02_bombs_end_at_the_bound() {
    let zeros = vec![0; 8 << 20];
    let bounds = Bounds { unpacked: 1 << 20, ..Bounds::default() };
    let server = with_wheel(info(&[("zeros", &zeros)])).await;
    let small = Settings { bounds, ..settings(&server) };
    let error = fetch(small, request(PackageManager::Pip, &["lib"])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    let bomb = Tarball::new("lib", "1.0.0").file("zeros", &zeros).build();
    let server = with_tarball(bomb).await;
    let small = Settings { bounds, ..settings(&server) };
    let error = fetch(small, request(PackageManager::Npm, &["lib"])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    // Many small entries.
    let many: Vec<(String, Vec<u8>)> = (0..20_001).map(|index| (format!("f{index}"), Vec::new())).collect();
    let server = with_wheel(zip(&many)).await;
    assert_eq!(pip(&server, &["lib"]).await.unwrap_err().code(), ErrorCode::TooLarge);
    let many: Vec<(String, Vec<u8>)> = (0..20_001).map(|index| (format!("p/f{index}"), Vec::new())).collect();
    let server = with_tarball(tgz(&many, |_| {})).await;
    assert_eq!(npm(&server, &["lib"]).await.unwrap_err().code(), ErrorCode::TooLarge);
}

#[tokio::test]
async fn pkg_01_tarballs_with_bad_names_links_or_no_package_are_refused() {
    let own = || ("package/package.json".to_owned(), b"{\"name\":\"lib\",\"version\":\"1.0.0\"}".to_vec());
    let mut archives: Vec<Vec<u8>> = BAD_NAMES[..7]
        .iter()
        .map(|name| tgz(&[own(), (format!("package/{name}"), b"x".to_vec())], |_| {}))
        .collect();
    archives.push(tgz(&[own(), ("../package/up".into(), Vec::new())], |_| {}));
    archives.push(tgz(&[own(), ("/package/up".into(), Vec::new())], |_| {}));
    archives.push(tgz(&[own(), own()], |_| {}));
    archives.push(tgz(&[own(), ("package/A".into(), Vec::new()), ("package/a".into(), Vec::new())], |_| {}));
    for kind in [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Char, tar::EntryType::Fifo] {
        archives.push(tgz(&[own()], |builder| {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(kind);
            header.set_path("package/link").unwrap();
            header.set_link_name("/etc/passwd").unwrap();
            header.set_size(0);
            header.set_cksum();
            builder.append(&header, std::io::empty()).unwrap();
        }));
    }
    archives.push(tgz(&[("package/index.js".into(), Vec::new())], |_| {}));
    archives.push(b"no gzip".to_vec());
    archives.push(Tarball::new("lib", "1.0.0").build()[..60].to_vec());
    for (index, bytes) in archives.into_iter().enumerate() {
        let server = with_tarball(bytes).await;
        let error = npm(&server, &["lib"]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PackageRefused, "{index}: {error}");
    }
}

#[tokio::test]
async fn pkg_03_another_hash_or_none_is_refused() {
    let server = Server::start().await;
    project(&server, Form::JsonMetadata, &[Wheel::new("lib", "1.0")]);
    let changed = Wheel::new("lib", "1.0").file("more.py", b"").build();
    server.put(WHEEL, Say::Body("application/octet-stream", changed));
    let error = pip(&server, &["lib"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::PackageRefused);
    assert!(error.message().contains("does not have the hash"), "{error}");
    // Also of the description that lies beside it.
    project(&server, Form::JsonMetadata, &[Wheel::new("lib", "1.0")]);
    server.put(format!("{WHEEL}.metadata"), Say::Body("text/plain", b"Name: lib\nVersion: 1.0\n\n".to_vec()));
    assert_eq!(pip(&server, &["lib"]).await.unwrap_err().code(), ErrorCode::PackageRefused);
    project(&server, Form::Json, &[Wheel::new("lib", "1.0").listed("hashes", json!({}))]);
    let error = pip(&server, &["lib"]).await.unwrap_err();
    assert!(error.message().contains("without a SHA-256"), "{error}");

    let bytes = Tarball::new("lib", "1.0.0").build();
    for integrity in [integrity(b"other"), "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=".into(), String::new()] {
        let server = with_tarball(bytes.clone()).await;
        let text = String::from_utf8(server.bytes("/npm/lib")).unwrap();
        let text = text.replace(&crate::build::integrity(&bytes), &integrity);
        server.put("/npm/lib", Say::Body("application/json", text.into_bytes()));
        let error = npm(&server, &["lib"]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PackageRefused, "{integrity}: {error}");
    }
}

#[tokio::test]
async fn pkg_02_bodies_without_an_end_are_read_to_their_bound() {
    for path in ["/simple/lib/", WHEEL, "/npm/lib", "/tarballs/lib-1.0.0.tgz"] {
        let server = Server::start().await;
        project(&server, Form::JsonMetadata, &[Wheel::new("lib", "1.0")]);
        registered(&server, &[(json!({"name": "lib", "version": "1.0.0"}), Vec::new())]);
        server.put(path, Say::Endless);
        let bounds = Bounds { page: 1 << 20, archive: 1 << 20, ..Bounds::default() };
        let manager =
            if path == "/simple/lib/" || path == WHEEL { PackageManager::Pip } else { PackageManager::Npm };
        let small = Settings { bounds, ..settings(&server) };
        let error = fetch(small, request(manager, &["lib"])).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::TooLarge, "{path}: {error}");
    }
}

#[tokio::test]
async fn a_wheel_that_says_it_is_another_is_not_taken() {
    let server = Server::start().await;
    project(&server, Form::Json, &[Wheel::new("other", "1.0")]);
    let bytes = server.bytes("/files/other-1.0-py3-none-any.whl");
    project(
        &server,
        Form::Json,
        &[Wheel::new("lib", "1.0").listed("hashes", json!({"sha256": sha256(&bytes)}))],
    );
    server.put(WHEEL, Say::Body("application/octet-stream", bytes));
    let error = pip(&server, &["lib"]).await.unwrap_err();
    assert!(error.message().contains("another package"), "{error}");
}

#[tokio::test]
async fn pkg_06_an_endless_chain_of_packages_ends() {
    let server = Server::start().await;
    for index in 0..300 {
        let next = json!({ format!("p{}", index + 1): "1" });
        let tarball = Tarball::new(&format!("p{index}"), "1.0.0").needs(next.clone());
        registered(&server, &[(tarball.about.clone(), tarball.build())]);
        let wheel = Wheel::new(&format!("p{index}"), "1.0").requires(&format!("p{}", index + 1));
        project(&server, Form::JsonMetadata, &[wheel]);
    }
    assert_eq!(npm(&server, &["p0"]).await.unwrap_err().code(), ErrorCode::TooLarge);
    assert!(pip(&server, &["p0"]).await.is_err());
}

#[tokio::test]
async fn pkg_06_a_package_that_needs_thousands_is_refused() {
    let server = Server::start().await;
    let needs: serde_json::Map<_, _> = (0..2_001).map(|index| (format!("n{index}"), json!("1"))).collect();
    let tarball = Tarball::new("lib", "1.0.0").needs(needs.into());
    registered(&server, &[(tarball.about.clone(), tarball.build())]);
    let error = npm(&server, &["lib"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert!(error.message().contains("2000"), "{error}");
}
