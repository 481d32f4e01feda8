//! Private checks for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use crate::Tree;

/// What keeps a tree from being one.
///
/// # Errors
/// The first damage, in words.
pub fn audit(tree: &Tree) -> Result<(), String> {
    tree.audit(tree.unnamed)
}
