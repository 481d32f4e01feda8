//! `rev-parse` and `cat-file`.

use std::io::Write as _;

use git2::ObjectType;

use crate::context::{Done, Failure, Git, output, said, unknown_revision};
use crate::paths::quoted;
use crate::usage;
use crate::words::{Word, Words, number, unknown};

/// `git rev-parse`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut short, mut names, mut quiet, mut verify) = (None, false, false, false);
    let git = Git::find()?;
    let repository = &git.repository;
    let path = |path: &std::path::Path| {
        let text = path.display().to_string();
        println!("{}", if text.len() > 1 { text.trim_end_matches('/') } else { &text });
    };
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        let name = match word {
            Word::Plain(name) => name,
            Word::Option(option) => {
                match option.as_str() {
                    "--short" => {
                        short = Some(words.inline().map_or(Ok(7), |digits| number("short", &digits))?)
                    }
                    "--abbrev-ref" => names = true,
                    "-q" | "--quiet" => quiet = true,
                    "--verify" => verify = true,
                    "--show-toplevel" => path(
                        repository
                            .workdir()
                            .ok_or_else(|| Failure::fatal("this operation must be run in a work tree"))?,
                    ),
                    "--git-dir" | "--git-common-dir" => {
                        let here = git.here == git.root.components().as_path() && !repository.is_bare();
                        if here { println!(".git") } else { path(repository.path()) }
                    }
                    "--absolute-git-dir" => path(repository.path()),
                    "--is-inside-work-tree" => {
                        println!("{}", !repository.is_bare() && !git.here.starts_with(repository.path()));
                    }
                    "--is-inside-git-dir" => println!("{}", git.here.starts_with(repository.path())),
                    "--is-bare-repository" => println!("{}", repository.is_bare()),
                    "--is-shallow-repository" => println!("{}", repository.is_shallow()),
                    "--show-prefix" => {
                        let prefix = git.prefix().display().to_string();
                        println!("{}", if prefix.is_empty() { prefix } else { format!("{prefix}/") });
                    }
                    "--show-cdup" => println!("{}", "../".repeat(git.prefix().iter().count())),
                    _ => return unknown("rev-parse", &option),
                }
                continue;
            }
        };
        if names {
            let (object, reference) = repository.revparse_ext(&name).map_err(|_| unknown_revision(&name))?;
            match (git.branch()?, reference) {
                (Some(branch), _) if name == "HEAD" => println!("{branch}"),
                (_, Some(reference)) => println!("{}", reference.shorthand()?),
                _ if name == "HEAD" => println!("HEAD"),
                _ => println!("{}", object.id()),
            }
            continue;
        }
        match repository.revparse_single(&name) {
            Ok(object) => match short {
                Some(length) => {
                    let found = object.short_id()?;
                    let id = object.id().to_string();
                    println!("{}", &id[..length.clamp(found.as_str().map_or(7, str::len), id.len())]);
                }
                None => println!("{}", object.id()),
            },
            Err(_) if verify && quiet => return Ok(1),
            Err(_) if verify => return Err(Failure::fatal("Needed a single revision")),
            Err(_) => {
                println!("{name}");
                return Err(unknown_revision(&name));
            }
        }
    }
    Ok(0)
}

/// `git cat-file`.
pub(super) fn cat_file(words: Vec<String>) -> Done {
    let (mut what, mut plain) = (None, Vec::new());
    let mut words = Words::new(words, "");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "-t" | "-s" | "-p" | "-e" => what = Some(option),
                _ => return unknown("cat-file", &option),
            },
        }
    }
    let (Some(what), [name]) = (what, plain.as_slice()) else {
        return Err(Failure::new(129, format!("usage here: git {}\n", usage::of("cat-file"))));
    };
    let git = Git::find()?;
    let object = match git.repository.revparse_single(name) {
        Ok(object) => object,
        Err(_) if what == "-e" => return Ok(1),
        Err(_) => return Err(Failure::fatal(format!("Not a valid object name {name}"))),
    };
    let database = git.repository.odb()?;
    let mut out = output();
    match what.as_str() {
        "-t" => writeln!(out, "{}", object.kind().map_or("", |kind| kind.str()))?,
        "-s" => writeln!(out, "{}", database.read_header(object.id())?.0)?,
        "-p" if object.kind() == Some(ObjectType::Tree) => {
            for entry in object.peel_to_tree()?.iter() {
                let kind = entry.kind().map_or("", |kind| kind.str());
                let name = quoted(entry.name_bytes(), false);
                writeln!(out, "{:06o} {kind} {}\t{name}", entry.filemode(), entry.id())?;
            }
        }
        "-p" => out.write_all(database.read(object.id())?.data())?,
        _ => {}
    }
    said(out)
}
