//! The program of ours that stands in containers without a network (`relay/main.rs`), and what it carries to a proxy of this process.
//!
//! Owns: the program, where it takes connections for the gate, and whether it still does. Does not own: how an engine gets it into a
//! container and starts it, nor the frames ([`crate::carried`]).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dormouse_core::network::Proxy;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

use crate::carried;

/// The program, linked without shared libraries; empty where this host's system is not a container's.
pub static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/relay"));
/// Where a sandbox's container finds what it is told of its network, and can write nothing.
pub const TOLD: &str = "/run/dormouse";
/// Where a sandbox's programs find the proxy: this port of their loopback.
pub const PORT: u16 = 3128;

/// The words of the program with which it takes connections there. `program`: where it lies.
pub fn argv(program: &str) -> Vec<String> {
    [program, "gate", &PORT.to_string()].map(str::to_owned).into()
}

/// Where they find the certificates of the authorities that they are to trust.
pub fn authorities() -> String {
    format!("{TOLD}/ca.pem")
}

/// The proxy's URL.
pub fn url() -> String {
    format!("http://127.0.0.1:{PORT}")
}

/// A program that runs, and takes connections for a proxy. Dropped, nothing is carried any more, and its streams are closed.
pub struct Carrying {
    task: AbortHandle,
    over: Arc<AtomicBool>,
}

impl Carrying {
    /// Waits until a program that was started takes connections, and carries them from then on. `said` is what it writes, `to` what it
    /// reads; `what` names it in the log.
    ///
    /// # Errors
    /// It ends, or says something else.
    pub async fn begin(
        mut said: impl AsyncRead + Send + Unpin + 'static,
        to: impl AsyncWrite + Send + Unpin + 'static,
        proxy: Arc<dyn Proxy>,
        what: String,
    ) -> io::Result<Self> {
        carried::ready(&mut said).await?;
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let task = tokio::spawn(async move {
            let serve: carried::Serve = Arc::new(move |stream| proxy.serve(stream));
            if let Err(error) = carried::carry(said, to, serve).await {
                tracing::debug!(relay = what, %error, "a relay has ended");
            }
            ended.store(true, Ordering::Release);
        });
        Ok(Self { task: task.abort_handle(), over })
    }

    /// Whether it still does.
    pub fn is_open(&self) -> bool {
        !self.over.load(Ordering::Acquire)
    }
}

impl Drop for Carrying {
    fn drop(&mut self) {
        self.task.abort();
    }
}
