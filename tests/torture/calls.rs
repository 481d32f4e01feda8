//! The calls of an owner, and what it makes of their answers.

use std::time::Instant;

use serde_json::json;

use crate::connection::{Call, Gone};
use crate::engine::PYTHON;
use crate::history::{Broken, FILE, History};
use crate::owner::{Doors, LIMIT, Owner, lines};
use crate::sandbox::{Boxed, said};
use crate::snippets::{HOSTILE, HOSTILE_LINES, Manner, contained, javascript, php, python};

/// A sandbox has so many checkpoints when the next is taken; with them an owner keeps within what may be saved.
const CHECKPOINTS: usize = 4;

impl Owner {
    /// What a note is: its call, and the channels in which it leaves its number.
    fn noting(&mut self, at: usize, number: u64) -> (Call, Vec<&'static str>) {
        let kind = self.dice.roll(10);
        let one = &mut self.boxes[at];
        if let (Some(image), 3..) = (one.image, kind) {
            if image == PYTHON && kind > 6 {
                let code = contained(number);
                let arguments =
                    json!({"sandbox": one.id, "language": "python", "code": code, "timeout_ms": LIMIT});
                return (Call { tool: "sandbox_eval", arguments }, vec![FILE]);
            }
            let command = format!("echo {number} >> /workspace/log");
            let arguments = json!({"sandbox": one.id, "command": command, "timeout_ms": LIMIT});
            return (Call { tool: "sandbox_exec", arguments }, vec![FILE]);
        }
        let in_files: &[&'static str] = if one.manner == Manner::Database { &[] } else { &[FILE] };
        let (language, code) = match kind {
            0 | 1 if one.manner != Manner::Database => {
                let command = format!("echo {number} >> /workspace/log");
                let arguments = json!({"sandbox": one.id, "command": command, "timeout_ms": LIMIT});
                return (Call { tool: "sandbox_exec", arguments }, vec![FILE]);
            }
            2 if one.manner != Manner::Database => {
                let arguments = json!({"sandbox": one.id, "path": "/workspace/log", "content": format!("{number}\n"), "append": true});
                return (Call { tool: "sandbox_write", arguments }, vec![FILE]);
            }
            3 | 4 => ("javascript", javascript(number, one.manner)),
            5 | 6 => ("php", php(number, one.manner)),
            _ => ("python", python(number, one.manner)),
        };
        if !one.languages.contains(&language) {
            one.languages.push(language);
        }
        let in_files = if language == "python" { &[FILE] } else { in_files };
        let arguments = json!({"sandbox": one.id, "language": language, "code": code, "timeout_ms": LIMIT});
        (Call { tool: "sandbox_eval", arguments }, [&[language], in_files].concat())
    }

    pub(crate) fn note(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let (door, number) = (self.door(), self.number());
        let (call, channels) = self.noting(at, number);
        let one = &mut self.boxes[at];
        let asked = doors.ask(door, &call, LIMIT);
        one.noted(&call, &channels, number, asked, doors).map(drop)
    }

    /// Several calls in one write: they are run in that order.
    pub(crate) fn at_once(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        self.make_room(at, doors)?;
        let door = self.door();
        let count = 2 + self.dice.roll(5);
        let mut calls = Vec::new();
        for _ in 0..count {
            if self.dice.roll(4) == 0 {
                let arguments = json!({"sandbox": self.boxes[at].id});
                calls.push((Call { tool: "sandbox_checkpoint", arguments }, Vec::new(), 0));
                continue;
            }
            let number = self.number();
            let (call, channels) = self.noting(at, number);
            calls.push((call, channels, number));
        }
        let sent: Vec<Call> = calls.iter().map(|(call, ..)| call.clone()).collect();
        let mut is_gone = doors.of(door).send(&sent).is_err();
        for (call, channels, number) in calls {
            let answer = if is_gone { Err(Gone) } else { doors.of(door).answer() };
            is_gone = answer.is_err();
            let one = &mut self.boxes[at];
            if call.tool == "sandbox_checkpoint" {
                if let Ok(answer) = answer {
                    one.checkpointed(&answer, doors);
                }
                continue;
            }
            doors.report.operation(call.tool);
            let _ = one.noted(&call, &channels, number, answer, doors);
        }
        if is_gone { Err(Gone) } else { Ok(()) }
    }

    pub(crate) fn checkpoint(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let door = self.door();
        self.make_room(at, doors)?;
        let one = &mut self.boxes[at];
        // A line that was cut off by a kill has left its file in the container until somebody looks.
        one.empty(doors)?;
        let call = Call { tool: "sandbox_checkpoint", arguments: json!({"sandbox": one.id}) };
        let answer = doors.ask(door, &call, LIMIT)?;
        one.checkpointed(&answer, doors);
        Ok(())
    }

    /// Removes checkpoints of a sandbox that has many, so that its owner keeps within what may be saved.
    fn make_room(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        while self.boxes[at].checkpoints.len() >= CHECKPOINTS {
            let door = self.door();
            let pick = self.dice.roll(CHECKPOINTS as u64) as usize;
            let one = &mut self.boxes[at];
            let Some(id) = one.checkpoints.keys().nth(pick).cloned() else { return Ok(()) };
            one.checkpoints.remove(&id);
            let arguments = json!({"sandbox": one.id, "checkpoint_id": id});
            let answer = doors.ask(door, &Call { tool: "sandbox_remove_checkpoint", arguments }, LIMIT)?;
            if answer.code().is_some() {
                doors.refused(&answer, "sandbox_remove_checkpoint");
            }
        }
        Ok(())
    }

    pub(crate) fn restore(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let door = self.door();
        let pick = self.dice.roll(64) as usize;
        let one = &mut self.boxes[at];
        let Some((id, state)) = one.checkpoints.iter().nth(pick % one.checkpoints.len().max(1)) else {
            return Ok(());
        };
        let state = state.clone();
        let call =
            Call { tool: "sandbox_restore", arguments: json!({"sandbox": one.id, "checkpoint_id": id}) };
        let answer = doors.ask(door, &call, LIMIT);
        one.step(format!("restore {}", said(&answer)));
        one.is_shaken(doors.round);
        match answer {
            Ok(answer) if answer.code().is_none() => {
                if answer.body["unsaved"].is_object() {
                    doors.report.unsaved();
                    one.history.goes_back(state);
                } else {
                    one.history = History::of(state);
                }
                // The checkpoint may be of a moment at which a line that was cut off had left its file.
                one.empty(doors)
            }
            Ok(answer) => {
                doors.refused(&answer, "sandbox_restore");
                one.history.perhaps_is(state);
                one.is_aside = true;
                Ok(())
            }
            Err(Gone) => {
                one.history.perhaps_is(state);
                Err(Gone)
            }
        }
    }

    pub(crate) fn fork(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let door = self.door();
        let one = &mut self.boxes[at];
        let call = Call { tool: "sandbox_fork", arguments: json!({"sandbox": one.id}) };
        self.may_be_more += 1;
        let answer = doors.ask(door, &call, LIMIT)?;
        self.may_be_more -= 1;
        let Some(id) = answer.body["sandboxes"][0]["id"].as_str() else {
            self.may_be_more += usize::from(doors.round.had_trouble());
            doors.refused(&answer, "sandbox_fork");
            return Ok(());
        };
        // Forking saves the origin.
        one.is_shaken(doors.round);
        one.history.kept("fork");
        one.step("fork");
        let mut fork = Boxed::new(id, one.manner, one.is_durable, one.history.clone());
        fork.image = one.image;
        fork.languages.clone_from(&one.languages);
        fork.numbers = one.numbers;
        self.boxes.push(fork);
        Ok(())
    }

    pub(crate) fn plain(&mut self, at: usize, tool: &'static str, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let door = self.door();
        let one = &mut self.boxes[at];
        let call = Call { tool, arguments: json!({"sandbox": one.id}) };
        let answer = doors.ask(door, &call, LIMIT);
        one.step(format!("{} {}", tool.trim_start_matches("sandbox_"), said(&answer)));
        let is_reset = tool == "sandbox_reset";
        one.is_shaken(doors.round);
        match &answer {
            Ok(answer) if answer.code().is_some() => doors.refused(answer, tool),
            Ok(answer) if answer.body["unsaved"].is_object() => {
                doors.report.unsaved();
                if is_reset {
                    one.history.forgotten();
                }
            }
            Ok(_) if is_reset => {
                one.history.forgotten();
                if one.is_durable {
                    one.history.kept("durability");
                }
            }
            Ok(_) => one.history.kept("stop"),
            Err(Gone) if is_reset => one.history.perhaps_forgotten(),
            Err(Gone) => {}
        }
        answer.map(drop)
    }

    pub(crate) fn upload(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let number = self.number();
        let one = &mut self.boxes[at];
        let begun = Instant::now();
        let answer = doors.rest.put(&one.id, "/workspace/upload", number.to_string().as_bytes());
        one.step(format!("{number} upload {}", said(&answer)));
        one.is_shaken(doors.round);
        match &answer {
            Ok(answer) if answer.code().is_none() => {
                doors.took("sandbox_upload", begun.elapsed(), LIMIT);
                if answer.body["unsaved"].is_object() {
                    doors.report.unsaved();
                    one.history.perhaps_uploaded(number);
                } else {
                    one.history.uploaded(number);
                    one.history.kept("upload");
                }
            }
            Ok(answer) => {
                doors.refused(answer, "sandbox_upload");
                one.history.perhaps_uploaded(number);
            }
            Err(Gone) => one.history.perhaps_uploaded(number),
        }
        answer.map(drop)
    }

    pub(crate) fn destroy(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let door = self.door();
        let one = &mut self.boxes[at];
        let call = Call { tool: "sandbox_destroy", arguments: json!({"sandbox": one.id}) };
        one.may_be_gone = true;
        let answer = doors.ask(door, &call, LIMIT)?;
        if answer.code().is_none() {
            self.boxes.remove(at);
        } else {
            doors.refused(&answer, "sandbox_destroy");
        }
        Ok(())
    }

    /// Code that does not end, or takes what it can. It leaves no number: what there was before must be there afterwards.
    pub(crate) fn misbehave(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let door = self.door();
        let (mut language, mut limit, mut code) = HOSTILE[self.dice.roll(HOSTILE.len() as u64) as usize];
        let one = &mut self.boxes[at];
        if one.image.is_some() {
            language = "shell";
            (limit, code) = HOSTILE_LINES[self.dice.roll(HOSTILE_LINES.len() as u64) as usize];
        }
        let call = if language == "shell" {
            let arguments = json!({"sandbox": one.id, "command": code, "timeout_ms": limit});
            Call { tool: "sandbox_exec", arguments }
        } else {
            let arguments =
                json!({"sandbox": one.id, "language": language, "code": code, "timeout_ms": limit});
            Call { tool: "sandbox_eval", arguments }
        };
        let answer = doors.ask(door, &call, limit);
        one.step(format!("{language} {code:?} {}", said(&answer)));
        let answer = answer?;
        doors.report.hostile();
        match answer.code() {
            Some("internal" | "state_damaged") => {
                doors.report.broken(Broken::Refused, &format!("{code}: {}", answer.body));
            }
            _ => one.recovered(&answer, doors),
        }
        if answer.code().is_some() {
            one.empty(doors)?;
        }
        Ok(())
    }

    /// A job that leaves its number once, or not at all.
    pub(crate) fn in_the_background(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let (door, number) = (self.door(), self.number());
        let one = &mut self.boxes[at];
        let command = format!("sleep 0.1; echo {number} >> /workspace/jobs");
        let arguments = json!({"sandbox": one.id, "command": command, "background": true});
        let answer = doors.ask(door, &Call { tool: "sandbox_exec", arguments }, LIMIT)?;
        if answer.code().is_some() {
            doors.refused(&answer, "a job");
        }
        one.step(format!("job {number}"));
        // Beside a job the files are saved alone.
        one.is_calm = false;
        Ok(())
    }

    /// What was answered through one door is seen through the other.
    pub(crate) fn through_the_other_door(&mut self, at: usize, doors: &mut Doors<'_>) -> Result<(), Gone> {
        let one = &mut self.boxes[at];
        if one.manner == Manner::Database {
            return Ok(());
        }
        doors.rest.was_refused();
        let there = lines(doors.rest.file(&one.id, "/workspace/log")?);
        doors.report.operation("sandbox_read");
        let was_refused = doors.rest.was_refused() && one.image.is_some();
        if one.is_shaken(doors.round) || (was_refused && doors.may_refuse()) {
            return Ok(());
        }
        if let Err((broken, told)) = one.history.is_all(FILE, &there) {
            doors.report.broken(broken, &format!("{} through the other door: {told}", one.id));
        }
        Ok(())
    }
}
