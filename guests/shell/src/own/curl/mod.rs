//! `curl`: http and https, as far as the rules of the sandbox's network allow.
//!
//! | step | module |
//! | --- | --- |
//! | words become options; files of options | [`options`], [`config`] |
//! | options become sets of transfers | [`settings`], [`form`] |
//! | addresses with patterns become many | [`globs`], [`list`] |
//! | one address: requests, redirects | [`transfer`], [`request`] |
//! | the answer's body | [`answer`] |
//! | what is told of it | [`write_out`], [`failure`], [`help`] |
//!
//! The host connects, speaks TLS and checks certificates; options about that are taken and change nothing.

mod answer;
mod config;
mod failure;
mod form;
mod globs;
mod help;
mod list;
mod options;
mod request;
mod settings;
mod transfer;
mod write_out;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bashkit::{Command, CommandContext, CommandStatus, Result, StreamData, async_trait};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use super::web::cookies::Jar;
use super::web::desk::Desk;
use super::web::sink::Sink;
use failure::{CONNECT, Failure, LATE, STATUS};
use list::Transfers;
use settings::{Plan, Settings};
use transfer::Transfer;
use write_out::{Report, Stream};

/// The command.
pub(super) struct Curl;

#[async_trait]
impl Command for Curl {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let desk = Desk::new(&context);
        let done = match settings::read(context.args, &desk).await {
            Ok(plan) => run(&plan, &desk).await,
            Err(failure) => Err(failure),
        };
        match done {
            Ok(status) => Ok(CommandStatus::with_code(status)),
            Err(Failure { shell: Some(error), .. }) => Err(error),
            Err(failure) => {
                desk.say(&failure.shown()).await?;
                Ok(CommandStatus::with_code(failure.status))
            }
        }
    }
}

/// Runs all transfers. The status is that of the last one, or of one that failed where several run at a time.
async fn run(plan: &Plan, desk: &Desk<'_>) -> std::result::Result<i32, Failure> {
    if let Some(text) = plan.text {
        desk.stdout.write_all(text.as_bytes()).await?;
        return Ok(0);
    }
    let mut status = 0;
    for set in &plan.sets {
        let jar = Mutex::new(set.jar(desk).await);
        for option in set.idle.iter().filter(|_| set.verbose) {
            desk.say(&format!("* {option} changes nothing: the host connects, and checks certificates\n"))
                .await?;
        }
        let mut transfers = Transfers::new(set, desk, &jar);
        let most = if plan.parallel { plan.parallel_most } else { 1 };
        let mut running = FuturesUnordered::new();
        loop {
            running.extend(transfers.by_ref().take(most - running.len()).map(|next| one(set, desk, next)));
            let Some(done) = running.next().await else { break };
            let ended = done?;
            // Beside each other there is no last one.
            status = if plan.parallel && ended == 0 { status } else { ended };
            if status != 0 && plan.fail_early {
                return Ok(status);
            }
        }
        set.keep(&jar, desk).await?;
    }
    Ok(status)
}

/// Runs one transfer, as often as it has to be tried. The error ends the shell.
async fn one(
    set: &Settings,
    desk: &Desk<'_>,
    transfer: std::result::Result<Transfer<'_>, Failure>,
) -> std::result::Result<i32, Failure> {
    let mut report = Report::default();
    let done = match &transfer {
        Ok(transfer) => tried(transfer, &mut report).await,
        Err(failure) => Err(Failure::new(failure.status, failure.text.clone())),
    };
    let status = match done {
        Ok(()) => 0,
        Err(failure) if failure.shell.is_some() => return Err(failure),
        Err(failure) => {
            // What the rules are against is told in any case.
            if !set.silent || set.show_error || failure.is_denied() {
                desk.say(&failure.shown()).await?;
            }
            failure.status
        }
    };
    report.exit = status;
    if let Some(format) = &set.write_out {
        for (stream, text) in write_out::pieces(format, &report) {
            match stream {
                Stream::Errors => desk.say(&text).await?,
                Stream::Output if text.is_empty() => {}
                Stream::Output => desk.stdout.write_all(StreamData::from(text).as_bytes()).await?,
            }
        }
    }
    Ok(status)
}

async fn tried(transfer: &Transfer<'_>, report: &mut Report) -> std::result::Result<(), Failure> {
    let (set, desk) = (transfer.set, transfer.desk);
    let begun = Instant::now();
    let mut sink = transfer.sink().await?;
    let mut tries = 0;
    loop {
        *report = Report::default();
        let done = transfer.run(&mut sink, report).await;
        let Some(why) = passing(set, &done, report).filter(|_| tries < set.retries.count) else {
            if done.is_err() && set.remove_on_error {
                remove(&sink, desk).await;
            }
            return done;
        };
        let pause = transfer::pause(set, tries, report);
        if set.retries.most.is_some_and(|most| begun.elapsed() + pause >= most) {
            return done;
        }
        let left = set.retries.count - tries;
        if !set.silent {
            let told = format!(
                "Warning: Problem: {why}. Will retry in {} seconds. {left} retries left.\n",
                pause.as_secs()
            );
            desk.say(&told).await?;
        }
        tokio::time::sleep(pause).await;
        sink.again(desk).await.map_err(Failure::unwritten)?;
        tries += 1;
    }
}

async fn remove(sink: &Sink, desk: &Desk<'_>) {
    if let Some(path) = sink.file().filter(|_| sink.written > 0) {
        let _ = desk.fs.remove(path, false).await;
    }
}

/// What went wrong, if it may be better the next time.
fn passing(set: &Settings, done: &std::result::Result<(), Failure>, report: &Report) -> Option<&'static str> {
    let failure = done.as_ref().err();
    if failure.is_some_and(|failure| failure.is_final || failure.shell.is_some()) {
        return None;
    }
    let is_status = failure.is_none_or(|failure| failure.status == STATUS);
    match failure.map_or(0, |failure| failure.status) {
        LATE => Some("timeout"),
        CONNECT if set.retries.refused => Some("connection refused"),
        _ if is_status && matches!(report.status, 408 | 429 | 500 | 502 | 503 | 504) => Some("HTTP error"),
        0 => None,
        _ if set.retries.all_errors => Some("(retrying all errors)"),
        _ => None,
    }
}

impl Settings {
    /// Whether cookies of answers are kept for the next request.
    fn keeps_cookies(&self) -> bool {
        self.jar.is_some() || !self.cookie_files.is_empty()
    }

    /// The cookies that there are before the first request.
    async fn jar(&self, desk: &Desk<'_>) -> Jar {
        let mut jar = Jar::default();
        for file in self.cookie_files.iter().filter(|file| !file.is_empty()) {
            // One that is not there has none.
            if let Ok(bytes) = desk.read(file).await {
                jar.read(&String::from_utf8_lossy(&bytes), self.no_session_cookies);
            }
        }
        jar
    }

    /// Writes the file that keeps cookies.
    async fn keep(&self, jar: &Mutex<Jar>, desk: &Desk<'_>) -> std::result::Result<(), Failure> {
        let Some(file) = &self.jar else { return Ok(()) };
        let text = jar.lock().unwrap_or_else(PoisonError::into_inner).file();
        let mut sink = Sink::named(file, desk);
        match sink.write(text.as_bytes(), desk).await.map_err(Failure::unwritten) {
            Err(failure) if failure.shell.is_none() => Ok(desk
                .say(&format!("Warning: failed to save cookies in {file}: {}\n", failure.text))
                .await?),
            done => done,
        }
    }
}
