//! A sandbox as a pod of its own, made when it is needed.

use std::sync::Arc;

use dormouse_containers::random;
use dormouse_core::sandbox::{SandboxSpec, WarmPool};
use dormouse_core::{Error, ErrorCode, Result};

use crate::kinds::Kind;
use crate::manifest;
use crate::pod::{Made, RunningPod};
use crate::shared::Shared;
use crate::size::Size;
use crate::state;

/// Makes one, and waits until it is ready.
///
/// # Errors
/// `busy` when one that waits is required; what keeps the cluster from it.
pub(crate) async fn create(shared: &Arc<Shared>, image: &str, spec: &SandboxSpec) -> Result<RunningPod> {
    if spec.warm_pool == WarmPool::Require {
        return Err(Error::new(ErrorCode::Busy, "no started pod waits for a sandbox like this").with_hint(
            "pods are always made anew; ask for `prefer`, or have the operator use agent-sandbox",
        ));
    }
    let name = format!("dormouse-{}", random()?);
    let size = Size::of(spec, &shared.settings);
    let pod = manifest::pod(&shared.settings, &shared.identity.labels(), (&name, image), &size);
    let mut made = Made::create(shared, Kind::Pod, &name, pod).await?;
    made.ready(state::of_pod, image).await?;
    let own = (name, Some(manifest::CONTAINER.to_owned()), shared.settings.helper_image.is_some());
    RunningPod::new(shared, made, own, (image.to_owned(), size.memory)).await
}
