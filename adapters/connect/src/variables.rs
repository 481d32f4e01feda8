//! `${VAR}` in a file of connections: the operator's environment.

use dormouse_core::{Error, Result};

/// Characters of a name that an error repeats.
const SHOWN: usize = 64;

/// Looks a variable up.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The text with `${VAR}`, `${env:VAR}` and `${VAR:-otherwise}` filled in. What is filled in is not looked through again.
///
/// # Errors
/// `args_invalid` for a variable that is not set, or that only another client knows.
pub(crate) fn filled(text: &str, lookup: Lookup<'_>) -> Result<String> {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("${") {
        let Some(end) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        out.push_str(&value(&rest[at + 2..at + end], lookup)?);
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn value(inner: &str, lookup: Lookup<'_>) -> Result<String> {
    let (name, otherwise) = match inner.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    let shown: String = name.escape_debug().take(SHOWN).collect();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Error::args_invalid(format!("`${{{shown}}}` is no environment variable")).with_hint(
            "write `${NAME}`; words of other clients, such as `${input:...}`, are not known here",
        ));
    }
    match (lookup(name), otherwise) {
        (Some(value), _) => Ok(value),
        (None, Some(otherwise)) => Ok(otherwise.to_owned()),
        (None, None) => Err(Error::args_invalid(format!("the environment variable `{shown}` is not set"))
            .with_hint("set it, or write `${NAME:-VALUE}` with a value of its own")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "t${TOKEN}".to_owned())
    }

    #[test]
    fn variables_are_filled_in_once() {
        for (text, wanted) in [
            ("Bearer ${TOKEN}", "Bearer t${TOKEN}"),
            ("${env:TOKEN}/${TOKEN}", "t${TOKEN}/t${TOKEN}"),
            ("${MISSING:-a b}", "a b"),
            ("plain $TOKEN ${", "plain $TOKEN ${"),
            ("", ""),
        ] {
            assert_eq!(filled(text, &lookup).unwrap(), wanted);
        }
    }

    #[test]
    fn what_is_not_set_is_named() {
        let error = filled("x ${MISSING} y", &lookup).unwrap_err();
        assert!(error.message().contains("`MISSING`") && error.hint().is_some(), "{error}");
        for foreign in ["${input:key}", "${workspaceFolder}/x/${}", "${a b}", "${}"] {
            assert!(filled(foreign, &lookup).is_err(), "{foreign}");
        }
    }
}
