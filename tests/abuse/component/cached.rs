//! What is kept compiled: private to its user, whole, and made anew when it is not.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use dormouse_tests::binary::{self, Ran};

use super::*;

/// The files of a folder with this extension.
fn of_kind(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// Every name in a folder.
fn names(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).expect("it can be read").flatten();
    let mut names: Vec<_> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A sandbox with a cache of its own, in which a program has left its artifact.
fn with_artifact() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    sandbox::wait(with_cache(folder.path()).command(program(wasm(&module("", ""))))).expect("it runs");
    let artifacts = folder.path().join("programs");
    let artifact = of_kind(&artifacts, "cwasm").pop().expect("an artifact was made");
    (folder, artifact)
}

fn with_cache(folder: &Path) -> Dormouse {
    let allocation = dormouse::wasm::Allocation::OnDemand;
    Dormouse::builder()
        .and_then(|builder| builder.cache(folder).allocation(allocation).build())
        .expect("a sandbox")
}

#[test]
fn cmp_06_machine_code_is_never_taken_for_a_program() {
    case(&[], || {
        let (_folder, artifact) = with_artifact();
        bad(fs::read(artifact).expect("it can be read"), "");
    });
}

#[test]
fn cmp_06_an_artifact_that_others_can_write_is_refused() {
    case(&[], || {
        let again = |folder: &Path| sandbox::wait(with_cache(folder).command(program(wasm(&module("", "")))));
        let mode = |mode| fs::Permissions::from_mode(mode);
        let (folder, artifact) = with_artifact();
        assert_ends(&again(folder.path()).expect("a private artifact is used"), &["exited 0"]);

        fs::set_permissions(&artifact, mode(0o666)).expect("a mode can be set");
        let error = again(folder.path()).expect_err("others can write the file");
        assert!(error.message().contains("others can write"), "{error}");
        assert!(error.hint().is_some());
        fs::set_permissions(&artifact, mode(0o600)).expect("a mode can be set");

        fs::set_permissions(folder.path().join("programs"), mode(0o777)).expect("a mode can be set");
        assert!(again(folder.path()).is_err(), "others can write the folder");
        fs::set_permissions(folder.path().join("programs"), mode(0o700)).expect("a mode can be set");

        let moved = folder.path().join("moved");
        fs::rename(&artifact, &moved).expect("it can be moved");
        symlink(&moved, &artifact).expect("a link can be made");
        assert!(again(folder.path()).is_err(), "a link is no artifact");
        fs::remove_file(&artifact).expect("it can be removed");

        // A damaged one of our own is made anew.
        fs::write(&artifact, &fs::read(&moved).expect("it can be read")[..100]).expect("it can be written");
        fs::set_permissions(&artifact, mode(0o600)).expect("a mode can be set");
        assert_ends(&again(folder.path()).expect("it is made anew"), &["exited 0"]);
    });
}

/// A cache of its own with the JavaScript guest in it, and what has been compiled of it, if anything has been.
fn copied_cache() -> (tempfile::TempDir, PathBuf) {
    let from = dormouse::wasm::Settings::default_cache().expect("a cache folder");
    let cache = tempfile::tempdir().expect("a temporary folder");
    let copy = |folder: &str, wanted: &dyn Fn(&str) -> bool| {
        let into = cache.path().join(folder);
        fs::create_dir_all(&into).expect("it can be made");
        fs::set_permissions(&into, fs::Permissions::from_mode(0o700)).expect("a mode can be set");
        for name in names(&from.join(folder)).into_iter().filter(|name| wanted(name)) {
            fs::copy(from.join(folder).join(&name), into.join(&name)).expect("it can be copied");
        }
        into
    };
    let guest = copy("guests/javascript", &|name| name != "lock");
    let key = fs::read_to_string(guest.join("current")).expect("the guest is built");
    let record = fs::read(guest.join(format!("{}.json", key.trim()))).expect("it has a record");
    let record: serde_json::Value = serde_json::from_slice(&record).expect("it is JSON");
    let hash = record["sha256"].as_str().expect("a hash").get(..24).expect("64 digits").to_owned();
    let artifacts = copy("artifacts", &|name| name.starts_with(&hash));
    (cache, artifacts)
}

/// `1 + 1` in a process of its own, which must answer 2; what it said besides.
fn evaluated(cache: &Path) -> String {
    let mut command = binary::command(&["eval", "--language", "javascript", "1 + 1"]);
    command.env("DORMOUSE_CACHE_DIR", cache);
    let ran = binary::finish(command, b"");
    assert_eq!((ran.status, ran.text().trim()), (Some(0), "2"), "{}", ran.complaint());
    ran.complaint()
}

/// A failing disk, a loss of power, a copy that was cut short: the header may be there and the code not.
#[test]
fn cmp_06_a_damaged_artifact_is_told_and_made_anew() {
    case(&[], || {
        let (cache, artifacts) = copied_cache();
        evaluated(cache.path());
        assert_eq!(evaluated(cache.path()), "", "what is whole is used without a word");
        let zeroed = |path: &Path| {
            let file = fs::File::options().read(true).write(true).open(path).expect("it can be written");
            let (start, length) = text_section(&file);
            file.write_all_at(&[0; 4096], start + length / 2).expect("it can be written");
        };
        let cut = |path: &Path| {
            let file = fs::File::options().write(true).open(path).expect("it can be written");
            file.set_len(file.metadata().expect("it is there").len() - 4096).expect("it can be cut");
        };
        let bare = |path: &Path| drop(fs::remove_file(path.with_extension("sum")));
        /// Its name, how an artifact is damaged, and what is said of it.
        type Way<'a> = (&'a str, &'a dyn Fn(&Path), &'a str);
        let ways: [Way<'_>; 3] = [
            ("zeroes", &zeroed, "it does not fit its checksum"),
            ("cut", &cut, "it does not fit its checksum"),
            ("before checksums", &bare, "it has no checksum"),
        ];
        for (way, damage, why) in ways {
            of_kind(&artifacts, "cwasm").iter().for_each(|path| damage(path));
            let said = evaluated(cache.path());
            assert!(
                said.contains("made anew") && said.contains(why) && said.contains("compiled"),
                "{way}: {said}"
            );
            assert_eq!(evaluated(cache.path()), "", "{way}: it is whole again");
        }
    });
}

/// Where the machine code of an artifact lies in its file, which is an ELF file of 64 bits.
fn text_section(file: &fs::File) -> (u64, u64) {
    let number = |at: u64, size: usize| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes[..size], at).expect("it can be read");
        u64::from_le_bytes(bytes)
    };
    let (sections, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let names = number(sections + size * number(0x3e, 2) + 0x18, 8);
    let is_text = |section: &u64| {
        let mut name = [0; 6];
        let at = names + number(*section, 4);
        file.read_exact_at(&mut name, at).is_ok() && &name == b".text\0"
    };
    let text = (0..count).map(|index| sections + size * index).find(is_text).expect("it has code");
    (number(text + 0x18, 8), number(text + 0x20, 8))
}

/// `dormouse run` of an empty program over a cache folder, after a shell command such as `umask 002`.
fn run_after(shell: &str, cache: &Path, program: &Path) -> Command {
    let script = format!("{shell}; exec \"$@\"");
    let (dormouse, program) = (binary::path(), program.to_str().expect("text").to_owned());
    let words = ["-c", &script, "sh", dormouse.to_str().expect("text"), "run", &program];
    let mut command = binary::started(Path::new("/bin/sh"), &words);
    command.env("DORMOUSE_CACHE_DIR", cache);
    command
}

fn empty_program(folder: &Path) -> PathBuf {
    let path = folder.join("program.wasm");
    fs::write(&path, wasm(&module("", ""))).expect("it can be written");
    path
}

#[track_caller]
fn assert_quiet(ran: &Ran) {
    assert_eq!((ran.status, ran.complaint().as_str()), (Some(0), ""), "{}", ran.text());
}

/// Users with a group of their own have 002, and some have none at all.
#[test]
fn cmp_06_the_cache_is_private_and_usable_whatever_the_umask_is() {
    case(&[], || {
        for umask in ["002", "000", "077", "022"] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let (cache, program) = (folder.path().join("cache"), empty_program(folder.path()));
            for _ in 0..2 {
                let ran = binary::finish(run_after(&format!("umask {umask}"), &cache, &program), b"");
                assert_quiet(&ran);
            }
            let programs = cache.join("programs");
            assert_eq!(names(&programs).len(), 2, "umask {umask}: {:?}", names(&programs));
            for name in names(&programs) {
                let mode = fs::metadata(programs.join(&name)).expect("it is there").permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "umask {umask}: {name}");
            }
            let mode = fs::metadata(&programs).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o077, 0, "umask {umask}");
        }
    });
}

/// Processes that find nothing compiled and all begin to compile, as containers do that share a new volume.
#[test]
fn cmp_06_many_processes_that_start_at_once_leave_one_whole_artifact() {
    case(&[], || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (cache, program) = (folder.path().join("cache"), empty_program(folder.path()));
        let children: Vec<_> = (0..12)
            .map(|_| run_after(":", &cache, &program))
            .map(|mut one| one.spawn().expect("it starts"))
            .collect();
        for child in children {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let programs = cache.join("programs");
        let left = names(&programs);
        assert!(left.len() == 2 && left[0].ends_with(".cwasm") && left[1].ends_with(".sum"), "{left:?}");
        let written =
            fs::metadata(programs.join(&left[0])).and_then(|about| about.modified()).expect("a time");
        assert_quiet(&binary::finish(run_after(":", &cache, &program), b""));
        let after = fs::metadata(programs.join(&left[0])).and_then(|about| about.modified()).expect("a time");
        assert_eq!(written, after, "what they left was used, and not made anew");
    });
}
