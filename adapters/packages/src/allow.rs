//! Which packages the operator allows.

use dormouse_core::packages::PackageManager;
use dormouse_core::pattern::fits;
use dormouse_core::{Error, ErrorCode, Result};

/// Names of packages, exact or with `*` for any characters. An entry may begin with `pip:` or `npm:`; else it holds for
/// both. The default allows none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<(Option<PackageManager>, String)>);

impl AllowList {
    /// Most entries.
    pub const MAX: usize = 10_000;

    /// Reads entries: `requests`, `types-*`, `npm:@scope/*`, `pip:*`, `*`.
    ///
    /// # Errors
    /// `args_invalid` for an empty entry, one with characters that no name has, and too many.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut list = Vec::new();
        for entry in entries {
            let entry = entry.trim();
            let (manager, name) = match entry.split_once(':') {
                Some(("pip", name)) => (Some(PackageManager::Pip), name),
                Some(("npm", name)) => (Some(PackageManager::Npm), name),
                _ => (None, entry),
            };
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*@/~".contains(&byte);
            if name.is_empty() || name.len() > 256 || !name.bytes().all(plain) {
                let shown: String = entry.escape_debug().take(64).collect();
                return Err(Error::args_invalid(format!("`{shown}` is not the name of a package"))
                    .with_hint("write names, with `*` for any characters"));
            }
            list.push((manager, name.to_owned()));
        }
        if list.len() > Self::MAX {
            return Err(Error::args_invalid(format!("more than {} names of packages", Self::MAX)));
        }
        Ok(Self(list))
    }

    /// Whether a package is allowed. Python's names are compared as Python does: `Foo_Bar` is `foo-bar`.
    pub(crate) fn allows(&self, manager: PackageManager, name: &str) -> bool {
        let of_this = self.0.iter().filter(|(only, _)| only.is_none_or(|only| only == manager));
        of_this.into_iter().any(|(_, pattern)| match manager {
            PackageManager::Pip => fits(&normal(pattern), &normal(name)),
            PackageManager::Npm => fits(pattern, name),
        })
    }

    /// The entries, as they are written.
    pub(crate) fn entries(&self) -> Vec<String> {
        let written = |(only, name): &(Option<PackageManager>, String)| match only {
            Some(manager) => format!("{}:{name}", manager.as_str()),
            None => name.clone(),
        };
        self.0.iter().map(written).collect()
    }

    /// The error for one that is not.
    pub(crate) fn refused(manager: PackageManager, name: &str) -> Error {
        let message = format!("the operator does not allow the {} package `{name}`", manager.as_str());
        Error::new(ErrorCode::CapabilityUnavailable, message)
            .with_hint("have the operator add it to `--package-allow` (`DORMOUSE_PACKAGE_ALLOW`)")
    }
}

fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_or_have_stars() {
        let list = AllowList::parse(["requests", "types-*", "npm:@a/*", "pip:Foo_Bar", "a*b*c"]).unwrap();
        let (pip, npm) = (PackageManager::Pip, PackageManager::Npm);
        for name in ["requests", "Requests", "types-six", "types_six", "foo.bar", "abc", "axxbxbc"] {
            assert!(list.allows(pip, name), "{name}");
        }
        for name in ["request", "requests2", "@a/b", "types", "acb", ""] {
            assert!(!list.allows(pip, name), "{name}");
        }
        assert!(list.allows(npm, "@a/b") && !list.allows(npm, "@b/a") && !list.allows(npm, "foo-bar"));
        assert!(!AllowList::default().allows(npm, "x"));
        assert!(AllowList::parse(["*"]).unwrap().allows(npm, "@x/y"));
        assert!(AllowList::parse(["a b"]).is_err() && AllowList::parse([""]).is_err());
    }
}
