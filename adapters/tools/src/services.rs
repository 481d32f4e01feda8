//! What all tools over sandboxes that last share: the sandboxes, the folders of the host, skills and models.
//!
//! Owns: how a call's sandbox is found, and made where a call may make it.

use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use dormouse_core::fair::Fair;
use dormouse_core::network::NetworkGrant;
use dormouse_core::sandbox::{
    Handle, Name, Owner, Phase, Sandbox, SandboxId, SandboxSpec, SessionKey, SpecMount,
};
use dormouse_core::sandboxes::Asked;
use dormouse_core::{Access, Error, Grants, Result, Sandboxes};
use sha2::{Digest as _, Sha256};

use crate::host::HostFolders;
use crate::offered::Offered;
use crate::skills::Skills;
use crate::spec::{Role, arguments, text};

/// Longest id, name or key that is looked up, in bytes. What is longer than a name can be is merely not there.
pub(crate) const MAX_HANDLE: usize = 64 << 10;
/// Bytes of a hash that tell a folder from others.
const MARK: usize = 8;

/// What all of these tools share.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) sandboxes: Sandboxes,
    /// What the operator grants new sandboxes.
    pub(crate) granted: Grants,
    pub(crate) host: HostFolders,
    /// The key of the one sandbox that the profiles `rlm` and `codegen` work in, if it is not the usual one.
    pub(crate) session: Option<SessionKey>,
    /// The mark of the folder that the server was started in, if that sandbox is the folder's own.
    pub(crate) started_in: Option<String>,
    /// What new sandboxes see of instructions and scripts.
    pub(crate) skills: Skills,
    pub(crate) offered: Offered,
    /// The turn of an archive that is unpacked: one at a time, owners in turns. That computes beside the threads that serve everybody.
    pub(crate) archives: Arc<Fair>,
}

arguments! {
    /// The two ways to name a sandbox.
    pub(crate) struct Target {
        sandbox: Option<String> = text(
            MAX_HANDLE,
            "Id or name of the sandbox, as sandbox_create or sandbox_list tells it. Give it or `session_key`.",
        ).characters(Name::MAX_CHARS).role(Role::Sandbox).optional(),
        session_key: Option<String> = text(
            MAX_HANDLE,
            "The key of your own that the sandbox was made with, instead of `sandbox`.",
        ).characters(SessionKey::MAX_CHARS).role(Role::SessionKey).optional(),
    }
}

impl Target {
    /// Of these two, as a call names a sandbox.
    pub(crate) fn new(sandbox: Option<String>, session_key: Option<String>) -> Self {
        Self { sandbox, session_key }
    }

    /// The sandbox that is named.
    ///
    /// # Errors
    /// `args_invalid` when none or two are named.
    pub(crate) fn handle(&self) -> Result<Handle<'_>> {
        match (&self.sandbox, &self.session_key) {
            (Some(name), None) => Ok(Handle::IdOrName(name)),
            (None, Some(key)) => Ok(Handle::SessionKey(key)),
            (None, None) => Err(Error::args_invalid("no sandbox is named").with_hint(
                "give `sandbox`, its id or name, or `session_key`; sandbox_list lists the existing ones",
            )),
            (Some(_), Some(_)) => {
                Err(Error::args_invalid("a sandbox is named by `sandbox` and by `session_key`")
                    .with_hint("give one of the two"))
            }
        }
    }
}

impl Services {
    /// The sandbox that is meant, which must be there.
    ///
    /// # Errors
    /// `args_invalid` when none or two are named; `unknown_sandbox`.
    pub(crate) fn there(&self, target: &Target, owner: &Owner) -> Result<Sandbox> {
        self.sandboxes.find(owner, &target.handle()?)
    }

    /// Destroys the sandbox that is meant, also one whose record is damaged.
    ///
    /// # Errors
    /// `args_invalid` when none or two are named; `unknown_sandbox`.
    pub(crate) async fn destroy(&self, target: &Target, owner: &Owner) -> Result<Sandbox> {
        self.sandboxes.destroy(owner, &target.handle()?).await
    }

    /// The sandbox that is meant. If it is meant by its key and is not there, it is made (S2-16).
    ///
    /// # Errors
    /// As [`Services::there`], and of [`Sandboxes::create`].
    pub(crate) async fn get_or_create(&self, target: &Target, owner: &Owner) -> Result<Sandbox> {
        match target.handle()? {
            Handle::SessionKey(key) => self.with_key(key, owner).await,
            handle => self.sandboxes.find(owner, &handle),
        }
    }

    /// The same for a run that needs a network: a sandbox that is made here has it.
    ///
    /// # Errors
    /// As [`Services::get_or_create`]; `network_denied` for a sandbox that was made without one.
    pub(crate) async fn get_or_create_with_network(&self, target: &Target, owner: &Owner) -> Result<Sandbox> {
        let sandbox = match target.handle()? {
            Handle::SessionKey(key) => self.made_by_key(key, owner, Some(NetworkGrant::default())).await?,
            handle => self.sandboxes.find(owner, &handle)?,
        };
        self.sandboxes.has_network(owner, &found(&sandbox))?;
        Ok(sandbox)
    }

    /// What a sandbox is that nothing is asked of: the operator's numbers and folders.
    pub(crate) fn spec(&self, writes: bool) -> SandboxSpec {
        let access = |asked: Access| if writes { asked } else { Access::ReadOnly };
        let mounts = self.granted.mounts.iter().map(|mount| SpecMount {
            source: mount.source.clone(),
            target: mount.target.clone(),
            access: access(mount.access),
        });
        let defaults = &self.sandboxes.rules().defaults;
        SandboxSpec {
            mounts: defaults.mounts.iter().cloned().chain(mounts).collect(),
            environment: self.granted.environment.clone(),
            ..defaults.clone()
        }
    }

    /// The key of the one sandbox that a profile works in.
    pub(crate) fn key_of(&self, profile: &str) -> String {
        match (&self.session, &self.started_in) {
            (Some(key), _) => key.as_str().to_owned(),
            (None, Some(folder)) => format!("{profile}-{folder}"),
            (None, None) => profile.to_owned(),
        }
    }

    /// The sandbox of a session key, made if it is not there.
    ///
    /// # Errors
    /// As [`Sandboxes::create`].
    pub(crate) async fn with_key(&self, key: &str, owner: &Owner) -> Result<Sandbox> {
        self.made_by_key(key, owner, None).await
    }

    /// The same; `network` is what it has if it is made here.
    async fn made_by_key(&self, key: &str, owner: &Owner, network: Option<NetworkGrant>) -> Result<Sandbox> {
        let key = SessionKey::parse(key)?;
        let handle = Handle::SessionKey(key.as_str());
        if let Ok(record) = self.sandboxes.find(owner, &handle)
            && record.phase != Phase::Creating
        {
            return Ok(record);
        }
        let spec = SandboxSpec { network, ..self.spec(false) };
        let asked = Asked { session_key: Some(key), spec: Some(spec), ..Asked::default() };
        Ok(self.sandboxes.create(owner, asked).await?.0.sandbox)
    }
}

/// What tells a folder from others in a key: the beginning of a hash of its path.
pub(crate) fn mark_of(folder: &Path) -> String {
    let hash = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    HEXLOWER.encode(&hash[..MARK])
}

/// The handle of a sandbox whose record has been found: it is not looked up by its name once more.
pub(crate) fn found(record: &Sandbox) -> Handle<'_> {
    Handle::Found(record)
}

/// The handle of an id.
pub(crate) fn by_id(id: &SandboxId) -> Handle<'_> {
    Handle::IdOrName(id.as_str())
}
