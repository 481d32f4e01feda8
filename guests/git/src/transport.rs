//! Remote repositories over HTTP: libgit2 speaks the protocol, the host carries the messages, in one of two ways.
//!
//! An address that the operator allows for git (`--allow-git`) is the host's program's: one run of
//! `git-remote-http SERVICE get|post URL FILE` for each request, with what is sent as its standard input. What comes back lies
//! in FILE, which the host writes, because a pack can be larger than what one call may carry. Every other address is the
//! sandbox's own network's, as far as it leads there ([`web`](crate::web)).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use git2::Remote;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream, Transport};

use crate::host;
use crate::web::{Answer, Asked, Refusal, without_login};

/// Where answers lie until they have been read.
const FOLDER: &str = "/tmp";
/// The status of the host's program for an address that the operator does not allow for git.
const NOT_ALLOWED: u8 = 2;

/// The transport for `http://` and `https://`.
pub(crate) fn http(remote: &Remote<'_>) -> Result<Transport, git2::Error> {
    Transport::smart(remote, true, Http::default())
}

/// Where a repository has moved to: what is asked next is asked there.
type Moved = Arc<Mutex<Option<String>>>;

#[derive(Default)]
struct Http {
    moved: Moved,
}

impl SmartSubtransport for Http {
    fn action(&self, url: &str, action: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let (service, method) = match action {
            Service::UploadPackLs => ("git-upload-pack", "get"),
            Service::UploadPack => ("git-upload-pack", "post"),
            Service::ReceivePackLs => ("git-receive-pack", "get"),
            Service::ReceivePack => ("git-receive-pack", "post"),
        };
        let url = url.trim_end_matches('/').to_owned();
        let moved = Arc::clone(&self.moved);
        Ok(Box::new(Exchange { url, service, method, moved, sent: Vec::new(), answer: None }))
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// A question and its answer. It is asked when the answer is first read.
struct Exchange {
    url: String,
    service: &'static str,
    method: &'static str,
    moved: Moved,
    sent: Vec<u8>,
    answer: Option<Body>,
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is written after an answer is the next question.
        self.answer = None;
        self.sent.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Exchange {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.answer.is_none() {
            self.answer = Some(self.ask()?);
        }
        match &mut self.answer {
            Some(Body::Kept(kept)) => kept.file.read(into),
            Some(Body::Coming(answer)) => answer.read(into),
            None => Ok(0),
        }
    }
}

impl Exchange {
    fn ask(&mut self) -> io::Result<Body> {
        let sent = std::mem::take(&mut self.sent);
        let failed = |why: &str| io::Error::other(format!("unable to access '{}': {why}", self.shown()));
        let not_allowed = match self.program(&sent)? {
            Ok(kept) => return Ok(Body::Kept(kept)),
            Err((Some(NOT_ALLOWED), why)) => Some(why),
            Err((None, _)) => None,
            Err((_, why)) => return Err(failed(&why)),
        };
        match self.network(&sent) {
            Ok(answer) => Ok(Body::Coming(answer)),
            Err(Refusal { is_denied: false, why }) => Err(failed(&why)),
            Err(Refusal { why, .. }) => Err(failed(&match not_allowed {
                Some(first) => format!("{first}; {why}"),
                None => format!(
                    "this sandbox reaches no remote repositories; the operator allows them by address (--allow-git); {why}"
                ),
            })),
        }
    }

    /// Asks the host's program. The error is its exit status, or none if there is no such program, and what it says.
    fn program(&self, sent: &[u8]) -> io::Result<Result<Kept, (Option<u8>, String)>> {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let count = ASKED.fetch_add(1, Ordering::Relaxed);
        let path = format!("{FOLDER}/.git-remote-{}-{count}", stamp.as_nanos());
        // The host replaces a file that is there.
        let told = host::run(&[self.service, self.method, &self.url, &path], sent);
        let status = told.as_ref().map(|told| told.status);
        let told = match told {
            Some(told) if told.status == 0 => told,
            other => {
                let _ = fs::remove_file(&path);
                let why = other.map(|told| String::from_utf8_lossy(&told.errors).trim().to_owned());
                return Ok(Err((status, why.unwrap_or_default())));
            }
        };
        // A short answer comes as it is.
        if !told.output.is_empty() {
            fs::write(&path, &told.output)?;
        }
        let file = File::open(&path)?;
        Ok(Ok(Kept { file, path: path.into() }))
    }

    /// Asks over the sandbox's own network.
    fn network(&self, sent: &[u8]) -> Result<Answer, Refusal> {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let url = moved.as_deref().unwrap_or(&self.url);
        let sent = (self.method == "post").then_some(sent);
        let mut answer = Asked { url, service: self.service, sent }.send()?;
        if let Some(place) = answer.moved.take() {
            *moved = Some(place);
        }
        Ok(answer)
    }

    /// The address without a password.
    fn shown(&self) -> String {
        without_login(&self.url).0
    }
}

/// An answer that is read.
enum Body {
    /// In a file, as a whole.
    Kept(Kept),
    /// As it comes.
    Coming(Answer),
}

/// A file, which is gone when it has been read.
struct Kept {
    file: File,
    path: PathBuf,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
