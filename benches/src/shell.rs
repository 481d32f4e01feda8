//! Command lines: the smallest one, a program started by the shell, and a long pipeline beside native bash.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use dormouse::PersistentSandbox;
use dormouse::sandboxes::CommandLine;

use crate::bench::{Bench, milliseconds};
use crate::life::open;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Command lines in one turn.
const BURST: usize = 20;
/// The pipeline, and what makes its 10 MB of input: those of `cargo xtask suite shell`.
const PIPELINE: &str = include_str!("../../tests/shell/bench/pipeline.sh");
const GENERATE: &str = include_str!("../../tests/shell/bench/generate.sh");
/// The programs of the small rows: id, what it is, the command line, what it prints, and the most milliseconds.
const SMALL: [(&str, &str, &str, &str, f64); 4] = [
    ("shell-echo", "`echo hi` in a live sandbox", "echo hi", "hi\n", 1.0),
    ("shell-python", "`python3 -c 'print(1)'` from the shell", "python3 -c 'print(1)'", "1\n", 2.0),
    ("shell-node", "`node -e 'console.log(1)'` from the shell", "node -e 'console.log(1)'", "1\n", 2.0),
    ("shell-php", "`php -r 'echo 1;'` from the shell", "php -r 'echo 1;'", "1", 2.0),
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for row in SMALL.iter().filter(|row| bench.begins(row.0)) {
        rows.push(small(bench, row)?);
    }
    if bench.begins("shell-pipeline") {
        rows.push(pipeline(bench)?);
    }
    Ok(rows)
}

fn small(bench: &Bench, (id, what, line, prints, most): &(&str, &str, &str, &str, f64)) -> Result<Row> {
    let (dormouse, _folder) = open()?;
    let kept = bench.runtime.block_on(dormouse.sandbox("bench"))?;
    let ours: Turn<'_> = Box::new(|| (0..BURST).map(|_| run(bench, &kept, line, prints)).collect());
    let native: Turn<'_> = Box::new(|| {
        let begin = Instant::now();
        let output = bash(line).output().context("no bash")?;
        ensure!(output.stdout == prints.as_bytes(), "bash: {}", String::from_utf8_lossy(&output.stderr));
        Ok(vec![milliseconds(begin.elapsed())])
    });
    let [ours, native] = take_turns(bench.rounds, [ours, native]);
    Ok(Row::new(*id, *what, "ms", ours).peer("native bash -c", native).goal(Goal::AtMost(*most)))
}

#[allow(clippy::disallowed_methods, reason = "native bash is the peer")]
fn bash(line: &str) -> Command {
    let mut bash = Command::new("bash");
    bash.args(["-c", line]);
    bash
}

/// Milliseconds from the call to its outcome.
fn run(bench: &Bench, kept: &PersistentSandbox, line: &str, prints: &str) -> Result<f64> {
    let mut line = CommandLine::new(line);
    line.wall = Duration::from_secs(300);
    let begin = Instant::now();
    let outcome = bench.runtime.block_on(kept.exec_line(line))?.outcome;
    let ms = milliseconds(begin.elapsed());
    ensure!(
        outcome.exit_code() == 0 && (prints.is_empty() || outcome.stdout.text == prints),
        "{} {} {:?}",
        outcome.stdout.text,
        outcome.stderr.text,
        outcome.stopped()
    );
    Ok(ms)
}

fn pipeline(bench: &Bench) -> Result<Row> {
    let host = tempfile::tempdir()?;
    let native = |script: &str| -> Result<(f64, String)> {
        let begin = Instant::now();
        let output =
            bash(script).env("LC_ALL", "C.UTF-8").current_dir(host.path()).output().context("no bash")?;
        let ms = milliseconds(begin.elapsed());
        ensure!(output.status.success(), "bash: {}", String::from_utf8_lossy(&output.stderr));
        Ok((ms, String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    native(GENERATE)?;
    let (_, expected) = native(PIPELINE)?;
    let (dormouse, _folder) = open()?;
    let kept = bench.runtime.block_on(dormouse.sandbox("bench"))?;
    let input = std::fs::read(host.path().join("big.log"))?;
    bench.runtime.block_on(kept.write("/workspace/big.log", input))?;
    let ours: Turn<'_> = Box::new(|| Ok(vec![run(bench, &kept, PIPELINE, &expected)?]));
    let theirs: Turn<'_> = Box::new(|| Ok(vec![native(PIPELINE)?.0]));
    let [ours, theirs] = take_turns(bench.few(8), [ours, theirs]);
    let what = "20 commands in one pipeline over 10 MB";
    Ok(Row::new("shell-pipeline", what, "ms", ours)
        .peer("native bash and coreutils", theirs)
        .goal(Goal::Share(3.0)))
}
