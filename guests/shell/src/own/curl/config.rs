//! Files of options: one a line, with its value behind `=`, `:` or a space, in quotes if need be.

use super::options::{self, Given, Word};

/// The lines that say something: their number, the option, its value.
pub(super) fn lines(text: &str) -> Vec<(usize, String, Option<String>)> {
    let mut all = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = line.find(|letter: char| letter.is_whitespace() || matches!(letter, '=' | ':'));
        // A letter's value may follow it at once.
        let end = match end {
            _ if line.starts_with('-') && !line.starts_with("--") && line.len() > 2 => Some(2),
            end => end,
        };
        let (option, rest) = line.split_at(end.unwrap_or(line.len()));
        let rest = rest.trim_start();
        let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
        let value = match rest.strip_prefix('"') {
            Some(quoted) => Some(unquoted(quoted)),
            None => Some(rest.split_whitespace().next().unwrap_or_default().to_owned())
                .filter(|text| !text.is_empty()),
        };
        all.push((place + 1, option.to_owned(), value));
    }
    all
}

fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
        out.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('v') => '\x0b',
                Some(other) => other,
                None => '\\',
            },
            letter => letter,
        });
    }
    out
}

/// A line's option. The error is what is said of it.
pub(super) fn given(option: &str, value: Option<String>) -> Result<Given, String> {
    if option.starts_with('-') && !option.starts_with("--") {
        let words: Vec<String> = std::iter::once(option.to_owned()).chain(value).collect();
        return match options::parse(&words)?.pop() {
            Some(Word::Option(given)) => Ok(given),
            _ => Err(format!("option {option}: is badly used here")),
        };
    }
    let long = option.strip_prefix("--").unwrap_or(option);
    options::named(long, option, || value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_options_and_values() {
        let text = "# no\nurl = \"http://x/\\\"a\\\"\"\n--output: out\nsilent\n-X POST\n-XPUT\n  header \"A: b c\" # rest\n\n";
        let read: Vec<String> = lines(text)
            .into_iter()
            .map(|(line, option, value)| {
                given(&option, value).map_or_else(
                    |why| why,
                    |given| format!("{line} {} {}", given.name, given.value.unwrap_or_default()),
                )
            })
            .collect();
        assert_eq!(
            read,
            [
                "2 url http://x/\"a\"",
                "3 output out",
                "4 silent ",
                "5 request POST",
                "6 request PUT",
                "7 header A: b c"
            ]
        );
        assert_eq!(given("nonsense", None).unwrap_err(), "option nonsense: is unknown");
        assert_eq!(given("output", None).unwrap_err(), "option output: requires parameter");
    }
}
