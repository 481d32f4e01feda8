//! A container's memory limit: whether it is reached, and what can be done then.
//!
//! A container whose memory is full keeps every program out, also the one that would remove what fills it. Where that may be
//! so, the limit is raised for the moment, by no more than [`SPARE_MEMORY`] whoever asks how often.

use std::sync::atomic::Ordering;

use bollard::query_parameters::StatsOptionsBuilder;
use bytes::Bytes;
use dormouse_containers::exec::{run_bounded, run_own};
use dormouse_containers::out_of_memory;
use dormouse_containers::program::Written;
use dormouse_core::Result;
use futures::StreamExt as _;

use crate::config::signed;
use crate::container::Container;

/// Bytes that are let in for a program of ours where the memory limit keeps it out.
const SPARE_MEMORY: u64 = 16 << 20;
/// A limit that is as near as this is reached: less is not given out at once.
const NEARLY: u64 = 2 << 20;

impl Container {
    /// Runs a program of ours to its end, as the sandbox's user, also where the memory is full.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn run(&self, argv: Vec<String>, input: Vec<u8>) -> Result<Written> {
        run_own(self, argv, input).await
    }

    /// The same with another bound for what it writes. Where the memory limit kept it out, the limit is raised for the
    /// moment and it is run once more; else nothing could be removed from a container that is full.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn insist(&self, argv: Vec<String>, input: Vec<u8>, most: u64) -> Result<Written> {
        let input = Bytes::from(input);
        let first = run_bounded(self, argv.clone(), input.clone(), most).await;
        if !first.as_ref().map_or(true, Written::was_kept_out) || !self.is_full().await {
            return first;
        }
        self.limit_memory(self.size.memory.saturating_add(SPARE_MEMORY)).await?;
        self.raised.store(true, Ordering::Release);
        let second = run_bounded(self, argv, input, most).await;
        self.lower().await;
        second
    }

    /// Whether its memory limit is reached, or nearly so.
    pub(crate) async fn is_full(&self) -> bool {
        // An engine that does not answer is not waited for twice.
        if self.shared.engine.ready().await.is_err() {
            return false;
        }
        self.used().await.is_some_and(|used| used.saturating_add(NEARLY) >= self.size.memory)
    }

    /// Bytes of its memory that the kernel cannot take back by itself, if the engine says so.
    async fn used(&self) -> Option<u64> {
        let docker = self.shared.engine.docker().await.ok()?;
        let options = StatsOptionsBuilder::default().stream(false).one_shot(true).build();
        let asked = async {
            let mut stats = std::pin::pin!(docker.stats(&self.id, Some(options)));
            stats.next().await.transpose()
        };
        let stats = self.shared.engine.ask("ask for a container's memory", asked).await.ok()??;
        let memory = stats.memory_stats?;
        // In control groups of version 1 and 2.
        let cached = |name: &str| memory.stats.as_ref().and_then(|all| all.get(name)).copied();
        let cached = cached("total_inactive_file").or_else(|| cached("inactive_file")).unwrap_or_default();
        Some(memory.usage?.saturating_sub(cached))
    }

    /// Takes back what the memory limit was raised by, as soon as no more than the limit is in use: in control groups of
    /// version 2 a lower limit ends what is over it.
    pub(crate) async fn lower(&self) {
        if !self.raised.load(Ordering::Acquire)
            || self.used().await.is_none_or(|used| used > self.size.memory)
        {
            return;
        }
        match self.limit_memory(self.size.memory).await {
            Ok(()) => self.raised.store(false, Ordering::Release),
            Err(error) => tracing::debug!(container = self.id, %error, "more than the limit is in use"),
        }
    }

    /// Refuses programs of the sandbox's while more than its limit is in use: what the limit was raised by is for those that
    /// remove.
    ///
    /// # Errors
    /// `limit_memory`.
    pub(crate) fn admit(&self) -> Result<()> {
        if self.raised.load(Ordering::Acquire) { Err(out_of_memory(self)) } else { Ok(()) }
    }

    async fn limit_memory(&self, most: u64) -> Result<()> {
        let body = bollard::models::ContainerUpdateBody {
            memory: Some(signed(most)),
            memory_swap: Some(signed(most)),
            ..bollard::models::ContainerUpdateBody::default()
        };
        self.change(body).await
    }
}
