//! What a run may touch. The default is nothing but files of its own that vanish.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::{Access, Error, ErrorCode, GuestPath, Project, Result, keys};

/// A folder of the host, shown inside the sandbox. Nothing above it can be reached, whatever links lie in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The folder on the host.
    pub source: PathBuf,
    /// Where the sandbox sees it.
    pub target: GuestPath,
    /// What may be done there.
    pub access: Access,
}

impl Mount {
    /// Reads the command line's form `HOST:GUEST[:ro|:rw]`; read-only unless it ends in `:rw`.
    ///
    /// # Errors
    /// `args_invalid` when it has another form or the guest path is refused.
    pub fn parse(text: &str) -> Result<Self> {
        let (rest, access) = match text.rsplit_once(':') {
            Some((rest, "rw")) => (rest, Access::ReadWrite),
            Some((rest, "ro")) => (rest, Access::ReadOnly),
            _ => (text, Access::ReadOnly),
        };
        match rest.rsplit_once(':') {
            Some((source, target)) if !source.is_empty() => {
                Ok(Self { source: source.into(), target: GuestPath::parse(target)?, access })
            }
            _ => Err(Error::args_invalid(format!("`{}` is not a mount", text.escape_debug()))
                .with_hint("write HOST:GUEST or HOST:GUEST:rw, such as ./data:/data")),
        }
    }
}

/// What the run's wall clock shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WallClock {
    /// The host's time.
    #[default]
    System,
    /// Always this instant, and a monotonic clock that advances 1 µs a reading: for reproducible runs.
    Fixed(SystemTime),
}

/// Sets a variable; one of that name that was there is gone, so that the last counts, as in a shell.
pub fn set_variable(environment: &mut Vec<(String, String)>, (name, value): (String, String)) {
    environment.retain(|(other, _)| *other != name);
    environment.push((name, value));
}

/// What a run may touch beyond its own memory and `/tmp`. The default grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Host folders to show. Targets must differ.
    pub mounts: Vec<Mount>,
    /// The project that the run happens in.
    pub project: Option<Project>,
    /// Environment variables; the host's own are never seen.
    pub environment: Vec<(String, String)>,
    /// The program's name, its argument 0. Default: the snippet's name, where there are arguments.
    pub program: Option<String>,
    /// Program arguments after the program's name.
    pub arguments: Vec<String>,
    /// Working directory; none: the project's folder, else `/tmp` for a snippet and `/` for a program.
    pub directory: Option<GuestPath>,
    /// Bytes that standard input yields before its end.
    pub stdin: Vec<u8>,
    /// Seed of all randomness; none: the system's entropy.
    pub seed: Option<u64>,
    /// The wall clock.
    pub clock: WallClock,
}

impl Grants {
    /// Most environment variables and arguments together.
    pub const MAX_STRINGS: usize = 10_000;
    /// Most bytes of all environment variables and arguments together: 1 MiB.
    pub const MAX_STRING_BYTES: usize = 1 << 20;

    /// Adds variables to the environment, where it has none of their names.
    pub fn offer_variables(&mut self, variables: Vec<(String, String)>) {
        for (name, value) in variables {
            if !self.environment.iter().any(|(other, _)| *other == name) {
                self.environment.push((name, value));
            }
        }
    }

    /// Checks what holds for every provider: no folders of [`keys`], distinct targets, environment names without `=` and NUL, and no more
    /// strings than a guest can take.
    ///
    /// # Errors
    /// `path_denied` for a folder of keys; `args_invalid`, naming what is wrong; `too_large` past [`Grants::MAX_STRINGS`] or [`Grants::MAX_STRING_BYTES`].
    pub fn check(&self) -> Result<()> {
        if let Some(project) = &self.project {
            project.check()?;
            if self.mounts.iter().any(|mount| mount.target.as_str() == Project::TARGET) {
                return Err(Error::args_invalid(format!(
                    "`{}` is reserved for the project",
                    Project::TARGET
                )));
            }
        }
        for (index, mount) in self.mounts.iter().enumerate() {
            keys::check_mount(&mount.source)?;
            if mount.target.as_str() == "/tmp" {
                return Err(Error::args_invalid("nothing can be mounted at `/tmp`: it belongs to the run"));
            }
            if self.mounts[..index].iter().any(|other| other.target == mount.target) {
                return Err(Error::args_invalid(format!("two mounts have the target `{}`", mount.target)));
            }
        }
        self.check_size()?;
        for (name, value) in &self.environment {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(Error::args_invalid(format!(
                    "`{}` is not an environment variable",
                    name.escape_debug()
                )));
            }
        }
        if self.arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(Error::args_invalid("a program argument holds a NUL byte"));
        }
        Ok(())
    }

    fn check_size(&self) -> Result<()> {
        let count = self.environment.len() + self.arguments.len();
        if count > Self::MAX_STRINGS {
            return Err(too_large(format!(
                "{count} environment variables and arguments are more than {}",
                Self::MAX_STRINGS
            )));
        }
        let environment = self.environment.iter().map(|(name, value)| name.len() + value.len());
        let bytes: usize = environment.chain(self.arguments.iter().map(String::len)).sum();
        if bytes > Self::MAX_STRING_BYTES {
            return Err(too_large(format!(
                "environment variables and arguments of {bytes} bytes are larger than {}",
                Self::MAX_STRING_BYTES
            )));
        }
        Ok(())
    }
}

fn too_large(message: String) -> Error {
    Error::new(ErrorCode::TooLarge, message).with_hint("pass large data through standard input or a mount")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_only_unless_it_says_rw() {
        let mount = Mount::parse("./x:/data").unwrap();
        assert_eq!((mount.target.as_str(), mount.access), ("/data", Access::ReadOnly));
        assert_eq!(Mount::parse("c:d:/data:rw").unwrap().access, Access::ReadWrite);
        assert!(Mount::parse("/data").is_err());
        assert!(Mount::parse("x:data").is_err());
    }

    #[test]
    fn strings_are_bounded_in_number_and_in_bytes() {
        let grants = |arguments| Grants { arguments, ..Grants::default() };
        let code = |arguments| grants(arguments).check().map_err(|error| error.code());
        assert_eq!(code(vec![String::new(); Grants::MAX_STRINGS]), Ok(()));
        assert_eq!(code(vec![String::new(); Grants::MAX_STRINGS + 1]), Err(ErrorCode::TooLarge));
        assert_eq!(code(vec!["x".repeat(Grants::MAX_STRING_BYTES)]), Ok(()));
        assert_eq!(code(vec!["x".repeat(Grants::MAX_STRING_BYTES + 1)]), Err(ErrorCode::TooLarge));
        let environment = vec![("x".into(), "x".repeat(Grants::MAX_STRING_BYTES))];
        let grants = Grants { environment, ..Grants::default() };
        assert_eq!(grants.check().map_err(|error| error.code()), Err(ErrorCode::TooLarge));
    }

    #[test]
    fn a_project_has_its_place_for_itself_and_its_bootstrap_within() {
        let grants = |bootstrap: Option<&str>, target: &str| Grants {
            mounts: vec![Mount::parse(&format!("x:{target}")).unwrap()],
            project: Some(Project { bootstrap: bootstrap.map(str::to_owned), ..Project::new("y") }),
            ..Grants::default()
        };
        assert!(grants(None, "/data").check().is_ok());
        assert!(grants(Some("config/container.py"), "/data").check().is_ok());
        assert!(grants(None, "/project").check().is_err());
        for outside in ["../x.py", "/etc/passwd", "a/../../x", "", "a\0"] {
            assert!(grants(Some(outside), "/data").check().is_err(), "{outside:?}");
        }
    }

    #[test]
    fn two_mounts_cannot_share_a_target() {
        let mount = Mount::parse("x:/a").unwrap();
        let grants = Grants { mounts: vec![mount.clone(), mount], ..Grants::default() };
        assert!(grants.check().is_err());
    }
}
