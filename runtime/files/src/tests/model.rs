//! Random sequences against a plain model: every result and error foretold, the quota to the byte, forks that stay apart.
//!
//! The model has no links that are followed and no `..`; those are compared with Linux.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dormouse_types::Access;

use super::{BOTH, audit, opened, path};
use crate::testing::Random;
use crate::{Errno, Files, Flags, Handle, Kind, OpenFlags, Quota, Usage};

const QUOTA: Quota = Quota { bytes: 400_000, files: 40, depth: 4, name_bytes: 8 };

#[derive(Clone, PartialEq, Debug)]
enum Node {
    Folder,
    File(usize),
}

/// Paths below `/w` to nodes, and contents by number; a content without a path is open.
#[derive(Clone, Default)]
struct Model {
    paths: BTreeMap<String, Node>,
    contents: HashMap<usize, Vec<u8>>,
    next: usize,
}

impl Model {
    fn usage(&self) -> Usage {
        let named: BTreeSet<usize> = self.files().map(|(_, file)| file).collect();
        let unnamed = self.contents.keys().filter(|file| !named.contains(file)).count();
        let bytes = self.contents.values().map(|bytes| bytes.len() as u64).sum();
        // `/w` is a name too.
        Usage { bytes, files: (1 + self.paths.len() + unnamed) as u64 }
    }

    fn files(&self) -> impl Iterator<Item = (&String, usize)> {
        self.paths.iter().filter_map(|(path, node)| match node {
            Node::File(file) => Some((path, *file)),
            Node::Folder => None,
        })
    }

    fn links(&self, file: usize) -> usize {
        self.files().filter(|(_, other)| *other == file).count()
    }

    /// What stands at a path, if the way there is one.
    fn get(&self, path: &str) -> Result<Option<&Node>, Errno> {
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            if path[..at].rsplit('/').next().unwrap().len() > QUOTA.name_bytes as usize {
                return Err(Errno::NameTooLong);
            }
            match self.paths.get(&path[..at]) {
                _ if at == path.len() => {}
                None => return Err(Errno::NoEntry),
                Some(Node::File(_)) => return Err(Errno::NotDirectory),
                Some(Node::Folder) => {}
            }
        }
        Ok(self.paths.get(path))
    }

    fn room(&self, bytes: usize, names: u64) -> Result<(), Errno> {
        let used = self.usage();
        let full = (bytes > 0 && used.bytes + bytes as u64 > QUOTA.bytes)
            || (names > 0 && used.files + names > QUOTA.files);
        if full { Err(Errno::NoSpace) } else { Ok(()) }
    }

    fn add(&mut self, path: &str, node: Node) -> Result<(), Errno> {
        if self.get(path)?.is_some() {
            return Err(Errno::Exists);
        }
        if node == Node::Folder && path.matches('/').count() + 2 > QUOTA.depth as usize {
            return Err(Errno::NameTooLong);
        }
        self.room(0, 1)?;
        self.paths.insert(path.into(), node);
        Ok(())
    }

    fn below(&self, path: &str) -> Vec<String> {
        let inner = format!("{path}/");
        self.paths.keys().filter(|other| other.starts_with(&inner)).cloned().collect()
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        // Both ways are walked before either end is looked at.
        let (node, over) = (self.get(from)?.cloned(), self.get(to)?.cloned());
        let node = node.ok_or(Errno::NoEntry)?;
        if node == Node::Folder && to.starts_with(&format!("{from}/")) {
            return Err(Errno::Invalid);
        }
        if from.starts_with(&format!("{to}/")) {
            return Err(Errno::NotEmpty);
        }
        match (&node, &over) {
            (one, Some(other)) if one == other && (from == to || *one != Node::Folder) => return Ok(()),
            (Node::Folder, Some(Node::File(_))) => return Err(Errno::NotDirectory),
            (Node::File(_), Some(Node::Folder)) => return Err(Errno::IsDirectory),
            _ => {}
        }
        if node == Node::Folder {
            let depth = |path: &str| path.matches('/').count() + 2;
            let inner = self.below(from).into_iter().filter(|path| self.paths[path] == Node::Folder);
            let height = inner.map(|path| depth(&path) - depth(from)).max().unwrap_or(0);
            if depth(to) > depth(from) && depth(to) + height > QUOTA.depth as usize {
                return Err(Errno::NameTooLong);
            }
        }
        if over == Some(Node::Folder) && !self.below(to).is_empty() {
            return Err(Errno::NotEmpty);
        }
        for path in self.below(from).into_iter().chain([from.to_owned()]) {
            let node = self.paths.remove(&path).unwrap();
            self.paths.insert(format!("{to}{}", &path[from.len()..]), node);
        }
        Ok(())
    }

    fn resize(&mut self, file: usize, size: usize) -> Result<(), Errno> {
        let before = self.contents[&file].len();
        self.room(size.saturating_sub(before), 0)?;
        self.contents.get_mut(&file).unwrap().resize(size, 0);
        Ok(())
    }

    /// Lets go of contents that nobody has.
    fn sweep(&mut self, open: &[(Handle, usize)]) {
        let named: BTreeSet<usize> = self.files().map(|(_, file)| file).collect();
        self.contents.retain(|file, _| named.contains(file) || open.iter().any(|(_, held)| held == file));
    }

    /// What a listing of everything should show.
    fn shown(&self) -> Vec<(String, Kind, u64)> {
        let sized = |node: &Node| match node {
            Node::Folder => (Kind::Folder, 0),
            Node::File(file) => (Kind::File, self.contents[file].len() as u64),
        };
        let mut all: Vec<_> =
            self.paths.iter().map(|(path, node)| (path.clone(), sized(node).0, sized(node).1)).collect();
        all.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
        all
    }
}

fn check(files: &Files, model: &Model) {
    let list = files.list(&path("/w"), 99, 1000).unwrap();
    let shown: Vec<_> =
        list.entries.into_iter().map(|entry| (entry.path, entry.stat.kind, entry.stat.size)).collect();
    assert_eq!(shown, model.shown());
    for (name, file) in model.files() {
        let bytes = files.read(&path(&format!("/w/{name}")), 0, 1 << 20).unwrap();
        assert!(bytes == model.contents[&file], "{name}");
    }
}

fn random_path(random: &mut Random) -> String {
    let names = ["a", "b", "c", "dd", "über", "longname", "too-long!"];
    let count = 1 + random.below(4);
    (0..count).map(|_| names[random.below(if count > 2 { 2 } else { 7 })]).collect::<Vec<_>>().join("/")
}

struct Run {
    files: Files,
    folder: Handle,
    model: Model,
    open: Vec<(Handle, usize)>,
}

impl Run {
    fn step(&mut self, random: &mut Random) -> (String, Result<(), Errno>, Result<(), Errno>) {
        let (one, two) = (random_path(random), random_path(random));
        let (folder, model) = (&self.folder, &mut self.model);
        match random.below(14) {
            0 | 1 => {
                (format!("mkdir {one}"), folder.create_directory_at(&one), model.add(&one, Node::Folder))
            }
            2 => {
                let foretold = model.get(&one).map(|node| node.cloned()).and_then(|node| match node {
                    None => Err(Errno::NoEntry),
                    Some(Node::File(_)) => Err(Errno::NotDirectory),
                    Some(Node::Folder) if !model.below(&one).is_empty() => Err(Errno::NotEmpty),
                    Some(Node::Folder) => model.paths.remove(&one).map(|_| ()).ok_or(Errno::Io),
                });
                (format!("rmdir {one}"), folder.remove_directory_at(&one), foretold)
            }
            3 => {
                let foretold = model.get(&one).map(|node| node.cloned()).and_then(|node| match node {
                    None => Err(Errno::NoEntry),
                    Some(Node::Folder) => Err(Errno::IsDirectory),
                    Some(Node::File(_)) => model.paths.remove(&one).map(|_| ()).ok_or(Errno::Io),
                });
                (format!("unlink {one}"), folder.unlink_file_at(&one), foretold)
            }
            4 | 5 => (
                format!("rename {one} {two}"),
                folder.rename_at(&one, folder, &two),
                model.rename(&one, &two),
            ),
            6 => {
                let foretold = model.get(&one).map(|node| node.cloned()).and_then(|node| match node {
                    None => Err(Errno::NoEntry),
                    Some(Node::Folder) => match model.get(&two)? {
                        Some(_) => Err(Errno::Exists),
                        None => Err(Errno::NotPermitted),
                    },
                    Some(node) => model.add(&two, node),
                });
                (format!("link {one} {two}"), folder.link_at(&one, false, folder, &two), foretold)
            }
            7 | 8 => self.open(random, &one),
            9 if !self.open.is_empty() => {
                self.open.swap_remove(random.below(self.open.len()));
                ("close".into(), Ok(()), Ok(()))
            }
            10 => {
                let bytes = vec![7; random.below(100_000)];
                let path = path(&format!("/w/{one}"));
                let mut next = self.model.clone();
                let foretold = host_write(&mut next, &one, &bytes, &self.open);
                if foretold.is_ok() {
                    self.model = next;
                }
                let done = self.files.write(&path, &bytes);
                let done =
                    done.map_err(|error| error.code()).map_err(|_| foretold.err().unwrap_or(Errno::Io));
                (format!("host write {one} {}", bytes.len()), done, foretold)
            }
            11 => {
                let path = path(&format!("/w/{one}"));
                let found = matches!(model.get(&one), Ok(Some(_)));
                for gone in model.below(&one).into_iter().chain([one.clone()]).filter(|_| found) {
                    model.paths.remove(&gone);
                }
                let foretold = if found { Ok(()) } else { Err(Errno::Io) };
                (format!("remove {one}"), self.files.remove(&path, true).map_err(|_| Errno::Io), foretold)
            }
            _ => self.use_open(random),
        }
    }

    fn open(&mut self, random: &mut Random, path: &str) -> (String, Result<(), Errno>, Result<(), Errno>) {
        let create = random.below(3) > 0;
        let open = OpenFlags { create, truncate: random.below(3) == 0, ..OpenFlags::default() };
        let model = &mut self.model;
        let foretold = model.get(path).map(|node| node.cloned()).and_then(|node| match node {
            None if create => {
                let file = model.next;
                model.add(path, Node::File(file))?;
                model.next += 1;
                model.contents.insert(file, Vec::new());
                Ok(file)
            }
            None => Err(Errno::NoEntry),
            Some(Node::Folder) => Err(Errno::IsDirectory),
            Some(Node::File(file)) => {
                if open.truncate {
                    model.resize(file, 0)?;
                }
                Ok(file)
            }
        });
        let handle = self.folder.open_at(path, true, open, BOTH);
        let done = handle.as_ref().map(|_| ()).map_err(|errno| *errno);
        if let (Ok(handle), Ok(file)) = (handle, foretold) {
            self.open.push((handle, file));
        }
        (format!("open {path} {open:?}"), done, foretold.map(|_| ()))
    }

    fn use_open(&mut self, random: &mut Random) -> (String, Result<(), Errno>, Result<(), Errno>) {
        if self.open.is_empty() {
            return (String::new(), Ok(()), Ok(()));
        }
        let (handle, file) = &self.open[random.below(self.open.len())];
        let size = self.model.contents[file].len();
        let offset = [random.below(200), random.below(150_000), size][random.below(3)];
        let bytes = vec![u8::try_from(random.below(256)).unwrap(); random.below(40_000)];
        let (what, done, end) = match random.below(5) {
            0 => {
                let done = handle.set_size(offset as u64);
                return (format!("cut {offset}"), done, self.model.resize(*file, offset));
            }
            1 => (format!("append {}", bytes.len()), handle.append(&bytes), size + bytes.len()),
            _ => (
                format!("write {offset} {}", bytes.len()),
                handle.write(offset as u64, &bytes),
                offset + bytes.len(),
            ),
        };
        let mut foretold = Ok(());
        if !bytes.is_empty() {
            foretold = self.model.resize(*file, end.max(size));
            if foretold.is_ok() {
                let content = self.model.contents.get_mut(file).unwrap();
                content[end - bytes.len()..end].copy_from_slice(&bytes);
            }
        }
        assert_eq!(handle.stat().unwrap().links, self.model.links(*file) as u64);
        (what, done.map(|_| ()), foretold)
    }
}

/// What replacing a whole file does, folders around it included.
fn host_write(model: &mut Model, path: &str, bytes: &[u8], open: &[(Handle, usize)]) -> Result<(), Errno> {
    for (at, _) in path.match_indices('/') {
        match model.get(&path[..at])? {
            None => model.add(&path[..at], Node::Folder)?,
            Some(Node::File(_)) => return Err(Errno::NotDirectory),
            Some(Node::Folder) => {}
        }
    }
    match model.get(path)? {
        Some(Node::Folder) => return Err(Errno::IsDirectory),
        Some(Node::File(_)) => {
            model.paths.remove(path);
        }
        None => {}
    }
    model.sweep(open);
    let file = model.next;
    model.add(path, Node::File(file))?;
    model.next += 1;
    model.contents.insert(file, Vec::new());
    model.resize(file, bytes.len())?;
    model.contents.insert(file, bytes.to_vec());
    Ok(())
}

#[test]
fn every_result_and_the_account_are_foretold_and_forks_stay_apart() {
    let (mut refused, mut full) = (0, 0);
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let (files, folder) = opened(QUOTA);
        let mut run = Run { files, folder, model: Model::default(), open: Vec::new() };
        let mut forks: Vec<(Files, Model)> = Vec::new();
        for step in 0..1500 {
            let (what, done, foretold) = run.step(&mut random);
            assert_eq!(done, foretold, "seed {seed}, step {step}: {what}");
            refused += usize::from(done.is_err());
            full += usize::from(done == Err(Errno::NoSpace));
            run.model.sweep(&run.open);
            assert_eq!(run.files.usage(), run.model.usage(), "seed {seed}, step {step}: {what}");
            audit(&run.files);
            if step % 100 == 99 {
                check(&run.files, &run.model);
                let mut model = run.model.clone();
                model.sweep(&[]);
                let fork = Files::new(run.files.snapshot());
                assert_eq!(fork.usage(), model.usage());
                audit(&fork);
                forks.push((fork, model));
            }
            if step % 500 == 499 {
                // The fork goes on, and the origin is what must not change.
                let (fork, model) = forks.swap_remove(random.below(forks.len()));
                run.open.clear();
                run.model.sweep(&[]);
                let folder = fork.open_folder(&path("/w"), Access::ReadWrite).unwrap();
                let origin =
                    std::mem::replace(&mut run, Run { files: fork, folder, model, open: Vec::new() });
                forks.push((origin.files, origin.model));
            }
        }
        for (fork, model) in forks {
            check(&fork, &model);
            audit(&fork);
        }
    }
    assert!(refused > 5000 && full > 500, "{refused} refused, {full} of them for want of space");
}

#[test]
fn listing_a_folder_while_it_changes_shows_once_what_stays() {
    let (_files, folder) = opened(Quota::default());
    let make = |name: &str| drop(folder.open_at(name, true, super::CREATE, Flags::default()).unwrap());
    for at in 0..500 {
        make(&format!("f{at:03}"));
    }
    let mut names = Vec::new();
    for (at, entry) in folder.list().unwrap().enumerate() {
        let name = entry.unwrap().name.to_string();
        // Names that are passed, the one that is shown, and names to come.
        make(&format!("a{at}"));
        match at % 4 {
            0 => folder.unlink_file_at(&name).unwrap(),
            1 => folder.rename_at(&name, &folder, &format!("b{at}")).unwrap(),
            2 if at < 400 => folder.unlink_file_at(&format!("f{:03}", 450 + at / 10)).unwrap_or(()),
            _ => {}
        }
        if at == 100 {
            make("z");
        }
        names.push(name);
    }
    let mut wanted: Vec<_> = (0..450).map(|at| format!("f{at:03}")).collect();
    wanted.extend((490..500).map(|at| format!("f{at:03}")));
    wanted.push("z".into());
    assert_eq!(names, wanted);
}
