//! What a provider does beside its calls: it removes what nobody has any more, until it ends.
//!
//! Owns: when that is done. Does not own: how something is removed or found, and the list of what is left ([`crate::leftovers`]).

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::Result;
use tokio::time::Instant;

use crate::background::Background;
use crate::leftovers::{Leftovers, Removed};

/// How long the end may take.
const CLOSE_WITHIN: Duration = Duration::from_secs(30);
/// How often what is left is tried to be removed at the end, and how long it is waited between.
const LAST_TRIES: u32 = 3;
const LAST_TRY: Duration = Duration::from_millis(200);

/// A provider whose engine has things to be removed.
#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// Something in the engine.
    type Thing: Clone + Debug + Display + Eq + Hash + Send + Sync + 'static;

    /// Its work in the background.
    fn background(&self) -> &Background;

    /// What is left.
    fn leftovers(&self) -> &Arc<Leftovers<Self::Thing>>;

    /// How often it is looked for what nobody has.
    fn look_every(&self) -> Duration;

    /// Removes one thing.
    ///
    /// # Errors
    /// What keeps the engine from it.
    async fn discard(&self, thing: &Self::Thing) -> Result<Removed>;

    /// Puts what nobody has on the list of what is left.
    ///
    /// # Errors
    /// What keeps the engine from answering.
    async fn look_around(&self) -> Result<()>;
}

/// Tries what is to be removed and is due; all of it at the end. How many are left?
pub async fn work_off<U: Upkeep>(provider: &U, all: bool) -> usize {
    provider.leftovers().work(all, |thing| async move { provider.discard(&thing).await }).await
}

/// Removes a thing in the background, as often as it takes. `late`: it may not be there yet.
pub fn remove<U: Upkeep>(provider: &Arc<U>, thing: U::Thing, late: bool) {
    let own = provider.clone();
    let _removing = provider.background().spawn(async move {
        if late {
            return own.leftovers().add(thing, true);
        }
        if let Err(error) = own.discard(&thing).await {
            tracing::debug!(%thing, %error, "it was not removed");
            own.leftovers().add(thing, false);
        }
    });
}

/// Works off what is left, for as long as the provider is there and not closed, and looks from time to time for what nobody has:
/// what other processes of the installation left that ended meanwhile.
pub async fn tidy<U: Upkeep>(provider: Weak<U>) {
    let mut looked = Instant::now();
    loop {
        let Some((leftovers, every)) =
            provider.upgrade().map(|provider| (provider.leftovers().clone(), provider.look_every()))
        else {
            return;
        };
        let look = looked + every;
        let until = leftovers.next().map_or(look, |next| next.min(look));
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = leftovers.added() => {}
        }
        let Some(provider) = provider.upgrade().filter(|provider| !provider.background().is_closed()) else {
            return;
        };
        work_off(provider.as_ref(), false).await;
        if look <= Instant::now() {
            looked = Instant::now();
            if let Err(error) = provider.look_around().await {
                tracing::debug!(%error, "what is left was not looked for");
            }
        }
    }
}

/// Ends a provider that was closed ([`Background::close`]): awaits the removal of what was dropped, at most 30 s, then ends what has
/// no end of its own. False: something may be left, which the next start removes.
pub async fn end<U: Upkeep>(provider: &U) -> bool {
    let ended = tokio::time::timeout(CLOSE_WITHIN, async {
        provider.background().ended().await;
        for _ in 1..LAST_TRIES {
            if work_off(provider, true).await == 0 {
                return 0;
            }
            tokio::time::sleep(LAST_TRY).await;
        }
        work_off(provider, true).await
    });
    let all = ended.await == Ok(0);
    provider.background().stop();
    all
}
