//! A tree that begins with what a lock file names: its versions and places stay where they satisfy what is needed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use dormouse_core::Result;
use dormouse_core::packages::{Group, Locked, Placed, Present};

use super::{Need, Node, Tree, What, Work, above, joined};
use crate::npm::Known;
use crate::npm::document::{Manifest, is_for_this_machine};
use crate::npm::lock::{Entry, Tie, ties};
use crate::npm::spec::{Spec, Versions};
use crate::settings::Bounds;
use crate::source::Notes;

/// A package that a lock file names.
#[derive(Debug)]
pub(super) struct Wanted {
    entry: Entry,
    /// The same, as it lies in the sandbox.
    there: Option<Present>,
    /// Whether anything needs it.
    reached: bool,
    /// Whether only optional packages need it.
    optional: bool,
}

impl Wanted {
    /// Its name in the registry.
    pub(super) fn package(&self) -> &str {
        &self.entry.locked.package
    }

    /// What it needs, at the first time that it is needed itself.
    pub(super) fn used(&mut self, optional: bool) -> Vec<Work> {
        self.optional &= optional;
        if std::mem::replace(&mut self.reached, true) {
            return Vec::new();
        }
        let Locked { path, package, version, .. } = &self.entry.locked;
        let by = format!("`{package}` {version}");
        let mut found = Vec::new();
        for (tie, name, range) in ties(&self.entry.about) {
            let (need, from) = match tie {
                Tie::Required => (Need::Required, path.as_str()),
                Tie::Optional => (Need::Optional, path.as_str()),
                Tie::Peer => (Need::Peer, above(path)),
                Tie::OptionalPeer => continue,
            };
            let Ok(spec) = Spec::of(&name, &range) else { continue };
            let lenient = need == Need::Peer || matches!(spec.versions, Versions::Tag(_));
            let optional = self.optional || need == Need::Optional;
            found.push(Work { spec, need, from: from.into(), by: by.clone(), optional, lenient });
        }
        found
    }
}

impl Work {
    /// What a `package.json` lists.
    pub(crate) fn listed(group: Group, spec: Spec) -> Self {
        let optional = group == Group::Optional;
        let need = if optional { Need::Optional } else { Need::Required };
        let lenient = matches!(spec.versions, Versions::Tag(_));
        Self { need, by: "`package.json`".into(), optional, lenient, ..Self::asked(spec) }
    }
}

impl Node {
    /// Whether it is named by a lock file, and nothing has needed it yet.
    pub(super) fn is_idle(&self) -> bool {
        matches!(&self.what, What::Locked(wanted) if !wanted.reached)
    }
}

impl Tree {
    /// The tree of a lock file, over what lies in the sandbox.
    pub(crate) fn of_lock(entries: Vec<Entry>, present: &[Present], bounds: Bounds, upgrade: bool) -> Self {
        let there: BTreeMap<&str, &Present> = present.iter().map(|one| (one.path.as_str(), one)).collect();
        let nodes = entries.into_iter().map(|entry| {
            let there = there.get(entry.locked.path.as_str()).copied();
            let there = there.filter(|one| one.version == entry.locked.version).cloned();
            let (path, version) = (entry.locked.path.clone(), entry.version.clone());
            let wanted = Wanted { entry, there, reached: false, optional: true };
            (path, Node { version, what: What::Locked(Box::new(wanted)) })
        });
        Self::with(nodes.collect(), bounds, upgrade)
    }

    /// What a package that lies in the sandbox needs and does not find.
    pub(super) fn missing_of(&self, present: &Present) -> Vec<Work> {
        let mut found = Vec::new();
        for (tie, name, range) in ties(&present.about) {
            if tie != Tie::Required || self.find(&present.path, &name).is_some() {
                continue;
            }
            let Ok(spec) = Spec::of(&name, &range) else { continue };
            let by = format!("`{}` {}", present.name, present.version);
            let (need, from) = (Need::Required, present.path.clone());
            found.push(Work { spec, need, from, by, optional: false, lenient: false });
        }
        found
    }

    /// A version that the lock file has elsewhere, where it fits what is needed here.
    pub(super) fn locked_version(&self, work: &Work, known: &Known) -> Option<Arc<Manifest>> {
        if work.need == Need::Asked {
            return None;
        }
        let fits = |node: &&Node| match &node.what {
            What::Locked(wanted) => wanted.package() == work.spec.package && work.spec.takes(&node.version),
            _ => false,
        };
        let best = self.nodes.values().filter(fits).map(|node| &node.version).max()?;
        let spec = Spec::of(&work.spec.package, &best.to_string()).ok()?;
        let document = known.get(&work.spec.package)?.as_ref().ok()?;
        document.pick(&spec).ok().map(Arc::new)
    }

    /// Notes one for other machines, so that a lock file can name it for those.
    pub(super) fn note_elsewhere(&mut self, work: &Work, known: &Known) {
        let Some(Ok(document)) = known.get(&work.spec.package) else { return };
        let Ok(manifest) = document.chosen(&work.spec) else { return };
        let taken = self.find(&work.from, &work.spec.name).is_some();
        let path = joined(if taken { &work.from } else { "" }, &work.spec.name);
        let Manifest { about, integrity, .. } = manifest;
        self.elsewhere.entry(path.clone()).or_insert_with(|| Placed::new(path, about, integrity, None));
    }

    /// The packages of which the registry must be asked, because they are not there.
    pub(crate) fn absent(&self) -> HashSet<String> {
        self.nodes.values().filter_map(absent).map(|wanted| wanted.package().to_owned()).collect()
    }

    /// Takes what of the lock file is needed, and lets the rest go. Answers with what lies in the sandbox and is needed by
    /// nothing.
    ///
    /// # Errors
    /// What the registry says of a package that must be fetched; `package_refused` for another hash than the lock file's.
    pub(crate) fn settle(
        &mut self,
        present: &[Present],
        known: &Known,
        notes: &Notes,
    ) -> Result<Vec<Present>> {
        let nodes = std::mem::take(&mut self.nodes);
        let mut missing = Vec::new();
        for (path, node) in nodes {
            let wanted = match node.what {
                What::Locked(wanted) => wanted,
                what => {
                    self.nodes.insert(path, Node { what, ..node });
                    continue;
                }
            };
            let Wanted { entry, there, reached, optional } = *wanted;
            match there {
                _ if !reached => {}
                Some(present) => {
                    self.nodes
                        .insert(path, Node { version: node.version, what: What::Present(present, true) });
                }
                None if optional && !is_for_this_machine(&entry.about) => {
                    *self.machines.entry("the lock file".into()).or_default() += 1;
                }
                None => missing.push(Locked { optional, ..entry.locked }),
            }
        }
        for locked in &missing {
            self.lock(locked, known, notes)?;
        }
        Ok(present.iter().filter(|one| !self.is_kept(one)).cloned().collect())
    }

    /// Whether a package of the sandbox is one of the tree, or comes with one that is.
    fn is_kept(&self, present: &Present) -> bool {
        let mut at = present.path.as_str();
        if self.nodes.contains_key(at) {
            return true;
        }
        loop {
            at = above(at);
            let bundles = |about: &serde_json::Value| {
                !about["bundleDependencies"].is_null() || !about["bundledDependencies"].is_null()
            };
            match self.nodes.get(at).map(|node| &node.what) {
                _ if at.is_empty() => return false,
                Some(What::Present(found, _)) if bundles(&found.about) => return true,
                _ => {}
            }
        }
    }

    /// What was left out, as a lock file names it.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = &Placed> {
        self.elsewhere.values().filter(|placed| !self.nodes.contains_key(&placed.path))
    }
}

/// What is needed and must be fetched.
fn absent(node: &Node) -> Option<&Wanted> {
    match &node.what {
        What::Locked(wanted) if wanted.reached && wanted.there.is_none() => Some(wanted),
        _ => None,
    }
    .filter(|wanted| !wanted.optional || is_for_this_machine(&wanted.entry.about))
    .map(|wanted| &**wanted)
}
