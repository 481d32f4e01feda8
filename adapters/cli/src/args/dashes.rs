//! Code that begins with a dash: `-f(3)`, `-5 % 3`.
//!
//! A word of `eval` that cannot be an option is code, or an argument of the program, and need not stand behind `--`. It gets
//! a mark before the command line is read and loses it afterwards.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::CommandFactory as _;

use super::Arguments;

/// No word of a command line can begin with it.
const MARK: char = '\0';

/// The words, those of `eval` marked that cannot be options. The first is the program's name.
pub(super) fn marked(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let Some(eval) = subcommand(&words).filter(|at| words[*at] == "eval") else { return words };
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    for at in eval + 1..end {
        if let Some(word) = words[at].to_str()
            && !can_be_option(word)
            && !wants_value(&words[at - 1])
        {
            words[at] = format!("{MARK}{word}").into();
        }
    }
    words
}

/// A word as it was written.
pub(super) fn unmarked(word: &mut String) {
    if word.starts_with(MARK) {
        word.remove(0);
    }
}

/// Where the name of the subcommand stands.
fn subcommand(words: &[OsString]) -> Option<usize> {
    let is_option = |word: &OsStr| word.as_encoded_bytes().starts_with(b"-");
    (1..words.len()).find(|at| !is_option(&words[*at]) && !wants_value(&words[at - 1]))
}

/// Whether a word is an option whose value is the next word.
fn wants_value(word: &OsStr) -> bool {
    let Some(word) = word.to_str().filter(|word| word.len() > 1 && word.starts_with('-')) else {
        return false;
    };
    let root = Arguments::command();
    let own = root.find_subcommand("eval").into_iter().flat_map(|eval| eval.get_arguments());
    let mut all = root.get_arguments().chain(own);
    all.any(|argument| {
        let long = argument.get_long().zip(word.strip_prefix("--")).is_some_and(|(name, word)| name == word);
        let short = argument
            .get_short()
            .is_some_and(|short| word.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4])));
        (long || short) && argument.get_action().takes_values()
    })
}

/// Whether a word can be an option, one that is there or one that was misspelt.
fn can_be_option(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else { return true };
    if let Some(long) = rest.strip_prefix('-') {
        return long.is_empty() || long.starts_with(|c: char| c.is_ascii_alphabetic());
    }
    let mut letters = rest.chars();
    let letter = letters.next().unwrap_or_default();
    let value = letters.as_str();
    let all = |is: fn(char) -> bool| value.chars().all(is);
    match letter {
        _ if !letter.is_ascii_alphabetic() => false,
        _ if value.is_empty() || value.starts_with('=') => true,
        'l' => all(|c| c.is_ascii_alphanumeric() || "+#_-".contains(c)),
        't' | 'm' => value.starts_with(|c: char| c.is_ascii_digit()),
        'e' => value.split_once('=').is_some_and(|(name, _)| !name.contains([' ', '('])),
        'f' => !value.contains('(') || Path::new(value).exists(),
        _ => all(|c| c.is_ascii_alphanumeric() || c == '-'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_begins_with_a_dash_is_told_from_options() {
        for code in [
            "-5 % 3",
            "-f(3)",
            "-(2 + 3)",
            "-$x",
            "-abs(3)",
            "-x + 1",
            "-len(a)",
            "-max(1, 2)",
            "-tan(1)",
            "-exp(2)",
            "-e(a == b)",
            "-v(1)",
            "--5",
            "-1",
            "-math.pi * 2",
            "-[1][0]",
            "-t[0]",
        ] {
            assert!(!can_be_option(code), "{code}");
        }
        for option in [
            "-",
            "--",
            "-l",
            "-lphp",
            "-l=php",
            "-lC++",
            "-t5s",
            "-m64MiB",
            "-fjob.py",
            "-f=a(1).py",
            "-eA=f(3)",
            "-v",
            "-vf",
            "--unsafe",
            "--tiemout",
            "--env=A",
            "-x",
            "-z9",
            "-h",
        ] {
            assert!(can_be_option(option), "{option}");
        }
    }

    #[test]
    fn only_words_of_eval_that_no_option_waits_for_are_marked() {
        let marks = |line: &[&str]| {
            let words = marked(line.iter().map(OsString::from));
            let marked = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with(MARK));
            words.iter().enumerate().filter(|(_, word)| marked(word)).map(|(at, _)| at).collect::<Vec<_>>()
        };
        for (line, at) in [
            (&["dormouse", "eval", "-5 % 3"][..], &[2][..]),
            (&["dormouse", "--cache-dir", "eval", "eval", "-l", "php", "-f(3)", "--json", "-1"], &[6, 8]),
            (&["dormouse", "eval", "--name", "-f(3)", "1"], &[]),
            (&["dormouse", "eval", "--name=n", "-f(3)"], &[3]),
            (&["dormouse", "eval", "-v", "-f(3)"], &[3]),
            (&["dormouse", "eval", "-f", "-f(3)"], &[]),
            (&["dormouse", "eval", "--", "-f(3)"], &[]),
            (&["dormouse", "sandbox", "eval", "-f(3)"], &[]),
            (&["dormouse"], &[]),
        ] {
            assert_eq!(marks(line), at, "{line:?}");
        }
        let mut word = format!("{MARK}-5");
        unmarked(&mut word);
        assert_eq!(word, "-5");
    }
}
