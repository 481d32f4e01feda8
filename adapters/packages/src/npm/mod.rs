//! JavaScript: from requirements to files below the folder that holds `node_modules`.

mod document;
pub(crate) mod fuzz;
mod layout;
mod lock;
mod spec;
mod tree;
mod written;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use dormouse_core::packages::{
    Described, Detail, Fetched, Group, Locked, Package, PackageEvent, PackageManager, PackageProgress,
    PackageRequest, Placed,
};
use dormouse_core::{Error, ErrorCode, Result};
use futures::stream::{StreamExt as _, TryStreamExt as _};

use self::document::{Document, Manifest};
pub(crate) use self::lock::read as locked;
pub(crate) use self::spec::Spec;
use self::tree::{Tree, Work};
pub(crate) use self::written::write as lock_file;
use crate::allow::AllowList;
use crate::settings::{Index, Settings};
use crate::source::{Notes, Source, blocking, unavailable};

/// The short form of a package's document, else the whole one.
const ACCEPT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";
/// The whole one.
const ACCEPT_WHOLE: &str = "application/json";
/// Most packages that the registry is asked about in one call.
const MAX_DOCUMENTS: usize = 1_000;
/// Requests at one time.
const AT_ONCE: usize = 6;

/// What is known of a name: its document, or why there is none.
type Known = HashMap<String, Result<Arc<Document>, Arc<Error>>>;

/// Where an archive is needed, and whether only optional packages need it there.
type Places = Vec<(String, bool)>;

/// Everything one call works with.
struct Call<'a> {
    source: &'a Source,
    settings: &'a Settings,
    index: &'a Index,
    progress: PackageProgress<'a>,
    notes: Notes,
}

pub(crate) async fn fetch(
    source: &Source,
    settings: &Settings,
    index: &Index,
    request: &PackageRequest,
    progress: PackageProgress<'_>,
) -> Result<Fetched> {
    let call = Call { source, settings, index, progress, notes: Notes::default() };
    if !request.locked.is_empty() {
        let tree = call.locked(&request.locked).await?;
        return call.collect(request, &tree).await;
    }
    let (mut tree, mut level, unlocked) = begun(settings, request)?;
    let mut known = Known::new();
    // Level by level: what is nearer to the user lies higher.
    while !level.is_empty() {
        progress(PackageEvent::Resolving { packages: known.len() });
        let names: HashSet<String> = level
            .iter()
            .filter(|work| !tree.is_satisfied(work))
            .map(|work| work.spec.package.clone())
            .filter(|name| !known.contains_key(name))
            .collect();
        call.documents(&mut known, names).await?;
        let mut next = Vec::new();
        for work in &level {
            next.extend(tree.place(work, &known, &call.notes)?);
        }
        level = next;
    }
    tree.verify()?;
    let mut removed = Vec::new();
    if request.project.is_some() && unlocked.is_none() {
        let asked = tree.absent().into_iter().filter(|name| !known.contains_key(name)).collect();
        call.documents(&mut known, asked).await?;
        removed = tree.settle(&request.present, &known, &call.notes)?;
    }
    let fetched = call.collect(request, &tree).await?;
    Ok(Fetched { removed, unlocked, ..fetched })
}

/// What the registry says of a package, and of the version that a requirement means.
pub(crate) async fn describe(
    source: &Source,
    settings: &Settings,
    index: &Index,
    requirement: &str,
    detail: Detail,
) -> Result<Described> {
    let spec = Spec::parse(requirement)?;
    let accept = match detail {
        Detail::Needs => ACCEPT,
        Detail::Whole => ACCEPT_WHOLE,
    };
    let call = Call { source, settings, index, progress: &|_| {}, notes: Notes::default() };
    call.document(&spec.package, accept).await?.described(&spec)
}

/// The tree before anything is placed, what is to be placed in it, and why a lock file is not obeyed.
fn begun(settings: &Settings, request: &PackageRequest) -> Result<(Tree, Vec<Work>, Option<String>)> {
    let named = request.requirements.iter().map(|text| Spec::parse(text)).collect::<Result<Vec<_>>>()?;
    let (bounds, upgrade) = (settings.bounds, request.upgrade);
    let plain = || Tree::new(&request.present, bounds, upgrade);
    let Some(project) = &request.project else {
        return Ok((plain(), named.into_iter().map(Work::asked).collect(), None));
    };
    let mut listed = Vec::new();
    for (group, text) in &project.listed {
        let spec = Spec::parse(text)?;
        let again = |other: &Spec| other.name == spec.name;
        if !(project.without_dev && *group == Group::Dev || named.iter().any(again)) {
            listed.push((*group, spec));
        }
    }
    let asked = named.into_iter().map(Work::asked);
    let works = |listed: Vec<(Group, Spec)>| {
        let listed = listed.into_iter().map(|(group, spec)| Work::listed(group, spec));
        asked.chain(listed).collect()
    };
    let Some(lock) = &project.lock else { return Ok((plain(), works(listed), None)) };
    match lock::entries(lock) {
        Ok(entries) => {
            let tree = Tree::of_lock(entries, &request.present, bounds, upgrade);
            Ok((tree, works(listed), None))
        }
        Err(error) if error.code() == ErrorCode::CapabilityUnavailable => {
            let why = format!("{}: the lock file is neither used nor written", error.message());
            Ok((plain(), works(listed), Some(why)))
        }
        Err(error) => Err(error.with_hint(
            "`npm install --no-package-lock` works without it; if it is removed, a new one is written",
        )),
    }
}

impl Call<'_> {
    /// The tree that a lock file describes.
    async fn locked(&self, locked: &[Locked]) -> Result<Tree> {
        let mut tree = Tree::new(&[], self.settings.bounds, false);
        let mut known = Known::new();
        (self.progress)(PackageEvent::Resolving { packages: 0 });
        self.documents(&mut known, locked.iter().map(|one| one.package.clone()).collect()).await?;
        for one in locked {
            tree.lock(one, &known, &self.notes)?;
        }
        Ok(tree)
    }

    async fn documents(&self, known: &mut Known, names: HashSet<String>) -> Result<()> {
        if known.len() + names.len() > MAX_DOCUMENTS {
            let message = format!("more than {MAX_DOCUMENTS} packages would have to be asked about");
            return Err(
                Error::new(ErrorCode::TooLarge, message).with_hint("install fewer packages at a time")
            );
        }
        let asked = names.into_iter().map(|name| async move {
            let found = self.document(&name, ACCEPT).await;
            (name, found)
        });
        let found: Vec<(String, Result<Document>)> =
            futures::stream::iter(asked).buffer_unordered(AT_ONCE).collect().await;
        for (name, found) in found {
            match found {
                // A registry that fails is no reason to leave an optional package out.
                Err(error) if matches!(error.code(), ErrorCode::IndexUnavailable | ErrorCode::Internal) => {
                    return Err(error);
                }
                found => known.insert(name, found.map(Arc::new).map_err(Arc::new)),
            };
        }
        Ok(())
    }

    async fn document(&self, name: &str, accept: &'static str) -> Result<Document> {
        if !self.settings.allow.allows(PackageManager::Npm, name) {
            return Err(AllowList::refused(PackageManager::Npm, name));
        }
        let path = format!("./{}", name.replace('/', "%2f"));
        let Some(page) = self.source.page(self.index, &path, accept, &self.notes).await? else {
            return Err(Error::new(
                ErrorCode::NotFound,
                format!("the registry has no JavaScript package `{name}`"),
            )
            .with_hint("check the spelling of the name"));
        };
        let base = page.url.clone();
        let asked = name.to_owned();
        let read = blocking(move || Document::read(&asked, &page.body, &base)).await?;
        read.ok_or_else(|| {
            unavailable(format!("the package index at {} answered in an unknown form", self.index.host()))
                .with_hint("the index must be a registry of npm packages")
        })
    }

    /// Fetches every archive once, and lays it out wherever it is needed.
    async fn collect(&self, request: &PackageRequest, tree: &Tree) -> Result<Fetched> {
        let mut places: BTreeMap<(String, String), (Arc<Manifest>, Places)> = BTreeMap::new();
        for (path, manifest, optional) in tree.new_nodes() {
            let key = (manifest.name.clone(), manifest.version.to_string());
            let entry = places.entry(key).or_insert_with(|| (manifest.clone(), Vec::new()));
            entry.1.push((path.to_owned(), optional));
        }
        let mut left = self.settings.bounds.unpacked;
        let mut fetched = Fetched::default();
        let archives = places.into_values().map(|(manifest, paths)| async move {
            let label = format!("{}-{}.tgz", manifest.name, manifest.version);
            let packed = match &manifest.archive {
                Some((url, digest)) => {
                    self.source.file(self.index, url, digest, &label, self.progress).await?
                }
                None => return Err(unhashed(&manifest)),
            };
            Ok((manifest, paths, packed))
        });
        let mut archives = futures::stream::iter(archives).buffered(AT_ONCE / 2);
        while let Some((manifest, paths, packed)) = archives.try_next().await? {
            (self.progress)(PackageEvent::Unpacking { name: manifest.name.clone() });
            let packages = self.lay_out(&manifest, paths, packed, &mut left).await?;
            fetched.packages.extend(packages);
        }
        fetched.packages.sort_by(|a, b| a.path.cmp(&b.path));
        layout::one_program_a_name(&mut fetched.packages, &self.notes);
        fetched.satisfied = tree.satisfied();
        fetched.placed = placed(&fetched.packages, tree);
        for note in tree.broken(&request.present).into_iter().chain(tree.for_other_machines()) {
            self.notes.add(&note);
        }
        fetched.notes = self.notes.take();
        Ok(fetched)
    }

    async fn lay_out(
        &self,
        manifest: &Arc<Manifest>,
        paths: Places,
        packed: Vec<u8>,
        left: &mut u64,
    ) -> Result<Vec<Package>> {
        let (about, room, count) = (manifest.clone(), *left, paths.len() as u64);
        let all_optional = paths.iter().all(|(_, optional)| *optional);
        let laid = blocking(move || {
            let places: Vec<String> = paths.into_iter().map(|(path, _)| path).collect();
            // Each place has a copy of its own.
            layout::lay_out(&about, &places, &packed, room / count.max(1))
        })
        .await?;
        let packages = match laid {
            Err(error) if all_optional && error.code() == ErrorCode::CapabilityUnavailable => {
                self.notes.add(&format!("the optional package `{}` was left out: {error}", manifest.name));
                return Ok(Vec::new());
            }
            laid => laid?,
        };
        let files = packages.iter().flat_map(|package| &package.files);
        *left = left.saturating_sub(files.map(|file| file.bytes.len() as u64).sum());
        if manifest.scripts || layout::has_scripts(&packages) {
            self.notes.add(&format!("the install scripts of `{}` were not run", manifest.name));
        }
        if let Some(why) = &manifest.deprecated {
            let why: String = why.chars().filter(|letter| !letter.is_control()).take(200).collect();
            self.notes.add(&format!("`{}` {} is deprecated: {why}", manifest.name, manifest.version));
        }
        Ok(packages)
    }
}

/// How a lock file names what is new, with what comes in its archives and what was left out.
fn placed(packages: &[Package], tree: &Tree) -> Vec<Placed> {
    let manifests: BTreeMap<&str, &Arc<Manifest>> =
        tree.new_nodes().map(|(path, manifest, _)| (path, manifest)).collect();
    let mut all: Vec<Placed> = tree.elsewhere().cloned().collect();
    for file in packages.iter().flat_map(|package| &package.files) {
        let Some(path) = file.path.strip_suffix("/package.json") else { continue };
        let own = manifests.get(path);
        let bundled = || {
            path.rsplit_once("node_modules/").is_some_and(|(above, name)| {
                let name = Spec::parse(name).is_ok_and(|spec| spec.name == name);
                name && above.strip_suffix('/').is_some_and(all_modules)
            })
        };
        if own.is_none() && !bundled() {
            continue;
        }
        let Ok(about) = serde_json::from_slice(&file.bytes) else { continue };
        let integrity = own.and_then(|manifest| manifest.integrity.clone());
        let deprecated = own.and_then(|manifest| manifest.deprecated.clone());
        all.push(Placed::new(path.to_owned(), about, integrity, deprecated));
    }
    all
}

/// Whether a path is one of packages in one another, and no folder within one.
fn all_modules(path: &str) -> bool {
    path.strip_prefix("node_modules/").is_some_and(|rest| {
        rest.split("/node_modules/").all(|name| Spec::parse(name).is_ok_and(|spec| spec.name == name))
    })
}

fn unhashed(manifest: &Manifest) -> Error {
    let message = format!("the registry gives no SHA-512 of `{}` {}", manifest.name, manifest.version);
    Error::new(ErrorCode::PackageRefused, message).with_hint("nothing was installed; request another version")
}
