//! `patch` in the shape of GNU's, for unified diffs.

mod apply;
mod parse;

use std::path::{Path, PathBuf};

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::folders::reason;
use super::options::{self, Given, Known, Value};
use super::paths::lexical;
use apply::Work;
use parse::{FileDiff, Hunk};

/// The exit status of trouble.
const TROUBLE: i32 = 2;

const KNOWN: &[Known] = &[
    ('p', "strip", Value::Required),
    ('i', "input", Value::Required),
    ('R', "reverse", Value::None),
    ('N', "forward", Value::None),
    ('f', "force", Value::None),
    ('t', "batch", Value::None),
    ('s', "silent", Value::None),
    ('\0', "quiet", Value::None),
    ('u', "unified", Value::None),
    ('E', "remove-empty-files", Value::None),
    ('F', "fuzz", Value::Required),
    ('l', "ignore-whitespace", Value::None),
    ('o', "output", Value::Required),
    ('r', "reject-file", Value::Required),
    ('d', "directory", Value::Required),
    ('b', "backup", Value::None),
    ('z', "suffix", Value::Required),
    ('\0', "backup-if-mismatch", Value::None),
    ('\0', "no-backup-if-mismatch", Value::None),
    ('\0', "dry-run", Value::None),
    ('\0', "verbose", Value::None),
    ('\0', "binary", Value::None),
];

/// The command.
pub(super) struct Patch;

struct Settings {
    strip: Option<usize>,
    input: Option<String>,
    reverse: bool,
    forward: bool,
    force: bool,
    batch: bool,
    silent: bool,
    remove_empty: bool,
    fuzz: usize,
    ignore_space: bool,
    output: Option<String>,
    rejects: Option<String>,
    folder: PathBuf,
    backup: bool,
    backup_if_mismatch: bool,
    suffix: String,
    dry_run: bool,
    file: Option<String>,
}

struct Run<'a, 'b> {
    context: &'a BuiltinContext<'b>,
    settings: Settings,
    out: String,
    failed: bool,
}

#[async_trait]
impl Builtin for Patch {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let parsed = options::parse("patch", KNOWN, context.args)
            .and_then(|(given, names)| settings(&context, &given, names));
        let settings = match parsed {
            Ok(settings) => settings,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), TROUBLE)),
        };
        let mut run = Run { context: &context, settings, out: String::new(), failed: false };
        let ended = run.all().await;
        let mut result = ExecResult::with_code(run.out, i32::from(run.failed));
        if let Err(why) = ended {
            (result.stderr, result.exit_code) = (format!("patch: **** {why}\n").into(), TROUBLE);
        }
        Ok(result)
    }

    fn llm_hint(&self) -> Option<&'static str> {
        Some("patch: unified diffs only; -pN -i -R -N -f -t -s -E -F -l -o -r -d -b --dry-run")
    }
}

fn settings(
    context: &BuiltinContext<'_>,
    given: &[Given],
    names: Vec<String>,
) -> std::result::Result<Settings, String> {
    let mut all = Settings {
        strip: None,
        input: None,
        reverse: false,
        forward: false,
        force: false,
        batch: false,
        silent: false,
        remove_empty: false,
        fuzz: 2,
        ignore_space: false,
        output: None,
        rejects: None,
        folder: context.cwd.clone(),
        backup: false,
        backup_if_mismatch: true,
        suffix: ".orig".into(),
        dry_run: false,
        file: None,
    };
    for Given { letter, name, value } in given {
        let text = || value.clone().unwrap_or_default();
        let number =
            |what: &str| text().parse().map_err(|_| format!("patch: **** {what} {} is not a number", text()));
        match (letter, *name) {
            ('p', _) => all.strip = Some(number("strip count")?),
            ('i', _) => all.input = Some(text()),
            ('R', _) => all.reverse = true,
            ('N', _) => all.forward = true,
            ('f', _) => all.force = true,
            ('t', _) => all.batch = true,
            ('s', _) | (_, "quiet") => all.silent = true,
            ('E', _) => all.remove_empty = true,
            ('F', _) => all.fuzz = number("fuzz factor")?,
            ('l', _) => all.ignore_space = true,
            ('o', _) => all.output = Some(text()),
            ('r', _) => all.rejects = Some(text()),
            ('d', _) => all.folder = lexical(&context.cwd.join(text())),
            ('b', _) => all.backup = true,
            ('z', _) => all.suffix = text(),
            (_, "no-backup-if-mismatch") => all.backup_if_mismatch = false,
            (_, "dry-run") => all.dry_run = true,
            _ => {}
        }
    }
    let mut names = names.into_iter();
    all.file = names.next();
    all.input = names.next().or(all.input);
    match names.next() {
        Some(extra) => {
            Err(format!("patch: {extra}: extra operand\npatch: Try 'patch --help' for more information."))
        }
        None => Ok(all),
    }
}

/// What came of the hunks of a file.
struct Outcome<'a> {
    content: Vec<u8>,
    rejected: Vec<Hunk<'a>>,
    mismatch: bool,
}

impl Run<'_, '_> {
    fn say(&mut self, line: &str) {
        if !self.settings.silent {
            self.out += line;
            self.out.push('\n');
        }
    }

    async fn all(&mut self) -> std::result::Result<(), String> {
        let patch = self.patch().await?;
        let files = parse::parse(&patch)?;
        if files.is_empty() && !patch.is_empty() {
            return Err("Only garbage was found in the patch input.".into());
        }
        for file in &files {
            self.file(file).await?;
        }
        Ok(())
    }

    async fn patch(&self) -> std::result::Result<Vec<u8>, String> {
        match self.settings.input.as_deref() {
            None | Some("-") => {
                Ok(self.context.stdin.map(|input| input.as_bytes().to_vec()).unwrap_or_default())
            }
            Some(name) => {
                let read = self.context.fs.read_file(&self.settings.folder.join(name)).await;
                read.map_err(|error| format!("Can't open patch file {name} : {}", reason(&error)))
            }
        }
    }

    async fn file(&mut self, diff: &FileDiff<'_>) -> std::result::Result<(), String> {
        let context = self.context;
        let reverse = self.settings.reverse;
        let (old, new) = if reverse { (&diff.new, &diff.old) } else { (&diff.old, &diff.new) };
        let turned = diff.hunks.iter().map(|hunk| if reverse { hunk.reversed() } else { hunk.clone() });
        let hunks: Vec<Hunk<'_>> = turned.collect();
        let starts = |hunk: &Hunk<'_>| hunk.old.count == 0 && hunk.old.start == 1;
        let creates = old.is_none() || hunks.first().is_some_and(starts);
        let deletes = new.is_none();
        let Some(name) = self.name(old, new, creates).await else {
            self.not_found(diff);
            return Ok(());
        };
        let path = lexical(&self.settings.folder.join(&name));
        let read = match context.fs.lstat(&path).await {
            Ok(_) => context.fs.read_file(&path).await.map(Some),
            Err(_) => Ok(None),
        };
        let before = read.map_err(|error| format!("Can't open file {name} : {}", reason(&error)))?;
        let full = before.as_ref().is_some_and(|content| !content.is_empty());
        let refused = match (old.is_none() && full, deletes && before.is_none()) {
            (true, _) => Some(format!("The next patch would create the file {name},\nwhich already exists!")),
            (_, true) => Some(format!("The next patch would delete the file {name},\nwhich does not exist!")),
            _ => None,
        };
        if let Some(why) = refused.filter(|_| !self.settings.force) {
            self.skip(&why);
            self.ignored(hunks.len(), None);
            return Ok(());
        }
        let target = self.settings.output.clone().unwrap_or_else(|| name.clone());
        let from = if target == name { String::new() } else { format!(" (read from {name})") };
        let verb = if self.settings.dry_run { "checking" } else { "patching" };
        self.say(&format!("{verb} file {target}{from}"));
        let content = before.clone().unwrap_or_default();
        let rejects = self.settings.rejects.clone().unwrap_or_else(|| format!("{target}.rej"));
        let outcome = self.hunks(hunks, &content, &rejects);
        if self.settings.dry_run {
            return Ok(());
        }
        let kept = self.settings.backup || (self.settings.backup_if_mismatch && outcome.mismatch);
        let target_path = lexical(&self.settings.folder.join(&target));
        if let Some(before) = before.as_ref().filter(|_| kept && target == name) {
            let saved = PathBuf::from(format!("{}{}", path.display(), self.settings.suffix));
            self.write(&saved, before).await?;
        }
        if !outcome.rejected.is_empty() {
            let mut text = diff.lead.iter().rev().take(2).rev().copied().collect::<Vec<_>>().concat();
            outcome.rejected.iter().for_each(|hunk| text.extend(hunk.text()));
            self.write(&lexical(&self.settings.folder.join(&rejects)), &text).await?;
        }
        if deletes && !outcome.content.is_empty() {
            self.out += &format!("Not deleting file {target} as content differs from patch\n");
            self.failed = true;
        }
        let gone = outcome.content.is_empty() && (deletes || self.settings.remove_empty);
        if gone && target == name {
            let removed = context.fs.remove(&path, false).await;
            removed.map_err(|error| format!("Can't remove file {name} : {}", reason(&error)))?;
            // Folders go with the last file in them.
            let above = path.ancestors().skip(1).take_while(|above| *above != self.settings.folder);
            for folder in above.filter(|above| above.starts_with(&self.settings.folder)) {
                if context.fs.remove(folder, false).await.is_err() {
                    break;
                }
            }
            return Ok(());
        }
        if target == name && before.is_some_and(|before| before == outcome.content) {
            return Ok(());
        }
        if let Some(parent) = target_path.parent() {
            context.fs.mkdir(parent, true).await.map_err(|error| reason(&error))?;
        }
        self.write(&target_path, &outcome.content).await
    }

    fn hunks<'h>(&mut self, mut hunks: Vec<Hunk<'h>>, content: &[u8], rejects: &str) -> Outcome<'h> {
        let total = hunks.len();
        let saved = (!self.settings.dry_run).then_some(rejects);
        let mut work = Work::new(content, self.settings.ignore_space);
        let (mut rejected, mut mismatch) = (Vec::new(), false);
        for index in 0..total {
            let (before, after) = hunks[index].context();
            let mut place = None;
            for fuzz in 0..=self.settings.fuzz.min(before.max(after)) {
                place = work.place(&hunks[index], fuzz);
                if place.is_none() && index == 0 && !self.settings.force {
                    let back = hunks[0].reversed();
                    let applied = !back.expected().is_empty() && work.place(&back, fuzz).is_some();
                    if applied && self.settings.batch {
                        self.say(&format!("{}  Assuming -R.", self.detected()));
                        hunks = hunks.iter().map(Hunk::reversed).collect();
                        place = work.place(&hunks[0], fuzz);
                    } else if applied {
                        let why = self.detected();
                        self.skip(why);
                        self.ignored(total, saved);
                        return Outcome { content: content.to_vec(), rejected: hunks, mismatch: false };
                    }
                }
                if place.is_some() {
                    break;
                }
            }
            let number = index + 1;
            let Some(place) = place else {
                self.say(&format!("Hunk #{number} FAILED at {}.", work.expected_at(&hunks[index])));
                rejected.push(hunks[index].clone());
                continue;
            };
            let done = work.apply(&hunks[index], place);
            if done.fuzz > 0 || done.shift != 0 {
                mismatch = true;
                let fuzz = if done.fuzz > 0 { format!(" with fuzz {}", done.fuzz) } else { String::new() };
                let offset = match done.shift {
                    0 => String::new(),
                    1 => " (offset 1 line)".into(),
                    shift => format!(" (offset {shift} lines)"),
                };
                self.say(&format!("Hunk #{number} succeeded at {}{fuzz}{offset}.", done.line));
            }
        }
        if !rejected.is_empty() {
            (self.failed, mismatch) = (true, true);
            let saved = saved.map(|name| format!(" -- saving rejects to file {name}")).unwrap_or_default();
            let hunks = if total == 1 { "hunk" } else { "hunks" };
            self.out += &format!("{} out of {total} {hunks} FAILED{saved}\n", rejected.len());
        }
        Outcome { content: work.finish(), rejected, mismatch }
    }

    fn detected(&self) -> &'static str {
        if self.settings.reverse {
            "Unreversed patch detected!"
        } else {
            "Reversed (or previously applied) patch detected!"
        }
    }

    async fn write(&self, path: &Path, content: &[u8]) -> std::result::Result<(), String> {
        let written = self.context.fs.write_file(path, content).await;
        written.map_err(|error| format!("Can't create file {} : {}", path.display(), reason(&error)))
    }

    /// The file that is meant: the named one, else the shortest of those that are there, else the one that is to be made.
    async fn name(&self, old: &Option<String>, new: &Option<String>, creates: bool) -> Option<String> {
        if let Some(name) = &self.settings.file {
            return Some(name.clone());
        }
        let names: Vec<String> =
            [old, new].into_iter().flatten().filter_map(|name| self.stripped(name)).collect();
        let mut there = Vec::new();
        for name in &names {
            let found = self.context.fs.stat(&self.settings.folder.join(name)).await;
            if found.is_ok_and(|found| found.file_type.is_file()) {
                there.push(name);
            }
        }
        let length = |name: &&String| {
            (name.matches('/').count(), name.rsplit('/').next().map_or(0, str::len), name.len())
        };
        match there.into_iter().min_by_key(length) {
            Some(name) => Some(name.clone()),
            None if creates => names.iter().min_by_key(length).cloned(),
            None => new.is_none().then(|| names.first().cloned()).flatten(),
        }
    }

    /// A name without its first folders; none: it leads out of where patches are applied.
    fn stripped(&self, name: &str) -> Option<String> {
        let parts: Vec<&str> =
            name.split('/').filter(|part| !part.is_empty() || name.starts_with('/')).collect();
        let rest = match self.settings.strip {
            None => parts.last()?.to_string(),
            Some(count) => parts.get(count..)?.join("/"),
        };
        let safe = !rest.is_empty() && !rest.starts_with('/') && rest.split('/').all(|part| part != "..");
        safe.then_some(rest)
    }

    fn not_found(&mut self, diff: &FileDiff<'_>) {
        let should = if self.settings.strip.is_some() { "used the wrong" } else { "should have used the" };
        let rule = "--------------------------";
        self.out += &format!("can't find file to patch at input line {}\n", diff.line);
        self.out += &format!(
            "Perhaps you {should} -p or --strip option?\nThe text leading up to this was:\n{rule}\n"
        );
        for line in &diff.lead {
            self.out += &format!("|{}\n", String::from_utf8_lossy(parse::bare(line)));
        }
        let asked = if self.settings.batch || self.settings.force {
            "No file to patch.  Skipping patch."
        } else {
            "File to patch: \nSkip this patch? [y] \nSkipping patch."
        };
        self.out += &format!("{rule}\n{asked}\n");
        self.ignored(diff.hunks.len(), None);
    }

    /// There is nobody to ask, so the answer is no.
    fn skip(&mut self, why: &str) {
        let asked = if self.settings.forward { "" } else { "Assume -R? [n] \nApply anyway? [n] \n" };
        self.out += &format!("{why}  {asked}Skipping patch.\n");
    }

    fn ignored(&mut self, count: usize, saved: Option<&str>) {
        self.failed = true;
        let saved = saved.map(|name| format!(" -- saving rejects to file {name}")).unwrap_or_default();
        let hunks = if count == 1 { "hunk" } else { "hunks" };
        self.out += &format!("{count} out of {count} {hunks} ignored{saved}\n");
    }
}
