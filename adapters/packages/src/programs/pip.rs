//! `pip install`, `uninstall`, `list`, `freeze`, `show`.

use dormouse_core::packages::{
    Adding, PackageManager, Present, RequirementsLine, add, present, requirements_txt, uninstall,
};
use dormouse_core::sandbox::{Files, Owner};
use dormouse_core::{GuestPath, ProgramCall, ProgramEnd, Result};
use serde_json::json;

use super::{PackagePrograms, below, seen_from, text, usage};
use crate::pip::{built_in, lock};

const MANAGER: PackageManager = PackageManager::Pip;

/// Most files of requirements that one command reads.
const MAX_LISTS: usize = 64;

const HELP: &str = "\
Usage: pip <command> [options]

Commands:
  install [-r FILE] [-c FILE] [-U] REQUIREMENT...
                                          Install packages of pure Python below ~/.local; -r: those of a requirements.txt or
                                          a pylock.toml; -c: in these versions; -t DIR, --target=DIR: in DIR itself;
                                          PATH or -e PATH: a project of the sandbox, as a copy or where it lies
  uninstall [-y] NAME...                  Remove packages
  list [--format=columns|freeze|json]     List what is installed
  freeze                                  List it as requirements
  show NAME...                            Say more of one

Packages come from the index of the operator, and only those that the operator allows.
";

pub(super) async fn run(
    programs: &PackagePrograms,
    owner: &Owner,
    call: &ProgramCall,
    files: &mut dyn Files,
) -> Result<ProgramEnd> {
    let words: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
    // Options before the command are pip's own, such as `--quiet`.
    let at = words.iter().position(|word| !word.starts_with('-')).unwrap_or(words.len());
    let Some((command, rest)) = words[at..].split_first() else {
        return Ok(match words.first() {
            Some(&("-V" | "--version")) => ProgramEnd::said(format!(
                "pip of dormouse {} (python {})\n",
                env!("CARGO_PKG_VERSION"),
                programs.python
            )),
            _ => ProgramEnd::said(HELP),
        });
    };
    match *command {
        "install" => install(programs, owner, call, files, rest).await,
        "uninstall" => remove(programs, files, rest).await,
        "list" => list(programs, files, rest).await,
        "freeze" => list(programs, files, &["--format=freeze"]).await,
        "show" => show(programs, files, rest).await,
        "help" => Ok(ProgramEnd::said(HELP)),
        other => Err(usage(format!("unknown command \"{}\"", other.escape_debug()))),
    }
}

async fn installed(programs: &PackagePrograms, files: &mut dyn Files) -> Result<Vec<Present>> {
    let mut all = present(files, MANAGER, &MANAGER.root()?, &programs.python).await?;
    all.extend(built_in::all());
    all.sort_by_key(|one| one.name.to_lowercase());
    Ok(all)
}

async fn install(
    programs: &PackagePrograms,
    owner: &Owner,
    call: &ProgramCall,
    files: &mut dyn Files,
    words: &[&str],
) -> Result<ProgramEnd> {
    let mut lists = Lists::default();
    let (mut upgrade, mut quiet, mut target) = (false, false, None);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (option, joined) = option(word);
        match option {
            "-r" | "--requirement" => {
                let file = joined.or_else(|| rest.next().copied()).ok_or_else(|| usage("-r needs a file"))?;
                lists.read(files, &programs.python, seen_from(call, file)?, Kind::Requirements).await?;
            }
            "-c" | "--constraint" => {
                let file = joined.or_else(|| rest.next().copied()).ok_or_else(|| usage("-c needs a file"))?;
                lists.read(files, &programs.python, seen_from(call, file)?, Kind::Constraints).await?;
            }
            "-t" | "--target" => {
                let folder = joined.or_else(|| rest.next().copied()).filter(|folder| !folder.is_empty());
                let folder = folder.ok_or_else(|| usage(format!("{option} needs a folder")))?;
                target = Some(seen_from(call, folder)?);
            }
            "-U" | "--upgrade" => upgrade = true,
            "-q" | "--quiet" => quiet = true,
            "-e" | "--editable" => {
                let folder = joined.or_else(|| rest.next().copied()).filter(|folder| !folder.is_empty());
                let folder = folder.ok_or_else(|| usage(format!("{option} needs a folder")))?;
                lists.requirements.push(format!("-e {folder}"));
            }
            "--no-deps" | "--force-reinstall" | "--ignore-installed" | "--pre" | "-i" | "--index-url"
            | "--extra-index-url" | "--prefix" | "--root" => {
                return Err(usage(format!("the option {option} is not offered here")));
            }
            option if option.starts_with('-') => {}
            requirement => lists.requirements.push(requirement.to_owned()),
        }
    }
    // With a lock file alone nothing else comes.
    let closed = lists.locked > 0 && lists.locked == lists.requirements.len();
    let Lists { requirements, constraints, .. } = lists;
    if requirements.is_empty() {
        return Err(usage("You must give at least one requirement to install"));
    }
    let adding = Adding {
        owner: owner.clone(),
        manager: MANAGER,
        requirements,
        directory: GuestPath::parse(&call.directory)?,
        constraints,
        locked: Vec::new(),
        locking: None,
        upgrade,
        folder: target,
        saves: None,
        python: programs.python.clone(),
        closed,
        // Containers have programs of their own.
        is_guest: true,
    };
    let added = add(files, programs.packages.as_ref(), &adding, &|_| {}).await?;
    let mut said = String::new();
    if !quiet {
        for one in &added.satisfied {
            said.push_str(&format!("Requirement already satisfied: {} ({})\n", one.name, one.version));
        }
        let names: Vec<String> =
            added.installed.iter().map(|one| format!("{}-{}", one.name, one.version)).collect();
        if !names.is_empty() {
            said.push_str(&format!("Successfully installed {}\n", names.join(" ")));
        }
    }
    let notes: String = added.notes.iter().map(|note| format!("WARNING: {note}\n")).collect();
    Ok(ProgramEnd {
        status: 0,
        output: said.into_bytes(),
        errors: notes.into_bytes(),
        ..ProgramEnd::default()
    })
}

/// What the lines of a file are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Requirements,
    Constraints,
}

/// What a command line and the files that it names ask for.
#[derive(Default)]
struct Lists {
    requirements: Vec<String>,
    constraints: Vec<String>,
    /// How many of the requirements lock files name.
    locked: usize,
    files: usize,
}

impl Lists {
    /// Reads a file and those that it names.
    async fn read(&mut self, files: &mut dyn Files, python: &str, path: GuestPath, kind: Kind) -> Result<()> {
        let mut left = vec![(path, kind)];
        while let Some((path, kind)) = left.pop() {
            self.files += 1;
            if self.files > MAX_LISTS {
                return Err(usage(format!("the files of requirements name more than {MAX_LISTS} others")));
            }
            let list = text(files, &path).await?;
            let to = match kind {
                Kind::Requirements => &mut self.requirements,
                Kind::Constraints => &mut self.constraints,
            };
            if lock::is_lock(path.as_str()) {
                let locked = lock::requirements(&list, python)?;
                self.locked += if kind == Kind::Requirements { locked.len() } else { 0 };
                to.extend(locked);
                continue;
            }
            let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
            let named = |file: &str| below(folder, file);
            for line in requirements_txt(&list)? {
                match line {
                    RequirementsLine::Requirement(requirement) => to.push(requirement),
                    // What constraints name are constraints.
                    RequirementsLine::Requirements(file) => left.push((named(&file)?, kind)),
                    RequirementsLine::Constraints(file) => left.push((named(&file)?, Kind::Constraints)),
                }
            }
        }
        Ok(())
    }
}

/// An option, and the value that is joined to it.
fn option(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) if name.starts_with("--") => return (name, Some(value)),
        _ => {}
    }
    let short =
        ["-r", "-c", "-t", "-e", "-i"].into_iter().find_map(|name| Some((name, word.strip_prefix(name)?)));
    match short {
        Some((name, value)) if !value.is_empty() => (name, Some(value)),
        _ => (word, None),
    }
}

async fn remove(programs: &PackagePrograms, files: &mut dyn Files, words: &[&str]) -> Result<ProgramEnd> {
    let all = installed(programs, files).await?;
    let (mut gone, mut said, mut warned) = (Vec::new(), String::new(), String::new());
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        match all.iter().find(|one| same(&one.name, word)) {
            Some(one) if one.path.is_empty() => warned.push_str(&format!(
                "WARNING: {word} is part of the sandbox's Python, and cannot be uninstalled.\n"
            )),
            Some(one) => {
                said.push_str(&format!("Successfully uninstalled {}-{}\n", one.name, one.version));
                gone.push(one.clone());
            }
            None => warned.push_str(&format!("WARNING: Skipping {word} as it is not installed.\n")),
        }
    }
    uninstall(files, MANAGER, &MANAGER.root()?, &gone).await?;
    Ok(ProgramEnd {
        status: 0,
        output: said.into_bytes(),
        errors: warned.into_bytes(),
        ..ProgramEnd::default()
    })
}

async fn list(programs: &PackagePrograms, files: &mut dyn Files, words: &[&str]) -> Result<ProgramEnd> {
    let all = installed(programs, files).await?;
    let form = words.iter().find_map(|word| word.strip_prefix("--format=")).unwrap_or("columns");
    let said = match form {
        "freeze" => all.iter().map(|one| format!("{}=={}\n", one.name, one.version)).collect(),
        "json" => {
            let rows: Vec<_> =
                all.iter().map(|one| json!({"name": one.name, "version": one.version})).collect();
            format!("{}\n", json!(rows))
        }
        _ => {
            let width = all.iter().map(|one| one.name.len()).max().unwrap_or(0).max(7);
            let row = |name: &str, version: &str| format!("{name:width$} {version}\n");
            let head = row("Package", "Version") + &row(&"-".repeat(width), "-------");
            head + &all.iter().map(|one| row(&one.name, &one.version)).collect::<String>()
        }
    };
    Ok(ProgramEnd::said(said))
}

async fn show(programs: &PackagePrograms, files: &mut dyn Files, words: &[&str]) -> Result<ProgramEnd> {
    let all = installed(programs, files).await?;
    let root = MANAGER.root()?;
    let mut said = Vec::new();
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        let Some(one) = all.iter().find(|one| same(&one.name, word)) else { continue };
        let place = match one.path.rsplit_once('/') {
            Some((folder, _)) => format!("{root}/{folder}"),
            None => "the sandbox's Python".to_owned(),
        };
        said.push(format!(
            "Name: {}\nVersion: {}\nLocation: {place}\nRequires: {}\n",
            one.name,
            one.version,
            one.requires.join(", ")
        ));
    }
    if said.is_empty() {
        return Ok(ProgramEnd::failed(1, format!("WARNING: Package(s) not found: {}\n", words.join(", "))));
    }
    Ok(ProgramEnd::said(said.join("---\n")))
}

/// Whether two names are one by the rule of PEP 503.
fn same(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
    plain(one) == plain(other)
}
