//! What the fuzz targets of `tests/fuzz` reach of this module.

use dormouse_core::{Error, Result};
use pep440_rs::Version;
use pep508_rs::PackageName;
use reqwest::Url;

use super::metadata::Metadata;
use super::page;
use super::requirement::{self, Environment, Wanted};
use super::wheel::{Candidate, Project};
use crate::source::Page;

/// The files that a page of `kind` offers of the project `name`, by version; none for what is no page.
pub fn page(body: &[u8], kind: &str) -> Option<Vec<(String, String)>> {
    let url = Url::parse("http://localhost/simple/name/").ok()?;
    let files = page::read(&Page { kind: kind.into(), url, body: body.to_vec() })?;
    let (name, environment): (PackageName, _) = ("name".parse().ok()?, Environment::new("3.14.0").ok()?);
    let project = Project::new(&name, files, &environment, None, true);
    let filename = |candidate| match candidate {
        Candidate::Wheel(wheel) => wheel.filename,
        Candidate::Sdist(sdist) => sdist.filename,
        Candidate::Built => String::new(),
    };
    Some(project.candidates.into_iter().map(|(version, one)| (version.to_string(), filename(one))).collect())
}

/// The requirements of a `METADATA` of `name` 1.0.
///
/// # Errors
/// `args_invalid`: why it cannot be taken.
pub fn metadata(text: &[u8]) -> Result<Vec<String>> {
    let bad = |_| Error::args_invalid("no name");
    let name: PackageName = "name".parse().map_err(bad)?;
    let environment = Environment::new("3.14.0")?;
    let read = Metadata::read(text, &name, &Version::new([1, 0]), &environment);
    match read.unusable {
        Some(why) => Err(Error::args_invalid(why)),
        None => Ok(read.requires.iter().map(ToString::to_string).collect()),
    }
}

/// A requirement, written anew; and whether this Python's markers take it.
///
/// # Errors
/// `args_invalid`, `capability_unavailable`.
pub fn requirement(text: &str) -> Result<(String, bool)> {
    let environment = Environment::new("3.14.0")?;
    let _hashed = Wanted::parse(&[text.to_owned()], &[text.to_owned()], &environment);
    let requirement = requirement::parse(text)?;
    let _range = requirement::range(&requirement);
    let applies = environment.applies(&requirement.marker, &[]);
    Ok((requirement.to_string(), applies))
}
