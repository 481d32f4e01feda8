//! What the options of a command line come to.

use std::time::Duration;

use super::super::options::{self, Given, Known, Value};
use super::super::web::desk::Desk;
use super::{Failure, READ, USAGE};

const KNOWN: &[Known] = &[
    // Its letter has a second one: `-nv`, `-nc`.
    ('n', "", Value::Required),
    ('O', "output-document", Value::Required),
    ('P', "directory-prefix", Value::Required),
    ('o', "output-file", Value::Required),
    ('a', "append-output", Value::Required),
    ('q', "quiet", Value::None),
    ('v', "verbose", Value::None),
    ('\0', "no-verbose", Value::None),
    ('\0', "no-clobber", Value::None),
    ('S', "server-response", Value::None),
    ('\0', "save-headers", Value::None),
    ('c', "continue", Value::None),
    ('i', "input-file", Value::Required),
    ('\0', "spider", Value::None),
    ('T', "timeout", Value::Required),
    ('\0', "read-timeout", Value::Required),
    ('\0', "connect-timeout", Value::Required),
    ('\0', "dns-timeout", Value::Required),
    ('t', "tries", Value::Required),
    ('w', "wait", Value::Required),
    ('\0', "waitretry", Value::Required),
    ('\0', "retry-connrefused", Value::None),
    ('\0', "retry-on-http-error", Value::Required),
    ('\0', "header", Value::Required),
    ('\0', "method", Value::Required),
    ('\0', "post-data", Value::Required),
    ('\0', "post-file", Value::Required),
    ('\0', "body-data", Value::Required),
    ('\0', "body-file", Value::Required),
    ('U', "user-agent", Value::Required),
    ('\0', "referer", Value::Required),
    ('\0', "user", Value::Required),
    ('\0', "http-user", Value::Required),
    ('\0', "password", Value::Required),
    ('\0', "http-password", Value::Required),
    ('\0', "load-cookies", Value::Required),
    ('\0', "save-cookies", Value::Required),
    ('\0', "keep-session-cookies", Value::None),
    ('\0', "max-redirect", Value::Required),
    ('\0', "content-disposition", Value::None),
    ('\0', "content-on-error", Value::None),
    ('\0', "trust-server-names", Value::None),
    ('\0', "compression", Value::Required),
    ('V', "version", Value::None),
    // What changes nothing here.
    ('\0', "no-check-certificate", Value::None),
    ('\0', "ca-certificate", Value::Required),
    ('\0', "ca-directory", Value::Required),
    ('\0', "secure-protocol", Value::Required),
    ('\0', "https-only", Value::None),
    ('\0', "no-hsts", Value::None),
    ('\0', "no-proxy", Value::None),
    ('\0', "no-cookies", Value::None),
    ('\0', "no-cache", Value::None),
    ('\0', "no-dns-cache", Value::None),
    ('\0', "no-directories", Value::None),
    ('\0', "no-host-directories", Value::None),
    ('\0', "no-parent", Value::None),
    ('\0', "no-netrc", Value::None),
    ('\0', "no-config", Value::None),
    ('\0', "no-http-keep-alive", Value::None),
    ('\0', "auth-no-challenge", Value::None),
    ('4', "inet4-only", Value::None),
    ('6', "inet6-only", Value::None),
    ('\0', "limit-rate", Value::Required),
    ('\0', "progress", Value::Required),
    ('\0', "show-progress", Value::None),
    ('\0', "random-wait", Value::None),
    ('e', "execute", Value::Required),
    // What there is not.
    ('N', "timestamping", Value::None),
    ('r', "recursive", Value::None),
    ('l', "level", Value::Required),
    ('m', "mirror", Value::None),
    ('p', "page-requisites", Value::None),
    ('k', "convert-links", Value::None),
    ('A', "accept", Value::Required),
    ('R', "reject", Value::Required),
    ('x', "force-directories", Value::None),
    ('b', "background", Value::None),
];

/// Of those, the ones that are told of.
const NEVER: [(&str, &str); 10] = [
    ("timestamping", "times of files are not compared; download again, or go on with -c"),
    ("recursive", "pages are not searched for links; name each address, or read them from a file with -i"),
    ("level", "pages are not searched for links"),
    ("mirror", "pages are not searched for links; name each address, or read them from a file with -i"),
    ("page-requisites", "pages are not searched for links"),
    ("convert-links", "pages are not searched for links"),
    ("accept", "pages are not searched for links"),
    ("reject", "pages are not searched for links"),
    ("force-directories", "use -P for a folder"),
    ("background", "use `wget ... &`"),
];

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Quiet,
    Brief,
    Full,
}

/// A command line.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) addresses: Vec<String>,
    pub(super) output: Option<String>,
    pub(super) folder: Option<String>,
    pub(super) log: Option<(String, bool)>,
    pub(super) voice: Voice,
    pub(super) keep: bool,
    pub(super) show_head: bool,
    pub(super) save_head: bool,
    pub(super) resume: bool,
    pub(super) spider: bool,
    pub(super) time: Option<Duration>,
    /// How often; none: without end.
    pub(super) tries: Option<u32>,
    pub(super) wait: Duration,
    pub(super) longest_pause: Duration,
    pub(super) retry_refused: bool,
    pub(super) retry_statuses: Vec<u16>,
    pub(super) headers: Vec<String>,
    pub(super) method: Option<String>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) agent: String,
    pub(super) referer: Option<String>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) cookies: Option<String>,
    pub(super) jar: Option<String>,
    pub(super) redirects: u64,
    pub(super) served_name: bool,
    pub(super) content_on_error: bool,
    pub(super) last_name: bool,
    pub(super) compressed: bool,
    pub(super) version: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            output: None,
            folder: None,
            log: None,
            voice: Voice::Full,
            keep: false,
            show_head: false,
            save_head: false,
            resume: false,
            spider: false,
            time: Some(Duration::from_secs(900)),
            tries: Some(20),
            wait: Duration::ZERO,
            longest_pause: Duration::from_secs(10),
            retry_refused: false,
            retry_statuses: Vec::new(),
            headers: Vec::new(),
            method: None,
            body: None,
            agent: "Wget/1.21.3".to_owned(),
            referer: None,
            user: None,
            password: None,
            cookies: None,
            jar: None,
            redirects: 20,
            served_name: false,
            content_on_error: false,
            last_name: false,
            compressed: false,
            version: false,
        }
    }
}

/// Reads a command line.
pub(super) async fn read(words: &[String], desk: &Desk<'_>) -> Result<Settings, Failure> {
    let (given, addresses) = options::parse("wget", KNOWN, words).map_err(|why| {
        let why = why.strip_prefix("wget: ").unwrap_or(&why).to_owned();
        Failure::new(USAGE, why)
    })?;
    let mut settings = Settings { addresses, ..Settings::default() };
    for option in given {
        settings.take(option, desk).await?;
    }
    Ok(settings)
}

impl Settings {
    async fn take(&mut self, given: Given, desk: &Desk<'_>) -> Result<(), Failure> {
        let Given { name, value, .. } = given;
        if let Some((_, why)) = NEVER.iter().find(|(never, _)| *never == name) {
            return Err(Failure::new(USAGE, format!("--{name} is not supported: {why}")));
        }
        let value = value.unwrap_or_default();
        match name {
            "" => self.negated(&value)?,
            "output-document" => self.output = Some(value),
            "directory-prefix" => self.folder = Some(value),
            "output-file" => self.log = Some((value, false)),
            "append-output" => self.log = Some((value, true)),
            "quiet" => self.voice = Voice::Quiet,
            "verbose" => self.voice = Voice::Full,
            "no-verbose" => self.voice = Voice::Brief,
            "no-clobber" => self.keep = true,
            "server-response" => self.show_head = true,
            "save-headers" => self.save_head = true,
            "continue" => self.resume = true,
            "input-file" => {
                let text =
                    desk.read(&value).await.map_err(|why| Failure::new(READ, format!("{value}: {why}")))?;
                let text = String::from_utf8_lossy(&text).into_owned();
                let lines = text.lines().map(str::trim);
                let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
                self.addresses.extend(lines.map(str::to_owned));
            }
            "spider" => self.spider = true,
            "timeout" | "read-timeout" => {
                self.time = Some(seconds(name, &value)?).filter(|time| !time.is_zero())
            }
            "connect-timeout" | "dns-timeout" => drop(seconds(name, &value)?),
            "tries" => {
                let tries = if value == "inf" { 0 } else { number(name, &value)? };
                self.tries = Some(tries).filter(|tries| *tries > 0);
            }
            "wait" => self.wait = seconds(name, &value)?,
            "waitretry" => self.longest_pause = seconds(name, &value)?,
            "retry-connrefused" => self.retry_refused = true,
            "retry-on-http-error" => {
                for status in value.split(',') {
                    self.retry_statuses.push(number(name, status.trim())?);
                }
            }
            "header" if value.is_empty() => self.headers.clear(),
            "header" if value.contains(':') => self.headers.push(value),
            "header" => return Err(Failure::new(USAGE, format!("--header: Invalid header ‘{value}’."))),
            "method" => self.method = Some(value.to_ascii_uppercase()),
            "post-data" | "body-data" => {
                self.body = Some(bashkit::StreamData::from(value).into_bytes());
                self.posts(name);
            }
            "post-file" | "body-file" => {
                let read = desk.read(&value).await;
                let why = |why| Failure::new(READ, format!("BODY data file ‘{value}’ missing: {why}"));
                self.body = Some(read.map_err(why)?);
                self.posts(name);
            }
            "user-agent" => self.agent = value,
            "referer" => self.referer = Some(value),
            "user" | "http-user" => self.user = Some(value),
            "password" | "http-password" => self.password = Some(value),
            "load-cookies" => self.cookies = Some(value),
            "save-cookies" => self.jar = Some(value),
            "max-redirect" => self.redirects = number(name, &value)?,
            "content-disposition" => self.served_name = true,
            "content-on-error" => self.content_on_error = true,
            "trust-server-names" => self.last_name = true,
            "compression" => self.compressed = value != "none",
            "version" => self.version = true,
            _ => {}
        }
        Ok(())
    }

    /// The second letter of `-nv` and the like.
    fn negated(&mut self, letters: &str) -> Result<(), Failure> {
        for letter in letters.chars() {
            match letter {
                'v' => self.voice = Voice::Brief,
                'c' => self.keep = true,
                'd' | 'H' | 'p' => {}
                other => return Err(Failure::new(USAGE, format!("invalid option -- 'n{other}'"))),
            }
        }
        Ok(())
    }

    fn posts(&mut self, option: &str) {
        if option.starts_with("post") && self.method.is_none() {
            self.method = Some("POST".to_owned());
        }
    }
}

fn seconds(option: &str, text: &str) -> Result<Duration, Failure> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((place, 's')) => (&text[..place], 1.0),
        Some((place, 'm')) => (&text[..place], 60.0),
        Some((place, 'h')) => (&text[..place], 3600.0),
        Some((place, 'd')) => (&text[..place], 86400.0),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok().filter(|number| *number >= 0.0);
    let time = number.and_then(|number| Duration::try_from_secs_f64(number * unit).ok());
    time.ok_or_else(|| Failure::new(USAGE, format!("--{option}: Invalid time period ‘{text}’")))
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|_| Failure::new(USAGE, format!("--{option}: Invalid number ‘{text}’.")))
}
