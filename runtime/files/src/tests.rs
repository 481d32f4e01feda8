//! Tests of the whole crate: random sequences against a plain model and against Linux, saving, damage.

mod damage;
mod linux;
mod model;
mod saving;

use dormouse_core::{Access, GuestPath};

use crate::{Files, Flags, Handle, OpenFlags, Quota, Tree};

/// A sandbox path.
pub(crate) fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).unwrap()
}

/// Files with one folder, `/w`, and a handle on it. The clock stands still at 7.
pub(crate) fn opened(quota: Quota) -> (Files, Handle) {
    let files = Files::with_clock(Tree::new(quota), || 7);
    files.make_folder(&path("/w")).unwrap();
    let folder = files.open_folder(&path("/w"), Access::ReadWrite).unwrap();
    (files, folder)
}

/// Checks the whole tree and its account.
pub(crate) fn audit(files: &Files) {
    files.with(|live, _| live.audit());
}

/// Open for reading and writing, made if need be.
pub(crate) const CREATE: OpenFlags =
    OpenFlags { create: true, directory: false, exclusive: false, truncate: false };
/// Reading and writing.
pub(crate) const BOTH: Flags = Flags { read: true, write: true, mutate: false };
