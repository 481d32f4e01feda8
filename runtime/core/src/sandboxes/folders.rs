//! What a sandbox does with names of files: lists folders page by page, removes, renames, makes folders.
//!
//! Owns: what a page is, and which folders stay. Does not own: how a provider lists or renames.

use super::Sandboxes;
use crate::sandbox::{Entry, Handle, OWN_FOLDERS, Owner};
use crate::{Error, GuestPath, Result};

/// Entries that a page gives at most.
const MAX_ENTRIES: usize = 10_000;

/// A page of what lies in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePage {
    /// Entries by path: each folder is followed by what it holds.
    pub entries: Vec<Entry>,
    /// How many the folder has in all, on this page or not.
    pub total: u64,
    /// Whether some come after this page.
    pub more: bool,
}

impl Sandboxes {
    /// The entries below a folder, by path, at most `most` (10 000), and how many there are in all.
    ///
    /// # Errors
    /// `unknown_sandbox`, `not_found`.
    pub async fn list_files(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        recursive: bool,
        most: usize,
    ) -> Result<(Vec<Entry>, u64)> {
        let page = self.page_of_files(owner, handle, path, recursive, (None, most)).await?;
        Ok((page.entries, page.total))
    }

    /// The same from the first entry past `after`, which need not be there any more. What is made or removed between two pages is
    /// shown if its place is still to come.
    ///
    /// # Errors
    /// As [`Sandboxes::list_files`].
    pub async fn page_of_files(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        recursive: bool,
        (after, most): (Option<String>, usize),
    ) -> Result<FilePage> {
        let most = most.min(MAX_ENTRIES);
        let mut call = self.begin_to_look(owner, handle).await?;
        // Where a page begins is known only when what comes before it is.
        let asked = if after.is_some() { usize::MAX } else { most };
        let listed =
            call.run(|machine| Box::pin(async move { machine.files().list(&path, recursive, asked).await }));
        let (mut entries, total) = listed.await?;
        let before = match &after {
            Some(after) => entries.partition_point(|entry| !comes_after(&entry.path, after)),
            None => 0,
        };
        entries.drain(..before);
        entries.truncate(most);
        let more = (before + entries.len()) as u64 != total && !entries.is_empty();
        Ok(FilePage { entries, total, more })
    }

    /// Removes a file, a link or an empty folder; with `all` a folder with all that is in it. A link is not followed.
    ///
    /// # Errors
    /// `unknown_sandbox`, `not_found`; `args_invalid` for a folder that is not empty, and for `/`, `/workspace` and `/tmp`.
    pub async fn remove_file(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        path: GuestPath,
        all: bool,
    ) -> Result<()> {
        self.inner.ledger.writable()?;
        may_go(&path)?;
        let mut call = self.begin_call(owner, handle).await?;
        let done = call.run(|machine| Box::pin(async move { machine.files().remove(&path, all).await }));
        let done = done.await;
        call.answer(done).await
    }

    /// Gives a file or a folder another name, and makes the folders above that. A link is renamed itself. With `replace` a file
    /// takes the place of a file, and a folder that of an empty folder.
    ///
    /// # Errors
    /// `unknown_sandbox`, `not_found`; `args_invalid` when the new name is taken without `replace`, when a folder would come to lie
    /// in itself, when only one of the two lies in a mount, and for `/`, `/workspace` and `/tmp`.
    pub async fn rename_file(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        (path, to): (GuestPath, GuestPath),
        replace: bool,
    ) -> Result<()> {
        self.inner.ledger.writable()?;
        may_go(&path)?;
        may_go(&to)?;
        let mut call = self.begin_call(owner, handle).await?;
        let done =
            call.run(|machine| Box::pin(async move { machine.files().rename(&path, &to, replace).await }));
        let done = done.await;
        call.answer(done).await
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// `unknown_sandbox`, `limit_disk`, `invalid_state` when a file is in the way.
    pub async fn make_folder(&self, owner: &Owner, handle: &Handle<'_>, path: GuestPath) -> Result<()> {
        let mut call = self.begin_to_grow(owner, handle).await?;
        let done =
            call.run(|machine| Box::pin(async move { machine.files().make_folder(&path).await })).await;
        call.answer(done).await
    }
}

/// Whether a path comes after another. The order is folder by folder, so that what a folder holds comes right after it.
fn comes_after(path: &str, other: &str) -> bool {
    path.split('/').cmp(other.split('/')).is_gt()
}

/// # Errors
/// `args_invalid` for `/`, and for a folder that every sandbox has.
fn may_go(path: &GuestPath) -> Result<()> {
    if path.as_str() == "/" {
        return Err(Error::args_invalid(
            "`/` is the root of the sandbox's files, which cannot be removed or renamed",
        )
        .with_hint("name something below it"));
    }
    if OWN_FOLDERS.contains(&path.as_str()) {
        return Err(Error::args_invalid(format!("`{path}` is a folder that every sandbox has"))
            .with_hint("name something below it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_every_sandbox_has_stay() {
        for (path, words) in [("/", "the root of the sandbox's files"), ("/tmp", "every sandbox has")] {
            let refused = may_go(&GuestPath::parse(path).unwrap()).unwrap_err();
            assert!(refused.message().contains(words), "{refused}");
        }
        assert!(may_go(&GuestPath::parse("/tmp/a").unwrap()).is_ok());
    }

    #[test]
    fn what_a_folder_holds_comes_right_after_it() {
        let ordered = ["a", "a/b", "a/b/c", "a.txt", "b"];
        for pair in ordered.windows(2) {
            assert!(comes_after(pair[1], pair[0]) && !comes_after(pair[0], pair[1]), "{pair:?}");
        }
        assert!(!comes_after("a", "a"));
    }
}
