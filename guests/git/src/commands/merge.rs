//! `merge`, which `pull` ends with.

use std::io::Write as _;

use git2::build::CheckoutBuilder;
use git2::{Commit, DiffOptions, DiffStatsFormat, ErrorCode};

use super::checkout;
use super::diff::{Show, write_summary};
use crate::context::{Done, Failure, Git, Result, output, said};
use crate::words::{Word, Words, unknown};

/// What a merge is asked for besides the commit.
#[derive(Clone, Copy, Default)]
pub(super) struct Merging {
    /// Only if nothing has to be joined.
    pub(super) only_forward: bool,
    /// Says nothing but what went wrong.
    pub(super) quiet: bool,
}

/// `git merge`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut how, mut message, mut plain) = (Merging::default(), None, Vec::new());
    let mut words = Words::new(words, "m");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "--ff-only" => how.only_forward = true,
                "-q" | "--quiet" => how.quiet = true,
                "-m" => message = Some(words.value(&option)?),
                "--abort" => return abort(),
                "--ff" | "--no-edit" | "--stat" => {}
                _ => return unknown("merge", &option),
            },
        }
    }
    let [name] = plain.as_slice() else {
        return Err(Failure::fatal("one revision to merge has to be named"));
    };
    let git = Git::with_tree()?;
    let commit = git
        .commit(name)
        .map_err(|_| Failure::new(1, format!("merge: {name} - not something we can merge\n")))?;
    let message = message.unwrap_or_else(|| format!("Merge branch '{name}'"));
    into_head(&git, &commit, how, (name, &message))
}

fn abort() -> Done {
    let git = Git::with_tree()?;
    let Some(head) = git.head()? else { return Err(Failure::fatal("There is no merge to abort.")) };
    if !git.repository.path().join("MERGE_HEAD").exists() {
        return Err(Failure::fatal("There is no merge to abort (MERGE_HEAD missing)."));
    }
    git.repository.reset(head.as_object(), git2::ResetType::Hard, None)?;
    Ok(0)
}

/// Merges a commit into what is checked out.
fn into_head(git: &Git, commit: &Commit<'_>, how: Merging, named: (&str, &str)) -> Done {
    let Some(head) = git.head()? else {
        checkout::tree(git, commit.as_object(), false)?;
        return move_head(git, commit);
    };
    let repository = &git.repository;
    if head.id() == commit.id() || repository.graph_descendant_of(head.id(), commit.id())? {
        if !how.quiet {
            println!("Already up to date.");
        }
        return Ok(0);
    }
    if repository.graph_descendant_of(commit.id(), head.id())? {
        if !how.quiet {
            println!("Updating {}..{}", git.short(head.id())?, git.short(commit.id())?);
        }
        checkout::tree(git, commit.as_object(), false).map_err(|failure| {
            let text = failure.text.replace("by checkout:", "by merge:").replace("switch branches", "merge");
            Failure::new(1, text)
        })?;
        move_head(git, commit)?;
        return changed(git, how, "Fast-forward", [&head, commit]);
    }
    if how.only_forward {
        return Err(Failure::fatal("Not possible to fast-forward, aborting."));
    }
    join(git, &head, commit, how, named)
}

fn move_head(git: &Git, commit: &Commit<'_>) -> Done {
    let head = git.repository.find_reference("HEAD")?;
    match head.symbolic_target()? {
        Some(branch) => drop(git.repository.reference(branch, commit.id(), true, "merge: Fast-forward")?),
        None => git.repository.set_head_detached(commit.id())?,
    }
    Ok(0)
}

/// Two histories that went apart.
fn join(
    git: &Git,
    head: &Commit<'_>,
    commit: &Commit<'_>,
    how: Merging,
    (name, message): (&str, &str),
) -> Done {
    let repository = &git.repository;
    let nobody = |error: git2::Error| match error.code() {
        ErrorCode::NotFound => Failure::fatal("Committer identity unknown; set user.name and user.email"),
        _ => error.into(),
    };
    let author = repository.author_from_env().map_err(nobody)?;
    let committer = repository.committer_from_env().map_err(nobody)?;
    let other = repository.find_annotated_commit(commit.id())?;
    let mut options = CheckoutBuilder::new();
    options.safe().allow_conflicts(true).conflict_style_merge(true).our_label("HEAD").their_label(name);
    repository.merge(&[&other], None, Some(&mut options)).map_err(|error| match error.code() {
        ErrorCode::Conflict | ErrorCode::Uncommitted => Failure::new(
            1,
            "error: Your local changes would be overwritten by merge.\nPlease commit your changes or stash them before you \
             merge.\nAborting\n",
        ),
        _ => error.into(),
    })?;
    let mut index = repository.index()?;
    if index.has_conflicts() {
        std::fs::write(repository.path().join("MERGE_MSG"), format!("{message}\n"))?;
        for conflict in index.conflicts()? {
            let conflict = conflict?;
            let entry = conflict.our.or(conflict.their).or(conflict.ancestor);
            let path =
                entry.map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).unwrap_or_default();
            println!("CONFLICT (content): Merge conflict in {path}");
        }
        println!("Automatic merge failed; fix conflicts and then commit the result.");
        return Ok(1);
    }
    let tree = repository.find_tree(index.write_tree()?)?;
    let text = git2::message_prettify(message, None)?;
    let id = repository.commit(Some("HEAD"), &author, &committer, &text, &tree, &[head, commit])?;
    repository.cleanup_state()?;
    changed(git, how, "Merge made by the 'ort' strategy.", [head, &repository.find_commit(id)?])
}

/// Says how it was merged and what changed.
fn changed(git: &Git, how: Merging, merged: &str, [before, after]: [&Commit<'_>; 2]) -> Done {
    if how.quiet {
        return Ok(0);
    }
    println!("{merged}");
    let mut options = DiffOptions::new();
    let (old, new) = (before.tree()?, after.tree()?);
    let mut diff = git.repository.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
    Show::default().settle(&mut diff)?;
    let mut out = output();
    if diff.deltas().len() > 0 {
        out.write_all(&diff.stats()?.to_buf(DiffStatsFormat::FULL, 80)?)?;
        write_summary(&diff, &mut out)?;
    }
    said(out)
}

/// As `pull` says it.
pub(super) fn pulled(git: &Git, name: &str, id: git2::Oid, how: Merging) -> Result<i32> {
    let commit = git.repository.find_commit(id)?;
    let forward = match git.head()? {
        None => true,
        Some(head) => {
            head.id() == id
                || git.repository.graph_descendant_of(id, head.id())?
                || git.repository.graph_descendant_of(head.id(), id)?
        }
    };
    if !forward && !how.only_forward {
        return Err(Failure::fatal(
            "Need to specify how to reconcile divergent branches; merge them with `git merge`, or use --ff-only.",
        ));
    }
    into_head(git, &commit, how, (name, &format!("Merge {name}")))
}
