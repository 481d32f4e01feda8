//! Sandboxes that last, over a state folder: short ways to open one, call it, and end as a process ends.

use std::path::Path;

use dormouse::sandbox::{Handle, Owner};
use dormouse::{Dormouse, Outcome, PersistentSandbox, Policy, Sandboxes};
use serde_json::Value as Json;

use crate::{PYTHON, sandbox};

/// An installation over a state folder. Its operator allows writes.
pub fn open(folder: &Path) -> Dormouse {
    let policy = Policy { allow_writes: true, ..Policy::default() };
    Dormouse::builder()
        .and_then(|builder| builder.policy(policy).state(folder).build())
        .expect("the state folder can be opened")
}

/// What an installation does when its process ends in peace.
pub fn close(dormouse: Dormouse) {
    sandbox::wait(sandboxes(&dormouse).close()).expect("everything can be saved");
    drop(dormouse);
}

/// Its sandboxes.
pub fn sandboxes(dormouse: &Dormouse) -> &Sandboxes {
    dormouse.sandboxes().expect("there is a state folder")
}

/// The sandbox of that name, made if it is not there.
pub fn named(dormouse: &Dormouse, name: &str) -> PersistentSandbox {
    sandbox::wait(dormouse.sandbox(name)).expect("a sandbox")
}

/// Runs a snippet.
pub fn run(kept: &PersistentSandbox, language: &str, code: &str) -> Outcome {
    sandbox::wait(kept.eval(language, code)).expect("the call is taken")
}

/// The value that a snippet comes to.
#[track_caller]
pub fn shown(kept: &PersistentSandbox, language: &str, code: &str) -> Json {
    crate::ending::value(&run(kept, language, code))["value"].clone()
}

/// Python that remembers a number in its memory and in a file, in this order. The file is replaced in one step, so that a
/// run that is cut off anywhere leaves the old one or the new one.
pub fn remember(number: u64) -> String {
    format!(
        "x = {number}\nimport os\nwith open('/workspace/.x', 'w') as f: f.write(str(x))\nos.replace('/workspace/.x', '/workspace/x')"
    )
}

/// The number in memory and the one in the file; none where there is none.
#[track_caller]
pub fn remembered(kept: &PersistentSandbox) -> (Option<u64>, Option<u64>) {
    let code = "import os\n[globals().get('x'), int(open('/workspace/x').read() or -1) if os.path.exists('/workspace/x') else None]";
    let shown = shown(kept, PYTHON, code);
    (shown[0]["value"].as_u64(), shown[1]["value"].as_u64())
}

/// What a sweep removes: chunks, and sandboxes that were never finished.
pub fn sweep(dormouse: &Dormouse) -> (u64, u64) {
    let swept = sandbox::wait(sandboxes(dormouse).sweep()).expect("what is there is whole");
    (swept.chunks, swept.sandboxes)
}

/// How many sandboxes there are.
pub fn count(dormouse: &Dormouse) -> usize {
    let listed = sandbox::wait(sandboxes(dormouse).list(&Owner::local(), None, None, 1_000));
    listed.expect("they can be listed").len()
}

/// The id of a sandbox, or none.
pub fn id(dormouse: &Dormouse, name: &str) -> Option<String> {
    let found = sandboxes(dormouse).get(&Owner::local(), &Handle::IdOrName(name));
    found.ok().map(|view| view.sandbox.id.as_str().to_owned())
}

/// Numbers that look random and are the same in each run.
pub struct Dice(pub u64);

impl Dice {
    /// One of so many sides, from 0.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % sides
    }
}
