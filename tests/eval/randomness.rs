//! Randomness differs from run to run although memory is a snapshot, unless a seed is given: then all of it is the same.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use dormouse::grants::WallClock;
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{GuestName, LineRequest};
use dormouse_tests::ending::value;
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};

/// Every source of randomness of a language, one snippet each.
const SOURCES: [(&str, &str); 17] = [
    (PYTHON, "import random; random.random()"),
    (PYTHON, "import random; random.Random().random()"),
    (PYTHON, "import random; random.SystemRandom().random()"),
    (PYTHON, "import random; random.randrange(10**15)"),
    (PYTHON, "import uuid; str(uuid.uuid4())"),
    (PYTHON, "import uuid; str(uuid.uuid1())"),
    (PYTHON, "import os; os.urandom(16)"),
    (PYTHON, "import secrets; secrets.token_hex()"),
    (PYTHON, "import tempfile; tempfile.mkdtemp()"),
    (PYTHON, "import random; l = list(range(100)); random.shuffle(l); str(l)"),
    (PYTHON, "import sqlite3; sqlite3.connect(':memory:').execute('select random()').fetchone()[0]"),
    (JAVASCRIPT, "Math.random()"),
    (JAVASCRIPT, "crypto.randomUUID()"),
    (JAVASCRIPT, "crypto.getRandomValues(new Uint8Array(16))"),
    (JAVASCRIPT, "[Math.random(), Math.random()].join()"),
    (JAVASCRIPT, "Array(50).fill().map(() => Math.random() < 0.5 ? 0 : 1).join('')"),
    (JAVASCRIPT, "require('crypto').randomUUID()"),
];

fn answer(language: &str, code: &str, seed: Option<u64>) -> String {
    let mut request = sandbox::request(language, code);
    request.context.grants.seed = seed;
    if seed.is_some() {
        request.context.grants.clock =
            WallClock::Fixed(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    }
    value(&sandbox::run_request(request)).to_string()
}

#[test]
fn without_a_seed_every_run_differs() {
    for (language, code) in SOURCES {
        let answers: BTreeSet<_> = (0..5).map(|_| answer(language, code, None)).collect();
        assert_eq!(answers.len(), 5, "{code}: {answers:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_answer_and_another_seed_another() {
    for (language, code) in SOURCES {
        let first = answer(language, code, Some(7));
        assert_eq!(answer(language, code, Some(7)), first, "{code}");
        assert_ne!(answer(language, code, Some(8)), first, "{code}");
    }
}

#[test]
fn a_seed_and_a_clock_make_a_whole_program_reproducible() {
    let python = "import time, random, uuid, os, asyncio\n\
        async def f(n):\n await asyncio.sleep(random.random() / 1000); return (n, time.monotonic())\n\
        async def main(): return await asyncio.gather(*map(f, range(5)))\n\
        str([time.time(), time.monotonic(), time.perf_counter(), random.random(), uuid.uuid1(), os.urandom(4), asyncio.run(main())])";
    let javascript = "const l = []; await Promise.all([3, 1, 2].map(n => new Promise(done => setTimeout(() => { l.push([n, performance.now()]); done() }, n))));\n\
        JSON.stringify([Date.now(), performance.now(), Math.random(), crypto.randomUUID(), l])";
    for (language, code) in [(PYTHON, python), (JAVASCRIPT, javascript)] {
        let first = answer(language, code, Some(3));
        for _ in 0..3 {
            assert_eq!(answer(language, code, Some(3)), first, "{language}");
        }
    }
}

#[test]
fn a_seed_of_the_snippets_own_works_as_usual() {
    let code = "import random; random.seed(42); random.random()";
    assert_eq!(sandbox::value_of(PYTHON, code)["value"], 0.639_426_798_457_883_7);
}

#[test]
fn a_shell_draws_its_own_numbers_in_each_run_and_the_same_with_a_seed() {
    for code in [
        "echo $RANDOM$RANDOM$RANDOM",
        "echo $(echo $RANDOM$RANDOM)",
        "seq 50 | sort -R",
        "mktemp -u",
        "echo $SRANDOM",
    ] {
        let provider = Settings::new().and_then(WasmProvider::new).unwrap();
        let shown = |seed| {
            let mut line = LineRequest::new(code);
            line.context.grants.seed = seed;
            sandbox::wait(async {
                let mut session = provider.session(GuestName::Shell).await.unwrap();
                provider.continue_line(&mut session, &line).await.unwrap().stdout.text
            })
        };
        let fresh: BTreeSet<_> = (0..5).map(|_| shown(None)).collect();
        assert_eq!(fresh.len(), 5, "{code}: {fresh:?}");
        let seeded: BTreeSet<_> = (0..3).map(|_| shown(Some(7))).collect();
        assert_eq!(seeded.len(), 1, "{code}: {seeded:?}");
    }
}
