//! What a session knew is known where it is restored.

use std::fs;
use std::path::Path;
use std::time::Duration;

use dormouse_tests::ending::{answer, assert_ends, value};
use dormouse_tests::golden::steady;
use dormouse_tests::{JAVASCRIPT, PYTHON, binary};

use crate::Kept;

const PYTHON_SETUP: &str = "import json, re, decimal, collections, sqlite3, datetime
from math import sqrt as root
number, text, blob = 42, 'ü' * 1000, bytearray(b'x' * 100_000)
def double(n): return n * 2
class Account:
    rate = 0.5
    def __init__(self, owner): self.owner, self.balance = owner, decimal.Decimal('10.50')
    def add(self, amount): self.balance += amount; return self
account = Account('ann').add(5)
def counter():
    count = 0
    def step():
        nonlocal count
        count += 1
        return count
    return step
step = counter(); step(); step()
def endless():
    n = 0
    while True: n = (yield n * n) or n + 1
squares = endless(); [next(squares) for _ in range(4)]
pattern = re.compile(r'(?P<word>\\w+)')
database = sqlite3.connect(':memory:'); database.execute('create table t (a)'); database.execute('insert into t values (7)')
cycle = []; cycle.append(cycle)
ring = collections.deque([1, 2, 3]); ring.rotate(1)";

const PYTHON_QUESTIONS: [&str; 12] = [
    "[number, len(text), len(blob), double(21)]",
    "[account.owner, str(account.balance), str(account.add(1).balance), type(account).rate]",
    "[step(), step()]",
    "[next(squares), next(squares)]",
    "pattern.match('word').groupdict()",
    "database.execute('select a from t').fetchone()[0]",
    "cycle[0] is cycle and list(ring)",
    "[root(16), json.dumps({'a': 1}), datetime.date(2024, 2, 29).isoformat()]",
    "import heapq; heapq.nsmallest(2, [3, 1, 2])",
    "def triple(n): return double(n) + n\ntriple(5)",
    "print('still prints'); account.missing",
    "number += 1; number",
];

const JAVASCRIPT_SETUP: &str = "let number = 42, big = 10n ** 30n; const text = 'ü'.repeat(1000); var bytes = new Uint8Array(100_000).fill(7);
function double(n) { return n * 2 }
class Account { #balance = 10; static rate = 0.5; constructor(owner) { this.owner = owner } add(n) { this.#balance += n; return this } get balance() { return this.#balance } }
const account = new Account('ann').add(5);
const step = (() => { let count = 0; return () => ++count })(); step(); step();
function* endless() { for (let n = 0; ; n++) yield n * n } const squares = endless(); squares.next(); squares.next(); squares.next();
const pattern = /(?<word>\\w+)/g, map = new Map([['a', { deep: [1] }]]), set = new Set([1, 2]), symbol = Symbol('s');
const hidden = { [symbol]: 5 }; const cycle = []; cycle.push(cycle); const path = require('path');
const weak = new WeakMap([[hidden, 'kept']]); const settled = Promise.resolve(9); 0";

const JAVASCRIPT_QUESTIONS: [&str; 11] = [
    "[number, big, text.length, bytes.length, bytes[99_999], double(21)]",
    "[account.owner, account.balance, account.add(1).balance, Account.rate]",
    "[step(), step()]",
    "[squares.next().value, squares.next().value]",
    "pattern.exec('word').groups.word",
    "[map.get('a').deep[0], set.has(2), hidden[symbol], cycle[0] === cycle, weak.get(hidden)]",
    "path.join('a', '..', 'b')",
    "await settled",
    "function triple(n) { return double(n) + n } triple(5)",
    "console.log('still prints'); account.missing.more",
    "number += 1; number",
];

/// Asks the same in another process and in the session that was saved: both must say the same.
pub(crate) fn goes_on_elsewhere(language: &str, setup: &str, questions: &[&str]) {
    let mut kept = Kept::new(language);
    assert_ends(&kept.call(setup), &["returned"]);
    let checkpoint = kept.checkpoint();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), checkpoint.to_bytes()).unwrap();

    let other = binary::started(
        Path::new(env!("CARGO_BIN_EXE_dormouse-tests-restore")),
        &[file.path().to_str().unwrap()],
    );
    let stdin: String = questions.iter().map(|question| format!("{question}\0")).collect();
    let ran = binary::finish(other, stdin.as_bytes());
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    let there: Vec<String> = ran.text().lines().map(str::to_owned).collect();
    let here: Vec<String> =
        questions.iter().map(|question| steady(answer(&kept.call(question))).to_string()).collect();
    for ((question, here), there) in questions.iter().zip(&here).zip(&there) {
        assert_eq!(here, there, "{question}");
    }
    assert_eq!(here.len(), there.len());
    assert!(
        here[0].contains("\"value\":42") && here[1].contains("ann"),
        "the questions were answered: {here:?}"
    );
    assert!(
        here.iter().filter(|answer| answer.contains("\"ok\":true")).count() == questions.len() - 1,
        "{here:?}"
    );
}

#[test]
fn a_python_session_goes_on_in_another_process_and_in_its_own() {
    goes_on_elsewhere(PYTHON, PYTHON_SETUP, &PYTHON_QUESTIONS);
}

#[test]
fn a_javascript_session_goes_on_in_another_process_and_in_its_own() {
    goes_on_elsewhere(JAVASCRIPT, JAVASCRIPT_SETUP, &JAVASCRIPT_QUESTIONS);
}

#[test]
fn copies_of_one_checkpoint_are_independent() {
    for (language, set, change, get) in [
        (PYTHON, "x = [1]", "x.append(2); len(x)", "len(x)"),
        (JAVASCRIPT, "var x = [1]", "x.push(2)", "x.length"),
    ] {
        let mut kept = Kept::new(language);
        kept.call(set);
        let checkpoint = kept.checkpoint();
        let (mut one, mut other) =
            (Kept::restored(&checkpoint).unwrap(), Kept::restored(&checkpoint).unwrap());
        assert_eq!(value(&one.call(change))["value"], 2, "{language}");
        assert_eq!(value(&other.call(get))["value"], 1, "{language}");
        assert_eq!(value(&kept.call(get))["value"], 1, "{language}");
    }
}

#[test]
fn what_must_be_random_differs_between_copies() {
    for (language, code) in [
        (PYTHON, "import os, uuid; [str(uuid.uuid4()), os.urandom(8)]"),
        (JAVASCRIPT, "[crypto.randomUUID()]"),
    ] {
        let mut kept = Kept::new(language);
        kept.call(code);
        let checkpoint = kept.checkpoint();
        let (mut one, mut other) =
            (Kept::restored(&checkpoint).unwrap(), Kept::restored(&checkpoint).unwrap());
        assert_ne!(value(&one.call(code)), value(&other.call(code)), "{language}");
    }
}

#[test]
fn a_checkpoint_of_a_restored_session_is_as_good_as_the_first() {
    for (language, set, step) in [(PYTHON, "n = 0", "n += 1; n"), (JAVASCRIPT, "var n = 0", "n += 1; n")] {
        let mut kept = Kept::new(language);
        kept.call(set);
        for expected in 1..=5 {
            assert_eq!(value(&kept.call(step))["value"], expected, "{language}");
            let checkpoint = kept.checkpoint();
            kept = Kept::restored(&checkpoint).unwrap();
        }
    }
}

#[test]
fn a_session_is_saved_long_after_the_deadline_of_its_last_call() {
    for language in [PYTHON, JAVASCRIPT] {
        let mut kept = Kept::new(language);
        let mut request = kept.request("x = 5");
        request.context.limits.wall = Duration::from_millis(100);
        assert_ends(&kept.run(&request), &["returned"]);
        // Past the deadline of the call.
        std::thread::sleep(Duration::from_millis(400));
        let checkpoint = kept.checkpoint();
        assert_eq!(value(&Kept::restored(&checkpoint).unwrap().call("x"))["value"], 5, "{language}");
        assert_eq!(value(&kept.call("x"))["value"], 5, "{language}");
    }
}

#[test]
fn an_empty_session_is_small_and_data_counts() {
    for (language, fill) in [
        (PYTHON, "blob = bytes(b'x') * (8 << 20)"),
        (JAVASCRIPT, "var blob = new Uint8Array(8 << 20).fill(1)"),
    ] {
        let mut kept = Kept::new(language);
        let empty = kept.checkpoint().to_bytes().len();
        kept.call(fill);
        let filled = kept.checkpoint().to_bytes().len();
        assert!(empty < 1 << 20, "{language}: {empty} bytes for nothing");
        assert!((8 << 20..12 << 20).contains(&(filled - empty)), "{language}: {empty}, then {filled} bytes");
    }
}

/// It has no folders before its first run, so saving it must not be the moment in which it looks for them.
#[test]
fn a_session_that_has_never_run_is_saved_and_finds_its_folders_later() {
    let write = "open('/tmp/x', 'w').write('ab')";
    let mut kept = Kept::new(PYTHON);
    let checkpoint = kept.checkpoint();
    assert_eq!(value(&kept.call(write))["value"], 2);
    let mut restored = Kept::restored(&checkpoint).unwrap();
    restored.checkpoint();
    assert_eq!(value(&restored.call(write))["value"], 2);
}

#[test]
fn open_files_stay_open_and_those_that_go_with_the_session_are_named() {
    let mut kept = Kept::new(PYTHON);
    kept.call("file = open('/tmp/notes.txt', 'w'); file.write('buffered'); 0");
    let checkpoint = kept.checkpoint();
    assert_eq!(checkpoint.closed_files(), ["/tmp/notes.txt"]);
    assert_eq!(value(&kept.call("file.flush(); open('/tmp/notes.txt').read()"))["value"], "buffered");
    // Another session has a `/tmp` of its own.
    let mut elsewhere = Kept::restored(&checkpoint).unwrap();
    let told = elsewhere.call("file.flush()");
    assert_ends(&told, &["raised OSError"]);
    assert_eq!(told.closed_files, ["/tmp/notes.txt"]);
    assert_ends(&elsewhere.call("open('/tmp/notes.txt')"), &["raised FileNotFoundError"]);
}

#[test]
fn a_state_that_is_larger_than_the_limit_is_refused_at_the_call() {
    for (language, fill) in [
        (PYTHON, "blob = bytes(b'x') * (100 << 20)"),
        (JAVASCRIPT, "var blob = new Uint8Array(100 << 20).fill(1)"),
    ] {
        let mut kept = Kept::new(language);
        let mut request = kept.request(fill);
        request.context.limits.memory = 256 << 20;
        assert_ends(&kept.run(&request), &["returned"]);
        let mut restored = Kept::restored(&kept.checkpoint()).unwrap();
        let mut narrow = restored.request("1");
        narrow.context.limits.memory = 64 << 20;
        assert_ends(&restored.run(&narrow), &["limit_memory"]);
    }
}
