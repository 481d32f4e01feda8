//! The options that there are, and how words become options: letters in bundles, long names cut short, `--no-` before a switch.

/// What belongs to an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: it is on, or off with `--no-`.
    Switch,
    /// A value.
    Value,
    /// Nothing; it changes nothing here, for the host does it.
    Idle,
    /// A value; it changes nothing here.
    IdleValue,
    /// It cannot be done here.
    Never,
}

use Kind::{Idle, IdleValue, Never, Switch, Value};

/// A letter (NUL: it has none), a long name, and what belongs to it.
pub(super) struct Known(char, pub(super) &'static str, pub(super) Kind);

const NONE: char = '\0';

const KNOWN: &[Known] = &[
    Known('#', "progress-bar", Idle),
    Known('0', "http1.0", Idle),
    Known(NONE, "http1.1", Idle),
    Known(NONE, "http2", Idle),
    Known(NONE, "http2-prior-knowledge", Idle),
    Known(NONE, "http3", Idle),
    Known('1', "tlsv1", Idle),
    Known(NONE, "tlsv1.0", Idle),
    Known(NONE, "tlsv1.1", Idle),
    Known(NONE, "tlsv1.2", Idle),
    Known(NONE, "tlsv1.3", Idle),
    Known(NONE, "tls-max", IdleValue),
    Known('4', "ipv4", Idle),
    Known('6', "ipv6", Idle),
    Known(':', "next", Switch),
    Known('A', "user-agent", Value),
    Known('b', "cookie", Value),
    Known('c', "cookie-jar", Value),
    Known('C', "continue-at", Value),
    Known('d', "data", Value),
    Known('D', "dump-header", Value),
    Known('e', "referer", Value),
    Known('E', "cert", Never),
    Known('f', "fail", Switch),
    Known('F', "form", Value),
    Known('g', "globoff", Switch),
    Known('G', "get", Switch),
    Known('h', "help", Switch),
    Known('H', "header", Value),
    Known('i', "include", Switch),
    Known('I', "head", Switch),
    Known('j', "junk-session-cookies", Switch),
    Known('J', "remote-header-name", Switch),
    Known('k', "insecure", Idle),
    Known('K', "config", Value),
    Known('L', "location", Switch),
    Known('m', "max-time", Value),
    Known('n', "netrc", Never),
    Known('N', "buffer", Idle),
    Known('o', "output", Value),
    Known('O', "remote-name", Switch),
    Known('q', "disable", Switch),
    Known('r', "range", Value),
    Known('R', "remote-time", Switch),
    Known('s', "silent", Switch),
    Known('S', "show-error", Switch),
    Known('T', "upload-file", Value),
    Known('u', "user", Value),
    Known('U', "proxy-user", Never),
    Known('v', "verbose", Switch),
    Known('V', "version", Switch),
    Known('w', "write-out", Value),
    Known('x', "proxy", Never),
    Known('X', "request", Value),
    Known('z', "time-cond", Never),
    Known('Z', "parallel", Switch),
    Known(NONE, "anyauth", Never),
    Known(NONE, "basic", Idle),
    Known(NONE, "cacert", IdleValue),
    Known(NONE, "capath", IdleValue),
    Known(NONE, "ca-native", Idle),
    Known(NONE, "ciphers", IdleValue),
    Known(NONE, "compressed", Switch),
    Known(NONE, "connect-timeout", Value),
    Known(NONE, "connect-to", Never),
    Known(NONE, "create-dirs", Switch),
    Known(NONE, "data-ascii", Value),
    Known(NONE, "data-binary", Value),
    Known(NONE, "data-raw", Value),
    Known(NONE, "data-urlencode", Value),
    Known(NONE, "digest", Never),
    Known(NONE, "fail-early", Switch),
    Known(NONE, "fail-with-body", Switch),
    Known(NONE, "form-string", Value),
    Known(NONE, "interface", Never),
    Known(NONE, "json", Value),
    Known(NONE, "keepalive", Idle),
    Known(NONE, "keepalive-time", IdleValue),
    Known(NONE, "key", Never),
    Known(NONE, "limit-rate", IdleValue),
    Known(NONE, "location-trusted", Switch),
    Known(NONE, "max-filesize", Value),
    Known(NONE, "max-redirs", Value),
    Known(NONE, "negotiate", Never),
    Known(NONE, "netrc-file", Never),
    Known(NONE, "netrc-optional", Never),
    Known(NONE, "noproxy", IdleValue),
    Known(NONE, "ntlm", Never),
    Known(NONE, "oauth2-bearer", Value),
    Known(NONE, "output-dir", Value),
    Known(NONE, "parallel-immediate", Idle),
    Known(NONE, "parallel-max", Value),
    Known(NONE, "path-as-is", Switch),
    Known(NONE, "post301", Switch),
    Known(NONE, "post302", Switch),
    Known(NONE, "post303", Switch),
    Known(NONE, "progress-meter", Idle),
    Known(NONE, "proto", IdleValue),
    Known(NONE, "proto-default", IdleValue),
    Known(NONE, "proto-redir", IdleValue),
    Known(NONE, "remote-name-all", Switch),
    Known(NONE, "remove-on-error", Switch),
    Known(NONE, "resolve", Never),
    Known(NONE, "retry", Value),
    Known(NONE, "retry-all-errors", Switch),
    Known(NONE, "retry-connrefused", Switch),
    Known(NONE, "retry-delay", Value),
    Known(NONE, "retry-max-time", Value),
    Known(NONE, "socks5", Never),
    Known(NONE, "socks5-hostname", Never),
    Known(NONE, "ssl", Idle),
    Known(NONE, "ssl-no-revoke", Idle),
    Known(NONE, "ssl-reqd", Idle),
    Known(NONE, "styled-output", Idle),
    Known(NONE, "tcp-fastopen", Idle),
    Known(NONE, "tcp-nodelay", Idle),
    Known(NONE, "unix-socket", Never),
    Known(NONE, "url", Value),
    Known(NONE, "url-query", Value),
];

/// An option as it was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) name: &'static str,
    pub(super) value: Option<String>,
    /// Without `--no-` before it.
    pub(super) on: bool,
    /// As it was written.
    pub(super) written: String,
}

/// Words one by one: options, and operands, which are addresses.
pub(super) enum Word {
    Option(Given),
    Address(String),
}

/// Takes the words of a command line apart. The error is what is said of it.
pub(super) fn parse(words: &[String]) -> Result<Vec<Word>, String> {
    let mut all = Vec::new();
    let mut rest = words.iter();
    let mut operands = false;
    while let Some(word) = rest.next() {
        if operands || !word.starts_with('-') || word == "-" {
            all.push(Word::Address(word.clone()));
        } else if word == "--" {
            operands = true;
        } else if let Some(long) = word.strip_prefix("--") {
            all.push(Word::Option(named(long, word, || rest.next().cloned())?));
        } else {
            letters(word, || rest.next().cloned(), &mut all)?;
        }
    }
    Ok(all)
}

/// A long option; its value is what `next` gives.
pub(super) fn named(
    long: &str,
    written: &str,
    next: impl FnOnce() -> Option<String>,
) -> Result<Given, String> {
    let (name, on) = match long.strip_prefix("no-") {
        Some(name) => (name, false),
        None => (long, true),
    };
    let unknown = || format!("option {written}: is unknown");
    let mut fitting = KNOWN.iter().filter(|Known(_, known, _)| known.starts_with(name) && !name.is_empty());
    let first = fitting.next().ok_or_else(unknown)?;
    let known = match KNOWN.iter().find(|Known(_, known, _)| *known == name) {
        Some(exact) => exact,
        None if fitting.next().is_some() => return Err(format!("option {written}: is ambiguous")),
        None => first,
    };
    if !on && !matches!(known.2, Switch | Idle) {
        return Err(format!("option {written}: used '--no-' for option that isn't a boolean"));
    }
    let value = match known.2 {
        Value | IdleValue => Some(next().ok_or_else(|| format!("option {written}: requires parameter"))?),
        _ => None,
    };
    given(known, value, on, written)
}

/// A bundle of letters.
fn letters(word: &str, next: impl FnOnce() -> Option<String>, all: &mut Vec<Word>) -> Result<(), String> {
    let mut letters = word[1..].chars();
    while let Some(letter) = letters.next() {
        let known = KNOWN.iter().find(|Known(known, ..)| *known == letter && letter != NONE);
        let known = known.ok_or_else(|| format!("option {word}: is unknown"))?;
        if matches!(known.2, Value | IdleValue) {
            let attached = Some(letters.as_str().to_owned()).filter(|text| !text.is_empty());
            let value = attached.or_else(next).ok_or_else(|| format!("option {word}: requires parameter"))?;
            all.push(Word::Option(given(known, Some(value), true, word)?));
            return Ok(());
        }
        // `-N` is short for `--no-buffer`.
        let on = letter != 'N';
        all.push(Word::Option(given(known, None, on, word)?));
    }
    Ok(())
}

fn given(known: &Known, value: Option<String>, on: bool, written: &str) -> Result<Given, String> {
    if known.2 == Never {
        return Err(format!("option {written}: not supported in a sandbox, where the host connects"));
    }
    Ok(Given { name: known.1, value, on, written: written.to_owned() })
}

/// Whether an option changes nothing here.
pub(super) fn is_idle(name: &str) -> bool {
    KNOWN.iter().any(|Known(_, known, kind)| *known == name && matches!(kind, Idle | IdleValue))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let shown = |word| match word {
            Word::Address(text) => text,
            Word::Option(Given { name, value, on, .. }) => {
                format!(
                    "{}{name}{}",
                    if on { "" } else { "no-" },
                    value.map_or(String::new(), |text| format!("={text}"))
                )
            }
        };
        Ok(parse(&words)?.into_iter().map(shown).collect())
    }

    #[test]
    fn words_become_options_and_addresses() {
        assert_eq!(
            read(&["-sSfLo", "out", "a", "-XPOST", "--no-silent", "--compr", "--", "-b"]).unwrap(),
            [
                "silent",
                "show-error",
                "fail",
                "location",
                "output=out",
                "a",
                "request=POST",
                "no-silent",
                "compressed",
                "-b"
            ]
        );
        for (words, why) in [
            (&["--foo", "x"][..], "option --foo: is unknown"),
            (&["--max", "x"], "option --max: is ambiguous"),
            (&["-sX"], "option -sX: requires parameter"),
            (&["--output"], "option --output: requires parameter"),
            (&["--no-output", "x"], "option --no-output: used '--no-' for option that isn't a boolean"),
            (&["-x", "y"], "option -x: not supported in a sandbox, where the host connects"),
        ] {
            assert_eq!(read(words).unwrap_err(), why);
        }
    }

    #[test]
    fn no_letter_and_no_name_stands_for_two_options() {
        for (place, Known(letter, name, _)) in KNOWN.iter().enumerate() {
            let others = &KNOWN[place + 1..];
            assert!(
                others.iter().all(|other| (*letter == NONE || other.0 != *letter) && other.1 != *name),
                "{name}"
            );
        }
    }
}
