//! Addresses as `curl` and `wget` read them: a scheme may be missing, and steps of a path are taken before it is sent.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, percent_decode_str, percent_encode};

/// The protocol of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::own) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(in crate::own) fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::own) enum Bad {
    /// Its form.
    Form,
    /// A protocol that is not spoken here.
    Scheme(String),
}

/// An address, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::own) struct Url {
    pub(in crate::own) scheme: Scheme,
    /// User and password, as it names them.
    pub(in crate::own) login: Option<String>,
    /// In lower case.
    pub(in crate::own) host: String,
    port: Option<u16>,
    /// Begins with a slash.
    pub(in crate::own) path: String,
    pub(in crate::own) query: Option<String>,
    fragment: Option<String>,
}

impl Url {
    /// Reads an address. `as_is`: steps such as `..` stay in its path.
    pub(in crate::own) fn parse(text: &str, as_is: bool) -> Result<Self, Bad> {
        if text.is_empty() || text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(Bad::Form);
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => (known(scheme)?, rest),
            _ => (Scheme::Http, text),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(unescaped(login)), place),
            None => (None, authority),
        };
        let (host, port) = place_of(place).ok_or(Bad::Form)?;
        let mut url = Self {
            scheme,
            login,
            host: host.to_ascii_lowercase(),
            port: port.filter(|port| *port != scheme.port()),
            path: String::new(),
            query: None,
            fragment: None,
        };
        url.set_target(rest, as_is);
        Ok(url)
    }

    /// Takes path, query and fragment from a text.
    fn set_target(&mut self, text: &str, as_is: bool) {
        let (text, fragment) = cut(text, '#');
        let (path, query) = cut(text, '?');
        self.fragment = fragment.map(str::to_owned);
        self.query = query.map(escaped);
        let path = escaped(path);
        self.path = match path.starts_with('/') {
            true if as_is => path,
            true => without_steps(&path),
            false => format!("/{path}"),
        };
    }

    /// Where a `Location` leads to from here.
    pub(in crate::own) fn follow(&self, location: &str, as_is: bool) -> Result<Self, Bad> {
        let location = spaceless(location.trim());
        if let Some((scheme, _)) = location.split_once("://")
            && is_scheme(scheme)
        {
            return Self::parse(&location, as_is);
        }
        if let Some(rest) = location.strip_prefix("//") {
            return Self::parse(&format!("{}://{rest}", self.scheme.word()), as_is);
        }
        let mut url = Self { fragment: None, ..self.clone() };
        match location.chars().next() {
            None => {}
            Some('/') => url.set_target(&location, as_is),
            Some('?') => url.set_target(&format!("{}{location}", self.path), as_is),
            Some('#') => url.fragment = Some(location[1..].to_owned()),
            Some(_) => {
                let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                url.set_target(&format!("{folder}/{location}"), as_is);
            }
        }
        Ok(url)
    }

    /// The address that is asked for.
    pub(in crate::own) fn asked(&self) -> String {
        format!("{}://{}{}", self.scheme.word(), self.authority(), self.target())
    }

    /// The same with what is not asked for but belongs to it.
    pub(in crate::own) fn shown(&self) -> String {
        let mut text = self.asked();
        if let Some(fragment) = &self.fragment {
            let _ = write!(text, "#{fragment}");
        }
        text
    }

    /// Path and query.
    pub(in crate::own) fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// As it stands in the header `Host`.
    pub(in crate::own) fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    pub(in crate::own) fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.scheme.port())
    }

    /// Whether both are of the same server.
    pub(in crate::own) fn is_beside(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// The last part of the path; none: it ends with a slash.
    pub(in crate::own) fn name(&self) -> Option<&str> {
        self.path.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// Puts text behind the query.
    pub(in crate::own) fn ask(&mut self, more: &str) {
        let more = escaped(&spaceless(more));
        match &mut self.query {
            Some(query) if !query.is_empty() => *query = format!("{query}&{more}"),
            query => *query = Some(more),
        }
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn known(scheme: &str) -> Result<Scheme, Bad> {
    match scheme.to_ascii_lowercase().as_str() {
        "http" => Ok(Scheme::Http),
        "https" => Ok(Scheme::Https),
        other => Err(Bad::Scheme(other.to_owned())),
    }
}

/// Host and port.
fn place_of(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (text, ""),
    };
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').filter(|bare| bare.contains(':'))?,
        None => host,
    };
    let odd = |byte: u8| b"[]<>\"\\^`{}|%@".contains(&byte) || (byte == b':' && !host.starts_with('['));
    if bare.is_empty() || bare.bytes().any(odd) {
        return None;
    }
    let port = match port {
        "" => None,
        port if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse().ok()?),
        _ => return None,
    };
    Some((host, port))
}

/// The text before a sign, and the one behind it if it is there.
fn cut(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

/// A path without `.` and `..`.
fn without_steps(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            other => {
                kept.push(other);
                continue;
            }
        }
        // What a step leads to is a folder.
        if is_last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// Text whose bytes beyond ASCII are escaped.
fn escaped(text: &str) -> String {
    let none = &AsciiSet::EMPTY;
    percent_encode(bashkit::StreamData::from(text).as_bytes(), none).to_string()
}

/// Text without spaces and control characters, which servers and users write all the same.
fn spaceless(text: &str) -> String {
    text.replace(' ', "%20").chars().filter(|letter| !letter.is_control()).collect()
}

/// Text whose escapes are the bytes that they stand for.
pub(in crate::own) fn unescaped(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> String {
        Url::parse(text, false).map_or_else(|bad| format!("{bad:?}"), |url| url.asked())
    }

    #[test]
    fn addresses_are_read_as_curl_reads_them() {
        for (text, whole) in [
            ("example.com", "http://example.com/"),
            ("HTTPS://Example.COM:443/A?b#c", "https://example.com/A?b"),
            ("http://a:b@example.com:8080?x=/y", "http://example.com:8080/?x=/y"),
            ("example.com:80/a/./b/../c/", "http://example.com/a/c/"),
            ("http://x/..", "http://x/"),
            ("http://x/a/..", "http://x/"),
            ("http://x/a/.", "http://x/a/"),
            ("http://x//a", "http://x//a"),
            ("http://[::1]:81/", "http://[::1]:81/"),
            ("http://x/grüße?ö", "http://x/gr%C3%BC%C3%9Fe?%C3%B6"),
            ("http://x:/", "http://x/"),
            ("http://x:99999/", "Form"),
            ("http://x:a/", "Form"),
            ("http:///a", "Form"),
            ("http://[::1", "Form"),
            ("http://a b/", "Form"),
            ("", "Form"),
            ("ftp://x/", "Scheme(\"ftp\")"),
        ] {
            assert_eq!(asked(text), whole, "{text}");
        }
        assert_eq!(Url::parse("http://x/a/../b", true).unwrap().asked(), "http://x/a/../b");
        assert_eq!(Url::parse("http://a%40b:c@x", false).unwrap().login.unwrap(), "a@b:c");
    }

    #[test]
    fn a_location_is_taken_from_where_it_is_found() {
        let from = Url::parse("https://x:8443/a/b?c#d", false).unwrap();
        for (location, whole) in [
            ("/e", "https://x:8443/e"),
            ("e?f", "https://x:8443/a/e?f"),
            ("../e", "https://x:8443/e"),
            ("?g", "https://x:8443/a/b?g"),
            ("//y/h", "https://y/h"),
            ("http://y", "http://y/"),
            ("/with space", "https://x:8443/with%20space"),
            ("", "https://x:8443/a/b?c"),
        ] {
            assert_eq!(from.follow(location, false).unwrap().asked(), whole, "{location}");
        }
        assert_eq!(from.follow("file:///etc/passwd", false), Err(Bad::Scheme("file".into())));
        assert_eq!(from.follow("/e", false).unwrap().shown(), "https://x:8443/e");
    }
}
