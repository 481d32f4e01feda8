//! `kill -9` of real processes: what was acknowledged is there, nothing is half done, and a sweep leaves nothing over.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use dormouse::sandbox::Owner;
use dormouse_tests::lasting::{self, Dice, remember, remembered};
use dormouse_tests::wire::{PATIENCE, Wire};
use dormouse_tests::{binary, sandbox};
use serde_json::{Value as Json, json};

/// What may be found of a sandbox.
#[derive(Default)]
struct Promised {
    /// The numbers that it may hold: the last that is sure to be saved, and those that came after it.
    numbers: Vec<Option<u64>>,
    /// Acknowledged checkpoints and what they hold.
    checkpoints: HashMap<String, u64>,
    /// Whether its making was acknowledged.
    made: bool,
    /// Whether its end was asked for, and acknowledged.
    leaving: bool,
    gone: bool,
}

/// A client that walks sandboxes through their lives until its server is killed, and notes what was acknowledged.
struct Walk<'a> {
    wire: Wire,
    id: i64,
    promised: &'a mut HashMap<String, Promised>,
}

impl Walk<'_> {
    fn call(&mut self, tool: &str, arguments: Json) -> Option<Json> {
        self.id += 1;
        let result = self.wire.try_call(self.id, tool, arguments)?;
        // On a fast machine the walk is at its end before the server is, which is waited for.
        if result["structuredContent"]["error"]["code"] == "quota_exceeded" {
            while self.wire.next(PATIENCE).is_some() {}
            return None;
        }
        assert_ne!(result["isError"], true, "{tool}: {result}");
        Some(result["structuredContent"].clone())
    }

    /// One sandbox from its making on. None: the server has gone.
    fn one(&mut self, name: &str, number: u64) -> Option<()> {
        let promise = |walk: &mut Self, change: &mut dyn FnMut(&mut Promised)| {
            change(walk.promised.entry(name.into()).or_default());
        };
        promise(self, &mut |one| one.numbers = vec![None]);
        self.call("sandbox_create", json!({"name": name}))?;
        promise(self, &mut |one| one.made = true);
        let eval = |walk: &mut Self, number: u64| {
            promise(walk, &mut |one| one.numbers.push(Some(number)));
            walk.call("sandbox_eval", json!({"sandbox": name, "code": remember(number)})).map(drop)
        };
        eval(self, number)?;
        let saved = self.call("sandbox_checkpoint", json!({"sandbox": name}))?;
        let checkpoint = saved["id"].as_str()?.to_owned();
        promise(self, &mut |one| _ = one.checkpoints.insert(checkpoint.clone(), number));
        eval(self, number + 1)?;
        let fork = self.call("sandbox_fork", json!({"sandbox": name, "count": 2}))?;
        // Forking saves the origin, and its forks begin there.
        promise(self, &mut |one| one.numbers = vec![Some(number + 1)]);
        for one in fork["sandboxes"].as_array()? {
            let kept = Promised { numbers: vec![Some(number + 1)], made: true, ..Promised::default() };
            self.promised.insert(one["id"].as_str()?.into(), kept);
        }
        promise(self, &mut |one| one.numbers.push(Some(number)));
        self.call("sandbox_restore", json!({"sandbox": name, "checkpoint_id": checkpoint}))?;
        promise(self, &mut |one| one.numbers = vec![Some(number)]);
        eval(self, number + 2)?;
        self.call("sandbox_stop", json!({"sandbox": name}))?;
        promise(self, &mut |one| one.numbers = vec![Some(number + 2)]);
        if number.is_multiple_of(2) {
            let other = fork["sandboxes"][0]["id"].as_str()?.to_owned();
            self.promised.entry(other.clone()).or_default().leaving = true;
            self.call("sandbox_destroy", json!({"sandbox": other.clone()}))?;
            self.promised.entry(other).or_default().gone = true;
            promise(self, &mut |one| one.leaving = true);
            self.call("sandbox_destroy", json!({"sandbox": name}))?;
            promise(self, &mut |one| one.gone = true);
        }
        Some(())
    }
}

/// Holds what is found to what was promised, and takes the found as the promise for the next time.
fn check(folder: &Path, promised: &mut HashMap<String, Promised>) {
    let dormouse = lasting::open(folder);
    for (name, one) in promised.iter_mut() {
        let Some(id) = lasting::id(&dormouse, name) else {
            assert!(!one.made || one.leaving || one.gone, "{name} is gone");
            (one.gone, one.leaving) = (true, true);
            continue;
        };
        assert!(!one.gone, "{name} came back");
        let kept = lasting::named(&dormouse, &id);
        let (memory, file) = remembered(&kept);
        assert_eq!(memory, file, "{name}: memory and files are of different moments");
        assert!(one.numbers.contains(&memory), "{name} holds {memory:?}, not one of {:?}", one.numbers);
        let found = lasting::sandboxes(&dormouse);
        let handle = dormouse::sandbox::Handle::IdOrName(&id);
        for (checkpoint, number) in &one.checkpoints {
            sandbox::wait(found.restore(&Owner::local(), &handle, checkpoint))
                .expect("a checkpoint is whole");
            assert_eq!(remembered(&kept), (Some(*number), Some(*number)), "{name} at {checkpoint}");
            one.numbers = vec![Some(*number)];
        }
        if one.checkpoints.is_empty() {
            one.numbers = vec![memory];
        }
        (one.made, one.leaving) = (true, false);
    }
    if lasting::count(&dormouse) > 40 {
        clear(&dormouse);
        promised.values_mut().for_each(|one| one.gone = true);
    }
    lasting::close(dormouse);
}

/// Makes room within the owner's quota.
fn clear(dormouse: &dormouse::Dormouse) {
    let (found, owner) = (lasting::sandboxes(dormouse), Owner::local());
    for view in sandbox::wait(found.list(&owner, None, None, 1_000)).unwrap() {
        let handle = dormouse::sandbox::Handle::IdOrName(view.sandbox.id.as_str());
        sandbox::wait(found.destroy(&owner, &handle)).unwrap();
    }
}

#[test]
fn lif_01_a_server_that_is_killed_at_any_moment_keeps_what_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mut dice = Dice(20_261_122);
    let mut promised = HashMap::new();
    let mut finished = 0;
    for round in 0..14u64 {
        let mut wire = Wire::start(&["--state-dir", path, "--tools", "all"]);
        wire.greet();
        let process = wire.process();
        // From the first call on: in the middle of any verb, and in each of several lives.
        let delay = Duration::from_micros(1_000 + dice.roll(if round % 2 == 0 { 60_000 } else { 400_000 }));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            dormouse_tests::served::signal(process, "KILL");
        });
        let mut walk = Walk { wire, id: 1, promised: &mut promised };
        for turn in 0.. {
            let number = round * 1_000 + turn * 3;
            if walk.one(&format!("box-{round}-{turn}"), number).is_none() {
                break;
            }
            finished += 1;
        }
        walk.wire.kill();
        killer.join().unwrap();
        check(folder.path(), &mut promised);
    }
    assert!(finished > 3, "only {finished} lives were lived to their end");
    let dormouse = lasting::open(folder.path());
    let left = promised.values().filter(|one| one.made && !one.gone).count();
    // A fork whose making was not acknowledged can be there; it is whole.
    assert!((left..left + 2 * 14 + 1).contains(&lasting::count(&dormouse)));
    lasting::sweep(&dormouse);
    assert_eq!(lasting::sweep(&dormouse), (0, 0), "a sweep leaves nothing for the next");
    let locks: Vec<_> = std::fs::read_dir(folder.path().join("locks")).unwrap().flatten().collect();
    assert!(locks.is_empty(), "{locks:?}");
    check(folder.path(), &mut promised);
}

#[test]
fn lif_01_a_command_that_is_killed_has_been_done_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mut dice = Dice(20_261_123);
    let made = binary::dormouse(&["sandbox", "create", "box", "--state-dir", path], b"");
    assert_eq!(made.status, Some(0), "{}", made.complaint());
    // Moments all over the life of a command, however fast the machine is; one in four comes after its end.
    let life = (0..3).map(|_| {
        let begin = Instant::now();
        let ran = binary::dormouse(&["sandbox", "eval", "box", "0", "--state-dir", path], b"");
        assert_eq!(ran.status, Some(0), "{}", ran.complaint());
        begin.elapsed()
    });
    let life = u64::try_from(life.min().unwrap().as_micros()).unwrap();
    let mut before = None;
    let (mut done, mut killed) = (0, 0);
    for number in 0..24u64 {
        let code = remember(number);
        let mut command = binary::command(&["sandbox", "eval", "box", &code, "--state-dir", path]);
        let mut child = command.spawn().expect("the program can be started");
        std::thread::sleep(Duration::from_micros(dice.roll(life * 4 / 3)));
        child.kill().expect("a child can be killed");
        let ended = child.wait().expect("it ends").code();
        let dormouse = lasting::open(folder.path());
        let (memory, file) = remembered(&lasting::named(&dormouse, "box"));
        assert_eq!(memory, file);
        let allowed = if ended == Some(0) { vec![Some(number)] } else { vec![before, Some(number)] };
        assert!(allowed.contains(&memory), "{memory:?}, not one of {allowed:?}");
        (done, killed) = (done + u32::from(memory == Some(number)), killed + u32::from(ended.is_none()));
        before = memory;
        lasting::close(dormouse);
    }
    assert!(killed > 3, "{done} done, {killed} killed");
    let dormouse = lasting::open(folder.path());
    lasting::sweep(&dormouse);
    assert_eq!(lasting::sweep(&dormouse), (0, 0));
}
