//! The way of a pod's programs to their proxy: a program of ours in the container beside the sandbox's own ([`crate::gate`]). It takes
//! connections on the loopback that both have, and carries them over its standard streams, by `pods/exec`, to this process.
//!
//! Owns: how the program comes there and is started. Does not own: what it carries ([`dormouse_containers::relay`]).
//!
//! Whoever connects is in the pod, and nobody else is. When this process ends so do the streams, and with them the program.

use std::sync::Arc;

use bytes::Bytes;
use dormouse_containers::exec::speak;
use dormouse_containers::program::{Exec, Program};
use dormouse_containers::relay::{Carrying, PORT, PROGRAM, TOLD, argv, authorities, url};
use dormouse_containers::{Reached, Way};
use dormouse_core::network::Proxy;
use dormouse_core::{Error, Result};
use futures::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::fault::unavailable;
use crate::gate;
use crate::pod::RunningPod;

/// Writes what comes into a file of the folder; `$2`: its name, `$3`: its mode.
const WRITE: &str = r#"umask 022; cd "$1" && cat > "$2.new" && chmod "$3" "$2.new" && mv -f "$2.new" "$2""#;
/// Becomes the program in `$1`, after one of before is ended: its stream may have broken off without its hearing of it.
const START: &str = r#"cd "$1" || exit 1
shift
[ ! -s pid ] || kill -9 "$(cat pid)" 2>/dev/null
echo "$$" > pid && exec "$@""#;

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
        return Err(gate::missing(&pod.reference));
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
    let at = (pod.own.pod.as_str(), Some(gate::CONTAINER), false);
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
