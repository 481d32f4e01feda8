//! How a helper serves: it takes one request after the other, and does each in a thread of its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rustix::net::RecvFlags;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::wire::{self, Request};

/// Requests, and programs that run, at one time. A server that has lost its mind gets no more.
const AT_ONCE: usize = 128;

/// Ends this process with its parent at once, even in the middle of a look-up. Where the parent has ended already, the
/// closed socket says so.
pub(super) fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Serves until the server has closed its end; then waits for what is under way.
pub(super) fn requests(
    socket: impl AsFd,
    work: impl Fn(Request<'_>, &OwnedFd) -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<()> {
    let (work, busy) = (Arc::new(work), Arc::new(AtomicUsize::new(0)));
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    loop {
        let (bytes, mut handed) = wire::receive(&socket, RecvFlags::empty())?;
        if bytes.is_empty() {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        let (Some(channel), true) = (handed.pop(), handed.is_empty()) else { continue };
        if busy.load(Ordering::Relaxed) >= AT_ONCE {
            let _ = wire::answer(channel, Err(io::ErrorKind::ResourceBusy.into()));
            continue;
        }
        busy.fetch_add(1, Ordering::Relaxed);
        let (work, place) = (work.clone(), Place(busy.clone()));
        let begun = std::thread::Builder::new().name("request".into()).spawn(move || {
            let _place = place;
            let Some(request) = Request::read(&bytes) else { return };
            // Whoever asked may have gone.
            let _ = work(request, &channel);
        });
        threads.extend(begun);
    }
    for thread in threads {
        let _ = thread.join();
    }
    Ok(())
}

/// One of those at one time.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
