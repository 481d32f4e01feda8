//! Patterns in addresses: `{one,two}` and `[1-9]` stand for several, and `#1` in a file's name for what the first came to.

/// An address with its patterns.
#[derive(Debug)]
pub(super) struct Glob {
    parts: Vec<Part>,
    pub(super) count: u64,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Words(Vec<String>),
    Numbers { first: u64, step: u64, count: u64, width: usize },
    Letters { first: u8, step: u64, count: u64 },
}

impl Part {
    fn count(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::Words(words) => words.len() as u64,
            Self::Numbers { count, .. } | Self::Letters { count, .. } => *count,
        }
    }

    fn at(&self, place: u64) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Words(words) => {
                usize::try_from(place).ok().and_then(|place| words.get(place)).cloned().unwrap_or_default()
            }
            Self::Numbers { first, step, width, .. } => {
                format!("{:0width$}", first.saturating_add(place.saturating_mul(*step)), width = *width)
            }
            Self::Letters { first, step, .. } => {
                let letter = u64::from(*first).saturating_add(place.saturating_mul(*step));
                u8::try_from(letter).map_or(String::new(), |letter| char::from(letter).to_string())
            }
        }
    }
}

impl Glob {
    /// One without patterns.
    pub(super) fn plain(text: &str) -> Self {
        Self { parts: vec![Part::Text(text.to_owned())], count: 1 }
    }

    /// Reads an address. The error says what is wrong with it, and where.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str, place: usize| {
            let column = text[..place.min(text.len())].chars().count();
            format!("{why} in URL position {}:\n{text}\n{}^", column + 1, " ".repeat(column))
        };
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut letters = text.char_indices();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '\\' if text[place + 1..].starts_with(['{', '}', '[', ']']) => {
                    plain.extend(letters.next().map(|(_, letter)| letter));
                }
                // An address of IPv6 is no pattern.
                '[' if is_address(&text[place..]) => {
                    let end = text[place..].find(']').map_or(text.len(), |end| place + end + 1);
                    plain.push_str(&text[place..end]);
                    letters = skipped(text, end);
                }
                '{' | '[' => {
                    let close = if letter == '{' { '}' } else { ']' };
                    let Some(length) = text[place + 1..].find(close) else {
                        let why = if letter == '{' { "unmatched brace" } else { "bad range" };
                        return Err(wrong(why, if letter == '{' { place } else { place + 1 }));
                    };
                    let inner = &text[place + 1..place + 1 + length];
                    let part = match letter {
                        '{' if inner.contains('{') => return Err(wrong("nested brace", place + 1)),
                        '{' if inner.is_empty() => {
                            return Err(wrong("empty string within braces", place + 1));
                        }
                        '{' => Part::Words(inner.split(',').map(str::to_owned).collect()),
                        _ => range(inner).ok_or_else(|| wrong("bad range", place + 1))?,
                    };
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(part);
                    letters = skipped(text, place + length + 2);
                }
                '}' | ']' => return Err(wrong("unmatched close brace/bracket", place)),
                letter => plain.push(letter),
            }
        }
        parts.push(Part::Text(plain));
        let count = parts.iter().try_fold(1u64, |count, part| count.checked_mul(part.count()));
        let count = count.ok_or_else(|| wrong("range overflow", 0))?;
        Ok(Self { parts, count })
    }

    /// The address of that number, and what each pattern came to.
    pub(super) fn at(&self, mut number: u64) -> (String, Vec<String>) {
        // The last pattern changes first.
        let mut texts: Vec<String> = Vec::new();
        for part in self.parts.iter().rev() {
            texts.push(part.at(number % part.count()));
            number /= part.count();
        }
        texts.reverse();
        let is_pattern = |part: &Part| !matches!(part, Part::Text(_));
        let came = self.parts.iter().zip(&texts).filter(|(part, _)| is_pattern(part));
        let came = came.map(|(_, text)| text.clone()).collect();
        (texts.concat(), came)
    }
}

/// A file's name with `#1` and the like filled in.
pub(super) fn filled(name: &str, came: &[String]) -> String {
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('#') {
        text.push_str(before);
        let digits = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
        let number = behind[..digits].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match number.and_then(|place| came.get(place)) {
            Some(word) => {
                // No folder comes out of an address.
                text.push_str(&word.replace('/', "_"));
                rest = &behind[digits..];
            }
            None => {
                text.push('#');
                rest = behind;
            }
        }
    }
    text + rest
}

fn skipped(text: &str, place: usize) -> std::str::CharIndices<'_> {
    let mut letters = text.char_indices();
    while letters.offset() < place && letters.next().is_some() {}
    letters
}

fn is_address(text: &str) -> bool {
    let inner = text[1..].split(']').next().unwrap_or_default();
    text.contains(']')
        && inner.contains(':')
        && inner.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.%".contains(&byte))
        && inner.matches(':').count() > 1
}

/// `1-9`, `01-10:2`, `a-z`.
fn range(text: &str) -> Option<Part> {
    let (range, step) = match text.split_once(':') {
        Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)?),
        None => (text, 1u64),
    };
    let (first, last) = range.split_once('-')?;
    if let ([first], [last]) = (first.as_bytes(), last.as_bytes())
        && first.is_ascii_alphabetic()
        && last.is_ascii_alphabetic()
    {
        let span = last.checked_sub(*first)?;
        return Some(Part::Letters { first: *first, step, count: u64::from(span) / step + 1 });
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || !digits(last) {
        return None;
    }
    let width = if first.starts_with('0') { first.len().min(20) } else { 0 };
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some(Part::Numbers { first, step, count: (last.checked_sub(first)? / step).checked_add(1)?, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<String>, String> {
        let glob = Glob::parse(text)?;
        Ok((0..glob.count).map(|number| glob.at(number).0).collect())
    }

    #[test]
    fn patterns_stand_for_several_addresses() {
        assert_eq!(all("h/{a,b}[1-2]").unwrap(), ["h/a1", "h/a2", "h/b1", "h/b2"]);
        assert_eq!(all("h/[08-10]").unwrap(), ["h/08", "h/09", "h/10"]);
        assert_eq!(all("h/[a-e:2]").unwrap(), ["h/a", "h/c", "h/e"]);
        assert_eq!(all("http://[::1]:80/\\[x\\]").unwrap(), ["http://[::1]:80/[x]"]);
        assert_eq!(filled("#1_#2.#3#", &["a/b".into(), "2".into()]), "a_b_2.#3#");
        assert_eq!(Glob::parse("h/[1-100000000000]").unwrap().at(99).0, "h/100");
    }

    #[test]
    fn what_is_no_pattern_is_told_with_its_place() {
        assert_eq!(all("{a,b").unwrap_err(), "unmatched brace in URL position 1:\n{a,b\n^");
        for text in
            ["h/[a", "h/]", "h/[3-1]", "h/{}", "h/{a{b}}", "h/[1-2:0]", "[0-18446744073709551615][0-9]"]
        {
            assert!(all(text).unwrap_err().contains("in URL position"), "{text}");
        }
    }
}
