//! `reset`.

use git2::{Delta, ResetType};

use crate::context::{Done, Failure, Git, Result, unknown_revision};
use crate::format::subject;
use crate::index::tracked;
use crate::paths::quoted;
use crate::words::{Word, Words, unknown};

/// `git reset`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut kind, mut quiet) = (None, false);
    let (mut plain, mut paths) = (Vec::new(), Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) if words.marked() => paths.push(word),
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "--soft" => kind = Some(ResetType::Soft),
                "--mixed" => kind = Some(ResetType::Mixed),
                "--hard" => kind = Some(ResetType::Hard),
                "-q" | "--quiet" => quiet = true,
                _ => return unknown("reset", &option),
            },
        }
    }
    let git = Git::find()?;
    let revision = match plain.first() {
        Some(name) if git.repository.revparse_single(name).is_ok() => Some(plain.remove(0)),
        Some(name) if git.here.join(name).symlink_metadata().is_err() && paths.is_empty() => {
            // What was removed can be named too.
            let below = git.below_root(name)?;
            if !tracked(&git.repository.index()?, &below) {
                return Err(unknown_revision(name));
            }
            None
        }
        _ => None,
    };
    plain.append(&mut paths);
    let revision = revision.unwrap_or_else(|| "HEAD".into());
    if !plain.is_empty() {
        if kind.is_some() {
            return Err(Failure::fatal("Cannot do a hard, soft or mixed reset with paths."));
        }
        let specs: Vec<String> = plain.iter().map(|path| git.below_root(path)).collect::<Result<_>>()?;
        let specs = specs.iter().map(|path| if path.is_empty() { "*" } else { path.as_str() });
        let commit = git.head()?.map(|_| git.commit(&revision)).transpose()?;
        git.repository.reset_default(commit.as_ref().map(|commit| commit.as_object()), specs)?;
    } else if git.head()?.is_none() {
        let mut index = git.repository.index()?;
        index.clear()?;
        index.write()?;
        return Ok(0);
    } else {
        let commit = git.commit(&revision)?;
        git.repository.reset(commit.as_object(), kind.unwrap_or(ResetType::Mixed), None)?;
        if kind == Some(ResetType::Hard) && !quiet {
            println!("HEAD is now at {} {}", git.short(commit.id())?, subject(&commit));
        }
    }
    if !quiet && matches!(kind, None | Some(ResetType::Mixed)) {
        unstaged(&git)?;
    }
    Ok(0)
}

fn unstaged(git: &Git) -> Result<()> {
    let diff = git.repository.diff_index_to_workdir(None, None)?;
    let mut first = true;
    for delta in diff.deltas() {
        let letter = match delta.status() {
            Delta::Modified => 'M',
            Delta::Deleted => 'D',
            Delta::Typechange => 'T',
            _ => continue,
        };
        if std::mem::take(&mut first) {
            println!("Unstaged changes after reset:");
        }
        println!("{letter}\t{}", quoted(delta.old_file().path_bytes().unwrap_or_default(), false));
    }
    Ok(())
}
