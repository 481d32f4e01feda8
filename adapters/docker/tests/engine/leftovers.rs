//! Whose containers are whose, and what comes to be after nobody waits for it any more.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bollard::models::VolumeCreateRequest;
use dormouse_core::Provider as _;
use dormouse_core::testing::wait_for_async;
use dormouse_docker::DockerProvider;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use crate::list::{PATIENCE, said, spec};
use crate::support::{Bench, left_of, owner_of, settings, wait_for_left};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// CON-22: a copied state folder, twice: neither a process on the first nor one on a copy ends what another has.
#[tokio::test(flavor = "multi_thread")]
async fn con_22_a_copied_state_folder_owns_nobodys_containers() {
    let Some(bench) = Bench::new("con_22").await else { return };
    let mut first = bench.machine().await;
    said(&mut first, "echo mine > file").await;
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy(bench.state.path(), one.path());
    copy(bench.state.path(), two.path());
    let mut others = Vec::new();
    for state in [one.path(), two.path()] {
        let provider = DockerProvider::new(settings(state)).unwrap();
        let mut machine = provider.machine(&spec(), None).await.unwrap();
        assert_eq!(provider.left().await.unwrap().len(), 3, "one container and its volumes");
        assert_eq!(said(&mut machine, "ls").await.1, "");
        others.push((provider, machine));
    }
    // And the other way: a second process on the first folder.
    let second = DockerProvider::new(settings(bench.state.path())).unwrap();
    let mut beside = second.machine(&spec(), None).await.unwrap();
    assert_eq!(said(&mut first, "cat file").await.1, "mine\n");
    assert_eq!(said(&mut beside, "echo alive").await.1, "alive\n");
    for (_, machine) in &mut others {
        assert_eq!(said(machine, "echo alive").await.1, "alive\n");
    }
    assert_eq!(owner_of(one.path()).len(), 32);
    assert_ne!(owner_of(one.path()), owner_of(two.path()));
    for (provider, machine) in others {
        drop(machine);
        provider.close().await;
    }
    drop((first, beside));
    second.close().await;
    bench.end().await;
}

/// Passes everything on to the engine; once, when `held` is set, a request with `part` in it only after `pause`.
pub(crate) async fn between(
    engine: &str,
    listener: UnixListener,
    (held, part): (Arc<AtomicBool>, &'static [u8]),
    pause: Duration,
) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (engine, held) = (engine.to_owned(), held.clone());
        tokio::spawn(async move {
            let server = UnixStream::connect(engine).await.unwrap();
            let ((mut from, mut to), (mut back, mut out)) = (client.into_split(), server.into_split());
            let answers = tokio::spawn(async move {
                let _ended = tokio::io::copy(&mut back, &mut to).await;
            });
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from.read(&mut bytes).await {
                let found = bytes[..count].windows(part.len()).any(|seen| seen == part);
                if found && held.swap(false, Ordering::AcqRel) {
                    tokio::time::sleep(pause).await;
                }
                if out.write_all(&bytes[..count]).await.is_err() {
                    break;
                }
            }
            // The engine goes on with what it has begun, although nobody listens.
            tokio::time::sleep(Duration::from_secs(5)).await;
            answers.abort();
        });
    }
}

/// CON-23: a container that the engine creates after it was waited for is removed all the same.
#[tokio::test(flavor = "multi_thread")]
async fn con_23_a_container_that_comes_too_late_is_removed() {
    let Some(bench) = Bench::new("con_23_late").await else { return };
    let engine = std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".into());
    let Some(engine) = engine.strip_prefix("unix://") else {
        crate::support::skip("con_23_late", "the engine has no socket");
        return bench.end().await;
    };
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("between.sock");
    let held = Arc::new(AtomicBool::new(true));
    let listener = UnixListener::bind(&socket).unwrap();
    let engine = engine.to_owned();
    let (request, pause): (_, Duration) =
        ((held.clone(), b"/containers/create".as_slice()), Duration::from_secs(3));
    let proxy = tokio::spawn(async move { between(&engine, listener, request, pause).await });
    let state = tempfile::tempdir().unwrap();
    let mut settings = settings(state.path());
    settings.address = Some(format!("unix://{}", socket.display()));
    settings.answer_within = Duration::from_secs(1);
    let provider = DockerProvider::new(settings).unwrap();
    assert!(provider.machine(&spec(), None).await.is_err());
    let owner = owner_of(state.path());
    assert_eq!(left_of(&bench.docker, &owner).await.0, 0, "it is not there yet");
    wait_for_async("the engine makes the container", PATIENCE, async || {
        let left = left_of(&bench.docker, &owner).await;
        if left.0 > 0 { Ok(()) } else { Err(left) }
    })
    .await;
    wait_for_left(&bench.docker, &owner, (0, 0)).await;
    assert!(!held.load(Ordering::Acquire), "it was held");
    provider.close().await;
    proxy.abort();
    bench.end().await;
}

/// CON-23: what nobody has on a list is found: a volume without a container, and what another process left that has ended.
#[tokio::test(flavor = "multi_thread")]
async fn con_23_volumes_without_a_container_and_what_others_left_are_found() {
    let test = "con_23_found";
    let Some(bench) = Bench::with(test, |settings| settings.look_every = Duration::from_millis(300)).await
    else {
        return;
    };
    let mut machine = bench.machine().await;
    let locks = bench.state.path().join("docker");
    let own = std::fs::read_dir(&locks).unwrap().flatten().find_map(|entry| {
        entry.file_name().to_str().and_then(|name| name.strip_suffix(".lock")).map(str::to_owned)
    });
    for (number, process) in [own.unwrap(), "0".repeat(32)].into_iter().enumerate() {
        let labels = [("dormouse.owner".into(), bench.owner()), ("dormouse.process".into(), process)];
        let volume = VolumeCreateRequest {
            name: Some(format!("dormouse-test-{number}-{}", bench.owner())),
            labels: Some(HashMap::from(labels)),
            ..VolumeCreateRequest::default()
        };
        bench.docker.create_volume(volume).await.unwrap();
    }
    wait_for_left(&bench.docker, &bench.owner(), (1, 2)).await;
    assert_eq!(said(&mut machine, "echo alive").await.1, "alive\n");
    drop(machine);
    bench.end().await;
}
