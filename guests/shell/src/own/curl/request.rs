//! What is sent: the method, the headers in curl's order, and the body.

use dormouse_contract::net::Header;

use super::super::web::cookies::Jar;
use super::super::web::encoding;
use super::super::web::headers::basic;
use super::super::web::url::Url;
use super::form;
use super::help::AGENT;
use super::settings::{Payload, Settings, bytes_of, header_of};

/// What is sent with every request of a transfer, as long as it is carried on.
pub(super) struct Content {
    /// None: nothing is carried.
    pub(super) body: Option<Vec<u8>>,
    kind: Option<String>,
}

impl Content {
    /// Of a transfer, with the bytes of its file if it uploads one.
    pub(super) fn of(set: &Settings, upload: Option<Vec<u8>>) -> Self {
        if let Some(body) = upload {
            return Self { body: Some(body), kind: None };
        }
        let (body, kind) = match &set.payload {
            _ if set.get => (None, None),
            Payload::None => (None, None),
            Payload::Data(_) if set.json => (set.data(), None),
            Payload::Data(_) => (set.data(), Some("application/x-www-form-urlencoded".to_owned())),
            Payload::Form(parts) => {
                let boundary = form::boundary();
                let kind = format!("multipart/form-data; boundary={boundary}");
                (Some(form::body(parts, &boundary)), Some(kind))
            }
        };
        Self { body, kind }
    }
}

impl Settings {
    fn data(&self) -> Option<Vec<u8>> {
        match &self.payload {
            Payload::Data(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }

    /// What belongs behind the address of every request.
    pub(super) fn queries(&self) -> Vec<String> {
        let data = self.data().filter(|_| self.get);
        let data = data.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.queries.iter().cloned().chain(data).filter(|text| !text.is_empty()).collect()
    }
}

/// One request of a transfer.
pub(super) struct Asked<'a> {
    pub(super) set: &'a Settings,
    pub(super) url: &'a Url,
    /// The server that the command names, or one that is trusted as much.
    pub(super) is_named: bool,
    pub(super) content: &'a Content,
    /// The content is carried no more after some redirects.
    pub(super) carries: bool,
    pub(super) referer: Option<&'a str>,
    /// The first byte that is asked for, to go on behind what is there.
    pub(super) from: u64,
    pub(super) jar: &'a Jar,
}

impl Asked<'_> {
    /// What is carried.
    pub(super) fn body(&self) -> Option<&[u8]> {
        self.content.body.as_deref().filter(|_| self.carries)
    }

    pub(super) fn headers(&self) -> Vec<Header> {
        let set = self.set;
        let own = self.own();
        let mut headers: Vec<Header> = Vec::new();
        let mut usual = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|_| !set.names(name)) {
                headers.push((name.to_owned(), bytes_of(&value)));
            }
        };
        usual("Host", Some(self.url.authority()));
        let login = set.login.as_ref().filter(|_| self.is_named).or(self.url.login.as_ref());
        let login = login.map(|login| if login.contains(':') { login.clone() } else { format!("{login}:") });
        let bearer = set.bearer.as_ref().filter(|_| self.is_named);
        usual(
            "Authorization",
            match (bearer, login) {
                (Some(token), _) => Some(format!("Bearer {token}")),
                (None, login) => login.map(|login| basic(&bytes_of(&login))),
            },
        );
        let range = match self.from {
            0 => set.range.as_ref().map(|range| format!("bytes={range}")),
            from => Some(format!("bytes={from}-")),
        };
        usual("Range", range);
        let agent = set.agent.clone().unwrap_or_else(|| AGENT.to_owned());
        usual("User-Agent", Some(agent).filter(|agent| !agent.is_empty()));
        usual("Accept", (!set.json).then(|| "*/*".to_owned()));
        usual("Accept-Encoding", set.compressed.then(|| encoding::ACCEPTED.to_owned()));
        usual("Referer", self.referer.map(str::to_owned));
        let kept = self.jar.header(self.url);
        let said = set.cookies.iter().filter(|_| self.is_named).cloned();
        let cookies: Vec<String> = kept.into_iter().chain(said).collect();
        usual("Cookie", (!cookies.is_empty()).then(|| cookies.join("; ")));
        let body = self.body();
        let chunked = set.names("Transfer-Encoding");
        let mut last: Vec<Header> = Vec::new();
        if let Some(body) = body {
            let kind = self.content.kind.clone().filter(|_| !set.names("Content-Type"));
            let length = (!set.names("Content-Length") && !chunked).then(|| body.len().to_string());
            let named = [("Content-Length", length), ("Content-Type", kind)];
            last.extend(
                named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into_bytes()))),
            );
        }
        let (host, own): (Vec<Header>, Vec<Header>) =
            own.into_iter().partition(|(name, _)| name.eq_ignore_ascii_case("host"));
        host.into_iter().chain(headers).chain(own).chain(last).collect()
    }

    /// The headers that the command names. What says who asks goes to the named server alone.
    fn own(&self) -> Vec<Header> {
        let secret =
            |name: &str| ["authorization", "cookie"].iter().any(|known| name.eq_ignore_ascii_case(known));
        let named = self.set.headers.iter().filter_map(|line| header_of(line));
        let mut own: Vec<Header> = named.filter(|(name, _)| self.is_named || !secret(name)).collect();
        for name in ["Content-Type", "Accept"] {
            if self.set.json && !self.set.names(name) {
                own.push((name.to_owned(), b"application/json".to_vec()));
            }
        }
        own
    }
}

impl Settings {
    /// Whether the command says what becomes of a header.
    fn names(&self, header: &str) -> bool {
        self.headers.iter().any(|line| {
            let end = line.iter().position(|byte| matches!(byte, b':' | b';'));
            end.is_some_and(|end| line[..end].trim_ascii().eq_ignore_ascii_case(header.as_bytes()))
        })
    }
}

/// The lines of a request's head, as they are sent.
pub(super) fn lines(method: &str, target: &str, headers: &[Header]) -> Vec<Vec<u8>> {
    let first = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    let line = |(name, value): &Header| [name.as_bytes(), b": ", value, b"\r\n"].concat();
    std::iter::once(first).chain(headers.iter().map(line)).chain([b"\r\n".to_vec()]).collect()
}
