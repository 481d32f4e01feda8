//! Paths inside a sandbox, and what may be done below them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An absolute path inside the sandbox, such as `/workspace/data`. The one place that refuses `..`, `.`, empty
/// components, NUL and over-long names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GuestPath(String);

impl GuestPath {
    /// Longest path, in bytes.
    pub const MAX_BYTES: usize = 4096;
    /// Longest component, in bytes.
    pub const MAX_COMPONENT: usize = 255;

    /// Reads a path. A trailing slash is refused, except in `/` itself.
    ///
    /// # Errors
    /// `args_invalid`, naming the path as sent.
    pub fn parse(path: &str) -> Result<Self> {
        let refuse = |why: &str| {
            Err(Error::args_invalid(format!("`{}` is not a sandbox path: {why}", path.escape_debug()))
                .with_hint("use an absolute path such as `/workspace/data`"))
        };
        if path.len() > Self::MAX_BYTES {
            return Err(Error::args_invalid(format!(
                "a sandbox path of {} bytes is longer than {}",
                path.len(),
                Self::MAX_BYTES
            )));
        }
        let Some(rest) = path.strip_prefix('/') else { return refuse("it is not absolute") };
        if rest.is_empty() {
            return Ok(Self(path.into()));
        }
        for part in rest.split('/') {
            match part {
                "" => return refuse("it has an empty component"),
                "." | ".." => return refuse("it has a `.` or `..` component"),
                _ if part.contains('\0') => return refuse("it holds a NUL byte"),
                _ if part.len() > Self::MAX_COMPONENT => {
                    return refuse("a component is longer than 255 bytes");
                }
                _ => {}
            }
        }
        Ok(Self(path.into()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for GuestPath {
    type Error = Error;
    fn try_from(path: String) -> Result<Self> {
        Self::parse(&path)
    }
}

impl From<GuestPath> for String {
    fn from(path: GuestPath) -> Self {
        path.0
    }
}

/// What may be done below a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Look and read.
    #[default]
    ReadOnly,
    /// Look, read, create, change and remove.
    ReadWrite,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guest_paths_that_lead_elsewhere_are_refused() {
        for bad in ["", "a", "../a", "/a/../b", "/a/./b", "/a//b", "/a/", "/a\0", "//", "/a/.."] {
            assert!(GuestPath::parse(bad).is_err(), "{bad:?}");
        }
        assert!(GuestPath::parse(&format!("/{}", "a".repeat(256))).is_err());
        assert!(GuestPath::parse(&"/a".repeat(2049)).is_err());
        for good in ["/", "/a", "/a/b c/ü", "/..a"] {
            assert_eq!(GuestPath::parse(good).unwrap().as_str(), good);
        }
    }
}
