//! What a tree's files are given in a container beside their content: modes, links as they were written, FIFOs.
//!
//! Owns: what [`Extras`] mean for an upload, and what the engine would not unpack and is made by a program of ours. Does not own:
//! the archive ([`crate::archive`]).

use dormouse_core::Result;
use dormouse_files::{Age, Extras, Kind, Listed, Stat};

use crate::exec::run_own;
use crate::paths::relative;
use crate::port::Container;

/// Bytes of arguments that one program is given.
const ARGUMENTS: usize = 64 << 10;
/// Makes what its arguments name, three for each; its status is whether all was made.
const MAKE: &str = r#"bad=0
while [ $# -gt 2 ]; do
  case $1 in
    link) ln -s -- "$2" "$3" ;;
    fifo) mkfifo -m "$2" -- "$3" ;;
  esac || bad=1
  shift 3
done
exit "$bad""#;

/// What is known of the files of one folder.
pub(crate) struct Dress {
    /// The folder, absolute.
    pub(crate) folder: &'static str,
    pub(crate) extras: Option<(Extras, Age)>,
}

impl Dress {
    /// A path below the folder as [`Extras`] name it.
    pub(crate) fn full(&self, below: &str) -> String {
        format!("{}/{below}", self.folder.trim_start_matches('/'))
    }

    /// The mode of a file or a folder; none: nothing is said of it.
    pub(crate) fn mode(&self, below: &str, stat: &Stat) -> Option<u32> {
        let (extras, age) = self.extras.as_ref()?;
        let known = age.knows(stat.inode);
        known.then(|| u32::from(extras.mode(&self.full(below), stat.kind == Kind::Folder)))
    }

    /// Sets aside what the engine does not unpack: relative links that lead out of the folder, and FIFOs. Answers the links that
    /// are not in the tree, by their paths below the folder, with where they lead; a link that the tree has in another form gets its own.
    pub(crate) fn sort_links(&self, listed: &mut Vec<Listed>, late: &mut Late) -> Vec<(String, String)> {
        let there: std::collections::HashSet<String> = listed.iter().map(|one| one.path.clone()).collect();
        let mut links = Vec::new();
        if let Some((extras, _)) = &self.extras {
            for one in listed.iter_mut().filter(|one| one.stat.kind == Kind::Link) {
                let full = self.full(&one.path);
                // It has been replaced meanwhile if it does not lead where it led.
                let own = extras
                    .links
                    .get(&full)
                    .filter(|own| relative(&full, own).as_deref() == one.target.as_deref());
                if let Some(own) = own {
                    one.target = Some(own.as_str().into());
                }
            }
            let folder = format!("{}/", self.folder.trim_start_matches('/'));
            let alone = |path: &String| {
                let below = path.strip_prefix(&folder)?;
                let above = below.rsplit_once('/').is_none_or(|(above, _)| there.contains(above));
                (above && !there.contains(below)).then(|| below.to_owned())
            };
            links.extend(extras.links.iter().filter_map(|(path, target)| {
                // One that led to the sandbox's own files would be in the tree still.
                let outside = relative(path, target).is_none();
                alone(path).filter(|_| outside).map(|below| (below, target.clone()))
            }));
            for (path, mode) in extras.fifos.iter().filter(|(path, _)| alone(path).is_some()) {
                late.add(["fifo", &format!("{mode:o}"), &format!("/{path}")]);
            }
        }
        listed.retain(|one| {
            let Some(target) = one.target.as_deref().filter(|target| leads_out(&one.path, target)) else {
                return true;
            };
            late.add(["link", target, &format!("{}/{}", self.folder, one.path)]);
            false
        });
        links
    }
}

/// Whether a relative link of an archive leads out of the folder that the archive is unpacked in, by its words alone.
fn leads_out(path: &str, target: &str) -> bool {
    if target.starts_with('/') {
        return false;
    }
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

/// What is made when the rest is there.
#[derive(Default)]
pub(crate) struct Late(Vec<[String; 3]>);

impl Late {
    fn add(&mut self, one: [&str; 3]) {
        self.0.push(one.map(str::to_owned));
    }

    /// Makes it. What cannot be made is said in the log: its folder may be one that takes nothing.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn make(self, container: &dyn Container) -> Result<()> {
        let mut rest = self.0.into_iter().peekable();
        while rest.peek().is_some() {
            let mut argv: Vec<String> = ["sh", "-c", MAKE, "dormouse"].map(str::to_owned).into();
            let mut bytes = 0;
            while let Some(one) = rest.next_if(|one| bytes == 0 || bytes + length(one) < ARGUMENTS) {
                bytes += length(&one);
                argv.extend(one);
            }
            let made = run_own(container, argv, Vec::new()).await?;
            if made.code != Some(0) {
                let said: String = made.stderr.text().chars().filter(|c| !c.is_control()).take(200).collect();
                tracing::warn!(container = container.id(), said, "links or FIFOs were not made");
            }
        }
        Ok(())
    }
}

fn length(one: &[String; 3]) -> usize {
    one.iter().map(|word| word.len() + 8).sum()
}

#[cfg(test)]
mod tests {
    use dormouse_core::{Access, GuestPath};
    use dormouse_files::{Files, Tree};

    use super::*;

    #[test]
    fn what_the_engine_would_not_unpack_is_set_aside() {
        for (path, target, out) in [
            ("a", "b", false),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("a", "../workspace/b", true),
            ("a", "/etc/passwd", false),
            ("d/e/a", ".././x/../../../b", true),
        ] {
            assert_eq!(leads_out(path, target), out, "{path} {target}");
        }
    }

    #[test]
    fn links_are_written_as_they_were_unless_they_were_replaced() {
        let files = Files::new(Tree::default());
        let path = |text: &str| GuestPath::parse(text).unwrap();
        files.make_folder(&path("/workspace/d")).unwrap();
        let root = files.open_folder(&path("/"), Access::ReadWrite).unwrap();
        root.symlink_at("../workspace/x", "workspace/same").unwrap();
        root.symlink_at("elsewhere", "workspace/replaced").unwrap();
        let mut extras = Extras::plain();
        for (at, to) in [
            ("workspace/same", "/workspace/x"),
            ("workspace/replaced", "/workspace/x"),
            ("workspace/d/python", "/usr/bin/python3"),
            ("workspace/gone/l", "/usr/bin/python3"),
            ("workspace/removed", "/workspace/y"),
        ] {
            extras.links.insert(at.into(), to.into());
        }
        extras.fifos.insert("workspace/d/pipe".into(), 0o600);
        extras.fifos.insert("tmp/pipe".into(), 0o600);
        extras.put(&files).unwrap();
        let dress = Dress { folder: "/workspace", extras: Extras::of(&files.snapshot()) };
        let mut listed = files.list(&path("/workspace"), 9, 99).unwrap().entries;
        let mut late = Late::default();
        let links = dress.sort_links(&mut listed, &mut late);
        assert_eq!(links, [("d/python".to_owned(), "/usr/bin/python3".to_owned())]);
        let target = |name: &str| listed.iter().find(|one| one.path == name).unwrap().target.clone().unwrap();
        assert_eq!((&*target("same"), &*target("replaced")), ("/workspace/x", "elsewhere"));
        assert_eq!(late.0, [["fifo", "600", "/workspace/d/pipe"].map(str::to_owned)]);
    }
}
