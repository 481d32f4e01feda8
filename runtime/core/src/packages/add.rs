//! Adding packages to a sandbox: what is there, what is missing, fetch, write; and for npm the `package.json`.

use serde_json::{Map, Value as Json, json};

use super::install::{Installed, install};
use super::present::present;
use super::{PackageManager, PackageProgress, PackageRequest, Packages, Present};
use crate::sandbox::{Files, Owner};
use crate::{Error, ErrorCode, GuestPath, Result};

/// Largest `package.json`, in bytes (1 MiB).
const MAX_MANIFEST: u64 = 1 << 20;

/// What is to be added.
#[derive(Clone, Debug)]
pub struct Adding {
    /// For whom.
    pub owner: Owner,
    /// Whose packages.
    pub manager: PackageManager,
    /// As users write them: `requests>=2`, `left-pad@^1`.
    pub requirements: Vec<String>,
    /// Whether what is there gives way to newer versions.
    pub upgrade: bool,
    /// The folder of `node_modules`, for npm. Default `/workspace`.
    pub folder: Option<GuestPath>,
    /// Whether npm's `package.json` is to name what was asked for.
    pub saves: bool,
    /// The version of Python, such as `3.14.7`.
    pub python: String,
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
    let root = match (&adding.folder, manager) {
        (Some(folder), PackageManager::Npm) => folder.clone(),
        _ => manager.root()?,
    };
    let present = present(files, manager, &root, &adding.python).await?;
    let request = PackageRequest {
        owner: adding.owner.clone(),
        manager,
        requirements: adding.requirements.clone(),
        present,
        upgrade: adding.upgrade,
        python: adding.python.clone(),
    };
    let fetched = packages.fetch(&request, progress).await?;
    let installed = install(files, manager, &root, &request.present, &fetched.packages).await?;
    if adding.saves && manager == PackageManager::Npm {
        save(files, &root, &adding.requirements, &fetched.packages, &fetched.satisfied).await?;
    }
    Ok(Added { installed, satisfied: fetched.satisfied, notes: fetched.notes })
}

/// Names what was asked for in `package.json`, with the versions that are there now.
async fn save(
    files: &mut dyn Files,
    root: &GuestPath,
    requirements: &[String],
    packages: &[super::Package],
    satisfied: &[Present],
) -> Result<()> {
    let path = GuestPath::parse(&format!("{}/package.json", root.as_str().trim_end_matches('/')))?;
    let mut manifest = match files.read(&path, 0, MAX_MANIFEST).await {
        Ok(piece) => serde_json::from_slice(&piece.bytes)
            .map_err(|error| Error::args_invalid(format!("`{path}` is not JSON: {error}")))?,
        Err(error) if error.code() == ErrorCode::NotFound => json!({}),
        Err(error) => return Err(error),
    };
    let Json::Object(fields) = &mut manifest else {
        return Err(Error::args_invalid(format!("`{path}` is not an object")));
    };
    let entry = fields.entry("dependencies").or_insert_with(|| Json::Object(Map::new()));
    let Json::Object(dependencies) = entry else {
        return Err(Error::args_invalid(format!("the `dependencies` of `{path}` are not an object")));
    };
    let versions = packages.iter().map(|one| (one.name.as_str(), one.version.as_str(), one.path.as_str()));
    let there = satisfied.iter().map(|one| (one.name.as_str(), one.version.as_str(), one.path.as_str()));
    let all: Vec<_> = versions.chain(there).collect();
    for requirement in requirements {
        // A scope begins with the sign that versions follow.
        let at = requirement.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
        let name = at.map_or(requirement.as_str(), |at| &requirement[..at]);
        // The one on top, of several of the same name.
        let found = all.iter().filter(|(known, ..)| *known == name).min_by_key(|(_, _, path)| path.len());
        if let Some((_, version, _)) = found {
            dependencies.insert(name.to_owned(), format!("^{version}").into());
        }
    }
    let text = serde_json::to_string_pretty(&manifest)
        .map_err(|error| Error::internal("package.json cannot be written", error))?;
    files.write(&path, format!("{text}\n").as_bytes()).await
}
