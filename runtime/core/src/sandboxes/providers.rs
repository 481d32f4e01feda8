//! Which provider runs a sandbox, and what becomes of it when that one cannot be had (DESIGN: never silent, never weaker).
//!
//! A sandbox's provider is fixed when it is made. If it cannot be had, then or later, the sandbox goes on with the first
//! provider, which isolates no less, on the same files; every outcome says so, until the provider is back and the sandbox
//! wakes anew. Other ways round there is no fallback here.

use std::sync::{Arc, PoisonError};

use super::{Inner, Rules, Sandboxes, outputs};
use crate::sandbox::chunk::fetch;
use crate::sandbox::{
    ChunkSource, Handle, Machine, Owner, ProviderName, Reached, Sandbox, SandboxSpec, SavedState, Snapshot,
    WarmPool,
};
use crate::{Abilities, Error, ErrorCode, Outcome, Provider, Result};

/// What the operator does where a sandbox's image, or its provider, is not there.
const HOW: &str = "the operator offers images: those of containers with `--docker-image IMAGE`, others with `--wasm-image NAME=CHECKPOINT`; a cluster with `--kubernetes`";

/// A provider, and how it is just now.
pub struct ProviderState {
    /// Its word.
    pub name: &'static str,
    /// What it can do, whether it can serve or not.
    pub abilities: Abilities,
    /// The images that the operator allows, the default first.
    pub images: Vec<String>,
    /// Why it cannot serve; none: it can.
    pub error: Option<Error>,
}

impl Sandboxes {
    /// Adds a provider besides the first one, for sandboxes that ask for it.
    pub fn add_provider(&self, provider: Arc<dyn Provider>) {
        self.inner.providers.write().unwrap_or_else(PoisonError::into_inner).push(provider);
    }

    /// Whether there is a provider of that name, whether it can serve now or not.
    pub fn has_provider(&self, name: ProviderName) -> bool {
        name == ProviderName::default()
            || self.inner.all_providers().iter().any(|provider| provider.name() == name.as_str())
    }

    /// The providers, the first one first, and whether each can serve now.
    pub async fn providers(&self) -> Vec<ProviderState> {
        let mut states = Vec::new();
        let has_rules = self.inner.admission.network().is_some();
        for provider in self.inner.all_providers() {
            let abilities = provider.abilities().with_rules(has_rules);
            let (name, images) = (provider.name(), provider.images());
            states.push(ProviderState { name, abilities, images, error: provider.ready().await.err() });
        }
        states
    }

    /// Gives a sandbox to another provider, with that much memory in bytes: its files go with it, its interpreters do not. The
    /// next call wakes it there.
    ///
    /// # Errors
    /// `unknown_sandbox`, `invalid_state`, and what keeps it from being saved.
    pub async fn move_to(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        provider: ProviderName,
        memory: u64,
    ) -> Result<()> {
        let call = self.begin_call(owner, handle).await?;
        let change = move |record: &mut Sandbox| {
            (record.spec.provider, record.spec.memory) = (provider, memory);
        };
        let mut call = call.save(change).await?;
        call.live.jobs.end();
        call.live.machine = None;
        Ok(())
    }

    /// Settles who is to run a new sandbox. One whose provider does not answer just now stays that provider's: it wakes in the
    /// first one's place until it does.
    ///
    /// # Errors
    /// What the provider says to what is asked; `provider_unavailable` when it cannot be had and nothing may take its place.
    pub(super) async fn settle_provider(&self, spec: &mut SandboxSpec, wanted: bool) -> Result<()> {
        let found = self.inner.provider_of(spec);
        let is_there = found.is_ok();
        let can = match found {
            Ok(provider) => {
                // A checkpoint by name is no provider's.
                let own = |name: &String| {
                    spec.provider == ProviderName::default() && self.inner.rules.images.contains_key(name)
                };
                let image = spec.image.clone().filter(|name| !own(name));
                let asked = SandboxSpec { image, ..spec.clone() };
                provider.check(&asked)?;
                provider.can_make(&asked).await
            }
            Err(error) => Err(error),
        };
        match can {
            // What must be running already is nothing that wasm could take the place of.
            Err(error)
                if !wanted && spec.warm_pool == WarmPool::Require && self.inner.falls_back(spec, &error) =>
            {
                Err(error.with_hint(
                    "`warm_pool: require` accepts only a container: start the engine, or leave it out",
                ))
            }
            Err(error) if !wanted && self.inner.falls_back(spec, &error) => {
                tracing::warn!("{}", without_provider("is made", spec, &error));
                if !is_there {
                    (spec.fallback_from, spec.provider) = (Some(spec.provider), ProviderName::default());
                    spec.image = None;
                    spec.memory = spec.memory.min(self.inner.rules.most_memory(ProviderName::Wasm));
                }
                Ok(())
            }
            can => can,
        }
    }
}

impl Inner {
    pub(super) fn all_providers(&self) -> Vec<Arc<dyn Provider>> {
        let others = self.providers.read().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(&self.provider).chain(others.iter()).cloned().collect()
    }

    pub(super) fn provider_of(&self, spec: &SandboxSpec) -> Result<Arc<dyn Provider>> {
        if spec.provider == ProviderName::default() {
            return Ok(self.provider.clone());
        }
        let word = spec.provider.as_str();
        let found = self.all_providers().into_iter().find(|provider| provider.name() == word);
        found.ok_or_else(|| {
            Error::new(ErrorCode::ProviderUnavailable, format!("there is no {word} provider here"))
                .with_hint(HOW)
        })
    }

    fn falls_back(&self, spec: &SandboxSpec, error: &Error) -> bool {
        self.rules.fallback
            && spec.provider != ProviderName::default()
            && error.code() == ErrorCode::ProviderUnavailable
    }

    /// A sandbox, awake, with what it is given now, by its own provider or by the first one in its place. True: in its place.
    ///
    /// # Errors
    /// What keeps the providers from waking it.
    pub(super) async fn wake(
        &self,
        sandbox: &Sandbox,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<(Box<dyn Machine>, bool)> {
        let now = self.effective(&sandbox.spec).without_missing();
        now.tell();
        let spec = &now.spec;
        let woken = match self.provider_of(spec) {
            Ok(provider) => provider.machine_of(&sandbox.id, spec, state.clone()).await,
            Err(error) => Err(error),
        };
        let (mut machine, stands_in) = match woken {
            Err(error) if self.falls_back(spec, &error) => {
                tracing::warn!("{}", without_provider("wakes", spec, &error));
                let memory = spec.memory.min(self.rules.most_memory(ProviderName::Wasm));
                (self.provider.machine(&SandboxSpec { memory, ..spec.clone() }, state).await?, true)
            }
            woken => (woken?, false),
        };
        now.tidy(machine.as_mut()).await;
        if stands_in {
            outputs::fit(machine.as_mut()).await;
        }
        Ok((machine, stands_in))
    }

    /// Reads saved state, whichever provider saved it.
    pub(super) fn load(&self, saved: &SavedState) -> Result<Arc<dyn Snapshot>> {
        let chunks = self.ledger.chunks();
        self.writer_of(saved, chunks.as_ref())?.load(saved, chunks)
    }

    /// The same, where reading it holds up nobody else.
    pub(super) async fn loaded(self: Arc<Self>, saved: SavedState) -> Result<Arc<dyn Snapshot>> {
        let loading = tokio::task::spawn_blocking(move || self.load(&saved));
        loading.await.map_err(|error| Error::internal("the state was not read", error))?
    }

    /// Notes the chunks that saved state consists of, whichever provider saved it. Past chunks that are damaged it goes on.
    pub(super) fn reach(
        &self,
        saved: &SavedState,
        chunks: &dyn ChunkSource,
        reached: &mut Reached,
    ) -> Result<()> {
        let Some(writer) = reached.follow(|| self.writer_of(saved, chunks))? else {
            reached.leaf(saved.root);
            return Ok(());
        };
        writer.reach(saved, chunks, reached)
    }

    /// The provider whose mark the state begins with.
    pub(super) fn writer_of(
        &self,
        saved: &SavedState,
        chunks: &dyn ChunkSource,
    ) -> Result<Arc<dyn Provider>> {
        let others = self.providers.read().unwrap_or_else(PoisonError::into_inner);
        if others.is_empty() {
            return Ok(self.provider.clone());
        }
        let root = fetch(chunks, &saved.root)?;
        let marked = |provider: &&Arc<dyn Provider>| {
            let mark = provider.mark();
            !mark.is_empty() && root.starts_with(mark)
        };
        Ok(others.iter().find(marked).unwrap_or(&self.provider).clone())
    }
}

/// What is logged, and shown on a terminal, where somebody takes a provider's place.
fn without_provider(what: &str, spec: &SandboxSpec, error: &Error) -> String {
    format!("the sandbox {what} on wasm and not on {}: {error}", spec.provider.as_str())
}

/// An outcome in a sandbox that was to be another provider's says so; so does one that reached a memory limit that cannot be
/// raised.
pub(super) fn with_fallback(mut outcome: Outcome, spec: &SandboxSpec, rules: &Rules) -> Outcome {
    outcome.tell_ceiling(spec.memory, rules.most_memory(spec.provider));
    let wanted = spec.fallback_from.unwrap_or(spec.provider);
    let elsewhere = wanted != ProviderName::default() && outcome.provider != wanted.as_str();
    if elsewhere && outcome.fallback_from.is_none() {
        outcome.fallback_from = Some(wanted.as_str());
    }
    outcome
}
