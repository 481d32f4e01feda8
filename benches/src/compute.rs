//! CPU-bound snippets: calls and dictionaries, and JSON. Beside the peer, and beside the native interpreter.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::bench::{Bench, FUEL, snippet, with_peer};
use crate::driver::Driver;
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Long enough for the slowest snippet on the slowest machine.
const WALL: Duration = Duration::from_secs(60);

/// A snippet, and whom it is compared with.
struct Case {
    id: &'static str,
    what: &'static str,
    language: &'static str,
    code: &'static str,
    peer: Peer,
    native: Peer,
    goal: Option<Goal>,
}

const CASES: [Case; 6] = [
    Case {
        id: "compute-python-fib-dict",
        what: "W3 python: fib(27), 200 000 dict updates",
        language: "python",
        code: include_str!("../snippets/fib_dict.py"),
        peer: Peer::Pyeryx,
        native: Peer::Python,
        goal: Some(Goal::Share(0.7)),
    },
    Case {
        id: "compute-python-json",
        what: "W4 python: 1 MB of JSON, 20 times there and back",
        language: "python",
        code: include_str!("../snippets/json_round.py"),
        peer: Peer::Pyeryx,
        native: Peer::Python,
        goal: Some(Goal::Share(0.7)),
    },
    Case {
        id: "compute-javascript-fib-dict",
        what: "W3 javascript: fib(27), 200 000 property updates",
        language: "javascript",
        code: include_str!("../snippets/fib_dict.js"),
        peer: Peer::Quickjs,
        native: Peer::Node,
        goal: None,
    },
    Case {
        id: "compute-javascript-json",
        what: "W4 javascript: 1 MB of JSON, 20 times there and back",
        language: "javascript",
        code: include_str!("../snippets/json_round.js"),
        peer: Peer::Quickjs,
        native: Peer::Node,
        goal: None,
    },
    Case {
        id: "compute-php-fib-dict",
        what: "W3 php: fib(27), 200 000 array updates",
        language: "php",
        code: include_str!("../snippets/fib_dict.php"),
        peer: Peer::Php,
        native: Peer::Php,
        goal: None,
    },
    Case {
        id: "compute-php-json",
        what: "W4 php: 1 MB of JSON, 20 times there and back",
        language: "php",
        code: include_str!("../snippets/json_round.php"),
        peer: Peer::Php,
        native: Peer::Php,
        goal: None,
    },
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| bench.begins(case.id)) {
        rows.extend(compute(bench, case)?);
    }
    Ok(rows)
}

fn compute(bench: &Bench, case: &Case) -> Result<[Row; 2]> {
    let dormouse = bench.dormouse(0)?;
    // Every side must print the same; the first to run says what.
    let printed = std::cell::OnceCell::<String>::new();
    let same = |text: String| {
        let first = printed.get_or_init(|| text.clone());
        ensure!(*first == text, "it printed `{text}`, another side `{first}`");
        Ok(())
    };
    let ours = |fuel: Option<u64>| -> Turn<'_> {
        let (dormouse, same) = (&dormouse, &same);
        Box::new(move || {
            let run = snippet(dormouse, case.language, case.code, fuel).timeout(WALL);
            let (ms, text) = bench.printed(run)?;
            same(text)?;
            Ok(vec![ms])
        })
    };
    let other = |peer: Peer| {
        with_peer(bench.peers.start(peer), |driver: &mut Driver| {
            let (ms, text) = driver.run(case.code)?;
            same(text)?;
            Ok(vec![ms])
        })
    };
    let sides = [ours(None), other(case.peer), other(case.native), ours(Some(FUEL))];
    let [ours, peer, native, fuel] = take_turns(bench.few(8), sides);
    let row = Row::new(case.id, case.what, "ms", ours.clone()).fuel(fuel).peer(case.peer.name(), peer);
    let row = case.goal.into_iter().fold(row, Row::goal);
    let beside = Row::new(format!("{}-native", case.id), "the same, beside native", "ms", ours);
    Ok([row, beside.peer(case.native.name(), native)])
}
