//! What the options of a command line come to: one or more sets of transfers, with `--next` between them.

use std::time::Duration;

use dormouse_contract::net::Header;

use super::super::web::desk::Desk;
use super::super::web::headers::escaped;
use super::config;
use super::failure::Failure;
use super::form::{self, Part};
use super::options::{self, Given, Word};

/// Where the body of an answer goes.
#[derive(Clone, Debug)]
pub(super) enum Output {
    Named(String),
    /// The last part of the address, or what the server calls it.
    Remote,
}

/// What a request carries.
#[derive(Clone, Debug, Default)]
pub(super) enum Payload {
    #[default]
    None,
    Data(Vec<u8>),
    Form(Vec<Part>),
}

/// How often, and how long, a transfer is tried.
#[derive(Clone, Debug, Default)]
pub(super) struct Retries {
    pub(super) count: u32,
    pub(super) delay: Option<Duration>,
    pub(super) most: Option<Duration>,
    pub(super) all_errors: bool,
    pub(super) refused: bool,
}

/// One set of transfers.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) addresses: Vec<String>,
    pub(super) outputs: Vec<Output>,
    pub(super) uploads: Vec<String>,
    pub(super) output_folder: Option<String>,
    pub(super) remote_names: bool,
    pub(super) served_name: bool,
    pub(super) create_folders: bool,
    pub(super) remote_time: bool,
    pub(super) remove_on_error: bool,
    pub(super) method: Option<String>,
    pub(super) headers: Vec<Vec<u8>>,
    pub(super) payload: Payload,
    pub(super) json: bool,
    pub(super) get: bool,
    pub(super) head: bool,
    pub(super) queries: Vec<String>,
    pub(super) agent: Option<String>,
    pub(super) referer: Option<String>,
    pub(super) follow_referer: bool,
    pub(super) login: Option<String>,
    pub(super) bearer: Option<String>,
    /// `a=1; b=2`, as they are sent to every address.
    pub(super) cookies: Vec<String>,
    pub(super) cookie_files: Vec<String>,
    pub(super) jar: Option<String>,
    pub(super) no_session_cookies: bool,
    pub(super) include: bool,
    pub(super) head_file: Option<String>,
    pub(super) follow: bool,
    pub(super) trusting: bool,
    pub(super) redirects: Option<u64>,
    /// Whether POST stays POST after 301, 302 and 303.
    pub(super) keep_post: [bool; 3],
    pub(super) fail: bool,
    pub(super) fail_with_body: bool,
    pub(super) silent: bool,
    pub(super) show_error: bool,
    pub(super) verbose: bool,
    pub(super) write_out: Option<String>,
    pub(super) compressed: bool,
    pub(super) time: Option<Duration>,
    pub(super) largest: Option<u64>,
    pub(super) range: Option<String>,
    /// `-` or a number.
    pub(super) resume: Option<String>,
    pub(super) retries: Retries,
    pub(super) as_is: bool,
    pub(super) globs: bool,
    /// Options that change nothing here, as they were written.
    pub(super) idle: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            outputs: Vec::new(),
            uploads: Vec::new(),
            output_folder: None,
            remote_names: false,
            served_name: false,
            create_folders: false,
            remote_time: false,
            remove_on_error: false,
            method: None,
            headers: Vec::new(),
            payload: Payload::None,
            json: false,
            get: false,
            head: false,
            queries: Vec::new(),
            agent: None,
            referer: None,
            follow_referer: false,
            login: None,
            bearer: None,
            cookies: Vec::new(),
            cookie_files: Vec::new(),
            jar: None,
            no_session_cookies: false,
            include: false,
            head_file: None,
            follow: false,
            trusting: false,
            redirects: Some(50),
            keep_post: [false; 3],
            fail: false,
            fail_with_body: false,
            silent: false,
            show_error: false,
            verbose: false,
            write_out: None,
            compressed: false,
            time: None,
            largest: None,
            range: None,
            resume: None,
            retries: Retries::default(),
            as_is: false,
            globs: true,
            idle: Vec::new(),
        }
    }
}

/// A whole command line.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) sets: Vec<Settings>,
    pub(super) fail_early: bool,
    /// Several transfers run at a time, but no more than so many.
    pub(super) parallel: bool,
    pub(super) parallel_most: usize,
    /// Nothing is transferred; this is printed.
    pub(super) text: Option<&'static str>,
}

/// Files that name files end somewhere.
const DEPTH: usize = 8;

/// Reads a command line, and the file of usual options in the home folder.
pub(super) async fn read(words: &[String], desk: &Desk<'_>) -> Result<Plan, Failure> {
    let mut reader = Reader {
        desk,
        plan: Plan { parallel_most: 50, ..Plan::default() },
        set: Settings::default(),
        depth: 0,
    };
    let given = options::parse(words).map_err(|why| Failure::usage(&why))?;
    let no_file = matches!(given.first(), Some(Word::Option(given)) if given.name == "disable");
    if let Some(file) = desk.at_home(".curlrc").filter(|_| !no_file)
        && let Ok(content) = desk.fs.read_file(&file).await
    {
        reader.file(&content, &file.to_string_lossy()).await?;
    }
    for word in given {
        match word {
            Word::Address(text) => reader.set.addresses.push(text),
            Word::Option(given) => reader.take(given).await?,
        }
    }
    let Reader { mut plan, set, .. } = reader;
    plan.sets.push(set);
    if plan.text.is_none() {
        check(&plan, words.is_empty())?;
    }
    Ok(plan)
}

/// Whether what was said goes together.
fn check(plan: &Plan, is_empty: bool) -> Result<(), Failure> {
    for set in &plan.sets {
        if set.addresses.is_empty() {
            return Err(Failure::usage(if is_empty { "" } else { "no URL specified!" }));
        }
        let carried = match &set.payload {
            Payload::Data(_) if !set.get => Some("POST (-d, --data)"),
            Payload::Form(_) => Some("multipart formpost (-F, --form)"),
            _ => None,
        };
        let told = |one: &str, other: &str| {
            Failure::usage(&format!(
                "only one request method can be selected: both {one} and {other} were asked for"
            ))
        };
        match carried {
            Some(one) if set.head => return Err(told(one, "HEAD (-I, --head)")),
            Some(one) if !set.uploads.is_empty() => return Err(told(one, "PUT (-T, --upload-file)")),
            _ => {}
        }
        if set.fail && set.fail_with_body {
            return Err(Failure::usage("you must select either --fail or --fail-with-body, not both."));
        }
        if set.include && set.served_name {
            return Err(Failure::usage(
                "you must select either --include or --remote-header-name, not both.",
            ));
        }
        if set.resume.is_some() && set.range.is_some() {
            return Err(Failure::usage("--continue-at and --range go together in no request"));
        }
    }
    Ok(())
}

struct Reader<'a, 'd> {
    desk: &'a Desk<'d>,
    plan: Plan,
    set: Settings,
    depth: usize,
}

impl Reader<'_, '_> {
    /// A file of options.
    async fn file(&mut self, content: &[u8], name: &str) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Failure::usage(&format!("{name}: files of options lead too deep")));
        }
        for (line, option, value) in config::lines(&String::from_utf8_lossy(content)) {
            let given = config::given(&option, value)
                .map_err(|why| Failure::usage(&format!("{name}:{line}: {why}")))?;
            Box::pin(self.take(given)).await?;
        }
        self.depth -= 1;
        Ok(())
    }

    async fn take(&mut self, given: Given) -> Result<(), Failure> {
        let Given { name, value, on, written } = given;
        if options::is_idle(name) {
            self.set.idle.push(written);
            return Ok(());
        }
        match value {
            None => self.switch(name, on),
            Some(value) => return self.value(name, value, &written).await,
        }
        Ok(())
    }

    fn switch(&mut self, name: &str, on: bool) {
        let (plan, set) = (&mut self.plan, &mut self.set);
        match name {
            "next" if set.addresses.is_empty() => {}
            "next" => plan.sets.push(std::mem::take(set)),
            "help" => plan.text = Some(super::help::CURL),
            "version" => plan.text = Some(super::help::VERSION),
            "fail-early" => plan.fail_early = on,
            "parallel" => plan.parallel = on,
            "fail" => set.fail = on,
            "fail-with-body" => set.fail_with_body = on,
            "globoff" => set.globs = !on,
            "get" => set.get = on,
            "include" => set.include = on,
            "head" => set.head = on,
            "junk-session-cookies" => set.no_session_cookies = on,
            "remote-header-name" => set.served_name = on,
            "location" => set.follow = on,
            "location-trusted" => (set.follow, set.trusting) = (on, on),
            "remote-name" if on => set.outputs.push(Output::Remote),
            "remote-name-all" => set.remote_names = on,
            "remote-time" => set.remote_time = on,
            "remove-on-error" => set.remove_on_error = on,
            "silent" => set.silent = on,
            "show-error" => set.show_error = on,
            "verbose" => set.verbose = on,
            "compressed" => set.compressed = on,
            "create-dirs" => set.create_folders = on,
            "path-as-is" => set.as_is = on,
            "post301" => set.keep_post[0] = on,
            "post302" => set.keep_post[1] = on,
            "post303" => set.keep_post[2] = on,
            "retry-all-errors" => set.retries.all_errors = on,
            "retry-connrefused" => set.retries.refused = on,
            _ => {}
        }
    }

    async fn value(&mut self, name: &str, value: String, written: &str) -> Result<(), Failure> {
        let set = &mut self.set;
        let wrong = || Failure::usage(&format!("option {written}: expected a proper numerical parameter"));
        let seconds = |text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0);
            number.and_then(|number| Duration::try_from_secs_f64(number).ok()).ok_or_else(wrong)
        };
        match name {
            "user-agent" => set.agent = Some(value),
            "cookie" if value.contains('=') => set.cookies.push(value),
            "cookie" => set.cookie_files.push(value),
            "cookie-jar" => set.jar = Some(value),
            "continue-at" => set.resume = Some(value),
            "dump-header" => set.head_file = Some(value),
            "referer" => {
                let plain = value.strip_suffix(";auto");
                set.follow_referer = plain.is_some();
                set.referer = Some(plain.unwrap_or(&value).to_owned()).filter(|text| !text.is_empty());
            }
            "header" => return self.header(value).await,
            "config" => {
                let content = self.desk.read(&value).await.map_err(|_| unreadable(written))?;
                return self.file(&content, &value).await;
            }
            "max-time" => set.time = Some(seconds(&value)?).filter(|time| !time.is_zero()),
            // The host has a time of its own for connecting.
            "connect-timeout" => drop(seconds(&value)?),
            "output" => set.outputs.push(Output::Named(value)),
            "output-dir" => set.output_folder = Some(value),
            "range" => set.range = Some(value),
            "upload-file" => set.uploads.push(value),
            "user" => set.login = Some(value),
            "oauth2-bearer" => set.bearer = Some(value),
            "write-out" => {
                let text = match value.strip_prefix('@') {
                    None => value,
                    Some(file) => self.text(file, written).await?,
                };
                self.set.write_out = Some(text);
            }
            "request" => set.method = Some(value),
            "max-filesize" => set.largest = Some(value.parse().map_err(|_| wrong())?),
            "max-redirs" => {
                let number: i64 = value.parse().map_err(|_| wrong())?;
                set.redirects = u64::try_from(number).ok();
            }
            "retry" => set.retries.count = value.parse().map_err(|_| wrong())?,
            "retry-delay" => set.retries.delay = Some(seconds(&value)?).filter(|time| !time.is_zero()),
            "retry-max-time" => set.retries.most = Some(seconds(&value)?).filter(|time| !time.is_zero()),
            "parallel-max" => {
                let number: usize = value.parse().map_err(|_| wrong())?;
                self.plan.parallel_most = number.clamp(1, 300);
            }
            "url" => set.addresses.push(value),
            "url-query" => match value.strip_prefix('+') {
                Some(plain) => set.queries.push(plain.to_owned()),
                None => {
                    let encoded = self.encoded(&value, written).await?;
                    self.set.queries.push(String::from_utf8_lossy(&encoded).into_owned());
                }
            },
            "form" => {
                let part = form::read(&value, self.desk).await?;
                self.add_part(part)?;
            }
            "form-string" => {
                let part = form::plain(&value);
                self.add_part(part.ok_or_else(|| form::malformed(&value))?)?;
            }
            _ => return self.data(name, value, written).await,
        }
        Ok(())
    }

    /// Bytes of a request: `--data` and its like.
    async fn data(&mut self, name: &str, value: String, written: &str) -> Result<(), Failure> {
        let file = value.strip_prefix('@').filter(|_| name != "data-raw");
        let bytes = match (name, file) {
            ("data-urlencode", _) => self.encoded(&value, written).await?,
            (_, None) => bytes_of(&value),
            (_, Some(file)) => {
                let mut bytes = self.desk.read(file).await.map_err(|_| unreadable(written))?;
                // Text has no lines here.
                if matches!(name, "data" | "data-ascii") {
                    bytes.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                }
                bytes
            }
        };
        self.set.json |= name == "json";
        match &mut self.set.payload {
            Payload::Form(_) => return Err(both()),
            Payload::Data(data) => {
                if name != "json" {
                    data.push(b'&');
                }
                data.extend(bytes);
            }
            none => *none = Payload::Data(bytes),
        }
        Ok(())
    }

    /// `content`, `=content`, `name=content`, `@file`, `name@file`.
    async fn encoded(&self, value: &str, written: &str) -> Result<Vec<u8>, Failure> {
        let place = value.find(['=', '@']);
        let (name, content) = match place {
            None => ("", bytes_of(value)),
            Some(place) if value[place..].starts_with('=') => {
                (&value[..place], bytes_of(&value[place + 1..]))
            }
            Some(place) => {
                let content = self.desk.read(&value[place + 1..]).await.map_err(|_| unreadable(written))?;
                (&value[..place], content)
            }
        };
        // In a form a space is a plus.
        let escaped = escaped(&content).replace("%20", "+");
        Ok(if name.is_empty() { escaped } else { format!("{name}={escaped}") }.into_bytes())
    }

    fn add_part(&mut self, part: Part) -> Result<(), Failure> {
        match &mut self.set.payload {
            Payload::Data(_) => return Err(both()),
            Payload::Form(parts) => parts.push(part),
            none => *none = Payload::Form(vec![part]),
        }
        Ok(())
    }

    async fn header(&mut self, value: String) -> Result<(), Failure> {
        let Some(file) = value.strip_prefix('@') else {
            self.set.headers.push(bytes_of(&value));
            return Ok(());
        };
        let Ok(content) = self.desk.read(file).await else {
            return Err(Failure::unreadable(&format!("Failed to open {file}!")));
        };
        let lines = content.split(|byte| *byte == b'\n');
        let plain =
            lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).filter(|line| !line.is_empty());
        self.set.headers.extend(plain.map(<[u8]>::to_vec));
        Ok(())
    }

    /// A file as one line.
    async fn text(&self, file: &str, written: &str) -> Result<String, Failure> {
        let bytes = self.desk.read(file).await.map_err(|_| unreadable(written))?;
        Ok(String::from_utf8_lossy(&bytes).replace(['\r', '\n'], ""))
    }
}

/// The bytes of an argument.
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    bashkit::StreamData::from(text).into_bytes()
}

fn unreadable(written: &str) -> Failure {
    Failure::unreadable(&format!("option {written}: error encountered when reading a file"))
}

fn both() -> Failure {
    Failure::usage("only one of -d and -F can say what a request carries")
}

/// `Name: value` as a header; none: it is none, or takes one of the usual headers away.
pub(super) fn header_of(line: &[u8]) -> Option<Header> {
    let place = line.iter().position(|byte| matches!(byte, b':' | b';'))?;
    let name = String::from_utf8_lossy(&line[..place]).trim().to_owned();
    let value = line[place + 1..].trim_ascii().to_vec();
    let is_empty = value.is_empty();
    // `Name;` is a header without a value, and `Name:` none at all.
    (!name.is_empty() && (line[place] == b':') != is_empty).then_some((name, value))
}
