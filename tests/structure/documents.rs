//! What the documents say can be done: commands exist, links lead somewhere, tables are those of the code.

use std::path::Path;

use dormouse::ErrorCode;
use dormouse_tests::binary;

use super::{files, name, read, root};

#[test]
fn the_table_of_errors_is_that_of_the_code() {
    let text = read(&root().join("docs/errors.md"));
    let rows: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
            let code = cells.first()?.trim_end_matches('`');
            assert!(
                cells.len() == 4 && cells.iter().all(|cell| !cell.trim().is_empty()),
                "a cell is empty: {line}"
            );
            Some((code.to_owned(), cells[2].to_owned()))
        })
        .collect();
    let wanted: Vec<(String, String)> = ErrorCode::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), code.exit_status().to_string()))
        .collect();
    assert_eq!(rows, wanted);
}

/// The lines of fenced blocks of shell commands.
fn commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(language) = line.trim().strip_prefix("```") {
            let language = language.split_whitespace().next().unwrap_or_default();
            inside = !inside && ["sh", "console", "bash"].contains(&language);
            continue;
        }
        let command = line.trim().trim_start_matches("$ ");
        if inside && (command.starts_with("cargo xtask ") || command.starts_with("dormouse ")) {
            // What stands in quotes is a program's own.
            let bare = command.split('\'').step_by(2).collect::<Vec<_>>().join("''");
            found.push(bare.split(" #").next().unwrap_or_default().trim().to_owned());
        }
    }
    found
}

/// The help of a command, which must exist.
fn help(program: &Path, words: &[&str]) -> String {
    let ran = binary::finish(binary::started(program, &[words, &["--help"]].concat()), b"");
    assert_eq!(ran.status, Some(0), "{} {words:?}: {}", program.display(), ran.complaint());
    ran.text()
}

#[test]
fn the_commands_of_the_documents_exist_with_their_options() {
    let dormouse = binary::path();
    let xtask = dormouse.with_file_name("xtask");
    assert!(
        xtask.exists(),
        "`xtask` has not been built: run `cargo build --release --workspace --bins` first"
    );
    let mut seen = 0;
    for file in files(&["md"]) {
        for command in commands(&read(&file)) {
            let words: Vec<&str> = command.split_whitespace().collect();
            let (program, words) =
                if words[0] == "cargo" { (&xtask, &words[2..]) } else { (&dormouse, &words[1..]) };
            let Some(verb) = words.first().filter(|word| !word.starts_with('-')) else { continue };
            // The benchmark and the torture have options of their own.
            let mut text = help(program, &[verb]);
            // `mcp < talk.jsonl` has none.
            let below =
                words.get(1).filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic()));
            if let Some(below) = below.filter(|_| text.contains("\nCommands:")) {
                text = help(program, &[verb, below]);
            }
            let options =
                words.iter().take_while(|word| **word != "--").filter(|word| word.starts_with("--"));
            for option in options.filter(|_| !["bench", "torture"].contains(verb)) {
                let option = option.split('=').next().unwrap_or_default();
                assert!(text.contains(option), "{}: `{command}`: no {option}", name(&file));
            }
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} commands were found");
}

#[test]
fn the_readme_leads_with_the_packages_and_has_two_commands() {
    let text = read(&root().join("README.md"));
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("the README lacks {what}"));
    let order =
        ["pip install ", "npm install ", "```rust", "apt install ", "cargo xtask setup", "cargo xtask test"];
    assert!(order.map(place).is_sorted(), "{order:?}");
    assert!(!text.contains("@@"), "a place of the README is not filled in");
}

/// Names that belong to others in the registries, or to nobody yet.
const NOT_PUBLISHED: [&str; 3] = ["dormouse", "dormouse-sandbox", "dormouse_sandbox"];
/// What fetches a package from a registry when it is given a name, and the word that keeps it from that.
const FETCH: [(&str, &str); 9] = [
    ("pip install ", ""),
    ("pipx install ", ""),
    ("uv tool install ", ""),
    ("uvx ", "--from"),
    ("npm install ", ""),
    ("npm i ", ""),
    ("npx ", "--no "),
    ("cargo install ", "--path"),
    ("docker run ", "--pull never"),
];

#[test]
fn no_command_fetches_a_package_of_somebody_elses() {
    let mut wrong = Vec::new();
    for file in files(&["md", "rs", "py", "ts", "json", "toml"]) {
        // This file lists them.
        if name(&file) == "tests/structure/documents.rs" {
            continue;
        }
        for line in read(&file).lines() {
            for (command, unless) in FETCH {
                let Some((_, rest)) = line.split_once(command) else { continue };
                let rest = rest.split(['`', '"', '|', '&']).next().unwrap_or_default();
                let is_kept = !unless.is_empty() && rest.contains(unless.trim_end());
                // A tag or a version may follow a name.
                let names = rest
                    .split_whitespace()
                    .map(|word| word.split(['@', ':', '=']).next().unwrap_or_default());
                if !is_kept && names.into_iter().any(|name| NOT_PUBLISHED.contains(&name)) {
                    wrong.push(format!("{}: {}", name(&file), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for file in files(&["md"]) {
        for target in read(&file).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let elsewhere = target.contains("://") || path.is_empty() || path.contains(' ');
            if !elsewhere && !file.parent().is_some_and(|folder| folder.join(path).exists()) {
                broken.push(format!("{} -> {target}", name(&file)));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_crate_is_named_in_the_architecture() {
    let text = read(&root().join("docs/ARCHITECTURE.md"));
    for room in [
        "runtime/types",
        "runtime/core",
        "runtime/files",
        "runtime/store",
        "runtime/wasm",
        "runtime/dormouse",
        "adapters/archives",
        "adapters/tools",
        "adapters/mcp",
        "adapters/models",
        "adapters/packages",
        "adapters/rest",
        "adapters/cli",
        "tools/chores",
        "tools/guests",
        "tools/precompile",
        "tools/suites",
        "tools/engine",
        "xtask",
    ] {
        assert!(text.contains(&format!("`{room}`")), "{room} is not in docs/ARCHITECTURE.md");
    }
}

#[test]
fn the_numbers_of_the_specification_are_those_of_the_code() {
    let text = read(&root().join("docs/SPECIFICATION.md"));
    let (defaults, ceiling) = (dormouse::Limits::default(), dormouse::Limits::ceiling());
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    for (row, cells) in [
        (
            "| wall clock |",
            vec![format!("{} s", defaults.wall.as_secs()), format!("{} s", ceiling.wall.as_secs())],
        ),
        ("| memory, all", vec![mib(defaults.memory), mib(dormouse::Limits::MIN_MEMORY), mib(ceiling.memory)]),
        ("| output kept", vec![format!("{} KiB", defaults.output >> 10), mib(ceiling.output)]),
        ("| bytes of its own", vec![mib(defaults.disk)]),
        ("| source text", vec![mib(dormouse::EvalRequest::MAX_CODE as u64)]),
    ] {
        let line =
            text.lines().find(|line| line.starts_with(row)).unwrap_or_else(|| panic!("no row `{row}`"));
        for cell in cells {
            assert!(line.contains(&cell), "`{cell}` is not in: {line}");
        }
    }
}

/// S2-13: what each provider can do is told as the code has it.
#[test]
fn the_abilities_of_the_providers_are_those_of_the_code() {
    let text = read(&root().join("docs/providers.md"));
    let table = dormouse::Abilities::table(&[
        ("wasm", dormouse::wasm::ABILITIES),
        ("docker", dormouse_docker::ABILITIES),
        ("kubernetes", dormouse_kubernetes::abilities(dormouse_kubernetes::Mode::Pods)),
    ]);
    assert!(text.contains(&table), "docs/providers.md has another table than this one:\n{table}");
}

/// Every line of the checklist has a verdict, and what shows it is a test that there is.
#[test]
fn the_requirements_have_verdicts_and_the_tests_that_show_them() {
    const VERDICTS: [&str; 4] = ["met", "partly", "deviates", "missing"];
    const LINES: [(&str, usize); 5] = [("S0", 40), ("S1", 41), ("S2", 31), ("S3", 21), ("S4", 19)];
    let text = read(&root().join("docs/requirements.md"));
    let (mut lines, mut counts) = (Vec::new(), [0; VERDICTS.len()]);
    for row in text.lines().filter(|line| line.starts_with("| S")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [line, _, verdict, shown] = cells[..] else { panic!("not four cells: {row}") };
        lines.push(line.to_owned());
        let word = verdict.split(':').next().unwrap_or_default();
        let at =
            VERDICTS.iter().position(|known| *known == word).unwrap_or_else(|| panic!("no verdict: {row}"));
        counts[at] += 1;
        assert_eq!(shown == "-", word == "missing", "what is missing has no test, all else has: {row}");
        for test in shown.split(", ").filter(|shown| *shown != "-") {
            let (file, function) =
                test.trim_matches('`').split_once("::").unwrap_or_else(|| panic!("no test: {row}"));
            let source = read(&root().join(file));
            assert!(
                source.contains(&format!("fn {function}()")),
                "there is no `{function}` in {file}: {row}"
            );
        }
    }
    let wanted: Vec<String> = LINES
        .iter()
        .flat_map(|(seed, count)| (1..=*count).map(move |number| format!("{seed}-{number:02}")))
        .collect();
    assert_eq!(lines, wanted);
    let [met, partly, deviates, missing] = counts;
    let told = format!(
        "Of {}, {met} are met, {partly} partly, {deviates} deviate on purpose and {missing} are missing.",
        lines.len()
    );
    assert!(text.contains(&told), "the numbers are others: {told}");
}
