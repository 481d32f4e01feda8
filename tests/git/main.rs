//! git.
