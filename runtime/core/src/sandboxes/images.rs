//! Images by name: checkpoints that the operator offers to all owners, for new sandboxes to begin with (S2-22).
//!
//! Owns: which state a name means. A container's images are its provider's.

use super::Sandboxes;
use crate::sandbox::{Include, ProviderName, SandboxSpec, SavedState};
use crate::{Error, ErrorCode, Result};

impl Sandboxes {
    /// The state that a new sandbox begins with; none: it begins empty, or in an image of its container.
    ///
    /// # Errors
    /// `args_invalid` for a name that is not offered; `capability_unavailable` when the checkpoint of one that is has gone, or holds no
    /// files.
    pub(super) async fn image(&self, spec: &SandboxSpec) -> Result<Option<SavedState>> {
        let Some(name) = &spec.image else { return Ok(None) };
        let offered = &self.inner.rules.images;
        let is_container = spec.provider != ProviderName::Wasm;
        // The provider itself says what it thinks of the name.
        if offered.is_empty() || (is_container && self.has_provider(spec.provider)) {
            return Ok(None);
        }
        let Some(id) = offered.get(name).filter(|_| !is_container) else {
            let shown: String = name.escape_debug().take(64).collect();
            return Err(Error::args_invalid(format!("there is no image `{shown}` here"))
                .with_hint("sandbox_capabilities lists those that the operator offers"));
        };
        let (ledger, id) = (self.inner.ledger.clone(), id.clone());
        let found = tokio::task::spawn_blocking(move || ledger.checkpoint_of_anybody(&id))
            .await
            .map_err(|error| Error::internal("the image was not found", error))?;
        let gone = |why: &str| {
            Error::new(ErrorCode::CapabilityUnavailable, format!("the image `{name}` is unavailable: {why}"))
                .with_hint("have the operator name another checkpoint with `--wasm-image`")
        };
        match found {
            Ok(checkpoint) if checkpoint.label.include == Include::Memory => {
                Err(gone("its checkpoint holds no files"))
            }
            Ok(checkpoint) => Ok(Some(checkpoint.state)),
            Err(error) if error.code() == ErrorCode::UnknownCheckpoint => {
                Err(gone("its checkpoint no longer exists"))
            }
            Err(error) => Err(error),
        }
    }
}
