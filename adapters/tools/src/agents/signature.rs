//! A signature: what goes into a task and what comes out, such as `document, question: str -> answer: str, pages: list`.

use dormouse_core::{Error, Result};
use serde_json::Value as Json;

/// Most inputs, and most outputs.
const MOST: usize = 32;
/// Longest name, in bytes.
const MAX_NAME: usize = 64;
/// Words that cannot be variables in Python.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// What a value is to be. What lists and dicts hold is told to the model and not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Str,
    Int,
    Float,
    Bool,
    List,
    Dict,
}

impl Kind {
    const ALL: [(&'static str, Self); 6] = [
        ("str", Self::Str),
        ("int", Self::Int),
        ("float", Self::Float),
        ("bool", Self::Bool),
        ("list", Self::List),
        ("dict", Self::Dict),
    ];

    /// Whether a Python value of a type of that name is one.
    pub(super) fn takes(self, python: &str) -> bool {
        let name = Self::ALL.iter().find(|(_, kind)| *kind == self).map(|(name, _)| *name);
        Some(python) == name || (self == Self::Float && python == "int")
    }

    /// Whether a JSON value is one.
    pub(super) fn takes_json(self, value: &Json) -> bool {
        match self {
            Self::Str => value.is_string(),
            Self::Int => value.is_i64() || value.is_u64(),
            Self::Float => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Dict => value.is_object(),
        }
    }
}

/// One input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The type as it was written.
    pub(super) written: String,
}

/// What goes in and what comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) inputs: Vec<Slot>,
    pub(super) outputs: Vec<Slot>,
}

impl Signature {
    /// Reads one.
    ///
    /// # Errors
    /// `args_invalid`, naming what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (inputs, outputs) = text.split_once("->").ok_or_else(|| malformed("it has no `->`"))?;
        if outputs.contains("->") {
            return Err(malformed("it has more than one `->`"));
        }
        let signature = Self { inputs: slots(inputs, "inputs")?, outputs: slots(outputs, "outputs")? };
        let names: Vec<&str> =
            signature.inputs.iter().chain(&signature.outputs).map(|slot| slot.name.as_str()).collect();
        match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            Some((_, name)) => Err(malformed(&format!("`{name}` stands there twice"))),
            None => Ok(signature),
        }
    }
}

fn slots(text: &str, what: &str) -> Result<Vec<Slot>> {
    let parts = split(text)?;
    if parts.len() == 1 && parts[0].trim().is_empty() {
        return Err(malformed(&format!("it has no {what}")));
    }
    if parts.len() > MOST {
        return Err(malformed(&format!("it has {} {what}, at most {MOST} are taken", parts.len())));
    }
    parts.into_iter().map(slot).collect()
}

/// The parts between commas that stand in no brackets.
fn split(text: &str) -> Result<Vec<&str>> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0_u32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1).ok_or_else(|| malformed("a `]` closes nothing"))?,
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(malformed("a `[` is not closed"));
    }
    parts.push(&text[begin..]);
    Ok(parts)
}

fn slot(part: &str) -> Result<Slot> {
    let (name, written) = match part.split_once(':') {
        Some((name, written)) => (name.trim(), written.trim()),
        None => (part.trim(), "str"),
    };
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    if !plain || !begins || name.len() > MAX_NAME || KEYWORDS.contains(&name) {
        return Err(malformed(&format!("`{}` cannot be a variable", shown(name))));
    }
    let base = written.split('[').next().unwrap_or_default().trim();
    let fits = written.len() <= MAX_NAME && (base == written || written.ends_with(']'));
    match Kind::ALL.into_iter().find(|(known, _)| fits && *known == base) {
        Some((_, kind)) => Ok(Slot { name: name.to_owned(), kind, written: written.to_owned() }),
        None => Err(malformed(&format!("`{}` is not a type", shown(written)))),
    }
}

fn shown(text: &str) -> String {
    text.escape_debug().take(48).collect()
}

fn malformed(why: &str) -> Error {
    Error::args_invalid(format!("the signature is malformed: {why}")).with_hint(
        "write `question, context: str -> answer: str, pages: list[int]`; types are str, int, float, bool, list, dict",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_names_and_types() {
        let read = Signature::parse(" a, b : dict[str, list[int]] -> c: float,d").unwrap();
        let slot =
            |name: &str, kind, written: &str| Slot { name: name.into(), kind, written: written.into() };
        let inputs = vec![slot("a", Kind::Str, "str"), slot("b", Kind::Dict, "dict[str, list[int]]")];
        assert_eq!(read.inputs, inputs);
        assert_eq!(read.outputs, vec![slot("c", Kind::Float, "float"), slot("d", Kind::Str, "str")]);
        assert!(Kind::Float.takes("int") && !Kind::Int.takes("bool") && !Kind::Str.takes("int"));
    }

    #[test]
    fn what_is_malformed_is_told() {
        let many = vec!["x"; 33].iter().enumerate().map(|(at, x)| format!("{x}{at}")).collect::<Vec<_>>();
        for (bad, why) in [
            ("", "no `->`"),
            ("a", "no `->`"),
            ("a -> b -> c", "more than one"),
            ("-> b", "no inputs"),
            ("a ->", "no outputs"),
            ("a,, b -> c", "``"),
            ("a -> a", "twice"),
            ("a, a -> b", "twice"),
            ("1a -> b", "`1a`"),
            ("_a -> b", "`_a`"),
            ("a b -> c", "`a b`"),
            ("for -> c", "`for`"),
            ("a: text -> b", "`text`"),
            ("a: list[ -> b", "not closed"),
            ("a: list] -> b", "closes nothing"),
            ("a: list[int]x -> b", "not a type"),
            ("a: -> b", "not a type"),
            ("ä -> b", "cannot be"),
            (&format!("{} -> b", many.join(",")), "33 inputs"),
            (&format!("{} -> b", "a".repeat(65)), "cannot be"),
        ] {
            let error = Signature::parse(bad).unwrap_err();
            assert!(error.message().contains(why), "{bad}: {error}");
            assert!(error.hint().is_some());
        }
    }
}
