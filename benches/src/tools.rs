//! Programs that call tools: the way to a function of this process and back, many at once, and a pause in the middle.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use dormouse::waiting::{CallAnswer, Progress};
use dormouse::wasm::{SavedInterpreter, Settings, WasmProvider};
use dormouse::{EvalRequest, Language};
use serde_json::json;

use crate::bench::{Bench, ending, milliseconds, with_peer};
use crate::peers::Peer;
use crate::table::{Goal, Row};
use crate::turns::{Measured, Turn, take_turns};

/// Calls of one run, from whose time that of a run without a call is taken.
const MANY: usize = 200;

/// A way to call: the snippet, in which `CALLS` is a number, and the most that one call may take, in milliseconds.
const CALLS: [(&str, &str, &str, f64); 5] = [
    ("tools-python", "python", "sum([await tools.one() for _ in range(CALLS)])", 0.015),
    ("tools-python-sync", "python", "sum(call_tool('one') for _ in range(CALLS))", 0.015),
    (
        "tools-javascript",
        "javascript",
        "let n = 0; for (let i = 0; i < CALLS; i++) n += await tools.one(); n",
        0.008,
    ),
    (
        "tools-javascript-sync",
        "javascript",
        "let n = 0; for (let i = 0; i < CALLS; i++) n += callTool('one'); n",
        0.008,
    ),
    ("tools-php-sync", "php", PHP_CALLS, 0.008),
];
const PHP_CALLS: &str = "$n = 0; for ($i = 0; $i < CALLS; $i++) $n += tools()->one(); $n";
/// Ten calls one after the other, with the most that they may take together.
const TEN: [(&str, &str, &str, f64); 3] = [
    ("tools-ten-python", "python", "n = 0\nfor _ in range(CALLS): n += await tools.one()\nn", 0.15),
    (
        "tools-ten-javascript",
        "javascript",
        "let n = 0; for (let i = 0; i < CALLS; i++) n += await tools.one(); n",
        0.15,
    ),
    ("tools-ten-php", "php", PHP_CALLS, 0.15),
];
/// The same by the peer, whose programs call without `await`.
const PEER_TEN: &str = "n = 0\nfor _ in range(CALLS):\n    n += one()\nn";
/// A hundred calls of 10 ms each, together.
const TOGETHER: [(&str, &str, &str); 3] = [
    (
        "tools-gather-python",
        "python",
        "import asyncio\nlen(await asyncio.gather(*[tools.slow() for _ in range(100)]))",
    ),
    (
        "tools-gather-javascript",
        "javascript",
        "(await Promise.all([...Array(100)].map(() => tools.slow()))).length",
    ),
    ("tools-gather-php", "php", "count(call_tools(array_fill(0, 100, ['slow'])))"),
];
/// A program that is saved while it waits, and goes on.
const PAUSED: [(&str, &str, &str); 2] = [
    ("python", "async def f(n): return n + await tools.one()\n[await f(n) for n in range(3)]", "Python"),
    (
        "javascript",
        "const f = async (n) => n + await tools.one(); [await f(0), await f(1), await f(2)]",
        "JavaScript",
    ),
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (id, language, code, most) in CALLS {
        if bench.begins(id) {
            let how = if id.ends_with("sync") { "waits where it is made" } else { "is awaited" };
            let what = format!("a call of a function of this process that {how}, {language}");
            let ours = calls(bench, (language, code), MANY, MANY as f64);
            rows.push(Row::new(id, what, "ms", ours).goal(Goal::AtMost(most)));
        }
    }
    for (id, language, code, most) in TEN {
        if bench.begins(id) {
            let what = format!("ten such calls in a row, {language}");
            let of = |count: usize| run(bench, language, &code.replace("CALLS", &count.to_string()));
            let ours: Turn<'_> = Box::new(|| Ok(vec![of(10)? - of(0)?]));
            rows.push(if language == "python" {
                let theirs = with_peer(bench.peers.start(Peer::Monty), |peer| peer.callback(PEER_TEN, 1));
                let [ours, theirs] = take_turns(bench.few(2), [ours, theirs]);
                Row::new(id, what, "ms", ours).goal(Goal::AtMost(most)).peer(Peer::Monty.name(), theirs)
            } else {
                let [ours] = take_turns(bench.few(2), [ours]);
                Row::new(id, what, "ms", ours).goal(Goal::AtMost(most))
            });
        }
    }
    for (id, language, code) in TOGETHER {
        if bench.begins(id) {
            let ours: Turn<'_> = Box::new(|| Ok(vec![run(bench, language, code)?]));
            let [ours] = take_turns(bench.few(2), [ours]);
            let what = format!("100 calls of 10 ms each at once, {language}");
            rows.push(Row::new(id, what, "ms", ours).goal(Goal::AtMost(20.0)));
        }
    }
    for (language, code, name) in PAUSED {
        if bench.begins(&format!("tools-pause-{language}")) {
            rows.extend(pause(bench, language, code, name)?);
        }
    }
    Ok(rows)
}

/// Milliseconds of that many calls without what a run takes that makes none, divided by `parts`.
fn calls(bench: &Bench, (language, code): (&str, &str), count: usize, parts: f64) -> Measured {
    let of = |count: usize| run(bench, language, &code.replace("CALLS", &count.to_string()));
    let ours: Turn<'_> = Box::new(|| Ok(vec![(of(count)? - of(0)?) / parts]));
    let [ours] = take_turns(bench.few(2), [ours]);
    ours
}

/// Milliseconds of a run that has the tools `one`, which answers at once, and `slow`, which takes 10 ms.
fn run(bench: &Bench, language: &str, code: &str) -> Result<f64> {
    let dormouse = bench.dormouse(0)?;
    let object = json!({"type": "object"});
    let snippet = dormouse
        .snippet(language, code)
        .callback("one", "One.", object.clone(), |_| std::future::ready(Ok(json!(1))))
        .callback("slow", "Late.", object, |_| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(json!(1))
        });
    let begun = Instant::now();
    let outcome = bench.runtime.block_on(snippet.run())?;
    ensure!(outcome.is_ok(), "{}", ending(&outcome));
    Ok(milliseconds(begun.elapsed()))
}

/// What a pause costs: the state taken as bytes, and the way from these bytes in another provider to the next point where the
/// program waits; and the bytes.
fn pause(bench: &Bench, language: &str, code: &str, name: &str) -> Result<Vec<Row>> {
    let request = EvalRequest::new(Language::parse(language)?, code);
    let (first, second) = (WasmProvider::new(Settings::new()?)?, WasmProvider::new(Settings::new()?)?);
    let once = || -> Result<[f64; 3]> {
        bench.runtime.block_on(async {
            let mut session = first.session(&request.language).await?;
            let Progress::Waits(paused) = first.start(&mut session, &request).await? else {
                bail!("it did not wait")
            };
            let begin = Instant::now();
            let bytes = first.checkpoint(&mut session).await?.to_bytes();
            let saved = milliseconds(begin.elapsed());
            drop(session);
            let begin = Instant::now();
            let mut session = second.restore(&SavedInterpreter::from_bytes(&bytes)?).await?;
            let answers =
                paused.wanted.calls.iter().map(|call| CallAnswer { id: call.id, outcome: Ok("1".into()) });
            let next = second.resume(&mut session, &request, answers.collect()).await?;
            let resumed = milliseconds(begin.elapsed());
            ensure!(matches!(next, Progress::Waits(_)), "it did not wait again");
            Ok([saved, resumed, bytes.len() as f64 / 1024.0])
        })
    };
    // Both providers have read the guest then.
    once()?;
    let mut rows = Vec::new();
    for (at, part, unit, goal) in
        [(0, "saved", "ms", Some(5.0)), (1, "resumed", "ms", Some(5.0)), (2, "bytes", "KiB", None)]
    {
        let ours: Turn<'_> = Box::new(|| Ok(vec![once()?[at]]));
        let [ours] = take_turns(bench.few(2), [ours]);
        let what = match at {
            0 => format!("a program in {name} that waits, saved as bytes"),
            1 => format!("such a program in {name}, from bytes to where it waits next"),
            _ => format!("bytes of such a program in {name}, not compressed"),
        };
        let row = Row::new(format!("tools-pause-{language}-{part}"), what, unit, ours);
        rows.push(match goal {
            Some(most) => row.goal(Goal::AtMost(most)),
            None => row,
        });
    }
    Ok(rows)
}
