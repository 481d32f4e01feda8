//! `rm`, `mv` and `ls-files`.

use std::fs;
use std::io::Write as _;

use git2::{Delta, StatusOptions};

use crate::context::{Done, Failure, Git, Result, output, said};
use crate::index::{is_folder_of, tracked};
use crate::paths::{quoted, seen_from};
use crate::usage;
use crate::words::{Word, Words, unknown};

/// `git rm`.
pub(super) fn remove(words: Vec<String>) -> Done {
    let (mut cached, mut force, mut deep, mut quiet, mut paths) = (false, false, false, false, Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(path) => paths.push(path),
            Word::Option(option) => match option.as_str() {
                "--cached" => cached = true,
                "-f" | "--force" => force = true,
                "-r" => deep = true,
                "-q" | "--quiet" => quiet = true,
                "--ignore-unmatch" => {}
                _ => return unknown("rm", &option),
            },
        }
    }
    if paths.is_empty() {
        return Err(Failure::fatal("No pathspec was given. Which files should I remove?"));
    }
    let git = Git::with_tree()?;
    let mut index = git.repository.index()?;
    let mut gone = Vec::new();
    for written in &paths {
        let path = git.below_root(written)?;
        if tracked(&index, &path) {
            gone.push(path);
        } else if is_folder_of(&index, &path) {
            if !deep {
                return Err(Failure::fatal(format!("not removing '{written}' recursively without -r")));
            }
            let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
            let names = index.iter().map(|entry| String::from_utf8_lossy(&entry.path).into_owned());
            gone.extend(names.filter(|name| name.starts_with(&prefix)));
        } else {
            return Err(Failure::fatal(format!("pathspec '{written}' did not match any files")));
        }
    }
    if !force {
        check_unchanged(&git, &gone, cached)?;
    }
    for path in &gone {
        index.remove_path(path.as_ref())?;
        if !cached {
            remove_file(&git, path);
        }
        if !quiet {
            println!("rm '{path}'");
        }
    }
    index.write()?;
    Ok(0)
}

/// Removes a file and the folders that this leaves empty.
fn remove_file(git: &Git, path: &str) {
    let whole = git.root.join(path);
    let _ = fs::remove_file(&whole);
    for folder in
        whole.ancestors().skip(1).take_while(|folder| folder.starts_with(&git.root) && **folder != *git.root)
    {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

fn check_unchanged(git: &Git, paths: &[String], cached: bool) -> Result<()> {
    for path in paths {
        let status = git.repository.status_file(path.as_ref())?;
        let staged = status.is_index_modified() || status.is_index_new();
        let local = status.is_wt_modified();
        if staged && (local || !cached) {
            return Err(Failure::error(format!(
                "the following file has changes staged in the index:\n    {path}\n\
                 (use --cached to keep the file, or -f to force removal)"
            )));
        }
        if local && !cached {
            return Err(Failure::error(format!(
                "the following file has local modifications:\n    {path}\n\
                 (use --cached to keep the file, or -f to force removal)"
            )));
        }
    }
    Ok(())
}

/// `git mv`.
pub(super) fn rename(words: Vec<String>) -> Done {
    let (mut force, mut plain) = (false, Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(path) => plain.push(path),
            Word::Option(option) => match option.as_str() {
                "-f" | "--force" => force = true,
                "-v" | "--verbose" => {}
                _ => return unknown("mv", &option),
            },
        }
    }
    let Some(to) = plain.pop().filter(|_| !plain.is_empty()) else {
        return Err(Failure::new(129, format!("usage here: git {}\n", usage::of("mv"))));
    };
    let git = Git::with_tree()?;
    let mut index = git.repository.index()?;
    let target = git.below_root(&to)?;
    let into_folder = git.root.join(&target).is_dir();
    if plain.len() > 1 && !into_folder {
        return Err(Failure::fatal(format!("destination '{to}' is not a directory")));
    }
    for written in &plain {
        let from = git.below_root(written)?;
        let name = from.rsplit('/').next().unwrap_or(&from);
        let to = match (into_folder, target.is_empty()) {
            (true, true) => name.to_owned(),
            (true, false) => format!("{target}/{name}"),
            _ => target.clone(),
        };
        let bad = |why: &str| Failure::fatal(format!("{why}, source={written}, destination={to}"));
        let tracked = tracked(&index, &from);
        if !tracked && !is_folder_of(&index, &from) {
            let there = git.root.join(&from).exists();
            return Err(bad(if there { "not under version control" } else { "bad source" }));
        }
        if git.root.join(&to).exists() && !force {
            return Err(bad("destination exists"));
        }
        fs::rename(git.root.join(&from), git.root.join(&to))
            .map_err(|error| Failure::fatal(format!("renaming '{written}' failed: {error}")))?;
        let moved: Vec<_> = index
            .iter()
            .filter(|entry| {
                let path = String::from_utf8_lossy(&entry.path);
                path == from || path.strip_prefix(&from).is_some_and(|rest| rest.starts_with('/'))
            })
            .collect();
        for mut entry in moved {
            let old = String::from_utf8_lossy(&entry.path).into_owned();
            entry.path = format!("{to}{}", &old[from.len()..]).into_bytes();
            index.remove_path(old.as_ref())?;
            index.add(&entry)?;
        }
    }
    index.write()?;
    Ok(0)
}

/// `git ls-files`.
pub(super) fn list(words: Vec<String>) -> Done {
    let (mut stage, mut others, mut modified, mut deleted, mut cached) = (false, false, false, false, false);
    let (mut zero, mut standard, mut paths) = (false, false, Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(path) => paths.push(path),
            Word::Option(option) => match option.as_str() {
                "-s" | "--stage" => stage = true,
                "-o" | "--others" => others = true,
                "-m" | "--modified" => modified = true,
                "-d" | "--deleted" => deleted = true,
                "-c" | "--cached" => cached = true,
                "-z" => zero = true,
                "--exclude-standard" => standard = true,
                _ => return unknown("ls-files", &option),
            },
        }
    }
    let git = Git::find()?;
    let below: Vec<String> = paths.iter().map(|path| git.below_root(path)).collect::<Result<_>>()?;
    let prefix = git.prefix().to_string_lossy().into_owned();
    let within = |name: &str, folder: &str| {
        folder.is_empty()
            || name == folder
            || name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let wanted = |name: &str| {
        if below.is_empty() { within(name, &prefix) } else { below.iter().any(|path| within(name, path)) }
    };
    let mut lines: Vec<(String, String)> = Vec::new();
    let index = git.repository.index()?;
    if cached || stage || !(others || modified || deleted) {
        for entry in index.iter() {
            let name = String::from_utf8_lossy(&entry.path).into_owned();
            let number = (entry.flags >> 12) & 3;
            let front =
                if stage { format!("{:06o} {} {number}\t", entry.mode, entry.id) } else { String::new() };
            lines.push((front, name));
        }
    }
    if others {
        let mut options = StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true);
        options.include_ignored(!standard).recurse_ignored_dirs(!standard);
        for entry in git.repository.statuses(Some(&mut options))?.iter() {
            if entry.status().is_wt_new() || entry.status().is_ignored() {
                lines.push((String::new(), String::from_utf8_lossy(entry.path_bytes()).into_owned()));
            }
        }
    }
    if modified || deleted {
        for delta in git.repository.diff_index_to_workdir(None, None)?.deltas() {
            let gone = delta.status() == Delta::Deleted;
            if modified || gone {
                let name = delta.old_file().path_bytes().unwrap_or_default();
                lines.push((String::new(), String::from_utf8_lossy(name).into_owned()));
            }
        }
    }
    lines.retain(|(_, name)| wanted(name));
    let mut out = output();
    for (front, name) in lines {
        let seen = seen_from(git.prefix(), &name);
        match zero {
            true => write!(out, "{front}{seen}\0")?,
            false => writeln!(out, "{front}{}", quoted(seen.as_bytes(), false))?,
        }
    }
    said(out)
}
