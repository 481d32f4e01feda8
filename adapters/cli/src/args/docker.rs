//! Containers and who takes whose place, as it is written.

use clap::Args;

/// Sandboxes with a full operating system.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Containers")]
pub(crate) struct DockerArgs {
    /// Let sandboxes be containers of this image, on Docker or an engine with the same API; the first is the default; can be
    /// repeated. `NAME@sha256:…` allows exactly that version
    #[arg(
        long = "docker-image",
        global = true,
        value_name = "IMAGE",
        env = "DORMOUSE_DOCKER_IMAGE",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub(crate) docker_images: Vec<String>,
    /// The engine's address [default: DOCKER_HOST, else unix:///var/run/docker.sock]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) docker_host: Option<String>,
    /// The engine's runtime for containers, such as `runsc` [default: the engine's own]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) docker_runtime: Option<String>,
    /// Pull images that the engine does not have
    #[arg(long, global = true)]
    pub(crate) docker_pull: bool,
    /// Warm containers, started in advance, for each image
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) docker_warm: u16,
    /// Run commands that the shell does not have in a container of the first image, on a copy of the files
    #[arg(long, global = true)]
    pub(crate) docker_commands: bool,
    /// Use no containers, whatever the other options say
    #[arg(long, global = true)]
    pub(crate) no_docker: bool,
    /// Let sandboxes be pods of a Kubernetes cluster: `pods` makes each, `agent-sandbox` takes them from warm pools
    #[arg(long, global = true, value_name = "MODE", env = "DORMOUSE_KUBERNETES", hide_env_values = true, value_parser = ["pods", "agent-sandbox"])]
    pub(crate) kubernetes: Option<String>,
    /// Where the cluster is and what pods may be, in JSON: images or pools, namespace, storage class and more
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "DORMOUSE_KUBERNETES_CONFIG",
        hide_env_values = true
    )]
    pub(crate) kubernetes_config: Option<std::path::PathBuf>,
    /// Refuse instead of falling back to wasm when containers are unavailable
    #[arg(long, global = true)]
    pub(crate) no_fallback: bool,
    /// Provider of new sandboxes: `auto` (a container if an image is requested), `wasm`, `docker` or `kubernetes`
    #[arg(long, global = true, value_name = "NAME", default_value = "auto", value_parser = ["auto", "wasm", "docker", "kubernetes"])]
    pub(crate) provider: String,
}
