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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Child, ChildStdout, Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::frames::{OPEN, READY};

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn frame(said: &mut ChildStdout) -> (u8, u32) {
        let mut head = [0; 9];
        said.read_exact(&mut head).unwrap();
        (head[0], u32::from_be_bytes(head[1..5].try_into().unwrap()))
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "it is our program")]
    fn net_22_a_connection_beyond_those_that_a_relay_carries_is_closed() {
        if PROGRAM.is_empty() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("relay");
        std::fs::write(&path, PROGRAM).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new(&path);
        command.args(["gate", &port.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = Ended(command.spawn().unwrap());
        let mut said = program.0.stdout.take().unwrap();
        assert_eq!(frame(&mut said), (READY, 0));
        let connect = || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream
        };
        let mut open: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
        for number in 1..=64 {
            assert_eq!(frame(&mut said), (OPEN, number));
        }
        for _ in 0..200 {
            // An end, or a reset.
            let mut more = connect();
            assert!(!matches!(more.read(&mut [0]), Ok(1..)));
        }
        // One that is over makes room: for the host its end is one, and the host says that it is.
        drop(open.pop());
        let mut stdin = program.0.stdin.take().unwrap();
        let (kind, number) = frame(&mut said);
        assert_eq!((kind, number), (crate::frames::END, 64));
        stdin.write_all(&[&[crate::frames::RESET][..], &number.to_be_bytes(), &[0; 4]].concat()).unwrap();
        stdin.flush().unwrap();
        let _last = loop {
            let mut stream = connect();
            stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            // Whoever is carried hears nothing yet.
            match stream.read(&mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break stream,
                _ => {}
            }
        };
        assert_eq!(frame(&mut said).0, OPEN);
    }
}
