//! Projects and archives of Python that lie in a sandbox's own files, as requirements name them: `.`, `./lib[dev]`, `-e .`,
//! `NAME @ file:///workspace/lib`, `dist/lib-1.0-py3-none-any.whl`.

use super::present::whole;
use crate::sandbox::{EntryKind, Files};
use crate::{Error, ErrorCode, GuestPath, Result};

/// Most bytes of a project (64 MiB): it is held here, and copied into the machine that builds it.
const MAX_BYTES: u64 = 64 << 20;
/// Most files of a project.
const MAX_FILES: usize = 20_000;
/// Folders that belong to no project, wherever they lie.
const LEFT_OUT: [&str; 12] = [
    ".git",
    ".hg",
    ".local",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
    "venv",
];
/// How archives end.
const ARCHIVES: [&str; 4] = [".whl", ".tar.gz", ".zip", ".tar.bz2"];
/// What a project has one of.
const PROJECT: [&str; 2] = ["pyproject.toml", "setup.py"];

/// A project of Python, or an archive of one, that lies in the sandbox itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Where it lies.
    pub path: GuestPath,
    /// Those of its extras that are wanted, as they are written: `[dev,docs]`. Default none: an empty text.
    pub extras: String,
    /// Whether its modules stay where they are (PEP 660).
    pub editable: bool,
    /// What is there.
    pub content: LocalContent,
}

/// What lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalContent {
    /// The files of a project, by their paths below its folder.
    Project(Vec<(String, Vec<u8>)>),
    /// A wheel or a source distribution.
    Archive(Vec<u8>),
}

/// What a requirement says of it.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    path: &'a str,
    extras: &'a str,
    editable: bool,
}

/// Takes what lies in the sandbox out of requirements, and reads it. Paths are seen from `directory`.
///
/// # Errors
/// `not_found` where nothing lies; `args_invalid` for what is no project; `too_large` past 64 MiB or 20 000 files.
pub(super) async fn take(
    files: &mut dyn Files,
    requirements: &[String],
    directory: &GuestPath,
) -> Result<(Vec<String>, Vec<Local>)> {
    let (mut others, mut found) = (Vec::new(), Vec::new());
    let mut left = MAX_BYTES;
    for requirement in requirements {
        let Some(Named { path, extras, editable }) = named(requirement) else {
            others.push(without_option(requirement).to_owned());
            continue;
        };
        let path = seen_from(directory, path)?;
        let content = match files.stat(&path).await?.kind {
            EntryKind::Folder => LocalContent::Project(project(files, &path, &mut left).await?),
            EntryKind::File if editable => {
                return Err(Error::args_invalid(format!("`{path}` is no folder"))
                    .with_hint("only a project in a folder can be installed with `-e`"));
            }
            _ => LocalContent::Archive(archive(files, &path, &mut left).await?),
        };
        found.push(Local { path, extras: extras.to_owned(), editable, content });
    }
    Ok((others, found))
}

/// What a requirement names, if that lies in the sandbox.
fn named(requirement: &str) -> Option<Named<'_>> {
    let plain = without_option(requirement);
    let editable = plain.len() < requirement.trim().len();
    let (before, address) = match plain.split_once('@') {
        Some((before, after)) if after.trim_start().starts_with("file:") => (before.trim_end(), after.trim()),
        _ => ("", plain),
    };
    let (address, extras) = match address.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((path, _)) => address.split_at(path.len()),
        None => (address, before.find('[').map_or("", |at| &before[at..])),
    };
    let path = match address.strip_prefix("file:") {
        Some(rest) => rest.strip_prefix("//localhost").or_else(|| rest.strip_prefix("//")).unwrap_or(rest),
        None if address.contains("://") => return None,
        None => address,
    };
    let version = path.split(';').next().unwrap_or_default();
    let is_path = path.len() < address.len()
        || editable
        || version.starts_with(['.', '/'])
        || version.contains('/')
        || ARCHIVES.iter().any(|end| path.ends_with(end));
    is_path.then_some(Named { path: path.trim(), extras, editable })
}

/// A requirement without the option that makes it editable.
fn without_option(requirement: &str) -> &str {
    let requirement = requirement.trim();
    let rest = ["--editable", "-e"].iter().find_map(|option| requirement.strip_prefix(option));
    match rest {
        Some(rest) if rest.starts_with([' ', '\t', '=']) => rest.trim_start_matches([' ', '\t', '=']),
        _ => requirement,
    }
}

fn seen_from(directory: &GuestPath, path: &str) -> Result<GuestPath> {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
    let mut parts = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    GuestPath::parse(&format!("/{}", parts.join("/")))
}

async fn archive(files: &mut dyn Files, path: &GuestPath, left: &mut u64) -> Result<Vec<u8>> {
    if !ARCHIVES.iter().any(|end| path.as_str().ends_with(end)) {
        return Err(Error::args_invalid(format!("`{path}` is neither a project nor an archive of Python"))
            .with_hint("name a folder with a pyproject.toml, a wheel or a source distribution"));
    }
    let bytes = whole(files, path, *left).await?;
    *left -= bytes.len() as u64;
    Ok(bytes)
}

/// The files of a project, without what tools leave in it.
async fn project(files: &mut dyn Files, root: &GuestPath, left: &mut u64) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut found, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        let at = GuestPath::parse(&format!("{}/{folder}", root.as_str().trim_end_matches('/')))
            .or_else(|error| if folder.is_empty() { Ok(root.clone()) } else { Err(error) })?;
        let (entries, count) = files.list(&at, false, MAX_FILES).await?;
        if count > MAX_FILES.saturating_sub(found.len() + folders.len()) as u64 {
            let message = format!("`{root}` has more than {MAX_FILES} files");
            return Err(Error::new(ErrorCode::TooLarge, message)
                .with_hint("keep the project in a folder of its own, such as /workspace/NAME"));
        }
        for entry in entries {
            let path = format!("{folder}{}{}", if folder.is_empty() { "" } else { "/" }, entry.path);
            match entry.kind {
                EntryKind::Folder if !LEFT_OUT.contains(&entry.path.as_str()) => folders.push(path),
                EntryKind::File => {
                    let bytes =
                        whole(files, &GuestPath::parse(&format!("{at}/{}", entry.path))?, *left).await?;
                    *left -= bytes.len() as u64;
                    found.push((path, bytes));
                }
                _ => {}
            }
        }
    }
    if found.iter().any(|(path, _)| PROJECT.contains(&path.as_str())) {
        return Ok(found);
    }
    Err(Error::args_invalid(format!(
        "`{root}` is no project of Python: it has neither a pyproject.toml nor a setup.py"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_sandbox_is_known_by_its_form() {
        for (text, path, extras, editable) in [
            (".", ".", "", false),
            (".[dev]", ".", "[dev]", false),
            ("-e .", ".", "", true),
            ("--editable=./lib[a,b]", "./lib", "[a,b]", true),
            ("-e lib", "lib", "", true),
            ("file:///workspace/lib", "/workspace/lib", "", false),
            ("file:./lib", "./lib", "", false),
            ("lib[x] @ file:///workspace/lib", "/workspace/lib", "[x]", false),
            ("dist/lib-1.0-py3-none-any.whl", "dist/lib-1.0-py3-none-any.whl", "", false),
            ("lib-1.0.tar.gz", "lib-1.0.tar.gz", "", false),
        ] {
            assert_eq!(named(text), Some(Named { path, extras, editable }), "{text}");
        }
        for other in [
            "requests",
            "requests[socks]>=2",
            "x; os_name == 'a/b'",
            "x @ https://h/x.whl",
            "git+https://h/x",
            "-e git+https://h/x",
        ] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn paths_are_seen_from_the_folder() {
        let folder = GuestPath::parse("/workspace/a").unwrap();
        for (path, whole) in [(".", "/workspace/a"), ("../b/./c", "/workspace/b/c"), ("/x", "/x")] {
            assert_eq!(seen_from(&folder, path).unwrap().as_str(), whole);
        }
    }
}
