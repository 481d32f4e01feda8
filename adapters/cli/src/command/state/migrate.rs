//! `dormouse state migrate`: sandboxes go to the current guests.

use std::path::Path;

use dormouse::sandbox::{Checkpoint, Handle, Migrated, Owner};
use dormouse::wasm::{Allocation, Wake};
use dormouse::{Dormouse, Error, ErrorCode, Limits, Result};
use serde_json::{Value as Json, json};

use super::doctor::{self, Found, short};
use super::wasm;
use crate::args::PlaceArgs;
use crate::command::once;
use crate::exit::Failure;
use crate::{print, settings, words};

/// Variables that did not come over which are shown of one interpreter.
const SHOWN: usize = 50;

/// What the command line asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) names: &'a [String],
    pub(super) dry: bool,
    pub(super) timeout: &'a str,
    /// The beginning of the SHA-256 of the guest whose memory is meant.
    pub(super) memory: Option<&'a str>,
}

/// What came of one sandbox.
struct Done {
    sandbox: String,
    owner: String,
    name: String,
    came: Result<(Vec<Migrated>, Option<Checkpoint>)>,
}

/// Does it; 1 when a sandbox could not be brought over.
pub(super) fn run(
    place: &PlaceArgs,
    folder: &Path,
    asked: Asked<'_>,
    as_json: bool,
) -> std::result::Result<u8, Failure> {
    let limits = Limits { wall: settings::duration("--timeout", asked.timeout)?, ..Limits::default() };
    let (found, _) = doctor::find(&wasm(place)?, folder)?;
    let meant = meant(&found, asked)?;
    let mut all = Vec::new();
    if !meant.is_empty() {
        let dormouse = settings::builder(place)?.allocation(Allocation::OnDemand).state(folder).build()?;
        for one in meant {
            all.push(bring(&dormouse, one, asked, &limits));
        }
        once::to_end(async { dormouse.sandboxes()?.close().await })?;
    }
    let failed = all.iter().any(|done| done.came.is_err());
    let text = match as_json {
        true => {
            let list: Vec<Json> = all.iter().map(Done::as_json).collect();
            format!("{}\n", words::of_answer(json!({"dry_run": asked.dry, "sandboxes": list, "error": null})))
        }
        false if all.is_empty() && asked.names.is_empty() => {
            "no sandbox goes on from a memory of other guests: nothing to migrate\n".into()
        }
        false if all.is_empty() => {
            "none of these sandboxes goes on from a memory of other guests: nothing to migrate\n".into()
        }
        false => all.iter().map(|done| done.as_text(asked.dry)).collect(),
    };
    print::out(&print::visible(&text))?;
    Ok(u8::from(failed))
}

/// The sandboxes that go: those that were saved with other guests, of those that are named.
fn meant<'a>(found: &'a [Found], asked: Asked<'_>) -> Result<Vec<&'a Found>> {
    let names = asked.names;
    let sandboxes: Vec<&Found> = found.iter().filter(|one| one.seen.checkpoint.is_none()).collect();
    let is_called = |one: &Found, name: &String| one.seen.name == *name || one.seen.sandbox == *name;
    for name in names {
        if !sandboxes.iter().any(|one| is_called(one, name)) {
            let shown: String = name.escape_debug().take(64).collect();
            return Err(Error::new(ErrorCode::UnknownSandbox, format!("there is no sandbox `{shown}`"))
                .with_hint("`dormouse state doctor` lists them"));
        }
        if sandboxes.iter().filter(|one| is_called(one, name)).count() > 1 {
            let ids: Vec<&str> = sandboxes
                .iter()
                .filter(|one| is_called(one, name))
                .map(|one| one.seen.sandbox.as_str())
                .collect();
            let message = format!("several owners have a sandbox `{}`", name.escape_debug());
            return Err(
                Error::args_invalid(message).with_hint(format!("name it by its id: {}", ids.join(", ")))
            );
        }
    }
    let is_meant = |one: &&Found| names.is_empty() || names.iter().any(|name| is_called(one, name));
    // A damaged one says so, instead of being passed over.
    let is_behind = |one: &&Found| {
        asked.memory.is_some()
            || !one.seen.why.is_empty()
            || one.latest().any(|memory| !matches!(memory.wake, Ok(Wake::Current)))
    };
    Ok(sandboxes.into_iter().filter(is_meant).filter(is_behind).collect())
}

fn bring(dormouse: &Dormouse, one: &Found, asked: Asked<'_>, limits: &Limits) -> Done {
    let seen = &one.seen;
    let came = once::wait(async {
        if let Some(why) = seen.why.first() {
            return Err(Error::new(ErrorCode::StateDamaged, format!("its state is damaged: {why}")));
        }
        let (owner, handle) = (Owner::parse(&seen.owner)?, Handle::IdOrName(&seen.sandbox));
        let sandboxes = dormouse.sandboxes()?;
        if asked.dry {
            return Ok((sandboxes.try_migration(&owner, &handle, limits.clone(), asked.memory).await?, None));
        }
        let (migrated, before) = sandboxes.migrate(&owner, &handle, limits.clone(), asked.memory).await?;
        Ok((migrated, Some(before)))
    });
    Done { sandbox: seen.sandbox.clone(), owner: seen.owner.clone(), name: seen.name.clone(), came }
}

/// Text of a sandbox within a line of this report.
fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter })
        .collect()
}

impl Done {
    fn as_json(&self) -> Json {
        let Self { sandbox, owner, name, came } = self;
        let (interpreters, before) = came.as_ref().map_or((None, None), |(migrated, before)| {
            (Some(migrated), before.as_ref().map(|before| before.label.id.as_str()))
        });
        json!({
            "sandbox": sandbox,
            "owner": owner,
            "name": name,
            "checkpoint": before,
            "interpreters": interpreters,
            "error": came.as_ref().err(),
        })
    }

    fn as_text(&self, dry: bool) -> String {
        let name = if self.name.is_empty() { &self.sandbox } else { &self.name };
        let (migrated, before) = match &self.came {
            Ok(came) => came,
            Err(error) => {
                let hint = error.hint().unwrap_or_else(|| error.code().advice());
                return format!("{name}: not migrated, and as it was: {error}\n  hint: {hint}\n");
            }
        };
        let mut text = match before {
            Some(before) => format!("{name}: migrated; as it was before: checkpoint {}\n", before.label.id),
            None => format!("{name}: would be migrated\n"),
        };
        for one in migrated {
            let (guest, from) = (&one.guest, short(&one.from));
            match &one.why {
                Some(why) => text += &format!("  {guest} {from}: files only, no variables: {why}\n"),
                None => {
                    let come = if dry { "would come over" } else { "came over" };
                    let count = match one.carried.len() {
                        1 => "1 variable".to_owned(),
                        count => format!("{count} variables"),
                    };
                    text += &format!("  {guest} {from}: {count} {come}");
                    if !one.carried.is_empty() {
                        let names: Vec<String> = one.carried.iter().map(|name| plain(name)).collect();
                        text += &format!(": {}", names.join(", "));
                    }
                    text.push('\n');
                }
            }
            for (name, why) in one.left.iter().take(SHOWN) {
                text += &format!("    not {}: {}\n", plain(name), plain(why));
            }
            if one.left.len() > SHOWN {
                text += &format!("    and {} more; `--json` names all\n", one.left.len() - SHOWN);
            }
        }
        text
    }
}
