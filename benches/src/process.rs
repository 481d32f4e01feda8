//! Whole processes: from the start of `dormouse eval 1+1` to its end, its result printed.

use std::process::Command;

use anyhow::Result;

use crate::bench::{Bench, FUEL, SUM};
use crate::launch;
use crate::peers::NATIVE_PYTHON;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// A language, the native command beside it, and the goal.
struct Case {
    language: &'static str,
    native: &'static [&'static str],
    name: &'static str,
    goal: Goal,
}

const CASES: [Case; 2] = [
    Case {
        language: "python",
        native: &[NATIVE_PYTHON, "-c", "print(1+1)"],
        name: "python3 -c",
        goal: Goal::Share(0.7),
    },
    Case {
        language: "javascript",
        native: &["node", "-e", "console.log(1+1)"],
        name: "node -e",
        goal: Goal::OneIn(15.0),
    },
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let wanted = CASES.iter().filter(|case| bench.begins(&format!("process-{}", case.language)));
    Ok(wanted.map(|case| process(bench, case)).collect())
}

fn process(bench: &Bench, case: &Case) -> Row {
    let start =
        |mut command: Command| -> Turn<'_> { Box::new(move || Ok(vec![launch::timed(&mut command, "2")?])) };
    let ours = |fuel: Option<u64>| -> Turn<'_> {
        match launch::dormouse() {
            Err(why) => Box::new(move || anyhow::bail!("{why}")),
            Ok(program) => {
                let mut command = launch::command(program);
                command.args(["eval", "--language", case.language]);
                if let Some(fuel) = fuel {
                    command.args(["--fuel", &fuel.to_string()]);
                }
                command.arg(SUM);
                start(command)
            }
        }
    };
    let native = || -> Turn<'_> {
        let mut command = launch::command(case.native[0]);
        command.args(&case.native[1..]);
        start(command)
    };
    let native =
        if bench.peers.wanted() { native() } else { Box::new(|| anyhow::bail!("left out (--no-peers)")) };
    let [ours, peer, fuel] = take_turns(bench.rounds, [ours(None), native, ours(Some(FUEL))]);
    let what = format!("whole process `dormouse eval -l {} {SUM}`", case.language);
    Row::new(format!("process-{}", case.language), what, "ms", ours)
        .fuel(fuel)
        .peer(case.name, peer)
        .goal(case.goal)
}
