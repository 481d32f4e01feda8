//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use std::collections::BTreeMap;

use dormouse_core::Result;
use serde_json::{Map, Value as Json};

use crate::{Plan, template};

/// Reads an arena and scenarios from their texts. Files that they name are not read.
///
/// # Errors
/// As [`Plan::load`].
pub fn plan(texts: &[&str]) -> Result<Plan> {
    Plan::of_texts(texts)
}

/// Fills the templates of a tool's arguments in.
///
/// # Errors
/// `template_missing_key`, `too_large`.
pub fn fill(
    arguments: &Map<String, Json>,
    variables: &BTreeMap<String, String>,
) -> Result<Map<String, Json>> {
    template::fill(arguments, variables)
}
