//! What the README, *Getting started* and the guides show can be run: the marked blocks of each page are run in order, with
//! the real binary, and print what the page says.
//!
//! A block that begins with ```` ```console test ```` holds commands, each after `$ `, and what they print. `…` stands for
//! any text within a line; a line of `…` alone stands for any lines. A block that begins with ```` ```LANGUAGE file=NAME ````
//! is written to that file first. All blocks of a page run in one bash, in an empty folder, with an empty state folder.

use std::fs;
use std::path::{Path, PathBuf};

use dormouse_tests::binary;
use regex::Regex;

use super::{files, name, read, root};

/// Where shell blocks must be marked.
const MARKED: [&str; 3] = ["README.md", "docs/getting-started", "docs/guides"];
/// Between the commands in the output of a page: what no command prints.
const RULER: char = '\u{1e}';

/// A fenced block of a page.
struct Block {
    /// What follows the backticks.
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(info), None) => open = Some(Block { info: info.trim().to_owned(), text: String::new() }),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block has no end");
    found
}

/// A command and what it prints.
struct Step {
    command: String,
    output: String,
}

/// The steps of the tested blocks of a page.
fn steps(blocks: &[Block]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks.iter().filter(|block| block.info == "console test") {
        assert!(block.text.starts_with("$ "), "a tested block begins with a command: {}", block.text);
        for line in block.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step { command: command.to_owned(), output: String::new() });
            } else if let Some(step) = steps.last_mut() {
                step.output.push_str(line);
                step.output.push('\n');
            }
        }
    }
    steps
}

/// What the output of a command must look like.
fn pattern(output: &str) -> Regex {
    let mut text = String::from("(?s)^");
    for line in output.lines() {
        if line == "…" {
            text.push_str("(?:[^\n]*\n)*?");
        } else {
            let parts: Vec<String> = line.split('…').map(regex::escape).collect();
            text.push_str(&parts.join("[^\n]*"));
            text.push('\n');
        }
    }
    text.push('$');
    Regex::new(&text).expect("a pattern")
}

/// Runs a page's blocks; tells what differs.
fn differs(page: &Path) -> Vec<String> {
    let blocks = blocks(&read(page));
    let steps = steps(&blocks);
    if steps.is_empty() {
        return Vec::new();
    }
    let (folder, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for block in &blocks {
        if let Some(file) = block.info.split_whitespace().find_map(|word| word.strip_prefix("file=")) {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &block.text).unwrap();
        }
    }
    let mut script = String::from("exec 2>&1\ntrap 'kill $(jobs -p) 2> /dev/null' EXIT\n");
    for step in &steps {
        script.push_str(&format!("{}\nprintf '\\036%d\\036' $?\n", step.command));
    }
    let file = aside.path().join("page.sh");
    fs::write(&file, script).unwrap();
    let mut bash = binary::started(Path::new("bash"), &[file.to_str().unwrap()]);
    let own = binary::path().parent().unwrap().to_owned();
    let before = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&before))).unwrap();
    bash.env("PATH", path).env("DORMOUSE_STATE_DIR", aside.path().join("state")).current_dir(folder.path());
    let printed = binary::finish(bash, b"").text();
    let mut parts = printed.split(RULER);
    let mut wrong = Vec::new();
    for step in &steps {
        let (output, status) = (parts.next().unwrap_or_default(), parts.next().unwrap_or("none"));
        // A last line without an end is a line all the same.
        let ended = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        let fits = pattern(&step.output).is_match(&format!("{output}{ended}"));
        if !fits || status != "0" {
            wrong.push(format!(
                "{}: `{}` ended with {status} and printed\n{output}\nThe page says\n{}",
                name(page),
                step.command,
                step.output
            ));
        }
    }
    wrong
}

/// The pages whose blocks are marked.
fn pages() -> Vec<PathBuf> {
    let all = files(&["md"]).into_iter();
    all.filter(|file| MARKED.iter().any(|folder| file.starts_with(root().join(folder)))).collect()
}

#[test]
fn shell_blocks_say_whether_they_are_tested() {
    let (mut tested, mut shown) = (0, 0);
    for page in pages() {
        for block in blocks(&read(&page)) {
            match block.info.as_str() {
                "console test" => tested += 1,
                "sh shown" => shown += 1,
                info => assert!(
                    !["sh", "bash", "console", "shell"].contains(&info.split(' ').next().unwrap_or_default()),
                    "{}: a block of `{info}` is marked neither `console test` nor `sh shown`",
                    name(&page)
                ),
            }
        }
    }
    assert!(tested > shown, "{tested} blocks are tested, {shown} are not");
}

#[test]
fn the_blocks_of_the_book_print_what_it_says() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        if text.contains("$ curl ") && binary::installed("curl", &name(&page)).is_none() {
            continue;
        }
        wrong.extend(differs(&page));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A line without what stands before and after it.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

#[test]
fn the_rust_code_of_the_book_is_that_of_a_test() {
    let source = read(&root().join("tests/structure/embedding.rs"));
    let source = lines(&source);
    let page = root().join("docs/getting-started/rust.md");
    let shown: Vec<Block> = blocks(&read(&page)).into_iter().filter(|block| block.info == "rust").collect();
    assert!(shown.len() >= 3, "{} blocks of Rust", shown.len());
    for block in shown {
        let wanted = lines(&block.text);
        assert!(
            source.windows(wanted.len()).any(|part| part == wanted),
            "tests/structure/embedding.rs does not have\n{}",
            block.text
        );
    }
}
