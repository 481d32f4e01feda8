//! What is kept of jobs, and what is not.

use super::fakes::{World, code, rules};
use crate::sandbox::{Handle, Owner, Quota};
use crate::sandboxes::{CommandLine, Rules};
use crate::{ErrorCode, Policy, Stream};

const HANDLE: Handle<'_> = Handle::IdOrName("a");

#[tokio::test]
async fn own_01_of_an_ended_job_its_end_is_kept_and_the_tails_of_its_streams() {
    let world = World::new(rules());
    world.create("a").await;
    let line = CommandLine::new(format!("echo {}", "x".repeat(200_000)));
    let (_, job) = world.sandboxes.start_job(&world.owner, &HANDLE, line).await.unwrap();
    job.wait().await;
    let (done, _) = job.ended().unwrap();
    let outcome = &done.as_ref().as_ref().unwrap().outcome;
    assert_eq!((outcome.exit_code(), outcome.stdout.text.as_str()), (0, ""));
    assert_eq!(outcome.stdout.total_bytes, 200_001);
    let tail = job.output(Stream::Stdout, 0);
    assert_eq!((tail.text.len(), tail.total_bytes), (64 << 10, 200_001));
    assert_eq!(job.command().chars().count(), 200);

    world.sandboxes.destroy(&world.owner, &HANDLE).await.unwrap();
    assert!(world.sandboxes.inner.jobs.is_empty(), "those of the destroyed one are forgotten");
    world.create("a").await;
    assert_eq!(world.sandboxes.jobs(&world.owner, &HANDLE).unwrap().1.len(), 0);
}

#[tokio::test]
async fn a_panic_in_a_job_is_its_end_and_the_sandbox_goes_on() {
    let policy = Policy { max_jobs: 2, ..Policy::default() };
    let world = World::with(policy, rules());
    world.create("a").await;
    for _ in 0..6 {
        let line = CommandLine::new("panic");
        let (_, job) = world.sandboxes.start_job(&world.owner, &HANDLE, line).await.unwrap();
        job.wait().await;
        let (done, _) = job.ended().unwrap();
        assert_eq!(done.as_ref().as_ref().unwrap_err().code(), ErrorCode::Internal);
    }
    let line = CommandLine::new("echo 1");
    let (_, job) = world.sandboxes.start_job(&world.owner, &HANDLE, line).await.unwrap();
    job.wait().await;
    assert!(job.ended().unwrap().0.is_ok());
    world.sandboxes.close().await.unwrap();
}

#[tokio::test]
async fn mcp_05_a_start_that_is_given_up_leaves_no_job_behind() {
    let world = World::new(rules());
    world.create("a").await;
    for _ in 0..10 {
        let line = CommandLine::new("never starts");
        let mut start = Box::pin(world.sandboxes.start_job(&world.owner, &HANDLE, line));
        assert!(futures::poll!(&mut start).is_pending());
        drop(start);
    }
    assert_eq!(world.sandboxes.jobs(&world.owner, &HANDLE).unwrap().1.len(), 0);
    let line = CommandLine::new("echo 1");
    let (_, job) = world.sandboxes.start_job(&world.owner, &HANDLE, line).await.unwrap();
    job.wait().await;
}

#[tokio::test]
async fn own_01_jobs_are_counted_by_owner_and_leave_the_places_of_runs_alone() {
    let policy = Policy { max_jobs: 4, max_running: 2, owners_share: true, ..Policy::default() };
    let quota = Quota { per_owner: 10, in_all: 20, checkpoints: 1, ..Quota::default() };
    let world = World::with(policy, Rules { quota, ..rules() });
    let (greedy, other) = (Owner::parse("greedy").unwrap(), Owner::parse("other").unwrap());
    world.create_for(&greedy, "a").await;
    world.create_for(&other, "a").await;
    let start = |owner| world.sandboxes.start_job(owner, &HANDLE, CommandLine::new("wait"));
    let (_, first) = start(&greedy).await.unwrap();
    start(&greedy).await.unwrap();
    let refused = start(&greedy).await;
    assert_eq!(code(refused), Some(ErrorCode::Busy));
    let (_, theirs) = start(&other).await.unwrap();
    world.eval_in(&other, "a", crate::Language::python(), "1").await.unwrap();
    world.eval_in(&greedy, "a", crate::Language::python(), "1").await.unwrap();
    first.cancel();
    theirs.cancel();
    first.wait().await;
    theirs.wait().await;
    // Its place comes back with its task, a moment later.
    for _ in 0..1_000 {
        if let Ok((_, job)) = start(&greedy).await {
            return job.cancel();
        }
        tokio::task::yield_now().await;
    }
    panic!("the place of the cancelled job is not given back");
}

/// A line with `&` is taken apart, and is one step of the history.
#[tokio::test]
async fn what_an_ampersand_starts_goes_on_unless_it_ends_soon_or_its_line_is_stopped() {
    let world = World::new(rules());
    world.create("a").await;
    let run = async |line: &str| {
        let line = CommandLine::new(line);
        let (_, executed, _, job) =
            world.sandboxes.exec_going_on(&world.owner, &HANDLE, line, 1_000).await.unwrap();
        (executed.outcome, job)
    };
    let (outcome, job) = run("echo a; echo b & echo c").await;
    assert_eq!((outcome.exit_code(), outcome.stdout.text.as_str()), (0, "a\nc\nb\n"));
    assert!(job.is_none());
    let (outcome, job) = run("wait & echo on").await;
    // The double of a shell writes what stands for no command (`:`).
    assert_eq!(outcome.stdout.text, ":on\n");
    let job = job.expect("it goes on");
    assert_eq!(job.command(), "wait");
    assert!(job.ended().is_none());
    job.cancel();
    job.wait().await;
    let (outcome, job) = run("wait & stop").await;
    assert_eq!(outcome.stopped().map(crate::Error::code), Some(ErrorCode::LimitTime));
    assert!(job.is_none());
    let jobs = world.sandboxes.jobs(&world.owner, &HANDLE).unwrap().1;
    for job in &jobs {
        job.wait().await;
    }
    // Long output is in a file, whichever part has written it.
    let line = CommandLine::new(format!("echo {} & true", "x".repeat(2_000)));
    let (_, executed, outputs, _) =
        world.sandboxes.exec_going_on(&world.owner, &HANDLE, line, 1_000).await.unwrap();
    // With the `:` and the `true` that the double writes.
    assert_eq!(executed.outcome.stdout.total_bytes, 2_006);
    assert!(matches!(outputs.stdout, crate::sandboxes::Whole::File(_)));
    world.sandboxes.close().await.unwrap();
}
