//! Callers that give up at any moment: the sandbox then is as before the call or as after it, never between.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use dormouse::sandbox::{Handle, Include, Owner, StopReason};
use dormouse::{Bounds, EvalRequest, Language};
use dormouse_tests::lasting::{self, Dice, named, remember, remembered, run};
use dormouse_tests::{PYTHON, sandbox};

/// Drives a future until it is done or has been looked at so often, then drops it. True: it was done.
async fn give_up<F: Future>(future: F, looks: u64) -> bool {
    let mut future = pin!(future);
    let mut left = looks;
    std::future::poll_fn(|context| {
        if future.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        left = left.saturating_sub(1);
        if left == 0 { Poll::Ready(false) } else { Poll::Pending }
    })
    .await
}

#[test]
fn mcp_05_a_call_that_is_given_up_leaves_the_sandbox_as_before_or_after() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let (found, owner) = (lasting::sandboxes(&dormouse), Owner::local());
    let handle = Handle::IdOrName("box");
    let kept = named(&dormouse, "box");
    assert!(run(&kept, PYTHON, &remember(0)).is_ok());
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    let mut dice = Dice(20_261_124);
    let mut given_up = 0;
    for round in 1..=160u64 {
        // Changed in memory and not saved, or put away: both are moments to begin at.
        assert!(run(&kept, PYTHON, &remember(round)).is_ok());
        if round.is_multiple_of(7) {
            sandbox::wait(kept.stop()).unwrap();
        }
        let (count, checkpoints) =
            (lasting::count(&dormouse), sandbox::wait(found.checkpoints(&owner, &handle)).unwrap().len());
        let looks = 1 + dice.roll(3);
        let slow = "import time\nfor _ in range(200): sum(range(2000))";
        let spin = format!("{slow}\n{}\n{slow}", remember(round + 1_000));
        let done = sandbox::wait(async {
            match round % 8 {
                0 => give_up(found.checkpoint(&owner, &handle, None, Include::Both), looks).await,
                1 => give_up(found.restore(&owner, &handle, saved.label.id.as_str()), looks).await,
                2 => give_up(found.fork(&owner, &handle, 3, None), looks).await,
                3 => give_up(found.stop(&owner, &handle, StopReason::User), looks).await,
                4 => give_up(kept.eval(PYTHON, spin), looks).await,
                5 => {
                    let query = Some("[sum(range(5000)) for _ in range(200)] and value".to_owned());
                    let python = Language::python();
                    let got =
                        found.get_variable(&owner, &handle, python, "x".into(), query, Bounds::default());
                    give_up(got, looks).await
                }
                6 => {
                    let text = format!("{:?}", "y".repeat(1 << 20));
                    give_up(found.set_variable(&owner, &handle, Language::python(), "y".into(), text), looks)
                        .await
                }
                _ => give_up(found.variables(&owner, &handle, Language::python()), looks).await,
            }
        });
        given_up += u32::from(!done);
        let (memory, file) = remembered(&kept);
        match round % 8 {
            1 => {
                assert_eq!(memory, file, "round {round}: half restored");
                assert!([Some(0), Some(round)].contains(&memory), "round {round}: {memory:?}");
            }
            4 => {
                // A run that is given up takes back its variables; its files are the sandbox's at once.
                for found in [memory, file] {
                    assert!([Some(round), Some(round + 1_000)].contains(&found), "round {round}: {found:?}");
                }
                assert!(memory != Some(round + 1_000) || file == memory);
            }
            _ => assert_eq!((memory, file), (Some(round), Some(round)), "round {round}"),
        }
        let forks = lasting::count(&dormouse) - count;
        assert!(forks == 0 || (round % 8 == 2 && forks == 3), "round {round}: {forks} forks");
        let more = sandbox::wait(found.checkpoints(&owner, &handle)).unwrap().len() - checkpoints;
        assert!(more == 0 || (round % 8 == 0 && more == 1), "round {round}: {more} checkpoints");
        if forks > 0 {
            destroy_forks(&dormouse);
        }
    }
    assert!(given_up > 60, "only {given_up} calls were given up");
    // What was saved at some moment of all this is whole.
    for checkpoint in sandbox::wait(found.checkpoints(&owner, &handle)).unwrap() {
        sandbox::wait(found.restore(&owner, &handle, checkpoint.label.id.as_str())).unwrap();
        let (memory, file) = remembered(&kept);
        assert_eq!(memory, file);
    }
    lasting::sweep(&dormouse);
    assert_eq!(lasting::sweep(&dormouse), (0, 0));
    lasting::close(dormouse);
}

fn destroy_forks(dormouse: &dormouse::Dormouse) {
    let (found, owner) = (lasting::sandboxes(dormouse), Owner::local());
    for view in sandbox::wait(found.list(&owner, None, None, 100)).unwrap() {
        if view.sandbox.name.as_str() != "box" {
            let handle = Handle::IdOrName(view.sandbox.id.as_str());
            sandbox::wait(found.destroy(&owner, &handle)).unwrap();
        }
    }
}

/// A caller that has gone frees its place, and the next call is not kept waiting.
#[test]
fn mcp_05_a_run_that_is_given_up_ends_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(run(&kept, PYTHON, &remember(1)).is_ok());
    for code in ["while True: pass", "import time; time.sleep(50)"] {
        let mut request = EvalRequest::new(Language::python(), code);
        request.context.limits.wall = Duration::from_secs(50);
        let gone = sandbox::wait(tokio_timeout(Duration::from_millis(100), kept.run(request)));
        assert!(gone, "it did not end by itself");
        let begin = Instant::now();
        assert_eq!(remembered(&kept), (Some(1), Some(1)));
        assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    }
    lasting::close(dormouse);
}

async fn tokio_timeout<F: Future>(time: Duration, future: F) -> bool {
    tokio::time::timeout(time, future).await.is_err()
}
