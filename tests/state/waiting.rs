//! Programs that wait: saved in the middle, and gone on with elsewhere.

use dormouse::waiting::{CallAnswer, Paused, PendingCall, Progress};
use dormouse::wasm::SavedInterpreter;
use dormouse_tests::ending::{exception, value};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};
use serde_json::{Value as Json, json};

use crate::Kept;

impl Kept {
    fn start(&mut self, code: &str) -> Progress {
        let request = self.request(code);
        sandbox::wait(self.provider.start(&mut self.session, &request)).expect("it starts")
    }

    fn resume(&mut self, answers: Vec<CallAnswer>) -> Progress {
        let request = self.request("");
        sandbox::wait(self.provider.resume(&mut self.session, &request, answers)).expect("it goes on")
    }

    /// Goes on in another provider, from the bytes of the saved state.
    fn moved(mut self) -> Self {
        let bytes = self.checkpoint().to_bytes();
        drop(self);
        Self::restored(&SavedInterpreter::from_bytes(&bytes).expect("a state")).expect("the same guest")
    }
}

fn paused(progress: Progress) -> Paused {
    match progress {
        Progress::Waits(paused) => paused,
        Progress::Ended(outcome) => panic!("it ended: {outcome:?}"),
    }
}

fn ended(progress: Progress) -> dormouse::Outcome {
    match progress {
        Progress::Ended(outcome) => *outcome,
        Progress::Waits(paused) => panic!("it waits: {paused:?}"),
    }
}

fn answer(call: &PendingCall, outcome: Result<Json, &str>) -> CallAnswer {
    CallAnswer { id: call.id, outcome: outcome.map(|json| json.to_string()).map_err(str::to_owned) }
}

fn doubled(call: &PendingCall) -> CallAnswer {
    let arguments: Json = serde_json::from_str(&call.arguments).unwrap();
    answer(call, Ok(json!(arguments["n"].as_i64().unwrap() * 2)))
}

/// Three coroutines inside each other, with five calls under way; what each has done is counted in variables.
const NESTED: [(&str, &str); 2] = [
    (
        PYTHON,
        "import asyncio, random
begun = 0
words = open('/tmp/words', 'w+')
words.write('one two'); words.seek(0)
async def inner(n):
    global begun
    begun += 1
    first = words.read(1) if n == 0 else ''
    answer = await tools.numbers.double(n=n)
    return answer, first + (words.read(3) if n == 0 else '')
async def middle():
    add = lambda pair: pair[0] + 1
    pairs = await asyncio.gather(*[inner(n) for n in range(5)])
    return [add(pair) for pair in pairs], pairs[0][1]
async def outer():
    numbers, read = await middle()
    return {'sum': sum(numbers), 'read': read, 'begun': begun, 'random': random.random() != 0}
await outer()",
    ),
    (
        JAVASCRIPT,
        "let begun = 0;
const text = 'one two'; let at = 0; const read = (n) => text.slice(at, at += n);
async function inner(n) {
  begun++;
  const first = n === 0 ? read(1) : '';
  const answer = await tools.numbers.double({ n });
  return [answer, first + (n === 0 ? read(3) : '')];
}
async function middle() {
  const add = (pair) => pair[0] + 1;
  const pairs = await Promise.all([0, 1, 2, 3, 4].map(inner));
  return [pairs.map(add), pairs[0][1]];
}
async function outer() {
  const [numbers, read] = await middle();
  return { sum: numbers.reduce((a, b) => a + b), read, begun, random: Math.random() !== 0 };
}
await outer()",
    ),
];

#[test]
fn run_01_a_program_that_waits_goes_on_elsewhere_and_nothing_runs_twice() {
    for (language, code) in NESTED {
        let mut kept = Kept::new(language);
        let waits = paused(kept.start(code)).wanted;
        assert_eq!(waits.calls.len(), 5, "{language}");
        assert_eq!(waits.calls[3].name, "numbers.double");
        let mut kept = kept.moved();
        // Two answers first; then the rest, in another order, after one more move.
        let told = paused(kept.resume(waits.calls[1..3].iter().map(doubled).collect())).wanted;
        assert!(told.calls.is_empty(), "{language}: {told:?}");
        let mut kept = kept.moved();
        let rest = [4, 0, 3].map(|at| doubled(&waits.calls[at]));
        let outcome = ended(kept.resume(rest.into()));
        let shown = value(&outcome);
        let text = shown.to_string();
        for part in ["25", "\"random\"", "5"] {
            assert!(text.contains(part), "{language}: {text}");
        }
    }
}

#[test]
fn run_02_a_failed_call_is_an_exception_where_it_is_awaited() {
    for (language, code, caught) in [
        (
            PYTHON,
            "await tools.door.open()",
            "try:\n await tools.door.open()\nexcept RuntimeError as e: told = str(e)\ntold",
        ),
        (
            JAVASCRIPT,
            "await tools.door.open()",
            "let told; try { await tools.door.open() } catch (e) { told = `${e.message}` } told",
        ),
    ] {
        let mut kept = Kept::new(language);
        for code in [code, caught] {
            let call = paused(kept.start(code)).wanted.calls.remove(0);
            let outcome = ended(kept.resume(vec![answer(&call, Err("it is locked"))]));
            if code == caught {
                assert_eq!(value(&outcome)["value"], "it is locked", "{language}");
            } else {
                assert!(exception(&outcome).class.ends_with("ToolError"), "{language}");
            }
        }
    }
}

#[test]
fn run_03_a_sleep_of_a_day_holds_nothing_and_ends_when_it_is_told() {
    for (language, code) in [
        (PYTHON, "import asyncio\nawait asyncio.sleep(86400)\n'awake'"),
        (JAVASCRIPT, "await new Promise((done) => setTimeout(done, 86400000)); 'awake'"),
    ] {
        let mut kept = Kept::new(language);
        let time = paused(kept.start(code)).wanted.time.expect("a time");
        assert!((86_390..=86_400).contains(&time.as_secs()), "{language}: {time:?}");
        let outcome = ended(kept.moved().resume(Vec::new()));
        assert_eq!(value(&outcome)["value"], "awake", "{language}");
    }
}

#[test]
fn run_04_what_is_cancelled_is_told_and_its_answer_is_passed_over() {
    for (language, code) in [
        (
            PYTHON,
            "import asyncio
async def slow():
    try: return await asyncio.wait_for(tools.slow(), 5)
    except TimeoutError: return await tools.quick()
await slow()",
        ),
        (
            JAVASCRIPT,
            "const signal = AbortSignal.timeout(5000);
await tools.slow({}, { signal }).catch(() => tools.quick({}))",
        ),
    ] {
        let mut kept = Kept::new(language);
        let first = paused(kept.start(code)).wanted;
        assert_eq!((first.calls[0].name.as_str(), first.calls.len()), ("slow", 1), "{language}");
        assert!(first.time.is_some(), "{language}");
        let mut kept = kept.moved();
        let second = paused(kept.resume(Vec::new())).wanted;
        assert_eq!(second.cancelled, [first.calls[0].id], "{language}");
        assert_eq!(second.calls[0].name, "quick", "{language}");
        let both =
            vec![answer(&first.calls[0], Ok(json!("late"))), answer(&second.calls[0], Ok(json!("quick")))];
        assert_eq!(value(&ended(kept.resume(both)))["value"], "quick", "{language}");
    }
}

#[test]
fn run_05_asyncio_run_as_a_statement_of_its_own_can_pause() {
    let define = "import asyncio\nasync def main():\n    return await tools.numbers.double(n=4)\n";
    for call in [
        "asyncio.run(main())",
        "answer = asyncio.run(main())\nanswer",
        "if __name__ == '__main__':\n    answer = asyncio.run(main())\nanswer",
        "from asyncio import run\nprint('x')\nanswer = [run(main())][0]\nanswer",
    ] {
        let mut kept = Kept::new(PYTHON);
        let calls = paused(kept.start(&format!("{define}{call}"))).wanted.calls;
        let outcome = ended(kept.moved().resume(calls.iter().map(doubled).collect()));
        assert_eq!(value(&outcome)["value"], 8, "{call}");
    }
}

#[test]
fn run_06_another_run_forgets_a_program_that_waits() {
    for (language, code) in
        [(PYTHON, "x = 1\nawait tools.slow()\nx = 2"), (JAVASCRIPT, "var x = 1; await tools.slow(); x = 2")]
    {
        let mut kept = Kept::new(language);
        let call = paused(kept.start(code)).wanted.calls.remove(0);
        assert_eq!(value(&kept.call("x"))["value"], 1, "{language}");
        let outcome = ended(kept.resume(vec![answer(&call, Ok(json!(0)))]));
        assert!(exception(&outcome).message.contains("no program waits"), "{language}");
        assert_eq!(value(&kept.call("x"))["value"], 1, "{language}");
    }
}
