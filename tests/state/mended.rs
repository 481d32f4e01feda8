//! Damage that spoils nobody else's work, and is mended by who has the bytes.

use dormouse::ErrorCode;
use dormouse::sandbox::{Handle, Owner};
use dormouse_tests::lasting::{self, named, run, shown};
use dormouse_tests::{PYTHON, sandbox};

use crate::altered::{flip, noise};

#[test]
fn r_14_a_file_that_two_sandboxes_share_is_whole_again_when_one_of_them_writes_it_anew() {
    let folder = tempfile::tempdir().unwrap();
    let secret = noise(11, 200_000);
    let dormouse = lasting::open(folder.path());
    let one = named(&dormouse, "one");
    sandbox::wait(one.write("/workspace/noise", secret.clone())).unwrap();
    sandbox::wait(one.write("/workspace/other", "whole")).unwrap();
    drop(one);
    lasting::close(dormouse);
    flip(folder.path(), &secret);

    let dormouse = lasting::open(folder.path());
    let (one, two) = (named(&dormouse, "one"), named(&dormouse, "two"));
    assert!(sandbox::wait(one.read("/workspace/noise")).is_err());
    // What is damaged keeps nobody from saving: neither the sandbox that has it ...
    assert!(run(&one, PYTHON, "x = 1").is_ok());
    sandbox::wait(one.checkpoint()).unwrap();
    assert!(sandbox::wait(one.read("/workspace/noise")).is_err());
    // ... nor the one that comes by the same bytes, which are whole for both from then on.
    sandbox::wait(two.write("/workspace/copy", secret.clone())).unwrap();
    sandbox::wait(two.checkpoint()).unwrap();
    drop((one, two));
    lasting::close(dormouse);
    let dormouse = lasting::open(folder.path());
    let (one, two) = (named(&dormouse, "one"), named(&dormouse, "two"));
    assert!(sandbox::wait(one.read("/workspace/noise")).unwrap() == secret);
    assert!(sandbox::wait(two.read("/workspace/copy")).unwrap() == secret);
    assert_eq!(shown(&one, PYTHON, "x"), 1);
    assert_eq!(sandbox::wait(one.read("/workspace/other")).unwrap(), b"whole");
    lasting::close(dormouse);
}

#[test]
fn s3_19_variables_that_are_damaged_are_left_behind_by_a_reset_which_the_hint_names() {
    let folder = tempfile::tempdir().unwrap();
    let secret = noise(13, 200_000);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    sandbox::wait(kept.write("/workspace/noise", secret.clone())).unwrap();
    let into = "x = bytearray(200_000)\nwith open('noise', 'rb', 0) as f: f.readinto(x)\nimport os; os.remove('noise')";
    assert!(run(&kept, PYTHON, into).is_ok());
    sandbox::wait(kept.write("/workspace/f", "kept")).unwrap();
    drop(kept);
    lasting::close(dormouse);
    flip(folder.path(), &secret);

    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    let error = sandbox::wait(kept.eval(PYTHON, "x")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StateDamaged);
    assert!(error.hint().is_some_and(|hint| hint.contains("sandbox_reset")), "{error:?}");
    let (owner, handle) = (Owner::local(), Handle::IdOrName("box"));
    let reset = lasting::sandboxes(&dormouse).reset(&owner, &handle);
    sandbox::wait(reset).unwrap();
    assert_eq!(shown(&kept, PYTHON, "open('f').read()"), "kept");
    lasting::close(dormouse);
}

#[test]
fn r_25_a_step_whose_files_were_swept_is_refused_and_one_whose_files_are_there_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let secret = noise(17, 200_000);
    let dormouse = lasting::open(folder.path());
    sandbox::wait(named(&dormouse, "box").write("/workspace/noise", secret.clone())).unwrap();
    lasting::close(dormouse);
    for is_swept in [false, true] {
        let dormouse = lasting::open(folder.path());
        let (kept, found) = (named(&dormouse, "box"), lasting::sandboxes(&dormouse));
        let (owner, handle) = (Owner::local(), Handle::IdOrName("box"));
        // The file is not read since the sandbox woke, and is gone from what is saved.
        assert!(run(&kept, PYTHON, "import os; os.remove('/workspace/noise')").is_ok());
        sandbox::wait(kept.fork(1)).unwrap();
        if is_swept {
            assert!(lasting::sweep(&dormouse).0 > 0);
        }
        let step = sandbox::wait(found.history(&owner, &handle)).unwrap().remove(0);
        let back = sandbox::wait(found.go_back(&owner, &handle, &step.id));
        if is_swept {
            assert_eq!(back.unwrap_err().code(), ErrorCode::UnknownCheckpoint);
            assert_eq!(shown(&kept, PYTHON, "1 + 1"), 2);
        } else {
            back.unwrap();
            lasting::sweep(&dormouse);
            assert!(sandbox::wait(kept.read("/workspace/noise")).unwrap() == secret);
        }
        lasting::close(dormouse);
    }
}
