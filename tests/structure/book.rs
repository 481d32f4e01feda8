//! The book: its table of contents names every page, links lead to sections that exist, and newcomers find their way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::{files, name, read, root};

/// What a stranger looks for, and the pages that have it. Each is at most two clicks from the README.
const WANTED: [&str; 9] = [
    "docs/getting-started/first-sandbox.md",
    "docs/concepts/request.md",
    "docs/contributing/add-a-tool.md",
    "docs/contributing/change-a-guest.md",
    "docs/reference/calls.md",
    "docs/reference/cli.md",
    "docs/concepts/life.md",
    "docs/contributing/release.md",
    "examples/README.md",
];
/// Most lines of the README.
const README: usize = 135;

/// The lines of a document that are prose: fenced blocks are left empty, and so is what stands in backticks.
fn prose(text: &str) -> Vec<String> {
    let mut fence = None;
    text.lines()
        .map(|line| {
            let start = line.trim_start();
            let ticks = start.chars().take_while(|letter| *letter == '`').count();
            match fence {
                None if ticks >= 3 => fence = Some(ticks),
                None => return line.split('`').step_by(2).collect(),
                Some(open) if ticks >= open && start.trim_end().len() == ticks => fence = None,
                Some(_) => {}
            }
            String::new()
        })
        .collect()
}

/// Where the links and images of a document lead, as they are written.
fn links(text: &str) -> Vec<String> {
    prose(text)
        .iter()
        .flat_map(|line| line.split("](").skip(1).map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()))
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// The names of a document's sections, as mdBook and source hosts make them.
fn sections(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let Some((marks, title)) = line.split_once(' ').filter(|_| !fenced) else { continue };
        if marks.is_empty() || !marks.bytes().all(|byte| byte == b'#') {
            continue;
        }
        let id: String = title
            .trim()
            .chars()
            .filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        let count = times.entry(id.clone()).or_default();
        found.insert(if *count == 0 { id } else { format!("{id}-{count}") });
        *count += 1;
    }
    found
}

/// Where a link of a file leads: the file and the section.
fn target(file: &Path, link: &str) -> (PathBuf, String) {
    let (path, section) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() {
        return (file.to_owned(), section.to_owned());
    }
    let mut whole = file.parent().unwrap_or(file).to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    (whole, section.to_owned())
}

/// The pages below docs, but for the table of contents.
fn pages() -> Vec<PathBuf> {
    let docs = root().join("docs");
    let all = files(&["md"]).into_iter().filter(|file| file.starts_with(&docs));
    all.filter(|file| *file != docs.join("SUMMARY.md")).collect()
}

#[test]
fn the_table_of_contents_names_every_page_once() {
    let summary = root().join("docs/SUMMARY.md");
    let named: Vec<String> =
        links(&read(&summary)).iter().map(|link| name(&target(&summary, link).0)).collect();
    let once: BTreeSet<String> = named.iter().cloned().collect();
    assert_eq!(named.len(), once.len(), "a page is named twice: {named:?}");
    let there: BTreeSet<String> = pages().iter().map(|page| name(page)).collect();
    assert_eq!(once, there);
}

#[test]
fn links_lead_to_files_and_sections_that_exist() {
    let mut broken = Vec::new();
    for file in files(&["md"]) {
        for link in links(&read(&file)) {
            let (path, section) = target(&file, &link);
            let is_page = path.extension().is_some_and(|extension| extension == "md");
            let fits = if !path.exists() {
                false
            } else {
                section.is_empty() || !is_page || sections(&read(&path)).contains(&section)
            };
            if !fits {
                broken.push(format!("{} -> {link}", name(&file)));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn what_pages_include_exists() {
    for page in pages() {
        for part in read(&page).split("{{#include ").skip(1) {
            let (argument, _) = part.split_once("}}").expect("an include ends");
            let (path, anchor) = argument.split_once(':').unwrap_or((argument, ""));
            let (file, _) = target(&page, path);
            assert!(file.is_file(), "{} includes {argument}", name(&page));
            let by_name = anchor.starts_with(|letter: char| letter.is_ascii_alphabetic());
            let text = read(&file);
            assert!(
                !by_name
                    || ["ANCHOR", "ANCHOR_END"]
                        .iter()
                        .all(|mark| text.contains(&format!("{mark}: {anchor} "))),
                "{}: {} has no part `{anchor}`",
                name(&page),
                name(&file)
            );
        }
    }
}

#[test]
fn the_readme_is_short_and_two_clicks_from_what_newcomers_want() {
    let readme = root().join("README.md");
    let text = read(&readme);
    assert!(text.lines().count() <= README, "the README has {} lines", text.lines().count());
    let from = |file: &Path| -> BTreeSet<PathBuf> {
        links(&read(file)).iter().map(|link| target(file, link).0).collect()
    };
    let first = from(&readme);
    let pages = first.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let second: BTreeSet<PathBuf> = pages.flat_map(|page| from(page)).collect();
    for wanted in WANTED {
        let path = root().join(wanted);
        assert!(first.contains(&path) || second.contains(&path), "{wanted} is more than two clicks away");
    }
}

#[test]
fn every_phase_of_the_tests_is_explained_to_contributors() {
    let text = read(&root().join("CONTRIBUTING.md"));
    let source = read(&root().join("xtask/src/test.rs"));
    let list = source.split("const DEFAULT: ").nth(1).and_then(|rest| rest.split("];").next());
    let phases: Vec<String> = list
        .expect("the phases that run by default")
        .split("Phase::")
        .skip(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>())
        .map(|phase| {
            let small = |letter: char| match letter.is_ascii_uppercase() {
                true => format!("-{}", letter.to_ascii_lowercase()),
                false => letter.to_string(),
            };
            phase.chars().map(small).collect::<String>().trim_start_matches('-').to_owned()
        })
        .collect();
    assert!(phases.len() > 10, "{phases:?}");
    for phase in phases {
        assert!(
            text.contains(&format!("| `{phase}` |")),
            "CONTRIBUTING.md says nothing of the phase {phase}"
        );
    }
}
