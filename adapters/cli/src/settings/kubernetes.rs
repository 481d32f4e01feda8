//! What is meant by `--kubernetes`, and what a process that confines itself reaches of a cluster.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse::{Dormouse, Error, Result};
use dormouse_kubernetes::{KubernetesProvider, Mode, Settings};

use crate::args::DockerArgs;

/// Most bytes of a configuration file.
const MAX_FILE: u64 = 1 << 20;

/// The settings of the provider, if there is to be one. Reads the file, which may be a pipe: once in a process. Reaches nothing.
///
/// # Errors
/// `args_invalid` for a file that cannot be read, and for what is in it.
pub(super) fn settings(arguments: &DockerArgs) -> Result<Option<Settings>> {
    let Some(mode) = &arguments.kubernetes else {
        if arguments.kubernetes_config.is_some() {
            return Err(Error::args_invalid("`--kubernetes-config` has no effect without `--kubernetes`")
                .with_hint("add `--kubernetes pods` or `--kubernetes agent-sandbox`"));
        }
        return Ok(None);
    };
    let mode = if mode == Mode::AgentSandbox.as_str() { Mode::AgentSandbox } else { Mode::Pods };
    let settings = match &arguments.kubernetes_config {
        Some(file) => Settings::read(&read(file)?).map_err(|error| of_file(file, &error))?,
        None => Settings::default(),
    };
    Ok(Some(Settings { mode, ..settings }))
}

/// What is wrong with the configuration, with the name of its file.
fn of_file(file: &Path, error: &Error) -> Error {
    let hint = error.hint().unwrap_or_else(|| error.code().advice());
    Error::new(error.code(), format!("`{}`: {}", file.display(), error.message())).with_hint(hint)
}

/// The provider, to look at. Reaches nothing.
///
/// # Errors
/// As [`settings`].
pub(crate) fn provider(arguments: &DockerArgs) -> Result<Option<KubernetesProvider>> {
    settings(arguments)?.map(KubernetesProvider::new).transpose()
}

fn read(file: &Path) -> Result<String> {
    let cannot = |why: &dyn std::fmt::Display| {
        Error::args_invalid(format!("`{}` cannot be used: {why}", file.display()))
            .with_hint("`--kubernetes-config` names a file of JSON")
    };
    let mut text = String::new();
    let opened = File::open(file).map_err(|error| cannot(&error))?;
    // What a pipe or a device has is not known before it is read.
    opened.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| cannot(&error))?;
    if text.len() as u64 > MAX_FILE {
        return Err(cannot(&format!("at most {MAX_FILE} bytes are read")));
    }
    Ok(text)
}

/// Lets sandboxes be pods, if there are settings for that.
///
/// # Errors
/// `state_unavailable` when the state folder cannot be used.
pub(crate) fn offer(dormouse: &Dormouse, state: &Path, settings: Option<Settings>) -> Result<()> {
    if let Some(settings) = settings {
        let provider = KubernetesProvider::new(Settings { state: Some(state.to_owned()), ..settings })?;
        dormouse.sandboxes()?.add_provider(Arc::new(provider));
    }
    Ok(())
}

/// The settings with the way to the cluster, for a process that is to be confined: all that is read once is read here, and the answer
/// names what is read later on.
///
/// # Errors
/// `provider_unavailable` where there is no way to a cluster; `args_invalid` where credentials come from a program, which a confined
/// process does not start.
pub(super) fn before_the_wall(settings: Settings) -> Result<(Settings, Vec<PathBuf>)> {
    let way = settings.find_way()?;
    if way.starts_program() {
        return Err(Error::args_invalid(
            "the credentials of the kubeconfig come from a program, which a process that confines itself cannot start",
        )
        .with_hint("add `--no-confine`, or name a kubeconfig with a token, its file or a certificate"));
    }
    let reads = way.reads();
    Ok((Settings { way: Some(way), ..settings }, reads))
}
