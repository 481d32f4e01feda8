//! `dormouse state`: what of the folder in which sandboxes are kept is whole, and what this release can wake of it.

mod doctor;
mod migrate;

use std::io::{IsTerminal as _, stderr};
use std::path::Path;

use dormouse::sandbox::{ChunkSource, Reached, SavedState, chunk};
use dormouse::store::{Checked, Seen, check_each};
use dormouse::wasm::{Allocation, Settings, WasmProvider};
use dormouse::{Provider as _, Result};
use dormouse_docker::{STATE_MARK, reach_state};
use serde_json::json;

use crate::args::{FolderArgs, PlaceArgs, StateCommand};
use crate::exit::Failure;
use crate::{print, settings};

/// Does it; the exit status.
pub(crate) fn run(
    place: &PlaceArgs,
    folder: &FolderArgs,
    command: &StateCommand,
) -> std::result::Result<u8, Failure> {
    let state = settings::state_folder(folder.state_dir.as_deref())?;
    match command {
        StateCommand::Check => {
            let checked = look(&wasm(place)?, &state, &mut |_, _| {})?;
            let text = if folder.json { as_json(&checked) } else { as_text(&checked) };
            print::out(&print::visible(&text))?;
            Ok(u8::from(!checked.is_whole()))
        }
        StateCommand::Doctor => doctor::run(&wasm(place)?, &state, folder.json),
        StateCommand::Migrate { sandboxes, dry_run, timeout, memory } => {
            let memory = memory.as_deref();
            let asked = migrate::Asked { names: sandboxes, dry: *dry_run, timeout, memory };
            migrate::run(place, &state, asked, folder.json)
        }
    }
}

/// The provider of most states, for looking at them. It has no pool: little is loaded.
fn wasm(place: &PlaceArgs) -> Result<WasmProvider> {
    WasmProvider::new(Settings { allocation: Allocation::OnDemand, ..settings::provider(place)? })
}

/// Looks at the whole folder, with each sandbox and checkpoint for `each`.
fn look(wasm: &WasmProvider, folder: &Path, each: &mut dyn FnMut(Seen, &dyn ChunkSource)) -> Result<Checked> {
    // A state is followed by who saved it, which its first bytes tell; no engine is needed for that.
    let reach = |state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached| {
        let Some(root) = reached.follow(|| chunk::fetch(chunks, &state.root))? else { return Ok(()) };
        match root.starts_with(STATE_MARK) {
            true => reach_state(state, chunks, reached),
            false => wasm.reach(state, chunks, reached),
        }
    };
    let shows = stderr().is_terminal();
    let mut shown = 0;
    let mut progress = |done: u64, all: u64| {
        let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100);
        if shows && percent > shown {
            shown = percent;
            // Nobody who waits for the answer minds when this cannot be shown.
            let _ = print::err(&format!("\r{percent} % of {all} chunks"));
            if percent >= 100 {
                let _ = print::err("\n");
            }
        }
    };
    check_each(folder, &reach, &mut progress, each)
}

fn as_json(checked: &Checked) -> String {
    let damaged = checked.damaged.iter().map(|one| {
        json!({
            "sandbox": one.sandbox,
            "checkpoint": one.checkpoint,
            "owner": one.owner,
            "name": one.name,
            "why": one.why,
        })
    });
    let told = json!({
        "whole": checked.is_whole(),
        "sandboxes": checked.sandboxes,
        "checkpoints": checked.checkpoints,
        "chunks": checked.chunks,
        "bytes": checked.bytes,
        "without_log": checked.without_log,
        "database": checked.database,
        "damaged_chunks": checked.damaged_chunks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "damaged": damaged.collect::<Vec<_>>(),
        "error": null,
    });
    format!("{told}\n")
}

fn as_text(checked: &Checked) -> String {
    let Checked { sandboxes, checkpoints, chunks, bytes, .. } = checked;
    let size = print::size(*bytes);
    let mut text = format!("{sandboxes} sandboxes, {checkpoints} checkpoints, {chunks} chunks of {size}\n");
    if checked.without_log {
        text.push_str(
            "the folder cannot be written, so the latest changes, in `state.db-wal`, were not read\n",
        );
    }
    for line in &checked.database {
        text.push_str(&format!("database: {line}\n"));
    }
    for one in &checked.damaged {
        let what = match &one.checkpoint {
            Some(checkpoint) => format!("checkpoint {checkpoint} of {}", one.sandbox),
            None => format!("sandbox {}", one.sandbox),
        };
        text.push_str(&format!("damaged: {what} `{}` of {}\n", one.name, one.owner));
        for why in &one.why {
            text.push_str(&format!("  {why}\n"));
        }
    }
    let spare = checked.damaged.is_empty() && !checked.damaged_chunks.is_empty();
    if spare {
        let count = checked.damaged_chunks.len();
        text.push_str(&format!("{count} damaged chunks, which no sandbox needs; a sweep removes them\n"));
    }
    text.push_str(match checked.is_whole() {
        true => "everything is whole\n",
        false if spare => "",
        false if checked.damaged.is_empty() => {
            "sandboxes and checkpoints are intact, but the database is not: stop everything that uses the folder, and replace the database with the output of `sqlite3 state.db .recover`\n"
        }
        false => {
            "what is damaged can be removed by its id (`dormouse sandbox rm`, `rm-checkpoint`), restored from an earlier \
             checkpoint, or, if only variables are damaged, reset (`dormouse sandbox reset`)\n"
        }
    });
    text
}
