//! Builds of packages: each in a machine of its own that has no record and no grants, and is gone afterwards.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::room::Kind;
use super::{Inner, Sandboxes};
use crate::packages::{Build, BuildMachines, Built, whole};
use crate::sandbox::{EntryKind, Files, Owner, SandboxSpec};
use crate::{Error, ErrorCode, EvalRequest, GuestPath, Language, Limits, Result};

/// Bytes kept of each stream of a build (1 MiB): why it failed stands at the end.
const OUTPUT: u64 = 1 << 20;

/// The machines of these sandboxes' first provider.
struct Machines(Weak<Inner>);

impl Sandboxes {
    /// Machines in which packages are built: with the memory, the disk and the time that a call here may have at most, and in the
    /// same room as sandboxes.
    pub fn build_machines(&self) -> Arc<dyn BuildMachines> {
        Arc::new(Machines(Arc::downgrade(&self.inner)))
    }

    async fn built(self, owner: Owner, build: Build) -> Result<Built> {
        let until = Instant::now() + self.policy().max_wait;
        let _room = self.find_room(Kind::Interpreter, &owner, until).await?;
        let _place = self.inner.admission.place(&owner).await?;
        let (default, ceiling) = (SandboxSpec::default(), &self.policy().ceiling);
        let memory = default.memory.min(ceiling.memory);
        let spec = SandboxSpec { memory, disk: default.disk.min(ceiling.disk), ..default };
        let mut request = EvalRequest::new(Language::python(), build.code);
        let output = OUTPUT.min(ceiling.output);
        request.context.limits = Limits { memory, output, wall: ceiling.wall, ..Limits::default() };
        self.inner.admission.admit(&mut request)?;
        // The build is the package's own code, which the operator's rule for snippets does not hold back.
        request.allow_eval = true;
        let run = async {
            let mut machine = self.inner.provider.machine(&spec, None).await?;
            for (path, bytes) in &build.files {
                machine.files().write(path, bytes).await?;
            }
            let outcome = machine.eval(request).await?;
            let file = only_file(machine.files(), &build.takes, build.most).await?;
            Ok(Built { outcome, file })
        };
        self.inner.admission.share(&owner, run).await
    }
}

#[async_trait]
impl BuildMachines for Machines {
    async fn build(&self, owner: &Owner, build: Build) -> Result<Built> {
        let inner = self.0.upgrade();
        let inner =
            inner.ok_or_else(|| Error::new(ErrorCode::Cancelled, "the sandboxes are being closed"))?;
        // In a task of its own: whoever waits for it may hold a turn at the processor, which the build needs.
        let mut tasks = JoinSet::new();
        tasks.spawn(Sandboxes { inner }.built(owner.clone(), build));
        let did_not_end = |error| Error::internal("the build of a package did not end", error);
        match tasks.join_next().await {
            Some(built) => built.map_err(did_not_end)?,
            None => Err(Error::new(ErrorCode::Internal, "the build of a package did not begin")),
        }
    }
}

/// The only file of a folder.
async fn only_file(
    files: &mut dyn Files,
    folder: &GuestPath,
    most: u64,
) -> Result<Option<(String, Vec<u8>)>> {
    let listed = match files.list(folder, false, 2).await {
        Ok((entries, _)) => entries,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let [entry] = &listed[..] else { return Ok(None) };
    if entry.kind != EntryKind::File {
        return Ok(None);
    }
    let bytes = whole(files, &GuestPath::parse(&format!("{folder}/{}", entry.path))?, most).await?;
    Ok(Some((entry.path.clone(), bytes)))
}
