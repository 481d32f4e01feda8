//! Changes of files that are made as a whole or not at all, also when nobody waits for them any more.

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::call::Call;
use crate::sandbox::{Include, Machine};
use crate::{Error, ErrorCode, Result};

impl Call {
    /// Changes files. When that fails, when the sandbox's calls are ended, or when the caller gives up, they are as they were
    /// before; the next call waits for that.
    ///
    /// # Errors
    /// What keeps the files from being put back. With the call comes what [`Call::run`] says of the change.
    pub(super) async fn all_or_none<T: Send + 'static>(
        mut self,
        change: impl for<'a> FnOnce(&'a mut dyn Machine) -> BoxFuture<'a, Result<T>> + Send + 'static,
    ) -> Result<(Self, Result<T>)> {
        let given_up = CancellationToken::new();
        let _caller = given_up.clone().drop_guard();
        let changing = tokio::spawn(async move {
            let before = self.run(|machine| machine.snapshot(Include::Files)).await?;
            let done = tokio::select! {
                biased;
                () = given_up.cancelled() => {
                    Err(Error::new(ErrorCode::Cancelled, "nobody waits for the change any more"))
                }
                done = self.run(change) => done,
            };
            if done.is_err() {
                self.machine().await?.restore(before.as_ref()).await?;
            }
            Ok((self, done))
        });
        changing.await.map_err(|error| Error::internal("the change did not end", error))?
    }
}
