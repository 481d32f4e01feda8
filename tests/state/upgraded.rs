//! Sandboxes whose guest was replaced by another build of it: the files and the other languages go on, the old memory is kept.

use std::path::Path;

use dormouse::sandbox::{Handle, Include, Notes, Owner};
use dormouse::{Dormouse, ErrorCode, PersistentSandbox, Recovery};
use dormouse_tests::lasting::{self, named, run, shown};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};

use crate::damaged::another_build_among_others;

const REASON: &str = "its memory belongs to another build of the javascript guest, and is kept";

/// An installation whose JavaScript guest is another build.
struct Other(tempfile::TempDir);

impl Other {
    fn new() -> Self {
        Self(another_build_among_others(JAVASCRIPT))
    }

    fn open(&self, folder: &Path) -> Dormouse {
        let builder = Dormouse::builder().unwrap();
        builder.cache(self.0.path()).state(folder).build().unwrap()
    }
}

fn notes(dormouse: &Dormouse, kept: &PersistentSandbox) -> Notes {
    let found = lasting::sandboxes(dormouse);
    let view = found.get(&Owner::local(), &Handle::IdOrName(kept.id().as_str())).unwrap();
    found.notes(&view.sandbox)
}

/// What an answer says of what was lost before.
fn told(kept: &PersistentSandbox, code: &str) -> (Option<Recovery>, Option<String>) {
    let outcome = run(kept, JAVASCRIPT, code);
    assert!(outcome.is_ok(), "{}", dormouse_tests::ending::told(&outcome));
    (outcome.recovery, outcome.recovery_reason)
}

/// A sandbox with a file and a variable in each of two languages.
fn used(folder: &Path) {
    let dormouse = lasting::open(folder);
    let kept = named(&dormouse, "box");
    assert!(run(&kept, JAVASCRIPT, "var x = 1").is_ok());
    assert!(run(&kept, PYTHON, "x = 2").is_ok());
    sandbox::wait(kept.write("/workspace/f", "kept")).unwrap();
    lasting::close(dormouse);
}

#[test]
fn lif_03_with_another_build_of_a_guest_files_and_other_languages_go_on() {
    let (folder, other) = (tempfile::tempdir().unwrap(), Other::new());
    used(folder.path());
    let dormouse = other.open(folder.path());
    let kept = named(&dormouse, "box");
    // Said before anybody has woken it.
    let before = notes(&dormouse, &kept);
    assert_eq!((before.lost.len(), before.lost[0].reason.as_str()), (1, REASON));
    assert_eq!((before.older.len(), before.older[0].guest.as_str()), (1, JAVASCRIPT));
    assert!(before.older[0].build.len() == 64 && before.older[0].bytes > 0);

    assert_eq!(sandbox::wait(kept.read("/workspace/f")).unwrap(), b"kept");
    sandbox::wait(kept.write("/workspace/g", "new")).unwrap();
    assert_eq!(shown(&kept, PYTHON, "x += 1; x"), 3);
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    let fork = sandbox::wait(kept.fork(1)).unwrap().remove(0);
    assert_eq!(notes(&dormouse, &kept), before, "nothing of that has told it");
    sandbox::wait(kept.restore(&saved)).unwrap();
    assert_eq!(notes(&dormouse, &kept), before);

    for kept in [&kept, &fork] {
        let said = told(kept, "typeof x");
        assert_eq!(said, (Some(Recovery::Fresh), Some(REASON.to_owned())));
        assert_eq!(told(kept, "var y = 5"), (None, None), "it is said once");
        let after = notes(&dormouse, kept);
        assert_eq!((after.lost, after.older), (Vec::new(), before.older.clone()));
        assert_eq!(shown(kept, PYTHON, "x"), 3);
    }
    lasting::close(dormouse);

    // The build that was replaced is there again: what it has left is there too, and what came since is told.
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(told(&kept, "x += 1"), (Some(Recovery::Earlier), Some(REASON.to_owned())));
    assert_eq!(shown(&kept, JAVASCRIPT, "x"), 2);
    lasting::close(dormouse);
    let dormouse = other.open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(told(&kept, "y"), (Some(Recovery::Earlier), Some(REASON.to_owned())));
    lasting::close(dormouse);
}

/// What people read says it too: the command line, before it is used up.
#[test]
fn lif_03_the_command_line_says_that_variables_are_lost_and_that_a_guest_is_compiled() {
    let (folder, other) = (tempfile::tempdir().unwrap(), Other::new());
    used(folder.path());
    let (cache, state) = (other.0.path().to_str().unwrap(), folder.path().to_str().unwrap());
    let eval = |code| {
        let line = ["--cache-dir", cache, "sandbox", "--state-dir", state, "eval", "box", "-l", "js", code];
        let ran = dormouse_tests::binary::dormouse(&line, b"");
        assert_eq!(ran.status, Some(0), "{}", ran.complaint());
        (ran.text(), ran.complaint())
    };
    let (value, said) = eval("typeof x");
    assert_eq!(value, "undefined\n", "{said}");
    let lost = format!("note: the interpreter is fresh, without the variables of before ({REASON})\n");
    assert!(said.ends_with(&lost), "{said}");
    assert!(said.starts_with("note: the javascript guest is compiled for this machine, once;"), "{said}");
    assert!(said.contains("\nnote: the javascript guest is compiled; it took "), "{said}");
    assert_eq!(eval("typeof x"), ("undefined\n".into(), String::new()), "it is said once");
}

#[test]
fn lif_03_a_language_that_was_not_used_meanwhile_goes_on_as_if_nothing_had_been() {
    let (folder, other) = (tempfile::tempdir().unwrap(), Other::new());
    used(folder.path());
    let dormouse = other.open(folder.path());
    let kept = named(&dormouse, "box");
    for _ in 0..2 {
        assert!(run(&kept, PYTHON, "x = 3").is_ok());
        sandbox::wait(lasting::sandboxes(&dormouse).close()).unwrap();
    }
    lasting::close(dormouse);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(notes(&dormouse, &kept).is_empty());
    assert_eq!(told(&kept, "x"), (None, None));
    assert_eq!((shown(&kept, JAVASCRIPT, "x"), shown(&kept, PYTHON, "x")), (1.into(), 3.into()));
    lasting::close(dormouse);
}

#[test]
fn lif_03_a_reset_drops_the_memory_of_other_builds() {
    let (folder, other) = (tempfile::tempdir().unwrap(), Other::new());
    used(folder.path());
    let dormouse = other.open(folder.path());
    let kept = named(&dormouse, "box");
    sandbox::wait(lasting::sandboxes(&dormouse).reset(&Owner::local(), &Handle::IdOrName("box"))).unwrap();
    assert!(notes(&dormouse, &kept).is_empty());
    assert_eq!(told(&kept, "typeof x"), (None, None));
    assert_eq!(sandbox::wait(kept.read("/workspace/f")).unwrap(), b"kept");
    lasting::close(dormouse);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(notes(&dormouse, &kept).older.len(), 1, "what ran since is another build's");
    assert_eq!(told(&kept, "typeof x"), (Some(Recovery::Fresh), Some(REASON.to_owned())));
    lasting::close(dormouse);
}

#[test]
fn lif_03_a_checkpoint_of_other_guests_gives_its_files_and_what_fits_and_says_what_does_not() {
    let (folder, other) = (tempfile::tempdir().unwrap(), Other::new());
    used(folder.path());
    let dormouse = lasting::open(folder.path());
    let (found, owner, handle) = (lasting::sandboxes(&dormouse), Owner::local(), Handle::IdOrName("box"));
    let save = |include| sandbox::wait(found.checkpoint(&owner, &handle, None, include)).unwrap().0.label.id;
    let (both, files) = (save(Include::Both), save(Include::Files));
    lasting::close(dormouse);

    let dormouse = other.open(folder.path());
    let (found, kept) = (lasting::sandboxes(&dormouse), named(&dormouse, "box"));
    let restore = |id: &str| sandbox::wait(found.restore(&owner, &handle, id));
    for id in [&both, &files] {
        assert!(run(&kept, PYTHON, "x = 9").is_ok());
        sandbox::wait(kept.write("/workspace/f", "changed")).unwrap();
        restore(id.as_str()).unwrap();
        assert_eq!(sandbox::wait(kept.read("/workspace/f")).unwrap(), b"kept");
        assert_eq!(shown(&kept, PYTHON, "x"), if id == &both { 2 } else { 9 });
        assert_eq!(notes(&dormouse, &kept).lost[0].reason, REASON);
    }
    // Memory alone, of which nothing fits: there is nothing to restore.
    sandbox::wait(found.reset(&owner, &handle)).unwrap();
    assert!(run(&kept, JAVASCRIPT, "var x = 7").is_ok());
    let memory = sandbox::wait(found.checkpoint(&owner, &handle, None, Include::Memory)).unwrap().0.label.id;
    lasting::close(dormouse);
    let dormouse = lasting::open(folder.path());
    let (found, kept) = (lasting::sandboxes(&dormouse), named(&dormouse, "box"));
    assert!(run(&kept, PYTHON, "z = 4").is_ok());
    let error = sandbox::wait(found.restore(&owner, &handle, memory.as_str())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::GuestMismatch);
    assert!(error.hint().is_some_and(|hint| hint.contains("include: both")), "{error:?}");
    assert_eq!(shown(&kept, PYTHON, "z"), 4, "nothing was changed");
    lasting::close(dormouse);
}
