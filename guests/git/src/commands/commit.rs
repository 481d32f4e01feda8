//! `commit`.

use std::io::{Read as _, Write as _};

use dormouse_contract::system;
use git2::{Commit, DiffOptions, ErrorCode, IndexAddOption, Signature};

use super::diff::{Show, write_summary};
use super::status::{Changes, Untracked, write_long};
use crate::context::{Done, Failure, Git, Result, output, said};
use crate::format::{Dates, subject};
use crate::index::{is_folder_of, tracked};
use crate::words::{Word, Words, unknown};

/// What is asked for.
#[derive(Default)]
struct Wanted {
    all: bool,
    messages: Vec<String>,
    file: Option<String>,
    amend: bool,
    allow_empty: bool,
    allow_empty_message: bool,
    quiet: bool,
    author: Option<String>,
    dated: bool,
    paths: Vec<String>,
}

/// `git commit`.
pub(super) fn run(words: Vec<String>) -> Done {
    let mut wanted = Wanted::default();
    let mut words = Words::new(words, "mF");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(path) => wanted.paths.push(path),
            Word::Option(option) => match option.as_str() {
                "-a" | "--all" => wanted.all = true,
                "-m" | "--message" => wanted.messages.push(words.value(&option)?),
                "-F" | "--file" => wanted.file = Some(words.value(&option)?),
                "--amend" => wanted.amend = true,
                "--allow-empty" => wanted.allow_empty = true,
                "--allow-empty-message" => wanted.allow_empty_message = true,
                "-q" | "--quiet" => wanted.quiet = true,
                "--author" => wanted.author = Some(words.value(&option)?),
                "--date" => {
                    wanted.dated = true;
                    system::set_variable("GIT_AUTHOR_DATE", &words.value(&option)?);
                }
                // What is so anyway: there are no hooks, no editor and no keys.
                "--no-edit" | "-n" | "--no-verify" | "--no-gpg-sign" | "--no-signoff" => {}
                _ => return unknown("commit", &option),
            },
        }
    }
    let git = Git::with_tree()?;
    stage(&git, &wanted)?;
    commit(&git, &wanted)
}

/// Takes into the index what the command names.
fn stage(git: &Git, wanted: &Wanted) -> Result<()> {
    let mut index = git.repository.index()?;
    if wanted.all {
        index.update_all(["*"], None)?;
    }
    if !wanted.paths.is_empty() {
        let below: Vec<String> =
            wanted.paths.iter().map(|path| git.below_root(path)).collect::<Result<_>>()?;
        for (path, below) in wanted.paths.iter().zip(&below) {
            let tracked = tracked(&index, below);
            if !tracked && !is_folder_of(&index, below) {
                return Err(Failure::error(format!(
                    "pathspec '{path}' did not match any file(s) known to git"
                )));
            }
        }
        if !Changes::of(&git.repository, &[], Untracked::No, false)?.nothing_staged() {
            return Err(Failure::fatal(
                "paths and changes that are staged already cannot be committed together here",
            ));
        }
        let specs = below.iter().map(|path| if path.is_empty() { "*" } else { path.as_str() });
        index.add_all(specs, IndexAddOption::DEFAULT, None)?;
    }
    index.write()?;
    Ok(())
}

fn commit(git: &Git, wanted: &Wanted) -> Done {
    let head = git.head()?;
    let changes = Changes::of(&git.repository, &[], Untracked::Folders, false)?;
    if changes.has_unmerged() {
        return Err(Failure::new(
            128,
            "error: Committing is not possible because you have unmerged files.\nfatal: Exiting because of an unresolved conflict.\n",
        ));
    }
    if head.is_none() && wanted.amend {
        return Err(Failure::fatal("You have nothing yet to amend."));
    }
    if changes.nothing_staged() && !wanted.allow_empty && !wanted.amend {
        let mut out = output();
        write_long(git, &changes, Untracked::Folders, &mut out)?;
        said(out)?;
        return Ok(1);
    }
    let (author, committer) = signatures(git, wanted, head.as_ref())?;
    let message = message(git, wanted, head.as_ref())?;
    let mut index = git.repository.index()?;
    let tree = git.repository.find_tree(index.write_tree()?)?;
    let merged = merge_heads(git)?;
    let parents: Vec<Commit<'_>> = match (&head, wanted.amend) {
        (Some(head), true) => head.parents().collect(),
        (Some(head), false) => std::iter::once(head.clone()).chain(merged).collect(),
        (None, _) => Vec::new(),
    };
    let parents: Vec<&Commit<'_>> = parents.iter().collect();
    // HEAD is moved by itself: amending does not go on from it.
    let id = git.repository.commit(None, &author, &committer, &message, &tree, &parents)?;
    let done = git.repository.find_commit(id)?;
    move_head(git, &done, wanted.amend)?;
    git.repository.cleanup_state()?;
    if !wanted.quiet {
        report(git, wanted, &done, &committer)?;
    }
    Ok(0)
}

/// Parents besides what is checked out, of a merge that is going on.
fn merge_heads(git: &Git) -> Result<Vec<Commit<'_>>> {
    let text = std::fs::read_to_string(git.repository.path().join("MERGE_HEAD")).unwrap_or_default();
    text.lines().map(|line| Ok(git.repository.find_commit(git2::Oid::from_str(line)?)?)).collect()
}

fn move_head(git: &Git, to: &Commit<'_>, amended: bool) -> Result<()> {
    let what = match (amended, to.parent_count()) {
        (true, _) => "commit (amend)",
        (_, 0) => "commit (initial)",
        (_, 1) => "commit",
        _ => "commit (merge)",
    };
    let entry = format!("{what}: {}", subject(to));
    let head = git.repository.find_reference("HEAD")?;
    match head.symbolic_target()? {
        Some(branch) => drop(git.repository.reference(branch, to.id(), true, &entry)?),
        None => git.repository.set_head_detached(to.id())?,
    }
    Ok(())
}

/// The author and the committer.
fn signatures<'a>(
    git: &Git,
    wanted: &Wanted,
    head: Option<&Commit<'a>>,
) -> Result<(Signature<'static>, Signature<'static>)> {
    let known = |found: std::result::Result<Signature<'static>, git2::Error>| match found {
        Ok(signature) => Ok(signature),
        Err(error) if error.code() == ErrorCode::NotFound => Err(nobody()),
        Err(error) => Err(error.into()),
    };
    let committer = known(git.repository.committer_from_env())?;
    let given = wanted.author.as_deref().map(|text| {
        let parts =
            text.split_once('<').and_then(|(name, rest)| Some((name.trim(), rest.strip_suffix('>')?)));
        parts.ok_or_else(|| {
            Failure::fatal(format!("--author '{text}' is not 'Name <email>' and matches no existing author"))
        })
    });
    let before = head.filter(|_| wanted.amend).map(|head| head.author().to_owned());
    let author = match (given.transpose()?, before) {
        (Some((name, email)), before) => {
            let when = before.map_or(committer.when(), |before| before.when());
            Signature::new(name, email, &when)?
        }
        (None, Some(before)) => before,
        (None, None) => known(git.repository.author_from_env())?,
    };
    Ok((author, committer))
}

fn nobody() -> Failure {
    Failure::new(
        128,
        "Author identity unknown\n\n*** Please tell me who you are.\n\nRun\n\n  \
         git config --global user.email \"you@example.com\"\n  git config --global user.name \"Your Name\"\n\n\
         to set your account's default identity.\nOmit --global to set the identity only in this repository.\n\n\
         fatal: unable to auto-detect email address (got 'sandbox@dormouse.(none)')\n",
    )
}

fn message(git: &Git, wanted: &Wanted, head: Option<&Commit<'_>>) -> Result<String> {
    let text = match &wanted.file {
        Some(file) if file == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| Failure::fatal(format!("could not read log file '{file}': {error}")))?,
        None if wanted.messages.is_empty() => match (head, wanted.amend) {
            (Some(head), true) => String::from_utf8_lossy(head.message_bytes()).into_owned(),
            _ => match git.repository.message() {
                Ok(prepared) => prepared,
                Err(_) => {
                    return Err(Failure::error("there is no editor here; give the message with -m or -F"));
                }
            },
        },
        None => wanted.messages.iter().map(|text| text.trim_end()).collect::<Vec<_>>().join("\n\n"),
    };
    let clean = git2::message_prettify(text, None)?;
    if clean.is_empty() && !wanted.allow_empty_message {
        return Err(Failure::new(1, "Aborting commit due to empty commit message.\n"));
    }
    Ok(clean)
}

/// What git says of a new commit.
fn report(git: &Git, wanted: &Wanted, commit: &Commit<'_>, committer: &Signature<'_>) -> Result<()> {
    let mut out = output();
    let place = git.branch()?.unwrap_or_else(|| "detached HEAD".into());
    let root = if commit.parent_count() == 0 { " (root-commit)" } else { "" };
    writeln!(out, "[{place}{root} {}] {}", git.short(commit.id())?, subject(commit))?;
    let author = commit.author();
    if author.name_bytes() != committer.name_bytes() || author.email_bytes() != committer.email_bytes() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        writeln!(out, " Author: {} <{}>", text(author.name_bytes()), text(author.email_bytes()))?;
    }
    if wanted.amend || wanted.dated {
        writeln!(out, " Date: {}", Dates::Default.of(author.when()))?;
    }
    if commit.parent_count() < 2 {
        let before = commit.parent(0).ok().map(|parent| parent.tree()).transpose()?;
        let tree = commit.tree()?;
        let mut options = DiffOptions::new();
        let mut diff = git.repository.diff_tree_to_tree(before.as_ref(), Some(&tree), Some(&mut options))?;
        Show::default().settle(&mut diff)?;
        if diff.deltas().len() > 0 {
            out.write_all(&diff.stats()?.to_buf(git2::DiffStatsFormat::SHORT, 80)?)?;
            write_summary(&diff, &mut out)?;
        }
    }
    said(out).map(drop)
}
