//! What the fuzz targets of `tests/fuzz` reach of this module.

use dormouse_core::Result;
use reqwest::Url;

use super::document::Document;
use super::lock;
use super::spec::Spec;

/// The version of a document that a requirement takes, as text; none for what is no document.
pub fn document(text: &[u8], requirement: &str) -> Option<Result<String>> {
    let base = Url::parse("http://localhost/name").ok()?;
    let (document, spec) = (Document::read("name", text, &base)?, Spec::parse(requirement).ok()?);
    let _told = document.described(&spec);
    Some(document.pick(&spec).map(|manifest| manifest.version.to_string()))
}

/// The places of packages that a lock file names.
///
/// # Errors
/// As [`lock::read`].
pub fn lock(text: &str, wanted: &[String]) -> Result<Vec<String>> {
    for entry in lock::entries(text)? {
        let _told = lock::ties(&entry.about);
    }
    let locked = lock::read(text, wanted, true)?;
    Ok(locked.into_iter().map(|locked| locked.path).collect())
}

/// A requirement's folder in `node_modules`, its name in the registry, and its versions.
///
/// # Errors
/// `args_invalid`, `capability_unavailable`.
pub fn spec(text: &str) -> Result<(String, String, String)> {
    Spec::parse(text).map(|spec| (spec.name, spec.package, spec.text))
}
