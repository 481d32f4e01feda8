//! Projects and archives that lie in the sandbox itself: built like source distributions, and chosen in the version that they have.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormouse_core::packages::{Local, LocalContent};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};
use pep440_rs::Version;
use pep508_rs::PackageName;
use serde_json::json;

use super::metadata::Metadata;
use super::resolve::Known;
use super::sdist::{Made, PLACE, Unbuilt};
use super::wheel::{Candidate, Project, described};
use super::{Call, MAX_TEXT, requirement};
use crate::archive::{self, Unpacked};
use crate::source::blocking;

/// A wheel of what lies in the sandbox.
pub(super) struct Taken {
    name: PackageName,
    version: Version,
    metadata: Arc<Metadata>,
}

/// Where a package comes from that is not from an index.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) path: GuestPath,
    pub(crate) editable: bool,
}

impl Origin {
    /// What `direct_url.json` says of it (PEP 610).
    pub(crate) fn direct_url(&self) -> String {
        let info = if self.editable { json!({"editable": true}) } else { json!({}) };
        json!({"url": format!("file://{}", self.path), "dir_info": info}).to_string()
    }

    /// A file of an editable package that names the folder where it was built, with that where it lies.
    pub(crate) fn moved(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(bytes).ok()?;
        Some(text.replace(&format!("{PLACE}/source"), self.path.as_str()).into_bytes())
    }
}

impl Call<'_> {
    /// Builds what lies in the sandbox, and requires it in the version that it has.
    ///
    /// # Errors
    /// `capability_unavailable` for what cannot be built, and where nothing is built.
    pub(super) async fn take_local(&mut self, all: &[Local]) -> Result<Vec<Taken>> {
        let mut taken = Vec::new();
        for local in all {
            let (label, packed) = match self.wheel_of_local(local).await? {
                Ok(made) => made,
                Err(unbuilt) => return Err(refused(local, unbuilt)),
            };
            let Some((name, version)) = described(&label, self.environment.minor) else {
                let why = format!("`{label}` is no wheel of pure Python for this sandbox");
                return Err(refused(local, Unbuilt::by_itself(&why)));
            };
            let read = label.clone();
            let (text, packed) = blocking(move || {
                (archive::wheel_file(&read, &packed, ".dist-info/METADATA", MAX_TEXT), packed)
            })
            .await?;
            let metadata = Metadata::read(&text?, &name, &version, &self.environment);
            if let Some(why) = &metadata.unusable {
                return Err(refused(local, Unbuilt::by_itself(why)));
            }
            let wanted = requirement::parse(&format!("{name}{}=={version}", local.extras))?;
            self.wanted.requirements.push(wanted);
            let mut kept = self.kept();
            kept.built.insert((name.clone(), version.clone()), (label, packed));
            let origin = Origin { path: local.path.clone(), editable: local.editable };
            kept.origins.insert(name.clone(), origin);
            drop(kept);
            taken.push(Taken { name, version, metadata: Arc::new(metadata) });
        }
        Ok(taken)
    }

    async fn wheel_of_local(&self, local: &Local) -> Result<Made> {
        let label = local.path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
        let files = match &local.content {
            LocalContent::Archive(bytes) if label.ends_with(".whl") => return Ok(Ok((label, bytes.clone()))),
            LocalContent::Archive(bytes) => {
                let (bytes, room) = (bytes.clone(), self.settings.bounds.unpacked);
                blocking(move || archive::source(&label, &bytes, room)).await??
            }
            LocalContent::Project(files) => {
                let unpacked = |(path, bytes): &(String, Vec<u8>)| Unpacked {
                    path: path.clone(),
                    bytes: bytes.clone(),
                    executable: false,
                };
                files.iter().map(unpacked).collect()
            }
        };
        self.built(local.path.as_str(), &files, local.editable).await
    }
}

impl Known {
    /// Has what lies in the sandbox be the only choice, whatever was installed of it before.
    pub(super) fn take_local(&mut self, all: &[Taken]) {
        for Taken { name, version, metadata } in all {
            let candidates = BTreeMap::from([(version.clone(), Candidate::Built)]);
            self.projects.insert(name.clone(), Arc::new(Project { candidates, ..Project::default() }));
            self.metadata.insert((name.clone(), version.clone()), metadata.clone());
            self.present.remove(name);
        }
    }
}

fn refused(local: &Local, Unbuilt { why, hint }: Unbuilt) -> Error {
    Error::new(ErrorCode::CapabilityUnavailable, format!("`{}` cannot be installed: {why}", local.path))
        .with_hint(hint)
}
