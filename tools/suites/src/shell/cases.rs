//! The cases of `tests/shell/cases`: one file for each category, one case after each `## name` line.
//!
//! ```text
//! # Lines before the first case say what the category holds.
//!
//! ## name-of-a-case
//! # files: people.csv logs/access.log
//! # stderr: compared
//! sort -t, -k2 people.csv | head -1
//! ```
//!
//! `# files:` names files of `tests/shell/files` that lie in the working folder before the script runs. With
//! `# stderr: compared` the text of standard error counts too, not only whether there is any.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

/// A script that both shells run.
pub(crate) struct Case {
    /// `category/name`.
    pub(crate) name: String,
    pub(crate) script: String,
    /// Paths below `tests/shell/files`.
    pub(crate) files: Vec<String>,
    pub(crate) compares_stderr: bool,
}

/// Reads every category of a folder, in the order of their names.
///
/// # Errors
///
/// A folder or file that cannot be read, a name that is used twice, and a case without a script.
pub(crate) fn load(folder: &Path) -> Result<Vec<Case>> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sh"));
    paths.sort();
    let mut cases: Vec<Case> = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let category = path.file_stem().unwrap_or_default().to_string_lossy();
        for case in parse(&category, &text).with_context(|| path.display().to_string())? {
            ensure!(cases.iter().all(|other| other.name != case.name), "`{}` is there twice", case.name);
            cases.push(case);
        }
    }
    Ok(cases)
}

fn parse(category: &str, text: &str) -> Result<Vec<Case>> {
    let head = format!("\n{text}");
    head.split("\n## ").skip(1).map(|part| case(category, part)).collect()
}

fn case(category: &str, part: &str) -> Result<Case> {
    let (name, mut script) = part.split_once('\n').unwrap_or((part, ""));
    let name = format!("{category}/{}", name.trim());
    let (mut files, mut compares_stderr) = (Vec::new(), false);
    while let Some(line) = script.lines().next() {
        if let Some(named) = line.strip_prefix("# files: ") {
            files = named.split_whitespace().map(str::to_owned).collect();
        } else if line == "# stderr: compared" {
            compares_stderr = true;
        } else {
            break;
        }
        script = script.split_once('\n').map_or("", |(_, rest)| rest);
    }
    let script = format!("{}\n", script.trim_end_matches('\n'));
    ensure!(!script.trim().is_empty(), "`{name}` has no script");
    Ok(Case { name, script, files, compares_stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_cut_at_their_names() {
        let text = "# head\n\n## a\n# files: x y/z\n# stderr: compared\n# a comment\necho 1\n\necho 2\n\n## b\ntrue\n";
        let cases = parse("c", text).unwrap();
        let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["c/a", "c/b"]);
        assert_eq!(cases[0].script, "# a comment\necho 1\n\necho 2\n");
        assert_eq!(cases[0].files, ["x", "y/z"]);
        assert!(cases[0].compares_stderr && !cases[1].compares_stderr);
    }

    #[test]
    fn a_case_has_a_script() {
        assert!(parse("c", "## a\n\n## b\ntrue\n").is_err());
    }
}
