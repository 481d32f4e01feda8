//! The next release: memory goes on with the guest that it was saved with, the doctor says what does not, and what can be carried goes
//! to the new guests.

use std::path::Path;

use dormouse::sandbox::{Handle, Owner};
use dormouse::wasm::Settings;
use dormouse::{Dormouse, ErrorCode, Limits, PersistentSandbox, Recovery};
use dormouse_tests::binary::{Ran, dormouse};
use dormouse_tests::lasting::{self, named, run, shown};
use dormouse_tests::releases::Later;
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};
use serde_json::Value as Json;

fn open(later: &Later, folder: &Path) -> Dormouse {
    Dormouse::builder_in(later.path()).state(folder).build().unwrap()
}

fn is_told_nothing(kept: &PersistentSandbox, language: &str, code: &str) {
    let outcome = run(kept, language, code);
    assert!(outcome.is_ok(), "{}", dormouse_tests::ending::told(&outcome));
    assert_eq!((outcome.recovery, outcome.recovery_reason), (None, None));
}

/// The command line of the later release over a state folder.
fn state(later: &Later, folder: &Path, words: &[&str]) -> Ran {
    let (cache, folder) = (later.path().to_str().unwrap(), folder.to_str().unwrap());
    dormouse(&[&["--cache-dir", cache, "state", "--state-dir", folder][..], words].concat(), b"")
}

fn json(ran: &Ran) -> Json {
    serde_json::from_str(&ran.text())
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.text(), ran.complaint()))
}

/// A closure, which no form of export carries, and a file.
fn used(folder: &Path) {
    let dormouse = lasting::open(folder);
    let kept = named(&dormouse, "box");
    assert!(
        run(&kept, JAVASCRIPT, "let n = 1; const next = (() => { let i = 40; return () => ++i })(); next()")
            .is_ok()
    );
    sandbox::wait(kept.write("/workspace/f", "kept")).unwrap();
    sandbox::wait(kept.checkpoint()).unwrap();
    lasting::close(dormouse);
}

#[test]
fn lif_03_the_next_release_wakes_memory_with_the_guest_that_it_was_saved_with() {
    let (folder, later) = (tempfile::tempdir().unwrap(), Later::of(&[JAVASCRIPT]));
    used(folder.path());
    for call in 42..44 {
        let dormouse = open(&later, folder.path());
        let (kept, found) = (named(&dormouse, "box"), lasting::sandboxes(&dormouse));
        assert!(found.notes(&found.find(&Owner::local(), &Handle::IdOrName("box")).unwrap()).is_empty());
        is_told_nothing(&kept, JAVASCRIPT, "n");
        assert_eq!(shown(&kept, JAVASCRIPT, "next()"), call);
        // Forks, checkpoints and undo steps are of the same guest.
        let fork = sandbox::wait(kept.fork(1)).unwrap().remove(0);
        assert_eq!(shown(&fork, JAVASCRIPT, "next()"), call + 1);
        sandbox::wait(fork.destroy()).unwrap();
        lasting::close(dormouse);
    }
    // A new one, and one that is reset, get the new guest.
    let dormouse = open(&later, folder.path());
    assert_eq!(shown(&named(&dormouse, "new"), JAVASCRIPT, "typeof next"), "undefined");
    let old = named(&dormouse, "box");
    sandbox::wait(lasting::sandboxes(&dormouse).reset(&Owner::local(), &Handle::IdOrName("box"))).unwrap();
    is_told_nothing(&old, JAVASCRIPT, "var m = 2");
    lasting::close(dormouse);
    let told = json(&state(&later, folder.path(), &["doctor", "--json"]));
    let guests: Vec<(&str, &str)> = told["sandboxes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["memory"][0]["guest"].as_str().unwrap()))
        .collect();
    assert_eq!(guests, [("box", "current"), ("new", "current"), ("", "kept")]);
    // What was saved by the new guest is not lost where the old release runs again: it says so.
    let dormouse = lasting::open(folder.path());
    assert!(run(&named(&dormouse, "box"), JAVASCRIPT, "typeof m").recovery.is_some());
    lasting::close(dormouse);
}

#[test]
fn lif_03_memory_wakes_with_a_guest_that_another_release_has_installed_beside_this_one() {
    let (folder, later) = (tempfile::tempdir().unwrap(), Later::of(&[JAVASCRIPT]));
    used(folder.path());
    let beside = later.beside(JAVASCRIPT);
    let dormouse =
        Dormouse::builder_in(later.path()).kept(beside.path()).state(folder.path()).build().unwrap();
    let kept = named(&dormouse, "box");
    assert_eq!(shown(&kept, JAVASCRIPT, "next()"), 42);
    assert_eq!(shown(&named(&dormouse, "new"), JAVASCRIPT, "1 + 1"), 2);
    lasting::close(dormouse);
    // Without it the files are there, and what is lost is said.
    let dormouse = open(&later, folder.path());
    let outcome = run(&named(&dormouse, "box"), JAVASCRIPT, "typeof next");
    assert_eq!(outcome.recovery, Some(Recovery::Fresh));
    lasting::close(dormouse);
}

#[test]
fn lif_03_the_doctor_of_a_state_folder_says_what_cannot_be_woken_and_why() {
    let (folder, later) = (tempfile::tempdir().unwrap(), Later::of(&[JAVASCRIPT]));
    used(folder.path());
    let doctor = |words: &[&str]| state(&later, folder.path(), &[&["doctor"][..], words].concat());
    let all = doctor(&[]);
    assert_eq!(all.status, Some(0), "{}{}", all.text(), all.complaint());
    assert!(all.text().starts_with("ok    box"), "{}", all.text());
    assert!(all.text().contains("javascript with its older guest"), "{}", all.text());

    later.lose(JAVASCRIPT, "cwasm");
    let compiles = doctor(&[]);
    assert_eq!(compiles.status, Some(0));
    assert!(compiles.text().contains("which is compiled first, once"), "{}", compiles.text());

    later.lose(JAVASCRIPT, "wasm");
    let gone = doctor(&[]);
    assert_eq!(gone.status, Some(1));
    assert!(
        gone.text().contains("there is neither machine code of it for this release nor its component"),
        "{}",
        gone.text()
    );
    assert!(gone.text().contains("hint: unpack dormouse-"), "{}", gone.text());
    let told = json(&doctor(&["--json"]));
    assert_eq!((&told["wakes"], &told["sandboxes"][0]["wakes"]), (&Json::from(false), &Json::from(false)));
    assert_eq!(told["sandboxes"][0]["memory"][0]["error"]["code"], "guest_missing");
    assert!(told["sandboxes"][1]["checkpoint"].is_string(), "{told}");

    later.lose(JAVASCRIPT, "json");
    let unknown = doctor(&[]);
    assert!(unknown.text().contains("and it is not on this machine"), "{}", unknown.text());
    // The files are there all the same.
    let dormouse = open(&later, folder.path());
    assert_eq!(sandbox::wait(named(&dormouse, "box").read("/workspace/f")).unwrap(), b"kept");
    lasting::close(dormouse);
    // Nothing was changed: where the guest is, it wakes.
    let dormouse = lasting::open(folder.path());
    assert_eq!(shown(&named(&dormouse, "box"), JAVASCRIPT, "next()"), 42);
    lasting::close(dormouse);
}

/// Of each language what is saved, and what is asked of it afterwards.
const PYTHON_USED: &str =
    "import json as j\nclass C: pass\ndef f(): return 1\nx = [1]\ny = x\nc = C()\ns = {1, 2}";
const PYTHON_ASKED: &str = "x.append(2); [y, sorted(s), j.dumps([1])]";
const JAVASCRIPT_USED: &str = "let x = [1, , 3]; const m = new Map([[{ a: 1 }, new Set([1n])]]); let d = new Date(5); var r = /a/gi; let k = { x }; k.me = k; \
    const b = new Uint8Array([1, 255]); let u; const z = -0; class K {}; const own = new K(); function f() {}; const e = new TypeError('no')";
const JAVASCRIPT_ASKED: &str = "k.me === k && k.x === x && !(1 in x) && [...m.keys()][0].a === 1 && [...m.values()][0].has(1n) && d.getTime() === 5 && r.flags === 'gi' && \
    b[1] === 255 && u === undefined && 'u' in globalThis && Object.is(z, -0) && e instanceof TypeError && e.message === 'no'";
const PHP_USED: &str = "$x = [1, 'a' => new DateTimeImmutable('2026-01-31')]; $o = (object) ['n' => 2]; class K {} $k = new K; $f = fn() => 1; function g() {} const N = 3; $s = 'süß';";
const PHP_ASKED: &str = "[$x['a']->format('Y-m-d'), $o->n, N, $s]";

#[test]
fn lif_03_variables_that_can_be_carried_go_to_the_guests_of_the_next_release_and_the_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let later = Later::of(&[PYTHON, JAVASCRIPT, PHP, "shell"]);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    for (language, code) in [(PYTHON, PYTHON_USED), (JAVASCRIPT, JAVASCRIPT_USED), (PHP, PHP_USED)] {
        assert!(run(&kept, language, code).is_ok(), "{language}");
    }
    let line = "v='a b'; list=(1 'b c'); hi() { echo \"hi $v\"; }; mkdir -p d; cd d; echo kept > f";
    assert!(sandbox::wait(kept.exec(line)).unwrap().outcome.is_ok());
    lasting::close(dormouse);

    let dry = json(&state(&later, folder.path(), &["migrate", "--dry-run", "--json"]));
    let again = json(&state(&later, folder.path(), &["doctor", "--json"]));
    assert!(again["sandboxes"].as_array().unwrap().len() == 1, "a dry run makes no checkpoint: {again}");
    assert_eq!(again["sandboxes"][0]["memory"][0]["guest"], "kept", "and changes nothing");
    let ran = state(&later, folder.path(), &["migrate", "box", "--json"]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.text(), ran.complaint());
    let done = json(&ran);
    let one = |told: &Json, guest: &str| {
        let all = told["sandboxes"][0]["interpreters"].as_array().unwrap_or_else(|| panic!("{told}")).clone();
        all.into_iter().find(|one| one["guest"] == guest).unwrap_or_else(|| panic!("{guest}: {told}"))
    };
    let names = |told: &Json, guest: &str| {
        let one = one(told, guest);
        assert_eq!(one["why"], Json::Null, "{one}");
        let left: Vec<String> =
            one["left"].as_array().unwrap().iter().map(|pair| pair[0].as_str().unwrap().to_owned()).collect();
        let carried: Vec<String> =
            one["carried"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        (carried.join(" "), left.join(" "))
    };
    for told in [&dry, &done] {
        assert_eq!(names(told, PYTHON), ("j s x y".into(), "C c f".into()));
        assert_eq!(names(told, JAVASCRIPT), ("b d e k m r u x z".into(), "K f own".into()));
        assert_eq!(names(told, PHP), ("N o s x".into(), "K f g() k".into()));
        let (carried, _) = names(told, "shell");
        assert_eq!(carried, "hi() list v");
    }
    assert!(one(&done, PYTHON)["left"][2][1].as_str().unwrap().contains("is defined in a snippet"), "{done}");

    let told = json(&state(&later, folder.path(), &["doctor", "--json"]));
    let memory = told["sandboxes"][0]["memory"].as_array().unwrap();
    assert!(memory.len() == 4 && memory.iter().all(|one| one["guest"] == "current"), "{told}");
    let (before, id) = (&told["sandboxes"][1], done["sandboxes"][0]["checkpoint"].as_str().unwrap());
    assert_eq!(
        (before["name"].as_str(), before["checkpoint"].as_str()),
        (Some("before-migration"), Some(id))
    );

    let dormouse = open(&later, folder.path());
    let kept = named(&dormouse, "box");
    let value = shown(&kept, PYTHON, PYTHON_ASKED).to_string();
    assert!(value.contains("[1]") && shown(&kept, PYTHON, "y") == shown(&kept, PYTHON, "x"), "{value}");
    assert_eq!(shown(&kept, JAVASCRIPT, JAVASCRIPT_ASKED), true);
    assert_eq!(shown(&kept, PHP, &format!("implode(' ', {PHP_ASKED})")), "2026-01-31 2 3 süß");
    let ran = sandbox::wait(kept.exec("hi; echo ${list[1]}; cat f; pwd; ls -A /tmp")).unwrap().outcome;
    assert_eq!(ran.stdout.text, "hi a b\nb c\nkept\n/workspace/d\n", "{}", ran.stderr.text);
    // The checkpoint of before is as it was, with the old guests.
    let found = lasting::sandboxes(&dormouse);
    sandbox::wait(found.restore(&Owner::local(), &Handle::IdOrName("box"), "before-migration")).unwrap();
    assert_eq!(shown(&kept, PYTHON, "f()"), 1);
    lasting::close(dormouse);
}

/// What a program calls its variables and does to the language keeps none of the others from being carried, or is told.
#[test]
fn lif_03_no_variable_is_left_out_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let later = Later::of(&[PYTHON, JAVASCRIPT]);
    let dormouse = lasting::open(folder.path());
    let kept = named(&dormouse, "box");
    let code = "_private = 5\n_cache = {1: 2}\n__version__ = '3'\nlen = isinstance = open = globals = 7\nclass P:\n  @property\n  def __class__(s): raise ValueError('no')\n\
        q = P()\nclass R:\n  def __reduce__(s): raise SystemExit\nr = R()";
    assert!(run(&kept, PYTHON, code).is_ok());
    assert!(run(&kept, JAVASCRIPT, "var g = () => 1; g()").is_ok());
    // A file with the name of an earlier release's own is a file like any other.
    sandbox::wait(kept.write("/tmp/.dormouse-variables", b"mine".to_vec())).unwrap();
    let broken = named(&dormouse, "broken");
    assert!(run(&broken, PYTHON, "keep = 1\nimport builtins; builtins.len = None").is_ok());
    lasting::close(dormouse);

    let ran = state(&later, folder.path(), &["migrate", "box", "--json"]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.text(), ran.complaint());
    let done = json(&ran);
    let python = done["sandboxes"][0]["interpreters"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["guest"] == PYTHON)
        .unwrap()
        .clone();
    assert_eq!(
        python["carried"],
        serde_json::json!(["__version__", "_cache", "_private", "globals", "isinstance", "len", "open"])
    );
    let left: Vec<&str> =
        python["left"].as_array().unwrap().iter().filter_map(|one| one[0].as_str()).collect();
    assert_eq!(left, ["P", "R", "q", "r"], "{done}");

    // Where the list cannot be made nothing is dropped.
    let refused = state(&later, folder.path(), &["migrate", "broken"]);
    assert_eq!(refused.status, Some(1), "{}{}", refused.text(), refused.complaint());
    let dormouse = open(&later, folder.path());
    assert_eq!(shown(&named(&dormouse, "broken"), PYTHON, "keep"), 1);
    let kept = named(&dormouse, "box");
    assert_eq!(shown(&kept, PYTHON, "_private + _cache[1]"), 7);
    assert_eq!(sandbox::wait(kept.read("/tmp/.dormouse-variables")).unwrap(), b"mine");
    lasting::close(dormouse);
}

#[test]
fn lif_03_without_its_guest_a_sandbox_is_migrated_with_its_files_alone_and_that_is_said() {
    let (folder, later) = (tempfile::tempdir().unwrap(), Later::of(&[JAVASCRIPT]));
    used(folder.path());
    for ending in ["cwasm", "wasm"] {
        later.lose(JAVASCRIPT, ending);
    }
    let ran = state(&later, folder.path(), &["migrate"]);
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    assert!(
        ran.text().contains("files only, no variables: its guest is not on this machine"),
        "{}",
        ran.text()
    );
    let told = json(&state(&later, folder.path(), &["doctor", "--json"]));
    assert_eq!(told["sandboxes"][0]["wakes"], true, "{told}");
    let again = state(&later, folder.path(), &["migrate"]);
    assert_eq!(again.text(), "no sandbox goes on from a memory of other guests: nothing to migrate\n");
    let unknown = state(&later, folder.path(), &["migrate", "nobody"]);
    assert!(
        unknown.status == Some(1) && unknown.complaint().contains("unknown_sandbox"),
        "{}",
        unknown.complaint()
    );
    let dormouse = open(&later, folder.path());
    let kept = named(&dormouse, "box");
    is_told_nothing(&kept, JAVASCRIPT, "typeof next");
    assert_eq!(sandbox::wait(kept.read("/workspace/f")).unwrap(), b"kept");
    lasting::close(dormouse);
}

/// A language that has run without its old guest has a later memory; the variables of before are there, and come back when that
/// guest does.
#[test]
fn lif_03_an_older_memory_is_gone_back_to_when_its_guest_is_here_again() {
    let (folder, without) = (tempfile::tempdir().unwrap(), Later::of(&[JAVASCRIPT]));
    used(folder.path());
    for ending in ["cwasm", "wasm"] {
        without.lose(JAVASCRIPT, ending);
    }
    let dormouse = open(&without, folder.path());
    let outcome = run(&named(&dormouse, "box"), JAVASCRIPT, "var later = 7; typeof n");
    assert_eq!(outcome.recovery, Some(Recovery::Fresh));
    assert!(outcome.recovery_reason.unwrap().ends_with("and is kept"));
    lasting::close(dormouse);
    let told = json(&state(&without, folder.path(), &["doctor", "--json"]));
    let memories = told["sandboxes"][0]["memory"].as_array().unwrap();
    assert_eq!((&memories[0]["latest"], &memories[1]["latest"]), (&Json::from(true), &Json::from(false)));
    let (later, old) = (memories[0]["build"].as_str().unwrap(), memories[1]["build"].as_str().unwrap());
    // Without its guest it cannot be read, and nothing has changed.
    let refused = state(&without, folder.path(), &["migrate", "box", "--memory", &old[..12]]);
    assert!(
        refused.status == Some(1) && refused.text().contains("as it was"),
        "{}{}",
        refused.text(),
        refused.complaint()
    );
    assert!(refused.text().contains("-kept.tar.xz"), "{}", refused.text());

    let with = Later::of(&[JAVASCRIPT]);
    let advice = state(&with, folder.path(), &["doctor"]);
    assert!(advice.text().contains(&format!("--memory {}", &old[..12])), "{}", advice.text());
    let unknown = state(&with, folder.path(), &["migrate", "box", "--memory", "0123456789ab"]);
    assert!(unknown.text().contains("no memory of the sandbox belongs to"), "{}", unknown.text());
    let ran = state(&with, folder.path(), &["migrate", "box", "--memory", &old[..12]]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.text(), ran.complaint());
    let dormouse = open(&with, folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(shown(&kept, JAVASCRIPT, "n + ' ' + typeof later"), "1 undefined");
    // What the language had is in the checkpoint of before.
    let (found, owner, handle) = (lasting::sandboxes(&dormouse), Owner::local(), Handle::IdOrName("box"));
    sandbox::wait(found.restore(&owner, &handle, "before-migration")).unwrap();
    assert_eq!(shown(&kept, JAVASCRIPT, "later"), 7);
    lasting::close(dormouse);
    // A memory of the current guest is gone on with as it is.
    let same = state(&with, folder.path(), &["migrate", "box", "--memory", &later[..12]]);
    assert!(same.text().contains("came over: later"), "{}{}", same.text(), same.complaint());
}

/// A migration that fails, or ends in the middle, leaves the sandbox as it was.
#[test]
fn lif_03_a_migration_that_does_not_end_changes_nothing() {
    let (folder, later) = (tempfile::tempdir().unwrap(), Later::of(&[JAVASCRIPT]));
    used(folder.path());
    let dormouse = open(&later, folder.path());
    let (found, owner, handle) = (lasting::sandboxes(&dormouse), Owner::local(), Handle::IdOrName("box"));
    let kept = named(&dormouse, "box");
    // Reading a value that never ends is stopped, so the sandbox is not migrated; a dry run says so.
    assert!(
        run(
            &kept,
            JAVASCRIPT,
            "var slow = new Map(); slow[Symbol.iterator] = function* () { for (;;) yield [1, 2] }"
        )
        .is_ok()
    );
    let limits = Limits { wall: std::time::Duration::from_millis(300), ..Limits::default() };
    let told = sandbox::wait(found.try_migration(&owner, &handle, limits.clone(), None)).unwrap_err();
    assert!(told.message().contains("wall-clock limit"), "{told:?}");
    assert_eq!(shown(&kept, JAVASCRIPT, "next()"), 42);
    // Given up in the middle: what comes next finds it as it was.
    let given_up = sandbox::wait(async {
        let patience = std::time::Duration::from_millis(50);
        let long = Limits { wall: std::time::Duration::from_secs(30), ..Limits::default() };
        tokio::time::timeout(patience, found.migrate(&owner, &handle, long, None)).await
    });
    assert!(given_up.is_err(), "it does not end by itself: {given_up:?}");
    assert_eq!(shown(&kept, JAVASCRIPT, "next()"), 43);
    // Nor is one with more variables than are listed whole.
    let many = "for (let i = 0; i < 5000; i++) globalThis['v' + i] = i";
    assert!(run(&named(&dormouse, "box"), JAVASCRIPT, many).is_ok());
    let long = Limits { wall: std::time::Duration::from_secs(30), ..Limits::default() };
    let told = sandbox::wait(found.try_migration(&owner, &handle, long, None)).unwrap_err();
    assert!(told.message().contains("more than 2000"), "{told:?}");
    lasting::close(dormouse);
    let ran = state(&later, folder.path(), &["doctor", "--json"]);
    assert_eq!(json(&ran)["sandboxes"][0]["memory"][0]["guest"], "kept");
}

/// A program with what another release has installed: refused, with a code and what to do.
#[test]
fn parts_of_different_releases_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("lib/dormouse/99.0.0");
    std::fs::create_dir_all(folder.join("guests")).unwrap();
    let refused = Dormouse::builder().unwrap().installed(&folder).build().err().unwrap();
    assert_eq!(refused.code(), ErrorCode::VersionMismatch);
    assert!(refused.message().contains("99.0.0") && refused.hint().is_some(), "{refused}");

    let program = place.path().join("bin/dormouse");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::copy(dormouse_tests::binary::path(), &program).unwrap();
    let home = place.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let mut command = dormouse_tests::binary::started(&program, &["eval", "1 + 1"]);
    command.env_remove("DORMOUSE_CACHE_DIR").env_remove("XDG_CACHE_HOME").env("HOME", &home);
    let ran = dormouse_tests::binary::finish(command, b"");
    assert_eq!(ran.status, Some(1), "{}", ran.text());
    assert!(ran.complaint().contains("error[version_mismatch]"), "{}", ran.complaint());
    assert!(ran.complaint().contains("hint: install one release as a whole"), "{}", ran.complaint());
}

#[test]
fn the_long_version_names_the_guests_and_the_short_one_the_program_alone() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(dormouse(&["-V"], b"").text(), format!("dormouse {version}\n"));
    let long = dormouse(&["--version"], b"").text();
    let mut lines = long.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with(&format!("dormouse {version} (wasmtime ")), "{long}");
    let names: Vec<&str> = lines.map(|line| line.split(' ').next().unwrap_or_default()).collect();
    for guest in ["python", "javascript", "php", "shell"] {
        assert!(names.contains(&guest), "{long}");
    }
    assert!(long.contains("CPython 3.") && long.contains("built: "), "{long}");
}

#[test]
fn other_releases_beside_an_installation_are_those_with_guests() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| place.path().join(name);
    for made in ["0.2.0/guests", "0.1.0/guests", "0.3.0/guests", "0.0.9/artifacts"] {
        std::fs::create_dir_all(folder(made)).unwrap();
    }
    assert_eq!(Settings::releases_beside(&folder("0.2.0")), [folder("0.1.0"), folder("0.3.0")]);
    assert!(Settings::releases_beside(Path::new("/nowhere/0.1.0")).is_empty());
}
