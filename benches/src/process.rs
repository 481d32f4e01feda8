//! Whole processes: from the start of `dormouse eval 1+1` to its end, its result printed. Their CPU time is told as well,
//! because it hardly depends on what else the machine does.

use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::bench::{Bench, FUEL, SUM};
use crate::launch;
use crate::peers::NATIVE_PYTHON;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// What every process prints.
const PRINTED: &str = "2";
/// Rounds of the rows that tell CPU time.
const CPU_ROUNDS: usize = 2;

/// A language, the native command beside it, and the goal.
struct Case {
    language: &'static str,
    native: &'static [&'static str],
    name: &'static str,
    goal: Goal,
}

const CASES: [Case; 3] = [
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
    Case {
        language: "php",
        native: &["php", "-n", "-r", "echo 1+1;"],
        name: "php -n -r",
        goal: Goal::Share(1.0),
    },
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let wanted = CASES.iter().filter(|case| bench.begins(&format!("process-{}", case.language)));
    Ok(wanted.flat_map(|case| process(bench, case)).collect())
}

fn process(bench: &Bench, case: &Case) -> [Row; 2] {
    let wall = |command: Result<Command>| -> Turn<'_> {
        turn(command, |command| Ok(vec![launch::timed(command, PRINTED)?]))
    };
    // The system tells CPU time in steps of 10 ms, so a turn has many processes.
    let processes = bench.rounds;
    let cpu = |command: Result<Command>| -> Turn<'_> {
        turn(command, move |command| {
            let before = launch::children_cpu()?;
            for _ in 0..processes {
                launch::timed(command, PRINTED)?;
            }
            Ok(vec![(launch::children_cpu()? - before) / processes as f64])
        })
    };
    let sides = || [eval(case, None), native(bench, case), eval(case, Some(FUEL))];
    let [ours, peer, fuel] = take_turns(bench.rounds, sides().map(wall));
    let [cpu_ours, cpu_peer, cpu_fuel] = take_turns(CPU_ROUNDS, sides().map(cpu));
    let id = format!("process-{}", case.language);
    let what = format!("whole process `dormouse eval -l {} {SUM}`", case.language);
    let cpu = format!("{what}, CPU time, mean of {processes}");
    [
        Row::new(&id, what, "ms", ours).fuel(fuel).peer(case.name, peer).goal(case.goal),
        Row::new(format!("{id}-cpu"), cpu, "ms", cpu_ours).fuel(cpu_fuel).peer(case.name, cpu_peer),
    ]
}

/// The turns of one command; without the command, the reason.
fn turn<'a>(command: Result<Command>, measure: impl Fn(&mut Command) -> Result<Vec<f64>> + 'a) -> Turn<'a> {
    let mut command = command.map_err(|why| format!("{why:#}"));
    Box::new(move || match &mut command {
        Ok(command) => measure(command),
        Err(why) => bail!("{why}"),
    })
}

/// `dormouse eval`.
fn eval(case: &Case, fuel: Option<u64>) -> Result<Command> {
    let mut command = launch::command(launch::dormouse()?);
    command.args(["eval", "--language", case.language]);
    if let Some(fuel) = fuel {
        command.args(["--fuel", &fuel.to_string()]);
    }
    command.arg(SUM);
    Ok(command)
}

fn native(bench: &Bench, case: &Case) -> Result<Command> {
    ensure!(bench.peers.wanted(), "left out (--no-peers)");
    let mut command = launch::command(case.native[0]);
    command.args(&case.native[1..]);
    Ok(command)
}
