//! The folder that a server was started in: read below once its client has named it as a root of its own.
//!
//! Owns: whether it is. A client decides nothing else: what it names besides is not looked at.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Root;

/// How long a call waits for a client that has been asked and has not answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the client has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Said {
    /// It was not asked, or it did not name the folder.
    #[default]
    No,
    /// It has been asked.
    Asked,
    /// It named the folder, or one that holds it.
    Yes,
}

/// The folder, and what the client has said.
pub(super) struct Offered {
    root: Arc<Root>,
    said: watch::Sender<Said>,
}

impl Offered {
    pub(super) fn new(root: Arc<Root>) -> Self {
        Self { root, said: watch::Sender::default() }
    }

    /// The client is being asked for its roots.
    pub(super) fn ask(&self) {
        self.said.send_replace(Said::Asked);
    }

    /// The client's roots, as addresses. What is no folder of this machine is none.
    pub(super) fn named(&self, addresses: &[String]) {
        let holds = |address: &String| {
            let folder = folder(address);
            folder.is_some_and(|folder| self.root.names.iter().any(|name| name.starts_with(&folder)))
        };
        let said = if addresses.iter().any(holds) { Said::Yes } else { Said::No };
        tracing::info!(opened = said == Said::Yes, "the client has told its roots");
        self.said.send_replace(said);
    }

    /// The folder, if the client has named it. An answer that is under way is waited for.
    pub(super) async fn settled(&self) {
        let mut said = self.said.subscribe();
        let _ = timeout(PATIENCE, said.wait_for(|said| *said != Said::Asked)).await;
    }

    /// The folder, if the client has named it.
    pub(super) fn root(&self) -> Option<&Arc<Root>> {
        (*self.said.borrow() == Said::Yes).then_some(&self.root)
    }
}

/// The folder of an address `file:///…`.
fn folder(address: &str) -> Option<std::path::PathBuf> {
    let path = address.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Path::new(path.as_ref()).is_absolute().then(|| Path::new(path.as_ref()).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_holds_the_folder_counts() {
        let place = tempfile::tempdir().unwrap();
        let started = place.path().join("a project");
        std::fs::create_dir(&started).unwrap();
        let offered = Offered::new(Root::open(&started).unwrap());
        let text = started.to_str().unwrap();
        assert!(offered.root().is_none(), "nobody has named it");
        for (address, counts) in [
            (format!("file://{}", text.replace(' ', "%20")), true),
            (format!("file://localhost{text}"), true),
            (format!("file://{}", place.path().display()), true),
            (format!("file://{text}/below"), false),
            (format!("file://{text}2"), false),
            (format!("file://elsewhere{text}"), false),
            ("file:///elsewhere".into(), false),
            ("https://elsewhere/".into(), false),
            ("file://%ff".into(), false),
            (String::new(), false),
        ] {
            offered.ask();
            assert!(offered.root().is_none(), "it is being asked");
            offered.named(&["file:///nowhere".into(), address.clone()]);
            offered.settled().await;
            assert_eq!(offered.root().is_some(), counts, "{address}");
        }
        offered.named(&[]);
        assert!(offered.root().is_none(), "it is taken back");
    }
}
