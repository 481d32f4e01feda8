//! Paths: from a folder and a relative path to a folder and a name.
//!
//! Owns: splitting, `.` and `..`, symbolic links, and the promise that nothing leads above the folder it starts from.
//! Does not own: what is done at the place; the caller decides what may stand there.
//!
//! The rules are those of `wasi:filesystem`: a path is relative, an absolute one is `NotPermitted`, and so is a `..` that
//! would leave the folder, whether it stands in the path or in a link's target. Links are followed where they lie.

use std::sync::Arc;

use crate::node::{Entry, Ino, Kind};
use crate::tree::Tree;
use crate::{Errno, Quota};

/// Where a path leads.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The folder that holds the last name, or the folder itself when the path ends in `.` or `..`.
    pub(crate) folder: Ino,
    /// The last name; none: the place is `folder`.
    pub(crate) name: Option<Arc<str>>,
    /// What the name stands for; none: nothing.
    pub(crate) entry: Option<Entry>,
    /// The path ends in a slash, so that only a folder will do.
    pub(crate) slash: bool,
}

impl Place {
    /// What is there.
    ///
    /// # Errors
    /// `NoEntry`; `NotDirectory` when a folder is meant and something else is there.
    pub(crate) fn found(&self) -> Result<Entry, Errno> {
        match (&self.name, self.entry) {
            (None, _) => Ok(Entry { ino: self.folder, kind: Kind::Folder }),
            (_, None) => Err(Errno::NoEntry),
            (_, Some(entry)) if self.slash && entry.kind != Kind::Folder => Err(Errno::NotDirectory),
            (_, Some(entry)) => Ok(entry),
        }
    }
}

/// The parts of a path, last first, and whether only a folder will do.
fn parts(path: &str) -> (Vec<&str>, bool) {
    (path.rsplit('/').filter(|part| !part.is_empty()).collect(), path.ends_with('/'))
}

impl Tree {
    /// Follows a path from a folder. A link in the last place is followed if `follow` is set or a slash comes after it.
    ///
    /// # Errors
    /// `NoEntry`, `NotDirectory`, `Loop`, `NameTooLong`, `Invalid` for NUL, and `NotPermitted` for what leads out.
    pub(crate) fn resolve(&self, base: Ino, path: &str, follow: bool) -> Result<Place, Errno> {
        if path.is_empty() {
            return Err(Errno::NoEntry);
        }
        if path.len() >= Quota::MAX_PATH {
            return Err(Errno::NameTooLong);
        }
        if path.contains('\0') {
            return Err(Errno::Invalid);
        }
        if path.starts_with('/') {
            return Err(Errno::NotPermitted);
        }
        self.folder(base)?;
        let (first, mut slash) = parts(path);
        let mut rest: Vec<Arc<str>> = first.into_iter().map(Arc::from).collect();
        let mut stack = vec![base];
        let (mut top, mut followed) = (base, 0);
        while let Some(part) = rest.pop() {
            if &*part == "." {
                continue;
            }
            if &*part == ".." {
                stack.pop();
                top = *stack.last().ok_or(Errno::NotPermitted)?;
                continue;
            }
            if part.len() > self.quota.name_bytes as usize {
                return Err(Errno::NameTooLong);
            }
            let entry = self.entry(top, &part)?;
            let last = rest.is_empty();
            match entry.map(|entry| (entry.kind, entry.ino)) {
                Some((Kind::Link, ino)) if !last || follow || slash => {
                    followed += 1;
                    if followed > Quota::MAX_FOLLOWED {
                        return Err(Errno::Loop);
                    }
                    let target = self.target(ino)?;
                    if target.starts_with('/') {
                        return Err(Errno::NotPermitted);
                    }
                    let (more, folder) = parts(&target);
                    slash |= last && folder;
                    rest.extend(more.into_iter().map(Arc::from));
                }
                Some((Kind::Folder, ino)) if !last => {
                    stack.push(ino);
                    top = ino;
                }
                None if !last => return Err(Errno::NoEntry),
                Some((Kind::File, _)) if !last => return Err(Errno::NotDirectory),
                _ => return Ok(Place { folder: top, name: Some(part), entry, slash }),
            }
        }
        Ok(Place { folder: top, name: None, entry: None, slash: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::ROOT;

    /// `/a` and `/a/b` folders, `/a/f` a file, links as given in `/a`.
    fn tree(links: &[(&str, &str)]) -> (Tree, Ino) {
        let mut tree = Tree::default();
        let a = tree.add_folder(ROOT, &"a".into(), 0).unwrap();
        tree.add_folder(a, &"b".into(), 0).unwrap();
        tree.add_file(a, &"f".into(), 0).unwrap();
        for (name, target) in links {
            tree.add_link(a, &Arc::from(*name), target, 0).unwrap();
        }
        (tree, a)
    }

    #[test]
    fn nothing_leads_above_the_folder_a_path_starts_from() {
        let (tree, a) = tree(&[("up", ".."), ("out", "b/../.."), ("in", "b/../f"), ("sly", "in/../../x")]);
        for path in ["..", "b/../..", "/", "/a/f", "up", "up/a", "out", "b/../up/a/f", "./.././a"] {
            assert_eq!(tree.resolve(a, path, true).map(|_| ()), Err(Errno::NotPermitted), "{path}");
        }
        assert_eq!(tree.resolve(a, "sly", true).map(|_| ()), Err(Errno::NotDirectory));
        for path in ["f", "in", "b/../f", "./f", "b//..//f", "b/../b/../in"] {
            let found = tree.resolve(a, path, true).unwrap().found().unwrap();
            assert_eq!(found.kind, Kind::File, "{path}");
        }
        assert_eq!(tree.resolve(ROOT, "a/up/a/f", true).unwrap().found().unwrap().kind, Kind::File);
    }

    #[test]
    fn forty_links_are_followed_and_no_more() {
        let names: Vec<String> = (0..41).map(|at| format!("l{at}")).collect();
        let targets: Vec<&str> = std::iter::once("f").chain(names.iter().map(String::as_str)).collect();
        let links: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(targets.iter().copied()).collect();
        let (tree, a) = tree(&links);
        assert!(tree.resolve(a, "l39", true).unwrap().found().is_ok());
        assert_eq!(tree.resolve(a, "l40", true).map(|_| ()), Err(Errno::Loop));
        assert_eq!(tree.resolve(a, "l40", false).unwrap().found().unwrap().kind, Kind::Link);
    }

    #[test]
    fn links_that_go_round_end() {
        let (tree, a) = tree(&[("x", "y"), ("y", "x"), ("self", "self"), ("grow", "grow/grow")]);
        for path in ["x", "y", "self", "self/f", "grow"] {
            assert_eq!(tree.resolve(a, path, true).map(|_| ()), Err(Errno::Loop), "{path}");
        }
    }

    #[test]
    fn names_and_paths_have_their_bounds() {
        let (tree, a) = tree(&[]);
        let code = |path: &str| tree.resolve(a, path, true).map(|_| ()).err();
        assert_eq!(code(&"n".repeat(255)), None);
        assert_eq!(code(&"n".repeat(256)), Some(Errno::NameTooLong));
        assert_eq!(code(&"ü".repeat(128)), Some(Errno::NameTooLong));
        assert_eq!(code(&"n".repeat(10_240)), Some(Errno::NameTooLong));
        assert_eq!(code(&"b/../".repeat(2000)), Some(Errno::NameTooLong));
        assert_eq!(code("a\0b"), Some(Errno::Invalid));
        assert_eq!(code(""), Some(Errno::NoEntry));
        assert_eq!(code("f/"), None);
        assert_eq!(tree.resolve(a, "f/", true).unwrap().found(), Err(Errno::NotDirectory));
        assert_eq!(code("f/x"), Some(Errno::NotDirectory));
        assert_eq!(code("f/.."), Some(Errno::NotDirectory));
        assert_eq!(code("none/x"), Some(Errno::NoEntry));
        for good in ["日本語", "emoji 🦔", "עברית", "a\nb", "..."] {
            assert_eq!(code(good), None, "{good}");
        }
    }
}
