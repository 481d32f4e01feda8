//! Whole processes: from the start of `dormouse eval 1+1` to its end, its result printed. Their CPU time is told as well,
//! because it hardly depends on what else the machine does.

use std::cell::Cell;
use std::process::Command;

use anyhow::{Result, bail};

use crate::bench::{Bench, FUEL, SUM};
use crate::launch;
use crate::peers::NATIVE_PYTHON;
use crate::stats::Summary;
use crate::table::{Goal, Row};
use crate::turns::{Measured, Turn, take_turns};

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
    Ok(wanted.flat_map(|case| process(bench, case)).collect())
}

/// CPU time of one side's processes, without the first, which may have had to compile.
#[derive(Default)]
struct Used {
    ms: Cell<f64>,
    processes: Cell<usize>,
    warm: Cell<bool>,
}

impl Used {
    /// A turn of one process.
    fn turn(&self, mut command: Command) -> Turn<'_> {
        Box::new(move || {
            let before = launch::children_cpu()?;
            let wall = launch::timed(&mut command, "2")?;
            if self.warm.replace(true) {
                self.ms.set(self.ms.get() + launch::children_cpu()? - before);
                self.processes.set(self.processes.get() + 1);
            }
            Ok(vec![wall])
        })
    }

    /// Mean of a process.
    fn mean(&self) -> Measured {
        match self.processes.get() {
            0 => Err("no samples".into()),
            n => Ok(Summary::mean(self.ms.get() / n as f64, n)),
        }
    }
}

fn process(bench: &Bench, case: &Case) -> [Row; 2] {
    let [used, used_fuel, used_native] = [Used::default(), Used::default(), Used::default()];
    let native = match bench.peers.wanted() {
        true => {
            let mut command = launch::command(case.native[0]);
            command.args(&case.native[1..]);
            used_native.turn(command)
        }
        false => Box::new(|| bail!("left out (--no-peers)")),
    };
    let sides = [eval(&used, case, None), native, eval(&used_fuel, case, Some(FUEL))];
    let [ours, peer, fuel] = take_turns(bench.rounds, sides);
    let id = format!("process-{}", case.language);
    let what = format!("whole process `dormouse eval -l {} {SUM}`", case.language);
    let cpu = Row::new(format!("{id}-cpu"), format!("{what}, CPU time, mean"), "ms", used.mean());
    [
        Row::new(id, what, "ms", ours).fuel(fuel).peer(case.name, peer).goal(case.goal),
        cpu.fuel(used_fuel.mean()).peer(case.name, used_native.mean()),
    ]
}

/// A turn of `dormouse eval`.
fn eval<'a>(used: &'a Used, case: &Case, fuel: Option<u64>) -> Turn<'a> {
    let program = match launch::dormouse() {
        Ok(program) => program,
        Err(why) => return Box::new(move || bail!("{why}")),
    };
    let mut command = launch::command(program);
    command.args(["eval", "--language", case.language]);
    if let Some(fuel) = fuel {
        command.args(["--fuel", &fuel.to_string()]);
    }
    command.arg(SUM);
    used.turn(command)
}
