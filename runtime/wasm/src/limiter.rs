//! Bounds the memory of a run: all linear memories and tables of its store together.

use dormouse_core::Limits;
use wasmtime::ResourceLimiter;

/// Bytes that one table element takes on the host.
const ELEMENT: usize = 16;

/// Counts what a store's memories and tables hold, and refuses growth past a limit.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: usize,
    held: usize,
    peak: usize,
    refused: bool,
}

impl Limiter {
    /// A limiter that allows `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, held: 0, peak: 0, refused: false }
    }

    /// Sets the limit of work that no run is: listing variables, binding one. What is held stays.
    pub(crate) fn hold_to(&mut self, limits: &Limits) {
        self.arm(usize::try_from(limits.memory).unwrap_or(usize::MAX));
    }

    /// Sets the limit of the run that begins. Returns false when more is held already.
    pub(crate) fn arm(&mut self, limit: usize) -> bool {
        self.limit = limit;
        self.refused = false;
        self.peak = self.held;
        self.held <= limit
    }

    /// Allows `more` bytes beside what is held, for a state that was within its own limit. The run's limit comes with the run.
    pub(crate) fn make_room(&mut self, more: usize) {
        self.limit = self.limit.max(self.held.saturating_add(more));
    }

    /// Bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Most bytes held since the run began.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    /// Whether growth was refused since the run began.
    pub(crate) fn refused(&self) -> bool {
        self.refused
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let more = desired.saturating_sub(current);
        let total = self.held.saturating_add(more);
        if total > self.limit || maximum.is_some_and(|most| desired > most) {
            self.refused = true;
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
        assert!(limiter.refused());
        assert!(limiter.grow(0, 400, None));
        assert_eq!(limiter.peak(), 1000);
        assert!(!limiter.arm(999));
        assert!(!limiter.refused());
    }
}
