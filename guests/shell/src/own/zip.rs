//! `zip` and `unzip` of real archives, stored or deflated.

mod archive;
mod extract;

use std::path::PathBuf;

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::folders::reason;
use super::options::{self, Given, Known, Value};
use super::paths::lexical;
use archive::{Entry, Kind};
pub(super) use extract::Unzip;

/// Exit statuses of Info-ZIP's zip.
const BAD_ARCHIVE: i32 = 3;
const NOTHING_TO_DO: i32 = 12;
const CANNOT_WRITE: i32 = 15;
const BAD_USAGE: i32 = 16;
const CANNOT_READ: i32 = 18;

const ZIP: &[Known] = &[
    ('r', "recurse-paths", Value::None),
    ('q', "quiet", Value::None),
    ('j', "junk-paths", Value::None),
    ('u', "update", Value::None),
    ('v', "verbose", Value::None),
    ('y', "symlinks", Value::None),
    ('X', "no-extra", Value::None),
    ('D', "no-dir-entries", Value::None),
    ('0', "", Value::None),
    ('1', "", Value::None),
    ('2', "", Value::None),
    ('3', "", Value::None),
    ('4', "", Value::None),
    ('5', "", Value::None),
    ('6', "", Value::None),
    ('7', "", Value::None),
    ('8', "", Value::None),
    ('9', "", Value::None),
    ('x', "exclude", Value::Required),
];

/// `zip`.
pub(super) struct Zip;

/// Number and bytes of files.
#[derive(Default)]
struct Tally {
    files: usize,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }

    fn shown(&self) -> String {
        format!("{} ({} bytes)", self.files, self.bytes)
    }
}

#[async_trait]
impl Builtin for Zip {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        // All words after -x are patterns.
        let cut = context.args.iter().position(|word| word == "-x" || word == "--exclude");
        let (words, excluded) = context.args.split_at(cut.unwrap_or(context.args.len()));
        let (given, mut names) = match options::parse("zip", ZIP, words) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), BAD_USAGE)),
        };
        let has = |letter| given.iter().any(|option: &Given| option.letter == letter);
        let level = given.iter().rev().find_map(|option| option.letter.to_digit(10)).unwrap_or(6);
        if names.len() < 2 {
            return Ok(ExecResult::err("zip error: Nothing to do!\n", NOTHING_TO_DO));
        }
        let mut name = names.remove(0);
        if !name.rsplit('/').next().unwrap_or_default().contains('.') {
            name += ".zip";
        }
        let target = lexical(&context.cwd.join(&name));
        let mut entries = match context.fs.read_file(&target).await {
            Err(_) => Vec::new(),
            Ok(bytes) => match archive::read(&bytes) {
                Ok(entries) => entries,
                Err(why) => {
                    return Ok(ExecResult::err(format!("zip error: {why} ({name})\n"), BAD_ARCHIVE));
                }
            },
        };
        let (mut out, mut err) = (String::new(), String::new());
        let mut open: Vec<(String, PathBuf)> =
            names.iter().rev().map(|name| (name.clone(), lexical(&context.cwd.join(name)))).collect();
        let (mut added, mut skipped) = (Tally::default(), Tally::default());
        while let Some((shown, path)) = open.pop() {
            let found = if has('y') { context.fs.lstat(&path).await } else { context.fs.stat(&path).await };
            let Ok(found) = found else {
                err += &format!("\tzip warning: name not matched: {}\n", plain(&shown));
                continue;
            };
            if path == target {
                continue;
            }
            let kind = Kind::of(found.file_type);
            if kind == Kind::Folder && has('r') {
                let mut inside = context.fs.read_dir(&path).await.unwrap_or_default();
                inside.sort_by(|a, b| b.name.cmp(&a.name));
                let base = shown.trim_end_matches('/');
                open.extend(
                    inside.iter().map(|entry| (format!("{base}/{}", entry.name), path.join(&entry.name))),
                );
            }
            let stored = stored(&shown, kind, has('j'));
            let left_out = excluded.iter().skip(1).any(|pattern| super::diff::fits(pattern, &stored));
            let no_folder = kind == Kind::Folder && (has('D') || has('j'));
            if left_out || no_folder || matches!(stored.as_str(), "./" | "/") {
                continue;
            }
            let data = match kind {
                Kind::Folder => Ok(Vec::new()),
                Kind::Link => {
                    let leads = context.fs.read_link(&path).await;
                    leads.map(|leads| leads.to_string_lossy().into_owned().into_bytes())
                }
                Kind::File => context.fs.read_file(&path).await,
            };
            let data = match data {
                Ok(data) => data,
                Err(error) => {
                    let (why, shown) = (reason(&error), plain(&shown));
                    err += &format!(
                        "\tzip warning: {why}\n\tzip warning: could not open for reading: {shown}\n"
                    );
                    skipped.add(found.size);
                    continue;
                }
            };
            added.add(data.len() as u64);
            let known = entries.iter().position(|entry| entry.name == stored);
            if !has('q') {
                let verb = if known.is_some() { "updating" } else { "  adding" };
                out += &format!("{verb}: {}\n", plain(&stored));
            }
            let (mode, modified) = (found.mode, found.modified);
            let entry = Entry { name: stored, kind, mode, modified, data, packed: false };
            match known {
                Some(at) => entries[at] = entry,
                None => entries.push(entry),
            }
        }
        if added.files == 0 {
            return Ok(ExecResult::err(
                format!("{err}\nzip error: Nothing to do! ({name})\n"),
                NOTHING_TO_DO,
            ));
        }
        let written = match archive::write(&entries, level) {
            Ok(bytes) => context.fs.write_file(&target, &bytes).await.map_err(|error| reason(&error)),
            Err(why) => Err(why.to_string()),
        };
        if let Err(why) = written {
            return Ok(ExecResult::err(format!("{err}zip error: {why} ({name})\n"), CANNOT_WRITE));
        }
        // A name that fits nothing is a warning alone.
        let mut result = ExecResult::ok(out);
        if skipped.files > 0 {
            let (added, skipped) = (added.shown(), skipped.shown());
            err += &format!(
                "\nzip warning: Not all files were readable\n  files/entries read:  {added}  skipped:  {skipped}\n"
            );
            result.exit_code = CANNOT_READ;
        }
        result.stderr = err.into();
        Ok(result)
    }
}

/// As an entry is called: without what would lead out of where it is unpacked.
fn stored(shown: &str, kind: Kind, without_folders: bool) -> String {
    let mut stored = shown.trim_start_matches('/');
    while let Some(rest) = stored.strip_prefix("./").or(stored.strip_prefix("../")) {
        stored = rest;
    }
    if without_folders {
        stored = stored.rsplit('/').next().unwrap_or_default();
    }
    match kind {
        Kind::Folder => format!("{}/", stored.trim_end_matches('/')),
        _ => stored.to_owned(),
    }
}

/// A name as messages and lists show it: `^J` for a newline, and other control characters likewise.
fn plain(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '\0'..='\x1f' => text.extend(['^', char::from(letter as u8 + b'@')]),
            '\x7f' => text.push_str("^?"),
            _ => text.push(letter),
        }
    }
    text
}
