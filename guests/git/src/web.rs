//! Remote repositories over the sandbox's own network (`wit/net.wit`): one request, whose answer is read as it comes.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_contract::net::{self, Exchange, Head, Header, Interest, Problem, Request, Trouble};
use percent_encoding::percent_decode_str;

/// As whom it introduces itself: servers know clients that call themselves git.
const AGENT: &str = concat!("git/2.47 (dormouse/", env!("CARGO_PKG_VERSION"), ")");
/// Longest silence of a server.
const SILENCE: Duration = Duration::from_secs(60);
/// Redirects of a repository's address that are followed.
const REDIRECTS: usize = 5;
/// The most that is read of a refusal, in bytes.
const REFUSAL: usize = 16 << 10;

/// A request to a repository's server.
pub(crate) struct Asked<'a> {
    /// The repository's address.
    pub(crate) url: &'a str,
    /// `git-upload-pack` or `git-receive-pack`.
    pub(crate) service: &'static str,
    /// What is sent to the service; none: it is asked what the repository has.
    pub(crate) sent: Option<&'a [u8]>,
}

/// Why there is no answer.
pub(crate) struct Refusal {
    /// The network does not lead there at all.
    pub(crate) is_denied: bool,
    pub(crate) why: String,
}

impl From<Problem> for Refusal {
    fn from(Problem { trouble, text }: Problem) -> Self {
        Self { is_denied: trouble == Trouble::Denied, why: text }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { is_denied: false, why }
    }
}

/// An answer, and where the repository is if it has moved.
pub(crate) struct Answer {
    exchange: Exchange,
    held: Vec<u8>,
    place: usize,
    is_over: bool,
    pub(crate) moved: Option<String>,
}

impl Asked<'_> {
    /// Sends the request and waits for the head of its answer.
    pub(crate) fn send(&self) -> Result<Answer, Refusal> {
        let Self { service, sent, .. } = self;
        let mut base = self.url.to_owned();
        for _ in 0..=REDIRECTS {
            let (plain, login) = without_login(&base);
            let (url, kind) = match sent {
                None => (format!("{plain}/info/refs?service={service}"), "advertisement"),
                Some(_) => (format!("{plain}/{service}"), "result"),
            };
            let (exchange, head) = self.exchange(&url, kind, login)?;
            if sent.is_none()
                && (300..400).contains(&head.status)
                && let Some(next) = moved(&plain, &head, service)
            {
                base = next;
                continue;
            }
            let kind = format!("application/x-{service}-{kind}");
            let mut answer = Answer { exchange, held: Vec::new(), place: 0, is_over: false, moved: None };
            if head.status != 200 {
                return Err(answer.refused(&head).into());
            }
            if text(&head, "content-type").as_deref() != Some(kind.as_str()) {
                return Err("the server does not speak git's smart protocol there".to_owned().into());
            }
            answer.moved = (base != self.url).then_some(base);
            return Ok(answer);
        }
        Err(format!("the server points to other addresses more than {REDIRECTS} times").into())
    }

    fn exchange(&self, url: &str, kind: &str, login: Option<String>) -> Result<(Exchange, Head), Refusal> {
        let service = self.service;
        let mut headers: Vec<Header> = Vec::new();
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value.into_bytes()));
        add("User-Agent", AGENT.to_owned());
        add("Accept", format!("application/x-{service}-{kind}"));
        if let Some(login) = login {
            add("Authorization", format!("Basic {}", STANDARD.encode(login)));
        }
        if let Some(sent) = self.sent {
            add("Content-Type", format!("application/x-{service}-request"));
            add("Content-Length", sent.len().to_string());
        }
        let method = if self.sent.is_some() { "POST" } else { "GET" };
        let request = Request { method, url, headers: &headers, body: self.sent.is_some() };
        let exchange = Exchange::begin(&request)?;
        let mut head = None;
        let mut rest = self.sent.unwrap_or_default();
        while !rest.is_empty() && head.is_none() {
            // A server that has answered does not read on.
            let step = waited(&exchange, true, |exchange| match exchange.send(rest)? {
                0 => Ok(exchange.response()?.map(Step::Answered)),
                count => Ok(Some(Step::Sent(count))),
            });
            match step {
                Ok(Step::Sent(count)) => rest = &rest[count..],
                Ok(Step::Answered(early)) => head = Some(early),
                // The answer says why.
                Err(problem) if problem.trouble == Trouble::Closed => break,
                Err(problem) => return Err(problem.into()),
            }
        }
        exchange.finish();
        let head = match head {
            Some(head) => head,
            None => waited(&exchange, false, Exchange::response)?,
        };
        Ok((exchange, head))
    }
}

/// What comes of an attempt to send.
enum Step {
    Sent(usize),
    Answered(Head),
}

impl Answer {
    /// What an answer that says no comes to.
    fn refused(&mut self, head: &Head) -> String {
        let status = head.status;
        if text(head, "x-dormouse-denied").is_some() {
            let mut body = Vec::new();
            let _ = self.by_ref().take(REFUSAL as u64).read_to_end(&mut body);
            return String::from_utf8_lossy(&body).trim().to_owned();
        }
        let why = match status {
            401 | 403 => "the server asks for a credential, or refuses the one of the address",
            404 => "repository not found",
            300..=399 => "the server points to another address",
            429 => "the server takes no more requests for now",
            500..=599 => "the server failed",
            _ => "the server refuses the request",
        };
        format!("{why} (HTTP {status})")
    }
}

impl Read for Answer {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.place == self.held.len() && !self.is_over {
            let piece = waited(&self.exchange, false, Exchange::receive);
            self.held = piece.map_err(|problem| io::Error::other(problem.text))?;
            (self.place, self.is_over) = (0, self.held.is_empty());
        }
        let rest = &self.held[self.place..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.place += count;
        Ok(count)
    }
}

/// Tries until there is something, but no longer than a server may be silent.
fn waited<T>(
    exchange: &Exchange,
    writes: bool,
    mut step: impl FnMut(&Exchange) -> Result<Option<T>, Problem>,
) -> Result<T, Problem> {
    let begun = Instant::now();
    loop {
        if let Some(done) = step(exchange)? {
            return Ok(done);
        }
        let left = SILENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let text = format!("the server was silent for {} s", SILENCE.as_secs());
            return Err(Problem { trouble: Trouble::TimedOut, text });
        }
        let interest = Interest { connection: exchange.number(), reads: true, writes };
        net::wait(&[interest], u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// An address without user and password, and these.
pub(crate) fn without_login(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_owned(), None) };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some((login, host)) = authority.rsplit_once('@') else { return (url.to_owned(), None) };
    let login = percent_decode_str(login).decode_utf8_lossy().into_owned();
    let login = if login.contains(':') { login } else { format!("{login}:") };
    (format!("{scheme}://{host}{path}"), Some(login))
}

/// The repository's address that a redirect leads to, which keeps the end of the question.
fn moved(base: &str, head: &Head, service: &str) -> Option<String> {
    let location = text(head, "location")?;
    let whole = match location.strip_prefix('/') {
        Some(rest) if !rest.starts_with('/') => {
            let (scheme, place) = base.split_once("://")?;
            format!("{scheme}://{}/{rest}", place.split('/').next()?)
        }
        _ => location,
    };
    let base = whole.strip_suffix(&format!("/info/refs?service={service}"))?;
    (base.starts_with("https://") || base.starts_with("http://")).then(|| base.to_owned())
}

fn text(head: &Head, name: &str) -> Option<String> {
    let found = head.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_no_part_of_what_is_asked_for() {
        for (url, plain, login) in [
            ("https://h/a.git", "https://h/a.git", None),
            ("https://token@h/a@b", "https://h/a@b", Some("token:")),
            ("https://a%40b:c@h:8443/x", "https://h:8443/x", Some("a@b:c")),
        ] {
            assert_eq!(without_login(url), (plain.to_owned(), login.map(str::to_owned)), "{url}");
        }
    }

    #[test]
    fn a_redirect_is_followed_if_it_asks_the_same() {
        for (location, base) in [
            ("https://new/r.git/info/refs?service=git-upload-pack", Some("https://new/r.git")),
            ("/r2/info/refs?service=git-upload-pack", Some("https://old:1/r2")),
            ("https://new/login", None),
            ("file:///r/info/refs?service=git-upload-pack", None),
            ("//new/r/info/refs?service=git-upload-pack", None),
        ] {
            let headers = vec![("location".to_owned(), location.as_bytes().to_vec())];
            let head = Head { status: 301, headers };
            assert_eq!(moved("https://old:1/r", &head, "git-upload-pack").as_deref(), base, "{location}");
        }
    }
}
