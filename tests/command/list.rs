//! The commands that there are, and their options, as the shell itself tells them: the same in docs/shell.md and in the
//! description of `sandbox_exec`. With `BLESS=1` both are written.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use dormouse::PersistentSandbox;
use dormouse_tests::sandbox;

use super::in_a_sandbox;

/// Around the table in docs/shell.md.
const MARKS: [&str; 2] = ["<!-- commands -->\n", "<!-- end of commands -->\n"];
/// Stand-ins of bashkit's that only say what is not there.
const HOLLOW: [&str; 2] = ["busybox", "http"];

/// The builtins of bash 5.2.
const BASHS: [&str; 57] = [
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_path_buf()
}

fn words(kept: &PersistentSandbox, text: &str) -> BTreeSet<String> {
    let outcome = sandbox::wait(kept.exec(text)).expect("the call is taken").outcome;
    outcome
        .stdout
        .text
        .lines()
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphanumeric()))
        .map(str::to_owned)
        .collect()
}

/// The options that a command's own help names, in its order.
fn options(help: &str) -> Vec<String> {
    let form = regex::Regex::new(r"(?:^|[\s,\[|(])(--?[A-Za-z0-9][A-Za-z0-9-]*)").expect("a pattern");
    let mut found: Vec<String> = Vec::new();
    for line in help.lines().filter(|line| {
        line.trim_start().starts_with('-') || line.starts_with("Usage:") || line.starts_with("usage:")
    }) {
        // What follows the options of a line is prose.
        let head = line.trim_start().split("  ").next().unwrap_or_default();
        for option in form.captures_iter(head) {
            if !found.contains(&option[1].to_owned()) {
                found.push(option[1].to_owned());
            }
        }
    }
    found
}

#[test]
fn the_documents_name_every_command_that_there_is() {
    in_a_sandbox(|kept| {
        let (all, _own, keys) =
            (words(kept, "compgen -c"), words(kept, "compgen -b"), words(kept, "compgen -k"));
        let programs: Vec<&String> = all
            .iter()
            .filter(|name| {
                !BASHS.contains(&name.as_str()) && !keys.contains(*name) && !HOLLOW.contains(&name.as_str())
            })
            .collect();
        assert!(programs.len() > 100, "{programs:?}");
        let mut table = String::from("| command | options |\n| --- | --- |\n");
        for name in &programs {
            let help = sandbox::wait(kept.exec(format!("{name} --help < /dev/null 2>&1"))).unwrap().outcome;
            let options = if help.exit_code() == 0 { options(&help.stdout.text) } else { Vec::new() };
            let shown = options.iter().map(|option| format!("`{option}`")).collect::<Vec<_>>().join(" ");
            let _ = writeln!(table, "| `{name}` | {} |", if shown.is_empty() { "-" } else { &shown });
        }
        let list = programs.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let described = root().join("adapters/tools/src/verbs/exec/commands.txt");
        let document = root().join("docs/shell.md");
        let text = fs::read_to_string(&document).unwrap();
        let (head, rest) = text.split_once(MARKS[0]).expect("the table begins");
        let (_, tail) = rest.split_once(MARKS[1]).expect("the table ends");
        let whole = format!("{head}{}{table}{}{tail}", MARKS[0], MARKS[1]);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&described, &list).unwrap();
            fs::write(&document, &whole).unwrap();
        }
        let hint = "write them with BLESS=1";
        assert_eq!(fs::read_to_string(&described).unwrap(), list, "{hint}");
        assert_eq!(fs::read_to_string(&document).unwrap(), whole, "{hint}");
    });
}
