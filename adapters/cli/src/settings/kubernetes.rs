//! What is meant by `--kubernetes`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use dormouse::{Dormouse, Error, Result};
use dormouse_kubernetes::{KubernetesProvider, Mode, Settings};

use crate::args::{DockerArgs, McpArgs};

/// Most bytes of a configuration file.
const MAX_FILE: u64 = 1 << 20;

/// The provider, if there is to be one. Reaches nothing.
///
/// # Errors
/// `args_invalid` for a file that cannot be read, and for what is in it.
pub(crate) fn provider(arguments: &DockerArgs, state: Option<&Path>) -> Result<Option<KubernetesProvider>> {
    let Some(mode) = &arguments.kubernetes else {
        if arguments.kubernetes_config.is_some() {
            return Err(Error::args_invalid("`--kubernetes-config` has no effect without `--kubernetes`")
                .with_hint("add `--kubernetes pods` or `--kubernetes agent-sandbox`"));
        }
        return Ok(None);
    };
    let mode = if mode == Mode::AgentSandbox.as_str() { Mode::AgentSandbox } else { Mode::Pods };
    let settings = match &arguments.kubernetes_config {
        Some(file) => Settings::read(&read(file)?)?,
        None => Settings::default(),
    };
    KubernetesProvider::new(Settings { mode, state: state.map(Path::to_owned), ..settings }).map(Some)
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

/// Lets sandboxes be pods, as far as these options say.
///
/// # Errors
/// As [`provider`].
pub(crate) fn offer(dormouse: &Dormouse, arguments: &DockerArgs, state: &Path) -> Result<()> {
    if let Some(provider) = provider(arguments, Some(state))? {
        dormouse.sandboxes()?.add_provider(Arc::new(provider));
    }
    Ok(())
}

/// Refuses a server that would confine its own process: the client of the API server reads certificates and tokens, looks names up,
/// and may start a program of the kubeconfig, all of which a confined process cannot.
///
/// # Errors
/// `args_invalid`.
pub(super) fn check_wall(arguments: &McpArgs, confines: bool) -> Result<()> {
    if arguments.docker.kubernetes.is_some() && confines {
        return Err(Error::args_invalid("a server with `--kubernetes` cannot confine its own process")
            .with_hint("add `--no-confine`, or run the server in a pod that is confined"));
    }
    Ok(())
}
