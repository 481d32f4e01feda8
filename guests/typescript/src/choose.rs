//! Which way a source goes: types are blanked out where that is enough, because then every character that stays keeps its
//! place, and it is the fastest. The rest is compiled.

use crate::compile::{Parsed, compile, parse};
use crate::configuration::{Configuration, extended};
use crate::imports::{Rules, without_types};
use crate::plain::calls;
use crate::refusal::Refusal;
use crate::strip::{Stripped, strip};

/// The name of what is no source, but says how one is to be read.
const CONFIGURATION: &str = "tsconfig.json";
/// The names of sources of which only the calls of tools are asked for.
const CALLS_OF_JAVASCRIPT: &str = "calls of tools.js";
const CALLS_OF_TYPESCRIPT: &str = "calls of tools.ts";
/// How the names of files end.
const ENDINGS: [&str; 5] = [".ts", ".mts", ".cts", ".tsx", ".jsx"];

/// What the host says of a source.
#[derive(Default)]
pub(crate) struct Options<'a> {
    pub(crate) name: &'a str,
    /// The text of a `tsconfig.json`, or a list of it and those that it extends.
    pub(crate) configuration: Option<&'a str>,
}

impl Options<'_> {
    /// Whether the name says that there is JSX. `<T>x` is the start of an element then.
    fn has_jsx(&self) -> bool {
        self.name.ends_with(".tsx") || self.name.ends_with(".jsx")
    }

    /// Whether the source is a file, and no snippet.
    fn is_file(&self) -> bool {
        ENDINGS.iter().any(|ending| self.name.ends_with(ending))
    }

    /// Whether it is a file that another imports, by its path.
    pub(crate) fn is_module(&self) -> bool {
        self.name.starts_with('/') && self.is_file()
    }

    /// Whether a source is to be read as JSX, if it can be. A snippet has no name that would tell. JSX ends with one of these,
    /// and what has JSX in it is hardly ever TypeScript without.
    fn may_have_jsx(&self, source: &str) -> bool {
        self.has_jsx() || source.contains("</") || source.contains("/>")
    }
}

pub(crate) fn transpile(source: &str, options: &Options<'_>) -> Result<String, Refusal> {
    if options.name == CONFIGURATION {
        return Ok(extended(source));
    }
    if [CALLS_OF_JAVASCRIPT, CALLS_OF_TYPESCRIPT].contains(&options.name) {
        return Ok(calls(source, options.name == CALLS_OF_TYPESCRIPT));
    }
    let configuration =
        options.configuration.map_or_else(|| Ok(Configuration::default()), Configuration::read);
    let lean = leave_out_types(source, options, &configuration);
    let source = lean.as_deref().unwrap_or(source);
    let made = |parsed: Parsed| compile(source, parsed, options, &configuration);
    let mut refused = None;
    if options.may_have_jsx(source) {
        match parse(source, true) {
            // What reads as both without an element in it is TypeScript without JSX.
            Ok(parsed) if parsed.facts.jsx || options.has_jsx() => return made(parsed),
            Err(refusal) if options.has_jsx() => return Err(refusal),
            Ok(_) => {}
            Err(refusal) => refused = Some(refusal),
        }
    }
    let assigned_fields = configuration.as_ref().is_ok_and(|read| read.assigned_fields);
    // To blank the types out would leave these, which JavaScript does not have, or has in another form.
    if source.contains("accessor") || (assigned_fields && source.contains("class")) {
        match parse(source, false) {
            Ok(parsed) if parsed.facts.accessor || (assigned_fields && parsed.facts.fields) => {
                return made(parsed);
            }
            _ => {}
        }
    }
    let refusal = match strip(source) {
        Stripped::Code(code) => return Ok(code),
        Stripped::Compile => return made(parse(source, false)?),
        // Decorators are refused there.
        Stripped::Refused(_) if source.contains('@') => match parse(source, false) {
            Ok(parsed) => return made(parsed),
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

/// The source without imports of what is only a type; none: it has none. What is wrong with it is said later.
fn leave_out_types(
    source: &str,
    options: &Options<'_>,
    configuration: &Result<Configuration, Refusal>,
) -> Option<String> {
    if !source.contains("import") {
        return None;
    }
    let tsx = options.may_have_jsx(source);
    let parsed = match parse(source, tsx) {
        Err(_) if tsx && !options.has_jsx() => parse(source, false),
        parsed => parsed,
    };
    let parsed = parsed.ok()?;
    let mut jsx = vec!["React", "h", "Fragment"];
    let read = configuration.as_ref().ok();
    let named = read.into_iter().flat_map(|read| [&read.factory, &read.fragment]).flatten();
    jsx.extend(named.filter_map(|name| name.split('.').next()));
    let rules = Rules {
        is_file: options.is_file(),
        metadata: read.is_some_and(|read| read.metadata),
        jsx: if parsed.facts.jsx { &jsx } else { &[] },
    };
    without_types(source, &parsed.program, &rules)
}
