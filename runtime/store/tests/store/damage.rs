//! Folders that cannot be used and databases that are not what was written.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use dormouse_core::sandbox::chunk;
use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, ChunkId, Handle, Include, Ledger as _, NewCheckpoint, Owner, Sandbox, Timestamp,
};
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_store::{Settings, Store};

use crate::other::{Other, command, program};
use crate::support::{Dice, MANY, State, content, created, keyed, sandbox, store};

/// What a folder holds.
struct Written {
    sandboxes: Vec<Sandbox>,
    checkpoints: Vec<Checkpoint>,
    bytes: Vec<u8>,
}

fn written() -> Written {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let (mut sandboxes, mut checkpoints) = (Vec::new(), Vec::new());
    for number in 0..30 {
        let new = created(&store, &keyed(number, &format!("key {number}")));
        sandboxes.push(store.update(&new, Some(&State::numbered(number))).unwrap());
        let label = NewCheckpoint {
            id: CheckpointId::random().unwrap(),
            sandbox: new.id,
            name: None,
            include: Include::Both,
            created_at: Timestamp(number),
        };
        checkpoints.push(store.add_checkpoint(&label, &State::numbered(number + 500), &MANY).unwrap());
    }
    drop(store);
    Written { sandboxes, checkpoints, bytes: fs::read(place.path().join("state.db")).unwrap() }
}

/// Each answer is the right one or an error that says what is wrong. Returns how many were errors.
fn ask(folder: &Path, written: &Written) -> usize {
    let mut errors = 0;
    let mut good = |error: Error| {
        assert!(
            matches!(error.code(), ErrorCode::StateDamaged | ErrorCode::StateUnavailable),
            "{}: {error} {:?}",
            error.code(),
            std::error::Error::source(&error)
        );
        assert!(error.hint().is_some());
        errors += 1;
    };
    let store = match Store::open(folder, &Settings::default()) {
        Ok(store) => store,
        Err(error) => {
            good(error);
            return errors;
        }
    };
    let owner = Owner::local();
    let mut equal = |answer: Result<bool>| match answer {
        Ok(equal) => assert!(equal, "a wrong answer"),
        Err(error) => good(error),
    };
    // One that is damaged is left out of a list, and is no other.
    let all = store.list(&owner, None, None, 100);
    equal(all.map(|all| all.iter().all(|one| written.sandboxes.contains(one))));
    for (number, sandbox) in (0..).zip(&written.sandboxes) {
        let key = format!("key {number}");
        for handle in [
            Handle::IdOrName(sandbox.id.as_str()),
            Handle::IdOrName(sandbox.name.as_str()),
            Handle::SessionKey(&key),
        ] {
            equal(store.find(&owner, &handle).map(|found| found == *sandbox));
        }
        let chunks = content(&store, &sandbox.state.unwrap());
        equal(chunks.map(|chunks| chunks == State::numbered(number).chunks));
        let checkpoint = &written.checkpoints[usize::try_from(number).unwrap()];
        equal(store.checkpoint(&owner, &checkpoint.label.id).map(|found| found == *checkpoint));
        equal(store.checkpoints(&sandbox.id).map(|found| found.iter().all(|one| one == checkpoint)));
        let chunks = content(&store, &checkpoint.state);
        equal(chunks.map(|chunks| chunks == State::numbered(number + 500).chunks));
    }
    // Writing to a damaged database may fail, and does nothing worse.
    if let Err(error) = store.create(&sandbox(10_000), &MANY) {
        good(error);
    }
    errors
}

fn with_bytes(bytes: &[u8], written: &Written) -> usize {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("state")).unwrap();
    fs::set_permissions(place.path().join("state"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(place.path().join("state/state.db"), bytes).unwrap();
    ask(&place.path().join("state"), written)
}

#[test]
fn lif_03_changed_bytes_give_an_error_or_the_right_answer() {
    let written = written();
    assert_eq!(with_bytes(&written.bytes, &written), 0);
    let mut dice = Dice(4711);
    let mut seen = 0;
    for round in 0..400 {
        let mut bytes = written.bytes.clone();
        // Mostly where the records are, at the beginning; sometimes a run of bytes.
        let range = if round % 4 == 0 { bytes.len() } else { 100_000 };
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(range);
            let length = if dice.roll(4) == 0 { 64 } else { 1 };
            for byte in bytes.iter_mut().skip(at).take(length) {
                *byte ^= 1 << dice.roll(8);
            }
        }
        seen += usize::from(with_bytes(&bytes, &written) > 0);
    }
    assert!(seen > 100, "only {seen} changes were seen");
}

#[test]
fn lif_03_a_cut_database_and_another_file_give_an_error() {
    let written = written();
    let length = written.bytes.len();
    for keep in [0, 1, 99, 100, 4000, 4096, 8192, length / 2] {
        assert!(with_bytes(&written.bytes[..keep], &written) > 0, "{keep} bytes of {length}");
    }
    // The last page can be a free one; then nothing is missing.
    for keep in [length - 4096, length - 1] {
        with_bytes(&written.bytes[..keep], &written);
    }
    let mut zeroed = written.bytes.clone();
    // All but the first page, so that no page that is asked for is left.
    zeroed[4096..].fill(0);
    for bytes in [vec![b'x'; 10_000], vec![0; 10_000], zeroed] {
        assert!(with_bytes(&bytes, &written) > 0);
    }
}

#[test]
fn lif_03_a_later_version_is_refused_with_a_hint() {
    let mut written = written();
    // The version's place in the file, a big-endian word.
    written.bytes[60..64]
        .copy_from_slice(&(u32::try_from(dormouse_store::VERSION).unwrap() + 1).to_be_bytes());
    let place = tempfile::tempdir().unwrap();
    drop(store(place.path()));
    fs::write(place.path().join("state.db"), &written.bytes).unwrap();
    let error = Store::open(place.path(), &Settings::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StateUnavailable);
    assert!(error.message().contains("version") && error.hint().unwrap().contains("later"), "{error}");
    assert_eq!(fs::read(place.path().join("state.db")).unwrap(), written.bytes);
}

#[test]
fn a_missing_chunk_is_named() {
    let place = tempfile::tempdir().unwrap();
    let id = ChunkId::of(b"never saved");
    let error = chunk::fetch(store(place.path()).chunks().as_ref(), &id).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StateDamaged);
    assert!(error.message().contains(&id.to_string()));
}

/// As a user who may do everything writes everywhere, the other process is another user then.
#[test]
fn lif_02_a_folder_that_cannot_be_written_can_be_looked_at() {
    const NOBODY: u32 = 65_534;
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = place.path().join("program");
    fs::copy(program(), &copy).unwrap();
    let state = place.path().join("state");
    drop(store(&state));
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let everyone = fs::metadata(&state).unwrap().uid() == 0;
    for name in ["", "locks", "state.db", "open.lock"] {
        let path = state.join(name);
        if everyone {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        mode(&path, if path.is_dir() { 0o500 } else { 0o400 });
    }
    let mut opening = command(&copy, &[], "open", &state, "");
    if everyone {
        opening.uid(NOBODY).gid(NOBODY);
    }
    let lines = Other::of(&mut opening).rest();
    assert_eq!(lines[0], "opened", "{lines:?}");
    for name in ["", "locks"] {
        mode(&state.join(name), 0o700);
    }
}
