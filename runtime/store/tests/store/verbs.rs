//! The verbs of the port, in one process.

use dormouse_core::ErrorCode;
use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, ChunkId, Created, Disk, Handle, Include, Ledger as _, Name, NewCheckpoint,
    Owner, Phase, Quota, Sandbox, SandboxSpec, SavedState, Share, SpecMount, StopReason, Stored, Timestamp,
};
use dormouse_core::{Access, GuestPath};

use crate::support::{MANY, State, content, created, keyed, noise, sandbox, store, swept};

fn label(sandbox: &Sandbox, time: u64) -> NewCheckpoint {
    NewCheckpoint {
        id: CheckpointId::random().unwrap(),
        sandbox: sandbox.id.clone(),
        name: Some(Name::parse("one").unwrap()),
        include: Include::Files,
        created_at: Timestamp(time),
    }
}

#[test]
fn a_record_comes_back_as_it_was_also_in_another_store() {
    let place = tempfile::tempdir().unwrap();
    let full = Sandbox {
        phase: Phase::Stopped,
        stop_reason: Some(StopReason::Quota),
        stopped_at: Some(Timestamp(9)),
        used: true,
        name: Name::parse("naïve-名前").unwrap(),
        spec: SandboxSpec {
            environment: vec![("A".into(), "é'\"\\\0".into())],
            mounts: vec![SpecMount {
                source: "/srv/data".into(),
                target: GuestPath::parse("/data").unwrap(),
                access: Access::ReadOnly,
            }],
            ..SandboxSpec::default()
        },
        ..keyed(5, "key")
    };
    let plain = sandbox(6);
    let first = store(place.path());
    for record in [&full, &plain] {
        assert_eq!(created(&first, record), *record);
    }
    for store in [first, store(place.path())] {
        for record in [&full, &plain] {
            for what in [record.id.as_str(), record.name.as_str()] {
                assert_eq!(store.find(&record.owner, &Handle::IdOrName(what)).unwrap(), *record);
            }
        }
        assert_eq!(store.find(&full.owner, &Handle::SessionKey("key")).unwrap(), full);
        assert_eq!(store.in_phase(Phase::Stopped).unwrap(), std::slice::from_ref(&full));
    }
}

#[test]
fn what_is_another_owners_is_not_there() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let own = created(&store, &keyed(1, "key"));
    let checkpoint = store.add_checkpoint(&label(&own, 1), &State::numbered(1), &MANY).unwrap();
    let other = Owner::parse("other").unwrap();
    for handle in
        [Handle::IdOrName(own.id.as_str()), Handle::IdOrName(own.name.as_str()), Handle::SessionKey("key")]
    {
        let error = store.find(&other, &handle).unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnknownSandbox);
    }
    let code = |error: dormouse_core::Error| error.code();
    assert_eq!(
        store.checkpoint(&other, &checkpoint.label.id).map_err(code),
        Err(ErrorCode::UnknownCheckpoint)
    );
    let stolen = Sandbox { owner: other.clone(), ..own.clone() };
    assert_eq!(store.update(&stolen, None).map_err(code), Err(ErrorCode::UnknownSandbox));
    assert!(store.list(&other, None, None, 10).unwrap().is_empty());
    // The same name and key are free for them.
    let theirs = Sandbox { owner: other, name: own.name.clone(), ..keyed(2, "key") };
    assert!(matches!(store.create(&theirs, &MANY).unwrap(), Created::New(_)));
}

#[test]
fn names_and_quotas_hold_among_what_is_not_destroyed() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let quota = Quota { per_owner: 2, in_all: 3, checkpoints: 1, ..MANY };
    let code = |error: dormouse_core::Error| error.code();
    let mut first = created(&store, &keyed(1, "a"));
    assert_eq!(store.create(&keyed(1, "b"), &quota).map_err(code), Err(ErrorCode::NameTaken));
    created(&store, &sandbox(2));
    let error = store.create(&sandbox(3), &quota).unwrap_err();
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);
    assert!(error.message().contains("one owner") && error.hint().is_some());
    // A key that is there is no new sandbox.
    assert_eq!(store.create(&keyed(9, "a"), &quota).unwrap(), Created::Existing(first.clone()));
    let other = |time| Sandbox { owner: Owner::parse("other").unwrap(), ..sandbox(time) };
    store.create(&other(1), &quota).unwrap();
    assert!(store.create(&other(2), &quota).unwrap_err().message().contains("in all"));

    store.add_checkpoint(&label(&first, 1), &State::numbered(1), &quota).unwrap();
    let error = store.add_checkpoint(&label(&first, 2), &State::numbered(1), &quota).unwrap_err();
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);

    first.phase = Phase::Destroyed;
    store.update(&first, None).unwrap();
    assert!(store.checkpoints(&first.id).unwrap().is_empty());
    assert_eq!(store.update(&first, None).map_err(code), Err(ErrorCode::UnknownSandbox));
    assert!(matches!(store.create(&keyed(1, "a"), &quota).unwrap(), Created::New(_)));
}

#[test]
fn a_checkpoint_and_the_sandbox_that_it_is_of_are_saved_in_one_step() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let quota = Quota { checkpoints: 2, ..MANY };
    let one = created(&store, &sandbox(1));
    let whole = State::numbered(1);
    let (one, kept) = store.update_with_checkpoint(&one, &whole, (&label(&one, 1), None), &quota).unwrap();
    assert_eq!((one.generation, one.state), (1, Some(kept.state)));
    // A part of it is a state of its own.
    let (next, part) = (State::numbered(2), State::numbered(3));
    let (two, kept) =
        store.update_with_checkpoint(&one, &next, (&label(&one, 2), Some(&part)), &quota).unwrap();
    assert_eq!(content(&store, &two.state.unwrap()).unwrap(), next.chunks);
    assert_eq!(content(&store, &kept.state).unwrap(), part.chunks);
    // Refused, or of an older record: neither is changed.
    let more = State::numbered(4);
    for (record, quota, refused) in
        [(&two, &quota, ErrorCode::QuotaExceeded), (&one, &MANY, ErrorCode::Conflict)]
    {
        let error = store.update_with_checkpoint(record, &more, (&label(&two, 3), None), quota).unwrap_err();
        assert_eq!(error.code(), refused);
    }
    assert_eq!(store.by_id(&two.id).unwrap(), Some(two.clone()));
    assert_eq!(store.checkpoints(&two.id).unwrap().len(), 2);
}

#[test]
fn lif_02_checkpoints_come_in_the_order_in_which_they_were_made_also_when_the_clock_went_back() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let one = created(&store, &sandbox(1));
    for (number, time) in [(1, 50), (2, 20), (3, 90)] {
        store.add_checkpoint(&label(&one, time), &State::numbered(number), &MANY).unwrap();
    }
    let times: Vec<u64> =
        store.checkpoints(&one.id).unwrap().iter().map(|kept| kept.label.created_at.0).collect();
    assert_eq!(times, [50, 20, 90], "of one name the latest is the last");
}

/// A state of so many bytes of that seed, and what it says that it holds.
fn sized(seed: u64, len: usize) -> (State, u64) {
    let state = State::of(vec![noise(seed, len)]);
    (state, len as u64 + 32)
}

#[test]
fn own_02_what_an_owner_has_saved_is_counted_once_for_each_state_and_bounded() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let owner = Owner::local();
    let quota = Quota { saved: Share { of_owner: Some(250_000), in_all: None }, ..MANY };
    let one = created(&store, &sandbox(1));
    let (state, bytes) = sized(1, 100_000);
    let one = store.update(&one, Some(&state)).unwrap();
    assert_eq!(store.stored(&owner).unwrap(), Stored { bytes, checkpoints: 0 });
    // A checkpoint of the same state and forks of it cost nothing more.
    store.add_checkpoint(&label(&one, 1), &state, &quota).unwrap();
    let forks = [2, 3].map(|time| Sandbox { state: one.state, ..sandbox(time) });
    store.create_all(&forks, &quota).unwrap();
    assert_eq!(store.stored(&owner).unwrap(), Stored { bytes, checkpoints: 0 });
    let (second, more) = sized(2, 120_000);
    let checkpoint = store.add_checkpoint(&label(&one, 2), &second, &quota).unwrap();
    assert_eq!(store.stored(&owner).unwrap(), Stored { bytes: bytes + more, checkpoints: more });
    let (third, _) = sized(3, 40_000);
    let error = store.add_checkpoint(&label(&one, 3), &third, &quota).unwrap_err();
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);
    assert!(error.message().contains("156.3 KiB of it for checkpoints alone"), "{error}");
    assert_eq!(store.checkpoints(&one.id).unwrap().len(), 2, "nothing of it is there");
    // What a call has done is saved in any case; then nothing new is begun.
    let one = store.update(&one, Some(&third)).unwrap();
    assert_eq!(store.create(&sandbox(4), &quota).unwrap_err().code(), ErrorCode::QuotaExceeded);
    let other = Owner::parse("other").unwrap();
    assert_eq!(store.stored(&other).unwrap(), Stored::default());
    store.create(&Sandbox { owner: other, ..sandbox(5) }, &quota).unwrap();
    store.remove_checkpoint(&checkpoint.label.id).unwrap();
    store.create(&sandbox(4), &quota).unwrap();
    store.update(&Sandbox { phase: Phase::Destroyed, ..one }, None).unwrap();
    assert_eq!(store.stored(&owner).unwrap().bytes, bytes, "the forks hold it still");
}

#[test]
fn own_02_what_the_disk_holds_for_all_is_bounded() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let before = store.disk().unwrap();
    assert_eq!(before.swept, None);
    let quota = Quota { saved: Share { of_owner: None, in_all: Some(before.used + 300_000) }, ..MANY };
    let one = created(&store, &sandbox(1));
    store.add_checkpoint(&label(&one, 1), &sized(1, 200_000).0, &quota).unwrap();
    let kept = store.disk().unwrap().used;
    assert!(kept > before.used + 190_000 && kept < before.used + 300_000, "{before:?}, {kept}");
    let error = store.add_checkpoint(&label(&one, 2), &sized(2, 200_000).0, &quota).unwrap_err();
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);
    assert!(error.hint().unwrap().contains("saved-in-all"));
    assert_eq!(store.disk().unwrap().used, kept, "nothing of it is there");
    swept(&store);
    assert_eq!(store.disk().unwrap(), Disk { used: kept, swept: Some(kept) });
    drop(store);
    assert_eq!(crate::support::store(place.path()).disk().unwrap().swept, Some(kept));
}

#[test]
fn a_change_of_an_older_record_is_refused_and_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let old = created(&store, &sandbox(1));
    let new = store.update(&old, Some(&State::numbered(1))).unwrap();
    assert_eq!(new.generation, 1);
    for phase in [Phase::Stopped, Phase::Destroyed] {
        let stale = Sandbox { phase, ..old.clone() };
        let error = store.update(&stale, Some(&State::numbered(8))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Conflict);
    }
    let found = store.find(&old.owner, &Handle::IdOrName(old.id.as_str())).unwrap();
    assert_eq!(found, new);
    assert_eq!(content(&store, &found.state.unwrap()).unwrap(), State::numbered(1).chunks);
    let second = created(&store, &sandbox(2));
    let renamed = Sandbox { name: old.name, ..second };
    assert_eq!(store.update(&renamed, None).unwrap_err().code(), ErrorCode::NameTaken);
}

#[test]
fn a_listing_goes_on_after_a_sandbox_that_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let owner = Owner::local();
    let mut all: Vec<Sandbox> = [3, 1, 2, 5, 4].map(|time| created(&store, &sandbox(time))).into();
    all.sort_by_key(|sandbox| sandbox.created_at);
    assert_eq!(store.list(&owner, None, None, 100).unwrap(), all);
    let page = store.list(&owner, None, None, 2).unwrap();
    assert_eq!(page, all[..2]);
    let last = Sandbox { phase: Phase::Destroyed, ..all[1].clone() };
    store.update(&last, None).unwrap();
    assert_eq!(store.list(&owner, None, Some((last.created_at, &last.id)), 2).unwrap(), all[2..4]);
    let stopped = store.update(&Sandbox { phase: Phase::Stopped, ..all[4].clone() }, None).unwrap();
    assert_eq!(store.list(&owner, Some(Phase::Stopped), None, 9).unwrap(), [stopped]);
}

#[test]
fn a_state_can_be_taken_over_only_while_somebody_holds_it() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let one = created(&store, &sandbox(1));
    let checkpoint: Checkpoint = store.add_checkpoint(&label(&one, 1), &State::numbered(1), &MANY).unwrap();
    assert_eq!(store.checkpoint(&one.owner, &checkpoint.label.id).unwrap(), checkpoint);
    assert_eq!(store.checkpoints(&one.id).unwrap(), std::slice::from_ref(&checkpoint));
    let fork = Sandbox { state: Some(checkpoint.state), ..sandbox(2) };
    created(&store, &fork);
    store.remove_checkpoint(&checkpoint.label.id).unwrap();
    assert_eq!(
        store.remove_checkpoint(&checkpoint.label.id).unwrap_err().code(),
        ErrorCode::UnknownCheckpoint
    );
    // The fork holds it still.
    let back = store.update(&Sandbox { state: fork.state, ..one }, None).unwrap();
    assert_eq!(content(&store, &back.state.unwrap()).unwrap(), State::numbered(1).chunks);
    let nobodys = Some(SavedState { root: ChunkId::of(b"nobody's"), bytes: 1 });
    let errors = [
        store.create(&Sandbox { state: nobodys, ..sandbox(3) }, &MANY).unwrap_err(),
        store.update(&Sandbox { state: nobodys, ..back }, None).unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.code() == ErrorCode::Conflict && error.hint().is_some()));
}

#[test]
fn what_is_saved_where_nobody_finds_it_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let one = created(&store, &sandbox(1));
    // Locks can be made anew.
    std::fs::remove_dir_all(place.path().join("locks")).unwrap();
    assert!(store.lease(&one.id).unwrap().is_some());
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        std::fs::remove_file(place.path().join(name)).unwrap();
    }
    let errors = [
        store.update(&one, Some(&State::numbered(1))).unwrap_err(),
        store.create(&sandbox(2), &MANY).unwrap_err(),
        store.lease(&one.id).err().unwrap(),
        store.writable().unwrap_err(),
    ];
    assert!(
        errors
            .iter()
            .all(|error| error.code() == ErrorCode::StateUnavailable && error.message().contains("removed"))
    );
}
