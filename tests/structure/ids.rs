//! An id that a comment or a document cites stands in this repository: a line of docs/requirements.md (`S0-01`), or a case of
//! docs/THREAT_MODEL.md (`CPU-01`, whose families `abuse_ids` looks at).

use std::collections::BTreeSet;

use super::{files, name, read, root};

/// The letters and digits before the hyphen, and the digits after it.
fn parts(word: &str) -> Option<(&str, &str)> {
    let (family, number) = word.split_once('-')?;
    let is_number = (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && family.starts_with(|letter: char| letter.is_ascii_uppercase())).then_some((family, number))
}

fn is_requirement(family: &str) -> bool {
    family.len() == 2 && family.starts_with('S') && family.ends_with(|letter: char| letter.is_ascii_digit())
}

#[test]
fn cited_ids_stand_in_this_repository() {
    let text = read(&root().join("docs/requirements.md"));
    let lines: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()).collect();
    assert!(lines.contains("S0-01") && lines.len() > 100, "{} lines of requirements", lines.len());
    let mut stray = Vec::new();
    for file in files(&["rs", "md", "py", "c", "h", "js", "wit", "toml"]) {
        let is_prose = file.extension().is_some_and(|extension| extension == "md");
        for (number, line) in read(&file).lines().enumerate() {
            let start = line.trim_start();
            let is_comment = is_prose || ["//", "#", "*", "/*"].iter().any(|mark| start.starts_with(mark));
            for word in line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-') {
                let Some((family, _)) = parts(word) else { continue };
                let is_unknown = is_requirement(family) && !lines.contains(word);
                // A list of which nothing but its letter is known here.
                let is_foreign = is_comment && family.len() == 1;
                if is_unknown || is_foreign {
                    stray.push(format!("{}:{}: {word}", name(&file), number + 1));
                }
            }
        }
    }
    assert!(stray.is_empty(), "these ids stand nowhere else: {stray:#?}");
}

#[test]
fn tests_that_are_named_by_a_requirement_name_one() {
    let text = read(&root().join("docs/requirements.md"));
    for file in files(&["rs"]) {
        for line in read(&file).lines() {
            let Some((_, function)) = line.split_once("fn s") else { continue };
            let mut words = function.split('_');
            let (Some(family), Some(number)) = (words.next(), words.next()) else { continue };
            let is_id = family.len() == 1 && number.len() == 2;
            if is_id && format!("{family}{number}").bytes().all(|byte| byte.is_ascii_digit()) {
                assert!(text.contains(&format!("| S{family}-{number} |")), "{}: s{function}", name(&file));
            }
        }
    }
}
