//! Repositories that this host clones for containers: git itself runs in a sandbox of this process, which is gone when the files
//! have been put into the container. What a server is told of who comes stays with the host.

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::sandbox::{Contents, Entry, EntryKind, Handle};
use dormouse_core::{Error, ErrorCode, Grants, GuestPath, Result, Sandboxes};
use serde_json::{Map, Value as Json};
use tokio::sync::Mutex;

use crate::estate::{Estate, Installation, KEY, MakeSurface};

/// The folder that a repository is cloned into, here as there.
pub(crate) const FOLDER: &str = "/workspace";
/// A folder that every sandbox has beside what is cloned.
const OUTPUTS: &str = "outputs";

/// Whether the operator lets this host clone from an address; an error says what to do.
pub type MayClone = dyn Fn(&str) -> Result<()> + Send + Sync;

/// Clones repositories.
#[async_trait]
pub trait Repositories: Send + Sync {
    /// Whether the operator lets this host clone from an address. Connects to nothing.
    ///
    /// # Errors
    /// `capability_unavailable`, `args_invalid`.
    fn check(&self, address: &str) -> Result<()>;

    /// The files of a repository, `.git` among them, on this branch or on its own. To be ended; dropped, nothing of it is left.
    ///
    /// # Errors
    /// As [`Repositories::check`]; `args_invalid` with what git said.
    async fn cloned(&self, address: &str, branch: Option<&str>) -> Result<Arc<dyn Contents>>;
}

/// Those that this host clones in its own sandboxes, within the bounds of those.
pub struct HostRepositories {
    may: Arc<MayClone>,
    /// None: addresses are checked, and nothing can be cloned.
    over: Option<Installation>,
}

impl HostRepositories {
    /// Over an installation's sandboxes, which reach the addresses that `may` lets pass. `make` gives a surface with them.
    pub fn new(may: Arc<MayClone>, sandboxes: Sandboxes, make: Arc<MakeSurface>) -> Self {
        Self { may, over: Some(Installation { sandboxes, make }) }
    }

    /// Checks addresses and clones nothing.
    pub fn checking(may: Arc<MayClone>) -> Self {
        Self { may, over: None }
    }
}

#[async_trait]
impl Repositories for HostRepositories {
    fn check(&self, address: &str) -> Result<()> {
        (self.may)(address)
    }

    async fn cloned(&self, address: &str, branch: Option<&str>) -> Result<Arc<dyn Contents>> {
        self.check(address)?;
        let Some(over) = &self.over else {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "this source checks, and clones nothing"));
        };
        let (owner, estate) = over.estate()?;
        let mut arguments: Map<String, Json> = Map::new();
        arguments.insert("repo".into(), address.into());
        arguments.extend(branch.map(|branch| ("branch".to_owned(), branch.into())));
        // Whatever the operator prefers: git is a guest here.
        arguments.insert("provider".into(), "wasm".into());
        let made = async {
            over.create(arguments, &Grants::default(), &owner).await?;
            over.sandboxes.contents(&owner, &Handle::SessionKey(KEY), GuestPath::parse(FOLDER)?)
        };
        match made.await {
            Ok(contents) => Ok(Arc::new(Cloned { contents, estate: Mutex::new(Some(estate)) })),
            Err(error) => {
                if let Err(left) = estate.end().await {
                    tracing::warn!(error = %left, "a sandbox of a source is left");
                }
                Err(error)
            }
        }
    }
}

/// A repository, and the sandbox that it lies in.
struct Cloned {
    contents: Box<dyn Contents>,
    estate: Mutex<Option<Estate>>,
}

#[async_trait]
impl Contents for Cloned {
    async fn list(&self) -> Result<Vec<Entry>> {
        let mut listed = self.contents.list().await?;
        // A repository has no empty folders.
        let below = format!("{OUTPUTS}/");
        if !listed.iter().any(|entry| entry.path.starts_with(&below)) {
            listed.retain(|entry| entry.path != OUTPUTS || entry.kind != EntryKind::Folder);
        }
        Ok(listed)
    }

    async fn read(&self, path: &str, offset: u64, most: u64) -> Result<Vec<u8>> {
        self.contents.read(path, offset, most).await
    }

    async fn end(&self) -> Result<()> {
        let estate = self.estate.lock().await.take();
        match estate {
            Some(estate) => estate.end().await,
            None => Ok(()),
        }
    }
}
