//! `${VAR}` in a file of connections: the operator's environment.

use dormouse_core::{Error, Result};

/// How a secret of the network's file begins.
const SECRET: &str = "${secret:";
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

/// A header's value that names secrets of the network's file as `${secret:NAME}`, as the gate writes it: with `{NAME}` in their place.
/// None: it names none.
///
/// # Errors
/// As [`filled`]; `args_invalid` for what is no name of a secret, and for braces beside one.
pub(crate) fn with_secrets(text: &str, lookup: Lookup<'_>) -> Result<Option<String>> {
    if !text.contains(SECRET) {
        return Ok(None);
    }
    let plain = |part: &str| {
        let part = filled(part, lookup)?;
        if part.contains(['{', '}']) {
            return Err(Error::args_invalid("a header that names a secret has no other braces"));
        }
        Ok(part)
    };
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(SECRET) {
        let (name, after) = after.split_once('}').unwrap_or(("", ""));
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(Error::args_invalid(format!("`{}` is no name of a secret", shown(name)))
                .with_hint("write `${secret:NAME}` with a `[secret.NAME]` of the network's file"));
        }
        out.push_str(&plain(before)?);
        out.push_str(&format!("{{{name}}}"));
        rest = after;
    }
    out.push_str(&plain(rest)?);
    Ok(Some(out))
}

fn value(inner: &str, lookup: Lookup<'_>) -> Result<String> {
    if inner.starts_with("secret:") {
        return Err(Error::args_invalid(format!("`${{{}}}` stands where no secret is put", shown(inner)))
            .with_hint(
                "secrets of the network's file go into `headers` of servers with `url` or `openapi`",
            ));
    }
    let (name, otherwise) = match inner.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    let shown = shown(name);
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

fn shown(name: &str) -> String {
    name.escape_debug().take(SHOWN).collect()
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
    fn secrets_become_what_the_gate_reads() {
        let read = |text: &str| with_secrets(text, &|name| (name == "A").then(|| "x".to_owned()));
        for (text, wanted) in [
            ("Bearer ${secret:KEY}", Some("Bearer {KEY}")),
            ("${secret:A_1}", Some("{A_1}")),
            ("${A}-${secret:K}:${secret:L} ", Some("x-{K}:{L} ")),
            ("Bearer ${A}", None),
        ] {
            assert_eq!(read(text).unwrap().as_deref(), wanted, "{text}");
        }
        for bad in ["${secret:}", "${secret:a b}", "${secret:K", "{${secret:K}", "${B}${secret:K}"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(filled("${secret:K}", &lookup).unwrap_err().hint().unwrap().contains("headers"));
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
