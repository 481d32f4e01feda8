//! `log` and `show`.

use std::io::Write;

use git2::{Commit, ObjectType, Repository, Revwalk, Sort};

use super::diff::Show;
use crate::context::{Done, Failure, Git, Result, output, said, unknown_revision};
use crate::format::{Dates, Decorations, Format, View};
use crate::words::{Word, Words, number, unknown};

/// What is asked for.
struct Wanted {
    format: Format,
    show: Show,
    no_patch: bool,
    dates: Dates,
    short: bool,
    decorate: bool,
    most: usize,
    skip: usize,
    reverse: bool,
    all: bool,
    first_parent: bool,
    merges: Option<bool>,
    author: Option<String>,
    grep: Option<String>,
    fold: bool,
    plain: Vec<String>,
    paths: Vec<String>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            format: Format::Medium,
            show: Show::default(),
            no_patch: false,
            dates: Dates::default(),
            short: false,
            decorate: false,
            most: usize::MAX,
            skip: 0,
            reverse: false,
            all: false,
            first_parent: false,
            merges: None,
            author: None,
            grep: None,
            fold: false,
            plain: Vec::new(),
            paths: Vec::new(),
        }
    }
}

impl Wanted {
    fn read(command: &str, words: Vec<String>) -> Result<Self> {
        let mut wanted = Self::default();
        let mut words = Words::new(words, "nU");
        while let Some(word) = words.next() {
            match word {
                Word::Plain(word) if words.marked() => wanted.paths.push(word),
                Word::Plain(word) => wanted.plain.push(word),
                Word::Option(option) => {
                    if !wanted.take(&option, &mut words)? {
                        return unknown(command, &option);
                    }
                }
            }
        }
        Ok(wanted)
    }

    fn take(&mut self, option: &str, words: &mut Words) -> Result<bool> {
        match option {
            "-n" | "--max-count" => self.most = number("max-count", &words.value(option)?)?,
            "--skip" => self.skip = number("skip", &words.value(option)?)?,
            "--oneline" => (self.format, self.short) = (Format::Oneline, true),
            "--format" | "--pretty" => {
                let name = words.inline().unwrap_or_else(|| "medium".into());
                self.format = Format::named(&name)?;
            }
            "--abbrev-commit" => self.short = true,
            "--no-abbrev-commit" => self.short = false,
            "--date" => self.dates = Dates::named(&words.value(option)?)?,
            "--relative-date" => self.dates = Dates::Relative,
            "--reverse" => self.reverse = true,
            "--all" | "--branches" => self.all = true,
            "--first-parent" => self.first_parent = true,
            "--no-merges" => self.merges = Some(false),
            "--merges" => self.merges = Some(true),
            "--author" => self.author = Some(words.value(option)?),
            "--grep" => self.grep = Some(words.value(option)?),
            "-i" | "--regexp-ignore-case" => self.fold = true,
            "--decorate" => self.decorate = words.inline().as_deref() != Some("no"),
            "--no-decorate" => self.decorate = false,
            "-s" | "--no-patch" => self.no_patch = true,
            "--follow" | "--date-order" | "--topo-order" | "--no-notes" | "-F" | "--fixed-strings" => {}
            _ => {
                let digits =
                    option.strip_prefix('-').filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
                match digits {
                    Some(digits) if !digits.is_empty() => self.most = number("max-count", digits)?,
                    _ => return self.show.take(option, words),
                }
            }
        }
        Ok(true)
    }

    fn view<'a>(&self, git: &'a Git) -> Result<View<'a>> {
        let asked =
            matches!(&self.format, Format::Custom(text, _) if text.contains("%d") || text.contains("%D"));
        let decorations = (asked || self.decorate).then(|| Decorations::of(git)).transpose()?;
        let (dates, short, decorate) = (self.dates, self.short, self.decorate);
        Ok(View { repository: &git.repository, dates, decorations, short, decorate })
    }

    /// Whether a commit's author and message are those that are looked for.
    fn fits(&self, commit: &Commit<'_>) -> bool {
        let folded = |text: String| if self.fold { text.to_lowercase() } else { text };
        let has = |wanted: &Option<String>, text: &dyn Fn() -> String| {
            wanted.as_ref().is_none_or(|wanted| folded(text()).contains(&folded(wanted.clone())))
        };
        let author = || {
            let author = commit.author();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!("{} <{}>", text(author.name_bytes()), text(author.email_bytes()))
        };
        self.merges.is_none_or(|merges| merges == (commit.parent_count() > 1))
            && has(&self.author, &author)
            && has(&self.grep, &|| String::from_utf8_lossy(commit.message_bytes()).into_owned())
    }
}

/// `git log`.
pub(super) fn log(words: Vec<String>) -> Done {
    let mut wanted = Wanted::read("log", words)?;
    let git = Git::find()?;
    let mut walk = git.repository.revwalk()?;
    start(&git, &mut wanted, &mut walk)?;
    let mut below: Vec<String> = Vec::new();
    for path in &wanted.paths {
        below.push(git.below_root(path)?);
    }
    let mut found = Vec::new();
    let mut skipped = 0;
    for id in walk {
        let commit = git.repository.find_commit(id?)?;
        if !wanted.fits(&commit) || !touches(&git.repository, &commit, &below)? {
            continue;
        }
        if skipped < wanted.skip {
            skipped += 1;
            continue;
        }
        if found.len() >= wanted.most {
            break;
        }
        found.push(commit.id());
    }
    if wanted.reverse {
        found.reverse();
    }
    let view = wanted.view(&git)?;
    let mut out = output();
    for (place, id) in found.iter().enumerate() {
        let commit = git.repository.find_commit(*id)?;
        write(&view, &wanted, &commit, &below, place == 0, &mut out)?;
    }
    said(out)
}

/// Where the walk begins and what it leaves out.
fn start(git: &Git, wanted: &mut Wanted, walk: &mut Revwalk<'_>) -> Result<()> {
    walk.set_sorting(Sort::TIME | Sort::TOPOLOGICAL)?;
    if wanted.first_parent {
        walk.simplify_first_parent()?;
    }
    let mut any = wanted.all;
    if wanted.all {
        walk.push_glob("refs/*")?;
        if git.head()?.is_some() {
            walk.push_head()?;
        }
    }
    let plain = std::mem::take(&mut wanted.plain);
    for (place, word) in plain.iter().enumerate() {
        if let Some(hidden) = word.strip_prefix('^') {
            walk.hide(git.commit(hidden)?.id())?;
            continue;
        }
        if let (Some((from, to)), false) = (word.split_once(".."), word.starts_with("../")) {
            let (symmetric, to) = to.strip_prefix('.').map_or((false, to), |to| (true, to));
            let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
            let (from, to) = (git.commit(&or_head(from))?.id(), git.commit(&or_head(to))?.id());
            walk.push(to)?;
            if symmetric {
                walk.push(from)?;
                walk.hide(git.repository.merge_base(from, to)?)?;
            } else {
                walk.hide(from)?;
            }
            any = true;
            continue;
        }
        match git.commit(word) {
            Ok(commit) => {
                walk.push(commit.id())?;
                any = true;
            }
            // From here on they are paths.
            Err(_) if git.here.join(word).symlink_metadata().is_ok() => {
                wanted.paths.splice(0..0, plain[place..].iter().cloned());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    if !any {
        if git.head()?.is_none() {
            let branch = git.branch()?.unwrap_or_default();
            return Err(Failure::fatal(format!(
                "your current branch '{branch}' does not have any commits yet"
            )));
        }
        walk.push_head()?;
    }
    Ok(())
}

/// Whether a commit changed any of the paths: it differs from all its parents there.
fn touches(repository: &Repository, commit: &Commit<'_>, paths: &[String]) -> Result<bool> {
    if paths.is_empty() || paths.iter().any(String::is_empty) {
        return Ok(true);
    }
    let tree = commit.tree()?;
    let entry = |tree: &git2::Tree<'_>, path: &str| {
        tree.get_path(path.as_ref()).ok().map(|entry| (entry.id(), entry.filemode()))
    };
    if commit.parent_count() == 0 {
        return Ok(paths.iter().any(|path| entry(&tree, path).is_some()));
    }
    for id in commit.parent_ids() {
        // A parent that a shallow history lacks is as good as none.
        let Ok(parent) = repository.find_commit(id) else { continue };
        let before = parent.tree()?;
        if paths.iter().all(|path| entry(&tree, path) == entry(&before, path)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write(
    view: &View<'_>,
    wanted: &Wanted,
    commit: &Commit<'_>,
    paths: &[String],
    first: bool,
    out: &mut impl Write,
) -> Result<()> {
    let text = view.text(commit, &wanted.format)?;
    let shows = wanted.show.any() && !wanted.no_patch && commit.parent_count() < 2;
    match &wanted.format {
        Format::Custom(_, false) => {
            if !first {
                writeln!(out)?;
            }
            write!(out, "{text}")?;
            if shows {
                writeln!(out)?;
            }
        }
        Format::Custom(_, true) => writeln!(out, "{text}")?,
        Format::Oneline => write!(out, "{text}")?,
        _ => {
            if !first {
                writeln!(out)?;
            }
            write!(out, "{text}")?;
        }
    }
    if !shows {
        return Ok(());
    }
    let mut shown = Vec::new();
    write_changes(view.repository, commit, &wanted.show, paths, &mut shown)?;
    if !shown.is_empty() {
        // Formats of one line are followed at once, unless by a patch after a text of one's own.
        let apart =
            !matches!(wanted.format, Format::Oneline) && !matches!(wanted.format, Format::Custom(_, false));
        if apart {
            let dashes = if wanted.show.stat && wanted.show.patch { "---" } else { "" };
            writeln!(out, "{dashes}")?;
        }
        out.write_all(&shown)?;
    }
    Ok(())
}

/// What a commit changed, against its first parent.
fn write_changes(
    repository: &Repository,
    commit: &Commit<'_>,
    show: &Show,
    paths: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    // A parent that a shallow history lacks is as good as none.
    let before = commit.parent(0).ok().map(|parent| parent.tree()).transpose()?;
    let mut options = show.options(paths);
    let mut diff =
        repository.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), Some(&mut options))?;
    show.settle(&mut diff)?;
    show.write(&diff, out)
}

/// `git show`.
pub(super) fn show(words: Vec<String>) -> Done {
    let mut wanted = Wanted::read("show", words)?;
    let git = Git::find()?;
    if !wanted.show.any() {
        wanted.show.patch = true;
    }
    let mut names = std::mem::take(&mut wanted.plain);
    if names.is_empty() {
        names.push("HEAD".into());
    }
    let below: Vec<String> = wanted.paths.iter().map(|path| git.below_root(path)).collect::<Result<_>>()?;
    let view = wanted.view(&git)?;
    let mut out = output();
    for (place, name) in names.iter().enumerate() {
        let object = git.repository.revparse_single(name).map_err(|_| missing(&git, name))?;
        match object.kind() {
            Some(ObjectType::Blob) => {
                let blob = object.peel_to_blob()?;
                out.write_all(blob.content())?;
            }
            Some(ObjectType::Tree) => {
                writeln!(out, "tree {name}\n")?;
                for entry in object.peel_to_tree()?.iter() {
                    let mark = if entry.kind() == Some(ObjectType::Tree) { "/" } else { "" };
                    writeln!(out, "{}{mark}", String::from_utf8_lossy(entry.name_bytes()))?;
                }
            }
            Some(ObjectType::Tag) => {
                let tag = object.peel_to_tag()?;
                writeln!(out, "tag {}", String::from_utf8_lossy(tag.name_bytes()))?;
                if let Some(who) = tag.tagger() {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    writeln!(out, "Tagger: {} <{}>", text(who.name_bytes()), text(who.email_bytes()))?;
                    if !matches!(wanted.format, Format::Oneline | Format::Custom(..)) {
                        writeln!(out, "Date:   {}", wanted.dates.of(who.when()))?;
                    }
                }
                let message = tag.message_bytes().unwrap_or_default();
                write!(out, "\n{}", String::from_utf8_lossy(message))?;
                write(&view, &wanted, &object.peel_to_commit()?, &below, false, &mut out)?;
            }
            _ => write(&view, &wanted, &object.peel_to_commit()?, &below, place == 0, &mut out)?,
        }
    }
    said(out)
}

fn missing(git: &Git, name: &str) -> Failure {
    match name.split_once(':') {
        Some((revision, path)) if git.commit(revision).is_ok() => {
            Failure::fatal(format!("path '{path}' does not exist in '{revision}'"))
        }
        _ => unknown_revision(name),
    }
}
