//! Paths of rules, and whether a path can be read in one way only.

use std::fmt;

use percent_encoding::percent_decode_str;

/// What hides a step from one reader and not from another.
const HIDDEN: [&str; 4] = ["%2f", "%5c", "%2e", "%00"];

/// The paths that a rule is for: `*` is one segment that is not empty, `**` at the end is any rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(String);

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence about `it`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.starts_with('/') {
            return Err("it does not begin with `/`");
        }
        let segments: Vec<&str> = text.split('/').skip(1).collect();
        for (at, segment) in segments.iter().enumerate() {
            match *segment {
                "*" => {}
                "**" if at + 1 == segments.len() => {}
                "**" => return Err("`**` stands at the end alone"),
                other if other.contains('*') => return Err("`*` stands for a whole segment"),
                _ => {}
            }
        }
        let plain = text.replace("**", "a").replace('*', "a");
        if !has_one_reading(&plain) {
            return Err(
                "no request could have it: it holds `.`, `..`, `//`, `;`, `\\`, `?`, `#`, or an escape of such",
            );
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether it is for a path, which must have one reading.
    pub fn fits(&self, path: &str) -> bool {
        let (mut have, mut want) = (path.split('/'), self.0.split('/'));
        loop {
            match (want.next(), have.next()) {
                (Some("**"), Some(_)) | (None, None) => return true,
                (Some("*"), Some(segment)) if !segment.is_empty() => {}
                (Some(one), Some(segment)) if one == segment => {}
                _ => return false,
            }
        }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether all servers take a path for the same: no step up or nowhere, open or escaped once or twice; no empty segment; nothing
/// that some cut off (`;`, a final dot); escapes are whole, and of UTF-8.
pub fn has_one_reading(path: &str) -> bool {
    let hides = |text: &str| {
        let lower = text.to_ascii_lowercase();
        HIDDEN.iter().any(|hidden| lower.contains(hidden)) || text.contains(['\\', ';'])
    };
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"?#".contains(&byte);
    if !path.starts_with('/') || path.contains("//") || !path.bytes().all(plain) || hides(path) {
        return false;
    }
    let mut escapes = path.split('%').skip(1).map(|rest| rest.as_bytes());
    if !escapes.all(|rest| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit)) {
        return false;
    }
    let Ok(read) = percent_decode_str(path).decode_utf8() else { return false };
    !hides(&read)
        && !read.chars().any(char::is_control)
        && !read.split('/').any(|segment| segment.ends_with('.') || segment.ends_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_for_what_it_says() {
        for (pattern, fitting, other) in [
            ("/v1/*", "/v1/a", "/v1/"),
            ("/v1/*", "/v1/%61", "/v1/a/b"),
            ("/v1/*/x", "/v1/a/x", "/v1/a/y"),
            ("/pub/**", "/pub/", "/pub"),
            ("/pub/**", "/pub/a/b", "/public/a"),
            ("/**", "/", "x"),
            ("/", "/", "/a"),
            ("/a", "/a", "/a/"),
            ("/a", "/a", "/A"),
        ] {
            let pattern = PathPattern::parse(pattern).unwrap();
            assert!(pattern.fits(fitting), "{pattern} {fitting}");
            assert!(!pattern.fits(other), "{pattern} {other}");
        }
    }

    #[test]
    fn a_pattern_that_no_request_could_fit_is_an_error() {
        for bad in [
            "",
            "v1",
            "/**/a",
            "/a*",
            "/v1/*.json",
            "/***",
            "/../a",
            "/a//b",
            "/a;b",
            "/%2e",
            "/a?b",
            "/a b",
            "/é",
            "/a/.",
        ] {
            assert!(PathPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn net_09_a_path_that_could_be_read_in_two_ways_fits_no_rule() {
        for good in [
            "/",
            "/v1/a",
            "/v1/a%20b",
            "/v1/%C3%A9",
            "/a.b/c-d_e~f",
            "/@scope%40x",
            "/100%25",
            "/a:b",
            "/.well-known/x",
        ] {
            assert!(has_one_reading(good), "{good}");
        }
        for bad in [
            "",
            "*",
            "v1",
            "http://other/v1",
            "/v1/../x",
            "/v1/%2e%2e/x",
            "/v1/%2E%2E/x",
            "/v1/.%2e/x",
            "/v1/..%2fx",
            "/v1/..%5cx",
            "/v1/a%2Fb",
            "/v1//x",
            "//v1",
            "/v1\\x",
            "/v1/a;b",
            "/v1/a%3Bb",
            "/v1/%00",
            "/v1/.",
            "/v1/..",
            "/v1/a.",
            "/v1/a./b",
            "/v1/a%20",
            "/v1/%252e%252e/x",
            "/v1/a%252fb",
            "/v1/%c0%ae%c0%ae/x",
            "/v1/%e0%80%ae/x",
            "/v1/%ff",
            "/v1/%",
            "/v1/%2",
            "/v1/%zz",
            "/v1/%0d%0a",
            "/v1/%7f",
            "/v1/a?b",
            "/v1/a#b",
            "/v1/é",
            "/v1/a b",
            "/v1/\u{1}",
        ] {
            assert!(!has_one_reading(bad), "{bad}");
        }
    }
}
