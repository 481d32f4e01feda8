//! The command line of images that are no containers.

use clap::Args;

/// What new sandboxes can begin with.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ImageArgs {
    /// Offer a checkpoint (its id) to all owners as an image: sandboxes that are created with this name as their image start with
    /// its files and variables; can be repeated
    #[arg(long = "wasm-image", global = true, value_name = "NAME=CHECKPOINT")]
    pub(crate) wasm_images: Vec<String>,
}
