//! A pod's network by rules: what its programs reach through the gate, and nothing else.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dormouse_core::network::NetworkGrant;
use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{SandboxId, SandboxSpec};
use dormouse_core::testing::wait_for_async;
use dormouse_core::{ErrorCode, Provider as _};
use dormouse_kubernetes::{Mode, Network};

use crate::list::{FULL, line};
use crate::outside::{RULES, VALUE, World, python, run};
use crate::support::{Bench, PATIENCE, spec};

fn networked() -> (SandboxSpec, NetworkGrant) {
    let grant = NetworkGrant::default();
    (SandboxSpec { network: Some(grant.clone()), memory: 256 << 20, ..spec() }, grant)
}

/// NET-34, in both ways to have pods, and over both versions of the stream.
#[tokio::test(flavor = "multi_thread")]
async fn net_34_a_pod_reaches_what_rules_allow_and_nothing_else() {
    for (mode, old) in [(Mode::Pods, false), (Mode::Pods, true), (Mode::AgentSandbox, false)] {
        let Some(bench) = Bench::containers("net_34", mode).await else { return };
        bench.server.node.old.store(old, Ordering::Release);
        if mode == Mode::AgentSandbox {
            bench.fill_gated(1);
        }
        let world = World::new(RULES).await;
        let (spec, grant) = networked();
        let mut machine = bench.provider.machine(&spec, None).await.unwrap();
        let door = world.door(&SandboxId::random().unwrap(), "run1", &grant);
        let mut says = async |text: &str| run(&mut machine, &door, text).await.outcome;
        let header = r#""Authorization": "Bearer " + os.environ["KEY"]"#;
        let url = format!("https://a.test:{}/v1/x", world.https);
        let outcome = says(&python(&url, header)).await;
        let stars = "*".repeat(VALUE.len());
        let told = &outcome.stdout.text;
        assert!(told.starts_with(&format!("200 {stars} GET /v1/x")), "{told} {}", outcome.stderr.text);
        assert!(told.contains(&format!("authorization: Bearer {stars}")), "{told}");
        assert_eq!(outcome.network.unwrap().requests, 1);
        for (url, start) in [
            (format!("http://a.test:{}/v1/y", world.http), "200 "),
            (format!("https://a.test:{}/v2/y", world.https), "403 path "),
            ("http://169.254.169.254/latest/meta-data/".to_owned(), "403 host "),
        ] {
            let told = says(&python(&url, "")).await.stdout.text;
            assert!(told.starts_with(start), "{mode:?} {url}: {told}");
        }
        // A large body, in both directions of the stream.
        let many = format!(
            "python3 -c \"import urllib.request; print(len(urllib.request.urlopen('http://a.test:{}/v1/bytes/3000000').read()))\"",
            world.http
        );
        assert_eq!(says(&many).await.stdout.text, "3000000\n");
        // Neither the program nor its streams is the sandbox's, and it cannot write what it is told.
        let look = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '^./relay'; \
                    (echo x > /run/dormouse/ca.pem; rm -f /run/dormouse/ca.pem /run/dormouse/pid) 2>/dev/null; \
                    head -c 27 /run/dormouse/ca.pem; grep -c PRIVATE /run/dormouse/ca.pem; \
                    python3 -c \"import socket; socket.create_connection(('1.1.1.1', 80), 5)\" 2>&1 | tail -n 1";
        let told = says(look).await.stdout.text;
        let expected = "0\n-----BEGIN CERTIFICATE-----0\nOSError: [Errno 101] Network is unreachable\n";
        assert_eq!(told, expected);
        // Who ends all of its processes does not end what carries, and a stream that breaks off is made anew.
        says("kill -9 -1").await;
        assert!(says(&python(&url, "")).await.stdout.text.starts_with("200 "));
        bench.server.node.break_off();
        wait_for_async("the broken stream is seen", PATIENCE, async || {
            let told = run(&mut machine, &door, &python(&url, "")).await.outcome;
            if told.stdout.text.starts_with("200 ") { Ok(()) } else { Err(told.stdout.text) }
        })
        .await;
        assert!(world.audit().iter().all(|line| line["run"] == "run1") && world.accepted() >= 2);
        // One whose own container ends has ended, though the one beside it goes on.
        let pod = bench.server.names("pods").into_iter().find(|pod| running(&bench, pod)).unwrap();
        let killed = Command::new("docker").args(["kill", &bench.server.node.container(&pod)]).output();
        assert!(killed.unwrap().status.success());
        wait_for_async("its end is told", PATIENCE, async || {
            match machine.exec(line("true"), Arc::new(NoPrograms)).await {
                Err(error) if error.message().contains("ended") => Ok(()),
                other => Err(format!("{:?}", other.map(|ran| ran.outcome.status))),
            }
        })
        .await;
        drop(machine);
        bench.end().await;
    }
}

/// Whether a pod is one that was given to a sandbox.
fn running(bench: &Bench, pod: &str) -> bool {
    let asked = ["exec", &bench.server.node.container(pod), "ls", "/run/dormouse/ca.pem"];
    Command::new("docker").args(asked).output().is_ok_and(|ran| ran.status.success())
}

/// NET-34: one that asks for no network has nothing of it, and what cannot be bound by rules is refused.
#[tokio::test(flavor = "multi_thread")]
async fn net_34_a_pod_has_a_network_only_where_it_asked_and_rules_bind_it() {
    let bench = Bench::processes(Mode::Pods, |settings| {
        settings.images.push("open:1".into());
        let open = Network {
            of: vec!["open:1".into()],
            to: vec!["all".into()],
            except: Vec::new(),
            dns: Vec::new(),
        };
        settings.network = Some(open);
    })
    .await;
    let containers = |pod: &str| {
        let pod = bench.server.get("pods", pod).unwrap();
        pod["spec"]["containers"].as_array().unwrap().clone()
    };
    let names = || bench.server.names("pods");
    let plain = bench.machine().await;
    assert_eq!(containers(&names()[0]).len(), 1);
    drop(plain);
    let gone = async || if names().is_empty() { Ok(()) } else { Err(names()) };
    wait_for_async("it is gone", PATIENCE, gone).await;
    let (spec, _) = networked();
    let machine = bench.provider.machine(&spec, None).await.unwrap();
    let all = containers(&names()[0]);
    assert_eq!(all.len(), 2);
    // What confines the sandbox's own confines it too.
    assert_eq!(all[1]["securityContext"], all[0]["securityContext"]);
    assert!(all[1]["resources"]["limits"]["memory"].is_string() && all[1]["image"] == FULL);
    let labels = bench.server.get("pods", &names()[0]).unwrap()["metadata"]["labels"].clone();
    assert!(labels.get("dormouse.network").is_none(), "the policy lets nothing out: {labels}");
    drop(machine);
    let open = SandboxSpec { image: Some("open:1".into()), ..spec };
    let refused = bench.provider.check(&open).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CapabilityUnavailable);
    bench.end().await;
}

/// NET-34: a pool whose template has no container for it.
#[tokio::test(flavor = "multi_thread")]
async fn net_34_a_pool_without_a_gate_is_refused_to_who_asks_for_a_network() {
    let bench = Bench::processes(Mode::AgentSandbox, |_| {}).await;
    bench.fill(1);
    let (networked, _) = networked();
    let refused = bench.provider.machine(&networked, None).await.err().unwrap();
    assert_eq!(refused.code(), ErrorCode::CapabilityUnavailable);
    assert!(refused.message().contains("`gate`") && refused.hint().is_some(), "{refused}");
    // Its other sandboxes are as ever.
    drop(bench.machine().await);
    bench.end().await;
    let bench = Bench::processes(Mode::AgentSandbox, |_| {}).await;
    bench.fill_gated(1);
    drop(bench.provider.machine(&networked, None).await.unwrap());
    bench.end().await;
}
