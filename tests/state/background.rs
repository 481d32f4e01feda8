//! Programs that outlive their call: they wait, are asked about, go on in the next process, and no call is made twice.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dormouse::connections::{ApprovalRequest, Caller, Decision};
use dormouse::sandbox::{CallState, Handle, Owner, Run, RunCall, RunLimits, RunState};
use dormouse::sandboxes::RunTools;
use dormouse::{
    AnswerFile, Callback, CallbackAnswer, CallbackCall, Callbacks, Dormouse, ErrorCode, EvalRequest,
    GuestPath, Language, MeteredModel, ModelUsage, Sandboxes,
};
use dormouse_tests::{JAVASCRIPT, PYTHON, lasting};
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

/// How long a run may take to come to a state.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the tools of a test have seen.
#[derive(Default)]
pub(crate) struct Seen {
    calls: Mutex<Vec<(String, Json, Option<String>)>>,
    /// Whether `slow.wait` answers.
    pub(crate) answers: AtomicU32,
    /// What the server says of `mail.send`.
    pub(crate) says: Mutex<String>,
}

impl Seen {
    fn note(&self, tool: &str, call: &CallbackCall) {
        self.calls.lock().unwrap().push((tool.into(), call.arguments.clone(), call.key.clone()));
    }

    pub(crate) fn count(&self, tool: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|(name, ..)| name == tool).count()
    }
}

/// `numbers.double`, `slow.wait` and `slow.again`, which answer once they are let, `web.read`, which answers with a file of strangers, and
/// `mail.send` and `mail.post`, about which somebody is asked; `mail.post` never answers.
struct Tools(Arc<Seen>, Vec<String>);

impl RunTools for Tools {
    fn servers(&self) -> Vec<String> {
        self.1.clone()
    }

    fn callbacks(&self, caller: &Caller, _: ModelUsage) -> (Callbacks, Option<MeteredModel>) {
        let mut callbacks = Callbacks::default();
        let any = json!({"type": "object"});
        let seen = self.0.clone();
        let double = Callback::answering("Doubles.", any.clone(), move |call: CallbackCall| {
            seen.note("numbers.double", &call);
            async move { Ok(CallbackAnswer::from(json!(call.arguments["n"].as_i64().unwrap_or(0) * 2))) }
        });
        callbacks.insert("numbers.double", double).unwrap();
        for (name, repeats) in [("slow.wait", false), ("slow.again", true)] {
            let seen = self.0.clone();
            let wait = Callback::answering("Waits.", any.clone(), move |call: CallbackCall| {
                seen.note(name, &call);
                let seen = seen.clone();
                async move {
                    while seen.answers.load(Ordering::Relaxed) == 0 {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    Ok(CallbackAnswer::from(json!("late")))
                }
            });
            callbacks.insert(name, if repeats { wait.repeating() } else { wait }).unwrap();
        }
        for (name, answers) in [("mail.send", true), ("mail.post", false)] {
            let (seen, approver) = (self.0.clone(), caller.approver.clone());
            let asks = Callback::answering("Sends.", any.clone(), move |call: CallbackCall| {
                let (seen, approver) = (seen.clone(), approver.clone());
                async move {
                    let approver = approver.ok_or("nobody can be asked")?;
                    let request = ApprovalRequest {
                        tool: name.into(),
                        arguments: call.arguments.clone(),
                        reason: "it changes something".into(),
                        digest: Some(seen.says.lock().unwrap().clone()),
                    };
                    match approver.ask(request).await {
                        Decision::Approved => seen.note(name, &call),
                        Decision::Denied(why) => return Err(format!("denied: {why}")),
                    }
                    if !answers {
                        std::future::pending::<()>().await;
                    }
                    Ok(CallbackAnswer::from(json!("sent")))
                }
            });
            callbacks.insert(name, asks).unwrap();
        }
        let taint = caller.taint.clone();
        let read = Callback::answering("Reads.", json!({"type": "object"}), move |call: CallbackCall| {
            taint.set();
            let bytes = b"drawn".to_vec();
            let path = GuestPath::parse("/tmp/tools/drawn.png").unwrap();
            async move {
                let _ = call;
                Ok(CallbackAnswer { value: json!("a file"), files: vec![AnswerFile { path, bytes }] })
            }
        });
        callbacks.insert("web.read", read).unwrap();
        (callbacks, None)
    }
}

/// An installation in a process of its own, as far as one test process can have that: dropped, it is as after `kill -9`.
pub(crate) struct Process {
    pub(crate) runtime: Option<Runtime>,
    pub(crate) dormouse: Dormouse,
}

impl Process {
    pub(crate) fn new(folder: &Path, seen: &Arc<Seen>) -> Self {
        Self::with(folder, seen, &["mail", "numbers", "slow"])
    }

    /// One that has connected these servers.
    pub(crate) fn with(folder: &Path, seen: &Arc<Seen>, servers: &[&str]) -> Self {
        Self::whose(lasting::open(folder), seen, servers)
    }

    /// One of this installation.
    pub(crate) fn of(dormouse: Dormouse, seen: &Arc<Seen>) -> Self {
        Self::whose(dormouse, seen, &["mail", "numbers", "slow", "web"])
    }

    fn whose(dormouse: Dormouse, seen: &Arc<Seen>, servers: &[&str]) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        lasting::sandboxes(&dormouse).serve_runs(Arc::new(Tools(
            seen.clone(),
            servers.iter().map(|server| (*server).to_owned()).collect(),
        )));
        Self { runtime: Some(runtime), dormouse }
    }

    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().unwrap().block_on(work)
    }

    pub(crate) fn sandboxes(&self) -> &Sandboxes {
        lasting::sandboxes(&self.dormouse)
    }

    pub(crate) fn start(&self, name: &str, language: &str, code: &str) -> Run {
        self.start_with(name, language, code, RunLimits::default())
    }

    pub(crate) fn start_with(&self, name: &str, language: &str, code: &str, limits: RunLimits) -> Run {
        self.wait(async {
            let kept = self.dormouse.sandbox(name).await.expect("a sandbox");
            let request = EvalRequest::new(Language::parse(language).unwrap(), code);
            let handle = Handle::IdOrName(kept.id().as_str());
            self.sandboxes().start_run(&Owner::local(), &handle, request, limits).await.expect("it starts")
        })
    }

    pub(crate) fn go_on(&self) {
        let _within = self.runtime.as_ref().unwrap().enter();
        self.sandboxes().take_over_runs().expect("the journal can be read");
    }

    pub(crate) fn run(&self, run: &Run) -> Run {
        self.sandboxes().run(&Owner::local(), run.id.as_str()).expect("it is there")
    }

    pub(crate) fn calls(&self, run: &Run) -> Vec<RunCall> {
        self.sandboxes().run_calls(&Owner::local(), run.id.as_str()).expect("it is there")
    }

    /// The run, once it is as wanted.
    pub(crate) fn until(&self, run: &Run, wanted: impl Fn(&Run) -> bool) -> Run {
        let begun = Instant::now();
        loop {
            let now = self.run(run);
            if wanted(&now) {
                return now;
            }
            assert!(begun.elapsed() < PATIENCE, "{now:#?} {:#?}", self.calls(run));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn ended(&self, run: &Run) -> Run {
        self.until(run, |run| !run.state.is_open())
    }

    pub(crate) fn cancel(&self, run: &Run) -> dormouse::Result<Run> {
        self.wait(self.sandboxes().cancel_run(&Owner::local(), run.id.as_str(), "enough"))
    }

    pub(crate) fn awake(&self, run: &Run) -> usize {
        let handle = Handle::IdOrName(run.sandbox.as_str());
        self.sandboxes().get(&Owner::local(), &handle).expect("it is there").awake.len()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

pub(crate) fn value(run: &Run) -> Json {
    let end = run.end.as_ref().unwrap_or_else(|| panic!("it has no end: {run:#?}"));
    end.value.as_ref().map(|value| value["value"].clone()).unwrap_or_else(|| panic!("no value: {end:#?}"))
}

/// Two calls at once, one after them, and a counter of what ran.
const STEPS: [(&str, &str); 2] = [
    (
        PYTHON,
        "import asyncio
from dormouse import tools
ran = []
async def one(n):
    ran.append(n)
    return await tools.numbers.double(n=n)
pair = await asyncio.gather(one(1), one(2))
late = await tools.slow.wait()
ran.append('end')
f'{pair} {late} {ran}'",
    ),
    (
        JAVASCRIPT,
        "const ran = [];
async function one(n) { ran.push(n); return await tools.numbers.double({n}); }
const pair = await Promise.all([one(1), one(2)]);
const late = await tools.slow.wait();
ran.push('end');
`${JSON.stringify(pair)} ${late} ${JSON.stringify(ran)}`",
    ),
];

#[test]
fn run_40_a_program_goes_on_by_itself_and_each_call_is_made_once() {
    for (language, code) in STEPS {
        let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
        seen.answers.store(1, Ordering::Relaxed);
        let process = Process::new(folder.path(), &seen);
        let run = process.ended(&process.start("box", language, code));
        assert_eq!(run.state, RunState::Done, "{run:#?}");
        let shown = value(&run).as_str().unwrap().replace(' ', "").replace('\'', "\"");
        assert_eq!(shown, "[2,4]late[1,2,\"end\"]");
        assert_eq!((seen.count("numbers.double"), seen.count("slow.wait")), (2, 1));
        let calls = process.calls(&run);
        assert!(calls.len() == 3 && calls.iter().all(|call| call.state == CallState::Done), "{calls:#?}");
        let keys: Vec<_> = seen.calls.lock().unwrap().iter().map(|(.., key)| key.clone().unwrap()).collect();
        assert!(keys.iter().all(|key| key.starts_with(run.id.as_str())) && keys[0] != keys[1], "{keys:?}");
    }
}

#[test]
fn run_41_after_a_kill_a_program_goes_on_from_its_last_wait_and_a_call_under_way_is_unknown() {
    for (language, code) in STEPS {
        let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
        let first = Process::new(folder.path(), &seen);
        let run = first.start("box", language, code);
        first.until(&run, |_| seen.count("slow.wait") == 1);
        drop(first);

        let second = Process::new(folder.path(), &seen);
        assert!(second.run(&run).state.is_open());
        second.go_on();
        let run = second.ended(&run);
        let end = run.end.clone().unwrap();
        let raised = end.exception.unwrap_or_else(|| panic!("{run:#?}"));
        assert!(raised.message.contains("outcome_unknown"), "{raised:#?}");
        assert_eq!((seen.count("numbers.double"), seen.count("slow.wait")), (2, 1), "nothing is made twice");
        let last = second.calls(&run).pop().unwrap();
        assert_eq!(last.state, CallState::Unknown);
    }
}

#[test]
fn run_42_a_call_that_may_be_repeated_is_made_again_with_its_key() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let first = Process::new(folder.path(), &seen);
    let run = first.start("box", PYTHON, "from dormouse import tools\nawait tools.slow.again(a=1)");
    first.until(&run, |_| seen.count("slow.again") == 1);
    drop(first);
    seen.answers.store(1, Ordering::Relaxed);
    let second = Process::new(folder.path(), &seen);
    second.go_on();
    assert_eq!(value(&second.ended(&run)), "late");
    let calls = seen.calls.lock().unwrap();
    assert!(calls.len() == 2 && calls[0] == calls[1], "{calls:?}");
}

#[test]
fn run_43_an_approval_is_waited_for_over_processes_and_counts_once() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let code =
        "from dormouse import tools\nx = await tools.numbers.double(n=4)\n[x, await tools.mail.send(to='a')]";
    let first = Process::new(folder.path(), &seen);
    let run = first.start("box", PYTHON, code);
    first.until(&run, |run| run.state == RunState::Asking);
    drop(first);

    let second = Process::new(folder.path(), &seen);
    let asked = second.calls(&run).into_iter().find(|call| call.state == CallState::Asking).unwrap();
    assert_eq!(asked.question.as_ref().unwrap().arguments, json!({"to": "a"}));
    let decide = |owner: &Owner, number| {
        second.wait(async { second.sandboxes().decide(owner, run.id.as_str(), number, Decision::Approved) })
    };
    let other = Owner::parse("bob").unwrap();
    assert_eq!(decide(&other, asked.number).unwrap_err().code(), ErrorCode::NotFound, "another owner");
    assert_eq!(
        decide(&Owner::local(), 1).unwrap_err().code(),
        ErrorCode::NotFound,
        "nobody is asked about that"
    );
    decide(&Owner::local(), asked.number).unwrap();
    let again = decide(&Owner::local(), asked.number);
    assert!(again.is_err(), "it counts once");
    assert_eq!(
        value(&second.ended(&run)),
        json!([{"type": "int", "value": 8}, {"type": "string", "value": "sent"}])
    );
    assert_eq!((seen.count("mail.send"), seen.count("numbers.double")), (1, 1));
    assert_eq!(
        decide(&Owner::local(), asked.number).unwrap_err().code(),
        ErrorCode::InvalidState,
        "too late"
    );
}

#[test]
fn run_44_a_call_that_is_denied_or_not_answered_raises() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let code = "from dormouse import tools\ntry:\n    r = await tools.mail.send()\nexcept Exception as e:\n    r = str(e)\nr";
    let run = process.start("box", PYTHON, code);
    process.until(&run, |run| run.state == RunState::Asking);
    let number = process.calls(&run)[0].number;
    let denied = Decision::Denied("not today".into());
    process
        .wait(async { process.sandboxes().decide(&Owner::local(), run.id.as_str(), number, denied) })
        .unwrap();
    assert_eq!(value(&process.ended(&run)), "denied: not today");
    assert_eq!(process.calls(&run)[0].state, CallState::Refused, "it was not made");

    let limits = RunLimits { approval: Duration::from_millis(300), ..RunLimits::default() };
    let run = process.start_with("box", PYTHON, code, limits);
    let late = value(&process.ended(&run));
    assert!(late.as_str().unwrap().contains("limit_approval"), "{late}");
    assert_eq!(process.calls(&run)[0].state, CallState::Refused, "nor was this one");
    assert_eq!(seen.count("mail.send"), 0);
}

#[test]
fn run_45_a_program_that_sleeps_holds_no_memory_and_wakes_in_the_next_process() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let first = Process::new(folder.path(), &seen);
    let run = first.start("box", PYTHON, "import asyncio\nbegun = 1\nawait asyncio.sleep(4)\nbegun + 1");
    first.until(&run, |run| run.state == RunState::Waiting);
    let begun = Instant::now();
    while first.awake(&run) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(3), "it stays in memory");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(first);
    let second = Process::new(folder.path(), &seen);
    second.go_on();
    assert_eq!(value(&second.ended(&run)), 2);
}

#[test]
fn run_68_a_sandbox_that_was_in_use_when_its_program_fell_asleep_is_put_out_of_memory_afterwards() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let run = process.start("box", PYTHON, "import asyncio\nawait asyncio.sleep(86400)");
    process.until(&run, |run| run.state == RunState::Waiting);
    let kept = process.wait(process.dormouse.sandbox("box")).unwrap();
    let long = "await new Promise((done) => setTimeout(done, 2500)); 1";
    assert!(process.wait(kept.eval(JAVASCRIPT, long)).unwrap().is_ok());
    let begun = Instant::now();
    while process.awake(&run) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it stays in memory");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn run_46_a_sandbox_whose_program_waits_takes_no_other_of_its_language() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let run = process.start("box", PYTHON, "from dormouse import tools\nx = 1\nawait tools.slow.wait()");
    process.until(&run, |_| seen.count("slow.wait") == 1);
    let kept = process.wait(process.dormouse.sandbox("box")).unwrap();
    let refused = process.wait(kept.eval(PYTHON, "1")).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InvalidState, "{refused:?}");
    assert!(refused.message().contains(run.id.as_str()));
    // Everything else goes on, and a fork is a sandbox like any other.
    assert!(process.wait(kept.eval(JAVASCRIPT, "1")).unwrap().is_ok());
    process.wait(kept.write("/workspace/f", "1")).unwrap();
    let fork = process.wait(kept.fork(1)).unwrap().pop().unwrap();
    assert_eq!(
        process.wait(fork.eval(PYTHON, "x")).unwrap().value().and_then(|value| value.as_i64()),
        Some(1)
    );
    let second = process.wait(async {
        let request = EvalRequest::new(Language::python(), "1");
        let handle = Handle::IdOrName("box");
        process.sandboxes().start_run(&Owner::local(), &handle, request, RunLimits::default()).await
    });
    assert_eq!(second.unwrap_err().code(), ErrorCode::InvalidState);
    seen.answers.store(1, Ordering::Relaxed);
    assert_eq!(value(&process.ended(&run)), "late");
    assert!(process.wait(kept.eval(PYTHON, "1")).unwrap().is_ok(), "the sandbox is free again");
}

#[test]
fn run_47_what_takes_the_program_away_ends_its_run() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let code = "from dormouse import tools\nawait tools.slow.wait()";
    let started = |name: &str| {
        let kept = process.wait(process.dormouse.sandbox(name)).unwrap();
        let before = process.wait(kept.checkpoint()).unwrap();
        let seen_before = seen.count("slow.wait");
        let run = process.start(name, PYTHON, code);
        process.until(&run, |_| seen.count("slow.wait") > seen_before);
        (kept, before, run)
    };
    let (kept, before, run) = started("restored");
    process.wait(kept.restore(&before)).unwrap();
    assert_eq!(process.ended(&run).state, RunState::Cancelled);
    assert!(process.wait(kept.eval(PYTHON, "1")).unwrap().is_ok());

    let (_, _, run) = started("reset");
    let (local, handle) = (Owner::local(), Handle::IdOrName("reset"));
    process.wait(process.sandboxes().reset(&local, &handle)).unwrap();
    assert_eq!(process.ended(&run).state, RunState::Cancelled);

    let (kept, _, run) = started("destroyed");
    process.wait(kept.destroy()).unwrap();
    assert_eq!(process.ended(&run).state, RunState::Cancelled);

    let (_, _, run) = started("cancelled");
    let cancelled =
        process.wait(process.sandboxes().cancel_run(&Owner::local(), run.id.as_str(), "enough")).unwrap();
    assert_eq!(cancelled.state, RunState::Cancelled);
    assert_eq!(cancelled.end.unwrap().error.unwrap().message, "enough");
    assert_eq!(process.calls(&run)[0].state, CallState::Cancelled);
}

#[test]
fn run_48_budgets_of_calls_bytes_and_time_end_a_program() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let limited =
        |limits: RunLimits, code: &str| process.ended(&process.start_with("box", PYTHON, code, limits));
    let calls = "from dormouse import tools\nfor n in range(9):\n    await tools.numbers.double(n=n)";
    let run = limited(RunLimits { calls: 3, ..RunLimits::default() }, calls);
    assert!(run.end.unwrap().exception.unwrap().message.contains("budget_exhausted"));
    assert_eq!(seen.count("numbers.double"), 3);
    let bytes =
        "from dormouse import tools\nfor n in range(9):\n    await tools.numbers.double(n=n, pad='x' * 4000)";
    let run = limited(RunLimits { bytes: 9_000, ..RunLimits::default() }, bytes);
    assert!(run.end.unwrap().exception.unwrap().message.contains("budget_exhausted"));
    let spins = "import asyncio\nwhile True:\n    await asyncio.sleep(0.001)\n    sum(range(100000))";
    let run = limited(RunLimits { running: Duration::from_millis(300), ..RunLimits::default() }, spins);
    assert_eq!(run.end.unwrap().error.unwrap().code, ErrorCode::LimitTime);
    let sleeps = "import asyncio\nawait asyncio.sleep(1000)";
    let run = limited(RunLimits { lifetime: Duration::from_millis(300), ..RunLimits::default() }, sleeps);
    assert_eq!(run.end.unwrap().error.unwrap().code, ErrorCode::LimitTime);
}

#[test]
fn run_49_the_journal_of_another_owner_is_as_unknown_as_none() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let run = process.ended(&process.start("box", PYTHON, "1"));
    let bob = Owner::parse("bob").unwrap();
    for id in [run.id.as_str(), "run-aaaaaaaaaaaaaaaaaaaaaaaaaa", "x\u{202e}", ""] {
        let error = process.sandboxes().run(&bob, id).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotFound, "{id}");
        assert_eq!(process.sandboxes().run_calls(&bob, id).unwrap_err().code(), ErrorCode::NotFound);
    }
    assert!(process.sandboxes().runs(&bob, 10).unwrap().is_empty());
    assert_eq!(process.sandboxes().runs(&Owner::local(), 10).unwrap().len(), 1);
}
