//! A process that is killed, or that no longer can write: what it acknowledged is there, and nothing half done is seen.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use dormouse_core::sandbox::{
    CheckpointId, Include, Ledger as _, NewCheckpoint, Owner, Phase, SandboxId, Timestamp,
};
use dormouse_core::{ErrorCode, Result};
use dormouse_store::Store;

use crate::other::{Other, command, program};
use crate::support::{Dice, MANY, State, content, reach, sandbox, store, swept};

/// The other process: makes, changes and destroys sandboxes and says what was acknowledged, until it is killed or fails.
pub(crate) fn write(folder: &Path, seed: u64) {
    let store = store(folder);
    println!("@ready");
    for turn in seed.. {
        if let Err(error) = step(&store, turn) {
            println!("@failed {}|{}", error.code(), error.hint().unwrap_or_default());
            return;
        }
    }
}

fn step(store: &Store, turn: u64) -> Result<()> {
    let mut made = sandbox(turn);
    store.create(&made, &MANY)?;
    println!("@made {} 0 {turn}", made.id);
    for more in 1..4 {
        made.last_activity_at = Timestamp(turn + more);
        made = store.update(&made, Some(&State::numbered(turn + more)))?;
        println!("@made {} {} {}", made.id, made.generation, turn + more);
    }
    let label = NewCheckpoint {
        id: CheckpointId::random()?,
        sandbox: made.id.clone(),
        name: None,
        include: Include::Both,
        created_at: Timestamp(turn),
    };
    store.add_checkpoint(&label, &State::numbered(turn), &MANY)?;
    println!("@checkpoint {} {turn}", label.id);
    if turn.is_multiple_of(3) {
        // From here on it may be there or not.
        println!("@leaving {} {}", made.id, label.id);
        made.phase = Phase::Destroyed;
        store.update(&made, None)?;
        println!("@gone {} {}", made.id, label.id);
    }
    if turn.is_multiple_of(5) {
        store.sweep(&reach(store), None)?;
    }
    Ok(())
}

/// What was acknowledged.
#[derive(Default)]
struct Promised {
    /// Generation and number of each sandbox.
    sandboxes: HashMap<String, (u64, u64)>,
    checkpoints: HashMap<String, u64>,
    gone: Vec<String>,
}

impl Promised {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match *words.as_slice() {
            ["made", id, generation, number] => {
                self.sandboxes.insert(id.into(), (generation.parse().unwrap(), number.parse().unwrap()));
            }
            ["checkpoint", id, number] => {
                self.checkpoints.insert(id.into(), number.parse().unwrap());
            }
            ["leaving", id, checkpoint] => {
                self.sandboxes.remove(id);
                self.checkpoints.remove(checkpoint);
            }
            ["gone", id, _] => self.gone.push(id.into()),
            _ => {}
        }
    }

    fn check(&self, store: &Store) {
        let owner = Owner::local();
        let all = store.list(&owner, None, None, usize::MAX).unwrap();
        for sandbox in &all {
            assert!(!self.gone.contains(&sandbox.id.to_string()), "{} came back", sandbox.id);
            // Each record is one that was written as a whole, with its state.
            assert_eq!(sandbox.last_activity_at.0, sandbox.created_at.0 + sandbox.generation);
            match &sandbox.state {
                None => assert_eq!(sandbox.generation, 0),
                Some(state) => assert_eq!(
                    content(store, state).unwrap(),
                    State::numbered(sandbox.last_activity_at.0).chunks
                ),
            }
            for checkpoint in store.checkpoints(&sandbox.id).unwrap() {
                let number = checkpoint.label.created_at.0;
                assert_eq!(content(store, &checkpoint.state).unwrap(), State::numbered(number).chunks);
            }
        }
        let found: HashMap<&str, _> = all.iter().map(|sandbox| (sandbox.id.as_str(), sandbox)).collect();
        for (id, (generation, number)) in &self.sandboxes {
            let sandbox = found.get(id.as_str()).unwrap_or_else(|| panic!("{id} is gone"));
            assert!(sandbox.generation >= *generation && sandbox.last_activity_at.0 >= *number, "{id}");
        }
        for id in self.checkpoints.keys() {
            store.checkpoint(&owner, &CheckpointId::parse(id).unwrap()).unwrap();
        }
    }
}

#[test]
fn lif_01_what_was_acknowledged_survives_a_kill_at_any_moment() {
    let place = tempfile::tempdir().unwrap();
    let mut dice = Dice(20_261_121);
    let mut promised = Promised::default();
    let mut heard = 0;
    for round in 0..30_u64 {
        let mut other = Other::start("write", place.path(), &(round * 1000).to_string());
        let lines = dice.roll(60);
        for _ in 0..=lines {
            promised.hear(&other.line().unwrap());
            heard += 1;
        }
        std::thread::sleep(Duration::from_micros(u64::try_from(dice.roll(3000)).unwrap()));
        other.kill();
        other.rest().iter().for_each(|line| promised.hear(line));
        promised.check(&store(place.path()));
    }
    let store = store(place.path());
    swept(&store);
    promised.check(&store);
    assert!(heard > 300 && !promised.sandboxes.is_empty());
}

#[test]
fn lif_02_a_file_that_may_not_grow_is_an_error_and_loses_nothing() {
    for blocks in [300, 700, 1500, 3000] {
        let place = tempfile::tempdir().unwrap();
        drop(store(place.path()));
        // The signal of a file that is too large is not for this process: its writes fail instead.
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let before = ["sh", "-c", limit.as_str(), "sh"];
        let lines = Other::of(&mut command(&program(), &before, "write", place.path(), "1")).rest();
        let last = lines.last().unwrap();
        assert!(last.starts_with("failed state_unavailable|") && !last.ends_with('|'), "{last}");
        let mut promised = Promised::default();
        lines.iter().for_each(|line| promised.hear(line));
        let store = store(place.path());
        promised.check(&store);
        step(&store, 5_000_000).unwrap();
        promised.check(&store);
    }
}

#[test]
fn lif_02_a_full_database_is_an_error_loses_nothing_and_takes_more_when_there_is_room() {
    let place = tempfile::tempdir().unwrap();
    let settings = dormouse_store::Settings { most_bytes: Some(1 << 20) };
    let store = Store::open(place.path(), &settings).unwrap();
    let mut kept: Vec<(SandboxId, u64)> = Vec::new();
    let error = loop {
        let number = kept.len() as u64 * 4;
        let made = sandbox(number);
        let done =
            store.create(&made, &MANY).and_then(|_| store.update(&made, Some(&State::numbered(number))));
        match done {
            Ok(made) => kept.push((made.id, number)),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), ErrorCode::StateUnavailable);
    assert!(error.hint().unwrap().contains("free space"), "{error}");
    assert!(kept.len() > 20);
    let read = |id: &SandboxId, number: u64| {
        let handle = dormouse_core::sandbox::Handle::IdOrName(id.as_str());
        let found = store.find(&Owner::local(), &handle).unwrap();
        assert_eq!(content(&store, &found.state.unwrap()).unwrap(), State::numbered(number).chunks);
        found
    };
    for (id, number) in &kept {
        read(id, *number);
    }
    for (id, number) in kept.drain(..10) {
        let mut found = read(&id, number);
        found.phase = Phase::Destroyed;
        store.update(&found, None).unwrap();
    }
    assert!(swept(&store).chunks > 10);
    step(&store, 5_000_000).unwrap();
}
