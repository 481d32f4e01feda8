//! A value of a secret: wiped when it is let go of, and shown by nothing.

use std::fmt;

use zeroize::Zeroizing;

/// Shortest value, in bytes: what is shorter is found in answers by chance, and then the stars tell it.
pub(crate) const MIN_VALUE: usize = 8;
/// Longest value, in bytes.
pub(crate) const MAX_VALUE: usize = 8 << 10;

/// A value.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Value(Zeroizing<Vec<u8>>);

impl Value {
    /// Takes a value. One line end after it does not count.
    ///
    /// # Errors
    /// Why it is none, without anything that it consists of.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let bytes = Zeroizing::new(bytes);
        let mut text: &[u8] = &bytes;
        text = text.strip_suffix(b"\n").unwrap_or(text);
        text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.iter().any(|byte| *byte < 0x20 || *byte == 0x7f) {
            return Err("the value is more than a line, or holds control characters".into());
        }
        if text.len() < MIN_VALUE {
            return Err(format!("the value is shorter than {MIN_VALUE} bytes"));
        }
        if text.len() > MAX_VALUE {
            return Err(format!("the value is longer than {MAX_VALUE} bytes"));
        }
        Ok(Self(Zeroizing::new(text.to_vec())))
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_bounds_and_is_not_shown() {
        let new = |text: &str| Value::new(text.into());
        assert_eq!(new("12345678\n").unwrap().bytes(), b"12345678");
        assert_eq!(new("12345678\r\n").unwrap().bytes(), b"12345678");
        assert!(new("1234567").is_err() && new("12345678\n\n").is_err() && new("1234\u{0}5678").is_err());
        assert!(new(&"a".repeat(MAX_VALUE)).is_ok() && new(&"a".repeat(MAX_VALUE + 1)).is_err());
        assert_eq!(format!("{:?}", new("12345678").unwrap()), "Value(..)");
    }
}
