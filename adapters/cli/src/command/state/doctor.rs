//! `dormouse state doctor`: what this release can wake.

use std::path::Path;

use dormouse::sandbox::{ChunkSource, chunk};
use dormouse::store::Seen;
use dormouse::wasm::{Memory, Wake, WasmProvider};
use dormouse::{Error, ErrorCode, Result};
use dormouse_docker::STATE_MARK;
use serde_json::{Value as Json, json};

use super::look;
use crate::exit::Failure;
use crate::print::{self, Row};

/// What was found of one sandbox or checkpoint.
pub(super) struct Found {
    pub(super) seen: Seen,
    /// The memories of its interpreters, or why they cannot be told.
    pub(super) memories: Result<Vec<Memory>>,
    /// Whether a container engine saved it.
    is_container: bool,
}

/// Looks and tells; 1 when something cannot be woken.
pub(super) fn run(wasm: &WasmProvider, folder: &Path, as_json: bool) -> std::result::Result<u8, Failure> {
    let (all, database) = find(wasm, folder)?;
    let wakes = database.is_empty() && all.iter().all(Found::wakes);
    if as_json {
        let list: Vec<Json> = all.iter().map(Found::as_json).collect();
        let told = json!({"wakes": wakes, "sandboxes": list, "database": database, "error": null});
        print::out(&print::visible(&format!("{told}\n")))?;
    } else {
        let mut rows: Vec<Row> = all.iter().map(Found::row).collect();
        rows.extend(database.into_iter().map(|line| Row {
            good: Some(false),
            name: "database".into(),
            found: line,
            hint: Some("`dormouse state check` says more".into()),
        }));
        if rows.is_empty() {
            print::out("there are no sandboxes\n")?;
        }
        print::out(&print::table(&rows))?;
    }
    Ok(u8::from(!wakes))
}

/// Everything in the folder, and what is wrong with its database.
pub(super) fn find(wasm: &WasmProvider, folder: &Path) -> Result<(Vec<Found>, Vec<String>)> {
    let mut all = Vec::new();
    let checked = look(wasm, folder, &mut |seen, chunks| all.push(Found::of(wasm, seen, chunks)))?;
    Ok((all, checked.database))
}

impl Found {
    fn of(wasm: &WasmProvider, seen: Seen, chunks: &dyn ChunkSource) -> Self {
        let (memories, is_container) = match &seen.state {
            None => (Ok(Vec::new()), false),
            Some(state) => match chunk::fetch(chunks, &state.root) {
                Ok(root) if root.starts_with(STATE_MARK) => (Ok(Vec::new()), true),
                Ok(_) => (wasm.memories(state, chunks), false),
                Err(error) => (Err(error), false),
            },
        };
        Self { seen, memories, is_container }
    }

    /// The memories that it would be woken with.
    pub(super) fn latest(&self) -> impl Iterator<Item = &Memory> {
        self.memories.iter().flatten().filter(|memory| memory.is_latest)
    }

    /// Whether it can be woken as it is.
    fn wakes(&self) -> bool {
        self.seen.why.is_empty() && self.memories.is_ok() && self.latest().all(|memory| memory.wake.is_ok())
    }

    /// What it is called, with its owner where that is not the one of the command line.
    fn name(&self) -> String {
        let Seen { sandbox, checkpoint, owner, name, .. } = &self.seen;
        let own = match checkpoint {
            Some(checkpoint) if name.is_empty() => format!("{checkpoint} of {sandbox}"),
            Some(checkpoint) => format!("{name} ({checkpoint}) of {sandbox}"),
            None if name.is_empty() => sandbox.clone(),
            None => name.clone(),
        };
        if owner == "local" { own } else { format!("{owner}: {own}") }
    }

    fn row(&self) -> Row {
        let (found, hint) = match (&self.memories, self.seen.why.first()) {
            (Err(error), _) => (error.message().to_owned(), advice(error)),
            (_, Some(why)) => (format!("damaged: {why}"), Some(DAMAGED.to_owned())),
            (Ok(_), None) => self.memory(),
        };
        Row { good: Some(self.wakes()), name: self.name(), found, hint }
    }

    /// What there is to say of its memory.
    fn memory(&self) -> (String, Option<String>) {
        if self.is_container {
            return ("files of a container, which wakes where its engine is".into(), None);
        }
        if let Some(error) = self.latest().find_map(|memory| memory.wake.as_ref().err()) {
            let all = self.latest().filter_map(|memory| memory.wake.as_ref().err());
            let found: Vec<&str> = all.map(Error::message).collect();
            return (format!("its files can be used; {}", found.join("; ")), advice(error));
        }
        let words: Vec<String> = self
            .latest()
            .map(|memory| match memory.wake {
                Ok(Wake::Current) | Err(_) => memory.guest.to_string(),
                Ok(Wake::Compiled) => format!(
                    "{} with its older guest {}, which is compiled first, once; this takes some seconds",
                    memory.guest,
                    short(&memory.build)
                ),
                Ok(_) => format!("{} with its older guest {}", memory.guest, short(&memory.build)),
            })
            .collect();
        let mut told = if words.is_empty() { "files".into() } else { words.join(", ") };
        // What has run since has memory of its own: this one wakes with the release that has its guest alone.
        let older = || self.memories.iter().flatten().filter(|memory| !memory.is_latest);
        for memory in older() {
            told += &format!(
                "; an older memory of the {} guest {} is kept, and not used",
                memory.guest,
                short(&memory.build)
            );
        }
        let usable = older().find(|memory| memory.wake.is_ok() && self.seen.checkpoint.is_none());
        let hint = usable.map(|memory| {
            let (sandbox, build) = (&self.seen.sandbox, short(&memory.build));
            format!("`dormouse state migrate {sandbox} --memory {build}` goes back to the variables of that memory")
        });
        (told, hint)
    }

    fn as_json(&self) -> Json {
        let memory = |memory: &Memory| {
            let how = match &memory.wake {
                Ok(Wake::Current) => Some("current"),
                Ok(Wake::Compiled) => Some("compiled"),
                Ok(_) => Some("kept"),
                Err(_) => None,
            };
            json!({
                "language": memory.guest,
                "build": memory.build,
                "bytes": memory.bytes,
                "latest": memory.is_latest,
                "guest": how,
                "error": memory.wake.as_ref().err(),
            })
        };
        let Seen { sandbox, checkpoint, owner, name, why, .. } = &self.seen;
        json!({
            "sandbox": sandbox,
            "checkpoint": checkpoint,
            "owner": owner,
            "name": name,
            "wakes": self.wakes(),
            "container": self.is_container,
            "memory": self.memories.iter().flatten().map(memory).collect::<Vec<_>>(),
            "why": why,
            "error": self.memories.as_ref().err(),
        })
    }
}

/// What to do about damage.
const DAMAGED: &str =
    "go back to an earlier checkpoint, or remove it; `dormouse state check` names everything that is damaged";

fn advice(error: &Error) -> Option<String> {
    if error.code() == ErrorCode::StateDamaged {
        return Some(DAMAGED.to_owned());
    }
    Some(error.hint().unwrap_or_else(|| error.code().advice()).to_owned())
}

/// As much of a hash as people read.
pub(super) fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
