//! How late a time limit ends what will not end by itself.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::bench::{Bench, ending, milliseconds, snippet, with_peer};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// The wall-clock limit.
const LIMIT: Duration = Duration::from_millis(200);
/// How late the call may come back.
const LATE_MS: f64 = 20.0;

/// Code that runs for many seconds unless it is stopped.
struct Case {
    id: &'static str,
    what: &'static str,
    language: &'static str,
    code: &'static str,
    /// Measured for the plain loop only: not every peer comes back from the others.
    peer: Option<Peer>,
}

const CASES: [Case; 18] = [
    Case {
        id: "loop",
        what: "endless loop",
        language: "python",
        code: "while True: pass",
        peer: Some(Peer::Pyeryx),
    },
    Case {
        id: "regex",
        what: "catastrophic regular expression",
        language: "python",
        code: "import re\nre.match('(a+)+$', 'a' * 64 + 'b')",
        peer: None,
    },
    Case {
        id: "compare",
        what: "sort with a slow comparison",
        language: "python",
        code: "class Slow(int):\n    def __lt__(self, other):\n        return sum(range(10**6)) < 0\n\
               sorted(Slow(i) for i in range(10**4))",
        peer: None,
    },
    Case {
        id: "sort",
        what: "sorts of many items",
        language: "python",
        code: "items = [3, 1, 4, 1.5, 9, 2, 6] * 10**6\nwhile True: sorted(items)",
        peer: None,
    },
    Case { id: "power", what: "huge power", language: "python", code: "9 ** 9 ** 9", peer: None },
    Case {
        id: "digits",
        what: "huge number to text",
        language: "python",
        code: "import sys\nsys.set_int_max_str_digits(0)\nstr(1 << 10**8)",
        peer: None,
    },
    Case { id: "sleep", what: "sleep", language: "python", code: "import time\ntime.sleep(30)", peer: None },
    Case {
        id: "loop",
        what: "endless loop",
        language: "javascript",
        code: "for (;;) {}",
        peer: Some(Peer::Quickjs),
    },
    Case {
        id: "regex",
        what: "catastrophic regular expression",
        language: "javascript",
        code: "/^(a+)+$/.test('a'.repeat(64) + 'b')",
        peer: None,
    },
    Case {
        id: "compare",
        what: "sort with a slow comparison",
        language: "javascript",
        code: "const slow = (a, b) => { let s = 0; for (let i = 0; i < 1e6; i++) s += i; return a - b }\n\
               Array.from({ length: 10000 }, (_, i) => (i * 7919) % 10007).sort(slow)",
        peer: None,
    },
    Case {
        id: "sort",
        what: "sorts of many items",
        language: "javascript",
        code: "const items = Array.from({ length: 200000 }, (_, i) => (i * 7919) % 300007)\nfor (;;) items.toSorted()",
        peer: None,
    },
    Case { id: "power", what: "huge power", language: "javascript", code: "9n ** 300000n", peer: None },
    Case {
        id: "digits",
        what: "huge number to text",
        language: "javascript",
        code: "String(1n << 1000000n)",
        peer: None,
    },
    Case {
        id: "sleep",
        what: "timer",
        language: "javascript",
        code: "await new Promise((wake) => setTimeout(wake, 30000))",
        peer: None,
    },
    Case { id: "loop", what: "endless loop", language: "php", code: "while (true);", peer: None },
    Case {
        id: "regex",
        what: "catastrophic regular expression",
        language: "php",
        code: "ini_set('pcre.backtrack_limit', '-1'); preg_match('/^(?:a+)+$/', str_repeat('a', 64) . 'b')",
        peer: None,
    },
    Case {
        id: "sort",
        what: "sorts of many items",
        language: "php",
        code: "$items = array_map(fn($i) => $i * 7919 % 300007, range(0, 199999)); while (true) { $copy = $items; sort($copy); }",
        peer: None,
    },
    Case { id: "sleep", what: "sleep", language: "php", code: "sleep(30)", peer: None },
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for case in &CASES {
        let id = format!("timeout-{}-{}", case.language, case.id);
        if bench.begins(&id) {
            rows.push(late(bench, id, case)?);
        }
    }
    Ok(rows)
}

fn late(bench: &Bench, id: String, case: &Case) -> Result<Row> {
    let dormouse = bench.dormouse(0)?;
    let ours: Turn<'_> = Box::new(|| {
        let run = snippet(&dormouse, case.language, case.code, None).timeout(LIMIT);
        let begin = Instant::now();
        let outcome = bench.runtime.block_on(run.run())?;
        let took = begin.elapsed();
        ensure!(outcome.timed_out(), "not stopped by its limit: {}", ending(&outcome));
        Ok(vec![milliseconds(took) - milliseconds(LIMIT)])
    });
    let what = format!("past a limit of {} ms, {}: {}", LIMIT.as_millis(), case.language, case.what);
    let goal = Goal::P99AtMost(LATE_MS);
    let rounds = bench.few(4);
    let Some(peer) = case.peer else {
        let [ours] = take_turns(rounds, [ours]);
        return Ok(Row::new(id, what, "ms", ours).goal(goal));
    };
    let limit = u64::try_from(LIMIT.as_millis())?;
    let theirs = with_peer(bench.peers.start(peer), |driver| driver.late(case.code, limit));
    let [ours, measured] = take_turns(rounds, [ours, theirs]);
    Ok(Row::new(id, what, "ms", ours).peer(peer.name(), measured).goal(goal))
}
