//! Requirements of JavaScript packages: `lodash`, `lodash@^4`, `@scope/name@1.2.3`, `alias@npm:name@^1`.

use dormouse_core::{Error, ErrorCode, Result};
use nodejs_semver::{Range, Version};

/// Longest name of a package, in bytes.
const MAX_NAME: usize = 214;

/// Longest text of versions, in bytes.
const MAX_VERSIONS: usize = 512;

/// Which versions are meant.
#[derive(Clone, Debug)]
pub(crate) enum Versions {
    Range(Range),
    /// A name that the registry gives to a version, such as `latest`.
    Tag(String),
}

/// A requirement.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// The folder in `node_modules`.
    pub(crate) name: String,
    /// The name in the registry; another one for an alias.
    pub(crate) package: String,
    pub(crate) versions: Versions,
    /// The versions as they were written.
    pub(crate) text: String,
}

impl Spec {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let at = text.get(1..).and_then(|rest| rest.find('@')).map(|at| at + 1);
        match at {
            Some(at) => Self::of(&text[..at], &text[at + 1..]),
            None => Self::of(text, ""),
        }
    }

    /// A name and the versions that a `package.json` gives it.
    pub(crate) fn of(name: &str, versions: &str) -> Result<Self> {
        let name = name.trim();
        if is_address(name) {
            return Err(address(name));
        }
        if !is_name(name) {
            return Err(Error::args_invalid(format!(
                "`{}` is not the name of a JavaScript package",
                shown(name)
            ))
            .with_hint("write `NAME`, `@SCOPE/NAME` or `NAME@RANGE`"));
        }
        let versions = versions.trim();
        if versions.len() > MAX_VERSIONS || versions.chars().any(char::is_control) {
            return Err(Error::args_invalid(format!("the versions of `{name}` are not a range")));
        }
        let (package, versions) = match versions.strip_prefix("npm:") {
            Some(real) => {
                let at = real.get(1..).and_then(|rest| rest.find('@')).map(|at| at + 1);
                at.map_or((real, ""), |at| (&real[..at], &real[at + 1..]))
            }
            None => (name, versions),
        };
        if !is_name(package) {
            return Err(Error::args_invalid(format!(
                "`{}` is not the name of a JavaScript package",
                shown(package)
            )));
        }
        if is_address(versions) {
            return Err(address(versions));
        }
        let text = if versions.is_empty() { "*" } else { versions };
        let read = match text {
            "*" | "x" | "X" => Versions::Range(Range::any()),
            text => match Range::parse(text) {
                Ok(range) => Versions::Range(range),
                Err(_) => Versions::Tag(text.to_owned()),
            },
        };
        Ok(Self { name: name.into(), package: package.into(), versions: read, text: text.into() })
    }

    /// Whether a version is one of those. A tag is none of the tree's: only the registry knows it.
    pub(crate) fn takes(&self, version: &Version) -> bool {
        match &self.versions {
            Versions::Range(_) if self.text == "*" => true,
            Versions::Range(range) => range.satisfies(version),
            Versions::Tag(_) => false,
        }
    }
}

fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!'()".contains(&byte);
        !part.is_empty() && part.bytes().all(letters) && !part.starts_with('.')
    };
    let parts = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| part(scope) && part(name)),
        None => part(name) && !name.starts_with('_'),
    };
    parts && name.len() <= MAX_NAME && !["node_modules", "favicon.ico"].contains(&name)
}

/// Whether it names a place instead of versions.
fn is_address(text: &str) -> bool {
    let scheme = |name: &str| text.starts_with(name);
    ["git+", "git:", "http:", "https:", "file:", "link:", "workspace:", "portal:", "github:", "ssh:", "git@"]
        .into_iter()
        .any(scheme)
        || text.starts_with(['.', '/', '~'].as_slice()) && text.contains('/')
        || (text.contains('/') && !text.starts_with('@'))
}

fn address(text: &str) -> Error {
    let message = format!("`{}` names an address instead of a version", shown(text));
    Error::new(ErrorCode::CapabilityUnavailable, message)
        .with_hint("packages come from the operator's registry: write `NAME` or `NAME@RANGE`")
}

fn shown(text: &str) -> String {
    text.escape_debug().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read() {
        for (text, name, package, versions) in [
            ("lodash", "lodash", "lodash", "*"),
            ("lodash@^4", "lodash", "lodash", "^4"),
            ("@a/b", "@a/b", "@a/b", "*"),
            ("@a/b@>=1 <2 || 3.x", "@a/b", "@a/b", ">=1 <2 || 3.x"),
            ("old@npm:@a/b@1.0.0", "old", "@a/b", "1.0.0"),
            ("x@latest", "x", "x", "latest"),
        ] {
            let spec = Spec::parse(text).unwrap();
            assert_eq!((&*spec.name, &*spec.package, &*spec.text), (name, package, versions));
        }
        let takes =
            |text: &str, version: &str| Spec::parse(text).unwrap().takes(&Version::parse(version).unwrap());
        assert!(takes("x@^1.2", "1.9.0") && !takes("x@^1.2", "2.0.0") && !takes("x@^1", "1.5.0-beta.1"));
        assert!(takes("x", "0.0.1-pre") && takes("x@~1.2.3", "1.2.9") && takes("x@1 - 2", "2.9.9"));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for bad in
            ["", "../x", "a/b", ".x", "_x", "node_modules", "@a", "@a/..", "@../x", "a\\b", "a b", "@a/b/c"]
        {
            assert!(Spec::parse(bad).is_err(), "{bad:?}");
        }
        for bad in ["x@https://h/x.tgz", "x@git+ssh://h/x", "x@file:../x", "x@user/repo", "https://h/x.tgz"] {
            assert_eq!(Spec::parse(bad).unwrap_err().code(), ErrorCode::CapabilityUnavailable, "{bad}");
        }
    }
}
