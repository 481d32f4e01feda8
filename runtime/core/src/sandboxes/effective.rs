//! What a sandbox has now of what it was made with: grants are checked whenever it wakes, not remembered.
//!
//! Owns: narrowing a spec to what the operator allows at present, and saying what is missing. The record keeps what was asked,
//! so that a grant that is given again comes back. Does not own: who checks a request when a sandbox is made ([`super::life`]).

use std::path::Path;

use super::{Inner, Rules, Sandboxes};
use crate::sandbox::{Machine, ProviderName, SandboxSpec, SpecMount};
use crate::{Access, GuestPath, Policy};

/// Which folders of the host sandboxes see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MountRule {
    /// Those that their specs name, as they are named: whoever makes sandboxes decides. The default.
    #[default]
    AsAsked,
    /// Of those that their specs name only what is offered here, by the place where a sandbox sees it: from the folder that is
    /// offered, for writing only if it is offered so.
    Offered(Vec<SpecMount>),
}

/// Something that a sandbox was made with and does not have now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// A mount whose place is not offered any more.
    Mount(GuestPath),
    /// A mount whose folder is not on the host just now.
    Missing(GuestPath),
    /// Writes below a mount, which is read-only now.
    Writes(GuestPath),
    /// Memory: bytes that were asked for, and those that there are.
    Memory {
        /// What it was made with.
        asked: u64,
        /// What it has.
        given: u64,
    },
    /// The image of its container.
    Image(String),
    /// Its provider: there is none of that name here.
    Provider(ProviderName),
    /// Its network, by the name of the profile: there is none here, or none of that name.
    Network(String),
}

/// What a sandbox has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Its spec, narrowed.
    pub spec: SandboxSpec,
    /// What is not given of what it was made with. Empty: all is.
    pub withdrawn: Vec<Withdrawn>,
}

impl Sandboxes {
    /// What a sandbox that was made with `spec` has now. Looks at no folder.
    pub fn effective(&self, spec: &SandboxSpec) -> Effective {
        self.inner.effective(spec)
    }
}

impl Inner {
    /// What the operator gives of a spec at present.
    pub(super) fn effective(&self, spec: &SandboxSpec) -> Effective {
        let mut now = Effective { spec: spec.clone(), withdrawn: Vec::new() };
        let (rules, policy) = (&self.rules, self.admission.policy());
        now.spec.mounts = spec.mounts.iter().filter_map(|asked| now.mount(asked, rules, policy)).collect();
        now.narrow_memory(rules);
        self.look_at_provider(&mut now);
        if let Some(grant) = &spec.network
            && !self.admission.has_profile(&grant.profile)
        {
            now.withdrawn.push(Withdrawn::Network(grant.profile.clone()));
        }
        now
    }

    fn look_at_provider(&self, now: &mut Effective) {
        if now.spec.provider == ProviderName::default() {
            return;
        }
        let provider = self.provider_of(&now.spec);
        if let Ok(provider) = &provider {
            now.spec.disk = provider.disk(&now.spec);
        }
        match (provider, &now.spec.image) {
            (Err(_), _) => now.withdrawn.push(Withdrawn::Provider(now.spec.provider)),
            (Ok(provider), Some(image)) => {
                let plain = SandboxSpec { image: Some(image.clone()), ..self.rules.defaults.clone() };
                if provider.check(&plain).is_err() {
                    now.withdrawn.push(Withdrawn::Image(image.clone()));
                }
            }
            (Ok(_), None) => {}
        }
    }
}

impl Effective {
    /// A mount as it is given now; none: it is not.
    fn mount(&mut self, asked: &SpecMount, rules: &Rules, policy: &Policy) -> Option<SpecMount> {
        let mut given = match &rules.mounts {
            MountRule::AsAsked => asked.clone(),
            MountRule::Offered(offered) => match offered.iter().find(|mount| mount.target == asked.target) {
                Some(offered) => offered.clone(),
                None => {
                    self.withdrawn.push(Withdrawn::Mount(asked.target.clone()));
                    return None;
                }
            },
        };
        if !policy.allow_writes || asked.access == Access::ReadOnly {
            given.access = Access::ReadOnly;
        }
        if given.access != asked.access {
            self.withdrawn.push(Withdrawn::Writes(asked.target.clone()));
        }
        Some(given)
    }

    fn narrow_memory(&mut self, rules: &Rules) {
        let (asked, given) = (self.spec.memory, self.spec.memory.min(rules.most_memory(self.spec.provider)));
        if given < asked {
            self.spec.memory = given;
            self.withdrawn.push(Withdrawn::Memory { asked, given });
        }
    }

    /// The same without the mounts whose folders are not there just now. Looks at each.
    #[must_use]
    pub(super) fn without_missing(mut self) -> Self {
        let (there, missing): (Vec<_>, Vec<_>) =
            self.spec.mounts.into_iter().partition(|mount| is_folder(&mount.source));
        self.spec.mounts = there;
        for mount in missing {
            self.withdrawn.retain(|other| *other != Withdrawn::Writes(mount.target.clone()));
            self.withdrawn.push(Withdrawn::Missing(mount.target));
        }
        self
    }

    /// Says on the log what is missing, if anything is.
    pub(super) fn tell(&self) {
        if !self.withdrawn.is_empty() {
            let missing: Vec<String> = self.withdrawn.iter().map(ToString::to_string).collect();
            tracing::warn!("the sandbox is without what it was made with: {}", missing.join("; "));
        }
    }

    /// Removes the empty folders that stand where mounts were, so that programs do not find them empty.
    pub(super) async fn tidy(&self, machine: &mut dyn Machine) {
        for withdrawn in &self.withdrawn {
            if let Withdrawn::Mount(target) | Withdrawn::Missing(target) = withdrawn
                && let Ok((_, 0)) = machine.files().list(target, false, 1).await
            {
                // What cannot be removed is no more than an empty folder.
                let _ = machine.files().remove(target, true).await;
            }
        }
    }
}

fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

impl std::fmt::Display for Withdrawn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mount(target) => write!(out, "`{target}` is not mounted any more"),
            Self::Missing(target) => write!(out, "the folder of `{target}` is not on the host"),
            Self::Writes(target) => write!(out, "`{target}` is read-only now"),
            Self::Memory { asked, given } => write!(out, "its memory is {given} bytes, not {asked}"),
            Self::Image(image) => write!(out, "the image `{image}` is not allowed any more"),
            Self::Provider(name) => write!(out, "there is no {} provider", name.as_str()),
            Self::Network(profile) => write!(out, "the network `{profile}` is not given any more"),
        }
    }
}
