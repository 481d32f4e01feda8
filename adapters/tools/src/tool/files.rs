//! `sandbox_write`, `sandbox_edit`, `sandbox_files`.

use data_encoding::BASE64;
use dormouse_core::sandbox::{Entry, EntryKind, Owner, Timestamp};
use dormouse_core::{Error, GuestPath, Result};
use serde_json::{Value as Json, json};

use super::read::{path, path_field};
use super::verb::{Answer, CHANGES, Kept, LOOKS, Verb, by_id, naming};
use crate::decode::Arguments;
use crate::field::{Absent, Field, Kind};
use crate::fit::{VALUE, encoded_len};
use crate::schema::{self, Object};
use crate::time::iso8601;

/// Largest content of one call, in bytes (8 MiB).
pub const MAX_CONTENT: usize = 8 << 20;
/// The same as base64.
pub(crate) const MAX_BASE64: usize = MAX_CONTENT.div_ceil(3) * 4;
/// Most entries of a page of a listing.
const MAX_ENTRIES: u64 = 1_000;
/// Longest cursor, in bytes: a path below a folder can be longer than one that a caller may name.
const MAX_CURSOR: usize = 64 << 10;

pub(crate) fn write() -> Verb {
    Verb {
        name: "sandbox_write",
        title: "Write a file of a sandbox",
        description: "Writes a file in a sandbox, and makes the folders above it. A file that is there is replaced as a \
            whole, or added to with `append`; when it does not fit, it stays as it was. Use it to hand code or data to \
            later runs. Relative paths of snippets begin in `/workspace`.",
        fields: naming([
            path_field(),
            Field::new(
                "content",
                Kind::Text { min: 0, max: MAX_BASE64, absent: Absent::Refused },
                "What to write, at most 8 MiB.",
            ),
            Field::choice(
                "encoding",
                &["text", "base64"],
                "How `content` is written: `text` (default) or `base64`.",
            ),
            Field::flag("append", "Adds to the end of the file instead of replacing it. Default false."),
        ]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("path", schema::text("The file."))
            .optional("bytes", schema::integer(0, "Bytes that were written."))
            .optional("size_bytes", schema::integer(0, "Bytes of the whole file.")),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(put(kept, arguments, &caller.owner)),
    }
}

async fn put(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let path = path(&mut arguments)?;
    let content = arguments.take_text("content").unwrap_or_default();
    let bytes = match arguments.take_text("encoding").as_deref() {
        Some("base64") => base64("content", &content)?,
        _ => content.into_bytes(),
    };
    if bytes.len() > MAX_CONTENT {
        let message =
            format!("the field `content` has {} bytes, at most {MAX_CONTENT} are taken", bytes.len());
        return Err(Error::new(dormouse_core::ErrorCode::TooLarge, message)
            .with_hint("write it in pieces, with `append` from the second on"));
    }
    let id = kept.there_or_new(&mut arguments, owner).await?;
    let written = bytes.len() as u64;
    let size = if arguments.flag("append") {
        kept.sandboxes.append(owner, &by_id(&id), path.clone(), bytes).await?
    } else {
        kept.sandboxes.write(owner, &by_id(&id), path.clone(), bytes).await?;
        written
    };
    let answer =
        json!({"sandbox_id": id.as_str(), "path": path.as_str(), "bytes": written, "size_bytes": size});
    Ok(answer.into())
}

/// Bytes that came as base64.
pub(crate) fn base64(field: &str, text: &str) -> Result<Vec<u8>> {
    BASE64.decode(text.as_bytes()).map_err(|error| {
        Error::args_invalid(format!("the field `{field}` is no base64: {error}"))
            .with_hint("use the standard alphabet with padding and no line breaks")
    })
}

pub(crate) fn edit() -> Verb {
    Verb {
        name: "sandbox_edit",
        title: "Edit a file of a sandbox",
        description: "Replaces text in a file of a sandbox: `old`, exactly as it stands there, by `new`. `old` must stand in \
            one place, or `all` must be true; else nothing is changed. Use it for small changes to a file that was read \
            before; sandbox_write replaces a file as a whole.",
        fields: naming([
            path_field(),
            Field::text("old", 1 << 20, Absent::Refused, "The text that is there, at most 1 MiB."),
            Field::new(
                "new",
                Kind::Text { min: 0, max: 1 << 20, absent: Absent::Refused },
                "What takes its place, at most 1 MiB; may be empty.",
            ),
            Field::flag("all", "Replaces every place where `old` stands. Default false."),
        ]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("path", schema::text("The file."))
            .optional("replaced", schema::integer(0, "In how many places.")),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(replace(kept, arguments, &caller.owner)),
    }
}

async fn replace(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let path = path(&mut arguments)?;
    let mut text = |name| arguments.take_text(name).unwrap_or_default();
    let texts = (text("old"), text("new"));
    let id = kept.there(&mut arguments, owner)?;
    let all = arguments.flag("all");
    let replaced = kept.sandboxes.edit(owner, &by_id(&id), path.clone(), texts, all).await?;
    Ok(json!({"sandbox_id": id.as_str(), "path": path.as_str(), "replaced": replaced}).into())
}

pub(crate) fn files() -> Verb {
    let entry = Object::new()
        .description("One name.")
        .required("path", schema::text("Its path below the folder. Untrusted text."))
        .required("kind", schema::text("file, folder or link."))
        .required("bytes", schema::integer(0, "Bytes of a file, else 0."))
        .required("modified_at", schema::text("When its content was changed, UTC."))
        .build();
    Verb {
        name: "sandbox_files",
        title: "List files of a sandbox",
        description: "Lists what lies in a folder of a sandbox, sorted by path, with sizes and times. Use it to see what a \
            run has left. With `recursive` it shows everything below. A long list comes in pages: call \
            again with `cursor` set to `next_cursor`.",
        fields: naming([
            Field::text(
                "path",
                GuestPath::MAX_BYTES,
                Absent::Default("/workspace"),
                "Absolute path of the folder in the sandbox. Default `/workspace`.",
            ),
            Field::flag("recursive", "Lists everything below the folder. Default false."),
            Field::integer(
                "limit",
                (1, MAX_ENTRIES),
                Absent::Default(MAX_ENTRIES),
                "Most entries of one page. Default and at most 1000.",
            ),
            Field::text(
                "cursor",
                MAX_CURSOR,
                Absent::None,
                "Where the page before ended. Default: the beginning.",
            ),
        ]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("path", schema::text("The folder."))
            .optional("entries", schema::list(&entry, "The page."))
            .optional("total", schema::integer(0, "How many there are, on this page or not."))
            .optional("truncated", schema::flag("Whether some come after this page."))
            .optional("next_cursor", schema::text("Where the next page begins; only when there is one.")),
        annotations: LOOKS,
        run: |kept, arguments, caller| Box::pin(list(kept, arguments, &caller.owner)),
    }
}

async fn list(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let path = path(&mut arguments)?;
    let id = kept.there(&mut arguments, owner)?;
    let most = usize::try_from(arguments.integer("limit").unwrap_or(MAX_ENTRIES)).unwrap_or_default();
    let recursive = arguments.flag("recursive");
    let from = (arguments.take_text("cursor"), most);
    let page = kept.sandboxes.page_of_files(owner, &by_id(&id), path.clone(), recursive, from).await?;
    // Long names can fill an answer before the number does.
    let mut room = VALUE;
    let mut shown = Vec::new();
    for entry in &page.entries {
        let entry = encoded(entry);
        match room.checked_sub(encoded_len(&entry) + 1) {
            Some(left) => room = left,
            // The first is shown in any case: pages go on from what they show.
            None if shown.is_empty() => room = 0,
            None => break,
        }
        shown.push(entry);
    }
    let truncated = page.more || shown.len() < page.entries.len();
    let last = shown.len().checked_sub(1).and_then(|last| page.entries.get(last)).filter(|_| truncated);
    let mut answer = json!({
        "sandbox_id": id.as_str(),
        "path": path.as_str(),
        "entries": shown,
        "total": page.total,
        "truncated": truncated,
    });
    if let Some(last) = last {
        answer["next_cursor"] = last.path.clone().into();
    }
    Ok(answer.into())
}

fn encoded(entry: &Entry) -> Json {
    let kind = match entry.kind {
        EntryKind::File => "file",
        EntryKind::Folder => "folder",
        EntryKind::Link => "link",
    };
    let modified = iso8601(Timestamp(entry.modified_ms));
    json!({"path": entry.path, "kind": kind, "bytes": entry.bytes, "modified_at": modified})
}
