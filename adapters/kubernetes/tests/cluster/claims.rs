//! Sandboxes from a pool: what is asked of the API server, and that nobody gets another's.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use dormouse_core::sandbox::{SandboxId, SandboxSpec, WarmPool};
use dormouse_core::testing::wait_until_async;
use dormouse_core::{ErrorCode, Provider as _};
use dormouse_files::{Files, MemoryChunks, Tree};
use dormouse_kubernetes::{KubernetesProvider, Mode, calls};
use serde_json::json;

use crate::list::FULL;
use crate::pools;
use crate::support::{Bench, PATIENCE, spec};

const MANY: usize = 100;

/// S2-15, and the promise about calls: one watch for all, and no more than three calls for each.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_claims_never_get_the_same_sandbox_and_ask_little() {
    let bench = Bench::processes(Mode::AgentSandbox, |_| {}).await;
    bench.fill(MANY + 1);
    // The first one looks at the template and at what the image has.
    let first = bench.machine().await;
    let before = bench.server.asked().len();
    let begin = Instant::now();
    let making = (0..MANY).map(|_| async {
        let provider = bench.provider.clone();
        tokio::spawn(async move { provider.machine(&spec(), None).await }).await.unwrap().unwrap()
    });
    let machines = futures::future::join_all(making).await;
    let took = begin.elapsed();
    let asked = bench.server.asked().split_off(before);
    let given: Vec<String> = bench
        .server
        .names("sandboxclaims")
        .iter()
        .map(|name| bench.server.get("sandboxclaims", name).unwrap()["status"]["sandbox"]["name"].to_string())
        .collect();
    assert_eq!(given.len(), MANY + 1);
    assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), MANY + 1, "nothing is given twice");
    let watches = asked.iter().filter(|(verb, ..)| verb == "watch" || verb == "list").count();
    println!("{MANY} claims in {took:?}, {} calls, {watches} of them for the watch", asked.len());
    assert_eq!(bench.server.count("watch", "sandboxclaims"), 1, "one watch for all");
    assert!(asked.len() <= 3 * MANY, "{}", asked.len());
    drop((first, machines));
    bench.end().await;
}

/// Makes the calls that are about what is kept of a sandbox. Programs on a volume are not run by processes of this machine, so that
/// nothing comes of them.
async fn keep(bench: &Bench) {
    let id = SandboxId::random().unwrap();
    let wake = async |state| bench.provider.machine_of(&id, &spec(), state).await.err().unwrap();
    wake(None).await;
    if bench.settings.mode == Mode::AgentSandbox {
        // One that rests, with the files of a state.
        let files = Files::new(Tree::default());
        let mut chunks = MemoryChunks::default();
        let saved = dormouse_files::save_alone(&files.snapshot(), &mut chunks).unwrap();
        let mut claim = pools::pool("rests", "full", 1);
        let owner = std::fs::read_to_string(bench.settings.state.as_ref().unwrap().join("kubernetes/owner"));
        let owner = owner.unwrap().lines().next().unwrap().to_owned();
        claim["kind"] = json!("SandboxClaim");
        claim["metadata"]["labels"] = json!({"dormouse.owner": owner, "dormouse.sandbox": id.as_str()});
        claim["spec"] = json!({"warmPoolRef": {"name": "full"}});
        bench.server.put("sandboxclaims", claim);
        let claim = || bench.server.get("sandboxclaims", "rests").unwrap();
        wait_until_async("it has a sandbox", PATIENCE, || claim()["status"]["sandbox"].is_object()).await;
        let mut claim = claim();
        let place = [&claim["metadata"]["uid"], &claim["status"]["sandbox"]["name"]];
        let save = format!("{} {}", saved.root, place.map(|part| part.as_str().unwrap()).join("/"));
        claim["metadata"]["annotations"] = json!({"dormouse.save": save, "dormouse.use": "rests"});
        bench.server.put("sandboxclaims", claim);
        let state = bench.provider.load(&saved, Arc::new(chunks)).unwrap();
        wake(Some(state)).await;
    } else {
        wake(None).await;
    }
    assert!(bench.provider.kept().await.unwrap().iter().all(|one| *one == id));
    bench.provider.forget(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_are_those_of_the_role_and_no_others() {
    for mode in [Mode::Pods, Mode::AgentSandbox] {
        let bench = Bench::processes(mode, |settings| settings.storage_class = Some("fast".into())).await;
        if mode == Mode::AgentSandbox {
            bench.fill(1);
        }
        let machine = bench.machine().await;
        drop(machine);
        let (server, settings) = (bench.server.clone(), bench.settings.clone());
        bench.provider.close().await;
        // What a template was found to be is remembered for a while.
        let bench = Bench { provider: KubernetesProvider::new(settings).unwrap(), ..bench };
        if mode == Mode::AgentSandbox {
            bench.server.put("sandboxtemplates", pools::keeping_template("full", FULL));
        }
        keep(&bench).await;
        let provider = bench.provider.clone();
        bench.end().await;
        drop(provider);
        let allowed: BTreeSet<(String, String, String)> = calls(mode)
            .iter()
            .map(|one| (one.verb.to_owned(), one.group.to_owned(), one.resource.to_owned()))
            .collect();
        let made: BTreeSet<_> = server.asked().into_iter().collect();
        assert!(made.is_subset(&allowed), "{mode:?}: {:?}", made.difference(&allowed).collect::<Vec<_>>());
        // `get` of a pod is for one that may have ended, and of a claim for what is noted at its end; `create` of a stream is what newer
        // servers ask for; and an apply of what is not there is a creation.
        let spared = [
            ("get", "pods"),
            ("get", "sandboxclaims"),
            ("create", "pods/exec"),
            ("create", "networkpolicies"),
        ];
        for (verb, _, resource) in allowed.difference(&made) {
            assert!(
                spared.contains(&(verb.as_str(), resource.as_str())),
                "{mode:?}: nobody needs {verb} {resource}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_pool_is_waited_for_and_one_that_is_required_is_busy() {
    let bench = Bench::processes(Mode::AgentSandbox, |_| {}).await;
    bench.fill(0);
    let require = SandboxSpec { warm_pool: WarmPool::Require, ..spec() };
    let error = bench.provider.machine(&require, None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::Busy);
    let machine = bench.machine().await;
    drop(machine);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_missing_or_deleted_is_named() {
    let bench = Bench::processes(Mode::AgentSandbox, |_| {}).await;
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
    assert!(error.message().contains("no SandboxWarmPool `full`"), "{error}");
    bench.fill(1);
    drop(bench.machine().await);
    bench.server.remove("sandboxwarmpools", "full");
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
    assert!(error.message().contains("WarmPoolNotFound"), "{error}");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_lets_something_out_is_refused_before_anything_is_claimed() {
    let bench = Bench::processes(Mode::AgentSandbox, |_| {}).await;
    bench.fill(1);
    let mut open = pools::template("full", "tools:1");
    open["spec"]["networkPolicy"]["egress"] = serde_json::json!([{}]);
    bench.server.put("sandboxtemplates", open);
    let error = bench.provider.machine(&spec(), None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
    assert!(error.message().contains("lets something out"), "{error}");
    assert!(bench.server.names("sandboxclaims").is_empty());
    let more = SandboxSpec { memory: 1 << 40, ..spec() };
    bench.server.put("sandboxtemplates", pools::template("full", "tools:1"));
    assert_eq!(bench.provider.machine(&more, None).await.err().unwrap().code(), ErrorCode::ArgsInvalid);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_is_had_by_the_images_and_pools_that_the_operator_names_and_by_no_others() {
    let network = |of: &str| {
        serde_json::from_value(json!({"for": [of], "to": ["198.51.100.0/24"], "dns": ["10.0.0.53"]})).unwrap()
    };
    let bench = Bench::processes(Mode::Pods, |settings| {
        settings.images.push("other:1".into());
        settings.network = Some(network("other:1"));
    })
    .await;
    assert_eq!(bench.provider.abilities().network, "outbound");
    let first = bench.machine().await;
    let other = SandboxSpec { image: Some("other:1".into()), ..spec() };
    let second = bench.provider.machine(&other, None).await.unwrap();
    let policies: Vec<_> = bench.server.names("networkpolicies");
    let policies: Vec<_> = policies
        .iter()
        .map(|name| bench.server.get("networkpolicies", name).unwrap()["spec"].clone())
        .collect();
    let word = |of: &serde_json::Value| of["dormouse.network"].as_str().map(str::to_owned);
    let selected: Vec<_> =
        policies.iter().filter_map(|spec| word(&spec["podSelector"]["matchLabels"])).collect();
    assert_eq!((policies.len(), selected.len()), (2, 1), "{policies:?}");
    let pods = bench.server.names("pods");
    let pods: Vec<_> = pods.iter().map(|name| bench.server.get("pods", name).unwrap()).collect();
    for pod in pods {
        let has = word(&pod["metadata"]["labels"]);
        let named = pod["spec"]["containers"][0]["image"] == "other:1";
        assert_eq!(has.as_ref(), named.then_some(&selected[0]), "{pod}");
    }
    drop((first, second));
    bench.end().await;
    let out = json!([{"to": [{"ipBlock": {"cidr": "198.51.100.7/32"}}]}]);
    for (of, taken) in [("full", true), ("other", false)] {
        let bench = Bench::processes(Mode::AgentSandbox, |settings| {
            settings.pools.push("other".into());
            settings.network = Some(network(of));
        })
        .await;
        bench.fill(1);
        let mut template = pools::template("full", "tools:1");
        template["spec"]["networkPolicy"]["egress"] = out.clone();
        bench.server.put("sandboxtemplates", template);
        assert_eq!(bench.provider.machine(&spec(), None).await.is_ok(), taken, "{of}");
        let steps = bench.provider.look().await;
        assert!(steps.iter().any(|step| step.name == "kubernetes network" && step.found.contains(of)));
        bench.end().await;
    }
}
