//! Shows output while a run goes on. Writing is a thread's own work, so that a slow reader never holds up the run and
//! its clock; the run's output limit bounds what can wait.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use dormouse::{OutputSink, Stream};
use tokio::sync::Notify;

use super::escape::Filter;
use super::paint::Paint;

/// Passes a run's output on to our own streams: to a terminal with visible signs instead of controls, else byte for
/// byte. The thread starts with the first output.
#[derive(Default)]
pub(crate) struct Live {
    thread: Mutex<Option<Writing>>,
    failed: Arc<Notify>,
}

/// Some bytes of one stream.
type Piece = (Stream, Vec<u8>);
/// The way to the thread, and the thread.
type Writing = (Sender<Piece>, JoinHandle<io::Result<Ends>>);

/// Whether each stream stands in the middle of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Standard output does.
    pub(crate) stdout_open: bool,
    /// Standard error does.
    pub(crate) stderr_open: bool,
}

impl Live {
    /// Returns when nobody can read the output any more.
    pub(crate) async fn broken(&self) {
        self.failed.notified().await;
    }

    /// Waits until everything is written.
    pub(crate) fn finish(&self) -> io::Result<Ends> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((sender, thread)) = thread else { return Ok(Ends::default()) };
        drop(sender);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread ended early")))
    }

    fn start(&self) -> io::Result<Writing> {
        let (sender, pieces) = channel();
        let failed = self.failed.clone();
        let thread = Builder::new().name("dormouse-output".into()).spawn(move || {
            let ends = write(&pieces);
            if ends.is_err() {
                failed.notify_one();
            }
            ends
        })?;
        Ok((sender, thread))
    }
}

impl OutputSink for Live {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            match self.start() {
                Ok(started) => *thread = Some(started),
                Err(_) => return self.failed.notify_one(),
            }
        }
        if let Some((sender, _)) = thread.as_ref() {
            // After a failure nobody receives; `broken` has told the run already.
            let _ = sender.send((stream, bytes.to_vec()));
        }
    }
}

fn write(pieces: &Receiver<Piece>) -> io::Result<Ends> {
    let mut stdout = Target::new(Paint::stdout(), io::stdout());
    let mut stderr = Target::new(Paint::stderr(), io::stderr());
    while let Ok((stream, bytes)) = pieces.recv() {
        match stream {
            Stream::Stdout => stdout.write(&bytes)?,
            Stream::Stderr => stderr.write(&bytes)?,
        }
    }
    stdout.end()?;
    stderr.end()?;
    Ok(Ends { stdout_open: stdout.open, stderr_open: stderr.open })
}

struct Target<W> {
    stream: W,
    filter: Option<Filter>,
    open: bool,
}

impl<W: Write> Target<W> {
    fn new(paint: Paint, stream: W) -> Self {
        Self { stream, filter: paint.terminal.then(Filter::default), open: false }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let shown = self.filter.as_mut().map(|filter| filter.push(bytes));
        self.stream.write_all(shown.as_ref().map_or(bytes, |text| text.as_bytes()))?;
        self.stream.flush()?;
        self.open = bytes.last().map_or(self.open, |byte| *byte != b'\n');
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let rest = self.filter.as_mut().map(Filter::end).unwrap_or_default();
        self.stream.write_all(rest.as_bytes())?;
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gets_the_bytes_and_a_terminal_gets_signs() {
        let mut pipe = Target::new(Paint::default(), Vec::new());
        pipe.write(b"\x1b[0m\xff").unwrap();
        pipe.end().unwrap();
        assert_eq!((pipe.stream.as_slice(), pipe.open), (&b"\x1b[0m\xff"[..], true));

        let mut terminal = Target::new(Paint { color: false, terminal: true }, Vec::new());
        for piece in ["\x1b[0mé\n".as_bytes(), b"\xc3"] {
            terminal.write(piece).unwrap();
        }
        terminal.end().unwrap();
        assert_eq!(String::from_utf8(terminal.stream).unwrap(), "␛[0mé\n\u{fffd}");
    }

    #[test]
    fn a_silent_run_starts_no_thread() {
        let live = Live::default();
        assert_eq!(live.finish().unwrap(), Ends::default());
    }
}
