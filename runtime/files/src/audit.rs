//! Whether a tree is one: every node has its place and the account is true.
//!
//! Owns: the walk over a whole tree that finds what is wrong. Loaded trees are audited because their bytes are not
//! trusted; tests audit after every change.

use std::collections::HashMap;

use crate::node::{Body, Ino, ROOT};
use crate::tree::Tree;
use crate::{Quota, Usage};

impl Tree {
    /// Walks the whole tree. `unnamed` says how many files may have no name because they are open.
    ///
    /// # Errors
    /// One sentence that names the damage.
    pub(crate) fn audit(&self, unnamed: usize) -> Result<(), String> {
        let mut names: HashMap<Ino, u32> = HashMap::new();
        let mut used = Usage::default();
        let mut level = vec![ROOT];
        let mut depth = 0;
        while !level.is_empty() {
            if depth > self.quota.depth {
                return Err(format!("a folder lies deeper than {}", self.quota.depth));
            }
            let mut below = Vec::new();
            for ino in level {
                let folder = self.folder(ino).map_err(|_| format!("node {ino} is no folder"))?;
                let mut folders = 0;
                for (name, entry) in folder.entries.iter() {
                    let name: &str = name;
                    self.check_name(name)?;
                    let node = self.node(entry.ino).map_err(|_| format!("`{name}` leads nowhere"))?;
                    if node.kind() != entry.kind {
                        return Err(format!("`{name}` is of another kind"));
                    }
                    let count = names.entry(entry.ino).or_default();
                    *count += 1;
                    used.files += 1;
                    if let Body::Folder(inner) = &node.body {
                        if entry.ino == ROOT || *count > 1 || inner.parent != ino {
                            return Err(format!("the folder `{name}` has another place"));
                        }
                        folders += 1;
                        below.push(entry.ino);
                    }
                }
                if folders != folder.folders {
                    return Err(format!("node {ino} holds {folders} folders, not {}", folder.folders));
                }
            }
            level = below;
            depth += 1;
        }
        let mut open = 0;
        for (ino, node) in self.nodes.iter() {
            let named = if *ino == ROOT { 1 } else { names.get(ino).copied().unwrap_or(0) };
            if named != node.links || node.links > Quota::MAX_LINKS {
                return Err(format!("node {ino} has {named} names, not {}", node.links));
            }
            if *ino == 0 || *ino >= self.next {
                return Err(format!("node {ino} has a number out of range"));
            }
            used.bytes = used.bytes.saturating_add(node.size());
            if named == 0 {
                open += 1;
                used.files += 1;
            }
        }
        if open > unnamed {
            return Err(format!("{open} nodes have no name"));
        }
        if self.folder(ROOT).is_ok_and(|root| root.parent != ROOT) {
            return Err("the root lies in a folder".into());
        }
        if used != self.used {
            return Err(format!("it holds {used:?}, not {:?}", self.used));
        }
        Ok(())
    }

    fn check_name(&self, name: &str) -> Result<(), String> {
        let shown = || name.chars().take(40).collect::<String>().escape_debug().to_string();
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(format!("`{}` is no name", shown()));
        }
        if name.len() > self.quota.name_bytes as usize {
            return Err(format!("the name `{}` is longer than {}", shown(), self.quota.name_bytes));
        }
        Ok(())
    }
}
