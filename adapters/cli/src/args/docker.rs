//! Containers and who takes whose place, as it is written.

use clap::Args;

/// Sandboxes with a full operating system.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Containers")]
pub(crate) struct DockerArgs {
    /// Let sandboxes be containers of this image, with Docker or what speaks its API; the first is the default; can be
    /// repeated. `NAME@sha256:…` takes no other
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
    /// The engine's runtime for them, such as `runsc` [default: the engine's own]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) docker_runtime: Option<String>,
    /// Fetch images that the engine does not have
    #[arg(long, global = true)]
    pub(crate) docker_pull: bool,
    /// Containers that wait, started, for each image
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) docker_warm: u16,
    /// Let a command that the shell does not have run in a container of the first image, on a copy of the files
    #[arg(long, global = true)]
    pub(crate) docker_commands: bool,
    /// Use no containers, whatever else is said
    #[arg(long, global = true)]
    pub(crate) no_docker: bool,
    /// Refuse instead of going on with wasm when containers cannot be had
    #[arg(long, global = true)]
    pub(crate) no_fallback: bool,
    /// Who runs new sandboxes: `auto` (docker when an image is asked for), `wasm` or `docker`
    #[arg(long, global = true, value_name = "NAME", default_value = "auto", value_parser = ["auto", "wasm", "docker"])]
    pub(crate) provider: String,
}
