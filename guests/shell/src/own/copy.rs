//! `cp`, and what it shares with `mv`: where a name goes, and backups.

use std::path::{Path, PathBuf};

use bashkit::{Builtin, BuiltinContext, ExecResult, FileSystem, Result, async_trait};

use super::folders::{ended, reason};
use super::options::{self, Known, Value};
use super::paths::lexical;

const CP: &[Known] = &[
    ('r', "recursive", Value::None),
    ('R', "", Value::None),
    ('a', "archive", Value::None),
    ('d', "", Value::None),
    ('P', "no-dereference", Value::None),
    ('L', "dereference", Value::None),
    ('H', "", Value::None),
    ('p', "", Value::None),
    ('\0', "preserve", Value::Optional),
    ('\0', "no-preserve", Value::Required),
    ('f', "force", Value::None),
    ('i', "interactive", Value::None),
    ('n', "no-clobber", Value::None),
    ('u', "update", Value::None),
    ('v', "verbose", Value::None),
    ('b', "backup", Value::Optional),
    ('S', "suffix", Value::Required),
    ('t', "target-directory", Value::Required),
    ('T', "no-target-directory", Value::None),
    ('s', "symbolic-link", Value::None),
    ('x', "one-file-system", Value::None),
    ('\0', "parents", Value::None),
    ('\0', "reflink", Value::Optional),
    ('\0', "sparse", Value::Required),
];

/// `cp`.
pub(super) struct Cp;

#[derive(Default)]
pub(super) struct Manner {
    pub(super) deep: bool,
    pub(super) keep_links: bool,
    pub(super) keep_times: bool,
    pub(super) keep: bool,
    pub(super) newer: bool,
    pub(super) verbose: bool,
    pub(super) backup: Option<String>,
    pub(super) into: Option<String>,
    pub(super) not_into: bool,
    pub(super) parents: bool,
    pub(super) links: bool,
}

/// One thing to copy or move.
pub(super) struct Way {
    pub(super) from: String,
    pub(super) to: String,
}

#[async_trait]
impl Builtin for Cp {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, names) = match options::parse("cp", CP, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let mut manner = Manner::default();
        for option in given {
            match (option.letter, option.name) {
                ('r' | 'R', _) => manner.deep = true,
                ('a', _) => (manner.deep, manner.keep_links, manner.keep_times) = (true, true, true),
                ('d' | 'P', _) => manner.keep_links = true,
                ('L', _) => manner.keep_links = false,
                ('p', _) | (_, "preserve") => manner.keep_times = true,
                ('n', _) => manner.keep = true,
                ('f' | 'i', _) => manner.keep = false,
                ('u', _) => manner.newer = true,
                ('v', _) => manner.verbose = true,
                ('b', _) => manner.backup = manner.backup.or(Some("~".into())),
                ('S', _) => manner.backup = option.value,
                ('t', _) => manner.into = option.value,
                ('T', _) => manner.not_into = true,
                ('s', _) => manner.links = true,
                (_, "parents") => manner.parents = true,
                _ => {}
            }
        }
        // A link inside a tree stays a link; one that is named is followed.
        let named = manner.keep_links;
        manner.keep_links |= manner.deep;
        let (ways, mut err) = ways("cp", &context, &manner, names).await;
        let mut copying = Copying {
            files: &*context.fs,
            directory: context.cwd,
            manner,
            out: String::new(),
            err: String::new(),
        };
        for way in ways {
            copying.one(way, named).await;
        }
        err += &copying.err;
        Ok(ended(copying.out, err))
    }
}

/// Where each name goes.
pub(super) async fn ways(
    command: &str,
    context: &BuiltinContext<'_>,
    manner: &Manner,
    mut names: Vec<String>,
) -> (Vec<Way>, String) {
    let folder = async |name: &str| {
        context.fs.stat(&context.cwd.join(name)).await.is_ok_and(|found| found.file_type.is_dir())
    };
    let target = manner.into.clone().or_else(|| if names.len() > 1 { names.pop() } else { None });
    let Some(target) = target else {
        let why = match names.first() {
            Some(only) => format!("missing destination file operand after '{only}'"),
            None => "missing file operand".into(),
        };
        return (Vec::new(), format!("{command}: {why}\n"));
    };
    let into = !manner.not_into && folder(&target).await;
    let must = manner.into.is_some() || names.len() > 1 || manner.parents || target.ends_with('/');
    if must && !into && !(names.len() == 1 && target.ends_with('/') && folder(&names[0]).await) {
        return (Vec::new(), format!("{command}: target '{target}': No such file or directory\n"));
    }
    let way = |from: String| {
        let last = from.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let base = target.trim_end_matches('/');
        let to = match into {
            _ if manner.parents => format!("{base}/{}", from.trim_start_matches('/')),
            true if matches!(last, "." | "..") => target.clone(),
            true => format!("{base}/{last}"),
            false => target.clone(),
        };
        Way { from, to }
    };
    (names.into_iter().map(way).collect(), String::new())
}

/// A name for what is there and would be lost.
pub(super) async fn back_up(files: &dyn FileSystem, to: &Path, suffix: &str) -> Result<()> {
    if files.lstat(to).await.is_err() {
        return Ok(());
    }
    let mut name = to.as_os_str().to_owned();
    name.push(suffix);
    files.rename(to, Path::new(&name)).await
}

/// Where a path ends when all its links are followed, as far as it is there.
pub(super) async fn real(files: &dyn FileSystem, path: &Path) -> PathBuf {
    super::paths::real(files, path).await.unwrap_or_else(|| lexical(path))
}

struct Copying<'a> {
    files: &'a dyn FileSystem,
    directory: &'a Path,
    manner: Manner,
    out: String,
    err: String,
}

impl Copying<'_> {
    /// Copies a name and all below it.
    async fn one(&mut self, way: Way, keeps_named_link: bool) {
        if self.manner.parents {
            let above = Path::new(&way.to).parent().map(|above| lexical(&self.directory.join(above)));
            if let Some(above) = above {
                let _ = self.files.mkdir(&above, true).await;
            }
        }
        let mut open = vec![(way, keeps_named_link)];
        let mut times = Vec::new();
        while let Some((way, keeps_link)) = open.pop() {
            let (from, to) =
                (lexical(&self.directory.join(&way.from)), lexical(&self.directory.join(&way.to)));
            match self.step(&way, &from, &to, keeps_link).await {
                Ok(true) => {
                    let entries = self.files.read_dir(&from).await.unwrap_or_default();
                    let base = (way.from.trim_end_matches('/'), way.to.trim_end_matches('/'));
                    for entry in entries.into_iter().rev() {
                        let (from, to) =
                            (format!("{}/{}", base.0, entry.name), format!("{}/{}", base.1, entry.name));
                        open.push((Way { from, to }, self.manner.keep_links));
                    }
                    times.push((from, to));
                }
                Ok(false) => {}
                Err(why) => self.err += &format!("cp: {why}\n"),
            }
        }
        if self.manner.keep_times {
            for (from, to) in times.into_iter().rev() {
                if let Ok(found) = self.files.stat(&from).await {
                    let _ = self.files.set_modified_time(&to, found.modified).await;
                }
            }
        }
    }

    /// Copies one thing; true: a folder, what is in it comes next.
    async fn step(
        &mut self,
        way: &Way,
        from: &Path,
        to: &Path,
        keeps_link: bool,
    ) -> std::result::Result<bool, String> {
        let (shown_from, shown_to) = (&way.from, &way.to);
        let missing = || format!("cannot stat '{shown_from}': No such file or directory");
        let own = self.files.lstat(from).await.map_err(|_| missing())?;
        let link = own.file_type.is_symlink() && keeps_link;
        let found = if link { own } else { self.files.stat(from).await.map_err(|_| missing())? };
        let there = self.files.lstat(to).await.ok();
        let folder_there = match &there {
            Some(_) => self.files.stat(to).await.is_ok_and(|found| found.file_type.is_dir()),
            None => false,
        };
        if found.file_type.is_dir() {
            if !self.manner.deep {
                return Err(format!("-r not specified; omitting directory '{shown_from}'"));
            }
            if to.starts_with(from) && to != from {
                return Err(format!("cannot copy a directory, '{shown_from}', into itself, '{shown_to}'"));
            }
            if there.is_some() && !folder_there {
                return Err(format!(
                    "cannot overwrite non-directory '{shown_to}' with directory '{shown_from}'"
                ));
            }
            if !folder_there {
                let made = self.files.mkdir(to, false).await;
                made.map_err(|error| format!("cannot create directory '{shown_to}': {}", reason(&error)))?;
                let _ = self.files.chmod(to, found.mode & 0o7777).await;
                self.say(way);
            }
            return Ok(true);
        }
        if folder_there {
            return Err(format!("cannot overwrite directory '{shown_to}' with non-directory '{shown_from}'"));
        }
        if let Some(there) = &there {
            let older = self.manner.newer && there.modified >= found.modified;
            if self.manner.keep || older {
                return Ok(false);
            }
            if real(self.files, from).await == real(self.files, to).await && !link {
                return Err(format!("'{shown_from}' and '{shown_to}' are the same file"));
            }
            if let Some(suffix) = &self.manner.backup {
                let kept = back_up(self.files, to, suffix).await;
                kept.map_err(|error| format!("cannot backup '{shown_to}': {}", reason(&error)))?;
            }
        }
        self.write(from, to, link, there.is_some())
            .await
            .map_err(|error| format!("cannot create regular file '{shown_to}': {}", reason(&error)))?;
        if !link && !self.manner.links {
            if there.is_none() || self.manner.keep_times {
                let _ = self.files.chmod(to, found.mode & 0o7777).await;
            }
            if self.manner.keep_times {
                let _ = self.files.set_modified_time(to, found.modified).await;
            }
        }
        self.say(way);
        Ok(false)
    }

    async fn write(&self, from: &Path, to: &Path, link: bool, there: bool) -> Result<()> {
        if link || self.manner.links {
            if there {
                let _ = self.files.remove(to, false).await;
            }
            let target = if link { self.files.read_link(from).await? } else { from.to_path_buf() };
            return self.files.symlink(&target, to).await;
        }
        let bytes = self.files.read_file(from).await?;
        self.files.write_file(to, &bytes).await
    }

    fn say(&mut self, way: &Way) {
        if self.manner.verbose {
            self.out += &format!("'{}' -> '{}'\n", way.from, way.to);
        }
    }
}
