//! Memory that runs take: counted for each owner and in all, and bounded.
//!
//! A run's own limit bounds it alone; sixty of them would come to more than most machines have. So whoever provides instances
//! says here what these add to the memory that they begin with ([`Taken`]), on account of the call that they work for. When the
//! call is over nothing is counted any more: what an interpreter keeps between its calls is the matter of [`sandboxes`](crate::sandboxes).
//! Where there are several owners, one gets more only while he then holds no more than is left, as with places.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Policy;
use crate::sandbox::Owner;

tokio::task_local! {
    static CALL: Arc<Call>;
}

/// What the runs of one process take.
pub(crate) struct Memory {
    sums: Arc<Sums>,
}

struct Sums {
    most: Option<u64>,
    owners_share: bool,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    of_owner: HashMap<Owner, u64>,
    in_all: u64,
}

/// A call of an owner's, and what it takes; none: it is over.
struct Call {
    sums: Arc<Sums>,
    owner: Owner,
    taken: Mutex<Option<u64>>,
}

/// Ends the call when it is dropped.
struct Ends(Arc<Call>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(bytes) = self.0.taken().take() {
            self.0.sums.give_back(&self.0.owner, bytes);
        }
    }
}

impl Memory {
    /// Nothing taken yet.
    pub(crate) fn new(policy: &Policy) -> Self {
        let (most, owners_share) = (policy.max_memory, policy.owners_share);
        Self { sums: Arc::new(Sums { most, owners_share, held: Mutex::default() }) }
    }

    /// Does the work of a call on account of its owner.
    pub(crate) async fn share<T>(&self, owner: &Owner, work: impl Future<Output = T>) -> T {
        let (sums, owner) = (self.sums.clone(), owner.clone());
        let call = Arc::new(Call { sums, owner, taken: Mutex::new(Some(0)) });
        let _ends = Ends(call.clone());
        CALL.scope(call, work).await
    }
}

/// Bytes that one instance has taken, of the call that it works for. Dropped, they are given back.
#[derive(Default)]
pub struct Taken {
    call: Option<Arc<Call>>,
    bytes: u64,
}

impl Taken {
    /// An instance that has so many bytes already begins to work for the call at hand.
    pub fn begin(&mut self, bytes: u64) {
        self.give_back();
        self.call = CALL.try_with(Arc::clone).ok();
        self.take(bytes, true);
    }

    /// Takes so many more bytes. False: there is no room for them, and nothing is taken. Work of no call, as where an embedding
    /// program calls a provider itself, is not counted.
    pub fn more(&mut self, bytes: u64) -> bool {
        if self.call.as_ref().is_none_or(|call| call.taken().is_none()) {
            // What was begun in a call can go on in a job.
            self.begin(self.bytes);
        }
        self.take(bytes, false)
    }

    fn take(&mut self, bytes: u64, has_it: bool) -> bool {
        let taken = self.call.as_ref().is_none_or(|call| call.take(bytes, has_it));
        if taken && self.call.is_some() {
            self.bytes += bytes;
        }
        taken
    }

    fn give_back(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if let Some(call) = self.call.take()
            && let Some(taken) = call.taken().as_mut()
        {
            *taken = taken.saturating_sub(bytes);
            call.sums.give_back(&call.owner, bytes);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Call {
    fn taken(&self) -> MutexGuard<'_, Option<u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, bytes: u64, has_it: bool) -> bool {
        let mut taken = self.taken();
        let Some(taken) = taken.as_mut().filter(|_| bytes > 0) else { return true };
        let given = self.sums.take(&self.owner, bytes, has_it);
        if given {
            *taken += bytes;
        }
        given
    }
}

impl Sums {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, owner: &Owner, bytes: u64, has_it: bool) -> bool {
        let mut held = self.held();
        let own = held.of_owner.get(owner).copied().unwrap_or_default().saturating_add(bytes);
        let all = held.in_all.saturating_add(bytes);
        if !has_it && !self.has_room(own, all) {
            return false;
        }
        held.in_all = all;
        held.of_owner.insert(owner.clone(), own);
        true
    }

    fn has_room(&self, own: u64, all: u64) -> bool {
        let Some(left) = self.most.map(|most| most.checked_sub(all)) else { return true };
        left.is_some_and(|left| !self.owners_share || own <= left)
    }

    fn give_back(&self, owner: &Owner, bytes: u64) {
        let mut held = self.held();
        held.in_all = held.in_all.saturating_sub(bytes);
        if let Some(own) = held.of_owner.get_mut(owner) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.of_owner.remove(owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(most: u64, owners_share: bool) -> Memory {
        Memory::new(&Policy { max_memory: Some(most), owners_share, ..Policy::default() })
    }

    #[tokio::test]
    async fn own_01_several_owners_leave_each_other_room_and_one_may_have_all() {
        let shared = memory(100, true);
        let (first, second) = (Owner::parse("first").unwrap(), Owner::parse("second").unwrap());
        let (mut of_first, mut of_second) = (Taken::default(), Taken::default());
        let greedy = shared.share(&first, async {
            assert!(of_first.more(50) && !of_first.more(1));
            shared.share(&second, async { assert!(of_second.more(25) && !of_second.more(1)) }).await;
        });
        greedy.await;
        let alone = memory(100, false);
        let mut all = Taken::default();
        alone.share(&first, async { assert!(all.more(100) && !Taken::default().more(1)) }).await;
    }

    #[tokio::test]
    async fn what_an_instance_has_counts_while_its_call_goes_on() {
        let (memory, owner) = (memory(100, false), Owner::local());
        let mut taken = Taken::default();
        assert!(taken.more(1_000), "of no call");
        let call = memory.share(&owner, async {
            taken.begin(95);
            assert!(!taken.more(6) && taken.more(5));
            taken.begin(20);
            drop(std::mem::take(&mut taken));
            assert!(taken.more(100), "what was dropped is given back");
        });
        call.await;
        assert!(memory.sums.held().of_owner.is_empty(), "it rests");
        // A call that begins later counts what it has, and what rests after that gives nothing back twice.
        memory.share(&owner, async { taken.begin(60) }).await;
        let job = memory.share(&owner, async {
            assert!(!taken.more(41) && taken.more(40), "it goes on as a job, and counts with what it has");
        });
        job.await;
        memory.share(&owner, async { assert!(Taken::default().more(100)) }).await;
        drop(taken);
        assert_eq!(memory.sums.held().in_all, 0);
    }
}
