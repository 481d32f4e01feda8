//! What can go wrong with an API server, and what then is said.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dormouse_core::testing::{wait_for_async, wait_until_async};
use dormouse_core::{ErrorCode, Provider as _};
use dormouse_kubernetes::{KubernetesProvider, Mode};
use futures::FutureExt as _;
use serde_json::json;

use crate::server::Wrong;
use crate::support::{Bench, PATIENCE, spec};

/// KUB-11: answers that refuse, each told as what it is.
#[tokio::test(flavor = "multi_thread")]
async fn kub_11_what_the_api_server_refuses_is_told_as_what_it_is() {
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    drop(bench.machine().await);
    let cases = [
        (
            401,
            "Unauthorized",
            "Unauthorized",
            ErrorCode::ProviderUnavailable,
            "does not accept the credentials",
        ),
        (
            403,
            "Forbidden",
            "pods is forbidden: User cannot create",
            ErrorCode::ProviderUnavailable,
            "may not do that",
        ),
        (403, "Forbidden", "exceeded quota: compute, requested: cpu=1", ErrorCode::Busy, "quota is used up"),
        (
            400,
            "BadRequest",
            "admission webhook \"x\" denied the request: no",
            ErrorCode::CapabilityUnavailable,
            "a policy",
        ),
        (409, "AlreadyExists", "already exists", ErrorCode::ProviderUnavailable, "409"),
        (422, "Invalid", "spec is wrong", ErrorCode::CapabilityUnavailable, "refuses it"),
        (500, "InternalError", "etcd is gone", ErrorCode::ProviderUnavailable, "etcd is gone"),
    ];
    for (status, reason, message, code, part) in cases {
        bench.server.fail("create pods", 1, Wrong::Status(status, reason, message));
        let error = bench.provider.machine(&spec(), None).await.err().unwrap();
        assert_eq!(error.code(), code, "{status} {message}: {error}");
        assert!(error.message().contains(part) && error.hint().is_some(), "{error:?}");
    }
    bench.server.fail("create pods", 1, Wrong::Silence);
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    // Too many requests are made again when the server says.
    let begin = Instant::now();
    bench.server.fail("create pods", 1, Wrong::Status(429, "TooManyRequests", "slow down"));
    drop(bench.machine().await);
    assert!(begin.elapsed() < Duration::from_secs(20));
    bench.end().await;
}

/// KUB-12: a watch that ends, and a place in it that the server has forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn kub_12_a_watch_that_ends_or_is_too_old_misses_nothing() {
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    let machine = bench.machine().await;
    let pod = bench.server.names("pods").remove(0);
    wait_until_async("it is watched", PATIENCE, || bench.server.count("watch", "pods") == 1).await;
    // While nobody watches the pod goes away, and the server forgets that it was there.
    bench.server.fail("watch pods", 2, Wrong::Status(500, "InternalError", "not now"));
    bench.server.hang_up();
    bench.server.remove("pods", &pod);
    bench.server.forget();
    let gone = async || if machine.is_gone() { Ok(()) } else { Err("it is there") };
    wait_for_async("the pod is known to be gone", PATIENCE, gone).await;
    drop(machine);
    let machine = bench.machine().await;
    assert!(!machine.is_gone());
    drop(machine);
    bench.end().await;
}

/// KUB-13: a pod, or a claim, that never becomes ready.
#[tokio::test(flavor = "multi_thread")]
async fn kub_13_what_never_becomes_ready_is_given_up_and_removed() {
    let bench = Bench::processes(Mode::Pods, |settings| settings.ready_within_ms = 500).await;
    bench.server.node.idle.store(false, Ordering::Release);
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    assert!(error.message().contains("was not ready within 500 ms"), "{error}");
    let server = bench.server.clone();
    wait_until_async("the pod is removed", PATIENCE, || server.names("pods").is_empty()).await;
    // One that says that it cannot be started is not waited for.
    let stuck = tokio::spawn(async move {
        wait_until_async("a pod is made", PATIENCE, || !server.names("pods").is_empty()).await;
        let pod = server.names("pods").remove(0);
        let waiting =
            json!({"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}});
        server.status("pods", &pod, json!({"phase": "Pending", "containerStatuses": [waiting]}));
    });
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    stuck.await.unwrap();
    assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
    assert!(error.message().contains("no such image"), "{error}");
    bench.end().await;
}

/// KUB-14: what a killed process left behind, and what another installation has in the same namespace.
#[tokio::test(flavor = "multi_thread")]
async fn kub_14_what_the_dead_left_is_removed_and_what_others_have_is_not() {
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    let machine = bench.machine().await;
    let living = bench.server.names("pods").remove(0);
    let mut dead = bench.server.get("pods", &living).unwrap();
    dead["metadata"]["name"] = json!("dormouse-dead");
    dead["metadata"]["labels"]["dormouse.process"] = json!("0".repeat(32));
    let mut others = dead.clone();
    others["metadata"]["name"] = json!("dormouse-others");
    others["metadata"]["labels"]["dormouse.owner"] = json!("f".repeat(32));
    bench.server.put("pods", dead);
    bench.server.put("pods", others);
    let again = KubernetesProvider::new(bench.settings.clone()).unwrap();
    drop(again.machine(&spec(), None).await.unwrap());
    let server = bench.server.clone();
    wait_until_async("the dead one is removed", PATIENCE, || server.get("pods", "dormouse-dead").is_none())
        .await;
    again.close().await;
    assert!(server.get("pods", &living).is_some() && server.get("pods", "dormouse-others").is_some());
    assert!(!machine.is_gone());
    drop(machine);
    bench.end().await;
}

/// KUB-15: a server that goes away and comes back.
#[tokio::test(flavor = "multi_thread")]
async fn kub_15_a_pod_that_could_not_be_removed_is_removed_later() {
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    let machine = bench.machine().await;
    bench.server.fail("delete pods", 3, Wrong::Status(500, "InternalError", "not now"));
    drop(machine);
    let server = bench.server.clone();
    wait_until_async("it is removed", PATIENCE, || server.names("pods").is_empty()).await;
    assert!(server.count("delete", "pods") >= 4);
    // A caller who gives up leaves nothing either.
    bench.server.fail("create pods", 1, Wrong::Late(Duration::from_millis(200)));
    assert!(bench.provider.machine(&spec(), None).now_or_never().is_none());
    bench.end().await;
}
