//! Notes of checkpoints: one small file each, beside the database.
//!
//! Owns: how a note lies in its file. They are not in the database, so that a folder in which there are notes is of the same version
//! and older installations go on using it; they know of no notes. A file has the BLAKE3 hash of the note, a line break, and the
//! note. It is written whole under another name first. One that is damaged is left out and told on the log: the checkpoint is whole.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dormouse_core::Result;
use dormouse_core::sandbox::{CheckpointId, ChunkId, Note};

use crate::folder::unavailable;

/// Bytes of a file that are read: no note has more, with its hash.
const LONGEST: u64 = 8 << 10;
/// What a note is called while it is written, after its own name.
const DRAFT: &str = ".new";
/// A note that nobody needs is removed when it is this old: a younger one may be of a checkpoint that is just being made.
const YOUNG: Duration = Duration::from_secs(3600);

/// The folder of notes.
pub(crate) struct Notes(pub(crate) PathBuf);

impl Notes {
    /// The note of a checkpoint, if it has one.
    pub(crate) fn of(&self, id: &CheckpointId) -> Option<Note> {
        let mut text = String::new();
        let read = File::open(self.0.join(id.as_str()))
            .and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, checkpoint = %id, "a note cannot be read");
                return None;
            }
        }
        let whole = text.split_once('\n').filter(|(sum, note)| *sum == of(note));
        let note = whole.and_then(|(_, note)| Note::parse(note).ok());
        if note.is_none() {
            tracing::warn!(checkpoint = %id, "a note is not what was written, and is left out");
        }
        note
    }

    /// Keeps a note, or removes it.
    ///
    /// # Errors
    /// `state_unavailable`; what was there is there still.
    pub(crate) fn set(&self, id: &CheckpointId, note: Option<&Note>) -> Result<()> {
        let path = self.0.join(id.as_str());
        let done = match note {
            Some(note) => self.write(&path, note),
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        done.map_err(|error| unavailable(&path, "it cannot be written", error))
    }

    fn write(&self, path: &Path, note: &Note) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let draft = path.with_extension(&DRAFT[1..]);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        let written = write!(file, "{}\n{}", of(note.as_str()), note.as_str())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&draft, path))
            .and_then(|()| File::open(&self.0)?.sync_all());
        written.inspect_err(|_| drop(fs::remove_file(&draft)))
    }

    /// Removes what belongs to no checkpoint that `is_there`, unless it is young.
    ///
    /// # Errors
    /// Of `is_there`.
    pub(crate) fn sweep<E>(
        &self,
        is_there: impl FnOnce(&HashSet<CheckpointId>) -> std::result::Result<HashSet<CheckpointId>, E>,
    ) -> std::result::Result<(), E> {
        let Ok(entries) = fs::read_dir(&self.0) else { return Ok(()) };
        let old = entries.flatten().filter(|entry| {
            let age =
                entry.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
            age.is_some_and(|age| age > YOUNG)
        });
        let mut found = HashSet::new();
        for entry in old {
            match entry.file_name().to_str().map(|name| (CheckpointId::parse(name), name.ends_with(DRAFT))) {
                Some((Some(id), _)) => drop(found.insert(id)),
                // One that was not finished.
                Some((None, true)) => drop(fs::remove_file(entry.path())),
                _ => {}
            }
        }
        let needed = is_there(&found)?;
        for id in found.difference(&needed) {
            // The next sweep tries again.
            let _ = fs::remove_file(self.0.join(id.as_str()));
        }
        Ok(())
    }
}

fn of(note: &str) -> String {
    ChunkId::of(note.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_kept_replaced_removed_and_seen_when_it_is_damaged() {
        let place = tempfile::tempdir().unwrap();
        let (notes, id) = (Notes(place.path().join("notes")), CheckpointId::random().unwrap());
        assert_eq!(notes.of(&id), None);
        notes.set(&id, None).unwrap();
        for text in ["before / deploy!\nand after", "ä"] {
            let note = Note::parse(text).unwrap();
            notes.set(&id, Some(&note)).unwrap();
            assert_eq!(notes.of(&id), Some(note));
        }
        let path = place.path().join("notes").join(id.as_str());
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, whole.replace('ä', "ö")).unwrap();
        assert_eq!(notes.of(&id), None);
        notes.set(&id, None).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_belongs_to_nothing_goes_when_it_is_old() {
        let place = tempfile::tempdir().unwrap();
        let notes = Notes(place.path().to_owned());
        let ids = [(); 3].map(|()| CheckpointId::random().unwrap());
        let note = Note::parse("x").unwrap();
        for id in &ids {
            notes.set(id, Some(&note)).unwrap();
        }
        for id in &ids[..2] {
            let file = File::options().write(true).open(place.path().join(id.as_str())).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * YOUNG).unwrap();
        }
        notes.sweep(|_| Ok::<_, ()>(HashSet::from([ids[0].clone()]))).unwrap();
        assert_eq!(ids.clone().map(|id| notes.of(&id).is_some()), [true, false, true]);
    }
}
