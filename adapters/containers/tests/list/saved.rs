//! What a container has when it has slept, and what is told of what it has not.

use std::time::Duration;

use dormouse_core::sandbox::{Include, Machine, SandboxSpec, Snapshot};
use dormouse_core::{ErrorCode, EvalRequest, Language, Limits, Recovery, Status};
use dormouse_files::Files;

use super::{BUSYBOX, FULL, Ground, path, run, said, spec, wait_for_process};

fn tree(state: &dyn Snapshot) -> Files {
    Files::new(state.files().unwrap().clone())
}

async fn text(machine: &mut Box<dyn Machine>, file: &str) -> Option<String> {
    let state = machine.snapshot(Include::Both).await.unwrap();
    let bytes = tree(state.as_ref()).read(&path(file), 0, 1_000).ok()?;
    Some(String::from_utf8(bytes).unwrap())
}

pub(crate) async fn con_30_every_change_is_in_the_next_save(ground: &impl Ground) {
    for image in [BUSYBOX, FULL] {
        let spec = SandboxSpec { image: Some(image.into()), memory: 256 << 20, ..spec() };
        let mut machine = ground.provider().machine(&spec, None).await.unwrap();
        said(
            &mut machine,
            "mkdir -p d/e; echo one > d/e/f; echo same > same; ln d/e/f again; ln -s same link",
        )
        .await;
        assert_eq!(text(&mut machine, "/workspace/d/e/f").await.as_deref(), Some("one\n"), "{image}");
        for step in 0..3 {
            // The same size, and within the same second.
            said(&mut machine, &format!("echo {step}{step}{step} > d/e/f")).await;
            let want = format!("{step}{step}{step}\n");
            assert_eq!(
                text(&mut machine, "/workspace/d/e/f").await.as_deref(),
                Some(want.as_str()),
                "{image}"
            );
            assert_eq!(
                text(&mut machine, "/workspace/again").await.as_deref(),
                Some(want.as_str()),
                "{image}"
            );
        }
        said(&mut machine, "mv d e2; rm again link; ln -s e2 link; rm same; mkdir same; echo in > same/in; touch 'odd\nname'").await;
        let state = machine.snapshot(Include::Both).await.unwrap();
        let files = tree(state.as_ref());
        let listed = files.list(&path("/workspace"), 9, 99).unwrap().entries;
        let names: Vec<&str> = listed.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(names, ["e2", "e2/e", "e2/e/f", "link", "odd\nname", "same", "same/in"], "{image}");
        assert_eq!(files.read(&path("/workspace/link/e/f"), 0, 9).unwrap(), b"222\n", "{image}");
        // Nothing has changed: the same again.
        let again = machine.snapshot(Include::Both).await.unwrap();
        assert_eq!(tree(again.as_ref()).usage(), files.usage(), "{image}");
        drop(machine);
    }
}

pub(crate) async fn con_31_modes_links_and_fifos_are_as_they_were_after_sleep(ground: &impl Ground) {
    for image in [BUSYBOX, FULL] {
        let spec = SandboxSpec { image: Some(image.into()), memory: 256 << 20, ..spec() };
        let mut machine = ground.provider().machine(&spec, None).await.unwrap();
        let make = "echo x > secret; chmod 600 secret; echo 'echo ran' > s.sh; chmod +x s.sh; echo '#!/bin/sh' > plain; \
                    chmod 644 plain; mkdir -m 700 d; ln -s /bin/sh d/sh; ln -s ../../etc/passwd out; mkfifo -m 620 pipe; \
                    ln -s /workspace/secret /tmp/l; ln -s ../workspace/secret /tmp/r; : > d/empty";
        said(&mut machine, make).await;
        let look = "stat -c '%a %n' secret s.sh plain d pipe; readlink d/sh out /tmp/l /tmp/r 2>/dev/null || \
                    for l in d/sh out /tmp/l /tmp/r; do readlink $l; done; ./s.sh; cat /tmp/l /tmp/r; [ -p pipe ] && echo fifo";
        let before = said(&mut machine, look).await;
        assert!(before.1.contains("600 secret") && before.1.ends_with("ran\nx\nx\nfifo\n"), "{before:?}");
        // As it is saved by what has changed, and as it is copied as a whole.
        for _ in 0..2 {
            let state = machine.snapshot(Include::Both).await.unwrap();
            machine = ground.provider().machine(&spec, Some(state)).await.unwrap();
            assert_eq!(said(&mut machine, look).await, before, "{image}");
        }
        drop(machine);
    }
}

pub(crate) async fn con_31_what_its_own_user_cannot_read_is_kept(ground: &impl Ground) {
    for image in [BUSYBOX, FULL] {
        let spec = SandboxSpec { image: Some(image.into()), memory: 256 << 20, ..spec() };
        let mut machine = ground.provider().machine(&spec, None).await.unwrap();
        said(&mut machine, "echo s > key; chmod 000 key; mkdir wo; echo in > wo/f; chmod 300 wo").await;
        let state = machine.snapshot(Include::Both).await.unwrap();
        drop(machine);
        let mut machine = ground.provider().machine(&spec, Some(state)).await.unwrap();
        let (code, text, errors) = said(&mut machine, "chmod 700 wo; chmod 400 key; cat key wo/f").await;
        assert_eq!((code, text.as_str(), errors.as_str()), (0, "s\nin\n", ""), "{image}");
    }
}

pub(crate) async fn con_31_what_cannot_be_kept_is_told_by_the_next_command(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    said(&mut machine, "echo 1 > \"$(printf 'odd\\377name')\"; echo 2 > kept").await;
    let state = machine.snapshot(Include::Both).await.unwrap();
    let mut other = ground.provider().machine(&spec(), Some(state)).await.unwrap();
    let (_, out, told) = said(&mut other, "cat kept").await;
    assert!(out == "2\n" && told.contains("1 files were not kept") && told.contains("odd"), "{told}");
    assert_eq!(said(&mut other, "cat kept").await.2, "");
    drop((machine, other));
}

pub(crate) async fn con_33_variables_that_are_lost_are_told_once_in_the_next_answer(ground: &impl Ground) {
    let spec = SandboxSpec { image: Some(FULL.into()), memory: 256 << 20, ..spec() };
    let mut machine = ground.provider().machine(&spec, None).await.unwrap();
    assert_eq!(machine.eval(python("w = 5")).await.unwrap().recovery, None);
    let state = machine.snapshot(Include::Both).await.unwrap();
    assert_eq!(state.guests(), [Language::python()]);
    // A container that wakes, and one that is put back.
    let mut other = ground.provider().machine(&spec, Some(state.clone())).await.unwrap();
    machine.restore(state.as_ref()).await.unwrap();
    for machine in [&mut other, &mut machine] {
        assert_eq!(machine.lost().len(), 1);
        // Also where it is saved again before anybody has asked.
        assert_eq!(machine.snapshot(Include::Both).await.unwrap().guests(), [Language::python()]);
        let told = machine.eval(python("'w' in globals()")).await.unwrap();
        assert_eq!((told.recovery, told.is_ok()), (Some(Recovery::Fresh), true));
        assert!(machine.lost().is_empty());
        assert_eq!(machine.eval(python("w = 1")).await.unwrap().recovery, None);
    }
    drop((machine, other));
}

pub(crate) async fn con_34_a_container_that_ends_under_a_command_is_an_error(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    said(&mut machine, "echo kept > kept").await;
    let id = ground.running().await.remove(0);
    let killing = async {
        wait_for_process(ground, &id, "sleep 30").await;
        ground.kill(&id).await;
    };
    let (ended, ()) = tokio::join!(run(&mut machine, "echo begun; sleep 30"), killing);
    let ended = ended.outcome;
    assert_eq!(ended.stopped().map(|error| error.code()), Some(ErrorCode::ProviderUnavailable), "{ended:?}");
    assert_eq!((ended.recovery, ended.stdout.text.as_str()), (Some(Recovery::Earlier), "begun\n"));
    assert!(machine.is_gone());
    // A command that kills itself is one that ended.
    let mut other = ground.provider().machine(&spec(), None).await.unwrap();
    let killed = run(&mut other, "kill -9 $$").await.outcome;
    assert!(matches!(killed.status, Status::Exited(137)), "{killed:?}");
    drop((machine, other));
}

/// CON-34: also before an interpreter has begun, which then is not one that the image does not have.
pub(crate) async fn con_34_a_container_that_ends_while_an_interpreter_starts_is_told_as_that(
    ground: &impl Ground,
) {
    let places = "/workspace/bin:/usr/bin:/bin".to_owned();
    let environment = std::iter::once(("PATH".to_owned(), places)).collect();
    let spec = SandboxSpec { image: Some(FULL.into()), memory: 256 << 20, environment, ..spec() };
    let mut machine = ground.provider().machine(&spec, None).await.unwrap();
    let slow = "mkdir bin; printf '#!/bin/sh\\nsleep 31\\n' > bin/python3; chmod 755 bin/python3";
    said(&mut machine, slow).await;
    let id = ground.running().await.remove(0);
    let killing = async {
        wait_for_process(ground, &id, "sleep 31").await;
        ground.kill(&id).await;
    };
    let (ended, ()) = tokio::join!(machine.eval(python("1")), killing);
    let error = ended.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{error}");
    assert!(machine.is_gone());
    drop(machine);
}

fn python(code: &str) -> EvalRequest {
    let mut request = EvalRequest::new(Language::python(), code);
    request.context.limits = Limits { wall: Duration::from_secs(30), ..Limits::default() };
    request
}
