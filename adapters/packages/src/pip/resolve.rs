//! Versions that fit together, found with PubGrub over what is known so far.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use dormouse_core::packages::Present;
use dormouse_core::{Error, ErrorCode};
use pep440_rs::Version;
use pep508_rs::{ExtraName, PackageName, Requirement};
use pubgrub::{
    DefaultStringReporter, Dependencies, DependencyProvider, PackageResolutionStatistics, PubGrubError,
    Ranges, Reporter as _,
};

use super::metadata::Metadata;
use super::requirement::{Environment, Wanted, range};
use super::sdist::Unbuilt;
use super::wheel::{Candidate, Project};

/// Longest time of one search.
const TIME: Duration = Duration::from_secs(20);
/// Longest explanation, in bytes.
const MAX_TOLD: usize = 2_000;

/// What is chosen: all that was asked, a project, or a project with one of its extras.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Id {
    Asked,
    Project(PackageName, Option<ExtraName>),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("what was asked"),
            Self::Project(name, None) => write!(f, "{name}"),
            Self::Project(name, Some(extra)) => write!(f, "{name}[{extra}]"),
        }
    }
}

/// A project that lies in the tree.
#[derive(Clone, Debug)]
pub(crate) struct There {
    pub(crate) version: Version,
    pub(crate) as_found: Present,
    metadata: Arc<Metadata>,
}

/// What is known so far.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) projects: HashMap<PackageName, Arc<Project>>,
    pub(crate) metadata: HashMap<(PackageName, Version), Arc<Metadata>>,
    pub(crate) present: HashMap<PackageName, There>,
    /// The versions whose build failed, and why, in that order. No source of their projects is tried again.
    pub(crate) unbuilt: Vec<(PackageName, Version, Unbuilt)>,
    asked: Vec<Requirement>,
    constraints: HashMap<PackageName, Versions>,
    /// Those whose newest version is wanted.
    upgrade: HashSet<PackageName>,
    /// Those that the interpreter has: in one version, which stays.
    built_in: HashSet<PackageName>,
    /// Those of them that a search has asked for in another version.
    passed_over: Arc<Mutex<HashSet<PackageName>>>,
    environment: Environment,
}

impl Known {
    /// `present`: what lies in the tree, and what the interpreter has of its own, which counts before that.
    pub(crate) fn new(
        wanted: &Wanted,
        present: (&[Present], &[Present]),
        upgrade: bool,
        environment: Environment,
    ) -> Self {
        let (present, built_in) = present;
        let there = present.iter().chain(built_in).filter_map(|found| {
            let metadata = Arc::new(Metadata::present(&found.requires));
            let version = found.version.parse().ok()?;
            Some((found.name.parse().ok()?, There { version, as_found: found.clone(), metadata }))
        });
        let names = wanted.requirements.iter().map(|wanted| wanted.name.clone());
        Self {
            projects: HashMap::new(),
            metadata: HashMap::new(),
            present: there.collect(),
            unbuilt: Vec::new(),
            asked: wanted.requirements.clone(),
            constraints: wanted.constraints.clone(),
            upgrade: names.filter(|_| upgrade).collect(),
            built_in: built_in.iter().filter_map(|found| found.name.parse().ok()).collect(),
            passed_over: Arc::default(),
            environment,
        }
    }
}

/// What a search needs to go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    pub(crate) projects: HashSet<PackageName>,
    pub(crate) metadata: HashSet<(PackageName, Version)>,
}

/// How a search ended.
pub(crate) enum Step {
    Solved(HashMap<PackageName, Version>),
    Missing(Missing),
    Failed(Error),
}

/// Why the search is left.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Left {
    #[error("something must be fetched first")]
    Missing,
    #[error("it takes too long")]
    Time,
}

/// One search.
pub(crate) struct Run {
    known: Arc<Known>,
    missing: RefCell<Missing>,
    end: Instant,
    /// Gone when the caller is.
    caller: Weak<()>,
}

type Versions = Ranges<Version>;

impl Run {
    pub(crate) fn new(known: Arc<Known>, caller: Weak<()>) -> Self {
        Self { known, missing: RefCell::default(), end: Instant::now() + TIME, caller }
    }

    pub(crate) fn solve(self) -> Step {
        match pubgrub::resolve(&self, Id::Asked, Version::new([0])) {
            Ok(solution) => {
                let chosen = solution.into_iter().filter_map(|(id, version)| match id {
                    Id::Project(name, None) => Some((name, version)),
                    _ => None,
                });
                Step::Solved(chosen.collect())
            }
            Err(PubGrubError::NoSolution(mut tree)) => {
                let named: BTreeSet<PackageName> = tree
                    .packages()
                    .into_iter()
                    .filter_map(|id| match id {
                        Id::Project(name, _) => Some(name.clone()),
                        Id::Asked => None,
                    })
                    .collect();
                tree.collapse_no_versions();
                // What was asked has no version.
                let told = DefaultStringReporter::report(&tree)
                    .replace(&format!("{} 0", Id::Asked), "what was asked");
                Step::Failed(self.known.unsatisfiable(&named, &told))
            }
            Err(
                PubGrubError::ErrorRetrievingDependencies { source, .. }
                | PubGrubError::ErrorChoosingVersion { source, .. }
                | PubGrubError::ErrorInShouldCancel(source),
            ) => match source {
                Left::Missing => Step::Missing(self.missing.into_inner()),
                Left::Time => Step::Failed(
                    Error::new(ErrorCode::Unsatisfiable, "no versions that fit together were found in time")
                        .with_hint("name exact versions"),
                ),
            },
        }
    }

    fn project(&self, name: &PackageName) -> Result<&Project, Left> {
        self.known.projects.get(name).map(Arc::as_ref).ok_or_else(|| {
            self.missing.borrow_mut().projects.insert(name.clone());
            Left::Missing
        })
    }

    /// The versions of a project that can be had, the oldest first.
    fn versions<'a>(
        &self,
        name: &PackageName,
        project: &'a Project,
    ) -> impl DoubleEndedIterator<Item = &'a Version> + use<'a> {
        let no_source = self.known.unbuilt.iter().any(|(unbuilt, ..)| unbuilt == name);
        let had = project.candidates.iter().filter(move |(_, candidate)| match candidate {
            Candidate::Wheel(_) | Candidate::Built => true,
            Candidate::Sdist(_) => !no_source,
        });
        had.map(|(version, _)| version)
    }

    /// What is there, if it is to be kept.
    fn kept(&self, name: &PackageName) -> Option<&There> {
        let stays = !self.known.upgrade.contains(name) || self.known.built_in.contains(name);
        self.known.present.get(name).filter(|_| stays)
    }

    fn metadata(&self, name: &PackageName, version: &Version) -> Result<&Metadata, Left> {
        if let Some(there) = self.known.present.get(name).filter(|there| there.version == *version) {
            return Ok(&there.metadata);
        }
        let key = (name.clone(), version.clone());
        self.known.metadata.get(&key).map(Arc::as_ref).ok_or_else(|| {
            self.missing.borrow_mut().metadata.insert(key);
            Left::Missing
        })
    }
}

impl DependencyProvider for Run {
    type P = Id;
    type V = Version;
    type VS = Versions;
    type Priority = (u32, std::cmp::Reverse<usize>);
    type M = String;
    type Err = Left;

    fn prioritize(&self, id: &Id, range: &Versions, stats: &PackageResolutionStatistics) -> Self::Priority {
        let Id::Project(name, _) = id else { return (u32::MAX, std::cmp::Reverse(0)) };
        let fitting = match self.known.projects.get(name) {
            _ if self.known.built_in.contains(name) => {
                usize::from(self.kept(name).is_some_and(|there| range.contains(&there.version)))
            }
            Some(project) => self.versions(name, project).filter(|version| range.contains(version)).count(),
            None if self.kept(name).is_some_and(|there| range.contains(&there.version)) => 1,
            None => {
                // Asked about together with the others that are not known.
                self.missing.borrow_mut().projects.insert(name.clone());
                usize::MAX
            }
        };
        (stats.conflict_count(), std::cmp::Reverse(fitting))
    }

    fn choose_version(&self, id: &Id, range: &Versions) -> Result<Option<Version>, Left> {
        let Id::Project(name, _) = id else { return Ok(Some(Version::new([0]))) };
        if let Some(there) = self.kept(name).filter(|there| range.contains(&there.version)) {
            return Ok(Some(there.version.clone()));
        }
        if self.known.built_in.contains(name) {
            self.known.passed_over.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
            return Ok(None);
        }
        let fitting =
            self.versions(name, self.project(name)?).rev().filter(|version| range.contains(version));
        // As pip: what is not final only when nothing else fits, or when a bound asks for it.
        let asked = self.known.asks_for_early(name);
        let mut fitting = fitting.peekable();
        let newest = fitting.peek().map(|version| (*version).clone());
        let last = fitting.find(|version| asked || !version.any_prerelease()).cloned();
        Ok(last.or(newest))
    }

    fn get_dependencies(
        &self,
        id: &Id,
        version: &Version,
    ) -> Result<Dependencies<Id, Versions, String>, Left> {
        let mut needs: BTreeMap<Id, Versions> = BTreeMap::new();
        let (requires, extra) = match id {
            Id::Asked => (&self.known.asked, None),
            Id::Project(name, extra) => {
                let metadata = self.metadata(name, version)?;
                if let Some(why) = &metadata.unusable {
                    return Ok(Dependencies::Unavailable(why.clone()));
                }
                if extra.is_some() {
                    needs.insert(Id::Project(name.clone(), None), Ranges::singleton(version.clone()));
                }
                (&metadata.requires, extra.as_ref())
            }
        };
        let extras: Vec<ExtraName> = extra.cloned().into_iter().collect();
        for requirement in requires {
            if !self.known.environment.applies(&requirement.marker, &extras) {
                continue;
            }
            let bound = match self.known.constraints.get(&requirement.name) {
                Some(constraint) => range(requirement).intersection(constraint),
                None => range(requirement),
            };
            let with = requirement.extras.iter().map(|extra| Some(extra.clone()));
            for extra in with.chain([None]) {
                let id = Id::Project(requirement.name.clone(), extra);
                let both = needs
                    .get(&id)
                    .map_or_else(|| bound.clone(), |other: &Versions| other.intersection(&bound));
                needs.insert(id, both);
            }
        }
        // A project may require itself with other extras.
        if let Id::Project(name, own) = id {
            needs.remove(&Id::Project(name.clone(), own.clone()));
        }
        Ok(Dependencies::Available(needs.into_iter().collect()))
    }

    fn should_cancel(&self) -> Result<(), Left> {
        let gone = self.caller.strong_count() == 0;
        if gone || Instant::now() > self.end { Err(Left::Time) } else { Ok(()) }
    }
}

impl Known {
    fn asks_for_early(&self, name: &PackageName) -> bool {
        let asked = self.asked.iter().filter(|requirement| requirement.name == *name);
        asked.into_iter().any(|requirement| match &requirement.version_or_url {
            Some(pep508_rs::VersionOrUrl::VersionSpecifier(all)) => {
                all.iter().any(|specifier| specifier.version().any_prerelease())
            }
            _ => false,
        })
    }

    /// The built-in packages that were asked for in another version, sorted.
    pub(crate) fn passed_over(&self) -> Vec<&There> {
        let names = self.passed_over.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<&There> = names.iter().filter_map(|name| self.present.get(name)).collect();
        all.sort_by(|a, b| a.as_found.name.cmp(&b.as_found.name));
        all
    }

    /// A built-in package that somebody wants in another version.
    fn built_in_of(&self, named: &BTreeSet<PackageName>) -> Option<&There> {
        named.iter().filter(|name| self.built_in.contains(*name)).find_map(|name| self.present.get(name))
    }

    /// Why nothing fits: a name that does not exist, one that is not allowed, only native code, or a contradiction.
    fn unsatisfiable(&self, named: &BTreeSet<PackageName>, told: &str) -> Error {
        let projects = || named.iter().filter_map(|name| Some((name, self.projects.get(name)?)));
        if let Some((name, _)) = projects().find(|(_, project)| project.missing) {
            return Error::new(ErrorCode::NotFound, format!("the index has no Python package `{name}`"))
                .with_hint("check the spelling of the name");
        }
        if let Some(why) = projects().find_map(|(_, project)| project.refused.as_ref()) {
            return Error::new(ErrorCode::CapabilityUnavailable, why.clone())
                .with_hint("have the operator add it to `--package-allow` (`DORMOUSE_PACKAGE_ALLOW`)");
        }
        if let Some((name, _)) =
            projects().find(|(_, project)| project.unpinned && project.candidates.is_empty())
        {
            let message = format!("no wheel of `{name}` has one of the hashes that were asked for");
            return Error::new(ErrorCode::PackageRefused, message)
                .with_hint("nothing was installed; look at the `--hash` options");
        }
        // The first: others were only tried because of it.
        if let Some((name, version, Unbuilt { why, hint })) = self.unbuilt.first() {
            let message = format!("`{name}` {version} has no wheel of pure Python, and {why}");
            return Error::new(ErrorCode::CapabilityUnavailable, message).with_hint(*hint);
        }
        let native = projects().find_map(|(name, project)| {
            let (version, file, more) = project.others.as_ref()?;
            project.candidates.is_empty().then_some((name, version, file, more))
        });
        if let Some((name, version, file, more)) = native {
            let more = if *more == 0 { String::new() } else { format!(" and {more} more") };
            let message = format!(
                "`{name}` {version} has no wheel of pure Python for this sandbox, only `{file}`{more}"
            );
            return Error::new(ErrorCode::CapabilityUnavailable, message)
                .with_hint("packages with native code need the Docker provider");
        }
        let told: String = told.chars().take(MAX_TOLD).collect();
        let older = projects().find_map(|(name, project)| {
            let (version, ..) = project.others.as_ref()?;
            Some(format!("; `{name}` {version} is there, but not as a wheel of pure Python for this sandbox"))
        });
        let message = format!("no versions satisfy all requirements: {}", told.replace('\n', " "));
        Error::new(ErrorCode::Unsatisfiable, message).with_hint(match self.built_in_of(named) {
            Some(there) => format!(
                "the sandbox's Python has `{}` {} built in, and cannot have another version of it",
                there.as_found.name, there.version
            ),
            None => format!("loosen one of the requirements{}", older.unwrap_or_default()),
        })
    }
}
