//! `tag`.

use git2::ErrorCode;

use crate::context::{Done, Failure, Git};
use crate::words::{Word, Words, unknown};

/// `git tag`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut list, mut delete, mut force, mut message, mut plain) = (false, false, false, None, Vec::new());
    let mut words = Words::new(words, "m");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "-l" | "--list" => list = true,
                "-d" | "--delete" => delete = true,
                "-f" | "--force" => force = true,
                "-a" | "--annotate" => message = message.or(Some(String::new())),
                "-m" | "--message" => message = Some(words.value(&option)?),
                _ => return unknown("tag", &option),
            },
        }
    }
    let git = Git::find()?;
    if delete {
        let mut status = 0;
        for name in &plain {
            match git.repository.refname_to_id(&format!("refs/tags/{name}")) {
                Ok(id) => {
                    git.repository.tag_delete(name)?;
                    println!("Deleted tag '{name}' (was {})", git.short(id)?);
                }
                Err(_) => {
                    eprintln!("error: tag '{name}' not found.");
                    status = 1;
                }
            }
        }
        return Ok(status);
    }
    if list || plain.is_empty() {
        let names = git.repository.tag_names(plain.first().map(String::as_str))?;
        let mut names: Vec<&str> = names.iter().flatten().flatten().collect();
        names.sort_unstable();
        names.iter().for_each(|name| println!("{name}"));
        return Ok(0);
    }
    let revision = plain.get(1).map_or("HEAD", String::as_str);
    let object = git
        .repository
        .revparse_single(revision)
        .map_err(|_| Failure::fatal(format!("Failed to resolve '{revision}' as a valid ref.")))?;
    let name = &plain[0];
    let made = match message {
        None => git.repository.tag_lightweight(name, &object, force),
        Some(message) if message.is_empty() => {
            return Err(Failure::fatal("there is no editor here; give the message with -m"));
        }
        Some(message) => {
            let who = git.repository.committer_from_env()?;
            git.repository.tag(name, &object, &who, &git2::message_prettify(message, None)?, force)
        }
    };
    match made {
        Err(error) if error.code() == ErrorCode::Exists => {
            Err(Failure::fatal(format!("tag '{name}' already exists")))
        }
        done => Ok(done.map(|_| 0)?),
    }
}
