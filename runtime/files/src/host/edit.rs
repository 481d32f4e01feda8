//! Replacing text in a file.
//!
//! Owns: how often the old text must stand there, and the answer when it does not. Does not own: writing it back.

use dormouse_types::{Error, ErrorCode, GuestPath, Result};
use memchr::memmem::Finder;

use super::set;
use crate::content::Content;
use crate::files::{Files, relative};
use crate::node::ROOT;

impl Files {
    /// The largest file that can be edited, in bytes: 16 MiB, before and after.
    pub const MAX_EDIT: usize = 16 << 20;

    /// Replaces `old` by `new` in a file: the only place where it stands, or with `all` every one. Answers how many. The
    /// file need not be text. It is replaced as by [`Files::write`], and nobody's change between is lost: if the file
    /// changed meanwhile, the edit is refused.
    ///
    /// # Errors
    /// `args_invalid` when `old` is empty, stands nowhere, or in several places without `all`; `too_large` past
    /// [`Files::MAX_EDIT`]; `busy` when the file changed meanwhile.
    pub fn edit(&self, path: &GuestPath, old: &str, new: &str, all: bool) -> Result<usize> {
        let shown = path.as_str().escape_debug();
        if old.is_empty() {
            return Err(Error::args_invalid("the text to replace is empty"));
        }
        let (ino, size, content) = self.look(path, |tree, entry| {
            Ok((entry.ino, tree.stat(entry.ino)?.size, tree.content(entry.ino)?.clone()))
        })?;
        let too_large = |bytes: u64| {
            Error::new(
                ErrorCode::TooLarge,
                format!("`{shown}`: {bytes} bytes are more than the {} that can be edited", Self::MAX_EDIT),
            )
            .with_hint("edit it with a program of the sandbox")
        };
        if size > Self::MAX_EDIT as u64 {
            return Err(too_large(size));
        }
        let before = content.read(0, Self::MAX_EDIT).map_err(|errno| errno.at(path))?;
        // In time that grows with the file alone, whatever it holds.
        let finder = Finder::new(old);
        let places = || finder.find_iter(&before);
        let count = places().count();
        match count {
            0 => {
                return Err(Error::args_invalid(format!("`{shown}` does not hold the text to replace"))
                    .with_hint("read the file, and give the text exactly as it stands there"));
            }
            2.. if !all => {
                return Err(Error::args_invalid(format!(
                    "`{shown}` holds the text to replace {count} times"
                ))
                .with_hint(
                    "give more of the text around it, so that only one place fits, or replace all of them",
                ));
            }
            _ => {}
        }
        let grown = before.len() + count.saturating_mul(new.len()) - count * old.len();
        if grown > Self::MAX_EDIT {
            return Err(too_large(grown as u64));
        }
        let mut after = Vec::with_capacity(grown);
        let mut from = 0;
        for place in places() {
            after.extend_from_slice(before.get(from..place).unwrap_or_default());
            after.extend_from_slice(new.as_bytes());
            from = place + old.len();
        }
        after.extend_from_slice(before.get(from..).unwrap_or_default());
        let edited = Content::from_bytes(&after).map_err(|errno| errno.at(path))?;
        let unchanged = self.alter(path, |live, now| {
            let found = live.tree.resolve(ROOT, relative(path), true)?.found()?;
            if found.ino != ino || !live.tree.content(ino)?.is_still(&content) {
                return Ok(false);
            }
            set(live, path, edited, now).map(|()| true)
        })?;
        if !unchanged {
            return Err(Error::new(ErrorCode::Busy, format!("`{shown}` changed meanwhile"))
                .with_hint("read the file again, and edit what it holds now"));
        }
        Ok(count)
    }
}
