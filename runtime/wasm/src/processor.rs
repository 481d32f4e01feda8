//! For which processors machine code is made, what it expects of one, and whether this one has that.

use dormouse_core::{Error, ErrorCode, Result};

use crate::release;

/// For which processors machine code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    /// For this one, with all that it can do.
    This,
    /// For every one of an architecture: of x86-64-v2, which are those since 2009, or of ARMv8.0-A. Some snippets run up to 8 %
    /// slower. Of another architecture than this program's, machine code can be made and not be run.
    ///
    /// Source: the micro-architecture levels of the x86-64 psABI; the Arm Architecture Reference Manual for A-profile.
    Every(Architecture),
}

impl Processors {
    /// What a release is made for: every processor of this program's architecture, or this one where it is none that releases
    /// are made for.
    pub fn of_releases() -> Self {
        Architecture::HERE.map_or(Self::This, Self::Every)
    }

    /// Whether this program cannot run machine code that is made for them.
    pub(crate) fn is_elsewhere(self) -> bool {
        matches!(self, Self::Every(architecture) if Architecture::HERE != Some(architecture))
    }
}

/// An architecture that releases are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64, from x86-64-v2 on.
    X86_64,
    /// AArch64, from ARMv8.0-A on.
    Aarch64,
}

impl Architecture {
    /// That of this program, where releases are made for it.
    pub const HERE: Option<Self> = if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        Some(Self::X86_64)
    } else if cfg!(all(target_arch = "aarch64", target_os = "linux")) {
        Some(Self::Aarch64)
    } else {
        None
    };

    /// Its name in triples of targets and in the names of a release's archives.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The instructions beyond its first processors' that the engine makes use of.
    pub(crate) const fn expected(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::X86_64 => &EXPECTED,
            Self::Aarch64 => &[],
        }
    }

    /// The start of the names of this release's archives for this program: `dormouse-VERSION-ARCHITECTURE-linux`.
    pub(crate) fn archives() -> String {
        format!("dormouse-{}-{}-linux", release::VERSION, std::env::consts::ARCH)
    }
}

/// The instructions of x86-64-v2 that the engine makes use of: their names in Cranelift, and in the processors' manuals.
const EXPECTED: [(&str, &str); 6] = [
    ("cmpxchg16b", "CMPXCHG16B"),
    ("sse3", "SSE3"),
    ("ssse3", "SSSE3"),
    ("sse41", "SSE4.1"),
    ("sse42", "SSE4.2"),
    ("popcnt", "POPCNT"),
];

/// Refuses machine code that this processor cannot run. Takes no time to speak of: the processor is asked once. Machine code for
/// another architecture is not run at all: the engine refuses to load it.
///
/// # Errors
/// `capability_unavailable`, with what the processor lacks.
pub(crate) fn check(processors: Processors) -> Result<()> {
    match processors {
        Processors::Every(Architecture::X86_64) if Architecture::HERE == Some(Architecture::X86_64) => {
            check_one_that(has)
        }
        Processors::This | Processors::Every(_) => Ok(()),
    }
}

/// The same for any processor; `has` tells which of [`EXPECTED`] it has, by Cranelift's name.
fn check_one_that(has: impl Fn(&str) -> bool) -> Result<()> {
    let lacking: Vec<&str> = EXPECTED.iter().filter(|(flag, _)| !has(flag)).map(|(_, name)| *name).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let message = format!(
        "this processor is older than x86-64-v2, for which the machine code of a release is made: it lacks {}",
        lacking.join(", ")
    );
    Err(Error::new(ErrorCode::CapabilityUnavailable, message).with_hint(
        "build Dormouse from its source on this machine, where machine code is made for its own processor, or use a machine with a processor made since 2009",
    ))
}

#[cfg(target_arch = "x86_64")]
fn has(flag: &str) -> bool {
    match flag {
        "cmpxchg16b" => std::arch::is_x86_feature_detected!("cmpxchg16b"),
        "sse3" => std::arch::is_x86_feature_detected!("sse3"),
        "ssse3" => std::arch::is_x86_feature_detected!("ssse3"),
        "sse41" => std::arch::is_x86_feature_detected!("sse4.1"),
        "sse42" => std::arch::is_x86_feature_detected!("sse4.2"),
        "popcnt" => std::arch::is_x86_feature_detected!("popcnt"),
        _ => false,
    }
}

/// It is asked on x86-64 alone.
#[cfg(not(target_arch = "x86_64"))]
fn has(_: &str) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_of_x86_64_v2_runs_the_machine_code_of_a_release() {
        check_one_that(|_| true).unwrap();
        check(Processors::of_releases()).unwrap();
    }

    #[test]
    fn an_older_processor_is_told_what_it_lacks_and_what_to_do() {
        // A Core 2 Duo of 2006.
        let error = check_one_that(|flag| ["cmpxchg16b", "sse3", "ssse3"].contains(&flag)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
        assert!(error.message().ends_with("it lacks SSE4.1, SSE4.2, POPCNT"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("build Dormouse from its source")));
        // The first 64-bit one has nothing of it; and nothing of it can be missing alone.
        assert!(check_one_that(|_| false).unwrap_err().message().contains("CMPXCHG16B, SSE3"));
        for (flag, name) in EXPECTED {
            let error = check_one_that(|had| had != flag).unwrap_err();
            assert!(error.message().ends_with(&format!("it lacks {name}")), "{error}");
        }
    }

    #[test]
    fn machine_code_for_this_processor_is_never_refused() {
        check(Processors::This).unwrap();
    }

    #[test]
    fn an_archive_that_a_hint_names_is_for_this_architecture() {
        let here = Architecture::HERE.unwrap();
        assert_eq!(Architecture::archives(), format!("dormouse-{}-{}-linux", release::VERSION, here.name()));
    }
}
