//! `sandbox_files`: what lies in a folder.

use dormouse_core::sandbox::{Entry, EntryKind, SandboxId, Timestamp};
use dormouse_core::{GuestPath, Result};
use serde_json::Value as Json;

use super::Verb;
use crate::call::fit::{VALUE, encoded_len};
use crate::call::{Answer, Caller};
use crate::services::{Services, Target, found};
use crate::spec::{Answered as _, LOOKS, Order, answer, arguments, flag, integer, text};

/// Most entries of a page of a listing.
const MAX_ENTRIES: u64 = 1_000;
/// Longest cursor, in bytes: a path below a folder can be longer than one that a caller may name.
const MAX_CURSOR: usize = 64 << 10;

arguments! {
    /// What `sandbox_files` is asked.
    pub(crate) struct List {
        target: Target = Target::table(),
        path: GuestPath = text(
            GuestPath::MAX_BYTES,
            "Absolute path of the folder in the sandbox. Default `/workspace`.",
        ).or("/workspace"),
        recursive: bool = flag("Lists everything below the folder. Default false."),
        limit: usize =
            integer((1, MAX_ENTRIES), "Most entries of one page. Default and at most 1000.").or(MAX_ENTRIES),
        cursor: Option<String> =
            text(MAX_CURSOR, "The `next_cursor` of the previous page. Default: the first page.").optional(),
    }
}

answer! {
    /// What it answers.
    pub(crate) struct Page {
        sandbox_id: SandboxId = "The sandbox.",
        path: GuestPath = "The folder.",
        entries: Vec<Shown> = "The page.",
        total: u64 = "How many there are, on this page or not.",
        truncated: bool = "Whether some come after this page.",
        next_cursor: Option<String> = "Where the next page begins; only when there is one.",
    }
}

answer! {
    /// A file, a folder or a link.
    pub(crate) struct Shown = "One name." {
        path: String = "Its path below the folder. Untrusted text.",
        kind: &'static str = "file, folder or link.",
        bytes: u64 = "Bytes of a file, else 0.",
        modified_at: Timestamp = "When its content was changed, UTC.",
    }
}

impl Shown {
    fn of(entry: &Entry) -> Self {
        let kind = match entry.kind {
            EntryKind::File => "file",
            EntryKind::Folder => "folder",
            EntryKind::Link => "link",
        };
        let modified_at = Timestamp(entry.modified_ms);
        Self { path: entry.path.clone(), kind, bytes: entry.bytes, modified_at }
    }
}

pub(crate) fn files() -> Verb<List, Page> {
    Verb {
        name: "sandbox_files",
        title: "List files of a sandbox",
        description: "Lists the contents of a folder in a sandbox, sorted by path, with sizes and times. Use it to \
            see which files a run has left. With `recursive` it shows everything below. A long list comes in pages: call \
            again with `cursor` set to `next_cursor`.",
        arguments: List::table(),
        annotations: LOOKS,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(list(services, caller, asked)),
    }
}

async fn list(services: &Services, caller: &Caller, asked: List) -> Result<Answer<Page>> {
    let List { target, path, recursive, limit, cursor } = asked;
    let owner = &caller.owner;
    let sandbox = services.there(&target, owner)?;
    let from = (cursor, limit);
    let page =
        services.sandboxes.page_of_files(owner, &found(&sandbox), path.clone(), recursive, from).await?;
    let shown = fitting(&page.entries);
    let truncated = page.more || shown < page.entries.len();
    let last = shown.checked_sub(1).and_then(|last| page.entries.get(last)).filter(|_| truncated);
    let page = Page {
        sandbox_id: sandbox.id,
        path,
        entries: page.entries.iter().take(shown).map(Shown::of).collect(),
        total: page.total,
        truncated,
        next_cursor: last.map(|last| last.path.clone()),
    };
    Ok(page.into())
}

/// How many entries an answer holds: long names can fill it before their number does. The first is shown in any case, since
/// pages go on from what they show.
fn fitting(entries: &[Entry]) -> usize {
    let mut room = VALUE;
    let fits = entries.iter().take_while(|entry| {
        let size = encoded_len(&Json::Object(Shown::of(entry).into_fields())) + 1;
        match room.checked_sub(size) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        }
    });
    fits.count().max(usize::from(!entries.is_empty()))
}
