//! What a version of a project says of itself.

use pep440_rs::Version;
use pep508_rs::{PackageName, Requirement};

use super::requirement::{self, Environment};

/// Most dependencies of a version, those of its extras included.
const MAX_REQUIRES: usize = 2_000;

/// Its dependencies, or why it cannot be taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) requires: Vec<Requirement>,
    pub(crate) unusable: Option<String>,
}

impl Metadata {
    /// Reads a `METADATA` file. What cannot be taken is told to the resolution, which may know another version.
    pub(crate) fn read(
        text: &[u8],
        name: &PackageName,
        version: &Version,
        environment: &Environment,
    ) -> Self {
        let unusable = |why: String| Self { requires: Vec::new(), unusable: Some(why) };
        let text = String::from_utf8_lossy(text);
        let mut requires = Vec::new();
        let (mut named, mut versioned) = (false, false);
        for (field, value) in fields(&text) {
            match field {
                "name" => named = value.parse::<PackageName>().is_ok_and(|found| found == *name),
                "version" => versioned = value.parse::<Version>().is_ok_and(|found| found == *version),
                "requires-python" if !environment.fits(Some(value)) => {
                    return unusable(format!("it requires Python {value}"));
                }
                "requires-dist" if requires.len() >= MAX_REQUIRES => {
                    return unusable(format!("it has more than {MAX_REQUIRES} dependencies"));
                }
                "requires-dist" => match requirement::parse(value) {
                    Ok(requirement) => requires.push(requirement),
                    Err(error) => return unusable(error.message().to_owned()),
                },
                _ => {}
            }
        }
        if !named || !versioned {
            return unusable("it describes itself as another package".into());
        }
        Self { requires, unusable: None }
    }

    /// Reads the requirements of what lies in the tree; what cannot be read is left out.
    pub(crate) fn present(requires: &[String]) -> Self {
        let requires =
            requires.iter().take(MAX_REQUIRES).filter_map(|text| requirement::parse(text).ok()).collect();
        Self { requires, unusable: None }
    }
}

/// The header's fields by their lower-case names, without continued lines.
fn fields(text: &str) -> impl Iterator<Item = (&'static str, &str)> {
    const NAMES: [&str; 4] = ["name", "version", "requires-python", "requires-dist"];
    text.lines().take_while(|line| !line.trim().is_empty()).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let name = NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name.trim()))?;
        Some((name, value.trim()))
    })
}
