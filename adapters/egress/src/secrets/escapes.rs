//! Texts as they are once their escapes are undone, one byte after the other: any character of a value may come escaped and any other
//! as it is, and each library escapes others.

use zeroize::Zeroizing;

/// Names of characters in HTML that encoders use.
const NAMED: [(&[u8], u8); 5] =
    [(b"amp", b'&'), (b"lt", b'<'), (b"gt", b'>'), (b"quot", b'"'), (b"apos", b'\'')];
/// Digits of a character's number in HTML, at most: U+10FFFF with zeros before it.
const DIGITS: usize = 8;

/// What a beginning of a text is.
enum Begins {
    /// The whole of an escape, which stands for a byte, or for a character.
    Byte(u8),
    Character(char),
    /// Not known before more has come.
    Unknown,
    /// No escape.
    Plain,
}

/// Undoes escapes: of URLs (`%41`), of JSON and JavaScript (`\u0041`, `\x41`, `\/`), of HTML (`&#65;`, `&#x41;`, `&amp;`).
#[derive(Default)]
pub(super) struct Unescape {
    /// What may become an escape.
    pending: Zeroizing<Vec<u8>>,
    /// Bytes that were taken.
    taken: u64,
}

impl Unescape {
    /// Takes a byte. `told` hears of what stands there by then: its bytes, each with where it begins and ends in the text.
    pub(super) fn push(&mut self, byte: u8, told: &mut impl FnMut(u8, u64, u64)) {
        self.taken += 1;
        if self.pending.is_empty() && !b"%\\&".contains(&byte) {
            return told(byte, self.taken - 1, self.taken);
        }
        self.pending.push(byte);
        while !self.pending.is_empty() {
            let begin = self.begin();
            match begins(&self.pending) {
                Begins::Unknown => return,
                Begins::Byte(byte) => {
                    told(byte, begin, self.taken);
                    self.pending.clear();
                }
                Begins::Character(character) => {
                    let mut bytes = [0; 4];
                    for byte in character.encode_utf8(&mut bytes).bytes() {
                        told(byte, begin, self.taken);
                    }
                    self.pending.clear();
                }
                Begins::Plain => told(self.pending.remove(0), begin, begin + 1),
            }
        }
    }

    /// Nothing follows: what could have become an escape is none.
    pub(super) fn end(&mut self, told: &mut impl FnMut(u8, u64, u64)) {
        let begin = self.begin();
        for (at, byte) in (begin..).zip(std::mem::take(&mut self.pending).iter()) {
            told(*byte, at, at + 1);
        }
    }

    /// Where what has not been told yet begins.
    pub(super) fn begin(&self) -> u64 {
        self.taken - self.pending.len() as u64
    }
}

fn begins(text: &[u8]) -> Begins {
    match text {
        [b'%', digits @ ..] => match number(digits, 2) {
            Begins::Character(character) => Begins::Byte(u8::try_from(u32::from(character)).unwrap_or(b'%')),
            other => other,
        },
        [b'\\', b'u', digits @ ..] => number(digits, 4),
        [b'\\', b'x', digits @ ..] => number(digits, 2),
        [b'\\', escaped @ (b'"' | b'\\' | b'/' | b'\'')] => Begins::Byte(*escaped),
        [b'&', b'#', b'x' | b'X', rest @ ..] => reference(rest, 16),
        [b'&', b'#', rest @ ..] => reference(rest, 10),
        [b'&', rest @ ..] => name(rest),
        [b'\\'] => Begins::Unknown,
        _ => Begins::Plain,
    }
}

/// A number of so many hexadecimal digits.
fn number(digits: &[u8], count: usize) -> Begins {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Begins::Plain;
    }
    if digits.len() < count { Begins::Unknown } else { character(digits, 16) }
}

/// A number up to a semicolon.
fn reference(rest: &[u8], radix: u32) -> Begins {
    let is_whole = rest.last() == Some(&b';');
    let digits = &rest[..rest.len() - usize::from(is_whole)];
    let are_digits = digits.iter().all(|digit| char::from(*digit).is_digit(radix));
    match are_digits && digits.len() <= DIGITS {
        false => Begins::Plain,
        true if is_whole => character(digits, radix),
        true => Begins::Unknown,
    }
}

fn name(rest: &[u8]) -> Begins {
    for (name, byte) in NAMED {
        if rest.strip_suffix(b";") == Some(name) {
            return Begins::Byte(byte);
        }
    }
    if NAMED.iter().any(|(name, _)| name.starts_with(rest)) { Begins::Unknown } else { Begins::Plain }
}

fn character(digits: &[u8], radix: u32) -> Begins {
    let number = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, radix).ok());
    match number.and_then(char::from_u32) {
        Some(character) => Begins::Character(character),
        None => Begins::Plain,
    }
}
