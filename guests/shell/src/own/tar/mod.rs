//! `tar`: archives made, added to, listed and unpacked, with modes, times and symbolic links.

mod archive;
mod extract;
mod names;

use std::path::PathBuf;

use bashkit::{Builtin, BuiltinContext, ExecResult, Metadata, Result, async_trait};

use super::folders::reason;
use super::options::{self, Given, Known, Value};
use super::paths::lexical;
use super::times::Moment;
use archive::{Kind, Member, NONE, Packing, Writer};
use names::shown;

/// The exit status after an error.
const FAILED: i32 = 2;
const HINT: &str = "Try 'tar --help' for more information.\n";

const KNOWN: &[Known] = &[
    ('c', "create", Value::None),
    ('x', "extract", Value::None),
    ('\0', "get", Value::None),
    ('t', "list", Value::None),
    ('r', "append", Value::None),
    ('v', "verbose", Value::None),
    ('f', "file", Value::Required),
    ('z', "gzip", Value::None),
    ('\0', "gunzip", Value::None),
    ('j', "bzip2", Value::None),
    ('J', "xz", Value::None),
    ('\0', "zstd", Value::None),
    ('\0', "lzma", Value::None),
    ('\0', "lzip", Value::None),
    ('Z', "compress", Value::None),
    ('a', "auto-compress", Value::None),
    ('C', "directory", Value::Required),
    ('O', "to-stdout", Value::None),
    ('p', "preserve-permissions", Value::None),
    ('\0', "same-permissions", Value::None),
    ('\0', "no-same-permissions", Value::None),
    ('P', "absolute-names", Value::None),
    ('T', "files-from", Value::Required),
    ('X', "exclude-from", Value::Required),
    ('\0', "exclude", Value::Required),
    ('\0', "strip-components", Value::Required),
    ('h', "dereference", Value::None),
    ('k', "keep-old-files", Value::None),
    ('\0', "skip-old-files", Value::None),
    ('\0', "overwrite", Value::None),
    ('m', "touch", Value::None),
    ('o', "no-same-owner", Value::None),
    ('\0', "same-owner", Value::None),
    ('\0', "numeric-owner", Value::None),
];

/// The command.
pub(super) struct Tar;

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Create,
    Append,
    List,
    Extract,
}

#[derive(Default)]
struct Settings {
    verbose: bool,
    /// `-`: standard input or output.
    file: String,
    packing: Packing,
    by_name: bool,
    /// Where names are looked for or unpacked.
    base: PathBuf,
    /// The folders on the way there, as they were given.
    folders: Vec<(String, PathBuf)>,
    to_stdout: bool,
    keep_mode: bool,
    absolute: bool,
    follow: bool,
    keep_old: bool,
    skip_old: bool,
    new_times: bool,
    strip: usize,
    excluded: Vec<String>,
    names: Vec<String>,
}

/// A run: what it says, and whether something went wrong.
struct Run<'a, 'b> {
    context: &'a BuiltinContext<'b>,
    settings: Settings,
    out: Vec<u8>,
    err: String,
    failed: bool,
}

#[async_trait]
impl Builtin for Tar {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let parsed = options::parse("tar", KNOWN, &dashed(context.args));
        let (task, settings) = match parsed {
            Ok((given, names)) => match settings(&context, &given, names).await {
                Ok(made) => made,
                Err(why) => return Ok(ExecResult::err(format!("tar: {why}\n{HINT}"), FAILED)),
            },
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), FAILED)),
        };
        let mut run = Run { context: &context, settings, out: Vec::new(), err: String::new(), failed: false };
        let ended = match run.folders().await {
            Err(why) => Err(why),
            Ok(()) => match task {
                Task::Create => run.create(Vec::new()).await,
                Task::Append => run.append().await,
                Task::List | Task::Extract => run.read(task).await,
            },
        };
        if let Err(why) = ended {
            run.err += &format!("tar: {why}\ntar: Error is not recoverable: exiting now\n");
            run.failed = true;
        } else if run.failed {
            run.err += "tar: Exiting with failure status due to previous errors\n";
        }
        let mut result = ExecResult::ok_bytes(run.out);
        (result.stderr, result.exit_code) = (run.err.into(), if run.failed { FAILED } else { 0 });
        Ok(result)
    }
}

/// The first word without its dash is letters all the same; the values of its options follow in their order.
fn dashed(words: &[String]) -> Vec<String> {
    let Some((first, rest)) = words.split_first().filter(|(first, _)| !first.starts_with('-')) else {
        return words.to_vec();
    };
    let mut rest = rest.iter().cloned();
    let mut all = Vec::new();
    for letter in first.chars() {
        all.push(format!("-{letter}"));
        let valued =
            KNOWN.iter().any(|(known, _, value)| *known == letter && matches!(value, Value::Required));
        all.extend(valued.then(|| rest.next()).flatten());
    }
    all.extend(rest);
    all
}

async fn settings(
    context: &BuiltinContext<'_>,
    given: &[Given],
    names: Vec<String>,
) -> std::result::Result<(Task, Settings), String> {
    const ONE: &str = "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options";
    let mut all = Settings { file: "-".into(), base: context.cwd.clone(), names, ..Settings::default() };
    let mut task = None;
    for Given { letter, name, value } in given {
        let value = value.clone().unwrap_or_default();
        let wanted = match (letter, *name) {
            ('c', _) => Some(Task::Create),
            ('x', _) | (_, "get") => Some(Task::Extract),
            ('t', _) => Some(Task::List),
            ('r', _) => Some(Task::Append),
            _ => None,
        };
        if wanted.is_some() && task.is_some() && task != wanted {
            return Err(
                "You may not specify more than one '-Acdtrux', '--delete' or '--test-label' option".into()
            );
        }
        task = wanted.or(task);
        match (letter, *name) {
            ('v', _) => all.verbose = true,
            ('f', _) => all.file = value,
            ('z', _) | (_, "gunzip") => all.packing = Packing::Gzip,
            ('j', _) => all.packing = Packing::Bzip2,
            ('a', _) => all.by_name = true,
            ('J' | 'Z', _) | (_, "zstd" | "lzma" | "lzip") => {
                return Err(unsupported(if name.is_empty() { "compress" } else { name }));
            }
            ('C', _) => {
                all.base = lexical(&all.base.join(&value));
                all.folders.push((value, all.base.clone()));
            }
            ('O', _) => all.to_stdout = true,
            ('p', _) | (_, "same-permissions") => all.keep_mode = true,
            ('P', _) => all.absolute = true,
            ('h', _) => all.follow = true,
            ('k', _) => all.keep_old = true,
            (_, "skip-old-files") => all.skip_old = true,
            ('m', _) => all.new_times = true,
            ('T', _) => all.names.extend(lines(context, &value).await?),
            ('X', _) => all.excluded.extend(lines(context, &value).await?),
            (_, "exclude") => all.excluded.push(value),
            (_, "strip-components") => {
                all.strip = value.parse().map_err(|_| format!("Invalid number of elements: '{value}'"))?;
            }
            _ => {}
        }
    }
    if all.by_name {
        all.packing = Packing::of_name(&all.file).map_err(unsupported)?;
    }
    let task = task.ok_or(ONE)?;
    if task == Task::Create && all.names.is_empty() {
        return Err("Cowardly refusing to create an empty archive".into());
    }
    Ok((task, all))
}

fn unsupported(compression: &str) -> String {
    format!("compression with {compression} is not supported; gzip (-z) and bzip2 (-j) are")
}

/// The lines of a file, or of standard input, that are not empty.
async fn lines(context: &BuiltinContext<'_>, name: &str) -> std::result::Result<Vec<String>, String> {
    let bytes = match (name, context.stdin) {
        ("-", input) => input.map(|input| input.as_bytes().to_vec()).unwrap_or_default(),
        _ => {
            let read = context.fs.read_file(&context.cwd.join(name)).await;
            read.map_err(|error| format!("{name}: Cannot open: {}", reason(&error)))?
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

impl Run<'_, '_> {
    fn fail(&mut self, why: &str) {
        self.err += &format!("tar: {why}\n");
        self.failed = true;
    }

    /// Says once what is taken off names.
    fn note(&mut self, note: &str) {
        let note = format!("tar: {note}\n");
        if !self.err.contains(&note) {
            self.err += &note;
        }
    }

    /// An error if a folder of `-C` is none.
    async fn folders(&self) -> std::result::Result<(), String> {
        for (name, path) in &self.settings.folders {
            let why = match self.context.fs.stat(path).await {
                Ok(found) if found.file_type.is_dir() => continue,
                Ok(_) => "Not a directory".to_owned(),
                Err(error) => reason(&error),
            };
            return Err(format!("{}: Cannot open: {why}", shown(name)));
        }
        Ok(())
    }

    /// A name, shown with `-v`.
    fn show(&mut self, name: &str, beside_content: bool) {
        let name = shown(name);
        if self.settings.verbose && beside_content {
            self.err += &format!("{name}\n");
        } else if self.settings.verbose {
            self.out.extend_from_slice(format!("{name}\n").as_bytes());
        }
    }

    /// All of the archive, unpacked.
    async fn archive(&self) -> std::result::Result<Vec<u8>, String> {
        let name = &self.settings.file;
        let bytes = match (name.as_str(), self.context.stdin) {
            ("-", input) => input.map(|input| input.as_bytes().to_vec()).unwrap_or_default(),
            _ => {
                let read = self.context.fs.read_file(&self.context.cwd.join(name)).await;
                read.map_err(|error| format!("{name}: Cannot open: {}", reason(&error)))?
            }
        };
        let packing = Packing::of(&bytes).map_err(|other| format!("{name}: {}", unsupported(other)))?;
        packing.unpack(bytes).map_err(|error| error.to_string())
    }

    /// Adds the names to what is there, and writes it.
    async fn create(&mut self, entries: Vec<u8>) -> std::result::Result<(), String> {
        let mut archive = Writer::behind(entries);
        let to_stdout = self.settings.file == "-";
        let target = lexical(&self.context.cwd.join(&self.settings.file));
        let base = self.settings.base.clone();
        let names = std::mem::take(&mut self.settings.names);
        let mut open: Vec<(String, PathBuf)> =
            names.iter().rev().map(|name| (name.clone(), lexical(&base.join(name)))).collect();
        while let Some((given, path)) = open.pop() {
            if extract::excluded(&given, &self.settings.excluded) {
                continue;
            }
            let files = &self.context.fs;
            let found = if self.settings.follow { files.stat(&path).await } else { files.lstat(&path).await };
            let Ok(found) = found else {
                self.fail(&format!("{}: Cannot stat: No such file or directory", shown(&given)));
                continue;
            };
            if path == target && !to_stdout {
                self.err += &format!("tar: {}: file is the archive; not dumped\n", shown(&given));
                continue;
            }
            let (mut content, mut link, mut kind) = (Vec::new(), String::new(), Kind::File);
            let mut stored = self.stored(&given);
            if found.file_type.is_dir() {
                kind = Kind::Folder;
                let folder = given.trim_end_matches('/');
                let inside = files.read_dir(&path).await.unwrap_or_default();
                let below = inside
                    .iter()
                    .rev()
                    .map(|entry| (format!("{folder}/{}", entry.name), path.join(&entry.name)));
                open.extend(below);
                stored = if stored.ends_with('/') { stored } else { stored + "/" };
            } else if found.file_type.is_symlink() {
                kind = Kind::Link;
                let leads = files.read_link(&path).await.map_err(|error| reason(&error))?;
                link = leads.to_string_lossy().into_owned();
            } else {
                match files.read_file(&path).await {
                    Ok(bytes) => content = bytes,
                    Err(error) => {
                        self.fail(&format!("{}: Cannot open: {}", shown(&given), reason(&error)));
                        continue;
                    }
                }
            }
            self.show(&stored, to_stdout);
            let (mode, modified) = (found.mode, found.modified);
            let member =
                Member { name: stored, kind, link, mode, modified, owner: String::new(), content: &content };
            archive.push(&member).map_err(|error| error.to_string())?;
        }
        let packed = archive.finish().and_then(|archive| self.settings.packing.pack(archive));
        let packed = packed.map_err(|error| error.to_string())?;
        if to_stdout {
            self.out = packed;
            return Ok(());
        }
        let written = self.context.fs.write_file(&target, &packed).await;
        written.map_err(|error| format!("{}: Cannot open: {}", self.settings.file, reason(&error)))
    }

    /// As a member is called: without what would lead out of where it is unpacked.
    fn stored(&mut self, given: &str) -> String {
        if self.settings.absolute {
            return given.to_owned();
        }
        let (taken, rest) = match given.rfind("../").filter(|at| *at == 0 || given[..*at].ends_with('/')) {
            Some(at) => given.split_at(at + 3),
            None => given.split_at(given.len() - given.trim_start_matches('/').len()),
        };
        if !taken.is_empty() {
            let taken = if taken.ends_with("../") { taken } else { "/" };
            self.note(&format!("Removing leading `{taken}' from member names"));
        }
        if rest.is_empty() || rest == ".." { "./".to_owned() } else { rest.to_owned() }
    }

    async fn append(&mut self) -> std::result::Result<(), String> {
        let path = self.context.cwd.join(&self.settings.file);
        let mut there = match self.context.fs.lstat(&path).await {
            Ok(_) => self.context.fs.read_file(&path).await.map_err(|error| reason(&error))?,
            Err(_) => Vec::new(),
        };
        if Packing::of(&there) != Ok(Packing::None) || self.settings.packing != Packing::None {
            return Err("Cannot update compressed archives".into());
        }
        if !there.is_empty() {
            let (_, end) = archive::read(&there)?;
            there.truncate(end);
        }
        self.create(there).await
    }

    async fn read(&mut self, task: Task) -> std::result::Result<(), String> {
        let bytes = self.archive().await?;
        let members = match archive::read(&bytes) {
            Ok((members, _)) => members,
            // tar looks for another header behind it and finds none.
            Err(NONE) => {
                self.fail(NONE);
                return Ok(());
            }
            Err(why) => return Err(why.to_owned()),
        };
        let names = std::mem::take(&mut self.settings.names);
        let mut found = vec![false; names.len()];
        let mut wanted = Vec::new();
        for member in &members {
            let mut selected = names.is_empty();
            for (name, found) in names.iter().zip(&mut found) {
                if extract::below(&member.name, name) {
                    (*found, selected) = (true, true);
                }
            }
            if selected && !extract::excluded(&member.name, &self.settings.excluded) {
                wanted.push(member);
            }
        }
        match task {
            Task::Extract => self.extract(&wanted).await?,
            _ => self.list(&wanted),
        }
        for (name, _) in names.iter().zip(found).filter(|(_, found)| !found) {
            self.fail(&format!("{}: Not found in archive", shown(name)));
        }
        Ok(())
    }

    fn list(&mut self, members: &[&Member<'_>]) {
        let mut width = 19;
        for member in members {
            if !self.settings.verbose {
                self.out.extend_from_slice(format!("{}\n", shown(&member.name)).as_bytes());
                continue;
            }
            let size = member.content.len().to_string();
            width = width.max(member.owner.len() + 1 + size.len());
            let space = width - member.owner.len();
            let at = Moment::in_zone(member.modified, self.context.env.get("TZ"));
            let leads = match member.kind {
                Kind::Link => format!(" -> {}", shown(&member.link)),
                Kind::HardLink => format!(" link to {}", shown(&member.link)),
                _ => String::new(),
            };
            let line = format!(
                "{} {}{size:>space$} {} {} {}{leads}\n",
                letters(member),
                member.owner,
                at.date(),
                &at.clock()[..5],
                shown(&member.name)
            );
            self.out.extend_from_slice(line.as_bytes());
        }
    }
}

/// Such as `drwxr-xr-x`.
fn letters(member: &Member<'_>) -> String {
    let first = match member.kind {
        Kind::Folder => 'd',
        Kind::Link => 'l',
        Kind::HardLink => 'h',
        Kind::File => '-',
        Kind::Other => '?',
    };
    let meta = Metadata { mode: member.mode, ..Metadata::default() };
    format!("{first}{}", &super::ls::mode(&meta)[1..])
}
