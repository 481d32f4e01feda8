//! Which folders of the host the argument `mounts` may name: the operator's rule, one for every source.

use std::path::{Path, PathBuf};

use dormouse_core::{Access, Error, ErrorCode, Result};

use crate::ContainerMount;

/// Folders of the host that may be mounted, with all that lies in them. By default none.
#[derive(Clone, Debug, Default)]
pub struct Mountable {
    folders: Vec<(PathBuf, Access)>,
}

impl Mountable {
    /// The same with one more folder, and the most that may be done there.
    ///
    /// # Errors
    /// `path_denied` when it cannot be found.
    pub fn folder(mut self, folder: &Path, most: Access) -> Result<Self> {
        self.folders.push((real(folder)?, most));
        Ok(self)
    }

    /// The mount as it is granted: links resolved, in a folder of the operator's.
    ///
    /// # Errors
    /// `path_denied` when the operator does not allow it so.
    pub fn granted(&self, mount: ContainerMount) -> Result<ContainerMount> {
        let ContainerMount { source, target, access } = mount;
        let source = real(&source)?;
        let mut of = self.folders.iter().filter(|(folder, _)| source.starts_with(folder)).peekable();
        let shown = source.display();
        if of.peek().is_none() {
            let message =
                format!("the folder `{shown}` may not be mounted: it lies in none that the operator allows");
            return Err(Error::new(ErrorCode::PathDenied, message)
                .with_hint("put it beside the files, or have the operator allow it (--mount)"));
        }
        if access == Access::ReadOnly || of.any(|(_, most)| *most == Access::ReadWrite) {
            return Ok(ContainerMount { source, target, access });
        }
        Err(Error::new(ErrorCode::PathDenied, format!("the folder `{shown}` may be mounted read-only alone"))
            .with_hint("say `readonly: true`, or have the operator allow writes (--allow-writes)"))
    }

    /// All of them, granted.
    ///
    /// # Errors
    /// As [`Mountable::granted`].
    pub fn all(&self, mounts: Vec<ContainerMount>) -> Result<Vec<ContainerMount>> {
        mounts.into_iter().map(|mount| self.granted(mount)).collect()
    }
}

fn real(folder: &Path) -> Result<PathBuf> {
    folder.canonicalize().map_err(|error| {
        Error::new(ErrorCode::PathDenied, format!("the folder `{}` cannot be found", folder.display()))
            .with_hint("name a folder that is there")
            .with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use dormouse_core::GuestPath;

    use super::*;

    #[test]
    fn only_what_really_lies_in_a_folder_is_granted_and_no_more_than_that() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for name in ["files/data", "shared", "other"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        std::os::unix::fs::symlink(path("other"), path("files/link")).unwrap();
        let rule = Mountable::default().folder(&path("files"), Access::ReadOnly).unwrap();
        let rule = rule.folder(&path("shared"), Access::ReadWrite).unwrap();
        let asked = |source: PathBuf, access| {
            rule.granted(ContainerMount { source, target: GuestPath::parse("/x").unwrap(), access })
        };
        let granted = asked(path("files/data/../data"), Access::ReadOnly).unwrap();
        assert_eq!(granted.source, path("files/data").canonicalize().unwrap());
        for access in [Access::ReadOnly, Access::ReadWrite] {
            assert_eq!(asked(path("shared"), access).unwrap().access, access);
            for bad in ["other", "files/link", "files/../other", "absent"] {
                assert_eq!(asked(path(bad), access).unwrap_err().code(), ErrorCode::PathDenied, "{bad}");
            }
        }
        let refused = asked(path("files/data"), Access::ReadWrite).unwrap_err();
        assert!(refused.message().contains("read-only alone"), "{refused}");
        assert!(Mountable::default().folder(&path("absent"), Access::ReadOnly).is_err());
    }
}
