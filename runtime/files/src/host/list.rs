//! Listing a folder and what is below it.
//!
//! Owns: the walk and its two bounds. Does not own: how a list is shown.

use std::sync::Arc;

use dormouse_types::{GuestPath, Result};

use crate::Stat;
use crate::files::Files;
use crate::map::Iter;
use crate::node::{Entry, Kind};
use crate::tree::Tree;

/// One entry of a [`FileList`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its path below the folder that was listed, such as `src/main.py`. It can be longer than a [`GuestPath`].
    pub path: String,
    /// What is known about it.
    pub stat: Stat,
    /// Where a symbolic link leads.
    pub target: Option<Arc<str>>,
}

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileList {
    /// Entries in the order of their names, each folder followed by what it holds.
    pub entries: Vec<Listed>,
    /// Whether there are more than the limit.
    pub more: bool,
}

impl Files {
    /// Lists a folder, `levels` deep: 1 is the folder alone. At most `limit` entries; links are not followed. A path to a
    /// file lists that file alone, with an empty path.
    ///
    /// # Errors
    /// `not_found` and the others of a path.
    pub fn list(&self, path: &GuestPath, levels: u32, limit: usize) -> Result<FileList> {
        self.look(path, |tree, entry| {
            let mut list = FileList::default();
            if entry.kind != Kind::Folder {
                push(tree, &mut list, String::new(), entry)?;
                return Ok(list);
            }
            let mut stack: Vec<(String, Iter<'_, Arc<str>, Entry>)> =
                vec![(String::new(), tree.folder(entry.ino)?.entries.iter())];
            while let Some((above, entries)) = stack.last_mut() {
                let Some((name, entry)) = entries.next() else {
                    stack.pop();
                    continue;
                };
                if list.entries.len() >= limit {
                    list.more = true;
                    break;
                }
                let path = if above.is_empty() { name.to_string() } else { format!("{above}/{name}") };
                push(tree, &mut list, path.clone(), *entry)?;
                if entry.kind == Kind::Folder && stack.len() < levels as usize {
                    stack.push((path, tree.folder(entry.ino)?.entries.iter()));
                }
            }
            Ok(list)
        })
    }
}

fn push(tree: &Tree, list: &mut FileList, path: String, entry: Entry) -> Result<(), crate::Errno> {
    let target = if entry.kind == Kind::Link { Some(tree.target(entry.ino)?) } else { None };
    list.entries.push(Listed { path, stat: tree.stat(entry.ino)?, target });
    Ok(())
}
