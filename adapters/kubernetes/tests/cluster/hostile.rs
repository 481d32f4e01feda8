//! What can go wrong with an API server, and what then is said.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dormouse_core::testing::{wait_for_async, wait_until_async};
use dormouse_core::{ErrorCode, Provider as _, Recovery, Status};
use dormouse_kubernetes::{KubernetesProvider, Mode};
use futures::FutureExt as _;
use serde_json::json;

use crate::server::Wrong;
use crate::support::{Bench, PATIENCE, line, spec};

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
    bench.server.fail("create pods", 1, Wrong::Busy(1));
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
    // One that has not made anything yet does it as well, when it is asked to.
    let mut dead = server.get("pods", "dormouse-others").unwrap();
    dead["metadata"]["name"] = json!("dormouse-dead");
    dead["metadata"]["labels"]["dormouse.owner"] =
        server.get("pods", &living).unwrap()["metadata"]["labels"]["dormouse.owner"].clone();
    server.put("pods", dead);
    let third = KubernetesProvider::new(bench.settings.clone()).unwrap();
    third.tidy().await.unwrap();
    wait_until_async("the dead one is removed", PATIENCE, || server.get("pods", "dormouse-dead").is_none())
        .await;
    third.close().await;
    assert!(server.get("pods", &living).is_some());
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

/// Has the user of a kubeconfig be another one.
fn change_user(kubeconfig: &std::path::Path, user: &serde_json::Value) {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config["users"][0]["user"].clone_from(user);
    std::fs::write(kubeconfig, config.to_string()).unwrap();
}

/// KUB-30: credentials that are replaced, or expire, in the middle of a call.
#[tokio::test(flavor = "multi_thread")]
async fn kub_30_a_token_that_expires_is_read_anew_and_the_call_goes_on() {
    let mut file = std::path::PathBuf::new();
    let bench = Bench::processes(Mode::Pods, |settings| {
        let kubeconfig = settings.kubeconfig.clone().unwrap();
        file = kubeconfig.with_file_name("token");
        std::fs::write(&file, "one\n").unwrap();
        change_user(&kubeconfig, &json!({"tokenFile": &file}));
    })
    .await;
    let accept = |token: &str| bench.server.store.lock().unwrap().token = Some(token.into());
    let refused = || bench.server.store.lock().unwrap().refused;
    accept("one");
    drop(bench.machine().await);
    assert_eq!(refused(), 0);
    std::fs::write(&file, "two\n").unwrap();
    accept("two");
    drop(bench.machine().await);
    assert!(refused() > 0);
    // One that nobody replaces is told, and the next one is taken as soon as it is there.
    accept("three");
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    assert!(error.message().contains("does not accept the credentials"), "{error}");
    std::fs::write(&file, "three\n").unwrap();
    drop(bench.machine().await);
    // The same for what stands in the kubeconfig itself, a moment later.
    change_user(bench.settings.kubeconfig.as_ref().unwrap(), &json!({"token": "four"}));
    accept("four");
    let works =
        async || bench.provider.machine(&spec(), None).await.map(drop).map_err(|error| error.to_string());
    wait_for_async("the new kubeconfig is read", PATIENCE, works).await;
    bench.end().await;
}

/// KUB-31: a cluster whose clock is years off.
#[tokio::test(flavor = "multi_thread")]
async fn kub_31_what_a_cluster_says_of_times_decides_nothing() {
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    let machine = bench.machine().await;
    let name = bench.server.names("pods").remove(0);
    for time in ["1999-01-01T00:00:00Z", "2199-01-01T00:00:00Z"] {
        let mut pod = bench.server.get("pods", &name).unwrap();
        pod["metadata"]["creationTimestamp"] = json!(time);
        pod["status"]["startTime"] = json!(time);
        bench.server.put("pods", pod);
        // Another process of the installation looks for what the dead left.
        let again = KubernetesProvider::new(bench.settings.clone()).unwrap();
        drop(again.machine(&spec(), None).await.unwrap());
        again.close().await;
        assert!(bench.server.get("pods", &name).is_some() && !machine.is_gone());
    }
    drop(machine);
    bench.end().await;
}

/// KUB-33: a server that has too much to do.
#[tokio::test(flavor = "multi_thread")]
async fn kub_33_too_many_requests_are_made_again_when_the_server_says_and_not_waited_for_for_ever() {
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    drop(bench.machine().await);
    let begin = Instant::now();
    bench.server.fail("create pods", 2, Wrong::Busy(1));
    drop(bench.machine().await);
    assert!(begin.elapsed() >= Duration::from_secs(2));
    bench.server.fail("create pods", 5, Wrong::Busy(0));
    drop(bench.machine().await);
    // Who cannot wait for so long hears it at once.
    let begin = Instant::now();
    bench.server.fail("create pods", 1, Wrong::Busy(3600));
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::Busy, "{error}");
    assert!(begin.elapsed() < Duration::from_secs(10));
    bench.end().await;
}

/// KUB-34: webhooks that refuse, or are not there, at each call that they can see.
#[tokio::test(flavor = "multi_thread")]
async fn kub_34_a_webhook_that_refuses_is_told_and_nothing_is_left() {
    let denied =
        Wrong::Status(403, "Forbidden", "admission webhook \"w.example\" denied the request: not here");
    let away = "failed calling webhook \"w.example\": context deadline exceeded";
    let bench = Bench::processes(Mode::Pods, |_| {}).await;
    for call in ["patch networkpolicies", "create pods", "get pods/exec"] {
        bench.server.fail(call, 1, denied.clone());
        let error = bench.provider.machine(&spec(), None).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable, "{call}: {error}");
        assert!(error.message().contains("not here"), "{call}: {error}");
        bench.server.fail(call, 1, Wrong::Status(500, "InternalError", away));
        let error = bench.provider.machine(&spec(), None).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{call}: {error}");
        assert!(error.message().contains("w.example"), "{call}: {error}");
    }
    // A pod that may not be removed just now is removed later.
    bench.server.fail("delete pods", 2, denied);
    drop(bench.machine().await);
    bench.end().await;
}

/// KUB-32: an API server that is away in the middle of a command, while the connection stays.
#[tokio::test(flavor = "multi_thread")]
async fn kub_32_a_silence_in_the_middle_of_a_command_is_survived_and_an_endless_one_is_told() {
    // Asked every 750 ms, and given up after the sixth time.
    let change = |settings: &mut dormouse_kubernetes::Settings| settings.answer_within_ms = 1_500;
    let Some(bench) = Bench::containers_with("kub_32", Mode::Pods, change).await else { return };
    let mut machine = bench.machine().await;
    let server = bench.server.clone();
    let silent = |after: u64, long: u64| {
        let server = server.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(after)).await;
            server.node.hold_still(true);
            tokio::time::sleep(Duration::from_millis(long)).await;
            server.node.hold_still(false);
        })
    };
    let away = silent(500, 2_000);
    let ended = line(machine.as_mut(), "sleep 1; echo one; sleep 2; echo two").await.outcome;
    away.await.unwrap();
    assert_eq!((ended.exit_code(), ended.stdout.text.as_str()), (0, "one\ntwo\n"), "{ended:?}");
    let begin = Instant::now();
    let away = silent(1_500, 8_000);
    let ended = line(machine.as_mut(), "sleep 25").await.outcome;
    let Status::Stopped(error) = &ended.status else { panic!("{ended:?}") };
    assert_eq!((error.code(), ended.recovery), (ErrorCode::ProviderUnavailable, Some(Recovery::Earlier)));
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    away.await.unwrap();
    drop(machine);
    bench.end().await;
}
