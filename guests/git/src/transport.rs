//! Remote repositories over HTTP: libgit2 speaks the protocol, the host carries the messages.
//!
//! A request is one run of the host's program: `git-remote-http SERVICE get|post URL FILE`, with what is sent as its standard
//! input. What comes back lies in FILE, which the host writes, because a pack can be larger than what one call may carry.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use git2::Remote;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream, Transport};

use crate::host;

/// Where answers lie until they have been read.
const FOLDER: &str = "/tmp";

/// The transport for `http://` and `https://`.
pub(crate) fn http(remote: &Remote<'_>) -> Result<Transport, git2::Error> {
    Transport::smart(remote, true, Http)
}

struct Http;

impl SmartSubtransport for Http {
    fn action(&self, url: &str, action: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let (service, method) = match action {
            Service::UploadPackLs => ("git-upload-pack", "get"),
            Service::UploadPack => ("git-upload-pack", "post"),
            Service::ReceivePackLs => ("git-receive-pack", "get"),
            Service::ReceivePack => ("git-receive-pack", "post"),
        };
        let url = url.trim_end_matches('/').to_owned();
        Ok(Box::new(Exchange { url, service, method, sent: Vec::new(), answer: None }))
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
        self.answer.as_mut().map_or(Ok(0), |body| body.file.read(into))
    }
}

impl Exchange {
    fn ask(&mut self) -> io::Result<Body> {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let count = ASKED.fetch_add(1, Ordering::Relaxed);
        let path = format!("{FOLDER}/.git-remote-{}-{count}", stamp.as_nanos());
        // The host replaces a file that is there.
        let sent = std::mem::take(&mut self.sent);
        let told = host::run(&[self.service, self.method, &self.url, &path], &sent);
        let failed = |why: String| {
            let _ = fs::remove_file(&path);
            Err(io::Error::other(format!("unable to access '{}': {why}", self.url)))
        };
        let Some(told) = told else {
            return failed(
                "this sandbox reaches no remote repositories; the operator allows them by address (--allow-git)".into(),
            );
        };
        if told.status != 0 {
            return failed(String::from_utf8_lossy(&told.errors).trim().to_owned());
        }
        // A short answer comes as it is.
        if !told.output.is_empty() {
            fs::write(&path, &told.output)?;
        }
        let file = File::open(&path)?;
        Ok(Body { file, path: path.into() })
    }
}

/// An answer, which is gone when it has been read.
struct Body {
    file: File,
    path: PathBuf,
}

impl Drop for Body {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
