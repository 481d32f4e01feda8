//! Reads what is to be run: from the command line, a file or standard input. Bounded, and text is checked.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use dormouse::{Error, ErrorCode, EvalRequest, Result};

/// Largest standard input of a run, in bytes.
const MAX_STDIN: usize = 64 << 20;

/// The code of `--file`: a regular file of UTF-8.
pub(crate) fn file(path: &Path) -> Result<String> {
    text(bytes(path, EvalRequest::MAX_CODE)?, &path.display().to_string())
}

/// The code that stands on standard input. `asked` says that the user wrote `-`.
pub(crate) fn standard_input(asked: bool) -> Result<String> {
    let missing = || {
        Error::args_invalid("no code was given")
            .with_hint("write `dormouse eval '1 + 1'`, name a file with --file, or pipe the code in")
    };
    if !asked && io::stdin().is_terminal() {
        return Err(missing());
    }
    let code = text(capped(io::stdin().lock(), EvalRequest::MAX_CODE, "standard input")?, "standard input")?;
    if !asked && code.is_empty() {
        return Err(missing());
    }
    Ok(code)
}

/// What the run reads as its standard input: a file, or `-` for ours.
pub(crate) fn input(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        return capped(io::stdin().lock(), MAX_STDIN, "standard input");
    }
    bytes(path, MAX_STDIN)
}

/// The bytes of a regular file of at most `most` bytes.
pub(crate) fn bytes(path: &Path, most: usize) -> Result<Vec<u8>> {
    let shown = path.display().to_string();
    let failed = |error: io::Error| {
        Error::args_invalid(format!("`{}` cannot be read: {}", shown.escape_debug(), plain(&error)))
    };
    // Asked before it is opened: opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(Error::args_invalid(format!("`{}` is not a regular file", shown.escape_debug()))
            .with_hint("pipe the contents in and write `-` instead"));
    }
    capped(File::open(path).map_err(failed)?, most, &shown)
}

fn capped(from: impl Read, most: usize, shown: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        Error::args_invalid(format!("`{}` cannot be read: {}", shown.escape_debug(), plain(&error)))
    })?;
    if bytes.len() > most {
        return Err(Error::new(
            ErrorCode::TooLarge,
            format!("`{}` has more than {} MiB", shown.escape_debug(), most >> 20),
        )
        .with_hint("put data into a file of a mount instead"));
    }
    Ok(bytes)
}

/// The bytes as text, without a byte-order mark.
fn text(bytes: Vec<u8>, shown: &str) -> Result<String> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let byte = bytes.get(at).copied().unwrap_or_default();
        Error::args_invalid(format!(
            "`{}` is not UTF-8: byte 0x{byte:02x} at offset {at} (line {line})",
            shown.escape_debug()
        ))
        .with_hint("save the source as UTF-8")
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// The system's sentence, in our style.
pub(crate) fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_text_is_refused_with_its_place() {
        let error = text(b"a\nb\xffc".to_vec(), "x.py").unwrap_err();
        assert_eq!(error.message(), "`x.py` is not UTF-8: byte 0xff at offset 3 (line 2)");
        assert_eq!(text(b"\xef\xbb\xbf1".to_vec(), "x.py").unwrap(), "1");
        assert_eq!(text(Vec::new(), "x.py").unwrap(), "");
    }

    #[test]
    fn inputs_end_at_their_cap() {
        assert_eq!(capped(&b"abc"[..], 3, "x").unwrap(), b"abc");
        assert_eq!(capped(&b"abcd"[..], 3, "x").unwrap_err().code(), ErrorCode::TooLarge);
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(bytes(folder.path(), 10).unwrap_err().message().ends_with("is not a regular file"));
        let missing = bytes(&folder.path().join("none"), 10).unwrap_err();
        assert!(missing.message().ends_with("there is no such file"), "{missing}");
    }
}
