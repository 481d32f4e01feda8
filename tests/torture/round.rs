//! What befalls the server while the owners call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Beyond this, things are saved beside calls: the files then, and the interpreters as they were before.
const LONG: Duration = Duration::from_secs(8);

/// One life of a server.
pub(crate) struct Round {
    /// Where it listens.
    pub(crate) authority: String,
    begun: Instant,
    /// The owners stop by themselves then.
    until: Option<Instant>,
    had_trouble: AtomicBool,
    is_ending: AtomicBool,
    /// The images that sandboxes may be; none: there are no containers.
    pub(crate) images: Vec<&'static str>,
    upsets: AtomicU64,
    upset_at: Mutex<Option<Instant>>,
}

impl Round {
    /// A round that ends with its server, or at a time.
    pub(crate) fn new(authority: String, until: Option<Instant>) -> Self {
        let (had_trouble, is_ending) = (AtomicBool::new(false), AtomicBool::new(false));
        let (upsets, upset_at) = (AtomicU64::new(0), Mutex::new(None));
        let (begun, images) = (Instant::now(), Vec::new());
        Self { authority, begun, until, had_trouble, is_ending, images, upsets, upset_at }
    }

    /// The same with containers.
    pub(crate) fn with_images(self, images: &[&'static str]) -> Self {
        Self { images: images.to_vec(), ..self }
    }

    /// Something befalls the engine or its containers just now: what they hold that is not saved may be lost.
    pub(crate) fn upset(&self) {
        self.upset_at.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
        self.upsets.fetch_add(1, Ordering::SeqCst);
    }

    /// How often that was so, and when first.
    pub(crate) fn upsets(&self) -> (u64, Option<Instant>) {
        let count = self.upsets.load(Ordering::SeqCst);
        (count, *self.upset_at.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The disk cannot be written from now on; or could not be, when the server was started.
    pub(crate) fn trouble(&self) {
        self.had_trouble.store(true, Ordering::SeqCst);
    }

    /// The server is asked to end from now on.
    pub(crate) fn ending(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }

    /// Whether the disk could not be written at some time.
    pub(crate) fn had_trouble(&self) -> bool {
        self.had_trouble.load(Ordering::SeqCst)
    }

    /// Whether the server was asked to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    /// Whether the owners stop by themselves.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Whether something may have been saved beside a call.
    pub(crate) fn is_long(&self) -> bool {
        self.begun.elapsed() > LONG
    }
}
