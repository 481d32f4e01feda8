//! `checkout`, `switch` and `restore`.

use std::cell::RefCell;

use git2::build::CheckoutBuilder;
use git2::{BranchType, CheckoutNotificationType, Commit, ErrorCode, Object};

use super::branch;
use super::status::tracking_text;
use crate::context::{Done, Failure, Git, Result, unknown_revision};
use crate::format::subject;
use crate::index::{is_folder_of, tracked};
use crate::words::{Word, Words, unknown};

/// A move to a branch or a commit.
#[derive(Default)]
struct Move {
    /// Makes the branch.
    create: Option<String>,
    /// Even where it is.
    reset: bool,
    detach: bool,
    force: bool,
    quiet: bool,
    plain: Vec<String>,
    paths: Vec<String>,
    marked: bool,
}

impl Move {
    fn read(command: &str, words: Vec<String>) -> Result<Self> {
        let (make, remake) = if command == "switch" { ("-c", "-C") } else { ("-b", "-B") };
        let mut wanted = Self::default();
        let mut words = Words::new(words, "bBcC");
        while let Some(word) = words.next() {
            match word {
                Word::Plain(word) if words.marked() => wanted.paths.push(word),
                Word::Plain(word) => wanted.plain.push(word),
                Word::Option(option) => match option.as_str() {
                    "--create" => wanted.create = Some(words.value(&option)?),
                    name if name == make => wanted.create = Some(words.value(&option)?),
                    name if name == remake => {
                        (wanted.create, wanted.reset) = (Some(words.value(&option)?), true);
                    }
                    "-f" | "--force" | "--discard-changes" => wanted.force = true,
                    "-d" | "--detach" => wanted.detach = true,
                    "-q" | "--quiet" => wanted.quiet = true,
                    "--track" | "-t" | "--no-track" | "--guess" | "--no-progress" => drop(words.inline()),
                    _ => return unknown(command, &option),
                },
            }
        }
        wanted.marked = words.marked();
        Ok(wanted)
    }
}

/// `git switch`.
pub(super) fn switch(words: Vec<String>) -> Done {
    let mut wanted = Move::read("switch", words)?;
    wanted.plain.append(&mut wanted.paths);
    let git = Git::with_tree()?;
    if wanted.create.is_none() && wanted.plain.is_empty() {
        return Err(Failure::fatal("missing branch or commit argument"));
    }
    if let ([name], None, false) = (wanted.plain.as_slice(), &wanted.create, wanted.detach) {
        let known = name == "-"
            || git.repository.find_branch(name, BranchType::Local).is_ok()
            || remote_of(&git, name)?.is_some();
        if !known && git.commit(name).is_ok() {
            return Err(Failure::new(
                128,
                format!(
                    "fatal: a branch is expected, got commit '{name}'\nhint: If you want to detach HEAD at the commit, try \
                     again with the --detach option.\n"
                ),
            ));
        }
        if !known {
            return Err(Failure::fatal(format!("invalid reference: {name}")));
        }
    }
    go(&git, &wanted)
}

/// `git checkout`.
pub(super) fn checkout(words: Vec<String>) -> Done {
    let mut wanted = Move::read("checkout", words)?;
    let git = Git::with_tree()?;
    if wanted.create.is_some() {
        return go(&git, &wanted);
    }
    let names_branch = |name: &str| -> Result<bool> {
        Ok(name == "-" || git.commit(name).is_ok() || remote_of(&git, name)?.is_some())
    };
    if wanted.marked
        || wanted.plain.len() > 1
        || !wanted.plain.first().map_or(Ok(true), |name| names_branch(name))?
    {
        let source = match wanted.plain.first() {
            Some(name) if git.repository.revparse_single(name).is_ok() => Some(wanted.plain.remove(0)),
            _ => None,
        };
        wanted.plain.append(&mut wanted.paths);
        if wanted.plain.is_empty() {
            return Err(Failure::fatal("no path was named"));
        }
        let count = take_paths(&git, source.as_deref(), &wanted.plain, [source.is_some(), true])?;
        let what = if count == 1 { "path" } else { "paths" };
        let from = match &source {
            Some(source) => git.short(git.repository.revparse_single(source)?.peel_to_tree()?.id())?,
            None => "the index".into(),
        };
        if !wanted.quiet {
            eprintln!("Updated {count} {what} from {from}");
        }
        return Ok(0);
    }
    go(&git, &wanted)
}

/// The branch of a remote repository that a name would follow.
fn remote_of(git: &Git, name: &str) -> Result<Option<String>> {
    let remotes = git.repository.remotes()?;
    let mut found = None;
    for remote in remotes.iter().flatten().flatten() {
        let full = format!("{remote}/{name}");
        if git.repository.find_branch(&full, BranchType::Remote).is_ok() {
            found = Some(full);
        }
    }
    Ok(found)
}

/// The branch before the last move.
fn previous(git: &Git) -> Result<String> {
    let log = git.repository.reflog("HEAD")?;
    for entry in log.iter() {
        let message = entry.message().ok().flatten().unwrap_or_default();
        if let Some((from, _)) =
            message.strip_prefix("checkout: moving from ").and_then(|rest| rest.rsplit_once(" to "))
        {
            return Ok(from.to_owned());
        }
    }
    Err(Failure::fatal("invalid reference: @{-1}"))
}

fn go(git: &Git, wanted: &Move) -> Done {
    let mut target = wanted.plain.first().cloned();
    if target.as_deref() == Some("-") {
        target = Some(previous(git)?);
    }
    let before = git.head()?;
    if let (Some(name), None) = (&wanted.create, &before)
        && target.is_none()
    {
        git.repository.set_head(&format!("refs/heads/{name}"))?;
        eprintln!("Switched to a new branch '{name}'");
        return Ok(0);
    }
    let from = git.branch()?;
    if let Some(name) = &wanted.create {
        let start = target.as_deref().unwrap_or("HEAD");
        let commit = git.commit(start).map_err(|_| not_a_commit(start, name))?;
        let exists = git.repository.find_branch(name, BranchType::Local).is_ok();
        if exists && !wanted.reset {
            return Err(Failure::fatal(format!("a branch named '{name}' already exists")));
        }
        tree(git, commit.as_object(), wanted.force)?;
        if from.as_ref() != Some(name) {
            branch::create(git, name, &commit, wanted.reset)?;
            attach(git, name)?;
        } else {
            git.repository.reset(commit.as_object(), git2::ResetType::Soft, None)?;
        }
        announce(
            git,
            wanted,
            &match (exists, from.as_ref() == Some(name)) {
                (true, true) => format!("Reset branch '{name}'"),
                (true, false) => format!("Switched to and reset branch '{name}'"),
                _ => format!("Switched to a new branch '{name}'"),
            },
        );
        if let Ok(remote) = git.repository.find_branch(start, BranchType::Remote) {
            let full = remote.name()?.unwrap_or_default().to_owned();
            track(git, name, &full)?;
        }
        return Ok(0);
    }
    let Some(name) = target else { return Ok(0) };
    if !wanted.detach && git.repository.find_branch(&name, BranchType::Local).is_ok() {
        let commit = git.commit(&format!("refs/heads/{name}"))?;
        tree(git, commit.as_object(), wanted.force)?;
        if from.as_ref() == Some(&name) {
            announce(git, wanted, &format!("Already on '{name}'"));
        } else {
            leave(git, &from, before.as_ref(), &commit)?;
            attach(git, &name)?;
            announce(git, wanted, &format!("Switched to branch '{name}'"));
        }
        kept_changes(git, wanted)?;
        if !wanted.quiet {
            print!("{}", tracking_text(&git.repository, &name)?);
        }
        return Ok(0);
    }
    if let (false, Err(_), Some(full)) = (wanted.detach, git.commit(&name), remote_of(git, &name)?) {
        let commit = git.commit(&full)?;
        tree(git, commit.as_object(), wanted.force)?;
        branch::create(git, &name, &commit, false)?;
        attach(git, &name)?;
        announce(git, wanted, &format!("Switched to a new branch '{name}'"));
        track(git, &name, &full)?;
        return Ok(0);
    }
    let commit = git
        .commit(&name)
        .map_err(|_| Failure::error(format!("pathspec '{name}' did not match any file(s) known to git")))?;
    tree(git, commit.as_object(), wanted.force)?;
    let was_detached = from.is_none();
    leave(git, &from, before.as_ref(), &commit)?;
    git.repository.set_head_detached(commit.id())?;
    if !wanted.quiet && !was_detached && !wanted.detach {
        eprint!("{}", detached_note(&name));
    }
    announce(git, wanted, &format!("HEAD is now at {} {}", git.short(commit.id())?, subject(&commit)));
    Ok(0)
}

fn not_a_commit(start: &str, name: &str) -> Failure {
    Failure::fatal(format!("'{start}' is not a commit and a branch '{name}' cannot be created from it"))
}

fn detached_note(name: &str) -> String {
    format!(
        "Note: switching to '{name}'.\n\nYou are in 'detached HEAD' state. You can look around, make experimental\n\
         changes and commit them, and you can discard any commits you make in this\n\
         state without impacting any branches by switching back to a branch.\n\n\
         If you want to create a new branch to retain commits you create, you may\n\
         do so (now or later) by using -c with the switch command. Example:\n\n  \
         git switch -c <new-branch-name>\n\nOr undo this operation with:\n\n  git switch -\n\n\
         Turn off this advice by setting config variable advice.detachedHead to false\n\n"
    )
}

/// Says where one was, when that had no branch.
fn leave(git: &Git, from: &Option<String>, before: Option<&Commit<'_>>, to: &Commit<'_>) -> Result<()> {
    if let (None, Some(before)) = (from, before)
        && before.id() != to.id()
    {
        eprintln!("Previous HEAD position was {} {}", git.short(before.id())?, subject(before));
    }
    Ok(())
}

fn attach(git: &Git, name: &str) -> Result<()> {
    Ok(git.repository.set_head(&format!("refs/heads/{name}"))?)
}

fn track(git: &Git, name: &str, full: &str) -> Result<()> {
    git.repository.find_branch(name, BranchType::Local)?.set_upstream(Some(full))?;
    println!("branch '{name}' set up to track '{full}'.");
    Ok(())
}

fn announce(_: &Git, wanted: &Move, text: &str) {
    if !wanted.quiet {
        eprintln!("{text}");
    }
}

/// The changes that stay, as git lists them after a move.
fn kept_changes(git: &Git, wanted: &Move) -> Result<()> {
    if wanted.quiet {
        return Ok(());
    }
    let head = git.head()?.map(|head| head.tree()).transpose()?;
    let diff = git.repository.diff_tree_to_workdir_with_index(head.as_ref(), None)?;
    for delta in diff.deltas() {
        let letter = match delta.status() {
            git2::Delta::Added => 'A',
            git2::Delta::Deleted => 'D',
            git2::Delta::Modified => 'M',
            git2::Delta::Typechange => 'T',
            _ => continue,
        };
        let file = if letter == 'D' { delta.old_file() } else { delta.new_file() };
        println!("{letter}\t{}", crate::paths::quoted(file.path_bytes().unwrap_or_default(), false));
    }
    Ok(())
}

/// Makes the working tree a commit's, without losing what is in it.
pub(super) fn tree(git: &Git, target: &Object<'_>, force: bool) -> Result<()> {
    let conflicts = RefCell::new(Vec::new());
    let done = {
        let mut options = CheckoutBuilder::new();
        if force {
            options.force();
        } else {
            options.safe();
        }
        options.notify_on(CheckoutNotificationType::CONFLICT);
        options.notify(|_, path, _, _, _| {
            conflicts.borrow_mut().extend(path.map(|path| path.to_string_lossy().into_owned()));
            true
        });
        git.repository.checkout_tree(target, Some(&mut options))
    };
    match done {
        Ok(()) => Ok(()),
        Err(error) if error.code() == ErrorCode::Conflict => {
            let index = git.repository.index()?;
            let names = conflicts.into_inner();
            let (tracked, others): (Vec<String>, Vec<String>) =
                names.into_iter().partition(|path| tracked(&index, path));
            let list = |paths: &[String]| paths.iter().map(|path| format!("\t{path}\n")).collect::<String>();
            let mut text = String::new();
            if !tracked.is_empty() {
                text.push_str(&format!(
                    "error: Your local changes to the following files would be overwritten by checkout:\n{}\
                     Please commit your changes or stash them before you switch branches.\n",
                    list(&tracked)
                ));
            }
            if !others.is_empty() {
                text.push_str(&format!(
                    "error: The following untracked working tree files would be overwritten by checkout:\n{}\
                     Please move or remove them before you switch branches.\n",
                    list(&others)
                ));
            }
            Err(Failure::new(1, format!("{text}Aborting\n")))
        }
        Err(error) => Err(error.into()),
    }
}

/// `git restore`.
pub(super) fn restore(words: Vec<String>) -> Done {
    let (mut staged, mut worktree, mut source, mut paths) = (false, false, None, Vec::new());
    let mut words = Words::new(words, "s");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(path) => paths.push(path),
            Word::Option(option) => match option.as_str() {
                "-S" | "--staged" => staged = true,
                "-W" | "--worktree" => worktree = true,
                "-s" | "--source" => source = Some(words.value(&option)?),
                "-q" | "--quiet" => {}
                _ => return unknown("restore", &option),
            },
        }
    }
    if paths.is_empty() {
        return Err(Failure::fatal("you must specify path(s) to restore"));
    }
    let git = Git::with_tree()?;
    if staged && source.is_none() {
        source = Some("HEAD".into());
    }
    take_paths(&git, source.as_deref(), &paths, [staged, worktree || !staged])?;
    Ok(0)
}

/// Takes paths from a commit or the index into the index, the working tree or both; the answer is how many changed.
fn take_paths(git: &Git, source: Option<&str>, written: &[String], into: [bool; 2]) -> Result<usize> {
    let below: Vec<String> = written.iter().map(|path| git.below_root(path)).collect::<Result<_>>()?;
    let object = source
        .map(|name| git.repository.revparse_single(name).map_err(|_| unknown_revision(name)))
        .transpose()?;
    let tree = object.as_ref().map(|object| object.peel_to_tree()).transpose()?;
    let mut index = git.repository.index()?;
    for (written, path) in written.iter().zip(&below) {
        let in_tree =
            tree.as_ref().is_some_and(|tree| path.is_empty() || tree.get_path(path.as_ref()).is_ok());
        let in_index = tracked(&index, path) || is_folder_of(&index, path);
        let pattern = path.contains(['*', '?', '[']);
        let known = if into[0] {
            in_tree || in_index
        } else if tree.is_some() {
            in_tree
        } else {
            in_index
        };
        if !known && !pattern {
            return Err(Failure::error(format!(
                "pathspec '{written}' did not match any file(s) known to git"
            )));
        }
    }
    let specs: Vec<&str> =
        below.iter().map(|path| if path.is_empty() { "*" } else { path.as_str() }).collect();
    if into[0] && tree.is_some() {
        if git.head()?.is_some() {
            let commit = object.as_ref().map(|object| object.peel(git2::ObjectType::Commit)).transpose()?;
            git.repository.reset_default(commit.as_ref(), &specs)?;
        } else {
            index.remove_all(&specs, None)?;
            index.write()?;
        }
        index.read(true)?;
    }
    if !into[1] {
        return Ok(0);
    }
    let count = RefCell::new(0);
    {
        let mut options = CheckoutBuilder::new();
        options.force().update_index(into[0] || source.is_none());
        for path in &specs {
            options.path(*path);
        }
        options.notify_on(CheckoutNotificationType::UPDATED);
        options.notify(|_, _, _, _, _| {
            *count.borrow_mut() += 1;
            true
        });
        match &tree {
            Some(tree) => git.repository.checkout_tree(tree.as_object(), Some(&mut options))?,
            None => git.repository.checkout_index(Some(&mut index), Some(&mut options))?,
        }
    }
    Ok(count.into_inner())
}
