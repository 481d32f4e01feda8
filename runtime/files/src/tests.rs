//! Tests of the whole crate: random sequences against a plain model and against Linux, saving, damage.

mod damage;
mod linux;
mod model;
mod reopen;
mod saving;

use dormouse_types::{Access, GuestPath};

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

#[test]
fn everything_public_can_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<crate::Tree>();
    crosses::<Files>();
    crosses::<Handle>();
    crosses::<crate::Listing>();
    crosses::<crate::MemoryChunks>();
}

#[test]
fn handles_of_several_threads_lose_nothing() {
    let (files, folder) = opened(Quota::default());
    let file = folder.open_at("log", true, CREATE, BOTH).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (file, folder) = (file.clone(), folder.clone());
            scope.spawn(move || {
                for at in 0..500 {
                    file.append(&[thread; 10]).unwrap();
                    let name = format!("{thread}-{at}");
                    folder.open_at(&name, true, CREATE, BOTH).unwrap().write(0, b"x").unwrap();
                }
            });
        }
    });
    let (bytes, _) = file.read(0, u64::MAX).unwrap();
    assert_eq!(bytes.len(), 20_000);
    assert!(bytes.chunks(10).all(|line| line.iter().all(|byte| *byte == line[0])));
    assert_eq!(files.usage(), crate::Usage { bytes: 22_000, files: 2002 });
    assert_eq!(files.handles(), 2);
    audit(&files);
}
