//! What a path of the host can and cannot lead to.

use dormouse_core::ErrorCode;

use super::*;

struct Place {
    folder: tempfile::TempDir,
    host: HostFolders,
}

fn read(host: &HostFolders, path: &str, most: u64) -> Result<HostFile> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(host.read(path.into(), most))
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    for made in ["root/.ssh", "root/.config/op", "root/sub", "outside", "downloads"] {
        std::fs::create_dir_all(folder.path().join(made)).unwrap();
    }
    for (file, text) in
        [("root/a.txt", "a"), ("root/sub/b.txt", "b"), ("root/.ssh/id", "secret"), ("outside/x", "canary")]
    {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let host = HostFolders::default().readable(&root).unwrap();
    Place { host: host.downloads(&folder.path().join("downloads"), 100).unwrap(), folder }
}

impl Place {
    fn path(&self, path: &str) -> String {
        self.folder.path().join(path).to_str().unwrap().into()
    }

    fn read(&self, path: &str, most: u64) -> Result<HostFile> {
        read(&self.host, path, most)
    }

    fn code(&self, path: &str) -> ErrorCode {
        self.read(path, 100).unwrap_err().code()
    }
}

#[test]
fn a_file_below_a_root_is_read_by_absolute_and_by_relative_path() {
    let place = place();
    for path in [place.path("root/sub/b.txt"), "sub/b.txt".into(), "./sub/b.txt".into()] {
        let file = place.read(&path, 1).unwrap();
        assert_eq!((file.name.as_str(), file.bytes.as_slice()), ("b.txt", &b"b"[..]));
    }
    assert_eq!(place.read("a.txt", 0).unwrap_err().code(), ErrorCode::TooLarge);
}

/// S3-06, S3-07; links as in FS-03.
#[test]
fn fs_02_what_leads_elsewhere_or_holds_secrets_is_refused() {
    use std::os::unix::fs::symlink;
    let place = place();
    for (link, target) in [
        ("out", place.path("outside/x")),
        ("up", "../outside".into()),
        ("innocent", ".ssh/id".into()),
        ("self", "self".into()),
        ("proc", "/proc/self/environ".into()),
    ] {
        symlink(target, place.folder.path().join("root").join(link)).unwrap();
    }
    let long = "x".repeat(4_097);
    let outside = place.path("outside/x");
    let up = place.path("root/../outside/x");
    for path in [
        "",
        "../outside/x",
        "sub/../a.txt",
        &up,
        "a\0",
        &long,
        &outside,
        "/etc/passwd",
        "/nowhere/at/all",
        "/proc/self/environ",
        ".ssh/id",
        ".SSH/id",
        "out",
        "up/x",
        "innocent",
        "self",
        "proc",
    ] {
        let error = place.read(path, 100).unwrap_err();
        assert_eq!(error.code(), ErrorCode::PathDenied, "{path:?}: {error}");
        assert!(error.message().len() < 300, "{path:?}");
    }
    assert_eq!(place.code("missing"), ErrorCode::NotFound);
    assert_eq!(place.code("%2e%2e/outside/x"), ErrorCode::NotFound);
    assert_eq!(place.code("*.txt"), ErrorCode::ArgsInvalid);
    assert_eq!(place.code("sub"), ErrorCode::ArgsInvalid);
    assert_eq!(read(&HostFolders::default(), "a.txt", 1).unwrap_err().code(), ErrorCode::PathDenied);
}

/// One list for roots and mounts: `dormouse_core::keys`.
#[test]
fn fs_02_what_holds_keys_is_refused_by_that_name_whether_it_is_there_or_not() {
    let place = place();
    for name in
        [".env", ".env.local", "id_rsa", "id_ed25519", "x.pem", "kubeconfig", ".vault-token", ".npmrc"]
    {
        std::fs::write(place.folder.path().join("root").join(name), "secret").unwrap();
        std::os::unix::fs::symlink(name, place.folder.path().join("root").join(format!("to{name}"))).unwrap();
    }
    std::fs::write(place.folder.path().join("root/.config/op/config"), "secret").unwrap();
    std::fs::write(place.folder.path().join("root/.env.example"), "NAME=").unwrap();
    for path in [
        ".env",
        ".env.local",
        "to.env",
        "id_rsa",
        "toid_ed25519",
        "x.pem",
        "kubeconfig",
        ".vault-token",
        ".npmrc",
        ".config/op/config",
        ".cargo/credentials.toml",
        "sub/.netrc",
        ".ssh/id",
        ".SSH/none",
    ] {
        let error = place.read(path, 100).unwrap_err();
        assert_eq!(error.code(), ErrorCode::PathDenied, "{path}");
        assert!(error.message().contains("keys") && error.hint().is_some(), "{path}: {error}");
    }
    assert_eq!(place.read(".env.example", 100).unwrap().bytes, b"NAME=");
    let root = place.folder.path().join("root/.ssh");
    assert_eq!(HostFolders::default().readable(&root).err().unwrap().code(), ErrorCode::PathDenied);
}

#[test]
fn fs_07_a_pipe_is_no_file_and_nobody_waits_for_it() {
    let place = place();
    let pipe = place.folder.path().join("root/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(place.code("pipe"), ErrorCode::ArgsInvalid);
}

#[test]
fn a_download_gets_a_harmless_name_and_replaces_nothing() {
    let place = place();
    let root = place.host.downloads.clone().unwrap().root.clone();
    for (name, saved) in [
        ("plot.png", "plot.png"),
        ("plot.png", "2-plot.png"),
        ("..", "download"),
        (".bashrc", "bashrc"),
        ("a\nb/c", "a_b_c"),
        ("名", "_"),
    ] {
        let path = save_now(&root, "sb-1", name, b"x").unwrap();
        assert!(path.ends_with(Path::new("downloads/sb-1").join(saved)), "{}", path.display());
        assert_eq!(std::fs::read(path).unwrap(), b"x");
    }
    let code = |done: Result<PathBuf>| done.unwrap_err().code();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let none = HostFolders::default();
    let nowhere = none.save("sb-1".into(), "a".into(), Vec::new());
    assert_eq!(code(runtime.block_on(nowhere)), ErrorCode::CapabilityUnavailable);
}

#[tokio::test]
async fn own_02_downloads_take_so_much_of_the_disk_and_no_more() {
    let place = place();
    let save = |name: &str, bytes: usize| place.host.save("sb-1".into(), name.into(), vec![0; bytes]);
    let first = save("a", 60).await.unwrap();
    let refused = save("b", 41).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::QuotaExceeded);
    assert!(refused.message().starts_with("the folder for downloads holds 60 bytes, 41 more"), "{refused}");
    save("b", 40).await.unwrap();
    std::fs::remove_file(first).unwrap();
    save("c", 60).await.unwrap();
}
