//! What is said on the way, in the words of wget: on standard error, or in a file.

use std::time::SystemTime;

use bashkit::Result;

use super::super::times::Moment;
use super::super::web::desk::Desk;
use super::super::web::sink::{Sink, Unwritten};
use super::Failure;
use super::settings::{Settings, Voice};

/// Where it is said, and how much of it.
pub(super) struct Log<'a> {
    settings: &'a Settings,
    desk: &'a Desk<'a>,
    file: Option<Sink>,
}

impl<'a> Log<'a> {
    pub(super) fn new(settings: &'a Settings, desk: &'a Desk<'a>) -> Self {
        let file = settings.log.as_ref().map(|(name, behind)| {
            let sink = Sink::named(name, desk);
            // As many bytes as there may be.
            if *behind { sink.behind(u64::MAX) } else { sink }
        });
        Self { settings, desk, file }
    }

    /// Says it, however little is to be said.
    async fn say(&mut self, text: &str) -> Result<()> {
        match &mut self.file {
            None => self.desk.say(text).await,
            Some(file) => match file.write(text.as_bytes(), self.desk).await {
                Err(Unwritten::Shell(error)) => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// What is said unless there is a wish for less.
    pub(super) async fn full(&mut self, text: &str) -> Result<()> {
        if self.settings.voice == Voice::Full { self.say(text).await } else { Ok(()) }
    }

    /// What is said where there is a wish for little.
    pub(super) async fn brief(&mut self, text: &str) -> Result<()> {
        if self.settings.voice == Voice::Brief { self.say(text).await } else { Ok(()) }
    }

    /// What is said unless nothing is to be said.
    pub(super) async fn both(&mut self, text: &str) -> Result<()> {
        if self.settings.is_quiet() { Ok(()) } else { self.say(text).await }
    }

    /// Why a file does not come. What the rules are against is told in any case.
    pub(super) async fn failed(&mut self, failure: &Failure) -> Result<()> {
        match failure.is_denied && self.settings.is_quiet() {
            true => self.desk.say(&format!("wget: {}\n", failure.text)).await,
            false => self.both(&format!("{}\n", failure.text)).await,
        }
    }
}

/// The moment, as wget writes it.
pub(super) fn now() -> String {
    let Moment { year, month, day, hour, minute, second, .. } = Moment::of(SystemTime::now());
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}
