//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use crate::Allowed;
use crate::address::repository;

/// The address that is asked for, if `allowed` covers it.
pub fn covered(text: &str, allowed: &Allowed) -> Option<String> {
    repository(text).filter(|url| allowed.covers(url)).map(|url| url.to_string())
}
