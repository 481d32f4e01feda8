//! A saved tree brought up to what a container holds now: what is gone is removed, what has another stamp is replaced, the rest
//! is kept as it is.
//!
//! Owns: which files have to be fetched, and the tree and the extras that come of it. Does not own: the listing
//! ([`crate::listing`]) and the fetching ([`crate::saving`]).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read};

use dormouse_core::{Access, Error, ErrorCode, GuestPath, Result};
use dormouse_files::{Extras, Files, NewTime, Quota, Tree};

use crate::listing::{Listing, Stamp, What};
use crate::paths::{MOVED, relative};

/// What is known of the files that a tree was made of.
#[derive(Debug, Default)]
pub(crate) struct Known {
    stamps: BTreeMap<String, Stamp>,
    /// Those whose stamp may stand for another content by now.
    unsure: HashSet<String>,
}

impl Known {
    /// Of a tree that was just made of what this says.
    pub(crate) fn of(listing: Listing) -> Self {
        let unsure = listing.names.iter().filter(|(_, stamp)| {
            stamp.what == What::File && (listing.is_young(stamp) || listing.is_mapped(stamp))
        });
        let unsure = unsure.map(|(path, _)| path.clone()).collect();
        Self { stamps: listing.names, unsure }
    }

    /// Whether a folder holds now what it did then, for sure, and no process is left that could change it.
    pub(crate) fn is_sure_of(&self, now: &Listing, folder: &str) -> bool {
        let folder = format!("{}/", folder.trim_start_matches('/'));
        let below = |path: &str| path.starts_with(&folder);
        let was = self.stamps.iter().filter(|(path, _)| below(path));
        let is = now.names.iter().filter(|(path, _)| below(path));
        now.works == 0
            && now.odd.is_empty()
            && !self.unsure.iter().any(|path| below(path))
            && !now.names.values().any(|stamp| now.is_mapped(stamp))
            && was.eq(is)
    }
}

/// What is to be done to a tree.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// What is not there any more as it was, in the order of names.
    gone: Vec<String>,
    /// What is new or may be another.
    fresh: BTreeSet<String>,
    /// Whether the tree's own folders are to be emptied first: nothing is known of it.
    whole: bool,
}

impl Plan {
    /// What a listing has that is not known.
    pub(crate) fn of(known: Option<&Known>, listing: &Listing) -> Self {
        let Some(known) = known else {
            return Self { gone: Vec::new(), fresh: listing.names.keys().cloned().collect(), whole: true };
        };
        let mut plan = Self::default();
        for (path, was) in &known.stamps {
            if listing.names.get(path).is_none_or(|now| now.what != was.what) {
                plan.gone.push(path.clone());
            }
        }
        for (path, now) in &listing.names {
            let same = known.stamps.get(path).is_some_and(|was| was == now);
            if !same || known.unsure.contains(path) || listing.is_mapped(now) {
                plan.fresh.insert(path.clone());
            }
        }
        // The names of one file are one: all are made anew, or none.
        let inode = |stamp: &Stamp| (stamp.what == What::File && stamp.links > 1).then_some(stamp.inode);
        let stamps = plan.fresh.iter().filter_map(|path| listing.names.get(path));
        let several: HashSet<u64> = stamps.filter_map(inode).collect();
        if !several.is_empty() {
            let others = listing
                .names
                .iter()
                .filter(|(_, stamp)| inode(stamp).is_some_and(|one| several.contains(&one)));
            plan.fresh.extend(others.map(|(path, _)| path.clone()));
        }
        plan
    }

    /// Whether the tree is what it should be.
    pub(crate) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.fresh.is_empty() && !self.whole
    }

    /// The files that are to be fetched, with their sizes, in the order in which [`merge`] wants them: of several names one.
    pub(crate) fn files(&self, listing: &Listing) -> Vec<(String, u64)> {
        let mut seen = HashSet::new();
        let mut files = Vec::new();
        for (path, stamp) in self.fresh.iter().filter_map(|path| listing.names.get_key_value(path)) {
            let file = stamp.what == What::File && (stamp.links < 2 || seen.insert(stamp.inode));
            if file && stamp.size > 0 {
                files.push((path.clone(), stamp.size));
            }
        }
        files
    }

    /// The links that are to be read, with the lengths of what they lead to: those whose targets the listing does not tell.
    pub(crate) fn links(&self, listing: &Listing) -> Vec<(String, u64)> {
        let unread = |path: &&String| {
            listing.names.get(*path).is_some_and(|stamp| stamp.what == What::Link && stamp.target.is_none())
        };
        let size = |path: &String| listing.names.get(path).map_or(0, |stamp| stamp.size);
        self.fresh.iter().filter(unread).map(|path| (path.clone(), size(path))).collect()
    }
}

/// Refuses what is more than a tree may hold, before anything is fetched.
///
/// # Errors
/// `limit_disk`.
pub(crate) fn check(listing: &Listing, quota: &Quota) -> Result<()> {
    let mut seen = HashSet::new();
    let mut bytes = 0u64;
    for stamp in listing.names.values() {
        if stamp.what == What::File && (stamp.links < 2 || seen.insert(stamp.inode)) {
            bytes = bytes.saturating_add(stamp.size);
        }
    }
    if bytes <= quota.bytes && listing.names.len() as u64 <= quota.files {
        return Ok(());
    }
    let (has, most) = (listing.names.len(), quota.files);
    Err(Error::new(
        ErrorCode::LimitDisk,
        format!(
            "the sandbox's files are more than it may have: {bytes} bytes of {}, {has} names of {most}",
            quota.bytes
        ),
    )
    .with_hint("a file with holes is as large as it says; remove files, or make a sandbox with more disk"))
}

/// The tree and the extras of what a container holds. `content` yields the bytes of [`Plan::files`], one after the other, and
/// `targets` where the links of [`Plan::links`] lead.
///
/// # Errors
/// `limit_disk`; `provider_unavailable` when the content ends too early.
pub(crate) fn merge(
    (base, quota): (&Tree, Quota),
    plan: &Plan,
    listing: &Listing,
    (content, mut targets): (&mut dyn Read, HashMap<String, String>),
) -> Result<(Tree, Extras)> {
    let before = Extras::of(base).map(|(extras, _)| extras).unwrap_or_else(Extras::plain);
    let files = Files::new(base.clone().with_quota(quota));
    let root = files.open_folder(&GuestPath::parse("/")?, Access::ReadWrite)?;
    let mut merging = Merging { files: &files, touched: BTreeSet::new() };
    for folder in MOVED {
        if plan.whole {
            merging.remove(folder.trim_start_matches('/'))?;
        }
        files.make_folder(&GuestPath::parse(folder)?)?;
    }
    for path in &plan.gone {
        merging.remove(path)?;
    }
    let mut extras = Extras::plain();
    let mut names: HashMap<u64, &str> = HashMap::new();
    for (path, stamp) in &listing.names {
        let fresh = plan.fresh.contains(path);
        let full = GuestPath::parse(&format!("/{path}"))?;
        let first = (stamp.what == What::File && stamp.links > 1)
            .then(|| *names.entry(stamp.inode).or_insert(path))
            .filter(|first| *first != path);
        if fresh {
            merging.touch(path);
        }
        match stamp.what {
            What::Folder if fresh => files.make_folder(&full)?,
            What::File if fresh => match first {
                Some(first) => {
                    merging.remove(path)?;
                    root.link_at(first, false, &root, path).map_err(|errno| errno.at(&full))?;
                }
                None => {
                    let written = files.write_from(&full, &mut Read::take(&mut *content, stamp.size))?;
                    if written != stamp.size {
                        return Err(short(io::ErrorKind::UnexpectedEof.into()));
                    }
                }
            },
            What::Link => {
                let target = match &stamp.target {
                    Some(target) => Some(target.clone()),
                    None if fresh => targets.remove(path),
                    None => before
                        .links
                        .get(path)
                        .cloned()
                        .or_else(|| root.readlink_at(path).ok().map(|target| target.to_string())),
                };
                let Some(target) = target.filter(|target| !target.is_empty()) else {
                    extras.leave_out(path.as_bytes());
                    continue;
                };
                let inside = relative(path, &target);
                if fresh {
                    merging.remove(path)?;
                    if let Some(inside) = &inside
                        && root.symlink_at(inside, path).is_err()
                    {
                        extras.leave_out(path.as_bytes());
                        continue;
                    }
                }
                if target.starts_with('/') {
                    extras.links.insert(path.clone(), target);
                }
            }
            What::Fifo => {
                extras.fifos.insert(path.clone(), stamp.mode & 0o1777);
            }
            What::Other => extras.leave_out(path.as_bytes()),
            What::Folder | What::File => {}
        }
        if fresh && !matches!(stamp.what, What::Folder | What::Fifo | What::Other) {
            let _none_outside = root.set_times_at(path, false, NewTime::Keep, NewTime::At(stamp.modified));
        }
    }
    for path in &merging.touched {
        if let Some(stamp) = listing.names.get(path).filter(|stamp| stamp.what == What::Folder) {
            let _kept = root.set_times_at(path, false, NewTime::Keep, NewTime::At(stamp.modified));
        }
    }
    listing.odd.iter().for_each(|name| extras.leave_out(name));
    let modes = listing.names.iter().filter(|(_, stamp)| matches!(stamp.what, What::File | What::Folder));
    extras.set_modes(
        modes.map(|(path, stamp)| (path.clone(), stamp.mode & 0o1777, stamp.what == What::Folder)),
    );
    Ok((files.snapshot(), extras))
}

/// A tree that is being changed.
struct Merging<'a> {
    files: &'a Files,
    /// Folders whose times are to be set in the end.
    touched: BTreeSet<String>,
}

impl Merging<'_> {
    fn remove(&mut self, path: &str) -> Result<()> {
        self.touch(path);
        match self.files.remove(&GuestPath::parse(&format!("/{path}"))?, true) {
            Err(error) if !matches!(error.code(), ErrorCode::NotFound | ErrorCode::ArgsInvalid) => Err(error),
            _ => Ok(()),
        }
    }

    fn touch(&mut self, path: &str) {
        self.touched.insert(path.to_owned());
        if let Some((above, _)) = path.rsplit_once('/') {
            self.touched.insert(above.to_owned());
        }
    }
}

/// What comes of content that breaks off.
pub(crate) fn short(error: io::Error) -> Error {
    Error::new(ErrorCode::ProviderUnavailable, "the files changed while they were read").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::tests::listing;

    const AT: &str = "1700000010.000000000";

    fn read(tree: &Tree, path: &str) -> Option<String> {
        let files = Files::new(tree.clone());
        let bytes = files.read(&GuestPath::parse(path).unwrap(), 0, 100).ok()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    fn quota() -> Quota {
        Quota { bytes: 1_000, files: 100, ..Quota::default() }
    }

    /// Merges, and says which files were asked for.
    fn step(tree: &Tree, known: Option<&Known>, now: &Listing, content: &str) -> (Tree, Extras, Vec<String>) {
        let plan = Plan::of(known, now);
        check(now, &quota()).unwrap();
        let asked = plan.files(now).into_iter().map(|(path, _)| path).collect();
        let mut content = content.as_bytes();
        let (tree, extras) = merge((tree, quota()), &plan, now, (&mut content, HashMap::new())).unwrap();
        assert!(content.is_empty());
        (tree, extras, asked)
    }

    #[test]
    fn only_what_has_another_stamp_is_fetched() {
        let folder = "d 755 1 1700000000.0 1700000000.0 2 2";
        let file = |size: usize, changed: u32, inode: u32| {
            format!("f 644 {size} 1700000000.5 17000000{changed:02}.0 {inode} 1")
        };
        let (a, b) = (file(1, 0, 7), file(2, 0, 8));
        let first = listing(
            AT,
            &[(folder, "/workspace/d", ""), (&a, "/workspace/d/a", ""), (&b, "/workspace/d/b", "")],
        );
        let (tree, extras, asked) = step(&Tree::default(), None, &first, "122");
        assert_eq!(asked, ["workspace/d/a", "workspace/d/b"]);
        assert_eq!(extras, Extras::plain());
        let known = Known::of(first);
        // Nothing has changed.
        let (a2, b2) = (a.clone(), file(3, 5, 8));
        let same = listing(
            "1700000020.0",
            &[(folder, "/workspace/d", ""), (&a, "/workspace/d/a", ""), (&b, "/workspace/d/b", "")],
        );
        assert!(Plan::of(Some(&known), &same).is_empty());
        // One changed, one is new, one was removed with its folder's time.
        let c = file(1, 5, 9);
        let later = listing(
            "1700000020.0",
            &[
                (folder, "/workspace/d", ""),
                (&a2, "/workspace/d/a", ""),
                (&b2, "/workspace/d/b", ""),
                (&c, "/tmp/c", ""),
            ],
        );
        let (tree, _, asked) = step(&tree, Some(&known), &later, "c333");
        assert_eq!(asked, ["tmp/c", "workspace/d/b"]);
        assert_eq!(read(&tree, "/workspace/d/a").as_deref(), Some("1"));
        assert_eq!(read(&tree, "/workspace/d/b").as_deref(), Some("333"));
        let files = Files::new(tree.clone());
        let times = |path: &str| files.stat(&GuestPath::parse(path).unwrap()).unwrap().times.modified;
        assert_eq!(times("/workspace/d"), 1_700_000_000_000_000_000);
        assert_eq!(times("/workspace/d/b"), 1_700_000_000_500_000_000);
        let known = Known::of(later);
        let (tree, _, asked) = step(&tree, Some(&known), &listing("1700000030.0", &[(&c, "/tmp/c", "")]), "");
        assert!(asked.is_empty());
        assert_eq!((read(&tree, "/workspace/d/a"), read(&tree, "/tmp/c").as_deref()), (None, Some("c")));
    }

    #[test]
    fn a_folder_is_what_it_was_only_if_nothing_can_have_changed_in_it_unseen() {
        let stamp = |size: u64, changed: &str| format!("f 644 {size} 1700000000.0 {changed} 7 1");
        let (old, young) = (stamp(1, "1700000000.0"), stamp(1, "1700000009.999000000"));
        let at =
            |time: &str, a: &str, tmp: &str| listing(time, &[(a, "/workspace/a", ""), (tmp, "/tmp/t", "")]);
        let known = |a: &str, tmp: &str| Known::of(at(AT, a, tmp));
        let later = "1700000020.0";
        assert!(known(&old, &old).is_sure_of(&at(later, &old, &old), "/workspace"));
        // What is in another folder does not matter.
        assert!(known(&old, &young).is_sure_of(&at(later, &old, &stamp(2, "1700000011.0")), "/workspace"));
        assert!(!known(&old, &old).is_sure_of(&at(later, &old, &stamp(2, "1700000011.0")), "/tmp"));
        assert!(!known(&young, &old).is_sure_of(&at(later, &young, &old), "/workspace"), "it was young");
        assert!(!known(&old, &old).is_sure_of(&at(later, &stamp(1, "1700000011.0"), &old), "/workspace"));
        let more = listing(later, &[(&old, "/workspace/a", ""), (&old, "/workspace/b", "")]);
        assert!(!known(&old, &old).is_sure_of(&more, "/workspace"), "one more");
        assert!(!known(&old, &old).is_sure_of(&listing(later, &[]), "/workspace"), "one less");
        let mut works = at(later, &old, &old);
        works.works = 1;
        assert!(!known(&old, &old).is_sure_of(&works, "/workspace"), "somebody works");
        let mut mapped = at(later, &old, &old);
        mapped.mapped.insert(7);
        assert!(!known(&old, &old).is_sure_of(&mapped, "/workspace"), "it is mapped");
        let mut odd = at(later, &old, &old);
        odd.odd.push(b"workspace/\xff".to_vec());
        assert!(!known(&old, &old).is_sure_of(&odd, "/workspace"), "a name that no state has");
    }

    #[test]
    fn what_may_have_changed_unseen_is_fetched_again() {
        let young = "f 644 1 1700000009.0 1700000009.999 7 1";
        let first = listing(AT, &[(young, "/workspace/a", "")]);
        let (tree, ..) = step(&Tree::default(), None, &first, "1");
        let known = Known::of(first);
        let again = listing("1700000020.0", &[(young, "/workspace/a", "")]);
        let (tree, _, asked) = step(&tree, Some(&known), &again, "2");
        assert_eq!((asked.len(), read(&tree, "/workspace/a").as_deref()), (1, Some("2")));
        let known = Known::of(again);
        let mut mapped = listing("1700000030.0", &[(young, "/workspace/a", "")]);
        mapped.mapped.insert(7);
        let (_, _, asked) = step(&tree, Some(&known), &mapped, "3");
        assert_eq!(asked.len(), 1);
        // Also once more after the process that had it mapped has ended.
        let known = Known::of(mapped);
        let ended = listing("1700000040.0", &[(young, "/workspace/a", "")]);
        assert!(!Plan::of(Some(&known), &ended).is_empty());
    }

    #[test]
    fn links_fifos_modes_and_names_of_one_file_are_kept() {
        let link = |inode: u32| format!("l 777 9 1700000000.0 1700000000.0 {inode} 1");
        let names = [
            ("f 600 1 1700000000.0 1700000000.0 7 2", "/workspace/one", ""),
            ("f 600 1 1700000000.0 1700000000.0 7 2", "/workspace/two", ""),
            ("f 644 0 1700000000.0 1700000000.0 70 1", "/workspace/x", ""),
            ("f 644 0 1700000000.0 1700000000.0 71 1", "/workspace/y", ""),
            ("p 620 0 1700000000.0 1700000000.0 9 1", "/workspace/pipe", ""),
            ("s 755 0 1700000000.0 1700000000.0 10 1", "/workspace/socket", ""),
            (&link(11), "/workspace/python", "/usr/bin/python3"),
            (&link(12), "/tmp/in", "/workspace/one"),
            (&link(13), "/workspace/out", "../../etc/passwd"),
        ];
        let (tree, extras, asked) = step(&Tree::default(), None, &listing(AT, &names), "1");
        assert_eq!(asked, ["workspace/one"]);
        let files = Files::new(tree.clone());
        let stat = |path: &str| files.stat(&GuestPath::parse(path).unwrap()).unwrap();
        assert_eq!((stat("/workspace/one").links, stat("/workspace/two").links), (2, 2));
        assert_eq!(read(&tree, "/tmp/in").as_deref(), Some("1"));
        assert_eq!(extras.links["workspace/python"], "/usr/bin/python3");
        assert_eq!(extras.links["tmp/in"], "/workspace/one");
        assert!(!extras.links.contains_key("workspace/out"));
        assert_eq!(extras.fifos["workspace/pipe"], 0o620);
        assert_eq!((extras.mode("workspace/one", false), extras.mode("workspace/x", false)), (0o600, 0o644));
        assert_eq!((extras.left_out, extras.named), (1, vec!["workspace/socket".into()]));
    }

    #[test]
    fn more_than_may_be_kept_is_refused_before_it_is_fetched() {
        let hole = "f 644 1099511627776 1700000000.0 1700000000.0 7 1";
        let error = check(&listing(AT, &[(hole, "/workspace/hole", "")]), &quota()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::LimitDisk);
    }
}
