//! What an independent client makes of what the provider has made: `kubectl`, whose place `DORMOUSE_KUBECTL` names.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::Arc;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Executed, Include, SandboxId};
use dormouse_core::testing::wait_until_async;
use dormouse_core::{ErrorCode, LineRequest, Outcome, Provider as _, Status};
use dormouse_kubernetes::Mode;
use serde_json::Value as Json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::support::{Bench, PATIENCE, patient, said, spec};

/// `kubectl`; none, said: nobody has told where it is.
fn installed() -> Option<PathBuf> {
    let place = std::env::var_os("DORMOUSE_KUBECTL").map(PathBuf::from);
    if place.is_none() {
        println!("skipped: kubectl: `DORMOUSE_KUBECTL` is not set");
    }
    place
}

/// Runs it with an input, for this cluster alone.
async fn kubectl(program: &PathBuf, bench: &Bench, words: &[&str], input: &[u8]) -> Output {
    let home = bench.settings.state.as_ref().unwrap();
    let mut child = Command::new(program)
        .arg("--kubeconfig")
        .arg(bench.settings.kubeconfig.as_ref().unwrap())
        .args(words)
        .env("HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).await.unwrap();
    tokio::time::timeout(PATIENCE, child.wait_with_output()).await.expect("kubectl ends").unwrap()
}

/// What it prints when it succeeds.
async fn told(program: &PathBuf, bench: &Bench, words: &[&str], input: &[u8]) -> String {
    let ran = kubectl(program, bench, words, input).await;
    assert!(ran.status.success(), "{words:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_reads_what_the_provider_makes_and_works_in_the_same_pod() {
    let Some(program) = installed() else { return };
    let change = |settings: &mut dormouse_kubernetes::Settings| {
        settings.storage_class = Some("fast".into());
        patient(settings);
    };
    let Some(bench) = Bench::containers_with("kubectl", Mode::Pods, change).await else { return };
    bench.server.store.lock().unwrap().groups.insert("networking.k8s.io".into(), "v1".into());
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo from the sandbox > note").await;

    let listed = async |kind: &str| {
        let text = told(&program, &bench, &["get", kind, "-l", "dormouse.owner", "-o", "json"], b"").await;
        let list: Json = serde_json::from_str(&text).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    let [pods, volumes, policies] =
        [listed("pods").await, listed("persistentvolumeclaims").await, listed("networkpolicies").await];
    assert_eq!((pods.len(), volumes.len(), policies.len()), (1, 1, 1));
    assert_eq!(volumes[0]["metadata"]["labels"]["dormouse.sandbox"], id.as_str());
    let pod = pods[0]["metadata"]["name"].as_str().unwrap();
    let shown = told(&program, &bench, &["get", "pods", "--no-headers"], b"").await;
    assert!(shown.starts_with(pod), "{shown}");

    // One file, seen and written from both sides, by the same user.
    let within = ["exec", "-i", pod, "--", "sh", "-c"];
    let reads = [&within[..], &["cat /workspace/note; cat > /workspace/theirs; id -u"]].concat();
    assert_eq!(told(&program, &bench, &reads, b"from kubectl\n").await, "from the sandbox\n65534\n");
    assert_eq!(said(machine.as_mut(), "cat theirs").await, "from kubectl\n");
    let fails = kubectl(&program, &bench, &[&within[..], &["echo err >&2; exit 7"]].concat(), b"").await;
    assert_eq!(fails.status.code(), Some(7), "{fails:?}");
    assert!(fails.stderr.starts_with(b"err\n"), "{fails:?}");

    // An administrator removes the pod: the sandbox says so, and goes on from what was saved.
    let state = machine.snapshot(Include::Both).await.unwrap();
    told(&program, &bench, &["delete", "pod", pod, "--wait=false", "--grace-period=0", "--force"], b"").await;
    let gone = || bench.server.names("pods").is_empty();
    wait_until_async("the pod is gone", PATIENCE, gone).await;
    // It is known before the line is sent, or found out by it.
    let lost = match machine.exec(LineRequest::new("cat note"), Arc::new(NoPrograms)).await {
        Err(error) => error,
        Ok(Executed { outcome: Outcome { status: Status::Stopped(error), .. }, .. }) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(lost.code(), ErrorCode::ProviderUnavailable, "{lost}");
    assert!(lost.hint().is_some_and(|hint| hint.contains("saved")), "{lost:?}");
    drop(machine);
    let mut machine = bench.provider.machine(&spec(), Some(state)).await.unwrap();
    assert_eq!(said(machine.as_mut(), "cat note theirs").await, "from the sandbox\nfrom kubectl\n");
    drop(machine);
    bench.end().await;
}
