//! `branch`.

use std::io::Write as _;

use git2::{BranchType, ErrorCode};

use super::status::tracking;
use crate::context::{Done, Failure, Git, Result, output, said};
use crate::format::subject;
use crate::words::{Word, Words, unknown};

#[derive(Default)]
struct Wanted {
    list: bool,
    remotes: bool,
    all: bool,
    verbose: bool,
    current: bool,
    delete: bool,
    rename: bool,
    force: bool,
    upstream: Option<String>,
    unset: bool,
    format: Option<String>,
    plain: Vec<String>,
}

/// `git branch`.
pub(super) fn run(words: Vec<String>) -> Done {
    let mut wanted = Wanted::default();
    let mut words = Words::new(words, "u");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => wanted.plain.push(word),
            Word::Option(option) => match option.as_str() {
                "-l" | "--list" => wanted.list = true,
                "-r" | "--remotes" => wanted.remotes = true,
                "-a" | "--all" => wanted.all = true,
                "-v" | "-vv" | "--verbose" => wanted.verbose = true,
                "--show-current" => wanted.current = true,
                "-d" | "--delete" => wanted.delete = true,
                "-D" => (wanted.delete, wanted.force) = (true, true),
                "-m" | "--move" => wanted.rename = true,
                "-M" => (wanted.rename, wanted.force) = (true, true),
                "-f" | "--force" => wanted.force = true,
                "-u" | "--set-upstream-to" => wanted.upstream = Some(words.value(&option)?),
                "--unset-upstream" => wanted.unset = true,
                "--format" => wanted.format = Some(words.value(&option)?),
                "-q" | "--quiet" | "--no-color" | "--no-track" | "--color" => {}
                _ => return unknown("branch", &option),
            },
        }
    }
    let git = Git::find()?;
    let plain: Vec<&str> = wanted.plain.iter().map(String::as_str).collect();
    if wanted.current {
        git.branch()?.iter().for_each(|name| println!("{name}"));
        return Ok(0);
    }
    if wanted.delete {
        return delete(&git, &wanted);
    }
    if wanted.upstream.is_some() || wanted.unset {
        return follow(&git, wanted.upstream.as_deref(), plain.first().copied());
    }
    if wanted.rename {
        return rename(&git, &plain, wanted.force);
    }
    match plain.as_slice() {
        [name] if !wanted.list && !wanted.all && !wanted.remotes => make(&git, name, "HEAD", wanted.force),
        [name, start] if !wanted.list => make(&git, name, start, wanted.force),
        [] | [_] => list(&git, &wanted),
        _ => Err(Failure::fatal("too many arguments")),
    }
}

fn make(git: &Git, name: &str, start: &str, force: bool) -> Done {
    if git.head()?.is_none() && start == "HEAD" {
        let branch = git.branch()?.unwrap_or_default();
        return Err(Failure::fatal(format!("not a valid object name: '{branch}'")));
    }
    let commit =
        git.commit(start).map_err(|_| Failure::fatal(format!("not a valid object name: '{start}'")))?;
    create(git, name, &commit, force)?;
    if let Ok(remote) = git.repository.find_branch(start, BranchType::Remote) {
        let name_of = remote.name()?.unwrap_or_default().to_owned();
        git.repository.find_branch(name, BranchType::Local)?.set_upstream(Some(&name_of))?;
        println!("branch '{name}' set up to track '{name_of}'.");
    }
    Ok(0)
}

/// Makes a branch, in git's words if it cannot be.
pub(super) fn create(git: &Git, name: &str, commit: &git2::Commit<'_>, force: bool) -> Result<()> {
    if !git2::Branch::name_is_valid(name)? {
        return Err(Failure::fatal(format!("'{name}' is not a valid branch name")));
    }
    match git.repository.branch(name, commit, force) {
        Ok(_) => Ok(()),
        Err(error) if error.code() == ErrorCode::Exists => {
            Err(Failure::fatal(format!("a branch named '{name}' already exists")))
        }
        Err(error) => Err(error.into()),
    }
}

fn delete(git: &Git, wanted: &Wanted) -> Done {
    let mut status = 0;
    for name in &wanted.plain {
        let kind = if wanted.remotes { BranchType::Remote } else { BranchType::Local };
        let Ok(mut branch) = git.repository.find_branch(name, kind) else {
            eprintln!("error: branch '{name}' not found");
            status = 1;
            continue;
        };
        if branch.is_head() {
            let root = git.root.display().to_string();
            eprintln!(
                "error: cannot delete branch '{name}' used by worktree at '{}'",
                root.trim_end_matches('/')
            );
            status = 1;
            continue;
        }
        let tip = branch.get().peel_to_commit()?.id();
        if !wanted.force && !merged(git, name, tip)? {
            eprint!(
                "error: the branch '{name}' is not fully merged\nhint: If you are sure you want to delete it, run \
                 'git branch -D {name}'\nhint: Disable this message with \"git config advice.forceDeleteBranch false\"\n"
            );
            status = 1;
            continue;
        }
        let short = git.short(tip)?;
        branch.delete()?;
        let what = if wanted.remotes { "remote-tracking branch" } else { "branch" };
        println!("Deleted {what} {name} (was {short}).");
    }
    Ok(status)
}

/// Whether what is checked out, or the branch it follows, has all of a branch.
fn merged(git: &Git, name: &str, tip: git2::Oid) -> Result<bool> {
    let mut places: Vec<git2::Oid> = git.head()?.iter().map(git2::Commit::id).collect();
    if let Ok(upstream) = git.repository.find_branch(name, BranchType::Local)?.upstream() {
        places = vec![upstream.get().peel_to_commit()?.id()];
    }
    for place in places {
        if place == tip || git.repository.graph_descendant_of(place, tip)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn rename(git: &Git, plain: &[&str], force: bool) -> Done {
    let current = git.branch()?.unwrap_or_default();
    let (old, new) = match plain {
        [new] => (current.as_str(), *new),
        [old, new] => (*old, *new),
        _ => return Err(Failure::fatal("branch name required")),
    };
    if git.head()?.is_none() && old == current {
        git.repository.set_head(&format!("refs/heads/{new}"))?;
        return Ok(0);
    }
    let mut branch = git
        .repository
        .find_branch(old, BranchType::Local)
        .map_err(|_| Failure::fatal(format!("no branch named '{old}'")))?;
    match branch.rename(new, force) {
        Ok(_) => Ok(0),
        Err(error) if error.code() == ErrorCode::Exists => {
            Err(Failure::fatal(format!("a branch named '{new}' already exists")))
        }
        Err(error) => Err(error.into()),
    }
}

fn follow(git: &Git, upstream: Option<&str>, name: Option<&str>) -> Done {
    let name = match name {
        Some(name) => name.to_owned(),
        None => git.branch()?.ok_or_else(|| Failure::fatal("HEAD not found below refs/heads!"))?,
    };
    let mut branch = git
        .repository
        .find_branch(&name, BranchType::Local)
        .map_err(|_| Failure::fatal(format!("branch '{name}' does not exist")))?;
    branch.set_upstream(upstream).map_err(|_| {
        Failure::fatal(format!(
            "the requested upstream branch '{}' does not exist",
            upstream.unwrap_or_default()
        ))
    })?;
    if let Some(upstream) = upstream {
        println!("branch '{name}' set up to track '{upstream}'.");
    }
    Ok(0)
}

fn list(git: &Git, wanted: &Wanted) -> Done {
    let pattern = wanted.plain.first().map(|pattern| pattern.trim_end_matches('*'));
    let current = git.branch()?;
    let mut lines: Vec<(String, String, Option<git2::Oid>)> = Vec::new();
    if let (None, Some(head), false) = (&current, git.head()?, wanted.remotes) {
        lines.push(("* ".into(), format!("(HEAD detached at {})", git.short(head.id())?), Some(head.id())));
    }
    let kinds = [(BranchType::Local, !wanted.remotes), (BranchType::Remote, wanted.remotes || wanted.all)];
    for (kind, _) in kinds.into_iter().filter(|(_, shown)| *shown) {
        let mut names = Vec::new();
        for branch in git.repository.branches(Some(kind))? {
            let (branch, _) = branch?;
            let name = String::from_utf8_lossy(branch.name_bytes()?).into_owned();
            if pattern.is_some_and(|pattern| !name.starts_with(pattern)) {
                continue;
            }
            let target =
                branch.get().symbolic_target()?.map(|to| to.trim_start_matches("refs/remotes/").to_owned());
            names.push((name, target, branch.get().target()));
        }
        names.sort();
        for (name, target, id) in names {
            let mark = if kind == BranchType::Local && current.as_ref() == Some(&name) { "* " } else { "  " };
            let prefix = if kind == BranchType::Remote && wanted.all { "remotes/" } else { "" };
            let shown = target.map_or(format!("{prefix}{name}"), |to| format!("{prefix}{name} -> {to}"));
            lines.push((mark.into(), shown, id));
        }
    }
    let mut out = output();
    if wanted.format.is_some() {
        // The only form that scripts ask for in practice is the bare name.
        let known = ["%(refname:short)"];
        let format = wanted.format.as_deref().unwrap_or_default();
        if !known.contains(&format) {
            return Err(Failure::fatal(format!(
                "the format '{format}' is not known here, only {}",
                known[0]
            )));
        }
        lines
            .iter()
            .try_for_each(|(_, name, _)| writeln!(out, "{}", name.split(" -> ").next().unwrap_or(name)))?;
        return said(out);
    }
    let width = lines.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
    for (mark, name, id) in lines {
        match id.filter(|_| wanted.verbose) {
            Some(id) => {
                let commit = git.repository.find_commit(id)?;
                let apart = match tracking(&git.repository, &name).ok().flatten() {
                    Some((_, Some((0, 0)))) | None => String::new(),
                    Some((_, None)) => "[gone] ".into(),
                    Some((_, Some((ahead, 0)))) => format!("[ahead {ahead}] "),
                    Some((_, Some((0, behind)))) => format!("[behind {behind}] "),
                    Some((_, Some((ahead, behind)))) => format!("[ahead {ahead}, behind {behind}] "),
                };
                writeln!(out, "{mark}{name:width$} {} {apart}{}", git.short(id)?, subject(&commit))?;
            }
            None => writeln!(out, "{mark}{name}")?,
        }
    }
    said(out)
}
