//! Bounds the memory of a run: all linear memories and tables of its store together.

use dormouse_core::memory::Taken;
use wasmtime::ResourceLimiter;

/// Bytes that one table element takes on the host.
const ELEMENT: usize = 16;
/// Bytes that an instance may take past its limit while its state is taken: closing its files takes some.
const ROOM: usize = 16 << 20;
/// Bytes that a run may take past its limit in an instance whose state was taken or given back: the guest looks at the world
/// anew then, and one that is full could not.
const WORLD: usize = 1 << 20;

/// Counts what a store's memories and tables hold, and refuses growth past a limit.
pub(crate) struct Limiter {
    limit: usize,
    /// What is allowed past the limit just now.
    room: usize,
    held: usize,
    peak: usize,
    refused: Option<Refused>,
    /// What the memories began with.
    begun: usize,
    /// What was added to that, of what all runs may have.
    taken: Taken,
    /// A state is being taken or given back, which is never refused for what others have: the next run counts it.
    is_apart: bool,
}

/// Why growth was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The run's own limit.
    Limit,
    /// All runs together have what they may.
    InAll,
}

impl Limiter {
    /// A limiter that allows `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            room: 0,
            held: 0,
            peak: 0,
            refused: None,
            begun: 0,
            taken: Taken::default(),
            is_apart: false,
        }
    }

    /// Sets the limit of the run that begins; with 1 MiB on top where the state has been taken or given back. Returns false
    /// when more is held already than a run within this limit, and saving it, can have left.
    pub(crate) fn arm(&mut self, limit: usize) -> bool {
        (self.limit, self.room) = (limit, self.room.min(WORLD));
        self.refused = None;
        self.is_apart = false;
        self.peak = self.held;
        self.taken.begin(self.held.saturating_sub(self.begun) as u64);
        self.held <= limit.saturating_add(ROOM)
    }

    /// Allows a little past the limit of the last run, until the next begins, so that an instance at its limit can be saved.
    pub(crate) fn make_room(&mut self) {
        self.room = ROOM;
        self.is_apart = true;
    }

    /// Allows so many more bytes than are held, so that a saved state gets the memory back that it had.
    pub(crate) fn make_room_for(&mut self, bytes: usize) {
        self.room = self.held.saturating_add(bytes).saturating_sub(self.limit).saturating_add(ROOM);
        self.is_apart = true;
    }

    /// Bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Most bytes held since the run began.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Why growth was refused since the run began, if it was.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let more = desired.saturating_sub(current);
        let total = self.held.saturating_add(more);
        if total > self.limit.saturating_add(self.room) || maximum.is_some_and(|most| desired > most) {
            self.refused = Some(Refused::Limit);
            return false;
        }
        if current == 0 {
            self.begun += more;
        } else if !self.is_apart && !self.taken.more(more as u64) {
            self.refused = Some(Refused::InAll);
            return false;
        }
        self.held = total;
        self.peak = self.peak.max(total);
        true
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow(current, desired, maximum))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let bytes = |elements: usize| elements.saturating_mul(ELEMENT);
        Ok(self.grow(bytes(current), bytes(desired), maximum.map(bytes)))
    }

    fn instances(&self) -> usize {
        100
    }

    fn tables(&self) -> usize {
        100
    }

    fn memories(&self) -> usize {
        16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_share_one_limit() {
        let mut limiter = Limiter::new(1000);
        assert!(limiter.grow(0, 600, None));
        assert!(!limiter.grow(0, 401, None));
        assert_eq!(limiter.refused(), Some(Refused::Limit));
        assert!(limiter.grow(0, 400, None));
        assert_eq!(limiter.peak(), 1000);
        assert!(limiter.arm(999), "what saving took past the limit is no reason to refuse the next run");
        assert!(!limiter.grow(1000, 1001, None));
        assert!(limiter.arm(1000) && limiter.refused().is_none());
        limiter.make_room();
        assert!(limiter.grow(1000, 1000 + ROOM, None));
        assert!(!limiter.grow(1000 + ROOM, 1001 + ROOM, None));
        assert!(limiter.arm(1000));
        assert!(!limiter.arm(999));
        let mut limiter = Limiter::new(1000);
        limiter.make_room();
        assert!(limiter.arm(1000) && limiter.grow(0, 1000 + WORLD, None) && !limiter.grow(0, 1, None));
    }

    #[test]
    fn a_saved_state_gets_the_room_that_it_had() {
        let mut limiter = Limiter::new(1000);
        assert!(limiter.grow(0, 900, None));
        limiter.make_room_for(5000);
        assert!(limiter.grow(900, 5900, None));
        assert!(!limiter.grow(5900, 5901 + ROOM, None));
    }
}
