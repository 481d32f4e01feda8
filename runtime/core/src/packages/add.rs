//! Adding packages to a sandbox: what is there, what is missing, fetch, write; and for npm the `package.json`.

use serde_json::{Map, Value as Json, json};

use super::install::{Installed, install, install_and_remove, install_anew};
use super::local;
use super::locking::{LockFile, Locking, after};
use super::present::{present, present_in, whole};
use super::{
    Fetched, Locked, Package, PackageManager, PackageProgress, PackageRequest, Packages, Present,
    site_packages,
};
use crate::sandbox::{Files, Owner};
use crate::{Error, ErrorCode, GuestPath, Result};

/// Largest `package.json`, in bytes (1 MiB).
const MAX_MANIFEST: u64 = 1 << 20;

/// A list of a `package.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What the package needs.
    Dependencies,
    /// What only its developers need.
    Dev,
    /// What it can use.
    Optional,
}

impl Group {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Dependencies, Self::Optional, Self::Dev];

    /// The field of the `package.json`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Dependencies => "dependencies",
            Self::Dev => "devDependencies",
            Self::Optional => "optionalDependencies",
        }
    }
}

/// How a `package.json` is to name what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saving {
    /// In which list. Default: where it is named already, else `dependencies`.
    pub group: Option<Group>,
    /// Whether only the very version is named, and not what is compatible with it (`^`).
    pub exact: bool,
}

/// What is to be added.
#[derive(Clone, Debug)]
pub struct Adding {
    /// For whom.
    pub owner: Owner,
    /// Whose packages.
    pub manager: PackageManager,
    /// As users write them: `requests>=2`, `left-pad@^1`; for pip also what lies in the sandbox: `.`, `-e ./lib[dev]`.
    pub requirements: Vec<String>,
    /// The folder that paths among them are seen from.
    pub directory: GuestPath,
    /// As in [`PackageRequest::constraints`].
    pub constraints: Vec<String>,
    /// What a lock file of npm names: then `node_modules` holds this afterwards and nothing else. Empty: there is none.
    pub locked: Vec<Locked>,
    /// How the lock file of npm is obeyed and written, where `locked` is empty. Default: neither.
    pub locking: Option<Locking>,
    /// Whether what is there gives way to newer versions.
    pub upgrade: bool,
    /// The folder of `node_modules`, for npm, by default `/workspace`; for pip one in which modules lie directly, as `--target`
    /// asks, by default none: they lie below `/workspace/.local`.
    pub folder: Option<GuestPath>,
    /// How npm's `package.json` is to name what was asked for; none: not at all.
    pub saves: Option<Saving>,
    /// The version of Python, such as `3.14.7`.
    pub python: String,
    /// As in [`PackageRequest::closed`].
    pub closed: bool,
    /// As in [`PackageRequest::is_guest`].
    pub is_guest: bool,
}

/// What was added.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// What is new, or has another version.
    pub installed: Vec<Installed>,
    /// What was asked for and was there already.
    pub satisfied: Vec<Present>,
    /// What a user should know: scripts that were not run, binaries that are missing.
    pub notes: Vec<String>,
}

/// Adds packages to a sandbox's files; all or none.
///
/// # Errors
/// As of [`Packages::fetch`] and [`install()`].
pub async fn add(
    files: &mut dyn Files,
    packages: &dyn Packages,
    adding: &Adding,
    progress: PackageProgress<'_>,
) -> Result<Added> {
    let manager = adding.manager;
    let root = match &adding.folder {
        Some(folder) => folder.clone(),
        None => manager.root()?,
    };
    let direct = manager == PackageManager::Pip && adding.folder.is_some();
    let present = match direct {
        true => present_in(files, &root).await?,
        false => present(files, manager, &root, &adding.python).await?,
    };
    let locking = adding.locking.filter(|_| manager == PackageManager::Npm && adding.locked.is_empty());
    let mut lock = match locking {
        Some(_) => Some(LockFile::of(files, &root).await?),
        None => None,
    };
    let project = match (&lock, locking) {
        (Some(lock), Some(locking)) => lock.project(files, locking).await?,
        _ => None,
    };
    let (requirements, local) = match manager {
        PackageManager::Pip => local::take(files, &adding.requirements, &adding.directory).await?,
        PackageManager::Npm => (adding.requirements.clone(), Vec::new()),
    };
    let mut request = PackageRequest {
        owner: adding.owner.clone(),
        manager,
        requirements,
        local,
        constraints: adding.constraints.clone(),
        present,
        locked: adding.locked.clone(),
        project,
        upgrade: adding.upgrade,
        python: adding.python.clone(),
        closed: adding.closed,
        is_guest: adding.is_guest,
    };
    if request.project.is_some() && !locking.is_some_and(|locking| locking.named) {
        // The project itself has them.
        request.requirements.clear();
    }
    let nothing = request.requirements.is_empty() && request.project.is_none() && locking.is_some();
    let mut fetched = if nothing { Fetched::default() } else { packages.fetch(&request, progress).await? };
    if direct {
        let site = site_packages(&adding.python);
        fetched.packages.iter_mut().for_each(|package| lay_directly(package, &site));
    }
    if let (Some(lock), Some(why)) = (&mut lock, &fetched.unlocked) {
        lock.leave_alone(why.clone());
    }
    let installed = if !adding.locked.is_empty() {
        install_anew(files, &root, &fetched.packages).await?
    } else if fetched.removed.is_empty() {
        install(files, manager, &root, &request.present, &fetched.packages).await?
    } else {
        install_and_remove(files, &root, &request.present, &fetched.packages, &fetched.removed).await?
    };
    if let (Some(saving), PackageManager::Npm) = (adding.saves, manager) {
        save(files, &root, saving, &adding.requirements, &fetched).await?;
    }
    let (satisfied, mut notes) = (fetched.satisfied.clone(), fetched.notes.clone());
    if let Some(lock) = lock.filter(|_| locking.is_some_and(|locking| locking.writes)) {
        let mut next = lock.next(files, packages, after(&request.present, fetched)).await?;
        lock.write(files, &mut next).await?;
        notes.append(&mut next.notes);
    }
    Ok(Added { installed, satisfied, notes })
}

/// Has the modules of a wheel lie in the root itself; programs stay in its `bin`.
fn lay_directly(package: &mut Package, site: &str) {
    let within = format!("{site}/");
    let to_root = "../".repeat(site.split('/').count());
    let record = format!("{}/RECORD", package.path);
    for file in &mut package.files {
        if file.path == record {
            let lines = String::from_utf8_lossy(&file.bytes);
            let lines =
                lines.lines().map(|line| format!("{}\n", line.strip_prefix(&to_root).unwrap_or(line)));
            file.bytes = lines.collect::<String>().into_bytes();
        }
        if let Some(path) = file.path.strip_prefix(&within) {
            file.path = path.to_owned();
        }
    }
    if let Some(path) = package.path.strip_prefix(&within) {
        package.path = path.to_owned();
    }
}

/// Names what was asked for in `package.json`, with the versions that are there now.
async fn save(
    files: &mut dyn Files,
    root: &GuestPath,
    saving: Saving,
    requirements: &[String],
    fetched: &Fetched,
) -> Result<()> {
    let path = GuestPath::parse(&format!("{}/package.json", root.as_str().trim_end_matches('/')))?;
    let mut manifest = match whole(files, &path, MAX_MANIFEST).await {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| Error::args_invalid(format!("`{path}` is not JSON: {error}")))?,
        Err(error) if error.code() == ErrorCode::NotFound => json!({}),
        Err(error) => return Err(error),
    };
    let Json::Object(fields) = &mut manifest else {
        return Err(Error::args_invalid(format!("`{path}` is not an object")));
    };
    let Fetched { packages, satisfied, .. } = fetched;
    let versions = packages.iter().map(|one| (one.name.as_str(), one.version.as_str(), one.path.as_str()));
    let there = satisfied.iter().map(|one| (one.name.as_str(), one.version.as_str(), one.path.as_str()));
    let all: Vec<_> = versions.chain(there).collect();
    let sign = if saving.exact { "" } else { "^" };
    for requirement in requirements {
        // A scope begins with the sign that versions follow.
        let at = requirement.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
        let name = at.map_or(requirement.as_str(), |at| &requirement[..at]);
        // The one on top, of several of the same name.
        let found = all.iter().filter(|(known, ..)| *known == name).min_by_key(|(_, _, path)| path.len());
        let Some((_, version, _)) = found else { continue };
        let named = |group: &Group| fields.get(group.field()).is_some_and(|list| list.get(name).is_some());
        let group =
            saving.group.or_else(|| Group::ALL.into_iter().find(named)).unwrap_or(Group::Dependencies);
        for other in Group::ALL.into_iter().filter(|other| *other != group) {
            // It is named in one list.
            if let Some(Json::Object(list)) = fields.get_mut(other.field()) {
                list.retain(|known, _| known != name);
            }
        }
        let list = fields.entry(group.field()).or_insert_with(|| Json::Object(Map::new()));
        let Json::Object(list) = list else {
            return Err(Error::args_invalid(format!(
                "the `{}` of `{path}` are not an object",
                group.field()
            )));
        };
        list.insert(name.to_owned(), format!("{sign}{version}").into());
    }
    let text = serde_json::to_string_pretty(&manifest)
        .map_err(|error| Error::internal("package.json cannot be written", error))?;
    files.write(&path, format!("{text}\n").as_bytes()).await
}
