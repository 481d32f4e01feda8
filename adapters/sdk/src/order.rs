//! Calls of one sandbox come to it in the order in which the program made them, however many threads work on them.
//!
//! A sandbox keeps its calls in line from their first step on. So the first step of each waits for that of the one before; what
//! follows does not.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The sandboxes to which calls are on their way.
#[derive(Clone, Default)]
pub(crate) struct Order(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    next: u64,
    /// Of each sandbox the calls that have not taken their first step, by their numbers, and what wakes them.
    of: HashMap<String, BTreeMap<u64, Waker>>,
}

/// A call that has not taken its first step. Dropped, it is as if it had.
struct Coming {
    order: Order,
    sandbox: String,
    number: u64,
}

impl Order {
    /// The same call, in line from now on.
    pub(crate) fn line_up<T: Send + 'static>(
        &self,
        sandbox: String,
        call: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let mut lines = self.lines();
        let number = lines.next;
        lines.next += 1;
        lines.of.entry(sandbox.clone()).or_default().insert(number, Waker::noop().clone());
        drop(lines);
        let coming = Coming { order: self.clone(), sandbox, number };
        async move {
            std::future::poll_fn(|context| coming.is_first(context.waker())).await;
            let mut call = Box::pin(call);
            let first = std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
            drop(coming);
            match first {
                Poll::Ready(answer) => answer,
                Poll::Pending => call.await,
            }
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coming {
    /// Ready when all before it have taken their first step, or were given up.
    fn is_first(&self, waker: &Waker) -> Poll<()> {
        let mut lines = self.order.lines();
        let Some(line) = lines.of.get_mut(&self.sandbox) else { return Poll::Ready(()) };
        if line.first_key_value().is_some_and(|(first, _)| *first == self.number) {
            return Poll::Ready(());
        }
        line.insert(self.number, waker.clone());
        Poll::Pending
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        let mut lines = self.order.lines();
        let Some(line) = lines.of.get_mut(&self.sandbox) else { return };
        line.remove(&self.number);
        let next = line.first_key_value().map(|(_, waker)| waker.clone());
        if line.is_empty() {
            lines.of.remove(&self.sandbox);
        }
        drop(lines);
        if let Some(next) = next {
            next.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_sandbox_begin_in_order_and_those_that_are_given_up_hold_nobody_up() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
        let order = Order::default();
        let found = Arc::new(Mutex::new(Vec::new()));
        let calls: Vec<_> = (0..500)
            .map(|number| {
                let found = found.clone();
                let call = async move {
                    found.lock().unwrap().push(number);
                    tokio::task::yield_now().await;
                };
                let task = runtime.spawn(order.line_up("box".into(), call));
                if number % 7 == 3 {
                    task.abort();
                }
                task
            })
            .collect();
        runtime.block_on(async {
            for call in calls {
                let _given_up = call.await;
            }
        });
        let found = found.lock().unwrap();
        assert!(found.len() > 400 && found.is_sorted(), "{found:?}");
        assert!(order.lines().of.is_empty());
    }
}
