//! A tool's answer as a value for the program, and the files that come with it.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use dormouse_core::GuestPath;
use dormouse_core::callback::{AnswerFile, CallbackAnswer};
use dormouse_sources::ToolAnswer;
use serde_json::{Map, Value as Json, json};

/// Where files are put.
const FOLDER: &str = "/tmp/tools";
/// A value of more bytes of JSON, or a text, becomes a file (256 KiB).
const MAX_VALUE: usize = 256 << 10;
/// How much of it the program gets at once, in bytes.
const PREVIEW: usize = 2_048;
/// Bytes of all files of an answer (32 MiB).
const MAX_FILES: usize = 32 << 20;
/// Bytes of an error's text that are told (8 KiB).
const MAX_ERROR: usize = 8 << 10;
/// Characters of a tool's name in that of a file.
const MAX_NAME: usize = 48;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How files end, by what they are.
const ENDINGS: [(&str, &str); 20] = [
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("text/css", "css"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("text/xml", "xml"),
    ("application/xml", "xml"),
    ("video/mp4", "mp4"),
];

/// Names for the files of one run. None is given twice, also where the run goes on elsewhere with others.
pub(crate) struct FileNames {
    run: u64,
    next: AtomicU64,
}

impl FileNames {
    pub(crate) fn new() -> Self {
        // Without random numbers names are those of other runs as well, which does no harm where a sandbox is of one run.
        Self { run: getrandom::u64().unwrap_or_default(), next: AtomicU64::new(1) }
    }

    fn next(&self, tool: &str, ending: &str) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let tool: String = tool.chars().take(MAX_NAME).collect();
        format!("{FOLDER}/{tool}-{:08x}-{number}.{ending}", self.run & 0xffff_ffff)
    }
}

/// An answer that is being taken apart.
struct Taken<'a> {
    names: &'a FileNames,
    tool: &'a str,
    files: Vec<AnswerFile>,
    bytes: usize,
}

/// The value of an answer: its structured content, else its text, read as JSON where it is JSON. `tool` is an identifier.
///
/// # Errors
/// What the tool says, where it says that it failed; what stands against its files.
pub(crate) fn unwrapped(answer: ToolAnswer, tool: &str, names: &FileNames) -> Result<CallbackAnswer, String> {
    if answer.is_error {
        return Err(failure(&answer));
    }
    let mut taken = Taken { names, tool, files: Vec::new(), bytes: 0 };
    let value = match answer.structured {
        Some(structured) => structured,
        None => taken.blocks(answer.content)?,
    };
    let value = taken.bounded(value)?;
    Ok(CallbackAnswer { value, files: taken.files })
}

/// A value of our own, or a file with its beginning where it is large.
///
/// # Errors
/// As [`unwrapped`].
pub(crate) fn bounded(value: Json, tool: &str, names: &FileNames) -> Result<CallbackAnswer, String> {
    let mut taken = Taken { names, tool, files: Vec::new(), bytes: 0 };
    let value = taken.bounded(value)?;
    Ok(CallbackAnswer { value, files: taken.files })
}

fn failure(answer: &ToolAnswer) -> String {
    let text = match (answer.text(), &answer.structured) {
        (text, Some(structured)) if text.is_empty() => structured.to_string(),
        (text, _) => text,
    };
    match text.trim() {
        "" => "the tool says that it failed, and not why".into(),
        text => beginning(text, MAX_ERROR).to_owned(),
    }
}

impl Taken<'_> {
    fn blocks(&mut self, mut content: Vec<Json>) -> Result<Json, String> {
        match content.len() {
            0 => Ok(Json::Null),
            1 => self.block(content.remove(0), true),
            _ => content.into_iter().map(|block| self.block(block, false)).collect(),
        }
    }

    /// The value of a block. The only one of an answer may be JSON.
    fn block(&mut self, mut block: Json, only: bool) -> Result<Json, String> {
        match block["type"].as_str() {
            Some("text") => match block.get_mut("text").map(Json::take) {
                Some(Json::String(text)) if only => Ok(read(&text).unwrap_or(Json::String(text))),
                Some(Json::String(text)) => Ok(Json::String(text)),
                _ => Ok(Json::Null),
            },
            Some("image" | "audio") => {
                let bytes = decoded(&block["data"])?;
                self.file(bytes, block["mimeType"].as_str(), None)
            }
            Some("resource") => self.resource(&mut block["resource"]),
            Some("resource_link") => {
                Ok(kept(&block, &["uri", "name", "title", "description", "mimeType", "size"]))
            }
            _ => Ok(block),
        }
    }

    fn resource(&mut self, resource: &mut Json) -> Result<Json, String> {
        let kind = resource["mimeType"].as_str().map(str::to_owned);
        let about = kept(resource, &["uri"]);
        if resource.get("blob").is_some() {
            let bytes = decoded(&resource["blob"])?;
            return self.file(bytes, kind.as_deref(), Some(about));
        }
        match resource.get("text").and_then(Json::as_str) {
            Some(text) if text.len() > MAX_VALUE => {
                let kind = kind.as_deref().or(Some("text/plain"));
                self.file(text.as_bytes().to_vec(), kind, Some(about))
            }
            _ => Ok(kept(resource, &["uri", "mimeType", "text"])),
        }
    }

    /// Puts bytes into a file. What the program gets of it.
    fn file(&mut self, bytes: Vec<u8>, kind: Option<&str>, about: Option<Json>) -> Result<Json, String> {
        let kind = kind.unwrap_or("application/octet-stream");
        let ending = ENDINGS.iter().find(|(one, _)| *one == kind).map_or("bin", |(_, ending)| ending);
        let mut value = match about {
            Some(Json::Object(about)) => about,
            _ => Map::new(),
        };
        value.insert("file".into(), Json::Null);
        value.insert("mime_type".into(), kind.into());
        value.insert("bytes".into(), bytes.len().into());
        value["file"] = self.put(bytes, ending)?.into();
        Ok(value.into())
    }

    fn put(&mut self, bytes: Vec<u8>, ending: &str) -> Result<String, String> {
        self.bytes += bytes.len();
        if self.bytes > MAX_FILES {
            return Err(format!("the tool's answer has more than {} MiB of files", MAX_FILES >> 20));
        }
        let name = self.names.next(self.tool, ending);
        let path = GuestPath::parse(&name).map_err(|error| error.to_string())?;
        self.files.push(AnswerFile { path, bytes });
        Ok(name)
    }

    /// The value, or a file with its beginning where it is large.
    fn bounded(&mut self, value: Json) -> Result<Json, String> {
        let (text, ending) = match &value {
            Json::String(text) if text.len() > MAX_VALUE => (text.clone(), "txt"),
            Json::String(_) => return Ok(value),
            other => (other.to_string(), "json"),
        };
        if text.len() <= MAX_VALUE {
            return Ok(value);
        }
        let (bytes, preview) = (text.len(), beginning(&text, PREVIEW).to_owned());
        let file = self.put(text.into_bytes(), ending)?;
        Ok(json!({"file": file, "bytes": bytes, "preview": preview}))
    }
}

/// A text as JSON, if it is JSON and nothing of it is lost.
fn read(text: &str) -> Option<Json> {
    let value: Json = serde_json::from_str(text).ok()?;
    match &value {
        // Numbers of many digits are names of something.
        Json::Number(number) if number.to_string() != text.trim() => None,
        _ => Some(value),
    }
}

fn decoded(data: &Json) -> Result<Vec<u8>, String> {
    let text = data.as_str().unwrap_or_default();
    if text.len() / 4 * 3 > MAX_FILES {
        return Err(format!("the tool's answer has more than {} MiB of files", MAX_FILES >> 20));
    }
    let plain: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    BASE64.decode(plain).map_err(|_| "the tool's answer holds data that is no base64".into())
}

/// Some keys of a block, in the program's words.
fn kept(block: &Json, keys: &[&str]) -> Json {
    let present = keys.iter().filter_map(|key| Some((*key, block.get(key)?.clone())));
    let renamed =
        present.map(|(key, value)| (if key == "mimeType" { "mime_type" } else { key }.to_owned(), value));
    Json::Object(renamed.collect())
}

fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most.min(text.len()))]
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
