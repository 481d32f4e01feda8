//! What the commands are made of: words, names, dates, and what they ask of a repository.

use std::path::{Path, PathBuf};

use git2::{Repository, Signature, Time};

use crate::context::{Git, plain};
use crate::format::{Dates, Decorations, Format, View};
use crate::index::{is_folder_of, tracked};
use crate::paths::{quoted, seen_from};
use crate::words::{Word, Words, number, unknown};

/// The words of a line, options with their values behind a `=`.
fn read(line: &str, valued: &'static str) -> Vec<String> {
    let mut words = Words::new(line.split(' ').map(str::to_owned), valued);
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        all.push(match word {
            Word::Plain(text) => text,
            Word::Option(option) if option.trim_start_matches('-') == "m" || option == "--message" => {
                format!("{option}={}", words.value(&option).unwrap_or_default())
            }
            Word::Option(option) => option,
        });
    }
    all
}

#[test]
fn options_come_alone_bundled_and_with_values() {
    assert_eq!(read("-a -m text file", "m"), ["-a", "-m=text", "file"]);
    assert_eq!(read("-am text --message=a=b", "m"), ["-a", "-m=text", "--message=a=b"]);
    assert_eq!(read("-mtext --message text", "m"), ["-m=text", "--message=text"]);
    assert_eq!(read("-3 - -- -a", ""), ["-3", "-", "-a"]);
}

#[test]
fn a_missing_value_and_an_unknown_option_end_with_129() {
    let mut words = Words::new(["-m".to_owned()], "m");
    assert!(matches!(words.next(), Some(Word::Option(option)) if option == "-m"));
    let failure = words.value("-m").unwrap_err();
    assert_eq!((failure.status, failure.text.as_str()), (129, "error: option `m' requires a value\n"));
    let failure = unknown::<()>("mv", "--none").unwrap_err();
    assert_eq!(failure.text, "error: unknown option `none'\nusage here: git mv [-f] FROM... TO\n");
    assert_eq!(unknown::<()>("mv", "-z").unwrap_err().status, 129);
    assert_eq!(number("-n", "12").unwrap(), 12);
    assert_eq!(number("-n", "x").unwrap_err().text, "fatal: -n: 'x' is not a number\n");
}

#[test]
fn names_with_odd_bytes_are_quoted() {
    assert_eq!(quoted(b"a b", false), "a b");
    assert_eq!(quoted(b"a b", true), "\"a b\"");
    assert_eq!(quoted("ü\n\"".as_bytes(), false), "\"\\303\\274\\n\\\"\"");
}

#[test]
fn a_path_is_shown_from_where_the_command_runs() {
    let seen = |folder: &str, path: &str| seen_from(Path::new(folder), path);
    assert_eq!(seen("", "a/b"), "a/b");
    assert_eq!(seen("a", "a/b"), "b");
    assert_eq!(seen("a/c", "a/b"), "../b");
    assert_eq!(seen("a/b", "a/"), "../");
    assert_eq!(plain(Path::new("/a/./b/../../../c")), Path::new("/c"));
}

#[test]
fn a_time_has_the_forms_of_git() {
    let time = Time::new(1_706_933_106, -330);
    let shown = |name: &str| Dates::named(name).unwrap().of(time);
    assert_eq!(shown("default"), "Fri Feb 2 22:35:06 2024 -0530");
    assert_eq!(shown("iso"), "2024-02-02 22:35:06 -0530");
    assert_eq!(shown("iso-strict"), "2024-02-02T22:35:06-05:30");
    assert_eq!(shown("short"), "2024-02-02");
    assert_eq!(shown("rfc"), "Fri, 2 Feb 2024 22:35:06 -0530");
    assert_eq!(shown("raw"), "1706933106 -0530");
    assert_eq!(Dates::Strict.of(Time::new(0, 0)), "1970-01-01T00:00:00Z");
    assert_eq!(Dates::Relative.of(Time::new(i64::MAX / 2, 0)), "in the future");
    assert!(Dates::named("human").is_err());
}

/// A repository with one commit, in a folder that goes with it.
struct Temporary {
    folder: PathBuf,
    git: Git,
}

impl Temporary {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("dormouse-git-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("src")).unwrap();
        for file in ["a", "src/b", "c"] {
            std::fs::write(folder.join(file), file).unwrap();
        }
        let repository = Repository::init(&folder).unwrap();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("a")).unwrap();
        index.add_path(Path::new("src/b")).unwrap();
        index.write().unwrap();
        let who = Signature::new("Ada", "ada@example.org", &Time::new(1_706_933_106, 60)).unwrap();
        let tree = index.write_tree().unwrap();
        {
            let tree = repository.find_tree(tree).unwrap();
            repository.commit(Some("HEAD"), &who, &who, "First\n\nAnd why.\n", &tree, &[]).unwrap();
        }
        let root = repository.workdir().unwrap().to_path_buf();
        Self { folder, git: Git { here: root.join("src"), root, repository } }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_index_knows_tracked_files_and_their_folders() {
    let temporary = Temporary::new("index");
    let index = temporary.git.repository.index().unwrap();
    let known = ["a", "src/b", "c", "src", ""].map(|path| tracked(&index, path));
    assert_eq!(known, [true, true, false, false, false]);
    let folders = ["a", "src", "sr", ""].map(|path| is_folder_of(&index, path));
    assert_eq!(folders, [false, true, false, true]);
}

#[test]
fn paths_are_below_the_root_or_refused() {
    let temporary = Temporary::new("paths");
    let git = &temporary.git;
    assert_eq!(git.below_root("b").unwrap(), "src/b");
    assert_eq!(git.below_root("../a").unwrap(), "a");
    assert_eq!(git.below_root("..").unwrap(), "");
    assert!(git.below_root("../../x").unwrap_err().text.contains("is outside repository at "));
    assert_eq!(git.prefix(), Path::new("src"));
}

#[test]
fn a_commit_is_shown_by_a_format() {
    let temporary = Temporary::new("format");
    let git = &temporary.git;
    let head = git.head().unwrap().unwrap();
    let view = View {
        repository: &git.repository,
        dates: Dates::Iso,
        decorations: Some(Decorations::of(git).unwrap()),
        short: false,
        decorate: false,
    };
    let shown = |format: &str| view.text(&head, &Format::named(format).unwrap()).unwrap();
    assert_eq!(
        shown("format:%an <%ae>|%s|%ad").trim_end(),
        "Ada <ada@example.org>|First|2024-02-03 05:05:06 +0100"
    );
    assert!(shown("format:%H").starts_with(&git.short(head.id()).unwrap()));
    assert!(Format::named("none").is_err());
    let failure = git.commit("none").unwrap_err();
    assert!(
        failure.text.starts_with("fatal: ambiguous argument 'none': unknown revision"),
        "{}",
        failure.text
    );
}
