//! What goes with a program from one process to the next: its clock, what it has read, files of its answers, what it has used.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dormouse::connections::{Decision, Taint};
use dormouse::sandbox::{CallState, Handle, Owner, Run, RunBudget, RunState};
use dormouse::sandboxes::{CommandLine, Rules};
use dormouse::{Dormouse, ErrorCode, EvalRequest, Language};
use dormouse_tests::lasting::{self, named};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};

use crate::background::{Process, Seen, value};

#[test]
fn run_54_the_monotonic_clock_counts_the_time_that_a_program_waits() {
    let programs = [
        (
            PYTHON,
            "import time\nfrom dormouse import tools\nbegun = time.monotonic()\nawait tools.slow.again()\nround(time.monotonic() - begun, 1)",
        ),
        (
            JAVASCRIPT,
            "const begun = performance.now(); await tools.slow.again(); (performance.now() - begun) / 1000",
        ),
    ];
    for (language, code) in programs {
        let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
        let first = Process::new(folder.path(), &seen);
        let run = first.start("box", language, code);
        first.until(&run, |run| run.state == RunState::Waiting && seen.count("slow.again") == 1);
        drop(first);
        std::thread::sleep(Duration::from_secs(2));
        seen.answers.store(1, Ordering::Relaxed);
        let second = Process::new(folder.path(), &seen);
        second.go_on();
        let waited = value(&second.ended(&run)).as_f64().unwrap();
        assert!((1.9..60.0).contains(&waited), "{language}: {waited} s");
    }
}

/// Evaluates a snippet in the sandbox `name`, and tells whether its run counts as one that has read what strangers wrote.
fn tainted(dormouse: &Dormouse, name: &str, reads: bool) -> bool {
    let sandboxes = lasting::sandboxes(dormouse);
    let mut request = EvalRequest::new(Language::python(), "1");
    let taint = Taint::default();
    request.context.taint = taint.clone();
    if reads {
        taint.set();
    }
    sandbox::wait(sandboxes.eval(&Owner::local(), &Handle::IdOrName(name), request)).unwrap();
    taint.is_set()
}

#[test]
fn run_55_what_a_sandbox_has_read_counts_for_all_that_follows_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    named(&dormouse, "other");
    assert!(!tainted(&dormouse, "box", false));
    let before = sandbox::wait(kept.checkpoint()).unwrap();
    assert!(tainted(&dormouse, "box", true));
    assert!(tainted(&dormouse, "box", false) && !tainted(&dormouse, "other", false));
    let fork = sandbox::wait(kept.fork(1)).unwrap().remove(0);
    assert!(tainted(&dormouse, fork.id().as_str(), false), "a fork has it too");
    lasting::close(dormouse);

    let dormouse = lasting::open(folder.path());
    assert!(tainted(&dormouse, "box", false), "in the next process too");
    sandbox::wait(lasting::sandboxes(&dormouse).reset(&Owner::local(), &Handle::IdOrName("box"))).unwrap();
    assert!(tainted(&dormouse, "box", false), "its files stay");
    sandbox::wait(named(&dormouse, "box").restore(&before)).unwrap();
    assert!(!tainted(&dormouse, "box", false), "as it was before");
    lasting::close(dormouse);

    // So do jobs, both ways.
    let dormouse = lasting::open(folder.path());
    named(&dormouse, "jobs");
    let job = |sandbox: &str, reads: bool| {
        let line = CommandLine::new("true");
        if reads {
            line.taint.set();
        }
        let taint = line.taint.clone();
        let sandboxes = lasting::sandboxes(&dormouse);
        sandbox::wait(sandboxes.start_job(&Owner::local(), &Handle::IdOrName(sandbox), line)).unwrap();
        taint.is_set()
    };
    assert!(job(fork.id().as_str(), false) && !job("jobs", false));
    assert!(job("jobs", true) && tainted(&dormouse, "jobs", false));
    lasting::close(dormouse);

    // A run in the background counts likewise.
    let seen = Arc::new(Seen::default());
    let process = Process::new(folder.path(), &seen);
    let run = process.start("other", PYTHON, "from dormouse import tools\nawait tools.web.read()");
    assert_eq!(value(&process.ended(&run)), "a file");
    assert!(process.run(&run).tainted);
    process.wait(async {
        let mut request = EvalRequest::new(Language::python(), "1");
        let taint = Taint::default();
        request.context.taint = taint.clone();
        process.sandboxes().eval(&Owner::local(), &Handle::IdOrName("other"), request).await.unwrap();
        assert!(taint.is_set());
    });
}

#[test]
fn run_56_files_that_come_with_an_answer_are_there_when_the_next_process_gives_it() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let first = Process::new(folder.path(), &seen);
    let code = "import asyncio
from dormouse import tools
async def read():
    await tools.web.read()
    return open('/tmp/tools/drawn.png').read()
reads = asyncio.create_task(read())
# While the program computes, the answer is here and nobody has taken it.
late = await tools.slow.again()
[await reads, late]";
    let run = first.start("box", PYTHON, code);
    first.until(&run, |_| seen.count("slow.again") == 1);
    drop(first);
    seen.answers.store(1, Ordering::Relaxed);
    let second = Process::new(folder.path(), &seen);
    second.go_on();
    let ended = second.ended(&run);
    let told = ended.end.as_ref().unwrap();
    // Either the answer was given before the end of the process, or it was in the journal, or nobody knows of the call.
    let unknown = told.exception.as_ref().is_some_and(|raised| raised.message.contains("outcome_unknown"));
    assert!(unknown || value(&ended)[0]["value"] == "drawn", "{told:?}");
}

fn with_budget(folder: &Path, run_budget: RunBudget) -> Dormouse {
    let rules = Rules { run_budget, ..Rules::default() };
    Dormouse::builder().and_then(|builder| builder.state(folder).rules(rules).build()).unwrap()
}

#[test]
fn run_57_the_runs_of_an_owner_share_a_budget() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process =
        Process::of(with_budget(folder.path(), RunBudget { calls: 3, ..RunBudget::default() }), &seen);
    let twice = "from dormouse import tools\n[await tools.numbers.double(n=n) for n in (1, 2)]";
    let run = process.start("one", PYTHON, twice);
    assert_eq!(process.ended(&run).state, RunState::Done);
    let run = process.start("two", PYTHON, twice);
    let ended = process.ended(&run);
    assert_eq!(ended.end.unwrap().error.unwrap().code, ErrorCode::QuotaExceeded);
    let refused = process.wait(async {
        let kept = process.dormouse.sandbox("three").await.unwrap();
        let request = EvalRequest::new(Language::python(), twice);
        let handle = Handle::IdOrName(kept.id().as_str());
        process.sandboxes().start_run(&Owner::local(), &handle, request, Default::default()).await
    });
    let error = refused.unwrap_err();
    assert!(
        error.code() == ErrorCode::QuotaExceeded && error.message().contains("3 calls of tools"),
        "{error}"
    );
}

/// A program whose call of this tool somebody is asked about; it comes to the answer, or to what it was told. The call's number.
fn asking(process: &Process, tool: &str) -> (Run, u32) {
    let code = format!(
        "from dormouse import tools\ntry:\n answer = await tools.{tool}(to='a')\nexcept Exception as error:\n answer = str(error)\nanswer"
    );
    let run = process.start("box", PYTHON, &code);
    process.until(&run, |run| run.state == RunState::Asking);
    let number = process.calls(&run)[0].number;
    (run, number)
}

#[test]
fn run_58_an_approval_counts_for_the_tool_as_it_was_when_somebody_was_asked() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let first = Process::new(folder.path(), &seen);
    let (run, number) = asking(&first, "mail.send");
    drop(first);
    "something else".clone_into(&mut seen.says.lock().unwrap());
    let without = Process::with(folder.path(), &seen, &[]);
    without
        .wait(async {
            without.sandboxes().decide(&Owner::local(), run.id.as_str(), number, Decision::Approved)
        })
        .unwrap();
    drop(without);
    let second = Process::new(folder.path(), &seen);
    second.go_on();
    let told = value(&second.ended(&run));
    assert!(told.as_str().unwrap().contains("has changed since somebody was asked"), "{told}");
    assert_eq!(seen.count("mail.send"), 0);
}

#[test]
fn run_61_a_call_that_was_allowed_and_begun_is_not_made_again() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let first = Process::new(folder.path(), &seen);
    let (run, number) = asking(&first, "mail.post");
    let approved = Decision::Approved;
    let told =
        first.wait(async { first.sandboxes().decide(&Owner::local(), run.id.as_str(), number, approved) });
    assert_eq!(told.unwrap().id, run.id);
    // It is under way when the process ends.
    first.until(&run, |run| run.state != RunState::Asking && seen.count("mail.post") == 1);
    drop(first);
    let second = Process::new(folder.path(), &seen);
    second.go_on();
    let told = value(&second.ended(&run));
    assert!(told.as_str().unwrap().contains("outcome_unknown"), "{told}");
    assert_eq!(seen.count("mail.post"), 1);
}

#[test]
fn run_62_the_end_of_what_a_run_writes_is_kept() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let code = "for line in range(10_000): print('line', line)\nprint('THE END')";
    let run = process.ended(&process.start("box", PYTHON, code));
    assert_eq!(run.state, RunState::Done);
    assert!(run.stdout.text.ends_with("line 9999\nTHE END\n"), "{:?}", run.stdout.text.get(..100));
    assert!(run.stdout.total_bytes > 90_000 && !run.stdout.text.contains("dropped"));
}

#[test]
fn run_63_a_first_wait_is_as_long_as_was_asked_behind_another_call_of_the_sandbox() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let code = "import asyncio, time\nbegun = time.time()\nawait asyncio.sleep(1)\ntime.time() - begun";
    let (owner, handle) = (Owner::local(), Handle::IdOrName("box"));
    let run = process.wait(async {
        process.dormouse.sandbox("box").await.unwrap();
        let busy = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass";
        let before = process.sandboxes().eval(&owner, &handle, EvalRequest::new(Language::python(), busy));
        let starts = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let request = EvalRequest::new(Language::python(), code);
            process.sandboxes().start_run(&owner, &handle, request, Default::default()).await.unwrap()
        };
        tokio::join!(before, starts).1
    });
    let slept = value(&process.ended(&run)).as_f64().unwrap();
    assert!(slept >= 0.9, "{slept} s");
}

#[test]
fn run_64_calls_that_are_awaited_together_are_all_asked_about_and_answered_in_any_order() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let code = "import asyncio
from dormouse import tools
answers = await asyncio.gather(*[tools.mail.send(to=to) for to in 'abc'])
'done' if answers == ['sent'] * 3 else answers";
    let first = Process::new(folder.path(), &seen);
    let run = first.start("box", PYTHON, code);
    let asked =
        |process: &Process| process.calls(&run).iter().filter(|call| call.state == CallState::Asking).count();
    first.until(&run, |_| asked(&first) == 3);
    drop(first);
    // Those about which nobody was asked would be unknown now.
    let second = Process::new(folder.path(), &seen);
    second.go_on();
    for number in [3, 1, 2] {
        let decided = second.wait(async {
            second.sandboxes().decide(&Owner::local(), run.id.as_str(), number, Decision::Approved)
        });
        decided.unwrap();
    }
    assert_eq!(value(&second.ended(&run)), "done");
    assert_eq!(seen.count("mail.send"), 3);
}
