//! `status`, also as `commit` shows it.

use std::io::Write;

use git2::{Delta, DiffDelta, Repository, Status, StatusOptions};

use crate::context::{Done, Failure, Git, Result, output, said};
use crate::paths::{quoted, seen_from};
use crate::words::{Word, Words, unknown};

/// What `status` is asked for.
#[derive(Default)]
struct Wanted {
    short: bool,
    /// Paths below the root, for programs.
    porcelain: bool,
    branch: bool,
    ignored: bool,
    zero: bool,
    untracked: Untracked,
    paths: Vec<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Untracked {
    No,
    #[default]
    Folders,
    All,
}

/// A change of one file, on one side.
pub(super) struct Change {
    letter: char,
    path: String,
    /// What it was called before.
    from: Option<String>,
}

/// All of a working tree's changes.
#[derive(Default)]
pub(super) struct Changes {
    staged: Vec<Change>,
    unstaged: Vec<Change>,
    unmerged: Vec<Change>,
    untracked: Vec<String>,
    ignored: Vec<String>,
}

/// `git status`.
pub(super) fn run(words: Vec<String>) -> Done {
    let mut wanted = Wanted::default();
    let mut words = Words::new(words, "u");
    let mut paths = Vec::new();
    while let Some(word) = words.next() {
        let option = match word {
            Word::Plain(path) => {
                paths.push(path);
                continue;
            }
            Word::Option(option) => option,
        };
        match option.as_str() {
            "-s" | "--short" => wanted.short = true,
            "--porcelain" => {
                if words.inline().is_some_and(|version| version != "v1" && version != "1") {
                    return Err(Failure::fatal("only version 1 of the porcelain format is known here"));
                }
                wanted.porcelain = true;
            }
            "-b" | "--branch" => wanted.branch = true,
            "--ignored" => wanted.ignored = true,
            "-z" => (wanted.zero, wanted.porcelain) = (true, true),
            "--long" => wanted.short = false,
            "-u" | "--untracked-files" => wanted.untracked = untracked(words.inline().as_deref())?,
            "--no-renames" | "--renames" | "-v" => {}
            _ => return unknown("status", &option),
        }
    }
    let git = Git::with_tree()?;
    wanted.paths = paths.iter().map(|path| git.below_root(path)).collect::<Result<_>>()?;
    let changes = Changes::of(&git.repository, &wanted.paths, wanted.untracked, wanted.ignored)?;
    let mut out = output();
    if wanted.short || wanted.porcelain {
        if wanted.branch {
            writeln!(out, "{}", short_branch(&git)?)?;
        }
        changes.write_short(&git, &wanted, &mut out)?;
    } else {
        write_long(&git, &changes, wanted.untracked, &mut out)?;
    }
    said(out)
}

fn untracked(value: Option<&str>) -> Result<Untracked> {
    match value {
        None | Some("all") => Ok(Untracked::All),
        Some("normal") => Ok(Untracked::Folders),
        Some("no") => Ok(Untracked::No),
        Some(other) => Err(Failure::fatal(format!("Invalid untracked files mode '{other}'"))),
    }
}

impl Changes {
    pub(super) fn of(
        repository: &Repository,
        paths: &[String],
        untracked: Untracked,
        ignored: bool,
    ) -> Result<Self> {
        let mut options = StatusOptions::new();
        options
            .include_untracked(untracked != Untracked::No)
            .recurse_untracked_dirs(untracked == Untracked::All);
        options.include_ignored(ignored).renames_head_to_index(true).update_index(true);
        options.exclude_submodules(true);
        for path in paths.iter().filter(|path| !path.is_empty()) {
            options.pathspec(path.as_str());
        }
        let mut changes = Self::default();
        for entry in repository.statuses(Some(&mut options))?.iter() {
            changes.add(
                repository,
                entry.status(),
                entry.path_bytes(),
                [entry.head_to_index(), entry.index_to_workdir()],
            );
        }
        for list in [&mut changes.staged, &mut changes.unstaged, &mut changes.unmerged] {
            list.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        }
        changes.untracked.sort();
        changes.ignored.sort();
        Ok(changes)
    }

    fn add(
        &mut self,
        repository: &Repository,
        status: Status,
        path: &[u8],
        sides: [Option<DiffDelta<'_>>; 2],
    ) {
        let path = || String::from_utf8_lossy(path).into_owned();
        if status.is_conflicted() {
            self.unmerged.push(Change { letter: 'U', path: path(), from: None });
            return;
        }
        if status.is_ignored() {
            // Folders without files come too.
            if repository.is_path_ignored(path()).unwrap_or(false) {
                self.ignored.push(path());
            }
            return;
        }
        if status.is_wt_new() {
            self.untracked.push(path());
        }
        let [staged, unstaged] = sides;
        self.staged.extend(staged.as_ref().and_then(change));
        let unstaged = unstaged.filter(|delta| delta.status() != Delta::Untracked);
        self.unstaged.extend(unstaged.as_ref().and_then(change));
    }

    pub(super) fn nothing_staged(&self) -> bool {
        self.staged.is_empty()
    }

    pub(super) fn has_unmerged(&self) -> bool {
        !self.unmerged.is_empty()
    }

    fn write_short(&self, git: &Git, wanted: &Wanted, out: &mut impl Write) -> Result<()> {
        let shown = |path: &str| match (wanted.zero, wanted.porcelain) {
            (true, _) => path.to_owned(),
            (_, true) => quoted(path.as_bytes(), true),
            _ => quoted(seen_from(git.prefix(), path).as_bytes(), true),
        };
        let end = if wanted.zero { '\0' } else { '\n' };
        let mut paths: Vec<&str> =
            self.staged.iter().chain(&self.unstaged).map(|change| change.path.as_str()).collect();
        paths.extend(self.unmerged.iter().map(|change| change.path.as_str()));
        paths.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        paths.dedup();
        for path in paths {
            if self.unmerged.iter().any(|change| change.path == path) {
                write!(out, "UU {}{end}", shown(path))?;
                continue;
            }
            let of = |list: &[Change]| list.iter().position(|change| change.path == path);
            let (staged, unstaged) = (of(&self.staged), of(&self.unstaged));
            let letter =
                |list: &[Change], place: Option<usize>| place.map_or(' ', |place| list[place].letter);
            write!(out, "{}{} ", letter(&self.staged, staged), letter(&self.unstaged, unstaged))?;
            match staged.and_then(|place| self.staged[place].from.as_deref()) {
                Some(from) if wanted.zero => write!(out, "{}{end}{}{end}", shown(path), shown(from))?,
                Some(from) => write!(out, "{} -> {}{end}", shown(from), shown(path))?,
                None => write!(out, "{}{end}", shown(path))?,
            }
        }
        for (mark, list) in [("??", &self.untracked), ("!!", &self.ignored)] {
            for path in list {
                write!(out, "{mark} {}{end}", shown(path))?;
            }
        }
        Ok(())
    }
}

fn change(delta: &DiffDelta<'_>) -> Option<Change> {
    let name = |file: git2::DiffFile<'_>| {
        String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned()
    };
    let (old, new) = (name(delta.old_file()), name(delta.new_file()));
    let (letter, from) = match delta.status() {
        Delta::Added => ('A', None),
        Delta::Deleted => ('D', None),
        Delta::Modified => ('M', None),
        Delta::Renamed => ('R', Some(old.clone())),
        Delta::Typechange => ('T', None),
        _ => return None,
    };
    let path = if letter == 'D' { old } else { new };
    Some(Change { letter, path, from })
}

/// How a branch and the one it follows differ: the other's short name, and commits ahead and behind; none: it is gone.
pub(super) type Tracking = (String, Option<(usize, usize)>);

pub(super) fn tracking(repository: &Repository, branch: &str) -> Result<Option<Tracking>> {
    let whole = format!("refs/heads/{branch}");
    let Ok(upstream) = repository.branch_upstream_name(&whole) else { return Ok(None) };
    let upstream = upstream.as_str().unwrap_or_default().to_owned();
    let shown = upstream.trim_start_matches("refs/remotes/").trim_start_matches("refs/heads/").to_owned();
    let Ok(local) = repository.refname_to_id(&whole) else { return Ok(Some((shown, None))) };
    let Ok(remote) = repository.refname_to_id(&upstream) else { return Ok(Some((shown, None))) };
    Ok(Some((shown, Some(repository.graph_ahead_behind(local, remote)?))))
}

fn short_branch(git: &Git) -> Result<String> {
    let Some(branch) = git.branch()? else { return Ok("## HEAD (no branch)".into()) };
    if git.head()?.is_none() {
        return Ok(format!("## No commits yet on {branch}"));
    }
    let text = match tracking(&git.repository, &branch)? {
        None => format!("## {branch}"),
        Some((upstream, None)) => format!("## {branch}...{upstream} [gone]"),
        Some((upstream, Some((0, 0)))) => format!("## {branch}...{upstream}"),
        Some((upstream, Some((ahead, 0)))) => format!("## {branch}...{upstream} [ahead {ahead}]"),
        Some((upstream, Some((0, behind)))) => format!("## {branch}...{upstream} [behind {behind}]"),
        Some((upstream, Some((ahead, behind)))) => {
            format!("## {branch}...{upstream} [ahead {ahead}, behind {behind}]")
        }
    };
    Ok(text)
}

/// What git says of a branch and the one it follows; empty if it follows none.
pub(super) fn tracking_text(repository: &Repository, branch: &str) -> Result<String> {
    let commits = |count: usize| if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
    Ok(match tracking(repository, branch)? {
        None => String::new(),
        Some((upstream, None)) => format!(
            "Your branch is based on '{upstream}', but the upstream is gone.\n  \
             (use \"git branch --unset-upstream\" to fixup)\n"
        ),
        Some((upstream, Some((0, 0)))) => format!("Your branch is up to date with '{upstream}'.\n"),
        Some((upstream, Some((ahead, 0)))) => format!(
            "Your branch is ahead of '{upstream}' by {}.\n  (use \"git push\" to publish your local commits)\n",
            commits(ahead)
        ),
        Some((upstream, Some((0, behind)))) => format!(
            "Your branch is behind '{upstream}' by {}, and can be fast-forwarded.\n  \
             (use \"git pull\" to update your local branch)\n",
            commits(behind)
        ),
        Some((upstream, Some((ahead, behind)))) => format!(
            "Your branch and '{upstream}' have diverged,\nand have {ahead} and {behind} different commits each, \
             respectively.\n  (use \"git pull\" if you want to integrate the remote branch with yours)\n"
        ),
    })
}

/// Writes the form for people.
pub(super) fn write_long(git: &Git, changes: &Changes, shown: Untracked, out: &mut impl Write) -> Result<()> {
    let born = git.head()?;
    match git.branch()? {
        Some(branch) => {
            writeln!(out, "On branch {branch}")?;
            let text = tracking_text(&git.repository, &branch)?;
            if !text.is_empty() {
                writeln!(out, "{text}")?;
            }
        }
        None => {
            let id = born.as_ref().map(git2::Commit::id);
            writeln!(
                out,
                "HEAD detached at {}",
                id.map(|id| git.short(id)).transpose()?.unwrap_or_default()
            )?;
        }
    }
    if born.is_none() {
        writeln!(out, "\nNo commits yet\n")?;
    }
    let list = |out: &mut dyn Write, changes: &[Change]| -> Result<()> {
        let shown = |path: &str| quoted(seen_from(git.prefix(), path).as_bytes(), false);
        for Change { letter, path, from } in changes {
            let what = match letter {
                'A' => "new file:   ",
                'D' => "deleted:    ",
                'R' => "renamed:    ",
                'T' => "typechange: ",
                'U' => "both modified:   ",
                _ => "modified:   ",
            };
            match from {
                Some(from) => writeln!(out, "\t{what}{} -> {}", shown(from), shown(path))?,
                None => writeln!(out, "\t{what}{}", shown(path))?,
            }
        }
        Ok(writeln!(out)?)
    };
    if !changes.staged.is_empty() {
        let undo = if born.is_some() { "git restore --staged" } else { "git rm --cached" };
        writeln!(out, "Changes to be committed:\n  (use \"{undo} <file>...\" to unstage)")?;
        list(out, &changes.staged)?;
    }
    if !changes.unmerged.is_empty() {
        writeln!(out, "Unmerged paths:\n  (use \"git add <file>...\" to mark resolution)")?;
        list(out, &changes.unmerged)?;
    }
    if !changes.unstaged.is_empty() {
        let add = if changes.unstaged.iter().any(|change| change.letter == 'D') { "add/rm" } else { "add" };
        writeln!(
            out,
            "Changes not staged for commit:\n  (use \"git {add} <file>...\" to update what will be committed)"
        )?;
        writeln!(out, "  (use \"git restore <file>...\" to discard changes in working directory)")?;
        list(out, &changes.unstaged)?;
    }
    let listed = |out: &mut dyn Write, title: &str, how: &str, paths: &[String]| -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        writeln!(out, "{title}:\n  (use \"git add {how}<file>...\" to include in what will be committed)")?;
        for path in paths {
            writeln!(out, "\t{}", quoted(seen_from(git.prefix(), path).as_bytes(), false))?;
        }
        Ok(writeln!(out)?)
    };
    listed(out, "Untracked files", "", &changes.untracked)?;
    listed(out, "Ignored files", "-f ", &changes.ignored)?;
    if shown == Untracked::No {
        writeln!(out, "Untracked files not listed (use -u option to show untracked files)")?;
    }
    if changes.staged.is_empty() {
        writeln!(out, "{}", advice(changes, born.is_some(), shown))?;
    }
    Ok(())
}

/// The last line, when nothing is staged.
fn advice(changes: &Changes, born: bool, shown: Untracked) -> &'static str {
    if !changes.unstaged.is_empty() || !changes.unmerged.is_empty() {
        "no changes added to commit (use \"git add\" and/or \"git commit -a\")"
    } else if !changes.untracked.is_empty() {
        "nothing added to commit but untracked files present (use \"git add\" to track)"
    } else if !born {
        "nothing to commit (create/copy files and use \"git add\" to track)"
    } else if shown == Untracked::No {
        "nothing to commit (use -u to show untracked files)"
    } else {
        "nothing to commit, working tree clean"
    }
}
