//! Background runs whose process ends in order, lacks their servers, answers too late, or wants them to end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dormouse::connections::Decision;
use dormouse::sandbox::{Owner, RunLimits, RunState};
use dormouse::{ErrorCode, EvalRequest, Language};
use dormouse_tests::PYTHON;

use crate::background::{Process, Seen, value};

#[test]
fn run_50_the_orderly_end_of_a_process_takes_nothing_from_a_run() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let first = Process::new(folder.path(), &seen);
    let again = first.start("again", PYTHON, "from dormouse import tools\nawait tools.slow.again()");
    let once = first.start("once", PYTHON, "from dormouse import tools\nawait tools.slow.wait()");
    first.until(&once, |_| seen.count("slow.wait") == 1 && seen.count("slow.again") == 1);
    first.wait(first.sandboxes().close()).unwrap();
    // What its servers answer while they end is not taken.
    seen.answers.store(1, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(300));
    assert!(first.run(&again).state.is_open() && first.run(&once).state.is_open());
    drop(first);
    let second = Process::new(folder.path(), &seen);
    second.go_on();
    assert_eq!(value(&second.ended(&again)), "late", "repeated");
    let raised = second.ended(&once).end.unwrap().exception.unwrap();
    assert!(raised.message.contains("outcome_unknown"), "{raised:?}");
}

#[test]
fn run_51_a_process_without_the_servers_of_a_run_leaves_it_as_it_is() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let code = "from dormouse import tools\nawait tools.mail.send(to='a')";
    let first = Process::new(folder.path(), &seen);
    let run = first.start("box", PYTHON, code);
    first.until(&run, |run| run.state == RunState::Asking);
    let number = first.calls(&run)[0].number;
    drop(first);

    let without = Process::with(folder.path(), &seen, &["numbers"]);
    without.go_on();
    let refused = {
        let _within = without.runtime.as_ref().unwrap().enter();
        without.sandboxes().take_over_run(&run).unwrap_err()
    };
    assert_eq!(refused.code(), ErrorCode::CapabilityUnavailable);
    assert!(refused.message().contains("`mail`"), "{refused:?}");
    let approved = Decision::Approved;
    without
        .wait(async { without.sandboxes().decide(&Owner::local(), run.id.as_str(), number, approved) })
        .unwrap();
    assert!(without.run(&run).state.is_open(), "the answer is kept, and the run waits");
    drop(without);
    let third = Process::new(folder.path(), &seen);
    third.go_on();
    assert_eq!(value(&third.ended(&run)), "sent");
    assert_eq!(seen.count("mail.send"), 1);

    // Nobody needs its servers to end one.
    let run = third.start("other", PYTHON, code);
    third.until(&run, |run| run.state == RunState::Asking);
    drop(third);
    let without = Process::with(folder.path(), &seen, &[]);
    assert_eq!(without.cancel(&run).unwrap().state, RunState::Cancelled);
}

#[test]
fn run_52_an_approval_that_comes_too_late_is_refused() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let first = Process::new(folder.path(), &seen);
    let limits = RunLimits { approval: Duration::from_secs(2), ..RunLimits::default() };
    let run = first.start_with("box", PYTHON, "from dormouse import tools\nawait tools.mail.send()", limits);
    first.until(&run, |run| run.state == RunState::Asking);
    let number = first.calls(&run)[0].number;
    drop(first);
    std::thread::sleep(Duration::from_millis(2_200));
    let second = Process::new(folder.path(), &seen);
    let late = second.wait(async {
        second.sandboxes().decide(&Owner::local(), run.id.as_str(), number, Decision::Approved)
    });
    let late = late.unwrap_err();
    assert!(late.code() == ErrorCode::InvalidState && late.message().contains("limit_approval"), "{late:?}");
    second.go_on();
    assert!(second.ended(&run).end.unwrap().exception.unwrap().message.contains("limit_approval"));
    assert_eq!(seen.count("mail.send"), 0);
}

#[test]
fn run_53_a_program_that_computes_can_be_cancelled() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = Process::new(folder.path(), &seen);
    let kept = process.wait(process.dormouse.sandbox("box")).unwrap();
    assert!(process.wait(kept.eval(PYTHON, "x = 1")).unwrap().is_ok());
    let mut request = EvalRequest::new(Language::python(), "x = 2\nwhile True: pass");
    request.context.limits.wall = Duration::from_secs(60);
    let run = process.wait(kept.start_run(request, RunLimits::default())).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    assert_eq!(process.cancel(&run).unwrap().state, RunState::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // The interpreter is as after every run that is cut off.
    assert!(process.wait(kept.eval(PYTHON, "1")).unwrap().is_ok());
}
