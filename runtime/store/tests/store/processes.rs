//! Several processes on one folder.

use std::collections::BTreeSet;

use dormouse_core::sandbox::{Ledger as _, Phase, SandboxId};

use crate::other::Other;
use crate::support::{store, swept};

/// What four processes answer that do the same at once.
fn four(folder: &std::path::Path, task: &str, word: impl Fn(u32) -> String) -> Vec<String> {
    let mut others: Vec<_> = (0..4).map(|number| Other::start(task, folder, &word(number))).collect();
    for other in &mut others {
        assert_eq!(other.line().as_deref(), Some("ready"));
    }
    others.iter_mut().for_each(|other| other.say("go"));
    others.into_iter().flat_map(Other::rest).collect()
}

#[test]
fn mcp_08_one_key_gives_one_sandbox_however_many_ask_at_once() {
    let place = tempfile::tempdir().unwrap();
    let answers = four(place.path(), "same-key", |_| "the key".into());
    assert_eq!(answers.len(), 100);
    assert_eq!(answers.iter().filter(|answer| answer.starts_with("new ")).count(), 1, "{answers:?}");
    let ids: BTreeSet<_> = answers.iter().map(|answer| answer.split(' ').nth(1)).collect();
    assert_eq!(ids.len(), 1, "{answers:?}");
    assert_eq!(store(place.path()).in_phase(Phase::Running).unwrap().len(), 1);
}

#[test]
fn mcp_06_a_quota_holds_however_many_ask_at_once() {
    let place = tempfile::tempdir().unwrap();
    let answers = four(place.path(), "own-keys", |process| format!("process {process}"));
    assert_eq!(answers.iter().filter(|answer| answer.starts_with("new ")).count(), 10, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| *answer == "quota_exceeded").count(), 90);
    assert_eq!(store(place.path()).in_phase(Phase::Running).unwrap().len(), 10);
}

#[test]
fn lif_06_a_lease_ends_with_its_process() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let id = SandboxId::random().unwrap();
    let mut other = Other::start("lease", place.path(), id.as_str());
    assert_eq!(other.line().as_deref(), Some("true"));
    assert!(store.lease(&id).unwrap().is_none());
    other.kill();
    other.rest();
    let lease = store.lease(&id).unwrap();
    assert!(lease.is_some() && store.lease(&id).unwrap().is_none());
    let mut other = Other::start("lease", place.path(), id.as_str());
    assert_eq!(other.line().as_deref(), Some("false"));
    other.say("end");
    other.rest();
}

#[test]
fn lif_01_a_sandbox_goes_when_the_process_that_was_making_it_is_gone_and_not_before() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let mut other = Other::start("creating", place.path(), "");
    let id = other.line().unwrap();
    let locks = || std::fs::read_dir(place.path().join("locks")).unwrap().count();
    assert_eq!(swept(&store).sandboxes, 0);
    assert_eq!((store.in_phase(Phase::Creating).unwrap().len(), locks()), (1, 1), "{id}");
    other.kill();
    other.rest();
    assert_eq!(locks(), 1);
    assert_eq!(swept(&store).sandboxes, 1);
    assert_eq!((store.in_phase(Phase::Creating).unwrap().len(), locks()), (0, 0));
}
