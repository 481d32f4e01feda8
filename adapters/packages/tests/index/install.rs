//! Packages in a sandbox's tree: written, listed, upgraded, removed, and none of it when it fails.

use std::collections::BTreeMap;

use async_trait::async_trait;
use dormouse_core::packages::{Installed, PackageManager, Present, install, present, uninstall};
use dormouse_core::sandbox::{Entry, EntryKind, Files as Port, Piece};
use dormouse_core::{ErrorCode, GuestPath, Result};
use dormouse_files::{Files, Kind, Quota, Tree};
use serde_json::json;

use crate::build::{Form, Tarball, Wheel, package, project};
use crate::server::Server;
use crate::{fetch, request, settings};

/// The port over a real tree, as the provider on Wasmtime has it.
pub(crate) struct Sandbox(pub(crate) Files);

pub(crate) fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).unwrap()
}

#[async_trait]
impl Port for Sandbox {
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<Piece> {
        let size = self.0.stat(path)?.size;
        // A bounded piece at a time.
        let bytes = self.0.read(path, offset, usize::try_from(most.min(1000)).unwrap())?;
        Ok(Piece { bytes, size, modified_ms: 0 })
    }

    async fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        self.0.write(path, bytes)
    }

    async fn append(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<u64> {
        self.0.append(path, bytes)
    }

    async fn edit(&mut self, path: &GuestPath, old: &str, new: &str, all: bool) -> Result<usize> {
        self.0.edit(path, old, new, all)
    }

    async fn list(&mut self, path: &GuestPath, recursive: bool, most: usize) -> Result<(Vec<Entry>, u64)> {
        let listed = self.0.list(path, if recursive { 4096 } else { 1 }, 1_000_000)?.entries;
        let total = listed.len() as u64;
        let entries = listed.into_iter().take(most).map(|listed| {
            let kind = match listed.stat.kind {
                Kind::File => EntryKind::File,
                Kind::Folder => EntryKind::Folder,
                Kind::Link => EntryKind::Link,
            };
            Entry { path: listed.path, kind, bytes: listed.stat.size, modified_ms: 0, target: None }
        });
        Ok((entries.collect(), total))
    }

    async fn remove(&mut self, path: &GuestPath, all: bool) -> Result<()> {
        self.0.remove(path, all)
    }

    async fn rename(&mut self, path: &GuestPath, to: &GuestPath, replace: bool) -> Result<()> {
        self.0.rename(path, to, replace)
    }

    async fn make_folder(&mut self, path: &GuestPath) -> Result<()> {
        self.0.make_folder(path)
    }

    async fn stat(&mut self, path: &GuestPath) -> Result<Entry> {
        self.0.stat(path)?;
        Ok(Entry { path: path.to_string(), kind: EntryKind::File, bytes: 0, modified_ms: 0, target: None })
    }
}

impl Sandbox {
    pub(crate) fn new(bytes: u64) -> Self {
        let files = Files::new(Tree::default());
        files.set_quota(Quota { bytes, ..Quota::default() });
        files.make_folder(&path("/workspace")).unwrap();
        Self(files)
    }

    /// Every file with its bytes, and every folder with none.
    pub(crate) fn all(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let listed = self.0.list(&path("/workspace"), 4096, 1_000_000).unwrap().entries;
        let content = |name: &str| self.0.read(&path(&format!("/workspace/{name}")), 0, 1 << 20).unwrap();
        let entries = listed.into_iter().map(|entry| {
            let file = entry.stat.kind == Kind::File;
            let bytes = file.then(|| content(&entry.path));
            (entry.path, bytes)
        });
        entries.collect()
    }

    async fn present(&mut self, manager: PackageManager) -> Vec<Present> {
        present(self, manager, &manager.root().unwrap(), "3.14.0").await.unwrap()
    }

    /// What a front door does.
    async fn install(
        &mut self,
        server: &Server,
        manager: PackageManager,
        wanted: &[&str],
    ) -> Result<Vec<Installed>> {
        let mut request = request(manager, wanted);
        request.present = self.present(manager).await;
        let fetched = fetch(settings(server), request.clone()).await?;
        install(self, manager, &manager.root()?, &request.present, &fetched.packages).await
    }
}

fn named(present: &[Present]) -> Vec<String> {
    present.iter().map(|found| format!("{} {}", found.name, found.version)).collect()
}

async fn pip_index() -> Server {
    let server = Server::start().await;
    let tool = |version: &str| {
        let points = format!("tool-{version}.dist-info/entry_points.txt");
        Wheel::new("tool", version).requires("lib").file(&points, b"[console_scripts]\ntool = tool:main\n")
    };
    project(
        &server,
        Form::Json,
        &[tool("1.0").file("tool_old/deep/er.py", b"old"), tool("2.0").file("big.bin", &vec![7; 100_000])],
    );
    project(&server, Form::Json, &[Wheel::new("lib", "1.0")]);
    server
}

#[tokio::test]
async fn python_packages_come_are_upgraded_and_go() {
    let pip = PackageManager::Pip;
    let server = pip_index().await;
    let mut sandbox = Sandbox::new(10 << 20);
    assert!(sandbox.present(pip).await.is_empty());
    let installed = sandbox.install(&server, pip, &["tool==1.0"]).await.unwrap();
    assert_eq!(installed.len(), 2);
    let there = sandbox.present(pip).await;
    assert_eq!(named(&there), ["lib 1.0", "tool 1.0"]);
    assert_eq!(there[1].requires, ["lib"]);
    let site = ".local/lib/python3.14/site-packages";
    assert!(sandbox.all().contains_key(&format!("{site}/tool_old/deep/er.py")));
    assert!(sandbox.install(&server, pip, &["tool"]).await.unwrap().is_empty());
    let installed = sandbox.install(&server, pip, &["tool==2.0"]).await.unwrap();
    assert_eq!((installed.len(), installed[0].replaced.as_deref()), (1, Some("1.0")));
    let all = sandbox.all();
    assert!(all.contains_key(&format!("{site}/big.bin")) && all.contains_key(".local/bin/tool"));
    assert!(!all.keys().any(|name| name.contains("tool_old") || name.contains("tool-1.0")));
    let there = sandbox.present(pip).await;
    uninstall(&mut sandbox, pip, &pip.root().unwrap(), &there).await.unwrap();
    assert!(sandbox.all().values().all(Option::is_none), "no file is left");
}

#[tokio::test]
async fn what_does_not_fit_changes_nothing() {
    let pip = PackageManager::Pip;
    let server = pip_index().await;
    let mut sandbox = Sandbox::new(20_000);
    sandbox.install(&server, pip, &["tool==1.0"]).await.unwrap();
    let before = sandbox.all();
    let error = sandbox.install(&server, pip, &["tool==2.0"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitDisk);
    assert_eq!(sandbox.all(), before);
    let mut empty = Sandbox::new(20_000);
    let before = empty.all();
    assert_eq!(empty.install(&server, pip, &["tool"]).await.unwrap_err().code(), ErrorCode::LimitDisk);
    assert_eq!(empty.all(), before);
}

#[tokio::test]
async fn files_of_the_user_are_not_overwritten() {
    let pip = PackageManager::Pip;
    let server = pip_index().await;
    for (mine, folder) in [("tool.py", false), ("tool.py", true), ("tool_old", false)] {
        let mut sandbox = Sandbox::new(1 << 20);
        let place = path(&format!("/workspace/.local/lib/python3.14/site-packages/{mine}"));
        if folder {
            sandbox.0.make_folder(&place).unwrap()
        } else {
            sandbox.0.write(&place, b"mine").unwrap()
        }
        let before = sandbox.all();
        let error = sandbox.install(&server, pip, &["tool==1.0"]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidState, "{mine} {folder}");
        assert_eq!(sandbox.all(), before);
    }
}

#[tokio::test]
async fn pkg_01_a_record_that_leads_elsewhere_removes_nothing_there() {
    let mut sandbox = Sandbox::new(1 << 20);
    let site = "/workspace/.local/lib/python3.14/site-packages";
    for (name, text) in [
        (format!("{site}/bad-1.0.dist-info/METADATA"), "Name: bad\nVersion: 1.0\n\n"),
        (
            format!("{site}/bad-1.0.dist-info/RECORD"),
            "../../../../mine,,\n/workspace/mine,,\n../../../../../etc/x,,\n\"a,,\n",
        ),
        ("/workspace/mine".to_owned(), "mine"),
    ] {
        sandbox.0.write(&path(&name), text.as_bytes()).unwrap();
    }
    let there = sandbox.present(PackageManager::Pip).await;
    uninstall(&mut sandbox, PackageManager::Pip, &PackageManager::Pip.root().unwrap(), &there).await.unwrap();
    assert_eq!(sandbox.all()["mine"], Some(b"mine".to_vec()));
    assert!(sandbox.present(PackageManager::Pip).await.is_empty());
}

#[tokio::test]
async fn javascript_packages_come_are_upgraded_and_go() {
    let npm = PackageManager::Npm;
    let server = Server::start().await;
    let ms = |version: &str, file: &str| {
        Tarball::new("ms", version).says("bin", json!({"ms": "cli.js"})).file("cli.js", b"").file(file, b"")
    };
    package(&server, &[ms("1.0.0", "old.js"), ms("2.0.0", "new.js")]);
    package(&server, &[Tarball::new("@a/b", "1.0.0").needs(json!({"ms": "^1"}))]);
    let mut sandbox = Sandbox::new(1 << 20);
    sandbox.install(&server, npm, &["ms@2", "@a/b"]).await.unwrap();
    let there = sandbox.present(npm).await;
    let paths: Vec<&str> = there.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(paths, ["node_modules/@a/b", "node_modules/@a/b/node_modules/ms", "node_modules/ms"]);
    assert_eq!((named(&there)[2].as_str(), there[0].requires[0].as_str()), ("ms 2.0.0", "ms@^1"));
    let installed = sandbox.install(&server, npm, &["ms@1"]).await.unwrap();
    assert_eq!((installed.len(), installed[0].replaced.as_deref()), (1, Some("2.0.0")));
    let all = sandbox.all();
    assert!(all.contains_key("node_modules/ms/old.js") && !all.contains_key("node_modules/ms/new.js"));
    assert!(all.contains_key("node_modules/.bin/ms"));
    let there = sandbox.present(npm).await;
    uninstall(&mut sandbox, npm, &npm.root().unwrap(), &there).await.unwrap();
    assert!(sandbox.all().values().all(Option::is_none), "{:?}", sandbox.all().keys());
}
