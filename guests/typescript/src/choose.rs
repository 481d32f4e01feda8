//! Which way a source goes: types are blanked out where that is enough, because then every character that stays keeps its
//! place, and it is the fastest. The rest is compiled.

use crate::compile::{compile, parse};
use crate::refusal::Refusal;
use crate::strip::{Stripped, strip};

/// What the host says of a source.
#[derive(Default)]
pub(crate) struct Options<'a> {
    pub(crate) name: &'a str,
    /// The text of a `tsconfig.json`.
    pub(crate) configuration: Option<&'a str>,
}

impl Options<'_> {
    /// Whether the name says that there is JSX. `<T>x` is the start of an element then.
    fn has_jsx(&self) -> bool {
        self.name.ends_with(".tsx") || self.name.ends_with(".jsx")
    }
}

pub(crate) fn transpile(source: &str, options: &Options<'_>) -> Result<String, Refusal> {
    let mut refused = None;
    // A snippet has no name that would tell. JSX ends with one of these, and what has JSX in it is hardly ever TypeScript
    // without; what reads as both without an element in it is one.
    if options.has_jsx() || source.contains("</") || source.contains("/>") {
        match parse(source, true) {
            Ok(parsed) if parsed.facts.jsx || options.has_jsx() => {
                return compile(source, parsed, options.configuration);
            }
            Err(refusal) if options.has_jsx() => return Err(refusal),
            Ok(_) => {}
            Err(refusal) => refused = Some(refusal),
        }
    }
    // To blank the types out would leave these, which JavaScript does not have.
    if source.contains("accessor") {
        match parse(source, false) {
            Ok(parsed) if parsed.facts.accessor => return compile(source, parsed, options.configuration),
            _ => {}
        }
    }
    let refusal = match strip(source) {
        Stripped::Code(code) => return Ok(code),
        Stripped::Compile => return compile(source, parse(source, false)?, options.configuration),
        // Decorators are refused there.
        Stripped::Refused(_) if source.contains('@') => match parse(source, false) {
            Ok(parsed) => return compile(source, parsed, options.configuration),
            Err(refusal) => refusal,
        },
        Stripped::Refused(refusal) => refusal,
    };
    // Of what was tried, that which got further understood more.
    Err(match refused {
        Some(other) if other.place > refusal.place => other,
        _ => refusal,
    })
}
