//! `remote`, `fetch`, `pull` and `push`.

use std::cell::RefCell;

use git2::{
    AutotagOption, BranchType, ErrorCode, FetchOptions, FetchPrune, Oid, PushOptions, Remote, RemoteCallbacks,
};

use super::merge;
use crate::context::{Done, Failure, Git, Result};
use crate::usage;
use crate::web::without_login;
use crate::words::{Word, Words, number, unknown};

/// `git remote`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut verbose, mut plain) = (false, Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "-v" | "--verbose" => verbose = true,
                _ => return unknown("remote", &option),
            },
        }
    }
    let git = Git::find()?;
    let missing = |name: &str| Failure::new(2, format!("error: No such remote '{name}'\n"));
    let known = |name: &str| git.repository.find_remote(name).map_err(|_| missing(name));
    match plain.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => list(&git, verbose)?,
        ["add", name, address] => match git.repository.remote(name, address) {
            Err(error) if error.code() == ErrorCode::Exists => {
                return Err(Failure::new(3, format!("error: remote {name} already exists.\n")));
            }
            done => drop(done?),
        },
        ["remove" | "rm", name] => {
            known(name)?;
            git.repository.remote_delete(name)?;
        }
        ["rename", old, new] => {
            known(old)?;
            git.repository.remote_rename(old, new)?;
        }
        ["get-url", name] => println!("{}", known(name)?.url()?),
        ["set-url", name, address] => {
            known(name)?;
            git.repository.remote_set_url(name, address)?;
        }
        _ => return Err(Failure::new(129, format!("usage here: git {}\n", usage::of("remote")))),
    }
    Ok(0)
}

fn list(git: &Git, verbose: bool) -> Result<()> {
    for name in git.repository.remotes()?.iter().flatten().flatten() {
        if !verbose {
            println!("{name}");
            continue;
        }
        let remote = git.repository.find_remote(name)?;
        let push = remote.pushurl()?.unwrap_or(remote.url()?);
        println!("{name}\t{} (fetch)\n{name}\t{push} (push)", remote.url()?);
    }
    Ok(())
}

/// How a fetch is done.
#[derive(Default)]
struct Fetching {
    prune: bool,
    tags: bool,
    all: bool,
    quiet: bool,
    depth: Option<usize>,
}

/// `git fetch`.
pub(super) fn fetch(words: Vec<String>) -> Done {
    let (mut how, mut plain) = (Fetching::default(), Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "--all" => how.all = true,
                "-p" | "--prune" => how.prune = true,
                "-t" | "--tags" => how.tags = true,
                "-q" | "--quiet" => how.quiet = true,
                "--depth" => how.depth = Some(number("depth", &words.value(&option)?)?),
                "--unshallow" => how.depth = Some(i32::MAX as usize),
                "-v" | "--verbose" | "--progress" | "--no-tags" => {}
                _ => return unknown("fetch", &option),
            },
        }
    }
    let git = Git::find()?;
    if how.all {
        for name in git.repository.remotes()?.iter().flatten().flatten() {
            fetch_from(&git, name, &[], &how)?;
        }
        return Ok(0);
    }
    let name = if plain.is_empty() { remote_name(&git)? } else { plain.remove(0) };
    fetch_from(&git, &name, &plain, &how)?;
    Ok(0)
}

/// The remote that the branch follows; `origin` otherwise.
fn remote_name(git: &Git) -> Result<String> {
    let followed = git.branch()?.and_then(|branch| {
        let name = git.repository.branch_upstream_remote(&format!("refs/heads/{branch}")).ok()?;
        name.as_str().ok().map(str::to_owned)
    });
    Ok(followed.unwrap_or_else(|| "origin".into()))
}

fn find<'a>(git: &'a Git, name: &str) -> Result<Remote<'a>> {
    let address = name.contains("://") || name.starts_with(['/', '.']);
    let found =
        if address { git.repository.remote_anonymous(name) } else { git.repository.find_remote(name) };
    found.map_err(|_| {
        Failure::fatal(format!(
            "'{name}' does not appear to be a git repository\nfatal: Could not read from remote repository.\n\n\
             Please make sure you have the correct access rights\nand the repository exists."
        ))
    })
}

fn fetch_from(git: &Git, name: &str, specs: &[String], how: &Fetching) -> Result<()> {
    let mut remote = find(git, name)?;
    let (url, _) = without_login(remote.url()?);
    let lines = RefCell::new(Vec::new());
    {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.update_tips(|reference, old, new| {
            lines.borrow_mut().push((reference.to_owned(), old, new));
            true
        });
        let mut options = FetchOptions::new();
        options.remote_callbacks(callbacks);
        options.prune(if how.prune { FetchPrune::On } else { FetchPrune::Unspecified });
        if how.tags {
            options.download_tags(AutotagOption::All);
        }
        if let Some(depth) = how.depth {
            options.depth(i32::try_from(depth).unwrap_or(i32::MAX));
        }
        remote.fetch(specs, Some(&mut options), None)?;
    }
    let lines = lines.into_inner();
    if how.quiet || lines.is_empty() {
        return Ok(());
    }
    eprintln!("From {}", url.trim_end_matches('/').trim_end_matches(".git"));
    for (reference, old, new) in lines {
        eprintln!("{}", tip(git, &reference, old, new)?);
    }
    Ok(())
}

/// A moved name as `fetch` lists it.
fn tip(git: &Git, reference: &str, old: Oid, new: Oid) -> Result<String> {
    let tag = reference.strip_prefix("refs/tags/");
    let local = tag.unwrap_or_else(|| reference.trim_start_matches("refs/remotes/"));
    let remote = tag.unwrap_or_else(|| local.split_once('/').map_or(local, |(_, name)| name));
    let arrow = format!("{remote:10} -> {local}");
    Ok(match (old.is_zero(), new.is_zero()) {
        (true, _) if tag.is_some() => format!(" * [new tag]         {arrow}"),
        (true, _) => format!(" * [new branch]      {arrow}"),
        (_, true) => format!(" - [deleted]         (none)     -> {local}"),
        _ if git.repository.graph_descendant_of(new, old).unwrap_or(false) => {
            format!("   {}..{}  {arrow}", git.short(old)?, git.short(new)?)
        }
        _ => format!(" + {}...{} {arrow}  (forced update)", git.short(old)?, git.short(new)?),
    })
}

/// `git pull`.
pub(super) fn pull(words: Vec<String>) -> Done {
    let (mut only, mut how, mut plain) = (false, Fetching::default(), Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "--ff-only" => only = true,
                "-q" | "--quiet" => how.quiet = true,
                "-p" | "--prune" => how.prune = true,
                "--ff" | "--no-rebase" | "--no-edit" => {}
                _ => return unknown("pull", &option),
            },
        }
    }
    let git = Git::with_tree()?;
    let name = plain.first().cloned().map_or_else(|| remote_name(&git), Ok)?;
    fetch_from(&git, &name, &[], &how)?;
    let branch = git.branch()?.ok_or_else(|| Failure::fatal("You are not currently on a branch."))?;
    let upstream = match plain.get(1) {
        Some(wanted) => format!("refs/remotes/{name}/{wanted}"),
        None => {
            let found = git.repository.branch_upstream_name(&format!("refs/heads/{branch}"));
            let found = found.map_err(|_| {
                Failure::new(
                    1,
                    format!(
                        "There is no tracking information for the current branch.\nPlease specify which branch you want to \
                         merge with.\n\n    git pull <remote> <branch>\n\nIf you wish to set tracking information for this \
                         branch you can do so with:\n\n    git branch --set-upstream-to={name}/<branch> {branch}\n\n"
                    ),
                )
            })?;
            found.as_str().unwrap_or_default().to_owned()
        }
    };
    let id = git.repository.refname_to_id(&upstream).map_err(|_| {
        Failure::fatal(format!("couldn't find remote ref {}", plain.get(1).unwrap_or(&branch)))
    })?;
    let merging = merge::Merging { only_forward: only, quiet: how.quiet };
    merge::pulled(&git, upstream.trim_start_matches("refs/remotes/"), id, merging)
}

/// `git push`.
pub(super) fn push(words: Vec<String>) -> Done {
    let (mut follow, mut force, mut tags, mut delete, mut quiet, mut plain) =
        (false, false, false, false, false, Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "-u" | "--set-upstream" => follow = true,
                "-f" | "--force" => force = true,
                "--tags" => tags = true,
                "-d" | "--delete" => delete = true,
                "-q" | "--quiet" => quiet = true,
                "--no-verify" | "--progress" | "-v" => {}
                _ => return unknown("push", &option),
            },
        }
    }
    let git = Git::find()?;
    let name = if plain.is_empty() { remote_name(&git)? } else { plain.remove(0) };
    let specs = push_specs(&git, &plain, [force, delete, tags])?;
    let mut remote = find(&git, &name)?;
    let (url, _) = without_login(remote.pushurl()?.unwrap_or(remote.url()?));
    let answers = RefCell::new(Vec::new());
    {
        let mut callbacks = RemoteCallbacks::new();
        callbacks.push_update_reference(|reference, refused| {
            answers.borrow_mut().push((reference.to_owned(), refused.map(str::to_owned)));
            Ok(())
        });
        let mut options = PushOptions::new();
        options.remote_callbacks(callbacks).packbuilder_parallelism(1);
        remote.push(&specs, Some(&mut options)).map_err(|error| push_failure(&error, &url))?;
    }
    let mut status = 0;
    if !quiet {
        eprintln!("To {url}");
    }
    for (reference, refused) in answers.into_inner() {
        let short = reference.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/");
        match refused {
            Some(why) => {
                eprintln!(" ! [remote rejected] {short} -> {short} ({why})");
                status = 1;
            }
            None if !quiet => eprintln!("   {short} -> {short}"),
            None => {}
        }
    }
    if status != 0 {
        eprintln!("error: failed to push some refs to '{url}'");
    } else if follow && let Some(branch) = git.branch()? {
        git.repository
            .find_branch(&branch, BranchType::Local)?
            .set_upstream(Some(&format!("{name}/{branch}")))?;
        println!("branch '{branch}' set up to track '{name}/{branch}'.");
    }
    Ok(status)
}

fn push_failure(error: &git2::Error, url: &str) -> Failure {
    if error.code() == ErrorCode::NotFastForward {
        return Failure::new(
            1,
            format!(
                "To {url}\n ! [rejected]        (non-fast-forward)\nerror: failed to push some refs to '{url}'\n\
                 hint: Updates were rejected because the remote contains work that you do not have locally.\n"
            ),
        );
    }
    Failure::fatal(error.message())
}

fn push_specs(git: &Git, plain: &[String], [force, delete, tags]: [bool; 3]) -> Result<Vec<String>> {
    let plus = if force { "+" } else { "" };
    let whole = |name: &str| -> String {
        let tag = format!("refs/tags/{name}");
        if name.starts_with("refs/") {
            name.to_owned()
        } else if git.repository.find_reference(&tag).is_ok() {
            tag
        } else {
            format!("refs/heads/{name}")
        }
    };
    let mut specs = Vec::new();
    if tags {
        for name in git.repository.tag_names(None)?.iter().flatten().flatten() {
            specs.push(format!("{plus}refs/tags/{name}:refs/tags/{name}"));
        }
    }
    for word in plain {
        let (word, plus) = word.strip_prefix('+').map_or((word.as_str(), plus), |word| (word, "+"));
        if delete {
            specs.push(format!(":{}", whole(word)));
            continue;
        }
        let (from, to) = word.split_once(':').unwrap_or((word, word));
        let current = git.branch()?.unwrap_or_default();
        let named = |name: &str| if name == "HEAD" { current.clone() } else { name.to_owned() };
        let (from, to) = (named(from), named(to));
        if from.is_empty() {
            specs.push(format!(":{}", whole(&to)));
            continue;
        }
        let source = whole(&from);
        if git.repository.find_reference(&source).is_err() {
            return Err(Failure::error(format!("src refspec {from} does not match any")));
        }
        let target = if to == from { source.clone() } else { whole(&to) };
        specs.push(format!("{plus}{source}:{target}"));
    }
    if specs.is_empty() {
        let branch = git.branch()?.ok_or_else(|| Failure::fatal("You are not currently on a branch."))?;
        if git.head()?.is_none() {
            return Err(Failure::error(format!("src refspec {branch} does not match any")));
        }
        specs.push(format!("{plus}refs/heads/{branch}:refs/heads/{branch}"));
    }
    Ok(specs)
}
