//! Requirements from the files that projects keep them in.

use serde_json::Value as Json;

use super::{Group, PackageRequest};
use crate::{Error, ErrorCode, Result};

/// Largest list, in bytes (1 MiB).
const MAX: usize = 1 << 20;

/// One line of a `requirements.txt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementsLine {
    /// A requirement, with its `--hash` options; `-e PATH` for a project that stays where it is.
    Requirement(String),
    /// `-r FILE`: the requirements of another file, named as seen from this one.
    Requirements(String),
    /// `-c FILE`: the constraints of another file, likewise.
    Constraints(String),
}

/// The lines of a `requirements.txt`: comments, continued lines, `--hash`, `-r`, `-c` and `-e` are understood.
///
/// # Errors
/// `args_invalid` for any other option (`--index-url`), naming the line; `too_large` past 1 MiB or
/// [`PackageRequest::MAX_REQUIREMENTS`].
pub fn requirements_txt(text: &str) -> Result<Vec<RequirementsLine>> {
    bounded(text.len())?;
    let mut found = Vec::new();
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut whole = line.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push_str(next);
        }
        // A comment begins the line, or follows white space.
        let end = whole
            .match_indices('#')
            .map(|(at, _)| at)
            .find(|at| whole[..*at].chars().next_back().is_none_or(char::is_whitespace));
        let line = whole[..end.unwrap_or(whole.len())].trim();
        if line.is_empty() {
            continue;
        }
        found.push(match other_file(line) {
            Some(file) => file,
            None => {
                let editable = line.starts_with("-e ") || line.starts_with("--editable");
                let is_other = |word: &&str| word.starts_with('-') && !word.starts_with("--hash");
                let mut words = line.split_whitespace().skip(usize::from(editable));
                if let Some(option) = words.find(is_other) {
                    let shown: String = option.escape_debug().take(64).collect();
                    let message =
                        format!("line {} has the option `{shown}`, which is not supported", number + 1);
                    return Err(Error::args_invalid(message)
                        .with_hint("write one requirement a line; the index is the operator's"));
                }
                RequirementsLine::Requirement(line.to_owned())
            }
        });
        counted(found.len())?;
    }
    Ok(found)
}

/// The file that a line names with `-r` or `-c`.
fn other_file(line: &str) -> Option<RequirementsLine> {
    for (names, of) in [
        (["--requirement", "-r"], RequirementsLine::Requirements as fn(String) -> RequirementsLine),
        (["--constraint", "-c"], RequirementsLine::Constraints),
    ] {
        for name in names {
            let Some(rest) = line.strip_prefix(name) else { continue };
            let file = rest.trim_start_matches(['=', ' ', '\t']);
            let is_apart = file.len() < rest.len() || name.len() == 2;
            if is_apart && !file.is_empty() && !file.contains(char::is_whitespace) {
                return Some(of(file.to_owned()));
            }
        }
    }
    None
}

/// The requirements of a `package.json`: its `dependencies`, `optionalDependencies` and, unless `production`, its
/// `devDependencies`.
///
/// # Errors
/// `args_invalid` when it is no such file; `too_large` as [`requirements_txt`].
pub fn package_json(text: &str, production: bool) -> Result<Vec<String>> {
    let all = listed(text)?.into_iter().filter(|(group, _)| !(production && *group == Group::Dev));
    Ok(all.map(|(_, requirement)| requirement).collect())
}

/// The same, all of them, each with its list.
///
/// # Errors
/// As [`package_json`].
pub fn listed(text: &str) -> Result<Vec<(Group, String)>> {
    bounded(text.len())?;
    let bad = |why: &str| Error::args_invalid(format!("`package.json` {why}"));
    let parsed: Json = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| bad(&format!("is not JSON: line {}", error.line())))?;
    if !parsed.is_object() {
        return Err(bad("is no object"));
    }
    let mut found = Vec::new();
    for group in Group::ALL {
        let field = group.field();
        let named = match &parsed[field] {
            Json::Null => continue,
            Json::Object(named) => named,
            _ => return Err(bad(&format!("has a `{field}` that is not an object"))),
        };
        for (name, range) in named {
            let Some(range) = range.as_str() else { return Err(bad("has a range that is not a text")) };
            let range = if range.trim().is_empty() { "*" } else { range };
            found.push((group, format!("{name}@{range}")));
            counted(found.len())?;
        }
    }
    Ok(found)
}

fn bounded(bytes: usize) -> Result<()> {
    if bytes <= MAX {
        return Ok(());
    }
    Err(Error::new(ErrorCode::TooLarge, format!("a list of requirements has more than {MAX} bytes")))
}

fn counted(count: usize) -> Result<()> {
    let most = PackageRequest::MAX_REQUIREMENTS;
    if count <= most {
        return Ok(());
    }
    Err(Error::new(ErrorCode::TooLarge, format!("a list has more than {most} requirements")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirements_txt_is_read_as_pip_reads_it() {
        let text = "\u{feff}# all\nrequests>=2,<3  # why\n\n flask[async]==3.0 \\\n  --hash=sha256:00\nx; python_version < '3'\na#b\n";
        let found = requirements_txt(text).unwrap();
        let wanted =
            ["requests>=2,<3", "flask[async]==3.0   --hash=sha256:00", "x; python_version < '3'", "a#b"];
        assert_eq!(found, wanted.map(|text| RequirementsLine::Requirement(text.into())));
        let files =
            requirements_txt("-r a.txt\n--requirement=b.txt\n-c c.txt # why\n--constraint d.txt\n-re.txt")
                .unwrap();
        let (requirements, constraints) = (RequirementsLine::Requirements, RequirementsLine::Constraints);
        let name = |name: &str| name.to_owned();
        assert_eq!(
            files,
            [
                requirements(name("a.txt")),
                requirements(name("b.txt")),
                constraints(name("c.txt")),
                constraints(name("d.txt")),
                requirements(name("e.txt")),
            ]
        );
        for bad in [
            "-r",
            "-e",
            "-e . --pre",
            "x\n--index-url https://h",
            "x --pre",
            "-c c.txt d.txt",
            "--constrained a",
        ] {
            let error = requirements_txt(bad).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{bad}");
        }
        assert_eq!(requirements_txt(&"x\n".repeat(501)).unwrap_err().code(), ErrorCode::TooLarge);
        assert_eq!(requirements_txt(&" ".repeat(MAX + 1)).unwrap_err().code(), ErrorCode::TooLarge);
    }

    #[test]
    fn a_package_json_gives_its_three_lists() {
        let text = r#"{"dependencies": {"a": "^1"}, "devDependencies": {"b": ""}, "optionalDependencies": {"@s/c": "2"}}"#;
        assert_eq!(package_json(text, false).unwrap(), ["a@^1", "@s/c@2", "b@*"]);
        assert_eq!(package_json(text, true).unwrap(), ["a@^1", "@s/c@2"]);
        assert!(package_json("{}", false).unwrap().is_empty());
        for bad in ["", "[]", r#"{"dependencies": []}"#, r#"{"dependencies": {"a": 1}}"#] {
            assert_eq!(package_json(bad, false).unwrap_err().code(), ErrorCode::ArgsInvalid, "{bad}");
        }
    }
}
