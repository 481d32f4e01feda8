//! One abuse case: it runs alone, and afterwards nothing of it may remain.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use dormouse::limits::MIB;

use crate::ending::assert_ends;
use crate::levels::Levels;
use crate::{JAVASCRIPT, PHP, PYTHON, canary, folders, sandbox};

/// What one case may leave: the pages of a few pool slots, a thread that has not ended yet.
const SLACK: Levels = Levels { memory: 192 << 10, descriptors: 24, threads: 8 };
/// What all cases together may leave: every pool slot that was ever used keeps up to 64 MiB.
const SLACK_IN_ALL: Levels = Levels { memory: 1 << 20, descriptors: 96, threads: 16 };
/// What one case may hold at any time, in KiB, over what this process holds anyway: memory of its guests, which their limits bound,
/// among it (2 GiB).
const MOST: u64 = 2 << 20;
/// How long it may take until all is back, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

static TURN: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
static FIRST: OnceLock<Levels> = OnceLock::new();

/// Runs a case that concerns `languages`, alone in this process, and checks what it left behind.
#[track_caller]
pub fn case(languages: &[&'static str], body: impl FnOnce()) {
    let mut warm = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for language in languages {
        if warm.insert(language) {
            warm_up(language);
        }
    }
    let (before, resting) = (Levels::now(), Levels::forget_peak("self"));
    body();
    held(Levels::peak_of("self").saturating_sub(resting));
    after(languages, &before);
}

/// Shows the most memory that the case held, and keeps it to a bound. Written past the test runner, which shows what is printed
/// of failures only.
#[track_caller]
fn held(kibibytes: u64) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a case");
    let _ = writeln!(std::io::stderr(), "peak {:>5} MiB  {name}", kibibytes >> 10);
    assert!(kibibytes <= MOST, "the case held {} MiB", kibibytes >> 10);
}

/// Brings everything that stays for the life of the process into being.
fn warm_up(language: &str) {
    let bomb = match language {
        PYTHON => "len(bytes(b'x') * (64 << 20))",
        JAVASCRIPT => "new Uint8Array(64 << 20).fill(1).length",
        PHP => "strlen(str_repeat('x', 64 << 20))",
        other => panic!("no warm-up for {other}"),
    };
    let outcome = sandbox::run(sandbox::snippet(language, bomb).memory(256 * MIB));
    assert_ends(&outcome, &["returned"]);
    canary::check();
}

#[track_caller]
fn after(languages: &[&str], before: &Levels) {
    for language in languages {
        let outcome = sandbox::eval(language, "1+1");
        assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(2), "a fresh {language} run works");
    }
    canary::check();
    folders::wait_until_let_go(PATIENCE);
    // What the case has left behind, and then what all cases together have.
    before.wait_until_back("self", &SLACK, PATIENCE);
    FIRST.get_or_init(|| *before).wait_until_back("self", &SLACK_IN_ALL, PATIENCE);
}
