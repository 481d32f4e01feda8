//! How answers show what a sandbox is given of the host now, and what it was made with and is given no more.

use dormouse_core::Access;
use dormouse_core::sandbox::SpecMount;
use dormouse_core::sandboxes::{Effective, Withdrawn};

use crate::skills;
use crate::spec::answer;

answer! {
    /// A mount, by where the sandbox sees it. Where it lies on the host is nobody's business here.
    pub(crate) struct MountShown {
        target: String = "Where the sandbox sees it.",
        writable: bool = "Whether the sandbox may write there.",
    }
}

answer! {
    /// What a sandbox is without.
    pub(crate) struct WithdrawnShown {
        grant: &'static str = "mount, skill, writes, memory, image, provider or network.",
        reason: String = "What is different now.",
        target: Option<String> = "Which mount or skill.",
    }
}

/// Its mounts.
pub(crate) fn mounts(mounts: &[SpecMount]) -> Vec<MountShown> {
    let shown = |mount: &SpecMount| MountShown {
        target: mount.target.as_str().to_owned(),
        writable: mount.access == Access::ReadWrite,
    };
    mounts.iter().map(shown).collect()
}

/// What it is without.
pub(crate) fn withdrawn(effective: &Effective) -> Vec<WithdrawnShown> {
    effective.withdrawn.iter().map(one).collect()
}

fn one(withdrawn: &Withdrawn) -> WithdrawnShown {
    let mount = |target: &str| if skills::is_place(target) { "skill" } else { "mount" };
    let (grant, target) = match withdrawn {
        Withdrawn::Mount(target) | Withdrawn::Missing(target) => (mount(target.as_str()), Some(target)),
        Withdrawn::Writes(target) => ("writes", Some(target)),
        Withdrawn::Memory { .. } => ("memory", None),
        Withdrawn::Image(_) => ("image", None),
        Withdrawn::Provider(_) => ("provider", None),
        Withdrawn::Network(_) => ("network", None),
    };
    let target = target.map(|target| target.as_str().to_owned());
    WithdrawnShown { grant, reason: withdrawn.to_string(), target }
}
