//! What is meant by the options of containers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse::sandbox::{ProviderName, SandboxSpec};
use dormouse::sandboxes::Rules;
use dormouse::{Dormouse, Result};
use dormouse_docker::{Dial, DockerProvider, Settings};
use dormouse_kubernetes::Settings as Cluster;

use crate::args::DockerArgs;

/// The numbers of sandboxes under these options, and with this cluster.
pub(crate) fn rules(arguments: &DockerArgs, cluster: Option<&Cluster>) -> Rules {
    let mut rules = Rules::default();
    if let Some(cluster) = cluster {
        rules.container_memory = cluster.memory_bytes;
    }
    let provider = match arguments.provider.as_str() {
        "docker" => ProviderName::Docker,
        "kubernetes" => ProviderName::Kubernetes,
        _ => ProviderName::Wasm,
    };
    let memory = if provider.is_container() { rules.container_memory } else { rules.defaults.memory };
    let defaults = SandboxSpec { provider, memory, ..rules.defaults.clone() };
    Rules { defaults, fallback: !arguments.no_fallback, ..rules }
}

/// Whether images are allowed.
pub(crate) fn is_on(arguments: &DockerArgs) -> bool {
    !arguments.no_docker && !arguments.docker_images.is_empty()
}

/// The provider, if images are allowed. Reaches nothing.
///
/// # Errors
/// `args_invalid` for an image or an address that cannot be.
pub(crate) fn provider(
    arguments: &DockerArgs,
    state: Option<&Path>,
    roots: &[PathBuf],
    dial: Option<Arc<dyn Dial>>,
) -> Result<Option<DockerProvider>> {
    if !is_on(arguments) {
        return Ok(None);
    }
    let settings = Settings {
        address: arguments.docker_host.clone(),
        dial,
        state: state.map(Path::to_owned),
        images: arguments.docker_images.clone(),
        pull: arguments.docker_pull,
        runtime: arguments.docker_runtime.clone(),
        warm: arguments.docker_warm.into(),
        roots: roots.to_vec(),
        ..Settings::default()
    };
    DockerProvider::new(settings).map(Some)
}

/// A container that nothing is asked of.
pub(crate) fn container(rules: &Rules) -> SandboxSpec {
    SandboxSpec { provider: ProviderName::Docker, memory: rules.container_memory, ..rules.defaults.clone() }
}

/// The engine alone, to look at.
///
/// # Errors
/// As [`provider`].
pub(crate) fn engine(arguments: &DockerArgs) -> Result<Option<DockerProvider>> {
    provider(arguments, None, &[], None)
}

/// Lets sandboxes have containers, as far as these options say. Of the host they see mounts below these
/// folders. `dial` connects to the engine, if this process does not.
///
/// # Errors
/// As [`provider`].
pub(crate) fn offer(
    dormouse: &Dormouse,
    arguments: &DockerArgs,
    state: &Path,
    roots: &[PathBuf],
    dial: Option<Arc<dyn Dial>>,
) -> Result<Option<DockerProvider>> {
    let Some(provider) = provider(arguments, Some(state), roots, dial)? else {
        if arguments.docker_commands && !arguments.no_docker {
            tracing::warn!("`--docker-commands` has no effect without an image: add `--docker-image IMAGE`");
        }
        return Ok(None);
    };
    let sandboxes = dormouse.sandboxes()?;
    sandboxes.add_provider(Arc::new(provider.clone()));
    if arguments.docker_commands {
        sandboxes.offer(Arc::new(provider.programs(container(sandboxes.rules()))));
    }
    Ok(Some(provider))
}
