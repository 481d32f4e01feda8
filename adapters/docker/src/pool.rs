//! Containers that wait, started, for those who will need one.
//!
//! Owns: how many of which kind, that each is given to one caller alone, and that what was taken is replaced. A kind is an
//! image and what cannot be changed in a container that runs: the size of its volumes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::sandbox::WarmPool;
use dormouse_core::{Error, ErrorCode, Result};

use crate::config::{Bind, Size};
use crate::container::Container;
use crate::image::Image;
use crate::settings::Settings;
use crate::shared::Shared;

/// Most kinds that are kept; the one that was asked for least lately goes first.
const KINDS: usize = 4;

/// The containers that wait.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    /// By kind, the one asked for last at the end.
    kinds: Mutex<Vec<Kind>>,
}

struct Kind {
    image: Arc<Image>,
    size: Size,
    waiting: VecDeque<Container>,
    /// How many are being started.
    coming: usize,
}

impl Kind {
    fn is_of(&self, image: &Image, size: &Size, settings: &Settings) -> bool {
        self.image.id == image.id && self.size.can_become(size, settings)
    }
}

impl Pool {
    /// One in which none waits.
    pub(crate) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared: shared.clone(), kinds: Mutex::default() })
    }

    /// A container of this size, one that waits where `warm` and `binds` allow it.
    ///
    /// # Errors
    /// `busy` when one that waits is required and none does; what keeps the engine from starting one.
    pub(crate) async fn claim(
        self: &Arc<Self>,
        image: &Arc<Image>,
        size: Size,
        binds: Vec<Bind>,
        warm: WarmPool,
    ) -> Result<Container> {
        // A folder of the host cannot be added to a container that runs.
        let can_wait = binds.is_empty() && self.shared.settings.warm > 0;
        if !can_wait || warm == WarmPool::None {
            if warm == WarmPool::Require {
                return Err(none_waits(if binds.is_empty() {
                    "the operator keeps none; ask for `prefer`"
                } else {
                    "a sandbox with mounts is always started anew; ask for `prefer`"
                }));
            }
            return Container::start(&self.shared, image, size, binds).await;
        }
        while let Some(mut container) = self.take(image, size) {
            self.refill();
            if !container.is_gone() && container.resize(size).await.is_ok() {
                return Ok(container);
            }
        }
        if warm == WarmPool::Require {
            self.refill();
            return Err(none_waits("try again in a moment, or ask for `prefer`"));
        }
        let container = Container::start(&self.shared, image, size, binds).await;
        self.refill();
        container
    }

    /// Takes one that waits, and notes that its kind is asked for.
    fn take(&self, image: &Arc<Image>, size: Size) -> Option<Container> {
        let mut kinds = self.kinds();
        let mut kind = match kinds.iter().position(|kind| kind.is_of(image, &size, &self.shared.settings)) {
            Some(at) => kinds.remove(at),
            None => Kind { image: image.clone(), size, waiting: VecDeque::new(), coming: 0 },
        };
        let container = kind.waiting.pop_front();
        kinds.push(kind);
        if kinds.len() > KINDS {
            kinds.remove(0);
        }
        container
    }

    /// Starts what is missing, in the background.
    pub(crate) fn refill(self: &Arc<Self>) {
        if self.shared.background.is_closed() {
            return;
        }
        for kind in self.kinds().iter_mut() {
            while kind.waiting.len() + kind.coming < self.shared.settings.warm {
                kind.coming += 1;
                let (pool, image, size) = (self.clone(), kind.image.clone(), kind.size);
                self.shared.background.spawn_here(async move {
                    let started = Container::start(&pool.shared, &image, size, Vec::new()).await;
                    pool.came(&image, &size, started);
                });
            }
        }
    }

    fn came(&self, image: &Image, size: &Size, started: Result<Container>) {
        let mut kinds = self.kinds();
        let Some(kind) = kinds.iter_mut().find(|kind| kind.is_of(image, size, &self.shared.settings)) else {
            return;
        };
        kind.coming = kind.coming.saturating_sub(1);
        match started {
            Ok(container)
                if !self.shared.background.is_closed() && kind.waiting.len() < self.shared.settings.warm =>
            {
                kind.waiting.push_back(container);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "no container was started to wait"),
        }
    }

    /// Makes a kind that is asked for, so that the next refill starts one.
    pub(crate) fn expect(&self, image: &Arc<Image>, size: Size) {
        let container = self.take(image, size);
        if let Some(container) = container
            && let Some(kind) =
                self.kinds().iter_mut().find(|kind| kind.is_of(image, &size, &self.shared.settings))
        {
            kind.waiting.push_front(container);
        }
    }

    /// Takes one back in which nothing was changed.
    pub(crate) fn put_back(&self, container: Container) {
        let mut kinds = self.kinds();
        if let Some(kind) =
            kinds.iter_mut().find(|kind| kind.is_of(&container.image, &container.size, &self.shared.settings))
            && !container.is_gone()
        {
            kind.waiting.push_front(container);
        }
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.kinds().iter().map(|kind| kind.waiting.len()).sum()
    }

    /// Lets go of all.
    pub(crate) fn drain(&self) {
        self.kinds().clear();
    }

    fn kinds(&self) -> std::sync::MutexGuard<'_, Vec<Kind>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn none_waits(hint: &str) -> Error {
    Error::new(ErrorCode::Busy, "no started container waits for a sandbox like this").with_hint(hint)
}
