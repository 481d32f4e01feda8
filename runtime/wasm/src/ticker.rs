//! The clock that interrupts guests: advances an engine's epoch while runs are in progress, sleeps otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// Time between two epochs. A run sees its deadline at most one tick late.
pub(crate) const TICK: Duration = Duration::from_millis(5);
/// Idle ticks before the thread sleeps: waking it costs a system call, so it stays awake between runs in a row.
const LINGER: u64 = 200;

/// Owns the ticking thread of one engine; the thread ends when the engine is gone.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Default)]
struct Shared {
    /// Runs in progress.
    running: AtomicUsize,
    /// Ticks since the last run began or ended; at [`LINGER`] the thread sleeps.
    idle: AtomicU64,
}

impl Ticker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let (weak, shared) = (engine.weak(), Arc::<Shared>::default());
        let state = shared.clone();
        let handle =
            thread::Builder::new().name("dormouse-ticker".into()).spawn(move || tick(&weak, &state))?;
        Ok(Self { shared, thread: handle.thread().clone() })
    }

    /// Ticks for as long as the result lives.
    pub(crate) fn running(&self) -> Running {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.idle.swap(0, Ordering::SeqCst) >= LINGER {
            self.thread.unpark();
        }
        Running(self.shared.clone())
    }
}

fn tick(engine: &EngineWeak, shared: &Shared) {
    loop {
        if shared.idle.load(Ordering::SeqCst) >= LINGER {
            // A run that begins now resets `idle` and unparks; the time-out lets the thread see its engine end.
            thread::park_timeout(Duration::from_secs(1));
        } else {
            thread::sleep(TICK);
        }
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
        if shared.running.load(Ordering::SeqCst) == 0 {
            let _ = shared.idle.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |ticks| {
                (ticks < LINGER).then_some(ticks + 1)
            });
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.thread.unpark();
    }
}

/// One run in progress.
pub(crate) struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
