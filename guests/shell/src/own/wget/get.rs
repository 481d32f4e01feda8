//! One address: requests, as far as redirects lead, and the file.

use std::path::PathBuf;
use std::time::Instant;

use dormouse_contract::net::{Head, Header, Problem, Request, Trouble};

use super::super::web::cookies::Jar;
use super::super::web::desk::Desk;
use super::super::web::encoding::{ACCEPTED, Decoder};
use super::super::web::exchange::{Broken, Talk};
use super::super::web::headers::{self, basic, lines, phrase};
use super::super::web::sink::Sink;
use super::super::web::url::Url;
use super::log::{Log, now};
use super::settings::{Settings, Voice};
use super::{CERTIFICATE, Failure, GENERIC, NETWORK, SERVER};

/// Names that are tried for a file whose name is taken.
const NAMES: u32 = 10_000;
/// Bytes that are unpacked at once: what they come to may be a thousand times as much.
const UNPACKED: usize = 4 << 10;

/// What lasts from address to address.
pub(super) struct Get<'a> {
    pub(super) settings: &'a Settings,
    pub(super) desk: &'a Desk<'a>,
    pub(super) jar: Jar,
    /// The one file for everything.
    pub(super) output: Option<Sink>,
}

/// Where an answer is from, and what it says first.
struct Answer {
    talk: Talk,
    head: Head,
    url: Url,
    /// The first byte that was asked for.
    from: u64,
}

impl Get<'_> {
    /// Gets an address once.
    pub(super) async fn run(&mut self, address: &str, count: u32, log: &mut Log<'_>) -> Result<(), Failure> {
        let settings = self.settings;
        let first = Url::parse(address, false)
            .map_err(|_| Failure::new(GENERIC, format!("{address}: Invalid URL.")))?;
        if settings.spider {
            log.full("Spider mode enabled. Check if remote file exists.\n").await?;
        }
        let mut path = None;
        if self.output.is_none() && !settings.spider {
            let named = self.path(&first);
            let is_there = self.desk.fs.exists(&named).await?;
            if settings.keep && is_there {
                let shown = self.shown(&named);
                log.both(&format!("File ‘{shown}’ already there; not retrieving.\n\n")).await?;
                return Ok(());
            }
            path = Some(named);
        }
        let from = match (&self.output, &path) {
            _ if !settings.resume => 0,
            (Some(sink), _) => sink.start() + sink.written,
            (None, Some(path)) => self.desk.fs.stat(path).await.map_or(0, |found| found.size),
            (None, None) => 0,
        };
        let begun = Instant::now();
        let mut answer = self.follow(first, from, count, log).await?;
        let status = answer.head.status;
        if settings.spider {
            return self.judged(&answer, log).await;
        }
        if answer.from > 0 && status == 416 {
            log.full("\n    The file is already fully retrieved; nothing to do.\n\n").await?;
            return Ok(());
        }
        if status >= 400 && !settings.content_on_error {
            return Err(self.refused(&mut answer).await);
        }
        self.store(&mut answer, path, begun, log).await?;
        if status >= 400 { Err(self.refused(&mut answer).await) } else { Ok(()) }
    }

    /// Asks, until an answer leads nowhere else.
    async fn follow(
        &mut self,
        first: Url,
        from: u64,
        count: u32,
        log: &mut Log<'_>,
    ) -> Result<Answer, Failure> {
        let settings = self.settings;
        let mut url = first.clone();
        let mut carries = settings.body.is_some();
        let mut method = settings.method.clone();
        for _ in 0..=settings.redirects {
            let tries = if count > 1 { format!("  (try:{count:2})") } else { String::new() };
            log.full(&format!("--{}--{tries}  {}\n", now(), url.asked())).await?;
            let is_named = url.is_beside(&first);
            let (talk, head) = self.ask(&url, is_named, from, method.as_deref(), carries).await?;
            let text =
                format!("HTTP request sent, awaiting response... {} {}\n", head.status, phrase(head.status));
            log.full(&text).await?;
            if settings.show_head {
                for line in lines(&head).iter().filter(|line| line.len() > 2) {
                    self.desk.say(&format!("  {}\n", String::from_utf8_lossy(line).trim_end())).await?;
                }
            }
            for (name, value) in &head.headers {
                if name.eq_ignore_ascii_case("set-cookie") {
                    self.jar.set(&String::from_utf8_lossy(value), &url);
                }
            }
            let location = headers::text(&head.headers, "location");
            let leads = matches!(head.status, 301..=303 | 307 | 308);
            let Some(location) = location.filter(|_| leads) else {
                return Ok(Answer { talk, head, url, from });
            };
            log.full(&format!("Location: {location} [following]\n")).await?;
            url = url
                .follow(&location, false)
                .map_err(|_| Failure::new(SERVER, format!("{location}: Invalid URL.")))?;
            if carries && matches!(head.status, 301..=303) {
                (carries, method) = (false, None);
            }
        }
        Err(Failure::new(SERVER, format!("{} redirections exceeded.", settings.redirects)))
    }

    async fn ask(
        &self,
        url: &Url,
        is_named: bool,
        from: u64,
        method: Option<&str>,
        carries: bool,
    ) -> Result<(Talk, Head), Failure> {
        let settings = self.settings;
        let headers = self.headers(url, is_named, from, carries);
        let body = settings.body.as_deref().filter(|_| carries);
        let method = method.unwrap_or(if settings.spider { "HEAD" } else { "GET" });
        let whole = url.asked();
        let request = Request { method, url: &whole, headers: &headers, body: body.is_some() };
        let failed = |broken| self.broken(broken, url);
        let until = settings.time.and_then(|time| Instant::now().checked_add(time));
        Talk::ask(&request, body.unwrap_or_default(), until, settings.time).await.map_err(failed)
    }

    fn headers(&self, url: &Url, is_named: bool, from: u64, carries: bool) -> Vec<Header> {
        let settings = self.settings;
        let named = |name: &str| {
            let is_it = |line: &&String| {
                line.split(':').next().is_some_and(|known| known.trim().eq_ignore_ascii_case(name))
            };
            settings.headers.iter().any(|line| is_it(&line))
        };
        let mut headers: Vec<Header> = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|_| !named(name)) {
                headers.push((name.to_owned(), bashkit::StreamData::from(value).into_bytes()));
            }
        };
        add("Host", Some(url.authority()));
        add("Range", (from > 0).then(|| format!("bytes={from}-")));
        add("User-Agent", Some(settings.agent.clone()).filter(|agent| !agent.is_empty()));
        add("Accept", Some("*/*".to_owned()));
        let encoding = if settings.compressed { ACCEPTED } else { "identity" };
        add("Accept-Encoding", Some(encoding.to_owned()));
        add("Referer", settings.referer.clone());
        let password = settings.password.as_deref().unwrap_or_default();
        let login = settings.user.as_ref().filter(|_| is_named).map(|user| format!("{user}:{password}"));
        let login = login.or_else(|| url.login.clone());
        add("Authorization", login.map(|login| basic(login.as_bytes())));
        add("Cookie", self.jar.header(url));
        let secret = ["authorization", "cookie"];
        for (name, value) in settings.headers.iter().filter_map(|line| line.split_once(':')) {
            let name = name.trim();
            if is_named || !secret.iter().any(|secret| name.eq_ignore_ascii_case(secret)) {
                headers.push((name.to_owned(), bashkit::StreamData::from(value.trim()).into_bytes()));
            }
        }
        if let Some(body) = settings.body.as_ref().filter(|_| carries) {
            if !named("Content-Type") {
                let kind = b"application/x-www-form-urlencoded".to_vec();
                headers.push(("Content-Type".to_owned(), kind));
            }
            headers.push(("Content-Length".to_owned(), body.len().to_string().into_bytes()));
        }
        headers
    }

    /// Whether a file is there that nobody wants to have.
    async fn judged(&self, answer: &Answer, log: &mut Log<'_>) -> Result<(), Failure> {
        let status = answer.head.status;
        if status < 400 {
            log.full(&format!("{}Remote file exists.\n\n", length(&answer.head, 0))).await?;
            let url = answer.url.asked();
            log.brief(&format!("{} URL: {url} {status} {}\n", now(), phrase(status))).await?;
            return Ok(());
        }
        let told = match status {
            404 | 410 => "Remote file does not exist -- broken link!!!".to_owned(),
            status => format!("Remote file does not exist or cannot be had: {status} {}.", phrase(status)),
        };
        Err(Failure::new(SERVER, self.about(&answer.url, &told)))
    }

    /// A status that is a refusal.
    async fn refused(&self, answer: &mut Answer) -> Failure {
        let status = answer.head.status;
        let mut told = format!("{} ERROR {status}: {}.", now(), phrase(status));
        let is_denied = headers::value(&answer.head.headers, "x-dormouse-denied").is_some();
        if let Ok(body) = answer.talk.piece().await
            && is_denied
        {
            let why: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
            if let Some(why) = why["message"].as_str() {
                told.push_str(&format!(" ({why})"));
            }
        }
        let passes = !is_denied && self.settings.retry_statuses.contains(&status);
        let text = self.about(&answer.url, &told);
        Failure { passes, is_denied, ..Failure::new(SERVER, text) }
    }

    /// With little said before, what it is about is said now.
    fn about(&self, url: &Url, told: &str) -> String {
        match self.settings.voice {
            Voice::Full => format!("{told}\n"),
            _ => format!("{}:\n{told}", url.asked()),
        }
    }

    /// Writes the answer where it belongs.
    async fn store(
        &mut self,
        answer: &mut Answer,
        path: Option<PathBuf>,
        begun: Instant,
        log: &mut Log<'_>,
    ) -> Result<(), Failure> {
        let goes_on = answer.head.status == 206 && answer.from > 0;
        let (mut own, shown) = match path {
            None => (None, "STDOUT".to_owned()),
            Some(path) => {
                let path = self.chosen(path, answer).await?;
                let shown = self.shown(&path);
                (Some(Sink::at(path).behind(if goes_on { answer.from } else { 0 })), shown)
            }
        };
        let shown = match &self.output {
            Some(sink) if sink.file().is_some() => sink.name().unwrap_or_default().to_owned(),
            _ => shown,
        };
        let encoding = headers::text(&answer.head.headers, "content-encoding");
        let encoding = encoding.filter(|_| self.settings.compressed).unwrap_or_default();
        let mut decoder = Decoder::of(&encoding)
            .ok_or_else(|| Failure::new(GENERIC, format!("The encoding ‘{encoding}’ is not known.")))?;
        log.full(&format!("{}Saving to: ‘{shown}’\n\n", length(&answer.head, answer.from))).await?;
        let before = answer.from;
        let mut came = 0;
        {
            let Self { settings, desk, output, .. } = self;
            let Some(sink) = own.as_mut().or(output.as_mut()) else { return Ok(()) };
            if settings.save_head {
                sink.write(&lines(&answer.head).concat(), desk).await?;
            }
            loop {
                if let Some(time) = settings.time {
                    answer.talk.allow(time);
                }
                let piece = answer.talk.piece().await.map_err(|broken| cut_off(broken, before + came))?;
                if piece.is_empty() {
                    break;
                }
                came += piece.len() as u64;
                let damaged = |_| Failure::new(GENERIC, "The compressed file is damaged.");
                for part in piece.chunks(if encoding.is_empty() { piece.len() } else { UNPACKED }) {
                    let bytes = decoder.push(part.to_vec()).map_err(damaged)?;
                    sink.write(&bytes, desk).await?;
                }
            }
            let rest =
                decoder.finish().map_err(|_| Failure::new(GENERIC, "The compressed file is damaged."))?;
            sink.write(&rest, desk).await?;
            sink.finish(desk).await?;
        }
        let (all, speed) = (before + came, speed(came, begun));
        let done = match shown.as_str() {
            "STDOUT" | "-" => format!("written to stdout [{all}/{all}]"),
            shown => format!("‘{shown}’ saved [{all}/{all}]"),
        };
        log.full(&format!("{} ({speed}) - {done}\n\n", now())).await?;
        let url = answer.url.asked();
        log.brief(&format!("{} URL:{url} [{all}/{all}] -> \"{shown}\" [1]\n", now())).await?;
        Ok(())
    }

    /// The name that an address gives its file.
    fn path(&self, url: &Url) -> PathBuf {
        let name = url.name().map_or_else(|| "index.html".to_owned(), super::super::web::url::unescaped);
        let query = url.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        self.within(&format!("{name}{query}"))
    }

    /// A file in the folder for files.
    fn within(&self, name: &str) -> PathBuf {
        let plain: String = name
            .chars()
            .map(|letter| if letter == '/' || letter.is_control() { '_' } else { letter })
            .collect();
        let plain = if plain == "." || plain == ".." { "index.html".to_owned() } else { plain };
        self.desk.path(&match &self.settings.folder {
            Some(folder) => format!("{folder}/{plain}"),
            None => plain,
        })
    }

    /// The file's name as it was meant.
    fn shown(&self, path: &std::path::Path) -> String {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match &self.settings.folder {
            Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
            None => name.into_owned(),
        }
    }

    /// The name that the file gets, which no other has; its folder is made.
    async fn chosen(&self, path: PathBuf, answer: &Answer) -> Result<PathBuf, Failure> {
        let served = headers::file_name(&answer.head.headers).filter(|_| self.settings.served_name);
        let path = match served {
            Some(name) => self.within(&name),
            None if self.settings.last_name => self.path(&answer.url),
            None => path,
        };
        if let Some(folder) = path.parent() {
            self.desk.fs.mkdir(folder, true).await?;
        }
        if self.settings.resume || !self.desk.fs.exists(&path).await? {
            return Ok(path);
        }
        for number in 1..NAMES {
            let mut name = path.clone().into_os_string();
            name.push(format!(".{number}"));
            if !self.desk.fs.exists(name.as_ref()).await? {
                return Ok(name.into());
            }
        }
        Err(Failure::new(GENERIC, format!("{}: all names are taken", path.display())))
    }

    /// Why there is no answer.
    fn broken(&self, broken: Broken, url: &Url) -> Failure {
        let Broken::Problem(Problem { trouble, text }) = broken else {
            let late = Failure::new(NETWORK, "Read error (Connection timed out) in headers.");
            return Failure { passes: true, ..late };
        };
        let (host, place) = (&url.host, format!("{}:{}", url.host, url.port()));
        let failure = |text: String| Failure::new(NETWORK, text);
        match trouble {
            Trouble::Denied | Trouble::Exhausted => Failure { is_denied: true, ..failure(text) },
            Trouble::UnknownName => failure(format!("wget: unable to resolve host address ‘{host}’")),
            Trouble::Refused => {
                let told = format!("Connecting to {place}... failed: Connection refused.");
                Failure { passes: self.settings.retry_refused, ..failure(told) }
            }
            Trouble::TimedOut => {
                Failure { passes: true, ..failure(format!("Connecting to {place}... failed: {text}.")) }
            }
            Trouble::Untrusted => {
                Failure::new(CERTIFICATE, format!("ERROR: cannot verify {host}'s certificate: {text}"))
            }
            Trouble::Reset => Failure { passes: true, ..failure("No data received.".to_owned()) },
            Trouble::Closed | Trouble::Protocol => Failure { passes: true, ..failure(text) },
        }
    }
}

/// Why a file ends before its end.
fn cut_off(broken: Broken, came: u64) -> Failure {
    let told = match broken {
        Broken::Late => format!("Read error at byte {came} (Connection timed out)."),
        Broken::Problem(Problem { trouble: Trouble::Reset, .. }) => {
            format!("Connection closed at byte {came}.")
        }
        Broken::Problem(Problem { text, .. }) => format!("Read error at byte {came} ({text})."),
    };
    Failure { passes: true, ..Failure::new(NETWORK, told) }
}

/// The line about a file's length and kind.
fn length(head: &Head, from: u64) -> String {
    let length = headers::text(&head.headers, "content-length").and_then(|text| text.parse::<u64>().ok());
    let kind = headers::text(&head.headers, "content-type");
    let kind =
        kind.and_then(|kind| Some(format!(" [{}]", kind.split(';').next()?.trim()))).unwrap_or_default();
    match length {
        Some(length) if head.status == 206 => {
            let whole = length.saturating_add(from);
            format!("Length: {whole}{}, {length} remaining{kind}\n", rounded(whole))
        }
        Some(length) => format!("Length: {length}{}{kind}\n", rounded(length)),
        None => format!("Length: unspecified{kind}\n"),
    }
}

/// Many bytes in short.
fn rounded(bytes: u64) -> String {
    match bytes {
        0..=1023 => String::new(),
        1024..=1_048_575 => format!(" ({}K)", bytes.div_ceil(1024)),
        _ => format!(" ({}M)", bytes.div_ceil(1 << 20)),
    }
}

fn speed(bytes: u64, begun: Instant) -> String {
    let microseconds = begun.elapsed().as_micros().max(1);
    let a_second = u128::from(bytes) * 1_000_000 / microseconds;
    match a_second {
        0..=1023 => format!("{a_second} B/s"),
        1024..=1_048_575 => format!("{} KB/s", a_second / 1024),
        _ => format!("{} MB/s", a_second >> 20),
    }
}
