//! The command line of images that are no containers.

use clap::Args;

/// What new sandboxes can begin with.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ImageArgs {
    /// Let sandboxes of all owners be made from this checkpoint (its id), with its files and variables, by the name that they give
    /// as image; can be repeated
    #[arg(long = "wasm-image", global = true, value_name = "NAME=CHECKPOINT")]
    pub(crate) wasm_images: Vec<String>,
}
