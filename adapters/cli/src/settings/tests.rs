//! What the command line means, as a table.

use std::time::Duration;

use clap::Parser as _;
use dormouse::grants::WallClock;
use dormouse::{Access, ErrorCode};

use super::*;
use crate::args::{Arguments, Command};

fn parse(words: &[&str]) -> Result<Eval> {
    let words = ["dormouse", "eval"].iter().chain(words);
    match Arguments::read(words.map(Into::into)).unwrap_or_else(|error| panic!("{error}")).command {
        Command::Eval(arguments) => eval(arguments),
        _ => unreachable!("the subcommand is eval"),
    }
}

fn refused(words: &[&str]) -> ErrorCode {
    match parse(words) {
        Ok(_) => panic!("{words:?} was accepted"),
        Err(error) => error.code(),
    }
}

#[test]
fn the_first_word_is_the_code_and_the_others_are_arguments() {
    for (words, code, arguments) in [
        (&["1"][..], "1", &[][..]),
        (&["1", "a", "b"], "1", &["a", "b"]),
        (&["1", "--", "--json", "-x"], "1", &["--json", "-x"]),
        (&["--", "--unsafe", "--json"], "--unsafe", &["--json"]),
        (&["--json", "1"], "1", &[]),
        (&["1", "--json"], "1", &[]),
        (&["", "a"], "", &["a"]),
        (&["-f(3)"], "-f(3)", &[]),
        (&["-5 % 3", "--json", "-1"], "-5 % 3", &["-1"]),
    ] {
        let Eval { request, .. } = parse(words).unwrap();
        assert_eq!(
            (request.code.as_str(), &request.context.grants.arguments[..]),
            (code, &arguments.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
            "{words:?}"
        );
    }
}

#[test]
fn with_a_file_every_word_is_an_argument() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.ts");
    std::fs::write(&path, "1").unwrap();
    let file = path.to_str().unwrap();
    let Eval { request, .. } = parse(&["--file", file, "a", "--", "--b", "-"]).unwrap();
    assert_eq!((request.code.as_str(), request.name.as_str()), ("1", file));
    assert_eq!(request.language, Language::typescript());
    assert_eq!(request.context.grants.arguments, ["a", "--b", "-"]);
    assert_eq!(parse(&["-l", "py", "-f", file]).unwrap().request.language, Language::python());
}

#[test]
fn defaults_grant_nothing_and_limit_everything() {
    let Eval { request, policy, .. } = parse(&["1"]).unwrap();
    assert_eq!(request.context.limits, Limits::default());
    assert_eq!(request.context.bounds, Bounds::default());
    assert_eq!(request.context.grants, dormouse::Grants::default());
    assert_eq!(request.language, Language::python());
    assert!(!policy.allow_writes);
}

#[test]
fn every_option_arrives() {
    let words = "-l js -t 2s -m 64MiB --fuel 7 --output 1KiB --disk 1MB --seed 9 --env A=b=c --cwd /tmp \
                 --name n --depth 1 --items 2 --offset 3 --clock 1970-01-01T00:00:01Z 1";
    let Eval { request, .. } = parse(&words.split_whitespace().collect::<Vec<_>>()).unwrap();
    let limits = &request.context.limits;
    assert_eq!((limits.wall, limits.memory, limits.fuel), (Duration::from_secs(2), 64 << 20, Some(7)));
    assert_eq!((limits.output, limits.disk), (1024, 1_000_000));
    assert_eq!(request.context.grants.environment, [("A".to_owned(), "b=c".to_owned())]);
    assert_eq!(request.context.grants.directory.unwrap().as_str(), "/tmp");
    assert_eq!((request.context.grants.seed, request.name.as_str()), (Some(9), "n"));
    let second = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    assert_eq!(request.context.grants.clock, WallClock::Fixed(second));
    assert_eq!(
        (request.context.bounds.depth, request.context.bounds.items, request.context.bounds.offset),
        (1, 2, 3)
    );
}

#[test]
fn bounds_beyond_what_is_shown_at_most_are_refused() {
    for (option, most, beyond) in [("--depth", "16", "17"), ("--items", "10000", "10001")] {
        let words = |number| ["dormouse", "eval", option, number, "1"];
        assert!(Arguments::try_parse_from(words(most)).is_ok(), "{option}");
        let error = Arguments::try_parse_from(words(beyond)).unwrap_err().to_string();
        assert!(error.contains(option) && error.contains(most), "{error}");
    }
}

#[test]
fn a_project_is_read_only_unless_writes_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for (words, access) in [
        (&["--project", path, "1"][..], Access::ReadOnly),
        (&["--project", path, "--writes", "1"], Access::ReadWrite),
    ] {
        let Eval { request, policy, .. } = parse(words).unwrap();
        let project = request.context.grants.project.unwrap();
        assert_eq!((project.access, project.bootstrap), (access, None));
        assert_eq!(project.source, folder.path().canonicalize().unwrap());
        assert_eq!(policy.allow_writes, access == Access::ReadWrite);
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let (writable, missing) = (format!("{path}:/a:rw"), format!("{path}/none:/a"));
    let twice = format!("{path}:/project");
    for (words, code) in [
        (&["--network", "none.toml", "1"][..], ErrorCode::NotFound),
        (&["--mount", &writable, "1"], ErrorCode::WriteDenied),
        (&["--mount", &missing, "1"], ErrorCode::PathDenied),
        (&["--mount", "nonsense", "1"], ErrorCode::ArgsInvalid),
        (&["--mount", &twice, "--project", path, "1"], ErrorCode::ArgsInvalid),
        (&["--project", "/dev/null", "1"], ErrorCode::PathDenied),
        (&["--bootstrap", "a.py", "1"], ErrorCode::ArgsInvalid),
        (&["--project", path, "--bootstrap", "../a.py", "1"], ErrorCode::ArgsInvalid),
        (&["--timeout", "10", "1"], ErrorCode::ArgsInvalid),
        (&["--timeout", "61s", "1"], ErrorCode::ArgsInvalid),
        (&["--memory", "1MiB", "1"], ErrorCode::ArgsInvalid),
        (&["--env", "A", "1"], ErrorCode::ArgsInvalid),
        (&["--cwd", "tmp", "1"], ErrorCode::ArgsInvalid),
        (&["-l", "C++", "1"], ErrorCode::ArgsInvalid),
        (&["--file", path], ErrorCode::ArgsInvalid),
        (&["--stdin", "-", "-"], ErrorCode::ArgsInvalid),
    ] {
        assert_eq!(refused(words), code, "{words:?}");
    }
}

#[test]
fn several_profiles_can_be_named() {
    let names = |text: &str| profiles(text).map_err(|error| error.code());
    assert_eq!(names("sprites,rlm"), Ok(vec![Profile::Sprites, Profile::Rlm]));
    assert_eq!(names("rlm, sandbox,rlm"), Ok(vec![Profile::Rlm, Profile::Sandbox]));
    for bad in ["", "sprites,", "sprites;rlm", "Sprites"] {
        assert_eq!(names(bad), Err(ErrorCode::ArgsInvalid), "{bad}");
    }
}

#[test]
fn long_file_names_are_shortened_for_traces() {
    let long = format!("/{}/{}.py", "a".repeat(250), "b".repeat(200));
    assert_eq!(name(None, Some(Path::new(&long))), "b".repeat(60));
    assert_eq!(name(Some("n"), Some(Path::new("x.py"))), "n");
}

#[test]
fn s1_25_unsafe_lifts_every_guard_that_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let Eval { request, policy, unguarded, .. } = parse(&["--unsafe", "--project", path, "1"]).unwrap();
    assert_eq!(unguarded, Some(Confirmed(false)));
    assert_eq!(request.context.limits, Limits { fuel: None, ..Limits::ceiling() });
    assert_eq!(request.context.grants.project.unwrap().access, Access::ReadWrite);
    assert!(policy.allow_writes);
    assert_eq!(parse(&["--unsafe", "--yes", "1"]).unwrap().unguarded, Some(Confirmed(true)));
    assert_eq!(parse(&["--", "--unsafe"]).unwrap().request.code, "--unsafe");
}

#[test]
fn s1_25_unsafe_keeps_the_limits_that_are_asked_for() {
    let words = [
        "--unsafe",
        "--yes",
        "--timeout",
        "300ms",
        "--memory",
        "64MiB",
        "--fuel",
        "9",
        "--output",
        "1KiB",
        "1",
    ];
    let asked = Limits {
        wall: Duration::from_millis(300),
        memory: 64 << 20,
        fuel: Some(9),
        output: 1 << 10,
        ..Limits::ceiling()
    };
    assert_eq!(parse(&words).unwrap().request.context.limits, asked);
    assert_eq!(refused(&["--unsafe", "--timeout", "61s", "1"]), ErrorCode::ArgsInvalid);
}

#[test]
fn without_a_language_the_file_then_the_bootstrap_file_then_the_project_says_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let language = |words: &[&str]| parse(&[&["--project", path], words].concat()).unwrap().request.language;
    std::fs::write(folder.path().join("job.ts"), "1").unwrap();
    let file = folder.path().join("job.ts").to_str().unwrap().to_owned();
    assert_eq!(language(&["1"]), Language::python());
    std::fs::write(folder.path().join("package.json"), "{}").unwrap();
    assert_eq!(language(&["1"]), Language::javascript());
    std::fs::write(folder.path().join("composer.json"), "{}").unwrap();
    assert_eq!(language(&["1"]), Language::php());
    assert_eq!(language(&["--bootstrap", "config/services.py", "1"]), Language::python());
    assert_eq!(language(&["--bootstrap", "config/services.py", "--file", &file]), Language::typescript());
    assert_eq!(language(&["-l", "JS", "--bootstrap", "a.py", "1"]), Language::javascript());
    assert_eq!(
        parse(&["1"]).unwrap().request.language,
        Language::python(),
        "only the project that is named counts"
    );
}

#[test]
fn s0_37_skills_are_mounted_beside_what_is_mounted_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let skill = folder.path().join("codegen");
    std::fs::create_dir(&skill).unwrap();
    let meant = |words: &[&str]| {
        let words = ["dormouse", "mcp"].iter().chain(words);
        match Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).command {
            Command::Mcp { arguments, .. } => mcp(&arguments),
            _ => unreachable!("the subcommand is mcp"),
        }
    };
    let refused = |words: &[&str]| meant(words).err().map(|error| error.code());
    assert_eq!(refused(&["--skill", skill.to_str().unwrap()]), Some(ErrorCode::PathDenied));
    std::fs::write(skill.join("SKILL.md"), "How to.").unwrap();
    let hand = format!("{path}:/data");
    let words =
        ["--skills", path, "--mount", &hand, "--session-key", "k", "--profile", "codegen", "--cwd", "/tmp"];
    let all = meant(&words).unwrap();
    assert_eq!(all.grants.directory.as_ref().map(GuestPath::as_str), Some("/tmp"));
    let mounts: Vec<_> =
        all.grants.mounts.iter().map(|mount| (mount.target.as_str(), mount.access)).collect();
    let read = Access::ReadOnly;
    assert_eq!(mounts, [("/data", read), ("/skills/codegen", read), ("/workspace/skills/codegen", read)]);
    assert_eq!(all.session.unwrap().as_str(), "k");
    let taken = format!("{path}:/skills/codegen");
    assert_eq!(refused(&["--skills", path, "--mount", &taken]), Some(ErrorCode::ArgsInvalid));
    assert_eq!(refused(&["--session-key", ""]), Some(ErrorCode::ArgsInvalid));
    assert_eq!(refused(&["--cwd", "tmp"]), Some(ErrorCode::ArgsInvalid));
}
