//! docs/reference/cli*.md: the help of every command, as the real binary prints it. `BLESS=1` writes them.

use std::collections::BTreeSet;

use dormouse_tests::binary;

use super::calls::hold;

/// The commands of each page, with those below them.
const PAGES: [(&str, &[&str]); 5] = [
    ("cli.md", &["", "eval", "repl", "run", "state", "net", "guests", "doctor", "completions"]),
    ("cli-sandbox.md", &["sandbox"]),
    ("cli-runs.md", &["runs"]),
    ("cli-servers.md", &["mcp", "serve"]),
    ("cli-scenario.md", &["scenario"]),
];

/// What a command prints for `--help`, in lines of 100 columns.
fn help(words: &[&str]) -> String {
    let ran = binary::dormouse(&[words, &["--help"]].concat(), b"");
    assert_eq!(ran.status, Some(0), "{words:?}: {}", ran.complaint());
    ran.text()
}

/// The commands below one, in the order of its help.
fn below(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let names = names.filter_map(|rest| rest.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The blocks of a help text: a heading or an option, with the lines that go on with it.
fn blocks(help: &str) -> Vec<Vec<&str>> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        match found.last_mut() {
            // Below an option, what is further in belongs to it.
            Some(last) if is_option(last) && indent > 6 => last.push(line),
            _ => found.push(vec![line]),
        }
    }
    found
}

fn is_option(block: &[&str]) -> bool {
    let line = block[0];
    line.starts_with("  ") && line.trim_start().starts_with('-') && line.trim_start() != "-"
}

/// An option however its lines are wrapped.
fn words(block: &[&str]) -> String {
    block.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// The help without the options of the commands above, and without headings below which nothing is left.
fn own(help: &str, above: &BTreeSet<String>) -> String {
    let blocks: Vec<Vec<&str>> = blocks(help)
        .into_iter()
        .filter(|block| !is_option(block) || !above.contains(&words(block)))
        .collect();
    let mut lines: Vec<&str> = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let is_heading = block[0].ends_with(':') && !block[0].starts_with(' ');
        let is_last = blocks.get(number + 1).is_none_or(|next| next[0].is_empty());
        let is_gap = block[0].is_empty() && lines.last().is_none_or(|line| line.is_empty());
        if !(is_heading && is_last || is_gap) {
            lines.extend(block);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// A command and all below it.
fn written(command: &[&str], above: &BTreeSet<String>, text: &mut String) {
    let help = help(command);
    let level = "#".repeat(if command.len() > 1 { 3 } else { 2 });
    let name = [&["dormouse"], command].concat().join(" ");
    text.push_str(&format!("\n{level} `{name}`\n\n```text\n{}\n```\n", own(&help, above)));
    if command.is_empty() {
        return;
    }
    let options = blocks(&help).into_iter().filter(|block| is_option(block)).map(|block| words(&block));
    let above: BTreeSet<String> = above.iter().cloned().chain(options).collect();
    for name in below(&help) {
        written(&[command, &[&name]].concat(), &above, text);
    }
}

#[test]
fn every_command_is_in_the_reference_with_its_options() {
    let top = help(&[]);
    let options: BTreeSet<String> =
        blocks(&top).into_iter().filter(|block| is_option(block)).map(|block| words(&block)).collect();
    let listed: BTreeSet<&str> = PAGES.iter().flat_map(|(_, commands)| commands.iter().copied()).collect();
    for name in below(&top) {
        assert!(listed.contains(name.as_str()), "`{name}` is on no page");
    }
    for (page, commands) in PAGES {
        let mut text = String::new();
        for command in commands {
            match *command {
                "" => written(&[], &BTreeSet::new(), &mut text),
                name => written(&[name], &options, &mut text),
            }
        }
        hold(page, &text);
    }
}
