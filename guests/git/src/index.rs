//! What the index says of paths.

use git2::Index;

/// Whether a path is that of a tracked file. The root is none, and must not be looked up.
pub(crate) fn tracked(index: &Index, path: &str) -> bool {
    !path.is_empty() && index.get_path(path.as_ref(), 0).is_some()
}

/// Whether tracked files lie below a path.
pub(crate) fn is_folder_of(index: &Index, path: &str) -> bool {
    path.is_empty() || index.find_prefix(format!("{path}/")).is_ok()
}
