//! How answers show what a sandbox is given of the host now, and what it was made with and is given no more.

use dormouse_core::Access;
use dormouse_core::sandbox::SpecMount;
use dormouse_core::sandboxes::{Effective, Withdrawn};
use serde_json::{Value as Json, json};

use crate::schema::{self, Object};
use crate::skills;

/// Its mounts, by where it sees them. Where they lie on the host is nobody's business here.
pub(crate) fn mounts(mounts: &[SpecMount]) -> Json {
    let shown = |mount: &SpecMount| json!({"target": mount.target.as_str(), "writable": mount.access == Access::ReadWrite});
    mounts.iter().map(shown).collect()
}

/// What it is without.
pub(crate) fn withdrawn(effective: &Effective) -> Json {
    effective.withdrawn.iter().map(|withdrawn| one(withdrawn, &withdrawn.to_string())).collect()
}

fn one(withdrawn: &Withdrawn, reason: &str) -> Json {
    let mount = |target: &str| if skills::is_place(target) { "skill" } else { "mount" };
    match withdrawn {
        Withdrawn::Mount(target) | Withdrawn::Missing(target) => {
            json!({"grant": mount(target.as_str()), "target": target.as_str(), "reason": reason})
        }
        Withdrawn::Writes(target) => json!({"grant": "writes", "target": target.as_str(), "reason": reason}),
        Withdrawn::Memory { .. } => json!({"grant": "memory", "reason": reason}),
        Withdrawn::Image(_) => json!({"grant": "image", "reason": reason}),
        Withdrawn::Provider(_) => json!({"grant": "provider", "reason": reason}),
    }
}

/// The schema of [`mounts`].
pub(crate) fn mounts_schema() -> Json {
    let mount = Object::new()
        .required("target", schema::text("Where the sandbox sees it."))
        .required("writable", schema::flag("Whether the sandbox may write there."))
        .build();
    schema::list(&mount, "Folders of the host that it sees now, skills among them; not in lists.")
}

/// The schema of [`withdrawn`].
pub(crate) fn withdrawn_schema() -> Json {
    let withdrawn = Object::new()
        .required("grant", schema::text("mount, skill, writes, memory, image or provider."))
        .required("reason", schema::text("What is so now."))
        .optional("target", schema::text("Which mount or skill."))
        .build();
    schema::list(
        &withdrawn,
        "What it was made with and the operator does not give it now; it comes back when it is given again.",
    )
}
