//! `zip` and `unzip` of real archives, stored or deflated.

mod archive;

use std::path::PathBuf;

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::folders::reason;
use super::options::{self, Given, Known, Value};
use super::paths::lexical;
use archive::Entry;

/// The exit status of a bad archive, and of nothing that fits.
const BAD: i32 = 9;
const NOTHING: i32 = 11;

const ZIP: &[Known] = &[
    ('r', "recurse-paths", Value::None),
    ('q', "quiet", Value::None),
    ('j', "junk-paths", Value::None),
    ('u', "update", Value::None),
    ('v', "verbose", Value::None),
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

const UNZIP: &[Known] = &[
    ('q', "", Value::None),
    ('o', "", Value::None),
    ('n', "", Value::None),
    ('l', "", Value::None),
    ('v', "", Value::None),
    ('p', "", Value::None),
    ('c', "", Value::None),
    ('t', "", Value::None),
    ('j', "", Value::None),
    ('d', "", Value::Required),
    ('x', "", Value::Required),
];

/// `zip`.
pub(super) struct Zip;

/// `unzip`.
pub(super) struct Unzip;

#[async_trait]
impl Builtin for Zip {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        // All words after -x are patterns.
        let cut = context.args.iter().position(|word| word == "-x" || word == "--exclude");
        let (words, excluded) = context.args.split_at(cut.unwrap_or(context.args.len()));
        let (given, mut names) = match options::parse("zip", ZIP, words) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 16)),
        };
        let has = |letter| given.iter().any(|option: &Given| option.letter == letter);
        let level = given.iter().rev().find_map(|option| option.letter.to_digit(10)).unwrap_or(6);
        if names.len() < 2 {
            return Ok(ExecResult::err("zip error: Nothing to do!\n", 12));
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
                Err(why) => return Ok(ExecResult::err(format!("zip error: {why} ({name})\n"), 3)),
            },
        };
        let (mut out, mut err) = (String::new(), String::new());
        let mut open: Vec<(String, PathBuf)> =
            names.iter().rev().map(|name| (name.clone(), lexical(&context.cwd.join(name)))).collect();
        let mut found_any = false;
        while let Some((shown, path)) = open.pop() {
            let Ok(found) = context.fs.stat(&path).await else {
                err += &format!("\tzip warning: name not matched: {shown}\n");
                continue;
            };
            if path == target {
                continue;
            }
            let folder = found.file_type.is_dir();
            if folder && has('r') {
                let mut inside = context.fs.read_dir(&path).await.unwrap_or_default();
                inside.sort_by(|a, b| b.name.cmp(&a.name));
                let base = shown.trim_end_matches('/');
                open.extend(
                    inside.iter().map(|entry| (format!("{base}/{}", entry.name), path.join(&entry.name))),
                );
            }
            let mut stored = shown.trim_start_matches(['/']).to_owned();
            while let Some(rest) = stored.strip_prefix("./").or(stored.strip_prefix("../")) {
                stored = rest.to_owned();
            }
            if has('j') {
                stored = stored.rsplit('/').next().unwrap_or_default().to_owned();
            }
            if folder {
                stored = format!("{}/", stored.trim_end_matches('/'));
            }
            let left_out = excluded.iter().skip(1).any(|pattern| super::diff::fits(pattern, &stored));
            if left_out || matches!(stored.as_str(), "./" | "/") || (folder && (has('D') || has('j'))) {
                continue;
            }
            found_any = true;
            let data = if folder { Vec::new() } else { context.fs.read_file(&path).await? };
            let known = entries.iter().position(|entry| entry.name == stored);
            let entry = Entry { name: stored, mode: found.mode, modified: found.modified, data };
            if !has('q') {
                let verb = if known.is_some() { "updating" } else { "  adding" };
                out += &format!("{verb}: {}\n", entry.name);
            }
            match known {
                Some(at) => entries[at] = entry,
                None => entries.push(entry),
            }
        }
        if !found_any {
            return Ok(ExecResult::err(format!("{err}zip error: Nothing to do! ({name})\n"), 12));
        }
        let written = match archive::write(&entries, level) {
            Ok(bytes) => context.fs.write_file(&target, &bytes).await.map_err(|error| reason(&error)),
            Err(why) => Err(why.to_string()),
        };
        if let Err(why) = written {
            return Ok(ExecResult::err(format!("zip error: {why} ({name})\n"), 15));
        }
        let mut result = ExecResult::with_code(out, if err.is_empty() { 0 } else { 18 });
        result.stderr = err.into();
        Ok(result)
    }
}

#[async_trait]
impl Builtin for Unzip {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, mut names) = match options::parse("unzip", UNZIP, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 10)),
        };
        let has = |letter| given.iter().any(|option: &Given| option.letter == letter);
        let value =
            |letter| given.iter().find(|option| option.letter == letter).and_then(|one| one.value.clone());
        if names.is_empty() {
            return Ok(ExecResult::err("unzip: missing operand\n", 10));
        }
        let name = names.remove(0);
        let mut bytes = context.fs.read_file(&context.cwd.join(&name)).await;
        if bytes.is_err() {
            bytes = context.fs.read_file(&context.cwd.join(format!("{name}.zip"))).await;
        }
        let Ok(bytes) = bytes else {
            let why = format!("unzip:  cannot find or open {name}, {name}.zip or {name}.ZIP.\n");
            return Ok(ExecResult::err(why, BAD));
        };
        let mut entries = match archive::read(&bytes) {
            Ok(entries) => entries,
            Err(why) => return Ok(ExecResult::err(format!("unzip: {name}: {why}\n"), BAD)),
        };
        let excluded = value('x');
        entries.retain(|entry| {
            let wanted =
                names.is_empty() || names.iter().any(|pattern| super::diff::fits(pattern, &entry.name));
            wanted && !excluded.iter().any(|pattern| super::diff::fits(pattern, &entry.name))
        });
        if entries.is_empty() && !names.is_empty() {
            return Ok(ExecResult::err(format!("caution: filename not matched:  {}\n", names[0]), NOTHING));
        }
        if has('p') || has('c') {
            return Ok(ExecResult::ok_bytes(entries.into_iter().flat_map(|entry| entry.data).collect()));
        }
        if has('l') || has('v') {
            return Ok(ExecResult::ok(archive::listed(&name, &entries)));
        }
        if has('t') {
            return Ok(ExecResult::ok(format!("No errors detected in compressed data of {name}.\n")));
        }
        let base = lexical(&context.cwd.join(value('d').unwrap_or_default()));
        let (mut out, mut err) = (format!("Archive:  {name}\n"), String::new());
        context.fs.mkdir(&base, true).await?;
        for entry in entries {
            let inside = match has('j') {
                true => entry.name.rsplit('/').next().unwrap_or_default(),
                false => entry.name.as_str(),
            };
            let path = lexical(&base.join(inside.trim_start_matches('/')));
            if !path.starts_with(&base) || inside.split('/').any(|part| part == "..") {
                err += &format!("warning:  skipped \"..\" path component(s) in {}\n", entry.name);
                continue;
            }
            if entry.name.ends_with('/') {
                if !has('j') && context.fs.stat(&path).await.is_err() {
                    context.fs.mkdir(&path, true).await?;
                    out += &format!("   creating: {}\n", entry.name);
                }
                continue;
            }
            if context.fs.lstat(&path).await.is_ok() && !has('o') {
                if !has('n') {
                    err += &format!(
                        "unzip: {} is there already; use -o to replace it or -n to keep it\n",
                        entry.name
                    );
                }
                continue;
            }
            if let Some(folder) = path.parent() {
                context.fs.mkdir(folder, true).await?;
            }
            context.fs.write_file(&path, &entry.data).await?;
            context.fs.chmod(&path, entry.mode).await?;
            let _ = context.fs.set_modified_time(&path, entry.modified).await;
            out += &format!("  inflating: {}\n", entry.name);
        }
        let mut result =
            ExecResult::with_code(if has('q') { String::new() } else { out }, i32::from(!err.is_empty()));
        result.stderr = err.into();
        Ok(result)
    }
}
