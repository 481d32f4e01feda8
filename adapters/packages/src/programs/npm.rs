//! `npm install`, `ci`, `uninstall`, `ls`, `init`, `view`, `outdated`, `pkg`. Scripts are the shell's to run.

mod field;
mod outdated;
mod pkg;
mod view;

use dormouse_core::packages::{
    Added, Adding, Group, LockFile, Locking, PackageManager, Placed, Present, Saving, add, package_json,
    present, uninstall,
};
use dormouse_core::sandbox::{Files, Owner};
use dormouse_core::{Error, ErrorCode, GuestPath, ProgramCall, ProgramEnd, Result};
use serde_json::{Value as Json, json};

use super::{PackagePrograms, seen_from, text, usage};
use crate::npm::locked;

const MANAGER: PackageManager = PackageManager::Npm;
/// What a package says of itself.
const MANIFEST: &str = "package.json";

/// The files that `npm ci` installs from, the first that is there.
const LOCKS: [&str; 2] = ["npm-shrinkwrap.json", "package-lock.json"];

const HELP: &str = "\
npm <command>

Usage:
  npm install [NAME[@RANGE]...]   Install pure-JavaScript packages into node_modules, in the versions of
                                  package-lock.json where they fit, and write that; -D saves them as devDependencies
  npm ci                          Install what package-lock.json names, and nothing else
  npm uninstall NAME...           Remove packages
  npm ls                          List what is installed
  npm outdated [NAME...]          List what is installed in another version than the newest, with exit status 1; --json
  npm view NAME[@RANGE] FIELD...  Show what the registry says of a package, or of it these fields; --json
  npm pkg get|set|delete ...      Read and change package.json: get FIELD, set FIELD=VALUE, delete FIELD
  npm init -y                     Write a package.json
  npm test, npm run NAME          Run a script of package.json

Packages come from the registry of the operator, and only those that the operator allows. Their install scripts are
never run.
";

pub(super) async fn run(
    programs: &PackagePrograms,
    owner: &Owner,
    call: &ProgramCall,
    files: &mut dyn Files,
) -> Result<ProgramEnd> {
    let words: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
    let at = words.iter().position(|word| !word.starts_with('-')).unwrap_or(words.len());
    let folder = seen_from(call, ".")?;
    let Some((command, rest)) = words[at..].split_first() else {
        return Ok(match words.first() {
            Some(&("-v" | "--version")) => ProgramEnd::said(format!("{}\n", env!("CARGO_PKG_VERSION"))),
            _ => ProgramEnd::said(HELP),
        });
    };
    match *command {
        "ci" | "clean-install" | "install-clean" => {
            install_locked(programs, owner, files, &folder, rest).await
        }
        "install" | "i" | "add" => install(programs, owner, files, &folder, rest).await,
        "uninstall" | "remove" | "rm" | "un" => remove(programs, files, &folder, rest).await,
        "ls" | "list" => list(programs, files, &folder).await,
        "init" => init(files, &folder).await,
        "view" | "info" | "show" | "v" => view::run(programs, owner, files, &folder, rest).await,
        "outdated" => outdated::run(programs, owner, files, &folder, rest).await,
        "pkg" => pkg::run(files, &folder, rest).await,
        "exec" | "x" => Err(usage("npm starts no programs of packages here").with_hint(
            "`npx NAME` starts a program of node_modules/.bin; install its package with `npm install` first",
        )),
        "help" => Ok(ProgramEnd::said(HELP)),
        other => Err(usage(format!("Unknown command: \"{}\"", other.escape_debug()))),
    }
}

async fn install(
    programs: &PackagePrograms,
    owner: &Owner,
    files: &mut dyn Files,
    folder: &GuestPath,
    words: &[&str],
) -> Result<ProgramEnd> {
    let (mut requirements, options) = split(words);
    let has = |names: &[&str]| options.iter().any(|option| names.contains(option));
    if has(&["-g", "--global"]) {
        return Err(usage("there are no global packages here"));
    }
    let named = !requirements.is_empty();
    if !named {
        requirements = package_json(&listed(files, folder).await?, without_dev(&options))?;
        if requirements.is_empty() && lock(files, folder).await?.is_none() {
            return Ok(ProgramEnd::said("\nup to date\n"));
        }
    }
    let group = match () {
        () if has(&["-D", "--save-dev", "--dev"]) => Some(Group::Dev),
        () if has(&["-O", "--save-optional"]) => Some(Group::Optional),
        () if has(&["-P", "--save-prod"]) => Some(Group::Dependencies),
        () => None,
    };
    let saving = Saving { group, exact: has(&["-E", "--save-exact"]) };
    let unsaved = has(&["--no-save", "--save=false"]);
    let saves = (named && !unsaved).then_some(saving);
    let locks = !has(&["--no-package-lock", "--package-lock=false", "--no-shrinkwrap"]);
    let locking =
        locks.then_some(Locking { named, whole: true, without_dev: without_dev(&options), writes: !unsaved });
    let adding = Adding { saves, locking, ..adding(programs, owner, folder, requirements) };
    put(programs, files, &adding).await
}

/// The text of the lock file, if there is one.
async fn lock(files: &mut dyn Files, folder: &GuestPath) -> Result<Option<String>> {
    for name in LOCKS {
        match text(files, &beside(folder, name)?).await {
            Err(error) if error.code() == ErrorCode::NotFound => {}
            found => return found.map(Some),
        }
    }
    Ok(None)
}

/// What the lock file names, whatever lies there.
async fn install_locked(
    programs: &PackagePrograms,
    owner: &Owner,
    files: &mut dyn Files,
    folder: &GuestPath,
    words: &[&str],
) -> Result<ProgramEnd> {
    let (named, options) = split(words);
    if !named.is_empty() {
        return Err(usage("npm ci takes no names: it installs what package-lock.json names"));
    }
    let requirements = package_json(&listed(files, folder).await?, false)?;
    let Some(lock) = lock(files, folder).await? else {
        return Err(usage("npm ci needs a package-lock.json or npm-shrinkwrap.json, and there is none")
            .with_hint("npm install resolves versions that fit the package.json"));
    };
    let locked = locked(&lock, &requirements, without_dev(&options))?;
    // Nothing is left where only developers need something.
    let requirements = if locked.is_empty() { Vec::new() } else { requirements };
    let adding = Adding { locked, ..adding(programs, owner, folder, requirements) };
    put(programs, files, &adding).await
}

/// Names of packages, and options. The value of an option is joined to it.
fn split<'a>(words: &[&'a str]) -> (Vec<String>, Vec<&'a str>) {
    let (mut names, mut options) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--omit" => options.extend(rest.next().filter(|what| **what == "dev").map(|_| "--omit=dev")),
            option if option.starts_with('-') => options.push(option),
            name => names.push(name.to_owned()),
        }
    }
    (names, options)
}

fn without_dev(options: &[&str]) -> bool {
    options.iter().any(|option| ["--production", "--omit=dev", "--prod"].contains(option))
}

/// The text of the `package.json`.
async fn listed(files: &mut dyn Files, folder: &GuestPath) -> Result<String> {
    let path = beside(folder, MANIFEST)?;
    text(files, &path).await.map_err(|error| match error.code() {
        ErrorCode::NotFound => usage(format!("there is no {path}, and no package is named")),
        _ => error,
    })
}

fn adding(
    programs: &PackagePrograms,
    owner: &Owner,
    folder: &GuestPath,
    requirements: Vec<String>,
) -> Adding {
    Adding {
        owner: owner.clone(),
        manager: MANAGER,
        requirements,
        directory: folder.clone(),
        constraints: Vec::new(),
        locked: Vec::new(),
        locking: None,
        upgrade: false,
        folder: Some(folder.clone()),
        saves: None,
        python: programs.python.clone(),
        closed: false,
        // Containers have programs of their own.
        is_guest: true,
    }
}

async fn put(programs: &PackagePrograms, files: &mut dyn Files, adding: &Adding) -> Result<ProgramEnd> {
    let added = if adding.requirements.is_empty() && adding.locking.is_none() {
        Added::default()
    } else {
        add(files, programs.packages.as_ref(), adding, &|_| {}).await?
    };
    let said = match added.installed.len() {
        0 => "\nup to date\n".to_owned(),
        1 => "\nadded 1 package\n".to_owned(),
        count => format!("\nadded {count} packages\n"),
    };
    let notes: String = added.notes.iter().map(|note| format!("npm warn {note}\n")).collect();
    Ok(ProgramEnd {
        status: 0,
        output: said.into_bytes(),
        errors: notes.into_bytes(),
        ..ProgramEnd::default()
    })
}

async fn installed(
    programs: &PackagePrograms,
    files: &mut dyn Files,
    folder: &GuestPath,
) -> Result<Vec<Present>> {
    let all = present(files, MANAGER, folder, &programs.python).await?;
    // Those on top; the others belong to one of them.
    Ok(all.into_iter().filter(|one| one.path.matches("node_modules/").count() == 1).collect())
}

async fn remove(
    programs: &PackagePrograms,
    files: &mut dyn Files,
    folder: &GuestPath,
    words: &[&str],
) -> Result<ProgramEnd> {
    let (names, options) = split(words);
    let has = |names: &[&str]| options.iter().any(|option| names.contains(option));
    let saves = !has(&["--no-save", "--save=false"]);
    let locks = saves && !has(&["--no-package-lock", "--package-lock=false", "--no-shrinkwrap"]);
    let all = present(files, MANAGER, folder, &programs.python).await?;
    let path = beside(folder, MANIFEST)?;
    let listed = text(files, &path).await.ok().and_then(|text| serde_json::from_str::<Json>(&text).ok());
    let listed = listed.map(|listed| without(listed, &names)).map(|listed| pretty(&listed)).transpose()?;
    // What is needed is worked out before anything goes.
    let lock =
        if locks { LockFile::of(files, folder).await? } else { LockFile::unread(files, folder).await? };
    let next = listed.as_ref().map(|listed| {
        let placed = all.iter().map(Placed::there).collect();
        lock.next_of(programs.packages.as_ref(), listed.clone(), placed)
    });
    let mut next = next.transpose()?.unwrap_or_default();
    let gone: Vec<Present> = match next.text.is_none() && next.extraneous.is_empty() {
        // Who needs what is not known in all: what is named goes, unless something that stays asks for it.
        true => all
            .iter()
            .filter(|one| is_named(one, &names) && !is_asked_for(one, &all, &names))
            .cloned()
            .collect(),
        // What only the named ones needed goes with them.
        false => all.iter().filter(|one| next.extraneous.contains(&one.path)).cloned().collect(),
    };
    uninstall(files, MANAGER, folder, &gone).await?;
    if let Some(listed) = listed.filter(|_| saves) {
        files.write(&path, listed.as_bytes()).await?;
    }
    let mut notes = String::new();
    if locks {
        lock.write(files, &mut next).await?;
        notes = next.notes.iter().map(|note| format!("npm warn {note}\n")).collect();
    }
    let said = match gone.len() {
        0 => "\nup to date\n".to_owned(),
        1 => "\nremoved 1 package\n".to_owned(),
        count => format!("\nremoved {count} packages\n"),
    };
    Ok(ProgramEnd { errors: notes.into_bytes(), ..ProgramEnd::said(said) })
}

/// A `package.json` that does not name these packages.
fn without(mut listed: Json, names: &[String]) -> Json {
    for group in Group::ALL {
        if let Some(Json::Object(list)) = listed.get_mut(group.field()) {
            list.retain(|name, _| !names.contains(name));
        }
    }
    listed
}

fn is_named(one: &Present, names: &[String]) -> bool {
    one.path.strip_prefix("node_modules/").is_some_and(|name| names.iter().any(|named| named == name))
}

/// Whether a package that is not named itself asks for this one.
fn is_asked_for(one: &Present, all: &[Present], names: &[String]) -> bool {
    let begins = format!("{}@", one.name);
    let within = format!("{}/", one.path);
    all.iter().any(|other| {
        !is_named(other, names)
            && !other.path.starts_with(&within)
            && other.requires.iter().any(|required| required.starts_with(&begins))
    })
}

async fn list(programs: &PackagePrograms, files: &mut dyn Files, folder: &GuestPath) -> Result<ProgramEnd> {
    let all = installed(programs, files, folder).await?;
    let mut said = format!("{folder}\n");
    for (at, one) in all.iter().enumerate() {
        let sign = if at + 1 == all.len() { "`--" } else { "+--" };
        said.push_str(&format!("{sign} {}@{}\n", one.name, one.version));
    }
    if all.is_empty() {
        said.push_str("`-- (empty)\n");
    }
    Ok(ProgramEnd::said(said))
}

async fn init(files: &mut dyn Files, folder: &GuestPath) -> Result<ProgramEnd> {
    let path = beside(folder, MANIFEST)?;
    if files.stat(&path).await.is_ok() {
        return Err(usage(format!("{path} is there already")));
    }
    let name = folder.as_str().rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("workspace");
    let fresh = json!({
        "name": name,
        "version": "1.0.0",
        "description": "",
        "main": "index.js",
        "scripts": {"test": "node --test"},
        "license": "ISC",
    });
    let text = pretty(&fresh)?;
    files.write(&path, text.as_bytes()).await?;
    Ok(ProgramEnd::said(format!("Wrote to {path}:\n\n{text}")))
}

fn beside(folder: &GuestPath, name: &str) -> Result<GuestPath> {
    GuestPath::parse(&format!("{}/{name}", folder.as_str().trim_end_matches('/')))
}

fn pretty(value: &Json) -> Result<String> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::internal("package.json cannot be written", error))?;
    Ok(format!("{text}\n"))
}
