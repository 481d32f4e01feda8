//! `add`.

use git2::{IndexAddOption, Status};

use crate::context::{Done, Failure, Git, Result};
use crate::index::{is_folder_of, tracked};
use crate::words::{Word, Words, unknown};

/// What is done with the paths.
#[derive(Default)]
struct How {
    /// All changes, wherever they are.
    all: bool,
    /// Only files that are tracked.
    update: bool,
    force: bool,
    dry: bool,
    verbose: bool,
}

/// `git add`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut how, mut paths) = (How::default(), Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(path) => paths.push(path),
            Word::Option(option) => match option.as_str() {
                "-A" | "--all" | "--no-ignore-removal" => how.all = true,
                "-u" | "--update" => how.update = true,
                "-f" | "--force" => how.force = true,
                "-n" | "--dry-run" => how.dry = true,
                "-v" | "--verbose" => how.verbose = true,
                _ => return unknown("add", &option),
            },
        }
    }
    let git = Git::with_tree()?;
    if paths.is_empty() && !how.all && !how.update {
        eprint!(
            "Nothing specified, nothing added.\nhint: Maybe you wanted to say 'git add .'?\n\
             hint: Disable this message with \"git config advice.addEmptyPathspec false\"\n"
        );
        return Ok(0);
    }
    let below: Vec<String> = paths.iter().map(|path| git.below_root(path)).collect::<Result<_>>()?;
    check(&git, &how, &paths, &below)?;
    let mut index = git.repository.index()?;
    let mut changed = Vec::new();
    {
        let mut seen = |path: &std::path::Path, _: &[u8]| {
            changed.push(path.to_path_buf());
            i32::from(how.dry)
        };
        let specs = below.iter().map(|path| if path.is_empty() { "*" } else { path.as_str() });
        let specs: Vec<&str> = if below.is_empty() { vec!["*"] } else { specs.collect() };
        if how.update {
            index.update_all(&specs, Some(&mut seen))?;
        } else {
            let options = if how.force { IndexAddOption::FORCE } else { IndexAddOption::DEFAULT };
            index.add_all(&specs, options, Some(&mut seen))?;
        }
    }
    if how.verbose || how.dry {
        for path in changed {
            let what = if git.root.join(&path).symlink_metadata().is_ok() { "add" } else { "remove" };
            println!("{what} '{}'", path.display());
        }
    }
    if !how.dry {
        index.write()?;
    }
    Ok(0)
}

/// Every path names something, and nothing that is ignored is named by itself.
fn check(git: &Git, how: &How, written: &[String], below: &[String]) -> Result<()> {
    let index = git.repository.index()?;
    let mut ignored = Vec::new();
    for (written, path) in written.iter().zip(below) {
        let there = git.root.join(path).symlink_metadata().is_ok();
        let known = tracked(&index, path) || is_folder_of(&index, path);
        let pattern = path.contains(['*', '?', '[']);
        if !there && !known && !pattern {
            return Err(Failure::fatal(format!("pathspec '{written}' did not match any files")));
        }
        if pattern && !there && !matches(git, path)? {
            return Err(Failure::fatal(format!("pathspec '{written}' did not match any files")));
        }
        if there && !known && !how.force && !path.is_empty() && git.repository.is_path_ignored(path)? {
            ignored.push(path.clone());
        }
    }
    if ignored.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        1,
        format!(
            "The following paths are ignored by one of your .gitignore files:\n{}\nhint: Use -f if you really want to add \
             them.\nhint: Disable this message with \"git config advice.addIgnoredFile false\"\n",
            ignored.join("\n")
        ),
    ))
}

/// Whether a pattern fits any file, tracked or not.
fn matches(git: &Git, pattern: &str) -> Result<bool> {
    let mut options = git2::StatusOptions::new();
    options.pathspec(pattern).include_untracked(true).include_unmodified(true).recurse_untracked_dirs(true);
    let found = git.repository.statuses(Some(&mut options))?;
    Ok(found.iter().any(|entry| entry.status() != Status::IGNORED))
}
