//! The way of a pod's programs to their proxy, and by that to what the operator's rules let out: a container beside the sandbox's own in
//! the same pod. A program of ours takes connections there, on the loopback that both have, and carries them over its standard streams,
//! by `pods/exec`, to this process.
//!
//! Owns: that container, what is put into it, and the lines of a template for it. Does not own: the program, nor what goes through the
//! proxy ([`dormouse_containers::relay`]).
//!
//! It needs no network, so the policy of the pod's lets nothing out and nothing in. Whoever connects is in the pod, and nobody else is.
//! When this process ends so do the streams, and with them the program.

use std::sync::Arc;

use bytes::Bytes;
use dormouse_containers::exec::speak;
use dormouse_containers::program::{Exec, Program};
use dormouse_containers::relay::{Carrying, PORT, PROGRAM, TOLD, argv, authorities, url};
use dormouse_containers::{Reached, Way};
use dormouse_core::network::Proxy;
use dormouse_core::{Error, ErrorCode, Result};
use futures::StreamExt as _;
use serde_json::{Value as Json, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::fault::unavailable;
use crate::pod::RunningPod;
use crate::settings::Settings;
use crate::state::text;

/// The container.
const CONTAINER: &str = "gate";
/// The volume that it shares with the sandbox's own, and how large that is.
const VOLUME: &str = "dormouse-gate";
const BYTES: u64 = 4 << 20;
/// Bytes of memory, and thousandths of a core.
pub(crate) const MEMORY: u64 = 64 << 20;
pub(crate) const CPU_MILLIS: u32 = 250;
/// Writes what comes into a file of the folder; `$2`: its name, `$3`: its mode.
const WRITE: &str = r#"umask 022; cd "$1" && cat > "$2.new" && chmod "$3" "$2.new" && mv -f "$2.new" "$2""#;
/// Becomes the program in `$1`, after one of before is ended: its stream may have broken off without its hearing of it.
const START: &str = r#"cd "$1" || exit 1
shift
[ ! -s pid ] || kill -9 "$(cat pid)" 2>/dev/null
echo "$$" > pid && exec "$@""#;

/// Whether sandboxes of an image, or a pool, can have a network by rules, as far as is known before there is a pod.
///
/// # Errors
/// `capability_unavailable` where they have one of the cluster, or there is no program for it.
pub(crate) fn can_be(settings: &Settings, offered: &str) -> Result<()> {
    let refuse =
        |what: String, hint: &str| Err(Error::new(ErrorCode::CapabilityUnavailable, what).with_hint(hint));
    if settings.network_of(offered).is_some() {
        return refuse(
            format!(
                "sandboxes of `{offered}` reach addresses of the cluster's network, so that rules would not bind them"
            ),
            "leave `network` out, or use an image or a pool that the operator does not name in `network.for`",
        );
    }
    if PROGRAM.is_empty() {
        return refuse(
            "a pod cannot reach the gate from here".into(),
            "run this on Linux, or leave `network` out",
        );
    }
    Ok(())
}

/// The container, confined as the one whose fields these are. `keep`: the script that keeps it running.
pub(crate) fn container(image: &str, keep: &str, security: &Json, resources: &Json) -> Json {
    json!({
        "name": CONTAINER,
        "image": image,
        "command": ["sh", "-c", keep],
        "securityContext": security,
        "resources": resources,
        "volumeMounts": [{"name": VOLUME, "mountPath": TOLD}],
    })
}

/// What mounts in the sandbox's container what it is told.
pub(crate) fn mount() -> Json {
    json!({"name": VOLUME, "mountPath": TOLD, "readOnly": true})
}

/// The volume that it is in.
pub(crate) fn volume() -> Json {
    json!({"name": VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": BYTES.to_string()}})
}

/// Whether there is one beside the sandbox's own, which can read what it writes and cannot write there.
pub(crate) fn is_there(own: &Json, containers: &[Json]) -> bool {
    let mounted = |container: &Json| {
        let mounts = container.pointer("/volumeMounts").and_then(Json::as_array);
        let mount = mounts.into_iter().flatten().find(|mount| text(mount, "/mountPath") == Some(TOLD))?;
        let only_read = mount.get("readOnly").and_then(Json::as_bool) == Some(true);
        Some((text(mount, "/name")?.to_owned(), only_read))
    };
    let beside = containers.iter().find(|one| text(one, "/name") == Some(CONTAINER));
    match (mounted(own), beside.and_then(mounted)) {
        (Some((own, true)), Some((other, false))) => own == other,
        _ => false,
    }
}

/// A pool whose template has none.
pub(crate) fn missing(pool: &str) -> Error {
    Error::new(
        ErrorCode::CapabilityUnavailable,
        format!("the template of the pool `{pool}` has no container `{CONTAINER}`, by which rules let something out"),
    )
    .with_hint("the guide for Kubernetes has the lines that it lacks; or leave `network` out")
}

/// What to do where the container is not what it should be. It is not started again.
const AGAIN: &str = "stop the sandbox: its next call goes on in another pod";

/// The program, and what it carries. Dropped, the stream to it is closed, and it ends.
struct Through(Carrying);

impl Way for Through {
    fn is_open(&self) -> bool {
        self.0.is_open()
    }
}

/// Lets the programs of a pod reach a proxy.
///
/// # Errors
/// `capability_unavailable` for a pod that has no such container; `provider_unavailable`.
pub(crate) async fn open(pod: &RunningPod, proxy: Arc<dyn Proxy>) -> Result<Reached> {
    if !pod.own.has_gate {
        return Err(missing(&pod.reference));
    }
    let within = pod.shared.patience.answer_within;
    let opening = async {
        write(pod, "relay", "555", Bytes::from_static(PROGRAM)).await?;
        write(pod, "ca.pem", "444", Bytes::copy_from_slice(proxy.authorities().as_bytes())).await?;
        let words = ["sh", "-c", START, "dormouse", TOLD].map(str::to_owned);
        let argv = words.into_iter().chain(argv("./relay")).collect();
        let (input, said) = speak(start(pod, argv).await?, None);
        Carrying::begin(said, input, proxy, pod.own.pod.clone()).await.map_err(|error| {
            let told = format!("the way to the gate cannot be made: port {PORT} of the pod may be taken");
            unavailable(told).with_hint(AGAIN).with_source(error)
        })
    };
    let opened = timeout(within, opening).await;
    let carrying = opened.map_err(|_| pod.shared.patience.slow("reach the gate from a pod", within))??;
    Ok(Reached { url: url(), authorities: authorities(), way: Box::new(Through(carrying)) })
}

async fn start(pod: &RunningPod, argv: Vec<String>) -> Result<Program> {
    let at = (pod.own.pod.as_str(), Some(CONTAINER), false);
    crate::exec::program(&pod.shared.cluster, at, &Exec { argv, ..Exec::default() }, true).await
}

/// Writes a file where the sandbox's programs can only read it.
async fn write(pod: &RunningPod, name: &str, mode: &str, bytes: Bytes) -> Result<()> {
    let argv = ["sh", "-c", WRITE, "dormouse", TOLD, name, mode].map(str::to_owned).into();
    let Program { mut output, mut input, status } = start(pod, argv).await?;
    let feed = async {
        // One that ends before it has read all says so by its status.
        let _sent = input.write_all(&bytes).await;
        let _ended = input.shutdown().await;
    };
    let hear = async {
        while let Some(piece) = output.next().await {
            piece?;
        }
        Ok::<_, Error>(())
    };
    let ((), heard) = tokio::join!(feed, hear);
    heard?;
    match status.await? {
        0 => Ok(()),
        code => {
            let told = format!("could not tell a pod of its network (status {code})");
            Err(unavailable(told).with_hint(AGAIN))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_container_is_known_by_its_name_and_by_the_folder_that_both_have() {
        let none = json!({});
        let beside = container("i", "keep", &none, &none);
        let own = json!({"name": "sandbox", "volumeMounts": [mount()]});
        assert!(is_there(&own, &[own.clone(), beside.clone()]));
        assert!(!is_there(&own, &[own.clone()]), "nothing is beside it");
        let other =
            json!({"name": "sandbox", "volumeMounts": [{"name": "x", "mountPath": TOLD, "readOnly": true}]});
        assert!(!is_there(&other, &[other.clone(), beside.clone()]), "another folder");
        let writes = json!({"name": "sandbox", "volumeMounts": [{"name": VOLUME, "mountPath": TOLD}]});
        assert!(!is_there(&writes, &[writes.clone(), beside]), "the sandbox would write there");
    }

    /// NET-34: rules beside a network that they do not know of.
    #[test]
    fn net_34_rules_are_refused_where_the_image_has_a_network_of_the_cluster() {
        let text = r#"{"images": ["a:1", "b:1"], "network": {"for": ["a:1"], "to": ["all"]}}"#;
        let settings = Settings { gate: true, ..Settings::read(text).unwrap() };
        assert_eq!(can_be(&settings, "a:1").unwrap_err().code(), ErrorCode::CapabilityUnavailable);
        can_be(&settings, "b:1").unwrap();
        let spec = dormouse_core::sandbox::SandboxSpec::default();
        assert!(settings.has_gate("b:1", &spec) && !settings.has_gate("a:1", &spec));
        let settings = Settings { gate: false, ..settings };
        assert!(!settings.has_gate("b:1", &spec), "one that asks for nothing has nothing");
    }
}
