//! Randomness in PHP: fresh in every run although memory is a snapshot, repeated with a seed.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use dormouse::grants::WallClock;
use dormouse_tests::ending::value;
use dormouse_tests::{PHP, sandbox};

/// Every source of randomness, one snippet each.
const SOURCES: [&str; 15] = [
    "mt_rand()",
    "rand()",
    "random_int(0, PHP_INT_MAX)",
    "bin2hex(random_bytes(16))",
    "uniqid('', true)",
    "lcg_value()",
    "$l = range(0, 99); shuffle($l); implode(',', $l)",
    "implode(',', array_rand(range(0, 9999), 10))",
    "str_shuffle(str_repeat('abcdefghij', 10))",
    "(new Random\\Randomizer)->getInt(0, PHP_INT_MAX)",
    "(new Random\\Engine\\Mt19937)->generate() . (new Random\\Engine\\Xoshiro256StarStar)->generate()",
    "password_hash('a', PASSWORD_BCRYPT, ['cost' => 4])",
    "tempnam('/tmp', 'x')",
    "session_start(); session_id()",
    "(new SQLite3(':memory:'))->querySingle('select random()')",
];

fn answer(code: &str, seed: Option<u64>) -> String {
    let mut request = sandbox::request(PHP, code);
    request.context.grants.seed = seed;
    if seed.is_some() {
        request.context.grants.clock =
            WallClock::Fixed(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    }
    value(&sandbox::run_request(request)).to_string()
}

#[test]
fn without_a_seed_every_run_differs() {
    for code in SOURCES {
        let answers: BTreeSet<_> = (0..5).map(|_| answer(code, None)).collect();
        assert_eq!(answers.len(), 5, "{code}: {answers:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_answer_and_another_seed_another() {
    for code in SOURCES {
        let first = answer(code, Some(7));
        assert_eq!(answer(code, Some(7)), first, "{code}");
        assert_ne!(answer(code, Some(8)), first, "{code}");
    }
}

#[test]
fn a_seed_of_the_snippets_own_works_as_usual() {
    assert_eq!(sandbox::value_of(PHP, "mt_srand(42); mt_rand()")["value"], 804_318_771);
    let engine = "(new Random\\Randomizer(new Random\\Engine\\Mt19937(42)))->getInt(1, 100)";
    assert_eq!(sandbox::value_of(PHP, engine), sandbox::value_of(PHP, engine));
}

#[test]
fn time_is_that_of_the_run() {
    let now = sandbox::value_of(PHP, "time()")["value"].as_i64().unwrap();
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!(now.abs_diff(i64::try_from(clock).unwrap()) < 5);
    assert_eq!(sandbox::value_of(PHP, "abs($_SERVER['REQUEST_TIME'] - time()) < 5")["value"], true);
    assert_eq!(sandbox::value_of(PHP, "hrtime(true) > 0 && microtime(true) > 1e9")["value"], true);
}
