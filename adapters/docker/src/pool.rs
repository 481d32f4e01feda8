//! Containers that wait, started, for those who will need one.
//!
//! Owns: how many of which kind, that each is given to one caller alone, and that what was taken is replaced. A kind is an
//! image and what cannot be changed in a container that runs: the size of its volumes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::sandbox::WarmPool;
use dormouse_core::{Error, ErrorCode, Result};

use crate::container::{Bind, Size};
use crate::image::Image;
use crate::provider::Inner;
use crate::room::Room;
use crate::settings::Settings;

/// Most kinds that are kept; the one that was asked for least lately goes first.
const KINDS: usize = 4;

/// The containers that wait.
#[derive(Default)]
pub(crate) struct Pool {
    /// By kind, the one asked for last at the end.
    kinds: Mutex<Vec<Kind>>,
}

struct Kind {
    image: Arc<Image>,
    size: Size,
    waiting: VecDeque<Room>,
    /// How many are being started.
    coming: usize,
}

impl Kind {
    fn is_of(&self, image: &Image, size: &Size, settings: &Settings) -> bool {
        self.image.id == image.id && self.size.can_become(size, settings)
    }
}

impl Pool {
    /// A container of this size, one that waits where `warm` and `binds` allow it.
    ///
    /// # Errors
    /// `busy` when one that waits is required and none does; what keeps the engine from starting one.
    pub(crate) async fn claim(
        inner: &Arc<Inner>,
        image: &Arc<Image>,
        size: Size,
        binds: Vec<Bind>,
        warm: WarmPool,
    ) -> Result<Room> {
        // A folder of the host cannot be added to a container that runs.
        let can_wait = binds.is_empty() && inner.settings.warm > 0;
        if !can_wait || warm == WarmPool::None {
            if warm == WarmPool::Require {
                return Err(none_waits(if binds.is_empty() {
                    "the operator keeps none; ask for `prefer`"
                } else {
                    "a sandbox with mounts is always started anew; ask for `prefer`"
                }));
            }
            return Room::start(inner, image, size, binds).await;
        }
        while let Some(mut room) = inner.pool.take(inner, image, size) {
            Self::refill(inner);
            if !room.is_gone() && room.resize(size).await.is_ok() {
                return Ok(room);
            }
        }
        if warm == WarmPool::Require {
            Self::refill(inner);
            return Err(none_waits("try again in a moment, or ask for `prefer`"));
        }
        let room = Room::start(inner, image, size, binds).await;
        Self::refill(inner);
        room
    }

    /// Takes one that waits, and notes that its kind is asked for.
    fn take(&self, inner: &Inner, image: &Arc<Image>, size: Size) -> Option<Room> {
        let mut kinds = self.kinds();
        let mut kind = match kinds.iter().position(|kind| kind.is_of(image, &size, &inner.settings)) {
            Some(at) => kinds.remove(at),
            None => Kind { image: image.clone(), size, waiting: VecDeque::new(), coming: 0 },
        };
        let room = kind.waiting.pop_front();
        kinds.push(kind);
        if kinds.len() > KINDS {
            kinds.remove(0);
        }
        room
    }

    /// Starts what is missing, in the background.
    pub(crate) fn refill(inner: &Arc<Inner>) {
        if inner.is_closed() {
            return;
        }
        for kind in inner.pool.kinds().iter_mut() {
            while kind.waiting.len() + kind.coming < inner.settings.warm {
                kind.coming += 1;
                let (inner, image, size) = (inner.clone(), kind.image.clone(), kind.size);
                inner.tasks.clone().spawn(async move {
                    let started = Room::start(&inner, &image, size, Vec::new()).await;
                    inner.pool.came(&inner, &image, &size, started);
                });
            }
        }
    }

    fn came(&self, inner: &Inner, image: &Image, size: &Size, started: Result<Room>) {
        let mut kinds = self.kinds();
        let Some(kind) = kinds.iter_mut().find(|kind| kind.is_of(image, size, &inner.settings)) else {
            return;
        };
        kind.coming = kind.coming.saturating_sub(1);
        match started {
            Ok(room) if !inner.is_closed() && kind.waiting.len() < inner.settings.warm => {
                kind.waiting.push_back(room);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "no container was started to wait"),
        }
    }

    /// Makes a kind that is asked for, so that the next refill starts one.
    pub(crate) fn expect(&self, inner: &Inner, image: &Arc<Image>, size: Size) {
        let room = self.take(inner, image, size);
        if let Some(room) = room
            && let Some(kind) = self.kinds().iter_mut().find(|kind| kind.is_of(image, &size, &inner.settings))
        {
            kind.waiting.push_front(room);
        }
    }

    /// Takes one back in which nothing was changed.
    pub(crate) fn put_back(&self, room: Room) {
        let mut kinds = self.kinds();
        if let Some(kind) =
            kinds.iter_mut().find(|kind| kind.is_of(&room.image, &room.size, &room.inner.settings))
            && !room.is_gone()
        {
            kind.waiting.push_front(room);
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
