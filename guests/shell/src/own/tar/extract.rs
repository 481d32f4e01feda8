//! Members of an archive become files, folders and links.

use std::path::{Path, PathBuf};

use super::super::diff::fits;
use super::super::folders::reason;
use super::super::paths::lexical;
use super::Run;
use super::archive::{Kind, Member};
use super::names::shown;

impl Run<'_, '_> {
    /// Links are made last, so that no member is written through one of the same archive.
    pub(super) async fn extract(&mut self, members: &[&Member<'_>]) -> Result<(), String> {
        let mut later = Vec::new();
        for member in members {
            let Some(name) = self.placed(&member.name) else { continue };
            self.show(&name, self.settings.to_stdout);
            if self.settings.to_stdout {
                self.out.extend_from_slice(member.content);
                continue;
            }
            let path = lexical(&self.settings.base.join(&name));
            let done = match member.kind {
                Kind::Folder => self.folder(member, &path).await,
                Kind::File => self.file(member, &path).await,
                Kind::HardLink => self.copy(member, &path).await,
                Kind::Link => {
                    later.push((name, path, *member));
                    continue;
                }
                Kind::Other => Err("Cannot mknod: there are no devices and pipes here".to_owned()),
            };
            if let Err(why) = done {
                self.fail(&format!("{}: {why}", shown(&name)));
            }
        }
        // A folder's time changes with what is put into it.
        for member in members.iter().filter(|member| member.kind == Kind::Folder).rev() {
            let Some(name) = self.placed(&member.name).filter(|_| !self.settings.to_stdout) else { continue };
            self.stamp(member, &lexical(&self.settings.base.join(&name))).await;
        }
        for (name, path, member) in later {
            if let Err(why) = self.link(member, &path).await {
                self.fail(&format!("{}: {why}", shown(&name)));
            }
        }
        Ok(())
    }

    /// The name that a member is given; none: it is left out.
    fn placed(&mut self, name: &str) -> Option<String> {
        let mut name = name.to_owned();
        if self.settings.strip > 0 {
            let folder = name.ends_with('/');
            let parts = name.split('/').filter(|part| !matches!(*part, "" | "."));
            let parts: Vec<&str> = parts.skip(self.settings.strip).collect();
            if parts.is_empty() {
                return None;
            }
            name = parts.join("/") + if folder { "/" } else { "" };
        }
        if self.settings.absolute {
            return Some(name);
        }
        if name.split('/').any(|part| part == "..") {
            self.failed = true;
            self.note(&format!("{}: Member name contains '..'", shown(&name)));
            return None;
        }
        if name.starts_with('/') {
            self.note("Removing leading `/' from member names");
        }
        Some(name.trim_start_matches('/').to_owned())
    }

    async fn folder(&self, member: &Member<'_>, path: &Path) -> Result<(), String> {
        let files = &self.context.fs;
        files.mkdir(path, true).await.map_err(|error| format!("Cannot mkdir: {}", reason(&error)))?;
        // A place that was there, such as `.`, keeps its bits.
        let _ = files.chmod(path, self.mode(member)).await;
        Ok(())
    }

    async fn file(&self, member: &Member<'_>, path: &Path) -> Result<(), String> {
        if !self.free(path).await? {
            return Ok(());
        }
        let cannot = |error: &bashkit::Error| format!("Cannot open: {}", reason(error));
        self.context.fs.write_file(path, member.content).await.map_err(|error| cannot(&error))?;
        self.context.fs.chmod(path, self.mode(member)).await.map_err(|error| cannot(&error))?;
        self.stamp(member, path).await;
        Ok(())
    }

    /// There are no hard links, so a second name is a copy.
    async fn copy(&mut self, member: &Member<'_>, path: &Path) -> Result<(), String> {
        let cannot = |why: &str| format!("Cannot hard link to '{}': {why}", member.link);
        let from = self.placed(&member.link).ok_or_else(|| cannot("the name leads out"))?;
        let from: PathBuf = lexical(&self.settings.base.join(from));
        if from == path || !self.free(path).await? {
            return Ok(());
        }
        self.context.fs.copy(&from, path).await.map_err(|error| cannot(&reason(&error)))?;
        Ok(())
    }

    async fn link(&self, member: &Member<'_>, path: &Path) -> Result<(), String> {
        if !self.free(path).await? {
            return Ok(());
        }
        let made = self.context.fs.symlink(Path::new(&member.link), path).await;
        made.map_err(|error| format!("Cannot create symlink to '{}': {}", member.link, reason(&error)))
    }

    /// Makes room for a file or link; false: what is there stays.
    async fn free(&self, path: &Path) -> Result<bool, String> {
        let files = &self.context.fs;
        if let Ok(there) = files.lstat(path).await {
            match (self.settings.skip_old, self.settings.keep_old) {
                (true, _) => return Ok(false),
                (_, true) => return Err("Cannot open: File exists".to_owned()),
                _ if there.file_type.is_dir() => return Err("Cannot open: Is a directory".to_owned()),
                _ => {}
            }
            files.remove(path, false).await.map_err(|error| format!("Cannot unlink: {}", reason(&error)))?;
        } else if let Some(parent) = path.parent() {
            files.mkdir(parent, true).await.map_err(|error| format!("Cannot open: {}", reason(&error)))?;
        }
        Ok(true)
    }

    /// The bits of a member; without `-p` others do not write.
    fn mode(&self, member: &Member<'_>) -> u32 {
        if self.settings.keep_mode { member.mode } else { member.mode & 0o777 & !0o022 }
    }

    async fn stamp(&self, member: &Member<'_>, path: &Path) {
        let known = self.context.fs.lstat(path).await;
        if !self.settings.new_times && known.is_ok_and(|known| !known.file_type.is_symlink()) {
            let _ = self.context.fs.set_modified_time(path, member.modified).await;
        }
    }
}

/// Whether a member is the named one or lies below it.
pub(super) fn below(member: &str, name: &str) -> bool {
    let (member, name) = (member.trim_end_matches('/'), name.trim_end_matches('/'));
    member.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a pattern fits the name, a folder that it lies in, or an end of either that begins after a slash.
pub(super) fn excluded(name: &str, patterns: &[String]) -> bool {
    let name = name.trim_end_matches('/');
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    patterns.iter().any(|pattern| {
        let pattern = pattern.trim_end_matches('/');
        ends.clone().any(|end| {
            let part = &name[..end];
            let begins = part.match_indices('/').map(|(at, _)| at + 1).chain([0]);
            begins.into_iter().any(|begin| fits(pattern, &part[begin..]))
        })
    })
}
