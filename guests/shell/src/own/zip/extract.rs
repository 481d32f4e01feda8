//! `unzip`: entries of an archive become files, folders and links.

use std::path::{Path, PathBuf};

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::super::diff::fits;
use super::super::folders::reason;
use super::super::options::{self, Given, Known, Value};
use super::super::paths::lexical;
use super::archive::{self, Entry, Kind};
use super::plain;

/// Exit statuses of Info-ZIP's unzip, from small to large trouble.
const WARNING: i32 = 1;
const ERROR: i32 = 2;
const BAD_ARCHIVE: i32 = 9;
const BAD_USAGE: i32 = 10;
const NO_SUCH_NAME: i32 = 11;
const CANNOT_WRITE: i32 = 50;

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

/// The command.
pub(in super::super) struct Unzip;

#[async_trait]
impl Builtin for Unzip {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, mut names) = match options::parse("unzip", UNZIP, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), BAD_USAGE)),
        };
        let has = |letter| given.iter().any(|option: &Given| option.letter == letter);
        let value =
            |letter| given.iter().find(|option| option.letter == letter).and_then(|one| one.value.clone());
        if names.is_empty() {
            return Ok(ExecResult::err("unzip: missing operand\n", BAD_USAGE));
        }
        let name = names.remove(0);
        let mut bytes = context.fs.read_file(&context.cwd.join(&name)).await;
        if bytes.is_err() {
            bytes = context.fs.read_file(&context.cwd.join(format!("{name}.zip"))).await;
        }
        let Ok(bytes) = bytes else {
            let why = format!("unzip:  cannot find or open {name}, {name}.zip or {name}.ZIP.\n");
            return Ok(ExecResult::err(why, BAD_ARCHIVE));
        };
        let mut entries = match archive::read(&bytes) {
            Ok(entries) => entries,
            Err(why) => return Ok(ExecResult::err(format!("unzip: {name}: {why}\n"), BAD_ARCHIVE)),
        };
        drop(bytes);
        let excluded = value('x');
        let unmatched: String = names
            .iter()
            .filter(|pattern| !entries.iter().any(|entry| fits(pattern, &entry.name)))
            .map(|pattern| format!("caution: filename not matched:  {pattern}\n"))
            .collect();
        entries.retain(|entry| {
            let wanted = names.is_empty() || names.iter().any(|pattern| fits(pattern, &entry.name));
            wanted && !excluded.iter().any(|pattern| fits(pattern, &entry.name))
        });
        if entries.is_empty() && !unmatched.is_empty() {
            return Ok(ExecResult::err(unmatched, NO_SUCH_NAME));
        }
        let mut result = if has('p') || has('c') {
            ExecResult::ok_bytes(entries.into_iter().flat_map(|entry| entry.data).collect())
        } else if has('l') || has('v') {
            ExecResult::ok(archive::listed(&name, &entries))
        } else if has('t') {
            ExecResult::ok(format!("No errors detected in compressed data of {name}.\n"))
        } else {
            let folder = value('d').unwrap_or_default();
            let mut run = Run {
                context: &context,
                base: lexical(&context.cwd.join(&folder)),
                before: if folder.is_empty() { folder } else { format!("{}/", folder.trim_end_matches('/')) },
                without_folders: has('j'),
                replace: has('o'),
                keep: has('n'),
                out: format!("Archive:  {name}\n"),
                err: String::new(),
                status: 0,
            };
            run.all(&entries).await;
            let mut result =
                ExecResult::with_code(if has('q') { String::new() } else { run.out }, run.status);
            result.stderr = run.err.into();
            result
        };
        if !unmatched.is_empty() {
            result.exit_code = if result.exit_code <= WARNING { NO_SUCH_NAME } else { result.exit_code };
            result.stderr = format!("{}{unmatched}", result.stderr).into();
        }
        Ok(result)
    }
}

/// A run: where it unpacks, what it says, and the worst that happened.
struct Run<'a, 'b> {
    context: &'a BuiltinContext<'b>,
    base: PathBuf,
    /// The folder as it was given, with a slash at its end; empty: the working folder.
    before: String,
    without_folders: bool,
    replace: bool,
    keep: bool,
    out: String,
    err: String,
    status: i32,
}

impl Run<'_, '_> {
    fn fail(&mut self, status: i32, why: &str) {
        self.err += why;
        self.status = self.status.max(status);
    }

    /// What is said of an entry.
    fn say(&mut self, verb: &str, shown: &str, leads: &str) {
        self.out += &format!("{verb:>8}ing: {shown:<22}  {leads}\n");
    }

    /// Links are made last, so that no entry is written through one of the same archive.
    async fn all(&mut self, entries: &[Entry]) {
        if let Err(error) = self.context.fs.mkdir(&self.base, true).await {
            let (folder, why) = (self.before.trim_end_matches('/'), reason(&error));
            let why = format!("checkdir:  cannot create extraction directory: {folder}\n           {why}\n");
            self.fail(ERROR, &why);
            return;
        }
        let mut links = Vec::new();
        for entry in entries {
            let Some(inside) = self.placed(entry) else { continue };
            let shown = plain(&format!("{}{inside}", self.before));
            if entry.kind == Kind::Folder {
                if !self.without_folders {
                    self.folder(entry, &inside, &shown).await;
                }
                continue;
            }
            let above = inside.rsplit_once('/').map_or("", |(above, _)| above);
            let path = lexical(&self.base.join(&inside));
            if !self.folders(entry, above).await || !self.free(&path, entry, &shown).await {
                continue;
            }
            if entry.kind == Kind::Link {
                let leads = String::from_utf8_lossy(&entry.data).into_owned();
                self.say("link", &shown, &format!("-> {} ", plain(&leads)));
                links.push((shown, path, leads));
                continue;
            }
            let files = &self.context.fs;
            match files.write_file(&path, &entry.data).await {
                Err(error) => self.cannot("create", &shown, &reason(&error)),
                Ok(()) => {
                    // A file that is there is unpacked, whatever becomes of its bits.
                    let _ = files.chmod(&path, entry.mode).await;
                    let _ = files.set_modified_time(&path, entry.modified).await;
                    self.say(if entry.packed { "inflat" } else { "extract" }, &shown, "");
                }
            }
        }
        if !links.is_empty() {
            self.out += "finishing deferred symbolic links:\n";
        }
        for (shown, path, leads) in links {
            self.out += &format!("  {shown:<22} -> {}\n", plain(&leads));
            let files = &self.context.fs;
            // A folder of the archive may have taken the name meanwhile.
            let made = match files.lstat(&path).await {
                Ok(_) => Err("File exists".to_owned()),
                Err(_) => files.symlink(Path::new(&leads), &path).await.map_err(|error| reason(&error)),
            };
            if let Err(why) = made {
                self.cannot("create", &shown, &why);
            }
        }
    }

    fn cannot(&mut self, what: &str, shown: &str, why: &str) {
        self.fail(CANNOT_WRITE, &format!("error:  cannot {what} {shown}\n        {why}\n"));
    }

    /// Where an entry goes, below the folder; none: it leads out.
    fn placed(&mut self, entry: &Entry) -> Option<String> {
        let inside = match self.without_folders {
            true => entry.name.rsplit('/').next().unwrap_or_default(),
            false => entry.name.trim_start_matches('/'),
        };
        if inside.split('/').any(|part| part == "..") {
            let name = plain(&entry.name);
            self.fail(WARNING, &format!("warning:  skipped \"..\" path component(s) in {name}\n"));
            return None;
        }
        Some(inside.to_owned())
    }

    async fn folder(&mut self, entry: &Entry, inside: &str, shown: &str) {
        let there = self.context.fs.stat(&lexical(&self.base.join(inside))).await.is_ok();
        if self.folders(entry, inside.trim_end_matches('/')).await && !there {
            self.out += &format!("   creating: {shown}\n");
        }
    }

    /// Makes the folders of a path below the folder that is unpacked to; false: one cannot be made.
    async fn folders(&mut self, entry: &Entry, inside: &str) -> bool {
        let mut path = self.base.clone();
        for part in inside.split('/').filter(|part| !matches!(*part, "" | ".")) {
            path.push(part);
            let why = match self.context.fs.stat(&path).await {
                Ok(found) if found.file_type.is_dir() => continue,
                Ok(_) => None,
                Err(_) => match self.context.fs.mkdir(&path, false).await {
                    Ok(()) => continue,
                    Err(error) => Some(reason(&error)),
                },
            };
            let below = path.strip_prefix(&self.base).unwrap_or(&path).to_string_lossy();
            let (folder, name) = (plain(&format!("{}{below}", self.before)), plain(&entry.name));
            let what = match why {
                None => format!("{folder} exists but is not directory"),
                Some(why) => format!("cannot create {folder}\n                 {why}"),
            };
            self.fail(
                ERROR,
                &format!("checkdir error:  {what}\n                 unable to process {name}.\n"),
            );
            return false;
        }
        true
    }

    /// Makes room for a file or link; false: what is there stays.
    async fn free(&mut self, path: &Path, entry: &Entry, shown: &str) -> bool {
        let Ok(there) = self.context.fs.lstat(path).await else { return true };
        if self.keep && !self.replace {
            return false;
        }
        if there.file_type.is_dir() {
            self.cannot("delete old", shown, "Is a directory");
            return false;
        }
        if !self.replace {
            let name = plain(&entry.name);
            let why = format!("unzip: {name} is there already; use -o to replace it or -n to keep it\n");
            self.fail(WARNING, &why);
            return false;
        }
        match self.context.fs.remove(path, false).await {
            Ok(()) => true,
            Err(error) => {
                self.cannot("delete old", shown, &reason(&error));
                false
            }
        }
    }
}
