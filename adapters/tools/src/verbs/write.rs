//! `sandbox_write` and `sandbox_edit`: a file as a whole, or a text in it.

use data_encoding::BASE64;
use dormouse_core::sandbox::SandboxId;
use dormouse_core::{Error, ErrorCode, GuestPath, Result};

use super::Verb;
use super::read::{Encoding, path_row};
use crate::call::{Answer, Caller};
use crate::services::{Services, Target, found};
use crate::spec::{CHANGES, Order, answer, any_text, arguments, choice, flag, text};

/// Largest content of one call, in bytes (8 MiB).
pub const MAX_CONTENT: usize = 8 << 20;
/// The same as base64.
pub(crate) const MAX_BASE64: usize = MAX_CONTENT.div_ceil(3) * 4;

arguments! {
    /// What `sandbox_write` is asked.
    pub(crate) struct Write {
        target: Target = Target::table(),
        path: GuestPath = path_row(),
        content: String = any_text(MAX_BASE64, "What to write, at most 8 MiB."),
        encoding: Encoding = choice("How `content` is written: `text` (default) or `base64`."),
        append: bool = flag("Adds to the end of the file instead of replacing it. Default false."),
    }
}

answer! {
    /// What it answers.
    pub(crate) struct Written {
        sandbox_id: SandboxId = "The sandbox.",
        path: GuestPath = "The file.",
        bytes: u64 = "Bytes that were written.",
        size_bytes: u64 = "Bytes of the whole file.",
    }
}

pub(crate) fn write() -> Verb<Write, Written> {
    Verb {
        name: "sandbox_write",
        title: "Write a file of a sandbox",
        description: "Writes a file in a sandbox and creates its parent folders. An existing file is replaced as a \
            whole, or extended with `append`; if the content does not fit, the file is unchanged. Use it to pass code \
            or data to later runs. Relative paths in snippets are relative to `/workspace`.",
        arguments: Write::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(put(services, caller, asked)),
    }
}

async fn put(services: &Services, caller: &Caller, asked: Write) -> Result<Answer<Written>> {
    let Write { target, path, content, encoding, append } = asked;
    let bytes = match encoding {
        Encoding::Base64 => base64("content", &content)?,
        Encoding::Text => content.into_bytes(),
    };
    if bytes.len() > MAX_CONTENT {
        let message =
            format!("the field `content` has {} bytes, at most {MAX_CONTENT} are taken", bytes.len());
        return Err(Error::new(ErrorCode::TooLarge, message)
            .with_hint("write it in pieces, with `append` from the second on"));
    }
    let owner = &caller.owner;
    let sandbox = services.get_or_create(&target, owner).await?;
    let written = bytes.len() as u64;
    let size = if append {
        services.sandboxes.append(owner, &found(&sandbox), path.clone(), bytes).await?
    } else {
        services.sandboxes.write(owner, &found(&sandbox), path.clone(), bytes).await?;
        written
    };
    Ok(Written { sandbox_id: sandbox.id, path, bytes: written, size_bytes: size }.into())
}

/// Bytes that came as base64.
pub(crate) fn base64(field: &str, text: &str) -> Result<Vec<u8>> {
    BASE64.decode(text.as_bytes()).map_err(|error| {
        Error::args_invalid(format!("the field `{field}` is not base64: {error}"))
            .with_hint("use the standard alphabet with padding and no line breaks")
    })
}

arguments! {
    /// What `sandbox_edit` is asked.
    pub(crate) struct Edit {
        target: Target = Target::table(),
        path: GuestPath = path_row(),
        old: String = text(1 << 20, "The text that is there, at most 1 MiB."),
        new: String = any_text(1 << 20, "The replacement, at most 1 MiB; may be empty."),
        all: bool = flag("Replaces every place where `old` stands. Default false."),
    }
}

answer! {
    /// What it answers.
    pub(crate) struct Edited {
        sandbox_id: SandboxId = "The sandbox.",
        path: GuestPath = "The file.",
        replaced: usize = "In how many places.",
    }
}

pub(crate) fn edit() -> Verb<Edit, Edited> {
    Verb {
        name: "sandbox_edit",
        title: "Edit a file of a sandbox",
        description: "Replaces text in a file of a sandbox: `old`, exactly as it stands there, by `new`. `old` must \
            occur exactly once, or `all` must be true; otherwise nothing is changed. Use it for small changes to a file that was read \
            before; sandbox_write replaces a file as a whole.",
        arguments: Edit::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(replace(services, caller, asked)),
    }
}

async fn replace(services: &Services, caller: &Caller, asked: Edit) -> Result<Answer<Edited>> {
    let Edit { target, path, old, new, all } = asked;
    let sandbox = services.there(&target, &caller.owner)?;
    let (handle, texts) = (found(&sandbox), (old, new));
    let replaced = services.sandboxes.edit(&caller.owner, &handle, path.clone(), texts, all).await?;
    Ok(Edited { sandbox_id: sandbox.id, path, replaced }.into())
}
