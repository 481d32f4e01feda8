//! The packages for Python and Node.js, as `cargo xtask dist` made them, beside the crate in this process and beside the peers
//! that their users would take instead.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::bench::{Bench, SUM, ending, milliseconds, snippet, with_peer};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Runs in one turn.
const BURST: usize = 10;
/// A snippet that calls a function `CALLS` times.
const CALLS: &str = "sum(call_tool('f') for _ in range(CALLS))";
/// What `CALLS` is in one run.
const MANY: usize = 100;

/// A package, the language of its snippets, and who else does the same.
struct Case {
    id: &'static str,
    package: Peer,
    language: &'static str,
    peers: &'static [Peer],
}

const CASES: [Case; 2] = [
    Case {
        id: "package-python",
        package: Peer::PythonPackage,
        language: "python",
        peers: &[Peer::Pyeryx, Peer::Monty, Peer::WasiPython],
    },
    Case {
        id: "package-node",
        package: Peer::NodePackage,
        language: "javascript",
        peers: &[Peer::Quickjs, Peer::IsolatedVm],
    },
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    if !bench.packages {
        if bench.wants("package") {
            bench.leave_out("the rows `package`", "no --packages, and --only does not name them");
        }
        return Ok(rows);
    }
    for case in &CASES {
        if bench.begins(&format!("{}-crate", case.id)) {
            rows.push(beside_the_crate(bench, case)?);
        }
        for peer in case.peers {
            if bench.begins(&format!("{}-{}", case.id, peer.name())) {
                rows.push(beside(bench, case, *peer));
            }
        }
        if bench.begins(&format!("{}-callback", case.id)) {
            rows.push(callback(bench, case)?);
        }
        if bench.begins(&format!("{}-import", case.id)) {
            let ours = || Ok(vec![bench.peers.start(case.package)?.import()?]);
            let [ours] = take_turns(bench.few(8), [Box::new(ours) as Turn<'_>]);
            let row = Row::new(
                format!("{}-import", case.id),
                format!("import of the {}", case.package.name()),
                "ms",
                ours,
            );
            rows.push(row.goal(Goal::AtMost(30.0)));
        }
    }
    Ok(rows)
}

/// The package's own part: what it takes beside the crate, which is the peer of this row.
fn beside_the_crate(bench: &Bench, case: &Case) -> Result<Row> {
    let dormouse = bench.dormouse(0)?;
    let ours = with_peer(bench.peers.start(case.package), |package| package.fresh(SUM, BURST));
    let theirs: Turn<'_> =
        Box::new(|| (0..BURST).map(|_| bench.sum(snippet(&dormouse, case.language, SUM, None), 2)).collect());
    let [ours, theirs] = take_turns(bench.rounds, [ours, theirs]);
    let what = format!("fresh {} `{SUM}` by the {}", case.language, case.package.name());
    let row = Row::new(format!("{}-crate", case.id), what, "ms", ours).peer("the crate", theirs);
    // The goal has 20 us besides, which the table does not know; it is stricter without.
    Ok(row.goal(Goal::Share(1.3)))
}

fn beside(bench: &Bench, case: &Case, peer: Peer) -> Row {
    let ours = with_peer(bench.peers.start(case.package), |package| package.fresh(SUM, BURST));
    let theirs = with_peer(bench.peers.start(peer), |peer| peer.fresh(SUM, BURST));
    let [ours, theirs] = take_turns(bench.few(4), [ours, theirs]);
    let what = format!("fresh {} `{SUM}` by the {}", case.language, case.package.name());
    Row::new(format!("{}-{}", case.id, peer.name()), what, "ms", ours).peer(peer.name(), theirs)
}

/// A function of the program, called by a snippet in Python: a run of many calls less a run of none, for each call.
fn callback(bench: &Bench, case: &Case) -> Result<Row> {
    let dormouse = bench.dormouse(0)?;
    let run = |calls: usize| -> Result<f64> {
        let code = CALLS.replace("CALLS", &calls.to_string());
        let one = |_| std::future::ready(Ok(json!(1)));
        let snippet = dormouse.snippet("python", code).callback("f", "One.", json!({"type": "object"}), one);
        let begun = Instant::now();
        let outcome = bench.runtime.block_on(snippet.run())?;
        ensure!(outcome.is_ok(), "{}", ending(&outcome));
        Ok(milliseconds(begun.elapsed()))
    };
    let ours = with_peer(bench.peers.start(case.package), |package| package.callback(CALLS, 1));
    let theirs: Turn<'_> = Box::new(|| Ok(vec![(run(MANY)? - run(0)?) / MANY as f64]));
    let [ours, theirs] = take_turns(bench.few(2), [ours, theirs]);
    let what = format!("a function of the program, called by a snippet, by the {}", case.package.name());
    let row = Row::new(format!("{}-callback", case.id), what, "ms", ours).peer("the crate", theirs);
    Ok(row)
}
