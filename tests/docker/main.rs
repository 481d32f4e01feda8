//! The providers behind one surface: the same answers, files that go from one to the other, fallback, the worked examples.
//! Needs a container engine with the images of `cargo xtask engine images`. Without one each test says so and ends; with
//! DORMOUSE_REQUIRE_DOCKER=1 it fails instead.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]
#![allow(clippy::print_stderr, reason = "what a system does not let a test do is said")]

#[path = "../../adapters/kubernetes/tests/cluster/answers.rs"]
mod answers;
mod bounds;
mod cluster;
mod command_line;
mod confined;
#[path = "../../adapters/docker/tests/engine/failed.rs"]
mod failed;
mod fallback;
#[path = "../git/server.rs"]
mod git_server;
mod lazy;
mod network;
#[path = "../../adapters/kubernetes/tests/cluster/node.rs"]
#[allow(dead_code, reason = "what the provider's own tests need of it besides")]
#[allow(clippy::disallowed_methods, reason = "a node runs programs")]
mod node;
#[path = "../../adapters/kubernetes/tests/cluster/objects.rs"]
#[allow(dead_code, reason = "what the provider's own tests need of it besides")]
mod objects;
mod pods;
#[path = "../../adapters/kubernetes/tests/cluster/pools.rs"]
#[allow(dead_code, reason = "what the provider's own tests need of it besides")]
mod pools;
mod repository;
mod same;
mod scenario;
#[path = "../../adapters/kubernetes/tests/cluster/server.rs"]
#[allow(dead_code, reason = "what the provider's own tests need of it besides")]
mod server;
mod stalled;
#[path = "../../adapters/kubernetes/tests/cluster/streams.rs"]
#[allow(dead_code, reason = "what the provider's own tests need of it besides")]
mod streams;
mod variables;
mod workflow;

use std::path::Path;
use std::sync::Arc;

use dormouse::sandbox::{Handle, Owner, ProviderName};
use dormouse::sandboxes::Rules;
use dormouse::wasm::Allocation;
use dormouse::{Access, Dormouse, Grants, GuestPath, Mount, Policy, Provider as _};
use dormouse_docker::{DockerProvider, Settings};
use dormouse_kubernetes::Mode;
use dormouse_tests::{lasting, sandbox};
use dormouse_tools::{CallContext, Profile, Surface, Toolset};
use serde_json::{Value as Json, json};

use self::cluster::Cluster;

/// The image with bash, Python, Node and git.
const FULL: &str = "dormouse-test/full:1";
/// The warm pool whose template has that image.
const POOL: &str = "full";

/// An installation with wasm and one provider of containers.
struct Desk {
    dormouse: Dormouse,
    engine: Engine,
    folder: tempfile::TempDir,
}

/// What the containers are.
enum Engine {
    Docker(DockerProvider),
    Cluster(Cluster),
}

impl Desk {
    /// None, said: there is no engine here.
    fn new(test: &str) -> Option<Self> {
        Self::with(test, None, Rules::default())
    }

    fn with(test: &str, address: Option<&str>, rules: Rules) -> Option<Self> {
        Self::under(Policy::default(), test, address, rules)
    }

    fn under(policy: Policy, test: &str, address: Option<&str>, rules: Rules) -> Option<Self> {
        let provider = |folder: &Path| {
            let settings = Settings {
                address: address.map(str::to_owned),
                state: Some(folder.join("state")),
                images: vec![FULL.into()],
                roots: vec![folder.join("shared").canonicalize().unwrap()],
                warm: 0,
                ..Settings::default()
            };
            let provider = DockerProvider::new(settings).unwrap();
            (address.is_some() || is_there(test, &provider)).then(|| Engine::Docker(provider))
        };
        Self::of(policy, rules, provider)
    }

    /// Does the same over containers of an engine, over pods, and over pods of a warm pool, one after the other. What it is told is
    /// all that may differ.
    fn each(test: &str, work: impl Fn(&Self)) {
        let Some(docker) = Self::new(test) else { return };
        let mut desks = vec![docker];
        for mode in [Mode::Pods, Mode::AgentSandbox] {
            let cluster = |folder: &Path| Some(Engine::Cluster(Cluster::new(mode, folder)));
            let rules = Rules { container_memory: cluster::MEMORY, ..Rules::default() };
            desks.extend(Self::of(Policy::default(), rules, cluster));
        }
        for desk in desks {
            work(&desk);
            desk.close();
        }
    }

    fn of(policy: Policy, rules: Rules, engine: impl FnOnce(&Path) -> Option<Engine>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("shared")).unwrap();
        let policy = Policy { allow_writes: true, ..policy };
        let builder = Dormouse::builder().unwrap().policy(policy).allocation(Allocation::OnDemand);
        let dormouse = builder.state(folder.path().join("state")).rules(rules).build().unwrap();
        let engine = engine(folder.path())?;
        dormouse.sandboxes().unwrap().add_provider(match &engine {
            Engine::Docker(provider) => Arc::new(provider.clone()),
            Engine::Cluster(cluster) => Arc::new(cluster.provider.clone()),
        });
        Some(Self { dormouse, engine, folder })
    }

    /// The name of the provider of containers.
    fn provider(&self) -> ProviderName {
        match self.engine {
            Engine::Docker(_) => ProviderName::Docker,
            Engine::Cluster(_) => ProviderName::Kubernetes,
        }
    }

    /// What a sandbox is made of that has bash, Python, Node and git.
    fn image(&self) -> &'static str {
        match &self.engine {
            Engine::Cluster(cluster) if cluster.mode == Mode::AgentSandbox => POOL,
            _ => FULL,
        }
    }

    /// The arguments by which the program has this engine.
    fn arguments(&self) -> Vec<String> {
        match &self.engine {
            Engine::Docker(_) => vec!["--docker-image".into(), FULL.into()],
            Engine::Cluster(cluster) => cluster.arguments(),
        }
    }

    /// What of this engine is left.
    fn left(&self) -> Vec<String> {
        match &self.engine {
            Engine::Docker(provider) => sandbox::wait(provider.left()).unwrap(),
            Engine::Cluster(cluster) => sandbox::wait(cluster.provider.left()).unwrap(),
        }
    }

    /// The tools of a profile, with the folder `shared` at `/shared` where containers can have folders of this host.
    fn surface(&self, profile: Profile) -> Surface {
        let mount = Mount {
            source: self.folder.path().join("shared").canonicalize().unwrap(),
            target: GuestPath::parse("/shared").unwrap(),
            access: Access::ReadOnly,
        };
        let mounts = matches!(self.engine, Engine::Docker(_)).then_some(mount).into_iter().collect();
        Surface::new(self.dormouse.runtime().clone())
            .with_profile(profile)
            .with_grants(&Grants { mounts, ..Grants::default() })
            .with_tools(Toolset::All)
            .unwrap()
    }

    /// What a tool answers.
    #[track_caller]
    fn call(&self, tool: &str, arguments: Json) -> Json {
        let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
        let surface = self.surface(Profile::Sandbox);
        sandbox::wait(surface.call(tool, arguments, CallContext::default())).unwrap().structured
    }

    /// A sandbox in a container.
    #[track_caller]
    fn container(&self, name: &str) -> Json {
        let made = self.call("sandbox_create", json!({"name": name, "image": self.image()}));
        let provider = json!(self.provider().as_str());
        assert_eq!((&made["provider"], &made["error"]), (&provider, &json!(null)), "{made}");
        made
    }

    /// Runs a command line.
    #[track_caller]
    fn exec(&self, name: &str, line: &str) -> Json {
        self.call("sandbox_exec", json!({"sandbox": name, "command": line, "timeout_ms": 60_000}))
    }

    /// Ends everything; nothing of it is left on the engine.
    fn close(self) {
        let kept = lasting::sandboxes(&self.dormouse);
        for view in sandbox::wait(kept.list(&Owner::local(), None, None, 100)).unwrap() {
            let handle = Handle::IdOrName(view.sandbox.id.as_str());
            sandbox::wait(lasting::sandboxes(&self.dormouse).destroy(&Owner::local(), &handle)).unwrap();
        }
        sandbox::wait(lasting::sandboxes(&self.dormouse).close()).unwrap();
        let left = self.left();
        assert!(left.is_empty(), "left on the engine: {left:?}");
        if let Engine::Cluster(cluster) = &self.engine {
            cluster.close();
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        failed::remove_what_is_left(&self.folder.path().join("state"));
    }
}

/// Whether the engine and its images are there.
fn is_there(test: &str, provider: &DockerProvider) -> bool {
    let required = std::env::var_os("DORMOUSE_REQUIRE_DOCKER").is_some_and(|value| value == "1");
    let why = match sandbox::wait(provider.ready()) {
        Ok(()) => match sandbox::wait(provider.has_image(FULL)) {
            Ok(true) => return true,
            Ok(false) => format!("the image {FULL} is not there (cargo xtask engine images)"),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    assert!(!required, "{test} must run: {why}");
    eprintln!("skipped {test}: {why}");
    false
}

/// A snippet's answer without what differs from run to run and from provider to provider.
fn told(mut answer: Json) -> Json {
    let fields = answer.as_object_mut().unwrap();
    for name in ["duration_ms", "memory_peak_bytes", "provider", "sandbox_id"] {
        fields.shift_remove(name);
    }
    answer
}
