//! A sandbox as a pod of its own, made when it is needed.

use std::sync::Arc;

use dormouse_containers::random;
use dormouse_containers::volume::Content;
use dormouse_core::sandbox::{SandboxId, SandboxSpec, WarmPool};
use dormouse_core::{Error, ErrorCode, Result};

use crate::kinds::{CONTAINER, Kind};
use crate::pod::{Made, Own, RunningPod};
use crate::shared::Shared;
use crate::size::Size;
use crate::{keep, manifest, state, volumes};

/// Makes one, and waits until it is ready. With the volume of a sandbox, if that can be had.
///
/// # Errors
/// `busy` when one that waits is required; what keeps the cluster from it.
pub(crate) async fn create(
    shared: &Arc<Shared>,
    image: &str,
    spec: &SandboxSpec,
    id: Option<&SandboxId>,
) -> Result<RunningPod> {
    if spec.warm_pool == WarmPool::Require {
        return Err(Error::new(ErrorCode::Busy, "no started pod waits for a sandbox like this").with_hint(
            "pods are always made anew; ask for `prefer`, or have the operator use agent-sandbox",
        ));
    }
    let name = format!("dormouse-{}", random()?);
    let size = Size::of(spec, &shared.settings);
    let used = volumes::of(shared, id, &name, &size).await;
    let mut labels = shared.identity.labels();
    if let (Some(_), Some(id)) = (&used, id) {
        labels.insert(keep::SANDBOX.into(), id.to_string());
    }
    let volume = used.as_ref().map(|used| used.name());
    let has_gate = shared.settings.has_gate(image, spec);
    let pod = manifest::pod(&shared.settings, &labels, (&name, image), &size, (volume, has_gate));
    let mut made = Made::create(shared, Kind::Pod, &name, pod, used).await?;
    if let Err(error) = made.ready(state::of_pod, image).await {
        if let Some(used) = &made.used {
            // It may be in a place where there is no room, or on a node that is gone. The next pod begins with another one.
            used.volume.note(Content::Useless);
        }
        return Err(error);
    }
    let own = Own {
        pod: name,
        container: Some(CONTAINER.to_owned()),
        helped: shared.settings.helper_image.is_some(),
        has_gate,
    };
    RunningPod::new(shared, made, own, (image.to_owned(), size.memory)).await
}
