//! `diff`, and differences as other commands show them.

use std::io::Write;

use git2::{
    Delta, Diff, DiffDelta, DiffFindOptions, DiffFormat, DiffLineType, DiffOptions, DiffStatsFormat,
    FileMode, Tree,
};

use crate::context::{Done, Failure, Git, Result, output, said};
use crate::paths::quoted;
use crate::words::{Word, Words, number, unknown};

/// Columns of a summary, as where there is no terminal.
const COLUMNS: usize = 80;

/// How differences are shown.
#[derive(Clone, Default)]
pub(super) struct Show {
    pub(super) patch: bool,
    pub(super) stat: bool,
    pub(super) shortstat: bool,
    pub(super) numstat: bool,
    pub(super) summary: bool,
    pub(super) names: bool,
    pub(super) statuses: bool,
    context: Option<usize>,
    whitespace: Option<char>,
    no_renames: bool,
    reverse: bool,
    text: bool,
    full_index: bool,
    no_prefix: bool,
}

impl Show {
    /// Takes an option that is about showing; false: it is another one.
    pub(super) fn take(&mut self, option: &str, words: &mut Words) -> Result<bool> {
        match option {
            "-p" | "-u" | "--patch" => self.patch = true,
            "--stat" => self.stat = true,
            "--shortstat" => self.shortstat = true,
            "--numstat" => self.numstat = true,
            "--summary" => self.summary = true,
            "--patch-with-stat" => (self.stat, self.patch) = (true, true),
            "--name-only" => self.names = true,
            "--name-status" => self.statuses = true,
            "-U" | "--unified" => {
                self.context = Some(number("unified", &words.value(option)?)?);
                self.patch = true;
            }
            "-w" | "--ignore-all-space" => self.whitespace = Some('w'),
            "-b" | "--ignore-space-change" => self.whitespace = Some('b'),
            "--ignore-space-at-eol" => self.whitespace = Some('e'),
            "--no-renames" => self.no_renames = true,
            "-R" => self.reverse = true,
            "-a" | "--text" => self.text = true,
            "--full-index" => self.full_index = true,
            "--no-prefix" => self.no_prefix = true,
            // What is so anyway.
            "-M" | "--find-renames" | "--no-color" | "--color" | "--no-ext-diff" | "--no-textconv"
            | "--minimal" | "--indent-heuristic" => drop(words.inline()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a form was asked for.
    pub(super) fn any(&self) -> bool {
        self.patch || self.lists()
    }

    fn lists(&self) -> bool {
        self.stat || self.shortstat || self.numstat || self.summary || self.names || self.statuses
    }

    pub(super) fn options(&self, paths: &[String]) -> DiffOptions {
        let mut options = DiffOptions::new();
        options.indent_heuristic(true).ignore_submodules(true).reverse(self.reverse).force_text(self.text);
        if let Some(lines) = self.context {
            options.context_lines(u32::try_from(lines).unwrap_or(u32::MAX));
        }
        match self.whitespace {
            Some('w') => drop(options.ignore_whitespace(true)),
            Some('b') => drop(options.ignore_whitespace_change(true)),
            Some(_) => drop(options.ignore_whitespace_eol(true)),
            None => {}
        }
        if self.full_index {
            options.id_abbrev(40);
        }
        if self.no_prefix {
            options.old_prefix("").new_prefix("");
        }
        for path in paths.iter().filter(|path| !path.is_empty()) {
            options.pathspec(path.as_str());
        }
        options
    }

    /// Looks for what was only renamed, as git does by itself.
    pub(super) fn settle(&self, diff: &mut Diff<'_>) -> Result<()> {
        if !self.no_renames {
            diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        }
        Ok(())
    }

    /// Writes a difference in all forms that were asked for; a patch when none was.
    pub(super) fn write(&self, diff: &Diff<'_>, out: &mut dyn Write) -> Result<()> {
        if diff.deltas().len() == 0 {
            return Ok(());
        }
        if self.statuses {
            diff.deltas().try_for_each(|delta| write_status(&delta, out))?;
        }
        if self.names {
            for delta in diff.deltas() {
                writeln!(out, "{}", name(&delta, delta.status() == Delta::Deleted))?;
            }
        }
        let mut forms = DiffStatsFormat::NONE;
        if self.numstat {
            write_numbers(diff, out)?;
        }
        if self.stat {
            forms |= DiffStatsFormat::FULL;
        }
        if self.shortstat {
            forms |= DiffStatsFormat::SHORT;
        }
        if forms != DiffStatsFormat::NONE {
            out.write_all(&diff.stats()?.to_buf(forms, COLUMNS)?)?;
        }
        if self.summary {
            write_summary(diff, out)?;
        }
        if self.patch || !self.lists() {
            if self.lists() {
                writeln!(out)?;
            }
            write_patch(diff, out)?;
        }
        Ok(())
    }
}

fn write_patch(diff: &Diff<'_>, out: &mut dyn Write) -> Result<()> {
    let mut failed = None;
    let printed = diff.print(DiffFormat::Patch, |_, _, line| {
        let written = (|| {
            match line.origin_value() {
                DiffLineType::Context | DiffLineType::Addition | DiffLineType::Deletion => {
                    out.write_all(&[line.origin() as u8])?;
                }
                _ => {}
            }
            out.write_all(line.content())
        })();
        failed = written.err();
        failed.is_none()
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(printed?),
    }
}

fn name(delta: &DiffDelta<'_>, old: bool) -> String {
    let file = if old { delta.old_file() } else { delta.new_file() };
    quoted(file.path_bytes().unwrap_or_default(), false)
}

fn write_status(delta: &DiffDelta<'_>, out: &mut dyn Write) -> Result<()> {
    match delta.status() {
        // How alike two files are is not told by the library's bindings; what was renamed whole is.
        Delta::Renamed => {
            let whole = delta.old_file().id() == delta.new_file().id();
            let alike = if whole { "100" } else { "090" };
            writeln!(out, "R{alike}\t{}\t{}", name(delta, true), name(delta, false))?;
        }
        Delta::Added => writeln!(out, "A\t{}", name(delta, false))?,
        Delta::Deleted => writeln!(out, "D\t{}", name(delta, true))?,
        Delta::Typechange => writeln!(out, "T\t{}", name(delta, false))?,
        _ => writeln!(out, "M\t{}", name(delta, false))?,
    }
    Ok(())
}

fn write_numbers(diff: &Diff<'_>, out: &mut dyn Write) -> Result<()> {
    for (place, delta) in diff.deltas().enumerate() {
        let shown = match delta.status() {
            Delta::Renamed => renamed(&name(&delta, true), &name(&delta, false)),
            status => name(&delta, status == Delta::Deleted),
        };
        let patch = git2::Patch::from_diff(diff, place)?;
        match patch.filter(|patch| !patch.delta().flags().is_binary()) {
            Some(patch) => {
                let (_, added, removed) = patch.line_stats()?;
                writeln!(out, "{added}\t{removed}\t{shown}")?;
            }
            None => writeln!(out, "-\t-\t{shown}")?,
        }
    }
    Ok(())
}

/// Two names with what they share written once, as git does.
pub(super) fn renamed(from: &str, to: &str) -> String {
    let shared = |limit: usize, same: &dyn Fn(usize) -> bool, at: &dyn Fn(usize) -> bool| {
        (0..limit)
            .take_while(|place| same(*place))
            .filter(|place| at(*place))
            .last()
            .map_or(0, |place| place + 1)
    };
    let (old, new) = (from.as_bytes(), to.as_bytes());
    let shortest = old.len().min(new.len());
    let start = shared(shortest, &|i| old[i] == new[i], &|i| old[i] == b'/');
    let back = |bytes: &[u8], i: usize| bytes[bytes.len() - 1 - i];
    // The slash that ends the common start may also begin the common end.
    let room = shortest - start.saturating_sub(1).min(start);
    let end = shared(room, &|i| back(old, i) == back(new, i), &|i| back(old, i) == b'/');
    if start == 0 && end == 0 {
        return format!("{from} => {to}");
    }
    let middle = |text: &str| {
        let until = text.len() - end;
        if until > start { text[start..until].to_owned() } else { String::new() }
    };
    format!("{}{{{} => {}}}{}", &from[..start], middle(from), middle(to), &from[from.len() - end..])
}

/// Files that came, went or changed their names.
pub(super) fn write_summary(diff: &Diff<'_>, out: &mut dyn Write) -> Result<()> {
    let mode = |mode: FileMode| format!("{:06o}", u32::from(mode));
    for delta in diff.deltas() {
        let (old, new) = (delta.old_file(), delta.new_file());
        match delta.status() {
            Delta::Added => writeln!(out, " create mode {} {}", mode(new.mode()), name(&delta, false))?,
            Delta::Deleted => writeln!(out, " delete mode {} {}", mode(old.mode()), name(&delta, true))?,
            Delta::Renamed => {
                let alike = if old.id() == new.id() { " (100%)" } else { "" };
                writeln!(out, " rename {}{alike}", renamed(&name(&delta, true), &name(&delta, false)))?;
            }
            _ if old.mode() != new.mode() => {
                writeln!(
                    out,
                    " mode change {} => {} {}",
                    mode(old.mode()),
                    mode(new.mode()),
                    name(&delta, false)
                )?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// `git diff`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut show, mut cached, mut quiet, mut code) = (Show::default(), false, false, false);
    let (mut plain, mut paths) = (Vec::new(), Vec::new());
    let mut words = Words::new(words, "U");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) if words.marked() => paths.push(word),
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "--cached" | "--staged" => cached = true,
                "--quiet" | "-q" => (quiet, code) = (true, true),
                "--exit-code" => code = true,
                _ if show.take(&option, &mut words)? => {}
                _ => return unknown("diff", &option),
            },
        }
    }
    let git = Git::find()?;
    let trees = revisions(&git, &mut plain)?;
    let mut below = Vec::new();
    for (path, certain) in plain.iter().map(|path| (path, false)).chain(paths.iter().map(|path| (path, true)))
    {
        let inside = git.below_root(path)?;
        if !certain && git.root.join(&inside).symlink_metadata().is_err() {
            return Err(crate::context::unknown_revision(path));
        }
        below.push(inside);
    }
    let mut options = show.options(&below);
    let repository = &git.repository;
    let mut diff = match (trees.as_slice(), cached) {
        ([], false) => repository.diff_index_to_workdir(None, Some(&mut options))?,
        ([], true) => {
            let head = git.head()?.map(|head| head.tree()).transpose()?;
            repository.diff_tree_to_index(head.as_ref(), None, Some(&mut options))?
        }
        ([tree], true) => repository.diff_tree_to_index(Some(tree), None, Some(&mut options))?,
        ([tree], false) => repository.diff_tree_to_workdir_with_index(Some(tree), Some(&mut options))?,
        ([old, new], false) => repository.diff_tree_to_tree(Some(old), Some(new), Some(&mut options))?,
        _ => return Err(Failure::fatal("more revisions than can be compared")),
    };
    show.settle(&mut diff)?;
    let differs = diff.deltas().len() > 0;
    if !quiet {
        let mut out = output();
        show.write(&diff, &mut out)?;
        said(out)?;
    }
    Ok(i32::from(code && differs))
}

/// Takes the revisions from the front of the plain words.
fn revisions<'a>(git: &'a Git, plain: &mut Vec<String>) -> Result<Vec<Tree<'a>>> {
    let mut trees = Vec::new();
    while let Some(word) = plain.first() {
        let sides = match word
            .split_once("...")
            .map(|pair| (pair, true))
            .or(word.split_once("..").map(|pair| (pair, false)))
        {
            Some(((from, to), merged)) if !word.starts_with("../") && !word.starts_with("./") => {
                let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
                let (from, to) = (git.commit(&or_head(from))?, git.commit(&or_head(to))?);
                let base = if merged { git.repository.merge_base(from.id(), to.id())? } else { from.id() };
                vec![git.repository.find_commit(base)?.tree()?, to.tree()?]
            }
            _ => match git.repository.revparse_single(word).and_then(|object| object.peel_to_tree()) {
                Ok(tree) => vec![tree],
                Err(_) => break,
            },
        };
        trees.extend(sides);
        plain.remove(0);
    }
    Ok(trees)
}
