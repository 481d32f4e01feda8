//! Files of sandboxes as resources: their addresses, reading one by its address, and the list of artifacts.

use dormouse_core::sandbox::{EntryKind, Handle, Owner, Phase, Piece, Sandbox, SandboxId, Timestamp};
use dormouse_core::{Error, ErrorCode, GuestPath, Result, Sandboxes};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::time::iso8601;

/// What every address begins with; the sandbox's id follows.
const SCHEME: &str = "dormouse://sandbox/";
/// What stands between the id and the path.
const FILES: &str = "/files";
/// The addresses as a template of RFC 6570.
pub const TEMPLATE: &str = "dormouse://sandbox/{sandbox}/files{+path}";
/// Largest file that is read as a resource, in bytes (8 MiB).
const MAX: u64 = 8 << 20;
/// Longest address that is looked at, in bytes.
const MAX_URI: usize = 16 << 10;
/// What is written as `%XX` in an address.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-').remove(b'~');

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What it holds, as far as its name says.
    pub mime_type: &'static str,
    /// All of it, at most 8 MiB.
    pub bytes: Vec<u8>,
}

/// Where artifacts lie that are listed (S2-27).
const OUTPUTS: &str = "/workspace/outputs";
/// Sandboxes whose artifacts are listed on one page, and of each the files.
const SANDBOXES: usize = 20;
const FILES_OF_ONE: usize = 100;

/// An artifact: a file below `/workspace/outputs` of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its address.
    pub uri: String,
    /// Its path below the folder of artifacts.
    pub name: String,
    /// The same with the name of its sandbox, for people.
    pub title: String,
    /// What it holds, as far as its name says.
    pub mime_type: &'static str,
    /// Its bytes.
    pub size: u64,
    /// When its content was changed, ISO 8601.
    pub modified_at: String,
}

/// A page of artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifacts {
    /// Those of at most 20 sandboxes, of each the first 100 by path.
    pub all: Vec<Artifact>,
    /// Where the next page begins. None: this is the last.
    pub next: Option<String>,
}

/// The artifacts of an owner's sandboxes, in the order in which these were made; `after` is where the page before ended. Wakes no
/// sandbox.
///
/// # Errors
/// `args_invalid` for what is no end of a page; what keeps the sandboxes from being listed. One whose files cannot be read is left
/// out.
pub(crate) async fn list(sandboxes: &Sandboxes, owner: &Owner, after: Option<&str>) -> Result<Artifacts> {
    let after = after.map(cursor).transpose()?;
    let views = sandboxes.list(owner, None, after.as_ref().map(|(at, id)| (*at, id)), SANDBOXES).await?;
    let next = views.last().filter(|_| views.len() == SANDBOXES).map(|last| end_of(&last.sandbox));
    let folder = GuestPath::parse(OUTPUTS)?;
    let mut all = Vec::new();
    for sandbox in views.into_iter().map(|view| view.sandbox) {
        if !matches!(sandbox.phase, Phase::Running | Phase::Stopped) {
            continue;
        }
        // Folders among them count as well.
        let entries = match sandboxes.glance(&sandbox, &folder, FILES_OF_ONE).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(%error, sandbox = %sandbox.id, "its artifacts are not listed");
                continue;
            }
        };
        for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let Ok(path) = GuestPath::parse(&format!("{OUTPUTS}/{}", entry.path)) else { continue };
            all.push(Artifact {
                uri: uri(&sandbox.id, &path),
                title: format!("{} of {}", entry.path, sandbox.name),
                mime_type: mime(&entry.path),
                name: entry.path,
                size: entry.bytes,
                modified_at: iso8601(Timestamp(entry.modified_ms)),
            });
        }
    }
    Ok(Artifacts { all, next })
}

/// Where a page of sandboxes ends that has this one as its last.
pub(crate) fn end_of(last: &Sandbox) -> String {
    format!("{}:{}", last.created_at.0, last.id)
}

/// The end of a page of sandboxes.
///
/// # Errors
/// `args_invalid`.
pub(crate) fn cursor(text: &str) -> Result<(Timestamp, SandboxId)> {
    let read = || {
        let (at, id) = text.split_once(':')?;
        Some((Timestamp(at.parse().ok()?), SandboxId::parse(id)?))
    };
    read().ok_or_else(|| {
        Error::args_invalid("the field `cursor` is not one of a page")
            .with_hint("give `cursor` the `next_cursor` of the page before, unchanged")
    })
}

/// The address of a file.
pub(crate) fn uri(sandbox: &SandboxId, path: &GuestPath) -> String {
    format!("{SCHEME}{}{FILES}{}", sandbox.as_str(), utf8_percent_encode(path.as_str(), ESCAPED))
}

/// Reads the file of an address.
///
/// # Errors
/// `not_found` for what is no address of a file; as [`Sandboxes::read`]; `too_large` past 8 MiB.
pub(crate) async fn read(sandboxes: &Sandboxes, owner: &Owner, uri: &str) -> Result<Resource> {
    let (sandbox, path) = parse(uri).ok_or_else(|| {
        let shown: String = uri.escape_debug().take(64).collect();
        Error::new(ErrorCode::NotFound, format!("`{shown}` is not the address of a file"))
            .with_hint("sandbox_download returns the address of a file")
    })?;
    let Piece { bytes, size, .. } =
        sandboxes.read(owner, &Handle::IdOrName(&sandbox), path.clone(), 0, MAX).await?;
    if size > bytes.len() as u64 {
        return Err(Error::new(ErrorCode::TooLarge, format!("`{path}` has {size} bytes, more than {MAX}"))
            .with_hint("read it in pieces with sandbox_read"));
    }
    Ok(Resource { mime_type: mime(path.as_str()), bytes })
}

/// The sandbox of an address.
pub(crate) fn sandbox(uri: &str) -> Option<String> {
    parse(uri).map(|(sandbox, _)| sandbox)
}

pub(crate) fn parse(uri: &str) -> Option<(String, GuestPath)> {
    let (sandbox, path) = uri.get(..uri.len().min(MAX_URI))?.strip_prefix(SCHEME)?.split_once(FILES)?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some((sandbox.to_owned(), GuestPath::parse(&path).ok()?))
}

/// What a file holds, as far as its name says.
pub(crate) fn mime(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("txt" | "log" | "md") => "text/plain",
        Some("csv") => "text/csv",
        Some("html" | "htm") => "text/html",
        Some("json") => "application/json",
        Some("pdf") => "application/pdf",
        Some("zip") => "application/zip",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("svg") => "image/svg+xml",
        Some("webp") => "image/webp",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_its_file_and_nothing_else_is_one() {
        let id = SandboxId::random().unwrap();
        let path = GuestPath::parse("/workspace/ä b%/files/x?.txt").unwrap();
        let uri = uri(&id, &path);
        assert!(uri.is_ascii() && !uri.contains([' ', '?']), "{uri}");
        assert_eq!(parse(&uri), Some((id.as_str().to_owned(), path)));
        for bad in [
            "",
            "file:///etc/passwd",
            "dormouse://sandbox/x",
            "dormouse://sandbox/x/files",
            "dormouse://sandbox/x/files/../../etc",
            "dormouse://sandbox/x/files/%2e%2e/etc",
            "dormouse://sandbox/x/files/a%00b",
            "dormouse://sandbox/x/files/%ff",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse(&format!("{SCHEME}x{FILES}/{}", "a/".repeat(MAX_URI))), None);
    }
}
