//! One owner's client: walks its sandboxes through random calls, and notes what it was answered.

use std::time::{Duration, Instant};

use dormouse_tests::lasting::Dice;
use dormouse_tests::{NOISE, PROMISE};
use serde_json::json;

use crate::connection::{Answer, Call, Connection, Door, Gone};
use crate::history::{Broken, FILE, History};
use crate::report::Report;
use crate::round::Round;
use crate::sandbox::Boxed;
use crate::server::token;
use crate::snippets::Manner;

/// An owner has so many sandboxes at a time.
const SANDBOXES: usize = 5;
/// So many of them are containers, and what was forked from those.
const CONTAINERS: usize = 2;
/// Bytes of a container's memory, and names in it.
const MEMORY: u64 = 128 << 20;
const NAMES: u64 = 1_000;
/// A sandbox is removed when it holds so many numbers: every answer has all of them.
const NUMBERS: u64 = 60;
/// How much longer a call of a container may take where its engine is away or stalls for a moment: as long as that, and as
/// long as it is remembered.
const BESIDE_UPSET: Duration = Duration::from_secs(4);
/// The limit of an ordinary call, in milliseconds.
pub(crate) const LIMIT: u64 = 10_000;
/// Something that has not been saved for this long is saved: 10 s, and a moment on a busy machine.
pub(crate) const WINDOW: Duration = Duration::from_secs(16);
/// A sandbox without a call is saved after this: 1 s, and a moment.
const REST: Duration = Duration::from_secs(6);

/// A client.
pub(crate) struct Owner {
    name: &'static str,
    pub(crate) dice: Dice,
    next: u64,
    pub(crate) boxes: Vec<Boxed>,
    /// Sandboxes that may have been made without an answer.
    pub(crate) may_be_more: usize,
}

/// The two connections of a round.
pub(crate) struct Doors<'a> {
    pub(crate) rest: Connection,
    mcp: Connection,
    pub(crate) round: &'a Round,
    pub(crate) report: &'a Report,
    /// Whether what is called is a container.
    is_contained: bool,
}

impl<'a> Doors<'a> {
    fn open(owner: &str, round: &'a Round, report: &'a Report) -> Result<Self, Gone> {
        let open = |door| Connection::open(&round.authority, &token(owner), door);
        Ok(Self { rest: open(Door::Rest)?, mcp: open(Door::Mcp)?, round, report, is_contained: false })
    }

    /// One of them.
    pub(crate) fn of(&mut self, door: Door) -> &mut Connection {
        match door {
            Door::Mcp => &mut self.mcp,
            Door::Rest => &mut self.rest,
        }
    }

    /// One call, whose limit is in milliseconds, and whose time is looked at.
    pub(crate) fn ask(&mut self, door: Door, call: &Call, limit: u64) -> Result<Answer, Gone> {
        let begun = Instant::now();
        let answer = self.of(door).ask(call)?;
        self.took(call.tool, begun.elapsed(), limit);
        Ok(answer)
    }

    /// A call was answered after this time.
    pub(crate) fn took(&self, tool: &'static str, time: Duration, limit: u64) {
        let is_upset = self.is_contained && self.round.upsets().0 > 0;
        let time = time.saturating_sub(if is_upset { BESIDE_UPSET } else { Duration::ZERO });
        let over = time.saturating_sub(Duration::from_millis(limit));
        self.report.operation(tool);
        self.report.over(over);
        if over > PROMISE + NOISE {
            self.report.broken(Broken::Late, &format!("{tool} took {time:?}, its limit is {limit} ms"));
        }
    }

    /// Whether something of the round explains that a container is not reached.
    pub(crate) fn may_refuse(&self) -> bool {
        self.round.had_trouble() || self.round.is_ending() || self.round.upsets().0 > 0
    }

    /// A refusal that nothing of the round explains is a finding.
    pub(crate) fn refused(&self, answer: &Answer, what: &str) {
        let code = answer.code().unwrap_or("none");
        let disk = ["state_unavailable", "quota_exceeded", "unknown_sandbox"];
        let end = ["cancelled", "busy", "state_unavailable"];
        let upset =
            ["provider_unavailable", "cancelled", "limit_time", "capability_unavailable", "guest_trap"];
        let is_explained = (self.round.had_trouble() && disk.contains(&code))
            || (self.round.upsets().0 > 0 && upset.contains(&code))
            || (self.round.is_ending() && end.contains(&code));
        if is_explained {
            self.report.refused();
        } else {
            self.report.broken(Broken::Refused, &format!("{what}: {}", answer.body));
        }
    }
}

impl Owner {
    /// A client with nothing yet.
    pub(crate) fn new(name: &'static str, seed: u64) -> Self {
        Self { name, dice: Dice(seed), next: 1, boxes: Vec::new(), may_be_more: 0 }
    }

    /// Calls until the server has gone, or the round is over.
    pub(crate) fn work(&mut self, round: &Round, report: &Report) {
        let _ = self.try_work(round, report);
    }

    /// What the end of a round makes of what was answered: `is_saved`, the server ended in peace; else it was killed at `end`.
    pub(crate) fn ended(&mut self, round: &Round, is_saved: bool, end: Instant) {
        for one in &mut self.boxes {
            let was_shaken = one.was_shaken(round);
            let was_there = std::mem::take(&mut one.is_known);
            let is_called = std::mem::take(&mut one.is_called);
            one.is_aside = false;
            one.step(if is_saved { "END" } else { "KILL" });
            one.is_calm &= !round.is_long();
            if !was_there {
                // It slept all the time: what is saved of it was settled earlier.
                continue;
            }
            if is_saved {
                one.history.kept(if round.had_trouble() {
                    "the end in peace of a full disk"
                } else {
                    "the end in peace"
                });
            } else if !round.had_trouble() && !was_shaken {
                if !is_called && end.duration_since(one.last_call) > REST {
                    one.history.kept("rest");
                } else if let Some(time) = end.checked_sub(WINDOW) {
                    one.history.kept_before(time);
                }
            }
        }
    }

    /// Looks at what is there in a folder that cannot be written, and tries to change it.
    pub(crate) fn look_only(&mut self, authority: &str, report: &Report) -> Result<(), Gone> {
        let mut connection = Connection::open(authority, &token(self.name), Door::Rest)?;
        let listed = connection.ask(&Call { tool: "sandbox_list", arguments: json!({}) })?;
        let there = listed.body["sandboxes"].as_array().cloned().unwrap_or_default();
        for one in self.boxes.iter().filter(|one| !one.may_be_gone) {
            if !there.iter().any(|there| there["id"] == one.id.as_str()) {
                report
                    .broken(Broken::Lost, &format!("sandbox {} is not to be seen: {}", one.id, listed.body));
                continue;
            }
            if one.manner != Manner::Database {
                let log = lines(connection.file(&one.id, "/workspace/log")?);
                if let Err((broken, told)) = one.history.may_be(FILE, &log) {
                    report.broken(broken, &format!("{} on a read-only disk: {told}", one.id));
                }
            }
            let call = Call { tool: "sandbox_checkpoint", arguments: json!({"sandbox": one.id}) };
            let answer = connection.ask(&call)?;
            if answer.code() != Some("state_unavailable") {
                report.broken(Broken::Refused, &format!("a checkpoint on a read-only disk: {}", answer.body));
            }
        }
        Ok(())
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self, authority: &str) -> Result<(), Gone> {
        let mut connection = Connection::open(authority, &token(self.name), Door::Rest)?;
        let listed = connection.ask(&Call { tool: "sandbox_list", arguments: json!({}) })?;
        for one in listed.body["sandboxes"].as_array().into_iter().flatten() {
            connection.ask(&Call { tool: "sandbox_destroy", arguments: json!({"sandbox": one["id"]}) })?;
        }
        self.boxes.clear();
        Ok(())
    }

    fn try_work(&mut self, round: &Round, report: &Report) -> Result<(), Gone> {
        let mut doors = Doors::open(self.name, round, report)?;
        self.look(&mut doors)?;
        while !round.is_over() {
            let room = self.boxes.len() < SANDBOXES;
            if self.boxes.is_empty() || (room && self.dice.roll(12) == 0) {
                self.create(&mut doors)?;
                continue;
            }
            let at = usize::try_from(self.dice.roll(self.boxes.len() as u64)).unwrap_or_default();
            self.boxes[at].is_shaken(round);
            doors.is_contained = self.boxes[at].image.is_some();
            if self.boxes[at].is_aside {
                // All of them may be; so it is seen when the server has gone. It is no operation that counts.
                doors.rest.ask(&Call { tool: "sandbox_list", arguments: json!({}) })?;
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            if !self.boxes[at].is_known {
                self.boxes[at].know(self.name, &mut doors)?;
                continue;
            }
            (self.boxes[at].last_call, self.boxes[at].is_called) = (Instant::now(), true);
            match self.dice.roll(40) {
                0 | 1 => self.checkpoint(at, &mut doors)?,
                2 | 3 => self.restore(at, &mut doors)?,
                4 if room => self.fork(at, &mut doors)?,
                5 => self.plain(at, "sandbox_stop", &mut doors)?,
                6 => self.plain(at, "sandbox_reset", &mut doors)?,
                7 => self.upload(at, &mut doors)?,
                8..=12 => self.misbehave(at, &mut doors)?,
                13 | 14 => self.at_once(at, &mut doors)?,
                15 => self.in_the_background(at, &mut doors)?,
                16 | 17 => self.through_the_other_door(at, &mut doors)?,
                _ if self.boxes[at].numbers > NUMBERS => self.destroy(at, &mut doors)?,
                18 if !room => self.destroy(at, &mut doors)?,
                _ => self.note(at, &mut doors)?,
            }
            if let Some(one) = self.boxes.get_mut(at) {
                (one.last_call, one.is_called) = (Instant::now(), false);
            }
        }
        Ok(())
    }

    /// Holds the list of sandboxes to what was answered.
    fn look(&mut self, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let listed = doors.rest.ask(&Call { tool: "sandbox_list", arguments: json!({}) })?;
        let Some(there) = listed.body["sandboxes"].as_array() else {
            doors.report.broken(Broken::Refused, &format!("{}: the list: {}", self.name, listed.body));
            return Ok(());
        };
        let there: Vec<&str> = there.iter().filter_map(|one| one["id"].as_str()).collect();
        self.boxes.retain(|one| {
            let is_there = there.contains(&one.id.as_str());
            if !is_there && !one.may_be_gone {
                doors.report.broken(Broken::Lost, &format!("sandbox {} is gone", one.id));
            }
            is_there
        });
        let mut left = 0;
        for id in there.iter().filter(|id| !self.boxes.iter().any(|one| one.id == **id)) {
            if self.may_be_more == 0 {
                doors
                    .report
                    .broken(Broken::Foreign, &format!("sandbox {id} was not asked for, or was removed"));
            }
            // Killed before the answer, it may still be there in the next life.
            let call = Call { tool: "sandbox_destroy", arguments: json!({"sandbox": id}) };
            let is_gone = doors.rest.ask(&call)?.code().is_none();
            self.may_be_more = self.may_be_more.saturating_sub(1);
            left += usize::from(!is_gone);
        }
        self.may_be_more = left;
        Ok(())
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn door(&mut self) -> Door {
        if self.dice.roll(2) == 0 { Door::Mcp } else { Door::Rest }
    }

    fn create(&mut self, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let door = self.door();
        let is_durable = self.dice.roll(4) == 0;
        let manner = [Manner::Plain, Manner::Held, Manner::Database][self.dice.roll(3) as usize % 3];
        let durability = if is_durable { "call" } else { "delayed" };
        let name = format!("box-{}", self.number());
        let mut arguments = json!({"name": name, "durability": durability, "disk_bytes": 4 << 20});
        let containers = self.boxes.iter().filter(|one| one.image.is_some()).count();
        let images = &doors.round.images;
        let pick = self.dice.roll(images.len().max(1) as u64) as usize;
        let image = images.get(pick).copied().filter(|_| containers < CONTAINERS && self.dice.roll(2) == 0);
        if let Some(image) = image {
            arguments["image"] = json!(image);
            (arguments["memory_bytes"], arguments["files"]) = (json!(MEMORY), json!(NAMES));
        }
        self.may_be_more += 1;
        let answer = doors.ask(door, &Call { tool: "sandbox_create", arguments }, LIMIT)?;
        self.may_be_more -= 1;
        let Some(id) = answer.body["id"].as_str() else {
            self.may_be_more += usize::from(doors.round.had_trouble());
            doors.refused(&answer, "sandbox_create");
            return Ok(());
        };
        let manner = if image.is_some() { Manner::Plain } else { manner };
        let mut made = Boxed::new(id, manner, is_durable, History::default());
        made.image = image;
        made.is_shaken(doors.round);
        self.boxes.push(made);
        Ok(())
    }
}

/// Numbers between spaces or lines.
pub(crate) fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split_whitespace().map(|number| number.parse().ok()).collect()
}

/// The numbers of a file, a line each.
pub(crate) fn lines(bytes: Option<Vec<u8>>) -> Vec<u64> {
    bytes.and_then(|bytes| numbers(&String::from_utf8(bytes).ok()?)).unwrap_or_default()
}
