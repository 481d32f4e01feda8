//! The tree of `node_modules`: as high as a package can lie, below the one that needs it where versions conflict.

mod obeyed;

use std::collections::BTreeMap;
use std::sync::Arc;

use dormouse_core::packages::{Locked, Placed, Present};
use dormouse_core::{Error, ErrorCode, Result};
use nodejs_semver::Version;

use super::Known;
use super::document::Manifest;
use super::spec::Spec;
use crate::digest::Digest;
use crate::settings::Bounds;
use crate::source::Notes;

/// Why something is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The user asked.
    Asked,
    /// Another package needs it.
    Required,
    /// Another package can use it.
    Optional,
    /// Another package needs it beside itself.
    Peer,
}

/// Something that must be found from a folder.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) spec: Spec,
    need: Need,
    /// The package from whose folder it is looked for; empty for the root.
    from: String,
    /// Who needs it, for messages.
    by: String,
    /// Whether all of this serves an optional package only.
    optional: bool,
    /// Whether any version that is there will do: a lock file knows better.
    lenient: bool,
}

impl Work {
    pub(crate) fn asked(spec: Spec) -> Self {
        Self {
            spec,
            need: Need::Asked,
            from: String::new(),
            by: "what was asked".into(),
            optional: false,
            lenient: false,
        }
    }
}

#[derive(Debug)]
struct Node {
    version: Version,
    what: What,
}

#[derive(Debug)]
enum What {
    Present(Present, bool),
    New {
        manifest: Arc<Manifest>,
        optional: bool,
    },
    /// What a lock file names.
    Locked(Box<obeyed::Wanted>),
}

/// The tree: packages by their paths.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: BTreeMap<String, Node>,
    bounds: Bounds,
    upgrade: bool,
    /// How many optional packages for other machines were left out, by who named them.
    machines: BTreeMap<String, usize>,
    /// Those of them as a lock file names them, by their paths.
    elsewhere: BTreeMap<String, Placed>,
}

impl Tree {
    pub(crate) fn new(present: &[Present], bounds: Bounds, upgrade: bool) -> Self {
        let nodes = present.iter().filter_map(|found| {
            let version = Version::parse(&found.version).ok()?;
            Some((found.path.clone(), Node { version, what: What::Present(found.clone(), false) }))
        });
        Self::with(nodes.collect(), bounds, upgrade)
    }

    fn with(nodes: BTreeMap<String, Node>, bounds: Bounds, upgrade: bool) -> Self {
        Self { nodes, bounds, upgrade, machines: BTreeMap::new(), elsewhere: BTreeMap::new() }
    }

    /// Whether nothing has to be asked for it.
    pub(crate) fn is_satisfied(&self, work: &Work) -> bool {
        let renewed = work.need == Need::Asked && self.upgrade;
        let takes = |node: &Node| {
            let same = match &node.what {
                What::Locked(wanted) => wanted.package() == work.spec.package,
                _ => true,
            };
            same && (work.lenient || work.spec.takes(&node.version))
        };
        !renewed && self.find(&work.from, &work.spec.name).is_some_and(|(_, node)| takes(node))
    }

    /// Places what is needed, and says what that needs in turn.
    pub(crate) fn place(&mut self, work: &Work, known: &Known, notes: &Notes) -> Result<Vec<Work>> {
        if self.is_satisfied(work) {
            return Ok(self.used(work));
        }
        match self.placed(work, known) {
            // Packages with native code name one for each machine.
            Err(error)
                if work.need == Need::Optional
                    && error.code() == ErrorCode::CapabilityUnavailable
                    && known.get(&work.spec.package).is_some_and(Result::is_ok) =>
            {
                *self.machines.entry(work.by.clone()).or_default() += 1;
                self.note_elsewhere(work, known);
                Ok(Vec::new())
            }
            Err(error) if work.need == Need::Optional && error.code() != ErrorCode::TooLarge => {
                notes.add(&format!("the optional package `{}` was left out: {error}", work.spec.name));
                Ok(Vec::new())
            }
            // It goes with the package that cannot do without it.
            Err(error) if work.optional && error.code() != ErrorCode::TooLarge => {
                if work.need == Need::Required && self.is_optional(&work.from) {
                    let below = format!("{}/", work.from);
                    self.nodes.retain(|path, _| *path != work.from && !path.starts_with(&below));
                }
                notes.add(&format!("the optional package {} was left out: {error}", work.by));
                Ok(Vec::new())
            }
            placed => placed,
        }
    }

    /// Places a package where a lock file says it lies, and none of what it needs: the file names that too.
    pub(crate) fn lock(&mut self, locked: &Locked, known: &Known, notes: &Notes) -> Result<()> {
        let spec = Spec::of(&locked.package, &locked.version)?;
        let work = Work { by: "the lock file".into(), optional: locked.optional, ..Work::asked(spec) };
        let manifest = match picked(&work, known) {
            Ok(manifest) => manifest,
            Err(error) if work.optional && error.code() == ErrorCode::CapabilityUnavailable => {
                *self.machines.entry(work.by).or_default() += 1;
                return Ok(());
            }
            Err(error) if work.optional => {
                notes.add(&format!("the optional package `{}` was left out: {error}", locked.package));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let wanted = locked.integrity.as_deref().and_then(Digest::integrity);
        if let (Some(wanted), Some((_, listed))) = (&wanted, &manifest.archive)
            && wanted != listed
        {
            let Manifest { name, version, .. } = &*manifest;
            let message =
                format!("`{name}` {version} has another hash in the registry than in the lock file");
            return Err(Error::new(ErrorCode::PackageRefused, message)
                .with_hint("nothing was installed; one of the two is not what its author has published"));
        }
        self.put(locked.path.clone(), manifest, work.optional)
    }

    fn placed(&mut self, work: &Work, known: &Known) -> Result<Vec<Work>> {
        let manifest = match self.locked_version(work, known) {
            Some(manifest) => manifest,
            None => picked(work, known)?,
        };
        let folder = match self.find(&work.from, &work.spec.name) {
            None => String::new(),
            // The tag, or the newest version, is the one that is there.
            Some((_, node)) if node.version == manifest.version => {
                return Ok(self.used(work));
            }
            Some((_, node)) if work.need == Need::Asked => match &node.what {
                What::New { .. } => return Err(self.conflict(work, node)),
                What::Present(..) | What::Locked(_) => String::new(),
            },
            Some((at, node)) if work.need == Need::Peer && at == work.from && !node.is_idle() => {
                return Err(self.conflict(work, node));
            }
            Some(_) => work.from.clone(),
        };
        let path = joined(&folder, &work.spec.name);
        if path.matches("node_modules/").count() > self.bounds.depth {
            let message = format!("packages would lie {} folders deep", self.bounds.depth + 1);
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
        let below = format!("{path}/");
        self.nodes.retain(|other, _| !other.starts_with(&below));
        let next = needs(&path, &folder, &manifest, work)?;
        self.put(path, manifest, work.optional)?;
        Ok(next)
    }

    fn put(&mut self, path: String, manifest: Arc<Manifest>, optional: bool) -> Result<()> {
        let version = manifest.version.clone();
        self.nodes.insert(path, Node { version, what: What::New { manifest, optional } });
        let count = self.new_nodes().count();
        if count > self.bounds.packages {
            let message = format!("more than {} packages are needed", self.bounds.packages);
            return Err(
                Error::new(ErrorCode::TooLarge, message).with_hint("install fewer packages at a time")
            );
        }
        Ok(())
    }

    /// What is found is needed by one more. What it needs in turn is looked for once.
    fn used(&mut self, work: &Work) -> Vec<Work> {
        let Some(path) = self.find(&work.from, &work.spec.name).map(|(at, _)| joined(&at, &work.spec.name))
        else {
            return Vec::new();
        };
        let Some(node) = self.nodes.get_mut(&path) else { return Vec::new() };
        match &mut node.what {
            What::Present(found, used) => {
                let first = !std::mem::replace(used, true);
                let found = found.clone();
                if first { self.missing_of(&found) } else { Vec::new() }
            }
            What::New { optional, .. } => {
                *optional &= work.optional;
                Vec::new()
            }
            What::Locked(wanted) => wanted.used(work.optional),
        }
    }

    /// What a package in a folder would load: the nearest, from the folder up. With the folder that holds it.
    fn find(&self, from: &str, name: &str) -> Option<(String, &Node)> {
        let mut at = from;
        loop {
            if let Some(node) = self.nodes.get(&joined(at, name)) {
                return Some((at.to_owned(), node));
            }
            if at.is_empty() {
                return None;
            }
            at = above(at);
        }
    }

    fn conflict(&self, work: &Work, node: &Node) -> Error {
        let Work { spec, by, .. } = work;
        let message = format!(
            "{by} needs `{}` {}, and {} must lie in the same place",
            spec.name, spec.text, node.version
        );
        Error::new(ErrorCode::Unsatisfiable, message).with_hint("name versions that go together")
    }

    /// What is to be written, with whether only optional packages need it.
    pub(crate) fn new_nodes(&self) -> impl Iterator<Item = (&str, &Arc<Manifest>, bool)> {
        self.nodes.iter().filter_map(|(path, node)| match &node.what {
            What::New { manifest, optional, .. } => Some((path.as_str(), manifest, *optional)),
            What::Present(..) | What::Locked(_) => None,
        })
    }

    /// What was there and is used.
    pub(crate) fn satisfied(&self) -> Vec<Present> {
        let used = self.nodes.values().filter_map(|node| match &node.what {
            What::Present(found, true) => Some(found.clone()),
            _ => None,
        });
        used.collect()
    }

    /// Checks that each new package finds what it needs.
    pub(crate) fn verify(&self) -> Result<()> {
        for (path, manifest, _) in self.new_nodes() {
            let own = manifest.dependencies.iter().map(|need| (path, need));
            let beside = manifest.peers.iter().map(|need| (above(path), need));
            for (from, (name, range)) in own.chain(beside) {
                let Ok(spec) = Spec::of(name, range) else { continue };
                let Some((_, node)) = self.find(from, name) else {
                    if self.is_optional(path) {
                        continue;
                    }
                    return Err(unplaced(manifest, &spec, "nothing"));
                };
                let tagged = matches!(spec.versions, super::spec::Versions::Tag(_));
                if !tagged && !spec.takes(&node.version) {
                    return Err(unplaced(manifest, &spec, &node.version.to_string()));
                }
            }
        }
        Ok(())
    }

    fn is_optional(&self, path: &str) -> bool {
        matches!(self.nodes.get(path), Some(Node { what: What::New { optional: true, .. }, .. }))
    }

    /// What was left out because it is for other machines.
    pub(crate) fn for_other_machines(&self) -> impl Iterator<Item = String> {
        self.machines.iter().map(|(by, count)| {
            format!("{by} has native code in optional packages; {count} for other machines were left out")
        })
    }

    /// What of the packages that stay no longer fits.
    pub(crate) fn broken(&self, present: &[Present]) -> Vec<String> {
        let stays = present.iter().filter(|found| {
            matches!(self.nodes.get(&found.path), Some(Node { what: What::Present(..), .. }))
        });
        let mut notes = Vec::new();
        for found in stays {
            for text in &found.requires {
                let Ok(spec) = Spec::parse(text) else { continue };
                if let Some((_, Node { version, what: What::New { .. } })) =
                    self.find(&found.path, &spec.name)
                    && !spec.takes(version)
                {
                    let Present { name, version: own, .. } = found;
                    notes.push(format!("`{name}` {own} requires `{text}`, but {version} is installed now"));
                }
            }
        }
        notes
    }
}

/// The version that is meant.
fn picked(work: &Work, known: &Known) -> Result<Arc<Manifest>> {
    let document = match known.get(&work.spec.package) {
        Some(Ok(document)) => document,
        Some(Err(error)) => return Err(again(error, work)),
        None => return Err(Error::internal("a document was not asked for", work.spec.package.clone())),
    };
    document.pick(&work.spec).map(Arc::new).map_err(|error| again(&error, work))
}

/// What a package needs from where it lies.
fn needs(path: &str, folder: &str, manifest: &Manifest, work: &Work) -> Result<Vec<Work>> {
    let by = format!("`{}` {}", manifest.name, manifest.version);
    let mut found = Vec::new();
    let groups = [
        (&manifest.peers, Need::Peer, folder),
        (&manifest.dependencies, Need::Required, path),
        (&manifest.optional, Need::Optional, path),
    ];
    for (named, need, from) in groups {
        for (name, range) in named {
            let optional = work.optional || need == Need::Optional;
            match Spec::of(name, range) {
                Ok(spec) => {
                    let (from, by, lenient) = (from.into(), by.clone(), false);
                    found.push(Work { spec, need, from, by, optional, lenient });
                }
                Err(_) if need == Need::Optional => {}
                Err(error) => return Err(again(&error, work)),
            }
        }
    }
    Ok(found)
}

/// The same error, with who needed it.
fn again(error: &Error, work: &Work) -> Error {
    let message = match work.need {
        Need::Asked => error.message().to_owned(),
        _ => format!("{}, which {} needs", error.message(), work.by),
    };
    let again = Error::new(error.code(), message);
    match error.hint() {
        Some(hint) => again.with_hint(hint),
        None => again,
    }
}

fn unplaced(manifest: &Manifest, spec: &Spec, found: &str) -> Error {
    let Manifest { name, version, .. } = manifest;
    let message = format!("`{name}` {version} needs `{}` {}, and would find {found}", spec.name, spec.text);
    Error::new(ErrorCode::Unsatisfiable, message).with_hint("name versions that go together")
}

/// Where a package lies in a folder.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { format!("node_modules/{name}") } else { format!("{folder}/node_modules/{name}") }
}

/// The folder of the package that a package lies in; empty for the root.
pub(super) fn above(path: &str) -> &str {
    path.rfind("/node_modules/").map_or("", |at| &path[..at])
}
