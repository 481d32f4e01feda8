//! Who has which token. Tokens are kept as hashes; they are compared in constant time, every one of them.

use std::collections::HashSet;

use axum::http::{HeaderMap, header};
use constant_time_eq::constant_time_eq_32;
use data_encoding::HEXLOWER_PERMISSIVE;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};
use sha2::{Digest as _, Sha256};

/// Fewest and most bytes of a token.
const LENGTH: std::ops::RangeInclusive<usize> = 16..=512;
/// Most lines of a file of tokens.
const MOST: usize = 10_000;

/// The tokens of the owners.
pub struct Tokens(Vec<([u8; 32], Owner)>);

/// Never shows a token, nor its hash.
impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}

impl Tokens {
    /// Reads one `OWNER TOKEN` or `OWNER sha256:HEX` a line; empty lines and those that begin with `#` say nothing. A token
    /// is 16 to 512 visible ASCII characters. An owner may have several.
    ///
    /// # Errors
    /// `args_invalid`, which names the line and never shows it; also for a file without tokens.
    pub fn parse(text: &str) -> Result<Self> {
        let mut tokens: Vec<([u8; 32], Owner)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |problem: &str| {
                Error::args_invalid(format!("line {number} of the token file: {problem}"))
                    .with_hint("write `OWNER TOKEN` or `OWNER sha256:HEX`, one a line")
            };
            let (owner, token) =
                line.split_once(char::is_whitespace).ok_or_else(|| wrong("it has no token"))?;
            let owner = Owner::parse(owner).map_err(|_| wrong("the first word cannot be an owner"))?;
            let hash = hash_of(token.trim_start()).map_err(wrong)?;
            if tokens.iter().any(|(known, _)| *known == hash) {
                return Err(wrong("its token stands on an earlier line"));
            }
            tokens.push((hash, owner));
            if tokens.len() > MOST {
                return Err(wrong("there are more than 10000 tokens"));
            }
        }
        if tokens.is_empty() {
            return Err(Error::args_invalid("the token file has no token")
                .with_hint("write `OWNER TOKEN` or `OWNER sha256:HEX`, one a line"));
        }
        Ok(Self(tokens))
    }

    /// How many owners there are.
    pub fn owners(&self) -> usize {
        self.0.iter().map(|(_, owner)| owner).collect::<HashSet<_>>().len()
    }

    /// Whose token the request brings in its `Authorization` header; nowhere else is one looked for.
    pub(super) fn owner(&self, headers: &HeaderMap) -> Result<&Owner> {
        let refused = || {
            Error::new(ErrorCode::Unauthorized, "the request has no known token")
                .with_hint("send `Authorization: Bearer TOKEN`")
        };
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(sent), None) = (sent.next(), sent.next()) else { return Err(refused()) };
        let token = bearer(sent.as_bytes()).ok_or_else(refused)?;
        let hash: [u8; 32] = Sha256::digest(token).into();
        let mut found = None;
        for (known, owner) in &self.0 {
            if constant_time_eq_32(known, &hash) {
                found = Some(owner);
            }
        }
        found.ok_or_else(refused)
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    (scheme.eq_ignore_ascii_case(b"bearer ") && LENGTH.contains(&token.len())).then_some(token)
}

fn hash_of(token: &str) -> std::result::Result<[u8; 32], &'static str> {
    if let Some(hex) = token.strip_prefix("sha256:") {
        let bytes = HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok();
        return bytes.and_then(|bytes| bytes.try_into().ok()).ok_or("`sha256:` is not followed by 64 digits");
    }
    if !LENGTH.contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a token is 16 to 512 visible ASCII characters");
    }
    Ok(Sha256::digest(token).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "ann-0123456789abcdef";
    const BOB: &str = "bob-0123456789abcdef";

    fn whose(tokens: &Tokens, values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        tokens.owner(&headers).ok().map(ToString::to_string)
    }

    #[test]
    fn mcp_04_a_token_is_one_owners_as_text_or_as_its_hash() {
        let hash = data_encoding::HEXUPPER.encode(&Sha256::digest(BOB));
        let tokens = Tokens::parse(&format!("# who\n\nann {ANN}\nbob\tsha256:{hash}\n")).unwrap();
        for (values, owner) in [
            (vec![format!("Bearer {ANN}")], Some("ann")),
            (vec![format!("bEARER {BOB}")], Some("bob")),
            (vec![format!("Bearer {ANN}x")], None),
            (vec![format!("Bearer {}", &ANN[1..])], None),
            (vec![format!("Bearer  {ANN}")], None),
            (vec![format!("Basic {ANN}")], None),
            (vec![ANN.to_owned()], None),
            (vec!["Bearer ".to_owned()], None),
            (vec!["Bearer".to_owned()], None),
            (vec![String::new()], None),
            (vec![format!("Bearer sha256:{hash}")], None),
            (vec![format!("Bearer {ANN}"), format!("Bearer {BOB}")], None),
            (vec![format!("Bearer {}", "x".repeat(100_000))], None),
            (vec![], None),
        ] {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            assert_eq!(whose(&tokens, &values).as_deref(), owner, "{values:?}");
        }
        assert_eq!((format!("{tokens:?}").as_str(), tokens.owners()), ("Tokens(2)", 2));
        let same = format!("ann {ANN}\nann {BOB}\n");
        assert_eq!(Tokens::parse(&same).unwrap().owners(), 1);
    }

    #[test]
    fn a_file_that_is_not_clear_is_refused_without_showing_it() {
        for text in [
            "",
            "# nothing\n",
            "ann",
            "ann short",
            "ann 0123456789abcde\u{fc}",
            "ann two words-of-a-token",
            "a/b 0123456789abcdef",
            "ann sha256:00",
            "ann sha256:zz",
            &format!("ann {ANN}\nbob {ANN}"),
        ] {
            let error = Tokens::parse(text).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{text}");
            assert!(!error.to_string().contains("0123") && !error.to_string().contains("short"), "{error}");
        }
    }
}
