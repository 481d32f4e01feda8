//! What headers say, and how bytes are written in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_contract::net::{Head, Header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// The first value of a header, by its name in lower case.
pub(in crate::own) fn value<'a>(headers: &'a [Header], name: &str) -> Option<&'a [u8]> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
}

/// The same as text.
pub(in crate::own) fn text(headers: &[Header], name: &str) -> Option<String> {
    value(headers, name).map(|value| String::from_utf8_lossy(value).into_owned())
}

/// The lines of an answer's head, each with its end, and the empty one.
pub(in crate::own) fn lines(head: &Head) -> Vec<Vec<u8>> {
    let first = format!("HTTP/1.1 {} {}\r\n", head.status, phrase(head.status)).into_bytes();
    let line = |(name, value): &Header| [name.as_bytes(), b": ", value, b"\r\n"].concat();
    std::iter::once(first).chain(head.headers.iter().map(line)).chain([b"\r\n".to_vec()]).collect()
}

/// The name that `Content-Disposition` gives a file, without any folder.
pub(in crate::own) fn file_name(headers: &[Header]) -> Option<String> {
    let given = text(headers, "content-disposition")?;
    let place = given.to_ascii_lowercase().find("filename=")?;
    let rest = given[place + "filename=".len()..].trim_start();
    let name = match rest.strip_prefix('"') {
        Some(quoted) => {
            let mut name = String::new();
            let mut letters = quoted.chars();
            while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                name.push(if letter == '\\' { letters.next()? } else { letter });
            }
            name
        }
        None => rest.split(';').next().unwrap_or_default().trim().to_owned(),
    };
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = name.chars().filter(|letter| !letter.is_control()).collect();
    (!matches!(plain.as_str(), "" | "." | "..")).then_some(plain)
}

/// What stands in an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Bytes as a part of an address.
pub(in crate::own) fn escaped(bytes: &[u8]) -> String {
    percent_encode(bytes, PLAIN).to_string()
}

/// The value of `Authorization` for `user:password`.
pub(in crate::own) fn basic(login: &[u8]) -> String {
    format!("Basic {}", STANDARD.encode(login))
}

/// What a status is called.
pub(in crate::own) fn phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Payload Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Entity",
        423 => "Locked",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        511 => "Network Authentication Required",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_disposition_has_no_folder() {
        for (given, name) in [
            ("attachment; filename=\"a \\\"b.txt\"", Some("a \"b.txt")),
            ("attachment; filename=plain.txt; size=3", Some("plain.txt")),
            ("attachment; FileName=\"../../etc/passwd\"", Some("passwd")),
            ("attachment; filename=\"..\"", None),
            ("attachment; filename=\"a\\", None),
            ("inline", None),
        ] {
            let headers = [("content-disposition".to_owned(), given.as_bytes().to_vec())];
            assert_eq!(file_name(&headers).as_deref(), name, "{given}");
        }
    }
}
