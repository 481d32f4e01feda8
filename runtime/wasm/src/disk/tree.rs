//! Where an instance's own files come from.

use std::sync::Arc;

use dormouse_files::Files;

use crate::scratch::ScratchPool;

/// Where an instance's own files come from. Said by its first run, it holds for the instance's life.
#[derive(Clone)]
pub(crate) enum OwnFiles {
    /// Made for the instance, gone with it.
    Fresh(Arc<ScratchPool>),
    /// A sandbox's: there before the instance, and after it.
    #[allow(dead_code, reason = "for sandboxes with a life; a stateless run has no such files")]
    Kept(Files),
}
