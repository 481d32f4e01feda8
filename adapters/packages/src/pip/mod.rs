//! Python: from requirements to files below a prefix.

pub(crate) mod built_in;
mod bytecode;
pub(crate) mod fuzz;
mod layout;
mod local;
pub(crate) mod lock;
mod metadata;
mod page;
mod requirement;
mod resolve;
mod sdist;
mod wheel;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::packages::{
    BuildMachines, Fetched, Package, PackageEvent, PackageManager, PackageProgress, PackageRequest, Present,
};
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};
use futures::stream::{StreamExt as _, TryStreamExt as _};
use pep440_rs::Version;
use pep508_rs::PackageName;

use self::local::{Origin, Taken};
use self::metadata::Metadata;
use self::requirement::{Environment, Wanted};
use self::resolve::{Known, Step};
use self::sdist::{Sdist, Unbuilt};
use self::wheel::{Candidate, Project, Wheel};
use crate::allow::AllowList;
use crate::archive;
use crate::settings::{Index, Settings};
use crate::source::{Notes, Source, blocking, unavailable};

/// What is asked of an index, in the order of preference.
const ACCEPT: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01";
/// Requests at one time.
const AT_ONCE: usize = 6;
/// Most projects that a resolution asks about.
const MAX_PROJECTS: usize = 1_000;
/// Most versions whose dependencies a resolution reads.
const MAX_METADATA: usize = 2_000;
/// Largest list of dependencies, in bytes (4 MiB).
const MAX_TEXT: u64 = 4 << 20;

/// Everything one call works with.
struct Call<'a> {
    source: &'a Source,
    settings: &'a Settings,
    index: &'a Index,
    /// Where source distributions are built; none: they are not taken.
    machines: Option<&'a dyn BuildMachines>,
    owner: Owner,
    progress: PackageProgress<'a>,
    environment: Environment,
    wanted: Wanted,
    notes: Notes,
    kept: Mutex<Kept>,
}

/// Wheels that were fetched for their description, until they are unpacked, and those that were built.
#[derive(Default)]
struct Kept {
    wheels: HashMap<String, Vec<u8>>,
    bytes: u64,
    built: HashMap<(PackageName, Version), (String, Vec<u8>)>,
    /// Where those come from that lie in the sandbox itself.
    origins: HashMap<PackageName, Origin>,
    builds: usize,
}

pub(crate) async fn fetch(
    source: &Source,
    settings: &Settings,
    (index, machines): (&Index, Option<&dyn BuildMachines>),
    request: &PackageRequest,
    progress: PackageProgress<'_>,
) -> Result<Fetched> {
    let environment = Environment::new(&request.python)?;
    let wanted = Wanted::parse(&request.requirements, &request.constraints, &environment)?;
    for requirement in &wanted.requirements {
        allowed(settings, &requirement.name)?;
    }
    let (notes, kept) = (Notes::default(), Mutex::default());
    let owner = request.owner.clone();
    let mut call =
        Call { source, settings, index, machines, owner, progress, environment, wanted, notes, kept };
    let taken = call.take_local(&request.local).await?;
    let (known, solution) = call.solve(request, &taken).await?;
    if let Some(name) = solution.keys().filter(|_| request.closed).find(|name| !call.wanted.names(name)) {
        let message = format!("`{name}` is needed, and the lock file does not name it");
        return Err(Error::new(ErrorCode::Unsatisfiable, message).with_hint("write the lock file anew"));
    }
    if solution.len() > settings.bounds.packages {
        let (count, most) = (solution.len(), settings.bounds.packages);
        return Err(Error::new(
            ErrorCode::TooLarge,
            format!("{count} packages are needed, more than {most}"),
        )
        .with_hint("install fewer packages at a time"));
    }
    call.collect(request, &known, &solution).await
}

fn allowed(settings: &Settings, name: &PackageName) -> Result<()> {
    if settings.allow.allows(PackageManager::Pip, name.as_ref()) {
        return Ok(());
    }
    Err(AllowList::refused(PackageManager::Pip, name.as_ref()))
}

impl Call<'_> {
    /// Resolves as far as is known, fetches what is missing, and begins again, until all is known.
    async fn solve(
        &self,
        request: &PackageRequest,
        taken: &[Taken],
    ) -> Result<(Arc<Known>, HashMap<PackageName, Version>)> {
        let built_in = if request.is_guest { built_in::all() } else { Vec::new() };
        let present = (&request.present[..], &built_in[..]);
        let mut known = Known::new(&self.wanted, present, request.upgrade, self.environment.clone());
        known.take_local(taken);
        let caller = Arc::new(());
        loop {
            (self.progress)(PackageEvent::Resolving { packages: known.projects.len() });
            let shared = Arc::new(known);
            let run = resolve::Run::new(shared.clone(), Arc::downgrade(&caller));
            let step = blocking(move || run.solve()).await?;
            let missing = match step {
                Step::Solved(solution) => return Ok((shared, solution)),
                Step::Failed(error) => return Err(error),
                Step::Missing(missing) => missing,
            };
            known = Arc::try_unwrap(shared).unwrap_or_else(|shared| (*shared).clone());
            if known.projects.len() + missing.projects.len() > MAX_PROJECTS
                || known.metadata.len() + missing.metadata.len() > MAX_METADATA
            {
                let message = "too many versions had to be examined to find some that fit together";
                return Err(Error::new(ErrorCode::TooLarge, message).with_hint("name exact versions"));
            }
            let projects = self.projects(&known, missing.projects).await?;
            known.projects.extend(projects);
            let metadata = self.metadata(&mut known, missing.metadata).await?;
            known.metadata.extend(metadata);
        }
    }

    async fn projects(
        &self,
        known: &Known,
        names: HashSet<PackageName>,
    ) -> Result<Vec<(PackageName, Arc<Project>)>> {
        let names: Vec<PackageName> =
            names.into_iter().filter(|name| !known.projects.contains_key(name)).collect();
        let asked = names.into_iter().map(|name| async move {
            let project = self.project(&name).await?;
            Ok::<_, Error>((name, Arc::new(project)))
        });
        futures::stream::iter(asked).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn project(&self, name: &PackageName) -> Result<Project> {
        if let Err(error) = allowed(self.settings, name) {
            return Ok(Project { refused: Some(error.message().to_owned()), ..Project::default() });
        }
        let path = format!("{}/", name.as_ref());
        let Some(page) = self.source.page(self.index, &path, ACCEPT, &self.notes).await? else {
            return Ok(Project { missing: true, ..Project::default() });
        };
        let (environment, name) = (self.environment.clone(), name.clone());
        let (pins, builds) = (self.wanted.hashes.get(&name).cloned(), self.machines.is_some());
        let files = blocking(move || {
            let files = page::read(&page)?;
            Some(Project::new(&name, files, &environment, pins.as_deref(), builds))
        });
        files.await?.ok_or_else(|| {
            unavailable(format!("the package index at {} answered in an unknown form", self.index.host()))
                .with_hint("the index must speak PEP 691 (JSON) or PEP 503 (HTML)")
        })
    }

    async fn metadata(
        &self,
        known: &mut Known,
        wanted: HashSet<(PackageName, Version)>,
    ) -> Result<Vec<((PackageName, Version), Arc<Metadata>)>> {
        let (mut wheels, mut sources) = (Vec::new(), Vec::new());
        for (name, version) in wanted {
            match known.projects.get(&name).and_then(|project| project.candidates.get(&version)) {
                Some(Candidate::Wheel(wheel)) => wheels.push((name, version, wheel.clone())),
                Some(Candidate::Sdist(sdist)) => sources.push((name, version, sdist.clone())),
                Some(Candidate::Built) | None => {}
            }
        }
        let read = wheels.into_iter().map(|(name, version, wheel)| async move {
            let metadata = self.metadata_of(&name, &version, &wheel).await?;
            Ok::<_, Error>(((name, version), Arc::new(metadata)))
        });
        let mut all: Vec<_> = futures::stream::iter(read).buffer_unordered(AT_ONCE).try_collect().await?;
        // One after the other: each takes the memory of a sandbox.
        for (name, version, sdist) in sources {
            let metadata = match self.built_metadata(&name, &version, &sdist).await? {
                Ok(metadata) => metadata,
                Err(unbuilt) => {
                    let unusable = Some(unbuilt.why.clone());
                    known.unbuilt.push((name.clone(), version.clone(), unbuilt));
                    Metadata { unusable, ..Metadata::default() }
                }
            };
            all.push(((name, version), Arc::new(metadata)));
        }
        Ok(all)
    }

    /// What a version depends on that has to be built: nobody knows it before.
    async fn built_metadata(
        &self,
        name: &PackageName,
        version: &Version,
        sdist: &Sdist,
    ) -> Result<Result<Metadata, Unbuilt>> {
        let (label, packed) = match self.wheel_of(name, sdist).await? {
            Ok(made) => made,
            Err(unbuilt) => return Ok(Err(unbuilt)),
        };
        let (read, shown) = (label.clone(), sdist.filename.clone());
        let (text, packed) = blocking(move || {
            let text = archive::wheel_file(&read, &packed, ".dist-info/METADATA", MAX_TEXT);
            (text, packed)
        })
        .await?;
        let text = match text {
            Ok(text) => text,
            Err(error) => return Ok(Err(Unbuilt::by_itself(error.message()))),
        };
        let metadata = Metadata::read(&text, name, version, &self.environment);
        if let Some(why) = metadata.unusable {
            return Ok(Err(Unbuilt::by_itself(&why)));
        }
        self.notes
            .add(&format!("`{shown}` is a source distribution; its wheel was built in a sandbox of its own"));
        let mut kept = self.kept();
        let held: usize = kept.built.values().map(|(_, bytes)| bytes.len()).sum();
        if (held + packed.len()) as u64 > self.settings.bounds.unpacked {
            let why = "the wheels that were built have more bytes than one call may have";
            return Ok(Err(Unbuilt::by_itself(why)));
        }
        kept.built.insert((name.clone(), version.clone()), (label, packed));
        Ok(Ok(metadata))
    }

    /// Counts one more build; how many there are with it.
    fn count_build(&self) -> usize {
        let mut kept = self.kept();
        kept.builds += 1;
        kept.builds
    }

    /// Packages that a build needs, as they lie below a prefix. They are wheels, whatever the call itself may build.
    async fn isolated(&self, requirements: &[String]) -> Result<Fetched> {
        let request = PackageRequest {
            owner: self.owner.clone(),
            manager: PackageManager::Pip,
            requirements: requirements.to_vec(),
            local: Vec::new(),
            constraints: Vec::new(),
            present: Vec::new(),
            locked: Vec::new(),
            project: None,
            upgrade: false,
            python: self.environment.python.to_string(),
            closed: false,
            is_guest: true,
        };
        request.check()?;
        fetch(self.source, self.settings, (self.index, None), &request, self.progress).await
    }

    /// What a version depends on: from the index's own file where it offers one with a hash, else from the wheel.
    async fn metadata_of(&self, name: &PackageName, version: &Version, wheel: &Wheel) -> Result<Metadata> {
        let label = &wheel.filename;
        let text = match &wheel.metadata {
            Some((url, digest)) => {
                self.source.file(self.index, url, digest, &format!("{label}.metadata"), self.progress).await?
            }
            None => {
                let packed = self.packed(wheel).await?;
                let (name, room) = (label.clone(), self.settings.bounds.unpacked);
                let (text, packed) = blocking(move || {
                    let text = archive::wheel_file(&name, &packed, ".dist-info/METADATA", MAX_TEXT);
                    (text, packed)
                })
                .await?;
                self.kept().keep(label, packed, room);
                text?
            }
        };
        if text.len() as u64 > MAX_TEXT {
            return Err(Error::new(ErrorCode::TooLarge, format!("the metadata of `{label}` is too long")));
        }
        Ok(Metadata::read(&text, name, version, &self.environment))
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn packed(&self, wheel: &Wheel) -> Result<Vec<u8>> {
        if let Some(packed) = self.kept().wheels.remove(&wheel.filename) {
            return Ok(packed);
        }
        self.source.file(self.index, &wheel.url, &wheel.digest, &wheel.filename, self.progress).await
    }

    /// Fetches and lays out what is not there.
    async fn collect(
        &self,
        request: &PackageRequest,
        known: &Known,
        solution: &HashMap<PackageName, Version>,
    ) -> Result<Fetched> {
        let mut fetched = Fetched::default();
        let mut new = Vec::new();
        for (name, version) in solution {
            match known.present.get(name) {
                Some(present) if present.version == *version => {
                    fetched.satisfied.push(present.as_found.clone())
                }
                _ => new.push((name.clone(), version.clone())),
            }
        }
        new.sort();
        let mut left = self.settings.bounds.unpacked;
        // In order, a few ahead: so that no more lie in memory than are on their way.
        let found = |(name, version): &(PackageName, Version)| {
            let built = self.kept().built.remove(&(name.clone(), version.clone()));
            let candidate = known.projects.get(name).and_then(|project| project.candidates.get(version));
            (built, candidate.cloned())
        };
        let chosen: Vec<_> = new.iter().map(found).collect();
        let archives = chosen.into_iter().map(|chosen| async move {
            match chosen {
                (Some(built), _) => Ok(built),
                (None, Some(Candidate::Wheel(wheel))) => {
                    let packed = self.packed(&wheel).await?;
                    Ok((wheel.filename, packed))
                }
                _ => Err(Error::new(ErrorCode::Internal, "a package that was chosen is not there")),
            }
        });
        let mut archives = futures::stream::iter(archives).buffered(AT_ONCE / 2);
        let mut order = new.iter();
        while let (Some((filename, packed)), Some((name, version))) =
            (archives.try_next().await?, order.next())
        {
            (self.progress)(PackageEvent::Unpacking { name: name.to_string() });
            let plan = layout::Plan {
                name: name.clone(),
                version: version.clone(),
                filename,
                python: request.python.clone(),
                origin: self.kept().origins.get(name).cloned(),
                asked: self.wanted.requirements.iter().any(|wanted| wanted.name == *name),
            };
            let package = blocking(move || layout::lay_out(&plan, &packed, left)).await??;
            left -= package.files.iter().map(|file| file.bytes.len() as u64).sum::<u64>().min(left);
            fetched.packages.push(package);
        }
        self.compile(&mut fetched.packages, &request.python, left).await;
        fetched.packages.sort_by(|a, b| a.path.cmp(&b.path));
        fetched.satisfied.sort_by(|a, b| a.path.cmp(&b.path));
        for (name, version, unbuilt) in &known.unbuilt {
            self.notes
                .add(&format!("versions that do without `{name}` {version} were chosen: {}", unbuilt.why));
        }
        // Where a name is not allowed, or is built in in another version, that may be why a version is old.
        for (name, project) in known.projects.iter().filter(|(name, _)| !solution.contains_key(*name)) {
            if let Some(why) = &project.refused {
                self.notes.add(&format!("versions that do without `{name}` were chosen: {why}"));
            }
        }
        for there in known.passed_over() {
            let (name, version) = (&there.as_found.name, &there.version);
            self.notes.add(&format!(
                "versions that do without another `{name}` were chosen: the sandbox's Python has {version} built in"
            ));
        }
        for note in broken(&request.present, &fetched.packages, &self.environment) {
            self.notes.add(&note);
        }
        fetched.notes = self.notes.take();
        Ok(fetched)
    }
}

impl Kept {
    /// Keeps a wheel if there is room; else it is fetched again.
    fn keep(&mut self, name: &str, packed: Vec<u8>, room: u64) {
        let bytes = self.bytes + packed.len() as u64;
        if bytes <= room {
            self.bytes = bytes;
            self.wheels.insert(name.to_owned(), packed);
        }
    }
}

/// What of the packages that stay no longer fits.
fn broken(present: &[Present], packages: &[Package], environment: &Environment) -> Vec<String> {
    let new: HashMap<PackageName, &Package> =
        packages.iter().filter_map(|package| Some((package.name.parse().ok()?, package))).collect();
    let mut notes = Vec::new();
    for stays in present {
        let name = stays.name.parse::<PackageName>();
        if name.as_ref().is_ok_and(|name| new.contains_key(name)) {
            continue;
        }
        for text in &stays.requires {
            let Ok(requirement) = requirement::parse(text) else { continue };
            let Some(package) = new.get(&requirement.name) else { continue };
            let Ok(version) = package.version.parse::<Version>() else { continue };
            let holds = environment.applies(&requirement.marker, &[]);
            if holds && !requirement::range(&requirement).contains(&version) {
                notes.push(format!(
                    "`{}` {} requires `{text}`, but {version} is installed now",
                    stays.name, stays.version
                ));
            }
        }
    }
    notes
}
