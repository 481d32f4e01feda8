//! `wget`: files over http and https, as far as the rules of the sandbox's network allow.
//!
//! | step | module |
//! | --- | --- |
//! | options | [`settings`] |
//! | one address: requests, redirects, the file | [`get`] |
//! | what is said on the way | [`log`] |
//! | `--help` | [`help`] |

mod get;
mod help;
mod log;
mod settings;

use std::time::Duration;

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

use super::web::cookies::Jar;
use super::web::desk::Desk;
use super::web::sink::{Sink, Unwritten};
use get::Get;
use log::Log;
use settings::{Settings, Voice};

/// Exit statuses of wget.
const GENERIC: i32 = 1;
const USAGE: i32 = 2;
const READ: i32 = 3;
const NETWORK: i32 = 4;
const CERTIFICATE: i32 = 5;
const SERVER: i32 = 8;

/// Why a file does not come.
#[derive(Debug)]
struct Failure {
    status: i32,
    text: String,
    /// Another try may come to something else.
    passes: bool,
    /// It is told even by `-q`: the rules of the network are against it.
    is_denied: bool,
    /// The shell itself is to end.
    shell: Option<bashkit::Error>,
}

impl Failure {
    fn new(status: i32, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), passes: false, is_denied: false, shell: None }
    }
}

impl From<bashkit::Error> for Failure {
    fn from(error: bashkit::Error) -> Self {
        Unwritten::from(error).into()
    }
}

impl From<Unwritten> for Failure {
    fn from(unwritten: Unwritten) -> Self {
        match unwritten {
            Unwritten::Unread => Self::new(READ, "Cannot write to standard output: nobody reads it."),
            Unwritten::Io(why) => Self::new(READ, format!("Cannot write to the file: {why}.")),
            Unwritten::Shell(error) => Self { shell: Some(error), ..Self::new(GENERIC, "") },
        }
    }
}

/// The command.
pub(super) struct Wget;

#[async_trait]
impl Command for Wget {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let desk = Desk::new(&context);
        let help =
            context.args.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h");
        if help {
            desk.stdout.write_all(help::WGET.as_bytes()).await?;
            return Ok(CommandStatus::success());
        }
        let done = match settings::read(context.args, &desk).await {
            Ok(settings) => run(&settings, &desk).await,
            Err(failure) => Err(failure),
        };
        match done {
            Ok(status) => Ok(CommandStatus::with_code(status)),
            Err(Failure { shell: Some(error), .. }) => Err(error),
            Err(Failure { status, text, .. }) => {
                desk.say(&format!("wget: {text}\n")).await?;
                Ok(CommandStatus::with_code(status))
            }
        }
    }
}

async fn run(settings: &Settings, desk: &Desk<'_>) -> std::result::Result<i32, Failure> {
    if settings.version {
        desk.stdout.write_all(help::VERSION.as_bytes()).await?;
        return Ok(0);
    }
    if settings.addresses.is_empty() {
        return Err(Failure::new(
            GENERIC,
            "missing URL\nUsage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.",
        ));
    }
    let mut jar = Jar::default();
    if let Some(file) = &settings.cookies {
        let why = |why| Failure::new(READ, format!("cannot open cookies file ‘{file}’: {why}"));
        jar.read(&String::from_utf8_lossy(&desk.read(file).await.map_err(why)?), false);
    }
    let mut log = Log::new(settings, desk);
    let output = match settings.output.as_deref() {
        Some(name) => Some(begun(name, settings, desk).await?),
        None => None,
    };
    let mut get = Get { settings, desk, jar, output };
    let mut status = 0;
    for (place, address) in settings.addresses.iter().enumerate() {
        if place > 0 && !settings.wait.is_zero() {
            tokio::time::sleep(settings.wait).await;
        }
        let ended = tried(&mut get, address, &mut log).await?;
        status = more_telling(status, ended);
    }
    if let Some(file) = &settings.jar {
        Sink::named(file, desk).write(get.jar.file().as_bytes(), desk).await?;
    }
    Ok(status)
}

/// The one file of `-O`, which is empty at first.
async fn begun(name: &str, settings: &Settings, desk: &Desk<'_>) -> std::result::Result<Sink, Failure> {
    let sink = Sink::named(name, desk);
    if settings.spider {
        return Ok(sink);
    }
    let mut sink = match sink.file() {
        Some(path) if settings.resume => {
            let size = desk.fs.stat(path).await.map_or(0, |found| found.size);
            sink.behind(size)
        }
        _ => sink,
    };
    let made = sink.finish(desk).await.map_err(Failure::from);
    made.map_err(|failure| Failure { text: format!("{name}: {}", failure.text), ..failure })?;
    Ok(sink)
}

/// Gets one address, as often as it has to be tried; its exit status.
async fn tried(get: &mut Get<'_>, address: &str, log: &mut Log<'_>) -> std::result::Result<i32, Failure> {
    let settings = get.settings;
    let mut count = 1;
    loop {
        let failure = match get.run(address, count, log).await {
            Ok(()) => return Ok(0),
            Err(failure) if failure.shell.is_some() => return Err(failure),
            Err(failure) => failure,
        };
        let again = failure.passes && settings.tries.is_none_or(|most| count < most);
        log.failed(&failure).await?;
        if !again {
            if failure.passes {
                log.full("Giving up.\n\n").await?;
            }
            return Ok(failure.status);
        }
        log.full("Retrying.\n\n").await?;
        // A second more each time.
        tokio::time::sleep(settings.longest_pause.min(Duration::from_secs(count.into()))).await;
        count = count.saturating_add(1);
    }
}

/// Of two exit statuses the one that counts: a network that fails before a server that refuses.
fn more_telling(one: i32, other: i32) -> i32 {
    match (one, other) {
        (0, status) | (status, 0) => status,
        (one, other) => one.min(other),
    }
}

impl Settings {
    fn is_quiet(&self) -> bool {
        self.voice == Voice::Quiet
    }
}
