//! What a folder's handle does by a path below it: the `…-at` functions of `wasi:filesystem/types`.
//!
//! Owns: flags, and what may stand in the last place of a path. Does not own: the way there (`resolve`), the change
//! itself (`naming`).

use std::sync::Arc;

use crate::files::Live;
use crate::handle::{Flags, Handle, NewTime, hash};
use crate::node::{Entry, Kind};
use crate::resolve::Place;
use crate::{Errno, Stat};

/// How to open, as `open-flags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// Make the file if nothing is there.
    pub create: bool,
    /// Only a folder will do.
    pub directory: bool,
    /// With `create`: only if nothing is there, not even a link.
    pub exclusive: bool,
    /// Cut the file to nothing.
    pub truncate: bool,
}

impl Handle {
    /// Opens a file or a folder (`open-at`). `follow` is `symlink-follow`.
    ///
    /// A file that is asked for neither reading nor writing is open for reading. A folder can be changed through its handle
    /// if the folder that all began with can: `mutate` need not be asked for, because WASI's preview 1 cannot.
    ///
    /// # Errors
    /// `NoEntry`, `Exists`, `IsDirectory`, `NotDirectory`, `NoSpace`, `Loop` for a link that is not followed;
    /// `Invalid` for `directory` with one of the others; `NotPermitted` for any change below a folder that was granted
    /// for reading.
    pub fn open_at(&self, path: &str, follow: bool, open: OpenFlags, flags: Flags) -> Result<Handle, Errno> {
        if open.directory && (open.create || open.exclusive || open.truncate) {
            return Err(Errno::Invalid);
        }
        if open.create || open.truncate || flags.write || flags.mutate {
            self.may_change()?;
        }
        self.with(|live, now| {
            let exclusive = open.create && open.exclusive;
            let place = live.tree.resolve(self.ino, path, follow && !exclusive)?;
            let entry = match place.entry {
                None if open.create && place.name.is_some() => {
                    if place.slash {
                        return Err(Errno::IsDirectory);
                    }
                    let ino = live.tree.add_file(place.folder, last(&place)?, now)?;
                    Entry { ino, kind: Kind::File }
                }
                _ if exclusive && (place.name.is_none() || place.entry.is_some()) => {
                    return Err(Errno::Exists);
                }
                _ => place.found()?,
            };
            match entry.kind {
                Kind::Link if open.directory => return Err(Errno::NotDirectory),
                Kind::Link => return Err(Errno::Loop),
                Kind::Folder if open.create || open.truncate || flags.write => {
                    return Err(Errno::IsDirectory);
                }
                Kind::Folder => return Ok(Self::folder(&self.files, live, entry.ino, self.granted)),
                Kind::File if open.directory => return Err(Errno::NotDirectory),
                Kind::File => {}
            }
            if open.truncate {
                live.tree.resize(entry.ino, 0, now)?;
            }
            let flags = Flags { read: flags.read || !flags.write, write: flags.write, mutate: false };
            let files = self.files.clone();
            let era = live.open(entry.ino);
            Ok(Self { files, ino: entry.ino, era, kind: Kind::File, flags, granted: self.granted })
        })
    }

    /// What is known about what a path leads to (`stat-at`).
    ///
    /// # Errors
    /// `NoEntry` and those of a path: `NotDirectory`, `Loop`, `NameTooLong`, `Invalid`, `NotPermitted`.
    pub fn stat_at(&self, path: &str, follow: bool) -> Result<Stat, Errno> {
        self.with(|live, _| live.tree.stat(live.tree.resolve(self.ino, path, follow)?.found()?.ino))
    }

    /// [`Handle::metadata_hash`] of what a path leads to (`metadata-hash-at`).
    ///
    /// # Errors
    /// As [`Handle::stat_at`].
    pub fn metadata_hash_at(&self, path: &str, follow: bool) -> Result<(u64, u64), Errno> {
        Ok(hash(self.stat_at(path, follow)?.inode))
    }

    /// Sets the times of what a path leads to (`set-times-at`).
    ///
    /// # Errors
    /// As [`Handle::stat_at`]; `NotPermitted` below a folder that was granted for reading. This goes for all that follow.
    pub fn set_times_at(
        &self,
        path: &str,
        follow: bool,
        accessed: NewTime,
        modified: NewTime,
    ) -> Result<(), Errno> {
        self.change(|live, now| {
            let ino = live.tree.resolve(self.ino, path, follow)?.found()?.ino;
            live.tree.set_times(ino, accessed.or(now), modified.or(now), now)
        })
    }

    /// Makes a folder (`create-directory-at`).
    ///
    /// # Errors
    /// `Exists`, `NoEntry` when the folder around it is missing, `NoSpace`, `NameTooLong` past the quota's depth.
    pub fn create_directory_at(&self, path: &str) -> Result<(), Errno> {
        self.change(|live, now| {
            let place = self.place(live, path)?;
            let Some(name) = &place.name else { return Err(Errno::Exists) };
            live.tree.add_folder(place.folder, name, now).map(|_| ())
        })
    }

    /// Removes an empty folder (`remove-directory-at`).
    ///
    /// # Errors
    /// `NotEmpty`, `NotDirectory`, `NoEntry`; `Invalid` for `.` and `..`.
    pub fn remove_directory_at(&self, path: &str) -> Result<(), Errno> {
        self.change(|live, now| {
            let place = self.place(live, path)?;
            let Some(name) = &place.name else { return Err(Errno::Invalid) };
            if place.found()?.kind != Kind::Folder {
                return Err(Errno::NotDirectory);
            }
            let gone = live.tree.remove_name(place.folder, name, now)?;
            live.release(gone);
            Ok(())
        })
    }

    /// Removes a name of a file or a link (`unlink-file-at`). Who has the file open keeps it.
    ///
    /// # Errors
    /// `IsDirectory`, `NoEntry`, `NotDirectory`.
    pub fn unlink_file_at(&self, path: &str) -> Result<(), Errno> {
        self.change(|live, now| {
            let place = self.place(live, path)?;
            let Some(name) = &place.name else { return Err(Errno::IsDirectory) };
            if place.found()?.kind == Kind::Folder {
                return Err(Errno::IsDirectory);
            }
            let gone = live.tree.remove_name(place.folder, name, now)?;
            live.release(gone);
            Ok(())
        })
    }

    /// Renames (`rename-at`). A file takes the place of a file, a folder that of an empty folder; who has the other open
    /// keeps it. Two names of one file stay as they are.
    ///
    /// # Errors
    /// `NoEntry`; `Invalid` for a folder into itself; `NotEmpty`, `NotDirectory`, `IsDirectory`; `Busy` for `.` and `..`;
    /// `CrossDevice` for a handle of another tree; `NameTooLong` when folders would lie too deep.
    pub fn rename_at(&self, path: &str, to: &Handle, to_path: &str) -> Result<(), Errno> {
        to.may_change()?;
        self.change(|live, now| {
            self.check_other(live, to)?;
            let from = self.place(live, path)?;
            let onto = to.place(live, to_path)?;
            let (Some(name), Some(new)) = (&from.name, &onto.name) else { return Err(Errno::Busy) };
            let moved = from.found()?;
            if onto.slash && moved.kind != Kind::Folder {
                return Err(Errno::NotDirectory);
            }
            let gone = live.tree.rename((from.folder, name), (onto.folder, new), now)?;
            live.release(gone);
            Ok(())
        })
    }

    /// Gives a file or a link one more name (`link-at`). `follow` decides whether a link or what it leads to is meant.
    ///
    /// # Errors
    /// `NotPermitted` for a folder; `Exists`, `NoEntry`, `NoSpace`, `TooManyLinks`; `CrossDevice` for a handle of another tree.
    pub fn link_at(&self, path: &str, follow: bool, to: &Handle, to_path: &str) -> Result<(), Errno> {
        to.may_change()?;
        self.change(|live, now| {
            self.check_other(live, to)?;
            let from = live.tree.resolve(self.ino, path, follow)?.found()?;
            let onto = to.place(live, to_path)?;
            let Some(name) = &onto.name else { return Err(Errno::Exists) };
            if onto.slash && onto.entry.is_none() {
                return Err(Errno::NoEntry);
            }
            live.tree.add_name(from.ino, onto.folder, name, now)
        })
    }

    /// Makes a symbolic link (`symlink-at`). The target need not exist.
    ///
    /// # Errors
    /// `NotPermitted` for an absolute target, `NoEntry` for an empty one, `Exists`, `NoSpace`.
    pub fn symlink_at(&self, target: &str, path: &str) -> Result<(), Errno> {
        self.change(|live, now| {
            let place = self.place(live, path)?;
            let Some(name) = &place.name else { return Err(Errno::Exists) };
            if place.slash && place.entry.is_none() {
                return Err(Errno::NoEntry);
            }
            live.tree.add_link(place.folder, name, target, now).map(|_| ())
        })
    }

    /// The target of a symbolic link, as it was given (`readlink-at`).
    ///
    /// # Errors
    /// `Invalid` when it is no link, `NoEntry`.
    pub fn readlink_at(&self, path: &str) -> Result<Arc<str>, Errno> {
        self.with(|live, _| live.tree.target(self.place(live, path)?.found()?.ino))
    }

    /// Where a path leads when its last name is what is meant, link or not.
    fn place(&self, live: &Live, path: &str) -> Result<Place, Errno> {
        live.tree.resolve(self.ino, path, false)
    }

    fn change<T>(&self, work: impl FnOnce(&mut Live, u64) -> Result<T, Errno>) -> Result<T, Errno> {
        self.may_change()?;
        self.with(work)
    }

    fn check_other(&self, live: &Live, other: &Handle) -> Result<(), Errno> {
        if !self.files.same(&other.files) {
            return Err(Errno::CrossDevice);
        }
        live.alive(other.era)
    }
}

fn last(place: &Place) -> Result<&Arc<str>, Errno> {
    place.name.as_ref().ok_or(Errno::Invalid)
}
