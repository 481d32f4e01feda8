//! Files of sandboxes as resources: their addresses, and reading one by its address.

use dormouse_core::sandbox::{Handle, Owner, Piece, SandboxId};
use dormouse_core::{Error, ErrorCode, GuestPath, Result, Sandboxes};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

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
        Error::new(ErrorCode::NotFound, format!("`{shown}` is no address of a file"))
            .with_hint("sandbox_download tells the address of a file")
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

fn parse(uri: &str) -> Option<(String, GuestPath)> {
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
