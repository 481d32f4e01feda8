//! Every abuse case of docs/THREAT_MODEL.md has a test whose name begins with its id, and every such test has a case.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, name, read, root};

/// The ids of the table, in capitals: `CPU-01`.
fn cases() -> BTreeSet<String> {
    let text = read(&root().join("docs/THREAT_MODEL.md"));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let ids: Vec<String> = rows.map(|(id, _)| id.to_owned()).filter(|id| is_id(id)).collect();
    let unique: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!(ids.len(), unique.len(), "an id stands in the table twice");
    assert!(unique.len() > 30, "the table has only {} rows", unique.len());
    unique
}

fn is_id(text: &str) -> bool {
    let Some((family, number)) = text.split_once('-') else { return false };
    (2..=3).contains(&family.len())
        && family.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.len() == 2
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Every test function whose name begins like an id: the id, and where it stands.
fn tests() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files(&["rs", "py", "mjs"]) {
        let text = read(&file);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        // Those of a list have their attribute where they are run.
        let listed = name(&file).contains("tests/list/").then_some("pub(crate) async fn ");
        let is_test = |before: &str| before == "#[test]" || before.starts_with("#[tokio::test");
        let functions = lines.windows(2).filter_map(|pair| match listed {
            Some(begins) => pair[1].strip_prefix(begins),
            None if is_test(pair[0]) => pair[1].trim_start_matches("async ").strip_prefix("fn "),
            None => None,
        });
        let in_python =
            lines.iter().filter_map(|line| line.trim_start_matches("async ").strip_prefix("def test_"));
        let in_javascript = lines.iter().filter_map(|line| line.strip_prefix("test(\""));
        for function in functions.chain(in_python).chain(in_javascript) {
            let mut words = function.split(['_', '-', ':']);
            let id = match (words.next(), words.next()) {
                (Some(family), Some(number)) => format!("{}-{number}", family.to_uppercase()),
                _ => continue,
            };
            // `s3_02` is a line of the requirements, not a case of the model.
            if is_id(&id) && !family_is_requirement(&id) {
                found.entry(id).or_default().push(format!("{} {function}", name(&file)));
            }
        }
    }
    found
}

fn family_is_requirement(id: &str) -> bool {
    id.starts_with('S') && id.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
}

#[test]
fn every_abuse_case_has_a_test() {
    let tests = tests();
    let missing: Vec<String> = cases().into_iter().filter(|id| !tests.contains_key(id)).collect();
    assert!(missing.is_empty(), "no test is named by {missing:?}");
}

#[test]
fn every_abuse_test_has_a_case() {
    let cases = cases();
    let stray: Vec<_> = tests().into_iter().filter(|(id, _)| !cases.contains(id)).collect();
    assert!(stray.is_empty(), "docs/THREAT_MODEL.md knows nothing of {stray:?}");
}

#[test]
fn ids_that_documents_and_comments_mention_exist() {
    let cases = cases();
    for file in files(&["rs", "md"]) {
        for word in read(&file).split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-') {
            let family = word.split('-').next().unwrap_or_default();
            let ours = cases.iter().any(|id| id.split('-').next() == Some(family));
            assert!(
                !ours || !is_id(word) || cases.contains(word),
                "{} mentions {word}, which is no case",
                name(&file)
            );
        }
    }
}
