//! One address: requests, as far as redirects lead, and the answer's way to where it belongs.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dormouse_contract::net::{Head, Request};

use super::super::web::cookies::Jar;
use super::super::web::desk::Desk;
use super::super::web::exchange::Talk;
use super::super::web::headers::{self, lines};
use super::super::web::sink::Sink;
use super::super::web::url::Url;
use super::answer::{self, Answer};
use super::failure::{Failure, REDIRECTS, STATUS, WRITE};
use super::request::{self, Asked, Content};
use super::settings::{Output, Settings};
use super::write_out::Report;

/// What refusals of the network's rules are told by.
const DENIED: &str = "x-dormouse-denied";

/// One address, and what belongs to it.
pub(super) struct Transfer<'a> {
    pub(super) set: &'a Settings,
    pub(super) desk: &'a Desk<'a>,
    pub(super) jar: &'a Mutex<Jar>,
    pub(super) address: String,
    pub(super) number: u64,
    pub(super) output: Option<Output>,
    pub(super) upload: Option<String>,
}

/// Where a redirect leads to, with what is sent there.
struct Way {
    url: Url,
    is_named: bool,
    carries: bool,
    referer: Option<String>,
    redirects: u64,
}

impl Transfer<'_> {
    /// Runs it once. The report tells of it however it ends.
    pub(super) async fn run(&self, sink: &mut Sink, report: &mut Report) -> Result<(), Failure> {
        let begun = Instant::now();
        report.address = self.address.clone();
        report.number = self.number;
        let done = self.follow(begun, sink, report).await;
        report.total = begun.elapsed();
        if let Err(failure) = &done {
            report.exit = failure.status;
            report.error = Some(failure.text.clone());
        }
        done
    }

    /// The address, whole.
    pub(super) fn url(&self) -> Result<Url, Failure> {
        let mut url = Url::parse(&self.address, self.set.as_is).map_err(|bad| Failure::address(&bad))?;
        if let Some(file) = self.upload.as_deref().filter(|file| *file != "-" && *file != ".")
            && url.name().is_none()
        {
            let name = file.rsplit('/').next().unwrap_or_default();
            url.path.push_str(&headers::escaped(name.as_bytes()));
        }
        for query in self.set.queries() {
            url.ask(&query);
        }
        Ok(url)
    }

    async fn follow(&self, begun: Instant, sink: &mut Sink, report: &mut Report) -> Result<(), Failure> {
        let first = self.url()?;
        let upload = match &self.upload {
            None => None,
            Some(file) => {
                let read = self.desk.read(if file == "." { "-" } else { file }).await;
                Some(read.map_err(|_| Failure::unreadable(&format!("Can't open '{file}'!")))?)
            }
        };
        let content = Content::of(self.set, upload);
        let mut heads = self.heads().await;
        let mut way = Way {
            url: first.clone(),
            is_named: true,
            carries: content.body.is_some(),
            referer: self.set.referer.clone(),
            redirects: 0,
        };
        loop {
            report.effective = way.url.shown();
            report.scheme = Some(if way.url.scheme.word() == "https" { "HTTPS" } else { "HTTP" });
            report.referer.clone_from(&way.referer);
            let (mut talk, head) = self.ask(&way, &content, sink, begun, report).await?;
            report.answered = begun.elapsed();
            self.tell(&head, sink, &mut heads, report).await?;
            let leads = self.leads(&head, &way)?;
            report.redirect = leads.as_ref().filter(|_| !self.set.follow).map(Url::shown);
            if let Some(next) = leads.filter(|_| self.set.follow) {
                if self.set.redirects.is_some_and(|most| way.redirects >= most) {
                    let most = self.set.redirects.unwrap_or_default();
                    return Err(Failure::new(REDIRECTS, format!("Maximum ({most}) redirects followed")));
                }
                // Its body is of no use, but the connection is.
                answer::drain(&mut talk).await;
                way = self.next(way, next, &first, head.status);
                report.redirects = way.redirects;
                report.redirected = begun.elapsed();
                continue;
            }
            let answer = Answer {
                set: self.set,
                desk: self.desk,
                from: sink.start(),
                is_head: self.set.head || self.method(&way, &content) == "HEAD",
            };
            let failed = head.status >= 400 && (self.set.fail || self.set.fail_with_body);
            if failed && self.set.fail {
                return Err(self.of_status(&head, talk).await);
            }
            let done = answer.receive(&mut talk, &head, sink, begun, report).await;
            return match (done, failed) {
                (Ok(()), true) => {
                    Err(Failure::new(STATUS, format!("The requested URL returned error: {}", head.status)))
                }
                (done, _) => done,
            };
        }
    }

    /// Where heads are written besides: behind those of the addresses before.
    async fn heads(&self) -> Option<Sink> {
        let sink = Sink::named(self.set.head_file.as_ref()?, self.desk);
        let size = match sink.file() {
            Some(path) if self.number > 0 => self.desk.fs.stat(path).await.map_or(0, |found| found.size),
            _ => 0,
        };
        Some(sink.behind(size))
    }

    fn method(&self, way: &Way, content: &Content) -> String {
        let usual = match content.body.is_some() && way.carries {
            _ if self.set.head => "HEAD",
            false => "GET",
            true if self.upload.is_some() => "PUT",
            true => "POST",
        };
        self.set.method.clone().unwrap_or_else(|| usual.to_owned())
    }

    /// Sends a request and waits for the head of its answer.
    async fn ask(
        &self,
        way: &Way,
        content: &Content,
        sink: &Sink,
        begun: Instant,
        report: &mut Report,
    ) -> Result<(Talk, Head), Failure> {
        let jar = self.jar.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asked = Asked {
            set: self.set,
            url: &way.url,
            is_named: way.is_named,
            content,
            carries: way.carries,
            referer: way.referer.as_deref(),
            from: sink.start(),
            jar: &jar,
        };
        let (method, headers, body) = (self.method(way, content), asked.headers(), asked.body());
        let sent = request::lines(&method, &way.url.target(), &headers);
        report.heads_sent += sent.iter().map(|line| line.len() as u64).sum::<u64>();
        report.method.clone_from(&method);
        if self.set.verbose {
            for line in &sent {
                self.desk.complain(&[b"> ", line.as_slice()].concat()).await?;
            }
        }
        let url = way.url.asked();
        let request = Request { method: &method, url: &url, headers: &headers, body: body.is_some() };
        let until = self.set.time.and_then(|time| begun.checked_add(time));
        let failed = |broken| Failure::of_head(broken, &way.url, begun.elapsed());
        let asked = Talk::ask(&request, body.unwrap_or_default(), until, None).await;
        let (talk, head) = asked.map_err(failed)?;
        report.connections += 1;
        report.sent = body.map_or(0, |body| body.len() as u64);
        Ok((talk, head))
    }

    /// Takes note of a head, and shows it where it is wanted.
    async fn tell(
        &self,
        head: &Head,
        sink: &mut Sink,
        heads: &mut Option<Sink>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        report.status = head.status;
        report.headers.clone_from(&head.headers);
        let lines = lines(head);
        report.heads_received += lines.iter().map(|line| line.len() as u64).sum::<u64>();
        if self.set.verbose {
            for line in &lines {
                self.desk.complain(&[b"< ", line.as_slice()].concat()).await?;
            }
        }
        let whole = lines.concat();
        if let Some(heads) = heads {
            heads.write(&whole, self.desk).await.map_err(Failure::unwritten)?;
        }
        if self.set.include || self.set.head {
            sink.write(&whole, self.desk).await.map_err(Failure::unwritten)?;
        }
        Ok(())
    }

    /// Where an answer leads to; cookies are kept on the way.
    fn leads(&self, head: &Head, way: &Way) -> Result<Option<Url>, Failure> {
        if self.set.keeps_cookies() {
            let mut jar = self.jar.lock().unwrap_or_else(PoisonError::into_inner);
            for (name, value) in &head.headers {
                if name.eq_ignore_ascii_case("set-cookie") {
                    jar.set(&String::from_utf8_lossy(value), &way.url);
                }
            }
        }
        let location = headers::text(&head.headers, "location").filter(|_| (300..400).contains(&head.status));
        let Some(location) = location.filter(|location| !location.is_empty()) else { return Ok(None) };
        match way.url.follow(&location, self.set.as_is) {
            Ok(url) => Ok(Some(url)),
            Err(bad) if self.set.follow => Err(Failure::address(&bad)),
            Err(_) => Ok(None),
        }
    }

    /// What a redirect changes.
    fn next(&self, way: Way, url: Url, first: &Url, status: u16) -> Way {
        let keeps = match status {
            301 => self.upload.is_some() || self.set.keep_post[0],
            302 => self.upload.is_some() || self.set.keep_post[1],
            303 => self.set.keep_post[2],
            _ => true,
        };
        Way {
            is_named: self.set.trusting || url.is_beside(first),
            carries: way.carries && keeps,
            referer: if self.set.follow_referer { Some(way.url.asked()) } else { way.referer },
            redirects: way.redirects + 1,
            url,
        }
    }

    /// A status that is a failure, with the reason if it is the network's rules.
    async fn of_status(&self, head: &Head, mut talk: Talk) -> Failure {
        let status = head.status;
        let mut told = format!("The requested URL returned error: {status}");
        let is_denied = headers::value(&head.headers, DENIED).is_some();
        if is_denied {
            let body = answer::drain(&mut talk).await;
            let why: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
            if let Some(why) = why["message"].as_str() {
                told.push_str(&format!(" ({why})"));
            }
        }
        Failure::new(STATUS, told).for_good(is_denied)
    }

    /// Where the answer goes. Its name may come with it.
    pub(super) async fn sink(&self) -> Result<Sink, Failure> {
        let remote = || -> Result<String, Failure> {
            let url = Url::parse(&self.address, self.set.as_is).map_err(|bad| Failure::address(&bad))?;
            let name = url.name().map(str::to_owned);
            name.ok_or_else(|| Failure::new(WRITE, "Remote file name has no length"))
        };
        let sink = match &self.output {
            None if !self.set.remote_names => Sink::output(),
            None | Some(Output::Remote) => self.named(&remote()?),
            Some(Output::Named(name)) => self.named(name),
        };
        let path = sink.file();
        if self.set.create_folders
            && let Some(folder) = path.and_then(Path::parent)
        {
            self.desk.fs.mkdir(folder, true).await?;
        }
        let start = match (self.set.resume.as_deref(), path) {
            (None, _) | (Some("-"), None) => 0,
            (Some("-"), Some(path)) => self.desk.fs.stat(path).await.map_or(0, |found| found.size),
            (Some(number), _) => number
                .parse()
                .map_err(|_| Failure::usage("option -C: expected a proper numerical parameter"))?,
        };
        Ok(sink.behind(start))
    }

    /// A file in the folder for files.
    fn named(&self, name: &str) -> Sink {
        match &self.set.output_folder {
            Some(folder) if name != "-" => Sink::named(&format!("{folder}/{name}"), self.desk),
            _ => Sink::named(name, self.desk),
        }
    }
}

/// The time between two tries.
pub(super) fn pause(set: &Settings, tries: u32, report: &Report) -> Duration {
    let asked = headers::text(&report.headers, "retry-after").and_then(|text| text.trim().parse().ok());
    let asked = asked.filter(|_| matches!(report.status, 429 | 503)).map(Duration::from_secs);
    let doubled = Duration::from_secs(1 << tries.min(9)).min(Duration::from_secs(600));
    set.retries.delay.or(asked).unwrap_or(doubled)
}
