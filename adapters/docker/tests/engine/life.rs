//! What is left behind, and whose it is.

use std::collections::HashMap;

use async_trait::async_trait;
use bollard::models::ContainerCreateBody;
use dormouse_core::sandbox::{Entry, EntryKind, Files as Port, Owner, Piece};
use dormouse_core::{Error, GuestPath, OfferedPrograms as _, ProgramCall, ProgramRun, Provider as _, Result};
use dormouse_docker::DockerProvider;
use dormouse_files::{Files, Kind, Tree};

use crate::list::{BUSYBOX, path, said, spec};
use crate::support::{Bench, settings};

/// CON-06, LIF-06: what a process left behind is removed by the next of its installation, and by nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn con_06_what_a_dead_process_left_is_removed_by_its_own_installation_alone() {
    let Some(bench) = Bench::new("reap").await else { return };
    let mut alive = bench.machine().await;
    let locks = bench.state.path().join("docker");
    let (without, with) = ("0".repeat(32), "1".repeat(32));
    std::fs::write(locks.join(format!("{with}.lock")), "").unwrap();
    for process in [&without, &with] {
        let labels = [("dormouse.owner".into(), bench.owner()), ("dormouse.process".into(), process.clone())];
        let body = ContainerCreateBody {
            image: Some(BUSYBOX.into()),
            cmd: Some(vec!["sleep".into(), "600".into()]),
            labels: Some(HashMap::from(labels)),
            ..ContainerCreateBody::default()
        };
        let created = bench.docker.create_container(None, body).await.unwrap();
        bench.docker.start_container(&created.id, None).await.unwrap();
    }
    assert_eq!(bench.left().await.0, 3);
    // Another installation on the same engine removes nothing of this one.
    let elsewhere = tempfile::tempdir().unwrap();
    let stranger = DockerProvider::new(settings(elsewhere.path())).unwrap();
    drop(stranger.machine(&spec(), None).await.unwrap());
    stranger.close().await;
    assert_eq!(bench.left().await.0, 3);
    // A second process of this installation removes what the dead left, and leaves the living alone.
    let second = DockerProvider::new(settings(bench.state.path())).unwrap();
    let mut other = second.machine(&spec(), None).await.unwrap();
    assert_eq!(bench.left().await.0, 2);
    assert!(!locks.join(format!("{with}.lock")).exists());
    assert_eq!(said(&mut alive, "echo alive").await.1, "alive\n");
    assert_eq!(said(&mut other, "echo alive").await.1, "alive\n");
    drop((alive, other));
    second.close().await;
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_another_provider_runs_over_a_copy_of_its_files() {
    let Some(bench) = Bench::new("programs").await else { return };
    let programs = bench.provider.programs(spec());
    let mut files = TreePort(Files::new(Tree::default()));
    files.0.write(&path("/workspace/in"), b"b\na\n").unwrap();
    files.0.write(&path("/workspace/gone"), b"x").unwrap();
    let call = |name: &str, arguments: &[&str]| ProgramCall {
        name: name.into(),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        directory: "/workspace".into(),
        input: b"from stdin".to_vec(),
        environment: vec![("X".into(), "1 2".into())],
    };
    let owner = Owner::local();
    let of = ProgramRun::of(&owner);
    let sorted = programs.run(of, &call("sort", &["-o", "out file", "in"]), &mut files).await.unwrap();
    assert_eq!((sorted.status, sorted.provider), (0, Some("docker")));
    assert_eq!(files.0.read(&path("/workspace/out file"), 0, 9).unwrap(), b"a\nb\n");
    let ended = programs
        .run(of, &call("sh", &["-c", "cat; echo $X >&2; rm gone; mkdir -p d; exit 5"]), &mut files)
        .await;
    let ended = ended.unwrap();
    assert_eq!((ended.status, ended.output, ended.errors), (5, b"from stdin".to_vec(), b"1 2\n".to_vec()));
    assert!(files.0.stat(&path("/workspace/gone")).is_err());
    assert_eq!(files.0.stat(&path("/workspace/d")).unwrap().kind, Kind::Folder);
    assert!(programs.run(of, &call("nosuchcommand", &[]), &mut files).await.is_none());
    assert!(programs.run(of, &call("x; touch /workspace/y", &[]), &mut files).await.is_none());
    bench.end().await;
}

pub(crate) struct TreePort(pub(crate) Files);

#[async_trait]
impl Port for TreePort {
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<Piece> {
        let bytes = self.0.read(path, offset, usize::try_from(most).unwrap())?;
        Ok(Piece { bytes, size: self.0.stat(path)?.size, modified_ms: 0 })
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
        let listed = self.0.list(path, if recursive { 100 } else { 1 }, most)?.entries;
        let entry = |listed: dormouse_files::Listed| Entry {
            path: listed.path,
            kind: match listed.stat.kind {
                Kind::File => EntryKind::File,
                Kind::Folder => EntryKind::Folder,
                Kind::Link => EntryKind::Link,
            },
            bytes: listed.stat.size,
            modified_ms: 0,
            target: None,
        };
        let entries: Vec<Entry> = listed.into_iter().map(entry).collect();
        let total = entries.len() as u64;
        Ok((entries, total))
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
        Err(Error::args_invalid(format!("{path}: not asked")))
    }
}
