//! A sandbox, as its owner knows it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use serde_json::json;

use crate::connection::{Answer, Call, Gone};
use crate::history::{Broken, FILE, Found, History, State};
use crate::owner::{Doors, LIMIT, WINDOW, lines, numbers};
use crate::round::Round;
use crate::snippets::{Manner, ROWS, look};

/// So many calls of a sandbox are told with a finding.
const TRAIL: usize = 16;

/// A sandbox.
pub(crate) struct Boxed {
    pub(crate) id: String,
    pub(crate) manner: Manner,
    /// The image of its container. None: it is none.
    pub(crate) image: Option<&'static str>,
    /// How many upsets of its container have been reckoned with in this life.
    upsets: u64,
    /// Each call is saved before it is answered.
    pub(crate) is_durable: bool,
    pub(crate) history: History,
    pub(crate) checkpoints: BTreeMap<String, State>,
    pub(crate) languages: Vec<&'static str>,
    pub(crate) numbers: u64,
    pub(crate) last_call: Instant,
    /// A call of it has not been answered: it does not rest.
    pub(crate) is_called: bool,
    /// What is there has been looked at since the last restart.
    pub(crate) is_known: bool,
    /// What it holds is in doubt until the next restart.
    pub(crate) is_aside: bool,
    /// The interpreters and the files are saved together.
    pub(crate) is_calm: bool,
    /// Its removal was asked for.
    pub(crate) may_be_gone: bool,
    /// The last calls and what came of them, for whoever reads a finding.
    pub(crate) trail: VecDeque<String>,
}

impl Boxed {
    pub(crate) fn step(&mut self, what: impl Into<String>) {
        if self.trail.len() == TRAIL {
            self.trail.pop_front();
        }
        self.trail.push_back(what.into());
    }

    /// What a finding says of it.
    pub(crate) fn shown(&self) -> String {
        let kind = match self.manner {
            Manner::Plain if self.image.is_some() => "a container",
            Manner::Plain => "files",
            Manner::Held => "a file held open",
            Manner::Database => "a database held open",
        };
        let durable = if self.is_durable { ", durability: call" } else { "" };
        let trail: Vec<&str> = self.trail.iter().map(String::as_str).collect();
        format!("{} ({kind}{durable}; {})", self.id, trail.join(", "))
    }

    pub(crate) fn new(id: &str, manner: Manner, is_durable: bool, history: History) -> Self {
        Self {
            id: id.to_owned(),
            manner,
            image: None,
            upsets: 0,
            is_durable,
            history,
            checkpoints: BTreeMap::new(),
            languages: Vec::new(),
            numbers: 0,
            last_call: Instant::now(),
            is_called: false,
            is_known: true,
            is_aside: false,
            is_calm: true,
            may_be_gone: false,
            trail: VecDeque::new(),
        }
    }

    /// Whether something has befallen its container since this was asked last. What was not saved is in doubt then. One that
    /// has not been looked at in this life was asleep.
    pub(crate) fn is_shaken(&mut self, round: &Round) -> bool {
        let (count, first) = round.upsets();
        let is_first = self.upsets == 0;
        if self.image.is_none() || std::mem::replace(&mut self.upsets, count) == count || !self.is_known {
            return false;
        }
        self.step("UPSET");
        if let Some(time) = first.filter(|_| is_first).and_then(|first| first.checked_sub(WINDOW)) {
            self.history.kept_before(time);
        }
        self.history.shaken();
        true
    }

    /// The life of the server is over: whether something befell its container in it.
    pub(crate) fn was_shaken(&mut self, round: &Round) -> bool {
        self.is_shaken(round);
        std::mem::take(&mut self.upsets) > 0
    }

    /// What the answer to a note says.
    pub(crate) fn noted(
        &mut self,
        call: &Call,
        channels: &[&'static str],
        number: u64,
        answer: Result<Answer, Gone>,
        doors: &Doors<'_>,
    ) -> Result<(), Gone> {
        self.numbers += 1;
        let language = call.arguments["language"].as_str().unwrap_or(call.tool);
        self.step(format!("{number} {language} {}", said(&answer)));
        let is_shaken = self.is_shaken(doors.round);
        let answer = match answer {
            Ok(answer) => answer,
            Err(Gone) => {
                self.history.perhaps(channels, number);
                return Err(Gone);
            }
        };
        let is_done = match call.tool {
            "sandbox_eval" => answer.text().is_some(),
            "sandbox_exec" => answer.body["exit_code"] == 0,
            _ => answer.code().is_none(),
        };
        if !is_done {
            self.history.perhaps(channels, number);
            doors.refused(&answer, &format!("{}: {}", self.shown(), call.arguments));
            self.recovered(&answer, doors);
            return Ok(());
        }
        if is_shaken {
            self.history.perhaps(channels, number);
            self.recovered(&answer, doors);
            return Ok(());
        }
        self.history.done(channels, number);
        if answer.body["unsaved"].is_object() {
            doors.report.unsaved();
        } else if self.is_durable {
            self.history.kept("durability");
        }
        self.recovered(&answer, doors);
        if let (Some(text), Some(language)) = (answer.text(), channels.first()) {
            let there = numbers(text).unwrap_or_default();
            if let Err((broken, told)) = self.history.is_all(language, &there) {
                doors.report.broken(broken, &format!("{} in an answer: {told}", self.shown()));
            }
        }
        Ok(())
    }

    pub(crate) fn checkpointed(&mut self, answer: &Answer, doors: &Doors<'_>) {
        self.step(format!("checkpoint {}", said(&Ok(answer))));
        self.is_shaken(doors.round);
        doors.report.operation("sandbox_checkpoint");
        match answer.body["id"].as_str() {
            Some(id) => {
                self.history.kept("checkpoint");
                self.checkpoints.insert(id.to_owned(), self.history.now().clone());
            }
            None => doors.refused(answer, "sandbox_checkpoint"),
        }
    }

    /// A run that was stopped goes back to before it, and no further.
    pub(crate) fn recovered(&mut self, answer: &Answer, doors: &Doors<'_>) {
        if let Some(how @ ("earlier" | "fresh")) = answer.body["recovery"].as_str() {
            if self.image.is_some() && how == "fresh" {
                // The variables of a container last as long as that.
                return;
            }
            let told = format!("{}: memory is {how}: {}", self.id, answer.body["recovery_reason"]);
            let is_upset = self.image.is_some() && doors.round.upsets().0 > 0;
            if doors.round.had_trouble() || is_upset {
                doors.report.told_losses();
            } else {
                doors.report.broken(Broken::Lost, &told);
            }
            self.history.doubtful();
            self.is_aside = true;
        }
    }

    /// Removes what a line that was cut off may have left of the file that it filled: a container's room is larger than that of a
    /// sandbox that has taken its place.
    pub(crate) fn empty(&self, doors: &mut Doors<'_>) -> Result<(), Gone> {
        if self.image.is_some() {
            let arguments =
                json!({"sandbox": self.id, "command": "rm -f /workspace/fill", "timeout_ms": LIMIT});
            doors.rest.ask(&Call { tool: "sandbox_exec", arguments })?;
        }
        Ok(())
    }

    /// Holds what a sandbox has after a restart to what was answered.
    pub(crate) fn know(&mut self, owner: &str, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let mut found = Found::new();
        doors.rest.was_refused();
        self.empty(doors)?;
        for language in &self.languages {
            let look = look(language);
            let arguments =
                json!({"sandbox": self.id, "language": language, "code": look, "timeout_ms": LIMIT});
            let answer = doors.rest.ask(&Call { tool: "sandbox_eval", arguments })?;
            if doors.round.is_ending() {
                return Err(Gone);
            }
            let Some(numbers) = answer.text().and_then(numbers) else {
                doors
                    .report
                    .broken(Broken::Lost, &format!("{} cannot be looked at: {}", self.id, answer.body));
                return Ok(());
            };
            found.insert(language, numbers);
        }
        let in_files = match self.manner {
            Manner::Database => {
                let arguments = json!({"sandbox": self.id, "code": ROWS, "timeout_ms": LIMIT});
                let answer = doors.rest.ask(&Call { tool: "sandbox_eval", arguments })?;
                match answer.text().and_then(|text| text.split_once('/')) {
                    _ if doors.round.is_ending() => return Err(Gone),
                    Some((held, fresh)) if held == "-" || held == fresh => numbers(fresh).unwrap_or_default(),
                    _ => {
                        doors.report.broken(
                            Broken::Lost,
                            &format!("{}: the open database: {}", self.id, answer.body),
                        );
                        return Ok(());
                    }
                }
            }
            _ => lines(doors.rest.file(&self.id, "/workspace/log")?),
        };
        found.insert(FILE, in_files);
        let upload = doors.rest.file(&self.id, "/workspace/upload")?;
        let upload = upload.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok());
        let jobs = lines(doors.rest.file(&self.id, "/workspace/jobs")?);
        if doors.rest.was_refused() && self.image.is_some() {
            // Who cannot reach its container does not see its files.
            if doors.round.is_ending() || doors.round.had_trouble() {
                return Err(Gone);
            }
            if doors.round.upsets().0 == 0 {
                let told = format!("the files of {} cannot be read", self.shown());
                doors.report.broken(Broken::Refused, &told);
            }
            return Ok(());
        }
        doors.report.looked();
        if let Err((broken, told)) = self.history.found(found, upload, self.is_calm) {
            doors.report.broken(broken, &format!("{}'s {} after a restart: {told}", owner, self.shown()));
        }
        let mut once = jobs.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() != jobs.len() {
            doors.report.broken(Broken::Twice, &format!("{}: jobs {jobs:?}", self.id));
        }
        self.history.kept("found");
        (self.is_known, self.is_calm) = (true, true);
        Ok(())
    }
}

/// A word for what came of a call.
pub(crate) fn said(answer: &Result<impl std::borrow::Borrow<Answer>, Gone>) -> String {
    match answer.as_ref().map(std::borrow::Borrow::borrow) {
        Ok(answer) if answer.body["unsaved"].is_object() => "unsaved".to_owned(),
        Ok(answer) => answer.code().unwrap_or("ok").to_owned(),
        Err(Gone) => "no answer".to_owned(),
    }
}
