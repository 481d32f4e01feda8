//! Requirements of Python packages, and the environment that their markers are about.

use std::collections::HashMap;

use dormouse_core::{Error, ErrorCode, Result};
use pep440_rs::{Version, VersionSpecifiers};
use pep508_rs::{
    ExtraName, MarkerEnvironment, MarkerEnvironmentBuilder, MarkerTree, PackageName, Requirement,
    VersionOrUrl,
};
use pubgrub::Ranges;

use crate::digest::Digest;

/// Longest requirement, in bytes (8 KiB).
const MAX_BYTES: usize = 8 << 10;
/// Most `and`, `or` and brackets of a requirement.
const MAX_JOINS: usize = 64;
/// Most `in` and `extra` of a requirement.
const MAX_SWITCHES: usize = 16;

/// The sandbox's Python, as markers and tags see it.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    markers: MarkerEnvironment,
    pub(crate) python: Version,
    pub(crate) minor: u64,
}

impl Environment {
    pub(crate) fn new(python: &str) -> Result<Self> {
        let bad = || Error::args_invalid("the version of Python is none, such as `3.14.0`");
        let version: Version = python.parse().map_err(|_| bad())?;
        let [3, minor, ..] = version.release()[..] else { return Err(bad()) };
        let short = format!("3.{minor}");
        let markers = MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
            implementation_name: "cpython",
            implementation_version: python,
            os_name: "posix",
            platform_machine: "wasm32",
            platform_python_implementation: "CPython",
            platform_release: "0.0.0",
            platform_system: "wasi",
            platform_version: "0.0.0",
            python_full_version: python,
            python_version: &short,
            sys_platform: "wasi",
        });
        Ok(Self { markers: markers.map_err(|_| bad())?, python: version, minor })
    }

    pub(crate) fn applies(&self, marker: &MarkerTree, extras: &[ExtraName]) -> bool {
        marker.evaluate(&self.markers, extras)
    }

    /// Whether a `Requires-Python` lets this Python. One that cannot be read does, as for pip.
    pub(crate) fn fits(&self, requires: Option<&str>) -> bool {
        let specifiers = requires.and_then(|text| text.parse::<VersionSpecifiers>().ok());
        specifiers.is_none_or(|specifiers| specifiers.contains(&self.python))
    }
}

/// What the user asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) requirements: Vec<Requirement>,
    /// What bounds the versions of packages that are needed, by name.
    pub(crate) constraints: HashMap<PackageName, Ranges<Version>>,
    /// The only hashes that a package may have, for those with `--hash`.
    pub(crate) hashes: HashMap<PackageName, Vec<Digest>>,
}

impl Wanted {
    pub(crate) fn parse(texts: &[String], constraints: &[String], environment: &Environment) -> Result<Self> {
        let mut wanted =
            Self { requirements: Vec::new(), constraints: HashMap::new(), hashes: HashMap::new() };
        for text in texts {
            let (requirement, hashes) = read(text)?;
            if environment.applies(&requirement.marker, &[]) {
                wanted.pin(&requirement.name, hashes);
                wanted.requirements.push(requirement);
            }
        }
        for text in constraints {
            let (constraint, hashes) = read(text)?;
            if !constraint.extras.is_empty() {
                return Err(Error::args_invalid(format!("`{}` is a constraint with extras", shown(text)))
                    .with_hint("name the extras in a requirement"));
            }
            if environment.applies(&constraint.marker, &[]) {
                wanted.pin(&constraint.name, hashes);
                let bound = range(&constraint);
                let both = match wanted.constraints.get(&constraint.name) {
                    Some(other) => other.intersection(&bound),
                    None => bound,
                };
                wanted.constraints.insert(constraint.name, both);
            }
        }
        wanted.check()?;
        Ok(wanted)
    }

    /// Whether a requirement names it.
    pub(crate) fn names(&self, name: &PackageName) -> bool {
        self.requirements.iter().any(|requirement| requirement.name == *name)
    }

    /// Refuses requirements and constraints of one name that no version satisfies together.
    fn check(&self) -> Result<()> {
        let mut bounds: HashMap<&PackageName, (Ranges<Version>, Vec<String>)> = HashMap::new();
        for (name, constraint) in &self.constraints {
            bounds.insert(name, (constraint.clone(), vec!["its constraints".into()]));
        }
        for requirement in &self.requirements {
            let (bound, texts) =
                bounds.entry(&requirement.name).or_insert_with(|| (Ranges::full(), Vec::new()));
            *bound = bound.intersection(&range(requirement));
            texts.push(format!("`{requirement}`"));
            if *bound == Ranges::empty() {
                let message =
                    format!("no version of `{}` satisfies {}", requirement.name, texts.join(" and "));
                return Err(Error::new(ErrorCode::Unsatisfiable, message).with_hint("loosen one of them"));
            }
        }
        Ok(())
    }

    fn pin(&mut self, name: &PackageName, hashes: Vec<Digest>) {
        if !hashes.is_empty() {
            self.hashes.entry(name.clone()).or_default().extend(hashes);
        }
    }
}

/// Reads a requirement with its `--hash` options.
fn read(text: &str) -> Result<(Requirement, Vec<Digest>)> {
    let (plain, hashes) =
        text.split_once(" --hash").map_or((text, None), |(plain, _)| (plain, Some(&text[plain.len()..])));
    let requirement = parse(plain.trim())?;
    let digest = |part: &str| {
        part.strip_prefix("--hash=sha256:").and_then(Digest::sha256).ok_or_else(|| {
            Error::args_invalid(format!("`{}` has a hash that is not read", shown(text)))
                .with_hint("write `--hash=sha256:` and 64 hexadecimal digits")
        })
    };
    let hashes = hashes.unwrap_or_default().split_whitespace().map(digest).collect::<Result<_>>()?;
    Ok((requirement, hashes))
}

/// Reads one requirement. Addresses are not taken, nor markers that would take long to read: brackets are read by
/// recursion, and each `extra` and `in` can double what is kept of a marker.
pub(crate) fn parse(text: &str) -> Result<Requirement> {
    if text.len() > MAX_BYTES || !is_simple(text) {
        return Err(Error::args_invalid(format!("`{}` is too long or too complicated", shown(text)))
            .with_hint("write several shorter requirements"));
    }
    let before = text.split(';').next().unwrap_or_default();
    // Asked first: an address would be read with the host's environment variables in it.
    if before.contains('@') || before.contains("://") || before.starts_with(['.', '/']) {
        let message = format!("`{}` names an address instead of a version", shown(text));
        let repository = before.contains("git+") || before.contains(".git");
        return Err(Error::new(ErrorCode::CapabilityUnavailable, message).with_hint(match repository {
            true => "repositories are not fetched here: bring its files into the sandbox, by `git clone` if that is allowed, and install the folder: `./NAME`",
            false => "packages come from the operator's index, as `NAME` or `NAME==VERSION`, or from a folder of the sandbox, as `./NAME`",
        }));
    }
    let no_requirement = || {
        Error::args_invalid(format!("`{}` is not a requirement of a Python package", shown(text)))
            .with_hint("write it as `requests`, `requests[socks]>=2,<3` or `tomli; python_version < '3.11'`")
    };
    // The library panics over both.
    if !text.is_ascii() || !names_end_well(before) {
        return Err(no_requirement());
    }
    text.parse::<Requirement>().map_err(|error| no_requirement().with_source(error.to_string()))
}

/// Whether the names of the package and of extras end in a letter or a digit, as they must.
fn names_end_well(before: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name = before.trim_start().split(|other| !letter(other)).next();
    let extras = before.split_once('[').and_then(|(_, rest)| rest.split(']').next());
    let mut names =
        name.into_iter().chain(extras.into_iter().flat_map(|extras| extras.split(|other| !letter(other))));
    names.all(|name| !name.ends_with(['-', '_', '.']))
}

/// The versions that a requirement takes.
pub(crate) fn range(requirement: &Requirement) -> Ranges<Version> {
    match &requirement.version_or_url {
        Some(VersionOrUrl::VersionSpecifier(specifiers)) => Ranges::from(specifiers.clone()),
        _ => Ranges::full(),
    }
}

/// Whether a requirement has few enough parts; what stands in quotes is none.
fn is_simple(text: &str) -> bool {
    let (mut joins, mut switches, mut quote) = (0, 0, None);
    let mut word = String::new();
    for letter in text.chars().chain([' ']) {
        if quote.is_none() && (letter.is_alphanumeric() || letter == '_') {
            word.push(letter);
            continue;
        }
        match word.as_str() {
            "and" | "or" => joins += 1,
            "in" | "extra" => switches += 1,
            _ => {}
        }
        word.clear();
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[') => joins += 1,
            _ => {}
        }
    }
    joins <= MAX_JOINS && switches <= MAX_SWITCHES
}

fn shown(text: &str) -> String {
    text.escape_debug().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_panics_over_is_refused() {
        let signs = ["a-", " a_", "a.>=1", "a-; extra == 'x'", "a[b.]", "a[b-]>=1", "a[ b , c_ ]", "a[b."];
        let others = ["a; \u{fffd}", "a; os_name == 'posix'E\u{fffd}", "\u{e4}", "a[\u{e4}]", "a==1\u{e4}"];
        for bad in signs.into_iter().chain(others) {
            assert_eq!(parse(bad).unwrap_err().code(), ErrorCode::ArgsInvalid, "{bad}");
        }
        for good in ["a", "a-b.c>=1", "a[b.c]", "a[]", "a[b,c-d]>=1", "a; extra == 'b.'"] {
            assert!(parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn markers_see_the_sandbox() {
        let environment = Environment::new("3.14.2").unwrap();
        let applies = |marker: &str| {
            environment.applies(&parse(&format!("x; {marker}")).unwrap().marker, &["socks".parse().unwrap()])
        };
        for yes in [
            "python_version >= '3.14'",
            "python_full_version == '3.14.2'",
            "sys_platform == 'wasi'",
            "sys_platform != 'win32'",
            "os_name == 'posix'",
            "platform_python_implementation == 'CPython'",
            "implementation_name == 'cpython'",
            "platform_machine == 'wasm32'",
            "extra == 'socks'",
        ] {
            assert!(applies(yes), "{yes}");
        }
        for no in
            ["python_version < '3.11'", "sys_platform == 'linux'", "extra == 'other'", "os_name == 'nt'"]
        {
            assert!(!applies(no), "{no}");
        }
        assert!(
            environment.fits(Some(">=3.9, <4")) && environment.fits(None) && environment.fits(Some("~~"))
        );
        assert!(!environment.fits(Some("<3.14")) && !environment.fits(Some(">=3.15")));
        assert!(Environment::new("2.7").is_err() && Environment::new("x").is_err());
    }

    #[test]
    fn addresses_and_nonsense_are_refused() {
        for (bad, code) in [
            ("x @ https://h/x.whl", ErrorCode::CapabilityUnavailable),
            ("x@file:///etc/passwd", ErrorCode::CapabilityUnavailable),
            ("./x.whl", ErrorCode::CapabilityUnavailable),
            ("git+https://h/x", ErrorCode::CapabilityUnavailable),
            ("x >= ", ErrorCode::ArgsInvalid),
            ("x y", ErrorCode::ArgsInvalid),
            ("-e x", ErrorCode::ArgsInvalid),
        ] {
            assert_eq!(parse(bad).unwrap_err().code(), code, "{bad}");
        }
        let nested = format!("x; {}os_name == 'a'{}", "(".repeat(5_000 / 2), ")".repeat(5_000 / 2));
        let many: Vec<String> = (0..20).map(|index| format!("extra == 'e{index}'")).collect();
        for hard in [nested, format!("x; {}", many.join(" or ")), "x".repeat(MAX_BYTES + 1)] {
            assert_eq!(parse(&hard).unwrap_err().code(), ErrorCode::ArgsInvalid);
        }
        assert!(parse("x; 'in and or (((' == sys_platform and (os_name == 'in' or 'a' in os_name)").is_ok());
        let environment = Environment::new("3.14.0").unwrap();
        assert!(Wanted::parse(&["x --hash=md5:00".into()], &[], &environment).is_err());
        let digest = "0".repeat(64);
        let wanted = Wanted::parse(&[format!("x==1 --hash=sha256:{digest}")], &[], &environment).unwrap();
        assert_eq!(wanted.hashes.len(), 1);
    }
}
