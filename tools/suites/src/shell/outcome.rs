//! What a script did, and how two shells differ in it.

use std::collections::BTreeMap;

use super::cases::Case;

/// Characters of each side that a difference shows.
const SHOWN: usize = 160;

/// What can lie in the working folder.
#[derive(PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    File(Vec<u8>),
    /// A symbolic link; its target is not compared.
    Link,
}

/// What a script left behind. Bytes that are not UTF-8 are U+FFFD in the texts, on both sides.
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit_code: i64,
    /// By path below the working folder.
    pub(crate) files: BTreeMap<String, Entry>,
}

impl Outcome {
    /// What differs from what the real shell did, in words; none when nothing does.
    pub(crate) fn difference(&self, real: &Self, case: &Case) -> Option<String> {
        let mut found = Vec::new();
        if self.stdout != real.stdout {
            found.push(format!("stdout {} instead of {}", quoted(&self.stdout), quoted(&real.stdout)));
        }
        if self.exit_code != real.exit_code {
            found.push(format!("exit status {} instead of {}", self.exit_code, real.exit_code));
        }
        let said = |outcome: &Self| !outcome.stderr.is_empty();
        if said(self) != said(real) || (case.compares_stderr && self.stderr != real.stderr) {
            found.push(format!("stderr {} instead of {}", quoted(&self.stderr), quoted(&real.stderr)));
        }
        found.extend(self.files_that_differ(real));
        (!found.is_empty()).then(|| found.join("; "))
    }

    fn files_that_differ<'a>(&'a self, real: &'a Self) -> impl Iterator<Item = String> + 'a {
        let missing = real.files.keys().filter(|path| !self.files.contains_key(*path));
        let missing = missing.map(|path| format!("no file `{path}`"));
        let other = self.files.iter().filter_map(|(path, entry)| match (real.files.get(path), entry) {
            (None, _) => Some(format!("one file more: `{path}`")),
            (Some(wanted), entry) if wanted == entry => None,
            (Some(Entry::File(wanted)), Entry::File(bytes)) => {
                let text = |bytes: &[u8]| quoted(&String::from_utf8_lossy(bytes));
                Some(format!("`{path}` holds {} instead of {}", text(bytes), text(wanted)))
            }
            _ => Some(format!("`{path}` is of another kind")),
        });
        missing.chain(other)
    }
}

/// The text around what matters, in one line.
fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{shown:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(stdout: &str, stderr: &str, files: &[(&str, &str)]) -> Outcome {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), Entry::File(text.as_bytes().to_vec())))
            .collect();
        Outcome { stdout: stdout.into(), stderr: stderr.into(), exit_code: 0, files }
    }

    fn case(compares_stderr: bool) -> Case {
        Case { name: "a/b".into(), script: "true\n".into(), files: Vec::new(), compares_stderr }
    }

    #[test]
    fn the_text_of_standard_error_counts_only_when_asked_for() {
        let (one, other) = (outcome("a", "x", &[]), outcome("a", "y", &[]));
        assert_eq!(one.difference(&other, &case(false)), None);
        assert!(one.difference(&other, &case(true)).is_some());
        assert!(one.difference(&outcome("a", "", &[]), &case(false)).is_some());
    }

    #[test]
    fn output_and_files_are_compared() {
        let real = outcome("a\n", "", &[("f", "1"), ("g", "2")]);
        assert_eq!(outcome("a\n", "", &[("f", "1"), ("g", "2")]).difference(&real, &case(false)), None);
        let other = outcome("b\n", "", &[("f", "3"), ("h", "2")]);
        let said = other.difference(&real, &case(false)).unwrap();
        for part in ["stdout \"b\\n\" instead of \"a\\n\"", "no file `g`", "`f` holds", "one file more: `h`"]
        {
            assert!(said.contains(part), "{said}");
        }
    }
}
