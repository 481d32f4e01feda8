//! Where a program's output goes while it runs, as the command line asks for it.

use std::sync::Arc;

use dormouse_core::{Access, GuestPath, Mount};
use dormouse_files::{Flags, OpenFlags};

use super::Programs;
use crate::bindings::dormouse::sandbox::programs::Destination;
use crate::stdio::Outlet;

/// A file that is there already, for its end to be written.
const AT_ITS_END: Flags = Flags { read: false, write: true, mutate: false };

impl Programs {
    /// Where an output stream goes. A file that cannot be opened here is the caller's to write.
    pub(super) fn outlet(&self, to: Destination) -> Outlet {
        match (to, &self.streams) {
            (Destination::Output, Some([output, _])) => Outlet::Of(output.clone()),
            (Destination::Errors, Some([_, errors])) => Outlet::Of(errors.clone()),
            (Destination::File(path), Some(_)) => self.file(&path).unwrap_or_default(),
            _ => Outlet::Kept,
        }
    }

    /// A file of the sandbox's own tree. What a mount shows in its place is none.
    fn file(&self, path: &str) -> Option<Outlet> {
        let path = GuestPath::parse(path).ok()?;
        let rest = |mount: &Mount| path.as_str().strip_prefix(mount.target.as_str());
        if self.inner.grants.mounts.iter().filter_map(rest).any(|rest| rest.starts_with('/')) {
            return None;
        }
        let root = self.inner.files.open_folder(&GuestPath::parse("/").ok()?, Access::ReadWrite).ok()?;
        let name = path.as_str().trim_start_matches('/');
        let file = root.open_at(name, true, OpenFlags::default(), AT_ITS_END).ok()?;
        Some(Outlet::File(Arc::new(file)))
    }
}

/// Writes what is left of the streams when the program has ended, and answers what the caller is to have of it. What finds no
/// room in a file is the caller's too, whose own write then says so.
pub(super) fn rest(outlets: &[Outlet; 2], left: [Vec<u8>; 2]) -> [Vec<u8>; 2] {
    let mut left = left;
    for (outlet, bytes) in outlets.iter().zip(&mut left) {
        if !outlet.keeps() && outlet.write(bytes).is_ok() {
            bytes.clear();
        }
    }
    left
}
