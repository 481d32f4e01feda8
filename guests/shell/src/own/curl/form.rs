//! `--form`: several parts as one body.

use dormouse_contract::system;

use super::super::web::desk::Desk;
use super::failure::{Failure, READ};
use super::settings::bytes_of;

/// A part.
#[derive(Clone, Debug)]
pub(super) struct Part {
    name: String,
    file_name: Option<String>,
    kind: Option<String>,
    headers: Vec<String>,
    content: Vec<u8>,
}

/// What names of files end in, and what such files are.
const KINDS: [(&str, &str); 9] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
];

/// What is said of a part that is none.
pub(super) fn malformed(value: &str) -> Failure {
    Failure::usage(&format!("Illegally formatted input field: `{value}` has no `=`"))
}

/// `name=content` as it stands there.
pub(super) fn plain(value: &str) -> Option<Part> {
    let (name, content) = value.split_once('=')?;
    let content = bytes_of(content);
    Some(Part { name: name.to_owned(), file_name: None, kind: None, headers: Vec::new(), content })
}

/// `name=content`, `name=@file`, `name=<file`, with `;type=` and the like behind it.
pub(super) async fn read(value: &str, desk: &Desk<'_>) -> Result<Part, Failure> {
    let Some((name, rest)) = value.split_once('=') else {
        return Err(malformed(value));
    };
    let (sign, rest) = match rest.chars().next() {
        Some(sign @ ('@' | '<')) => (Some(sign), &rest[1..]),
        _ => (None, rest),
    };
    let (content, extras) = first_field(rest);
    let mut part =
        Part { name: name.to_owned(), file_name: None, kind: None, headers: Vec::new(), content: Vec::new() };
    match sign {
        None => part.content = bytes_of(&content),
        Some(sign) => {
            part.content = desk
                .read(&content)
                .await
                .map_err(|_| Failure::new(READ, "Failed to open/read local data from file/application"))?;
            if sign == '@' {
                let base = content.rsplit('/').next().unwrap_or_default();
                part.file_name = Some(base.to_owned());
                let lower = base.to_ascii_lowercase();
                let kind = KINDS.iter().find(|(end, _)| lower.ends_with(end)).map(|(_, kind)| *kind);
                part.kind = Some(kind.unwrap_or("application/octet-stream").to_owned());
            }
        }
    }
    for (word, value) in extras {
        match word.as_str() {
            "type" => part.kind = Some(value),
            "filename" => part.file_name = Some(value),
            "headers" => part.headers.push(value),
            word => desk.say(&format!("Warning: skip unknown form field: {word}\n")).await?,
        }
    }
    Ok(part)
}

/// A value, in quotes or up to a semicolon, and the fields behind it.
fn first_field(text: &str) -> (String, Vec<(String, String)>) {
    let (content, mut rest) = field(text);
    let mut extras: Vec<(String, String)> = Vec::new();
    while let Some(more) = rest.strip_prefix(';') {
        let (word, after) = more.trim_start().split_once('=').unwrap_or((more, ""));
        let (value, after) = field(after);
        match extras.last_mut() {
            // A type has fields of its own.
            Some((last, kind))
                if last == "type" && !matches!(word, "filename" | "headers" | "encoder" | "type") =>
            {
                kind.push_str(&format!(";{word}={value}"));
            }
            _ => extras.push((word.to_owned(), value)),
        }
        rest = after;
    }
    (content, extras)
}

/// The value that a text begins with, and the rest.
fn field(text: &str) -> (String, &str) {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut out = String::new();
        let mut letters = quoted.char_indices();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => return (out, &quoted[place + 1..]),
                '\\' => out.extend(letters.next().map(|(_, letter)| letter)),
                letter => out.push(letter),
            }
        }
        return (out, "");
    }
    let end = text.find(';');
    let (value, rest) = text.split_at(end.unwrap_or(text.len()));
    (value.to_owned(), rest)
}

/// A line that is in no part.
pub(super) fn boundary() -> String {
    let mut bytes = [0; 8];
    let _ = system::random(&mut bytes);
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("------------------------{digits}")
}

/// All parts, as they are sent.
pub(super) fn body(parts: &[Part], boundary: &str) -> Vec<u8> {
    let quoted = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let mut body = Vec::new();
    for part in parts {
        let mut head =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&part.name));
        if let Some(name) = &part.file_name {
            head.push_str(&format!("; filename=\"{}\"", quoted(name)));
        }
        head.push_str("\r\n");
        if let Some(kind) = &part.kind {
            head.push_str(&format!("Content-Type: {kind}\r\n"));
        }
        for line in &part.headers {
            head.push_str(&format!("{line}\r\n"));
        }
        body.extend(bytes_of(&head));
        body.extend(b"\r\n");
        body.extend(&part.content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").into_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_behind_a_value_are_told_from_it() {
        let fields = |text| {
            let (content, extras) = first_field(text);
            let extras: Vec<String> = extras.iter().map(|(word, value)| format!("{word}={value}")).collect();
            format!("{content}|{}", extras.join("|"))
        };
        for (text, read) in [
            ("a;b=c", "a|b=c"),
            ("a.txt;type=text/plain", "a.txt|type=text/plain"),
            (
                "a.txt;type=text/plain;charset=utf-8;filename=\"b;c\"",
                "a.txt|type=text/plain;charset=utf-8|filename=b;c",
            ),
            ("\"a;type=b\";filename=c", "a;type=b|filename=c"),
            ("\"a\\\"b", "a\"b|"),
        ] {
            assert_eq!(fields(text), read, "{text}");
        }
    }
}
