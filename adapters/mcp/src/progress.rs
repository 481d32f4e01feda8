//! Tells a client that asked for it how a long run is going.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dormouse_core::{OutputSink, Stream};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Time between two notifications. Short runs end before the first.
const EVERY: Duration = Duration::from_millis(500);

/// Counts what a run writes, and what comes from elsewhere for it, for the progress message. It never keeps or shows the text itself.
#[derive(Default)]
pub(crate) struct Written {
    output: AtomicU64,
    received: AtomicU64,
}

impl OutputSink for Written {
    fn write(&self, _: Stream, bytes: &[u8]) {
        self.output.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Written {
    /// How it is going, after so many milliseconds.
    fn told(&self, elapsed: f64) -> String {
        let output = self.output.load(Ordering::Relaxed);
        match self.received.load(Ordering::Relaxed) {
            0 => format!("running for {elapsed:.0} ms, {output} bytes of output"),
            received => {
                format!("running for {elapsed:.0} ms, {received} bytes received, {output} bytes of output")
            }
        }
    }
}

/// Notifies until it is dropped. `total` is the run's wall-clock limit in milliseconds, if it is known.
pub(crate) async fn notify(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    total: Option<f64>,
    written: Arc<Written>,
) {
    let begin = Instant::now();
    let mut ticks = interval_at(begin + EVERY, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let elapsed = begin.elapsed().as_secs_f64() * 1e3;
        let mut progress = ProgressNotificationParam::new(token.clone(), elapsed.round())
            .with_message(written.told(elapsed));
        if let Some(total) = total {
            progress = progress.with_total(total.max(elapsed.round()));
        }
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}
