//! The sections of a `.phpt` file.

use std::collections::BTreeMap;
use std::path::Path;

use super::pattern::trimmed;

/// A test file, read.
#[derive(Debug, Default)]
pub(super) struct Sections(BTreeMap<String, Vec<u8>>);

impl Sections {
    /// Splits the text; a line `--NAME--` begins a section.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut sections = BTreeMap::new();
        let (mut name, mut done) = (String::new(), false);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if let Some(begun) = heading(line) {
                name = begun.to_owned();
                done = false;
                sections.insert(name.clone(), Vec::new());
            } else if !done && let Some(held) = sections.get_mut(&name) {
                held.extend_from_slice(line);
                // What follows this mark is a remark of the test's author.
                done = name == "FILE" && line.trim_ascii_end() == b"===DONE===";
            }
        }
        Self(sections)
    }

    /// The section's bytes.
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The section as text, trimmed; empty when it is not there.
    pub(super) fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(trimmed(self.get(name).unwrap_or_default())).into_owned()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The program: in the file itself, or beside it in `folder`.
    pub(super) fn program(&self, folder: &Path) -> Option<Vec<u8>> {
        if let Some(file) = self.get("FILE") {
            return Some(file.to_vec());
        }
        if let Some(file) = self.get("FILEEOF") {
            let end = file.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
            return Some(file[..end].to_vec());
        }
        std::fs::read(folder.join(self.text("FILE_EXTERNAL")))
            .ok()
            .filter(|_| self.get("FILE_EXTERNAL").is_some())
    }
}

fn heading(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(b"--")?;
    let length = rest.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
    (length > 0 && rest[length..].starts_with(b"--")).then(|| std::str::from_utf8(&rest[..length]).ok())?
}

/// Words of a command line, with quotes.
pub(super) fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            None if letter == '"' || letter == '\'' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_where_the_next_one_begins() {
        let text =
            b"--TEST--\na name\n--FILE--\n<?php\n--x;\n--lower--\n===DONE===\nremark\n--EXPECT--\n1\xff\n";
        let sections = Sections::parse(text);
        assert_eq!(sections.names().collect::<Vec<_>>(), ["EXPECT", "FILE", "TEST"]);
        assert_eq!(sections.get("FILE").unwrap(), b"<?php\n--x;\n--lower--\n===DONE===\n");
        assert_eq!(sections.get("EXPECT").unwrap(), b"1\xff\n");
        assert_eq!(sections.text("TEST"), "a name");
    }

    #[test]
    fn a_program_may_end_without_a_new_line() {
        let sections = Sections::parse(b"--FILEEOF--\n<?php /*\n\n--EXPECT--\n");
        assert_eq!(sections.program(Path::new("")).unwrap(), b"<?php /*");
    }

    #[test]
    fn arguments_are_words_with_quotes() {
        assert_eq!(words(" -a 'b c' d\"e f\" '' "), ["-a", "b c", "de f", ""]);
    }
}
