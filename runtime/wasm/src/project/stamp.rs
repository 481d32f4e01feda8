//! What an opened project depends on: the files and folders that were looked at, as they were.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Names below a project's folder and what they were. A name that was missing counts as well.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp(Vec<(String, Look)>);

/// A name as it is, and as what it links to.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Look {
    itself: Option<[i64; 7]>,
    target: Option<[i64; 7]>,
}

impl Stamp {
    /// The names as they are now. Those that lead out of the folder are left out: the guest that asked for them saw nothing,
    /// and what lies there is not looked at.
    pub(super) fn of(folder: &Path, names: BTreeSet<String>) -> Self {
        Self(
            names
                .into_iter()
                .filter(|name| !leads_out(folder, name))
                .map(|name| {
                    let look = look(folder, &name);
                    (name, look)
                })
                .collect(),
        )
    }

    /// Whether every name still is what it was: kind, size, place on the disk, times of its content and of itself.
    pub(super) fn holds(&self, folder: &Path) -> bool {
        self.0.iter().all(|(name, then)| look(folder, name) == *then)
    }
}

/// Whether a name, or a link that it leads through, is a way out of the folder.
fn leads_out(folder: &Path, name: &str) -> bool {
    match beneath(folder, name, OFlags::NOFOLLOW) {
        Err(Errno::XDEV) => true,
        // A kernel that cannot tell: the text alone.
        Err(Errno::NOSYS | Errno::PERM) => {
            let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
            !Path::new(name).components().all(plain)
        }
        // What is missing within the folder is worth knowing.
        _ => false,
    }
}

fn look(folder: &Path, name: &str) -> Look {
    let path = folder.join(name);
    let itself = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW).ok();
    let link = itself.as_ref().is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink());
    // A link out of the folder leads nowhere, as for the guest.
    let target =
        if link { beneath(folder, name, OFlags::empty()).and_then(rustix::fs::fstat).ok() } else { None };
    Look { itself: itself.as_ref().map(essence), target: target.as_ref().map(essence) }
}

/// What a name leads to, opened only to be looked at, and without leaving the folder.
#[cfg(target_os = "linux")]
fn beneath(folder: &Path, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, ResolveFlags};
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn beneath(_folder: &Path, _name: &str, _flags: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn essence(stat: &Stat) -> [i64; 7] {
    [
        i64::from(stat.st_mode),
        stat.st_ino.cast_signed(),
        stat.st_size,
        stat.st_mtime,
        i64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
        stat.st_ctime,
        i64::try_from(stat.st_ctime_nsec).unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// FS-03: no name that a snippet asks for makes the host look at what lies beside the project.
    #[test]
    fn fs_03_names_that_leave_the_folder_are_not_looked_at() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("project");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("sub/a"), "a").unwrap();
        fs::create_dir(outer.path().join("outside")).unwrap();
        symlink("../outside", folder.join("out")).unwrap();
        symlink("sub", folder.join("in")).unwrap();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let absolute = outer.path().join("outside").display().to_string();
        let away =
            names(&["..", "../outside", "../missing", "sub/../../outside", "out/x", "out/", &absolute]);
        assert_eq!(Stamp::of(&folder, away), Stamp(Vec::new()));
        let within = names(&[".", "sub/a", "sub/../sub/a", "missing", "sub/missing/x", "in", "in/a", "out"]);
        let stamp = Stamp::of(&folder, within.clone());
        assert_eq!(stamp.0.len(), within.len());
        // The link is part of the project, what it leads to is not.
        fs::write(outer.path().join("outside/x"), "x").unwrap();
        assert!(stamp.holds(&folder));
        // What it is can be told by what lies in it.
        fs::write(folder.join("sub/a"), "longer").unwrap();
        assert!(!stamp.holds(&folder));
        let stamp = Stamp::of(&folder, within);
        fs::write(folder.join("missing"), "").unwrap();
        assert!(!stamp.holds(&folder));
    }
}
