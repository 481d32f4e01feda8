//! A guest of contract 0.3.0, whose programs cannot wait: this host runs it, and wakes what was saved with it.

use std::path::Path;

use dormouse::sandbox::{Handle, Owner, RunLimits};
use dormouse::{Dormouse, ErrorCode, EvalRequest, Language};
use dormouse_tests::lasting::{self, named, shown};
use dormouse_tests::releases::Later;
use dormouse_tests::{JAVASCRIPT, sandbox};

fn open(cache: &Later, folder: &Path) -> Dormouse {
    Dormouse::builder_in(cache.path()).state(folder).build().unwrap()
}

/// Starts a program that waits as a run of its own; how that ended.
fn in_the_background(dormouse: &Dormouse, name: &str) -> dormouse::sandbox::Run {
    let sandboxes = lasting::sandboxes(dormouse);
    let code = "await new Promise((done) => setTimeout(done, 5)); 'waited'";
    let request = EvalRequest::new(Language::parse(JAVASCRIPT).unwrap(), code);
    let (owner, handle) = (Owner::local(), Handle::IdOrName(name));
    sandbox::wait(async {
        let run = sandboxes.start_run(&owner, &handle, request, RunLimits::default()).await.unwrap();
        sandboxes.wait_for_run(&owner, run.id.as_str(), std::time::Duration::from_secs(30)).await.unwrap()
    })
}

#[test]
fn lif_03_a_sandbox_of_contract_0_3_0_is_woken_and_its_programs_run_without_waiting() {
    let (cache, folder) = (Later::of_contract_0_3_0(JAVASCRIPT), tempfile::tempdir().unwrap());
    let dormouse = open(&cache, folder.path());
    let kept = named(&dormouse, "box");
    let counts = "const next = (() => { let i = 40; return () => ++i })(); next()";
    assert_eq!(shown(&kept, JAVASCRIPT, counts), 41);
    // A timer is waited for in the guest, as it was in that release.
    let waits = "await new Promise((done) => setTimeout(() => done(next()), 5))";
    assert_eq!(shown(&kept, JAVASCRIPT, waits), 42);
    lasting::close(dormouse);

    cache.renew(JAVASCRIPT);
    let dormouse = open(&cache, folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(shown(&kept, JAVASCRIPT, "next()"), 43);
    assert_eq!(shown(&kept, JAVASCRIPT, waits), 44);
    let run = in_the_background(&dormouse, "box");
    let end = run.end.expect("it has ended");
    match end.error {
        Some(error) => assert_eq!(error.code, ErrorCode::CapabilityUnavailable, "{error:?}"),
        None => assert_eq!(end.value.unwrap()["value"], "waited"),
    }
    // A new sandbox has the new guest, whose programs can.
    named(&dormouse, "new");
    let run = in_the_background(&dormouse, "new");
    assert_eq!(run.end.unwrap().value.unwrap()["value"], "waited");
    assert!(run.usage.waits > 0, "it waited");
    lasting::close(dormouse);
}
