//! What is meant by `--allow-net`, `--network` and `--secret`: what sandboxes may reach, and how that is written down.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dormouse::network::NetworkGrant;
use dormouse::sandbox::Owner;
use dormouse::{CommandRequest, Dormouse, Error, Resolve, Result, RunContext};
use dormouse_egress::flags::Short;
use dormouse_egress::secrets::{Secret, Source};
use dormouse_egress::{Audit, Cassette, Gate, Operator, Options, Outside, Own, Settings, Watched, kept_key};
use dormouse_sources::Program;

use super::state_folder;
use crate::args::{NetworkArgs, StateArgs};
use crate::{audit, broker};

/// The audit's file in its folder.
const AUDIT: &str = "network.jsonl";
/// The file of the key from which placeholders are made.
const KEY: &str = "network.key";
/// How often a server looks whether the file of rules was changed.
const LOOK: Duration = Duration::from_secs(1);

/// What sandboxes may reach.
pub(crate) struct Meant {
    settings: Settings,
    audit: PathBuf,
    /// Whether the operator named it: its folder is there then.
    is_named: bool,
    /// Where the key of placeholders is kept, if something is.
    key: Option<PathBuf>,
    cassette: Option<Cassette>,
    watched: Option<Watched>,
    short: Short,
}

fn without_rules(option: &str) -> Error {
    Error::args_invalid(format!("`{option}` has no effect without a network"))
        .with_hint("name what may be reached with --allow-net HOST or --network FILE")
}

/// What options name, without secrets' values; `state`: the folder that sandboxes are kept in, if they are. None: no network.
///
/// # Errors
/// As [`Watched::open`], [`Short`] and [`Cassette`]; `args_invalid` for options without rules; `internal` when there is no place for
/// the audit.
pub(crate) fn read(arguments: &NetworkArgs, state: Option<&Path>) -> Result<Option<Meant>> {
    let NetworkArgs { allow_net, network, secret, network_audit, network_record, network_replay } = arguments;
    if !arguments.is_named() {
        let idle = [
            ("--secret", !secret.is_empty()),
            ("--network-audit", network_audit.is_some()),
            ("--network-record", network_record.is_some()),
            ("--network-replay", network_replay.is_some()),
        ];
        return match idle.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(without_rules(option)),
            None => Ok(None),
        };
    }
    let (settings, watched) = match network {
        Some(path) => Watched::open(path).map(|(settings, watched)| (settings, Some(watched)))?,
        None => (Settings::default(), None),
    };
    let short = Short::read(allow_net, secret)?;
    let settings = short.added_to(settings)?;
    let cassette = match (network_record, network_replay) {
        (Some(path), _) => Some(Cassette::record(path)?),
        (None, Some(path)) => Some(Cassette::replay(path)?),
        (None, None) => None,
    };
    let audit = match (&arguments.network_audit, state) {
        (Some(path), _) => path.clone(),
        (None, Some(folder)) => folder.join(AUDIT),
        (None, None) => audit::folder()?.join(AUDIT),
    };
    let key = state.map(|folder| folder.join(KEY));
    let is_named = arguments.network_audit.is_some();
    Ok(Some(Meant { settings, audit, is_named, key, cassette, watched, short }))
}

impl Meant {
    /// The files that are read again when they change.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let file = |secret: &Secret| match &secret.source {
            Source::File { path, .. } => Some(path.clone()),
            _ => None,
        };
        let of_short = self.short.secrets().iter().filter_map(file);
        let file = self.watched.iter().map(|watched| watched.path().to_owned());
        self.settings.files().iter().cloned().chain(of_short).chain(file).collect()
    }

    /// The commands that tell secrets.
    pub(crate) fn commands(&self) -> Vec<Program> {
        let command = |secret: &Secret| match &secret.source {
            Source::Command { arguments, .. } => broker::program(arguments),
            _ => None,
        };
        self.settings.secrets.iter().filter_map(command).collect()
    }

    /// The first secret that a confined server could not read, by name, and why.
    pub(crate) fn beyond_the_wall(&self) -> Option<(&str, &'static str)> {
        self.settings.secrets.iter().find_map(|secret| match &secret.source {
            Source::Keyring { ttl: Some(_), .. } => Some((
                &*secret.name,
                "comes from a keyring and has a `ttl`: it would have to be read again, which",
            )),
            _ => None,
        })
    }

    /// Opens the gate: reads the secrets, and opens the audit. `names`, `operator`: who does that which this process may not do any
    /// more.
    ///
    /// # Errors
    /// As [`Gate::open`] and [`Audit::file`].
    pub(crate) async fn open(
        self,
        names: Option<Arc<dyn Resolve>>,
        operator: Option<Arc<dyn Operator>>,
    ) -> Result<Opened> {
        let Self { settings, audit, is_named, key, mut cassette, watched, short } = self;
        if operator.is_some()
            && let Some(cassette) = &mut cassette
        {
            cassette.before_the_wall()?;
        }
        for folder in [(!is_named).then_some(&audit), key.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|path| path.parent())
        {
            // What opens the file says what is wrong with its folder.
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        }
        let audit = Audit::file(&audit)?;
        let key = key.as_deref().map(kept_key).transpose()?;
        let operator = operator.unwrap_or_else(|| Arc::new(Own));
        let options = Options { settings, names, audit, key, cassette, operator: Some(operator.clone()) };
        let gate = Gate::open(options).await?;
        Ok(Opened { outside: Arc::new(Outside::new(gate.clone())), gate, operator, watched, short })
    }
}

/// A gate that is open.
pub(crate) struct Opened {
    /// The same, as the core knows it.
    pub(crate) outside: Arc<Outside>,
    gate: Arc<Gate>,
    operator: Arc<dyn Operator>,
    watched: Option<Watched>,
    short: Short,
}

impl Opened {
    /// Takes what the file of rules says whenever it was changed. Never ends.
    pub(crate) async fn keep_up(mut self) {
        let Some(watched) = &mut self.watched else { return std::future::pending().await };
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(read) = watched.changed(&*self.operator) else { continue };
            let taken = match read.and_then(|settings| self.short.added_to(settings)) {
                Ok(settings) => self.gate.reload(settings).await,
                Err(error) => Err(error),
            };
            match taken {
                Ok(()) => tracing::info!("the file of the network was changed, and holds from now on"),
                Err(error) => tracing::error!(
                    %error,
                    "the file of the network was changed and cannot be taken, so that the rules of before hold"
                ),
            }
        }
    }
}

/// Gives a run of the person at this command line the profile `default`, if a network was named; and who sends the requests of servers
/// that are connected.
///
/// # Errors
/// As [`Meant::open`].
pub(crate) async fn give(
    dormouse: &Dormouse,
    meant: Option<Meant>,
    (run, language): (&str, &str),
    context: &mut RunContext,
) -> Result<Option<Arc<Outside>>> {
    let Some(meant) = meant else { return Ok(None) };
    let (runtime, outside) = (dormouse.runtime(), meant.open(None, None).await?.outside);
    runtime.set_network(outside.clone(), None);
    if outside.gate().settings().profiles.is_empty() {
        // A file with secrets alone is for the servers that are connected.
        return Ok(Some(outside));
    }
    runtime.give_network(&Owner::local(), &NetworkGrant::default(), (run, language), context)?;
    Ok(Some(outside))
}

/// The same for a program of this person's own.
///
/// # Errors
/// As [`Meant::open`].
pub(crate) async fn give_to_program(
    dormouse: &Dormouse,
    meant: Option<Meant>,
    request: &mut CommandRequest,
) -> Result<Option<Arc<Outside>>> {
    let Some(meant) = meant else { return Ok(None) };
    let (runtime, outside) = (dormouse.runtime(), meant.open(None, None).await?.outside);
    runtime.set_network(outside.clone(), None);
    runtime.give_network_to_program(&Owner::local(), &NetworkGrant::default(), "run", request)?;
    Ok(Some(outside))
}

/// Gives all sandboxes of a command the profile `default`, if a network was named; and who sends the requests of servers that are
/// connected.
///
/// # Errors
/// As [`read`] and [`Meant::open`].
pub(crate) async fn offer(dormouse: &Dormouse, state: &StateArgs) -> Result<Option<Arc<Outside>>> {
    let folder = state_folder(state.state_dir.as_deref())?;
    let Some(meant) = read(&state.network, Some(&folder))? else { return Ok(None) };
    let outside = meant.open(None, None).await?.outside;
    let has_rules = !outside.gate().settings().profiles.is_empty();
    dormouse.runtime().set_network(outside.clone(), has_rules.then(NetworkGrant::default));
    Ok(Some(outside))
}

#[cfg(test)]
mod tests {
    use dormouse::ErrorCode;

    use super::*;

    #[test]
    fn secrets_without_rules_are_refused() {
        let secret = vec!["KEY=env:HOME@a.test".to_owned()];
        let arguments = NetworkArgs { secret, ..NetworkArgs::default() };
        let refused = read(&arguments, None).err().unwrap();
        assert_eq!(refused.code(), ErrorCode::ArgsInvalid);
        assert!(read(&NetworkArgs::default(), None).unwrap().is_none());
    }

    #[tokio::test]
    async fn the_folder_of_an_audit_that_was_named_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none");
        let network_audit = Some(missing.join("audit.jsonl"));
        let arguments =
            NetworkArgs { allow_net: vec!["a.test".into()], network_audit, ..NetworkArgs::default() };
        let opened = read(&arguments, None).unwrap().unwrap().open(None, None).await;
        assert_eq!(opened.err().unwrap().code(), ErrorCode::StateUnavailable);
        assert!(!missing.exists());
    }
}
