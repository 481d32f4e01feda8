//! What is meant by `--allow-net`, `--network` and `--secret`: what sandboxes may reach, and how that is written down.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse::network::NetworkGrant;
use dormouse::sandbox::Owner;
use dormouse::{Dormouse, Error, ErrorCode, Resolve, Result, RunContext};
use dormouse_egress::secrets::Source;
use dormouse_egress::{Audit, Gate, Options, Outside, Settings, file, flags};

use super::state_folder;
use crate::args::{NetworkArgs, StateArgs};
use crate::audit;

/// The audit's file in its folder.
const AUDIT: &str = "network.jsonl";
/// The file of the key from which placeholders are made.
const KEY: &str = "network.key";

/// What sandboxes may reach.
pub(crate) struct Meant {
    settings: Settings,
    audit: PathBuf,
    /// Where the key of placeholders is kept, if something is.
    key: Option<PathBuf>,
}

/// The rules that options name, without secrets' values. None: no network.
///
/// # Errors
/// As [`file::read`] and [`flags`]; `args_invalid` for secrets without rules.
pub(crate) fn settings(arguments: &NetworkArgs) -> Result<Option<Settings>> {
    let NetworkArgs { allow_net, network, secret, network_audit } = arguments;
    if allow_net.is_empty() && network.is_none() {
        return match (secret.first(), network_audit) {
            (None, None) => Ok(None),
            (Some(_), _) => Err(without_rules("--secret")),
            (None, Some(_)) => Err(without_rules("--network-audit")),
        };
    }
    let mut settings = match network {
        Some(path) => file::read(path)?,
        None => Settings::default(),
    };
    let rules = allow_net.iter().map(|text| flags::allow_net(text)).collect::<Result<Vec<_>>>()?;
    if !rules.is_empty() {
        settings.allow(rules)?;
    }
    for text in secret {
        settings.keep(flags::secret(text)?)?;
    }
    Ok(Some(settings))
}

fn without_rules(option: &str) -> Error {
    Error::args_invalid(format!("`{option}` has no effect without a network"))
        .with_hint("name what may be reached with --allow-net HOST or --network FILE")
}

/// The same, with the folder that sandboxes are kept in, if they are.
///
/// # Errors
/// As [`settings`]; `internal` when there is no place for the audit.
pub(crate) fn read(arguments: &NetworkArgs, state: Option<&Path>) -> Result<Option<Meant>> {
    let Some(settings) = settings(arguments)? else { return Ok(None) };
    let audit = match (&arguments.network_audit, state) {
        (Some(path), _) => path.clone(),
        (None, Some(folder)) => folder.join(AUDIT),
        (None, None) => audit::folder()?.join(AUDIT),
    };
    Ok(Some(Meant { settings, audit, key: state.map(|folder| folder.join(KEY)) }))
}

impl Meant {
    /// The files that secrets come from.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let file = |source: &Source| match source {
            Source::File { path, .. } => Some(path.clone()),
            _ => None,
        };
        self.settings.secrets.iter().filter_map(|secret| file(&secret.source)).collect()
    }

    /// The first secret that a command tells, by name.
    pub(crate) fn told_by_command(&self) -> Option<&str> {
        let mut secrets = self.settings.secrets.iter();
        secrets.find(|secret| matches!(secret.source, Source::Command { .. })).map(|secret| secret.name.as_str())
    }

    /// Opens the gate: reads the secrets, and opens the audit.
    ///
    /// # Errors
    /// As [`Gate::open`] and [`Audit::file`].
    pub(crate) async fn open(self, names: Option<Arc<dyn Resolve>>) -> Result<Arc<Outside>> {
        let Self { settings, audit, key } = self;
        for folder in [Some(&audit), key.as_ref()].into_iter().flatten().filter_map(|path| path.parent()) {
            // What opens the file says what is wrong with its folder.
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        }
        let audit = Audit::file(&audit)?;
        let key = key.as_deref().map(kept_key).transpose()?;
        let gate = Gate::open(Options { settings, names, audit, key, cassette: None }).await?;
        Ok(Arc::new(Outside::new(gate)))
    }
}

/// Gives a run of the person at this command line the profile `default`, if a network was named.
///
/// # Errors
/// As [`Meant::open`].
pub(crate) async fn give(
    dormouse: &Dormouse,
    meant: Option<Meant>,
    (run, language): (&str, &str),
    context: &mut RunContext,
) -> Result<()> {
    let Some(meant) = meant else { return Ok(()) };
    let runtime = dormouse.runtime();
    runtime.set_network(meant.open(None).await?, None);
    runtime.give_network(&Owner::local(), &NetworkGrant::default(), (run, language), context)
}

/// Gives all sandboxes of a command the profile `default`, if a network was named.
///
/// # Errors
/// As [`read`] and [`Meant::open`].
pub(crate) async fn offer(dormouse: &Dormouse, state: &StateArgs) -> Result<()> {
    let folder = state_folder(state.state_dir.as_deref())?;
    let Some(meant) = read(&state.network, Some(&folder))? else { return Ok(()) };
    let outside = meant.open(None).await?;
    dormouse.runtime().set_network(outside, Some(NetworkGrant::default()));
    Ok(())
}

/// The key of an installation, which is made when there is none.
fn kept_key(path: &Path) -> Result<[u8; 32]> {
    let told = |error: io::Error| {
        Error::new(
            ErrorCode::StateUnavailable,
            format!("the key `{}` cannot be read or made: {error}", path.display()),
        )
        .with_hint("secrets of the network need a state folder that can be written")
    };
    match read_key(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read.map_err(told),
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Error::internal("the system has no randomness", error))?;
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
        file.write_all(&key)?;
        file.sync_all()?;
        // Where another process was first, its key counts.
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    let _ = fs::remove_file(&draft);
    written.and_then(|()| read_key(path)).map_err(told)
}

fn read_key(path: &Path) -> io::Result<[u8; 32]> {
    let mut key = Vec::new();
    File::open(path)?.take(33).read_to_end(&mut key)?;
    key.try_into().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it has not 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(KEY);
        let made = kept_key(&path).unwrap();
        assert_eq!(kept_key(&path).unwrap(), made);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        fs::write(&path, "short").unwrap();
        assert_eq!(kept_key(&path).unwrap_err().code(), ErrorCode::StateUnavailable);
    }

    #[test]
    fn secrets_without_rules_are_refused() {
        let secret = vec!["KEY=env:HOME@a.test".to_owned()];
        let arguments = NetworkArgs { secret, ..NetworkArgs::default() };
        assert_eq!(settings(&arguments).unwrap_err().code(), ErrorCode::ArgsInvalid);
        assert!(settings(&NetworkArgs::default()).unwrap().is_none());
    }
}
