//! `npm install`, `uninstall`, `ls`, `init`. Scripts are the shell's to run.

use dormouse_core::packages::{Adding, PackageManager, Present, add, package_json, present, uninstall};
use dormouse_core::sandbox::{Files, Owner};
use dormouse_core::{Error, ErrorCode, GuestPath, ProgramCall, ProgramEnd, Result};
use serde_json::{Value as Json, json};

use super::{PackagePrograms, seen_from, text, usage};

const MANAGER: PackageManager = PackageManager::Npm;

const HELP: &str = "\
npm <command>

Usage:
  npm install [NAME[@RANGE]...]   Install pure-JavaScript packages into node_modules
  npm uninstall NAME...           Remove packages
  npm ls                          List what is installed
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
        "install" | "i" | "add" | "ci" => install(programs, owner, files, &folder, rest).await,
        "uninstall" | "remove" | "rm" | "un" => remove(programs, files, &folder, rest).await,
        "ls" | "list" => list(programs, files, &folder).await,
        "init" => init(files, &folder).await,
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
    let flag = |names: &[&str]| words.iter().any(|word| names.contains(word));
    if flag(&["-g", "--global"]) {
        return Err(usage("there are no global packages here"));
    }
    let mut requirements: Vec<String> =
        words.iter().filter(|word| !word.starts_with('-')).map(|word| (*word).to_owned()).collect();
    let named = !requirements.is_empty();
    if !named {
        let path = manifest(folder)?;
        let listed = text(files, &path).await.map_err(|error| match error.code() {
            ErrorCode::NotFound => usage(format!("there is no {path}, and no package is named")),
            _ => error,
        })?;
        requirements = package_json(&listed, flag(&["--production", "--omit=dev", "--prod"]))?;
        if requirements.is_empty() {
            return Ok(ProgramEnd::said("\nup to date\n"));
        }
    }
    let adding = Adding {
        owner: owner.clone(),
        manager: MANAGER,
        requirements,
        upgrade: false,
        folder: Some(folder.clone()),
        saves: named && !flag(&["--no-save"]),
        python: programs.python.clone(),
    };
    let added = add(files, programs.packages.as_ref(), &adding, &|_| {}).await?;
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
    let names: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let gone: Vec<Present> = installed(programs, files, folder)
        .await?
        .into_iter()
        .filter(|one| names.contains(&one.name.as_str()))
        .collect();
    uninstall(files, MANAGER, folder, &gone).await?;
    let path = manifest(folder)?;
    if let Ok(listed) = text(files, &path).await
        && let Ok(mut listed) = serde_json::from_str::<Json>(&listed)
    {
        for group in ["dependencies", "devDependencies", "optionalDependencies"] {
            if let Some(group) = listed[group].as_object_mut() {
                group.retain(|name, _| !names.contains(&name.as_str()));
            }
        }
        files.write(&path, pretty(&listed)?.as_bytes()).await?;
    }
    Ok(ProgramEnd::said(format!(
        "\nremoved {} package{}\n",
        gone.len(),
        if gone.len() == 1 { "" } else { "s" }
    )))
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
    let path = manifest(folder)?;
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

fn manifest(folder: &GuestPath) -> Result<GuestPath> {
    GuestPath::parse(&format!("{}/package.json", folder.as_str().trim_end_matches('/')))
}

fn pretty(value: &Json) -> Result<String> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::internal("package.json cannot be written", error))?;
    Ok(format!("{text}\n"))
}
