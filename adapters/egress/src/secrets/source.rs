//! Where values come from: the environment, a file of the operator's alone, a command, a key of the kernel's keyrings.

use std::fmt;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zeroize::Zeroizing;

use crate::operator::Operator;
use crate::secrets::keyring;
use crate::secrets::value::{MAX_VALUE, Value};

/// Most that is read of a value, in bytes: one that is too long is seen to be.
const MOST: usize = MAX_VALUE + 2;
/// Time for a command to tell a value.
const COMMAND: Duration = Duration::from_secs(30);
/// How long the value of a command counts where nothing is named.
pub(crate) const COMMAND_TTL: Duration = Duration::from_secs(300);

/// Where a value comes from. None of these is ever of a guest's making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A variable of this process's environment. Read once.
    Env(String),
    /// A file that nobody but its owner can read. Read once, or again when `ttl` is over.
    File {
        /// Its path.
        path: PathBuf,
        /// How long a value counts. None: for ever.
        ttl: Option<Duration>,
    },
    /// What a command prints. Run once, and again when `ttl` is over.
    Command {
        /// The program and its arguments; no shell reads them.
        arguments: Vec<String>,
        /// How long a value counts. Default 5 minutes.
        ttl: Duration,
    },
    /// A key of the type `user` in the kernel's keyrings: of the session, of the user, or of the user beyond sessions. Read once, or
    /// again when `ttl` is over.
    Keyring {
        /// The name of the key (the kernel says description), such as `service/user`: 1 to 4095 bytes without NUL.
        name: String,
        /// How long a value counts. None: for ever.
        ttl: Option<Duration>,
    },
}

impl Source {
    /// How long a value counts. None: for ever.
    pub(crate) fn ttl(&self) -> Option<Duration> {
        match self {
            Self::Env(_) => None,
            Self::File { ttl, .. } | Self::Keyring { ttl, .. } => *ttl,
            Self::Command { ttl, .. } => Some(*ttl),
        }
    }

    /// The value as it is now.
    ///
    /// # Errors
    /// Why it cannot be had, without anything that it consists of.
    pub(crate) async fn read(&self, operator: &dyn Operator) -> Result<Value, String> {
        match self {
            Self::Env(variable) => match std::env::var_os(variable) {
                None => Err(format!("the variable `{variable}` is not set")),
                Some(value) => Value::new(value.into_encoded_bytes()),
            },
            Self::File { path, .. } => file(operator, path),
            Self::Command { arguments, .. } => {
                let told = tokio::time::timeout(COMMAND, operator.run(arguments, MOST)).await;
                let mut told = told.map_err(|_| "the command took longer than 30 s".to_owned())??;
                Value::new(std::mem::take(&mut *told))
            }
            Self::Keyring { name, .. } => keyring::read(name),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(variable) => write!(f, "env:{variable}"),
            Self::File { path, .. } => write!(f, "file:{}", path.display()),
            Self::Keyring { name, .. } => write!(f, "keyring:{name}"),
            // Arguments may say where a vault is; nobody needs to know.
            Self::Command { arguments, .. } => {
                write!(f, "command:{}", arguments.first().map_or("", |program| program))
            }
        }
    }
}

/// The content of a file that is its owner's alone. What is checked is what is read.
fn file(operator: &dyn Operator, path: &Path) -> Result<Value, String> {
    let told = |error: std::io::Error| format!("the file `{}` cannot be read: {error}", path.display());
    let file = operator.open(path).map_err(told)?;
    let about = file.metadata().map_err(told)?;
    if !about.is_file() {
        return Err(format!("`{}` is no file", path.display()));
    }
    let mode = about.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!("others can read the file `{}`: its mode is {mode:o}, not 600", path.display()));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST));
    file.take(MOST.try_into().unwrap_or(u64::MAX)).read_to_end(&mut bytes).map_err(told)?;
    Value::new(std::mem::take(&mut *bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::operator::Own;

    #[tokio::test]
    async fn net_31_a_file_that_others_can_read_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let source = Source::File { path: path.clone(), ttl: None };
        assert!(source.read(&Own).await.unwrap_err().contains("cannot be read"));
        std::fs::write(&path, "a-long-value\n").unwrap();
        for (mode, good) in
            [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o660, false), (0o777, false)]
        {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = source.read(&Own).await;
            assert_eq!(read.is_ok(), good, "{mode:o}");
            if let Err(told) = read {
                assert!(told.contains(&format!("{mode:o}")) && !told.contains("a-long"), "{told}");
            }
        }
        let folder = Source::File { path: folder.path().into(), ttl: None };
        assert!(folder.read(&Own).await.is_err());
    }

    #[tokio::test]
    async fn a_command_tells_a_value_or_why_not() {
        let source = |arguments: &[&str]| Source::Command {
            arguments: arguments.iter().map(|one| (*one).to_owned()).collect(),
            ttl: COMMAND_TTL,
        };
        let value = source(&["printf", "%s\\n", "told-by-a-command"]).read(&Own).await.unwrap();
        assert_eq!(value.bytes(), b"told-by-a-command");
        for (arguments, wanted) in [
            (&["false"][..], "failed"),
            (&["/no/such/program"][..], "cannot be run"),
            (&["printf", "short"][..], "shorter"),
            (&["yes", "a-value-without-end"][..], "line"),
        ] {
            let told = source(arguments).read(&Own).await.unwrap_err();
            assert!(told.contains(wanted), "{told}");
        }
    }
}
