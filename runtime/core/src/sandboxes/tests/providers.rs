//! Two providers: who runs a sandbox, and what becomes of it when that one cannot be had.

use std::time::Duration;

use super::fakes::{SOON, World, code, rules};
use crate::sandbox::{
    Handle, Include, Ledger as _, Name, ProviderName, Quota, SandboxId, SandboxSpec, SessionKey, StopReason,
    WarmPool,
};
use crate::sandboxes::{Asked, Rules, View, telling};
use crate::testing::{FakeProvider, wait_until_async};
use crate::{ErrorCode, EvalRequest, Language, Outcome, Result};

struct Two {
    world: World,
    containers: FakeProvider,
}

impl Two {
    fn new(rules: Rules) -> Self {
        let (world, containers) = (World::new(rules), FakeProvider::containers());
        world.sandboxes.add_provider(std::sync::Arc::new(containers.clone()));
        Self { world, containers }
    }

    async fn make(&self, name: &str, image: Option<&str>) -> Result<View> {
        self.ask(name, image, false).await
    }

    async fn ask(&self, name: &str, image: Option<&str>, wants_provider: bool) -> Result<View> {
        let spec = SandboxSpec {
            provider: ProviderName::Docker,
            image: image.map(str::to_owned),
            ..SandboxSpec::default()
        };
        let session_key = Some(SessionKey::parse(name).unwrap());
        let asked =
            Asked { name: Some(Name::parse(name).unwrap()), session_key, spec: Some(spec), wants_provider };
        Ok(self.world.sandboxes.create(&self.world.owner, asked).await?.0)
    }

    /// The same, the engine away.
    fn down(self) -> World {
        self.containers.set_down(true);
        self.world
    }

    async fn eval(&self, code: &str) -> Result<Outcome> {
        self.world.eval("box", code).await
    }

    async fn file(&self) -> String {
        let path = crate::GuestPath::parse("/workspace/a").unwrap();
        let (owner, sandboxes) = (&self.world.owner, &self.world.sandboxes);
        let bytes = sandboxes.read(owner, &Handle::IdOrName("box"), path, 0, 100).await.unwrap().bytes;
        String::from_utf8(bytes).unwrap()
    }
}

#[tokio::test]
async fn s2_13_a_sandbox_is_run_by_the_provider_that_it_asked_for() {
    let two = Two::new(rules());
    two.make("box", Some("good")).await.unwrap();
    let outcome = two.eval("write /workspace/a 1").await.unwrap();
    assert_eq!((outcome.provider, outcome.fallback_from), ("docker", None));
    assert_eq!((two.containers.woken(), two.world.provider.woken()), (1, 0));
    two.world.create("other").await;
    assert_eq!(two.world.eval("other", "hi").await.unwrap().provider, "fake");
    // What is wrong with the request is no reason to run it elsewhere.
    assert_eq!(code(two.make("worse", Some("bad")).await), Some(ErrorCode::ArgsInvalid));
}

#[tokio::test]
async fn s3_16_without_its_provider_a_sandbox_is_the_first_ones_and_says_so() {
    let two = Two::new(rules());
    two.containers.set_down(true);
    let view = two.make("box", Some("good")).await.unwrap();
    assert_eq!(view.sandbox.spec.provider, ProviderName::Docker, "a moment costs it nothing");
    let (outcome, told) = telling(two.eval("hi")).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.provider, outcome.fallback_from), ("fake", Some("docker")));
    assert_eq!(told.fallback_from, Some("docker"));
    // So does what is no run.
    two.eval("write /workspace/a 1").await.unwrap();
    assert_eq!(telling(two.file()).await.1.fallback_from, Some("docker"));
    // While it is awake it stays where it is.
    two.containers.set_down(false);
    assert_eq!(two.eval("hi").await.unwrap().provider, "fake");
    let handle = Handle::IdOrName("box");
    two.world.sandboxes.stop(&two.world.owner, &handle, StopReason::User).await.unwrap();
    let (outcome, told) = telling(two.eval("hi")).await;
    assert_eq!((outcome.unwrap().provider, told.fallback_from), ("docker", None));
    // Where there is none at all, it is the first one's for good.
    let alone = World::new(rules());
    let spec = SandboxSpec { provider: ProviderName::Docker, ..SandboxSpec::default() };
    let made = alone.sandboxes.create(&alone.owner, Asked { spec: Some(spec), ..Asked::default() }).await;
    let spec = made.unwrap().0.sandbox.spec;
    assert_eq!((spec.provider, spec.fallback_from), (ProviderName::Wasm, Some(ProviderName::Docker)));
}

/// Whichever call comes next says that work is lost; one that was saved loses nothing.
#[tokio::test]
async fn con_34_a_container_that_ends_while_nobody_calls_is_told_by_the_next_call() {
    let two = Two::new(rules());
    two.make("box", Some("good")).await.unwrap();
    two.eval("write /workspace/a 1").await.unwrap();
    two.containers.set_down(true);
    let (_, told) = telling(two.eval("hi")).await;
    let lost = told.unsaved.unwrap();
    assert_eq!(lost.code(), ErrorCode::ProviderUnavailable);
    assert!(lost.message().contains("lost") && lost.hint().is_some(), "{lost}");
    two.containers.set_down(false);
    let handle = Handle::IdOrName("box");
    two.world.sandboxes.stop(&two.world.owner, &handle, StopReason::User).await.unwrap();
    assert!(telling(two.eval("hi")).await.1.unsaved.is_none());
}

/// A container that must be running already is nothing that wasm could take the place of.
#[tokio::test]
async fn con_06_a_warm_container_that_is_required_has_no_fallback() {
    for world in [Two::new(rules()).down(), World::new(rules())] {
        let spec = SandboxSpec {
            provider: ProviderName::Docker,
            warm_pool: WarmPool::Require,
            ..SandboxSpec::default()
        };
        let asked = Asked { spec: Some(spec), ..Asked::default() };
        let error = world.sandboxes.create(&world.owner, asked).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("warm_pool")), "{:?}", error.hint());
    }
}

#[test]
fn the_usual_memory_is_that_of_who_runs_it() {
    let (wasm, docker) = (ProviderName::Wasm, ProviderName::Docker);
    let usual = |rules: &Rules| (rules.usual_memory(wasm), rules.usual_memory(docker));
    let rules = Rules::default();
    assert_eq!(usual(&rules), (512 << 20, 2 << 30));
    // Where the operator prefers containers, a sandbox that wants to be wasm's is not asked for a container's memory.
    let spec = SandboxSpec { provider: docker, memory: rules.container_memory, ..SandboxSpec::default() };
    let ceiling = SandboxSpec { memory: 64 << 20, ..SandboxSpec::default() };
    assert_eq!(usual(&Rules { defaults: spec, ceiling, ..rules }), (64 << 20, 2 << 30));
}

#[tokio::test]
async fn a_provider_that_the_caller_wants_is_had_or_there_is_no_sandbox() {
    let two = Two::new(rules());
    two.containers.set_down(true);
    assert_eq!(code(two.ask("box", None, true).await), Some(ErrorCode::ProviderUnavailable));
    assert_eq!(code(two.eval("hi").await), Some(ErrorCode::UnknownSandbox));
    two.containers.set_down(false);
    let made = two.ask("box", None, true).await.unwrap();
    two.containers.set_down(true);
    // Its key means the one that is there.
    assert_eq!(two.ask("box", None, true).await.unwrap().sandbox.id, made.sandbox.id);
}

#[tokio::test]
async fn without_fallback_a_provider_that_is_missing_is_an_error() {
    let two = Two::new(Rules { fallback: false, ..rules() });
    two.containers.set_down(true);
    assert_eq!(code(two.make("box", None).await), Some(ErrorCode::ProviderUnavailable));
    let alone = World::new(Rules { fallback: false, ..rules() });
    let spec = SandboxSpec { provider: ProviderName::Docker, ..SandboxSpec::default() };
    let made = alone.sandboxes.create(&alone.owner, Asked { spec: Some(spec), ..Asked::default() }).await;
    assert_eq!(code(made), Some(ErrorCode::ProviderUnavailable));
}

/// Files go with the sandbox in both directions; what was not saved yet is lost with the machine.
#[tokio::test]
async fn con_06_a_sandbox_whose_provider_breaks_goes_on_with_what_was_saved() {
    let two = Two::new(rules());
    two.make("box", None).await.unwrap();
    two.eval("write /workspace/a saved").await.unwrap();
    two.eval("set x 1").await.unwrap();
    two.world.pass(Duration::from_secs(2)).await;
    two.eval("write /workspace/a lost").await.unwrap();
    two.containers.set_down(true);
    let outcome = two.eval("get x").await.unwrap();
    assert_eq!((outcome.provider, outcome.fallback_from), ("fake", Some("docker")));
    assert_eq!(two.file().await, "saved");
    two.eval("write /workspace/a here").await.unwrap();
    two.world.pass(Duration::from_secs(100)).await;
    two.containers.set_down(false);
    assert_eq!(two.file().await, "here");
    assert_eq!(two.eval("hi").await.unwrap().provider, "docker");
    // Both kinds of state are in the ledger, and none is swept.
    two.world.pass(Duration::from_secs(2)).await;
    two.world.sandboxes.sweep().await.unwrap();
    let neighbour = two.world.neighbour();
    neighbour.sandboxes.add_provider(std::sync::Arc::new(two.containers.clone()));
    assert_eq!(neighbour.eval("box", "hi").await.unwrap().provider, "docker");
}

#[tokio::test]
async fn a_machine_that_forgets_stays_awake_and_its_checkpoints_say_that_they_are_files() {
    let two = Two::new(rules());
    two.make("box", None).await.unwrap();
    two.eval("set x 1").await.unwrap();
    two.world.pass(Duration::from_secs(600)).await;
    assert_eq!(two.world.variable("box", "x").await, "1", "it has not been put to sleep");
    let handle = Handle::IdOrName("box");
    let sandboxes = &two.world.sandboxes;
    let (made, _) = sandboxes.checkpoint(&two.world.owner, &handle, None, Include::Both).await.unwrap();
    assert_eq!(made.label.include, Include::Files);
    two.eval("write /workspace/a 2").await.unwrap();
    sandboxes.restore(&two.world.owner, &handle, made.label.id.as_str()).await.unwrap();
    let mut request = EvalRequest::new(Language::python(), "get x");
    request.name = "later".into();
    assert_eq!(two.world.variable("box", "x").await, "");
    assert!(sandboxes.history(&two.world.owner, &handle).await.unwrap().is_empty());
}

/// LIF-08: more of them than may be saved at one time.
#[tokio::test]
async fn lif_08_containers_whose_engine_has_stalled_keep_no_other_sandbox_from_being_saved() {
    let quota = Quota { per_owner: 50, in_all: 50, ..Quota::default() };
    let two = Two::new(Rules { quota, ..rules() });
    two.world.create("plain").await;
    two.world.eval("plain", "set v 1").await.unwrap();
    for number in 0..40 {
        let name = format!("box-{number}");
        two.make(&name, None).await.unwrap();
        // Those that were called last come first.
        two.world.clock.advance(Duration::from_millis(1));
        two.world.eval(&name, "set hangs 1").await.unwrap();
    }
    two.world.clock.advance(Duration::from_secs(2));
    let upkeep = two.world.sandboxes.keep_up();
    let saved = || {
        let record = two.world.ledger.find(&two.world.owner, &Handle::IdOrName("plain")).unwrap();
        record.state.is_some()
    };
    assert!(!saved());
    wait_until_async("the plain one is saved", SOON, saved).await;
    upkeep.abort();
}

#[tokio::test]
async fn a_sandbox_that_moves_takes_its_files_along() {
    let two = Two::new(rules());
    two.make("box", None).await.unwrap();
    two.eval("write /workspace/a 1").await.unwrap();
    two.eval("set x 1").await.unwrap();
    let (owner, handle, sandboxes) = (&two.world.owner, Handle::IdOrName("box"), &two.world.sandboxes);
    sandboxes.move_to(owner, &handle, ProviderName::Wasm, 1 << 20).await.unwrap();
    assert_eq!((two.containers.machines(), two.file().await.as_str()), (0, "1"));
    assert_eq!(two.eval("write /workspace/a 2").await.unwrap().provider, "fake");
    assert_eq!(two.world.variable("box", "x").await, "");
    sandboxes.move_to(owner, &handle, ProviderName::Docker, 1 << 20).await.unwrap();
    assert_eq!((two.file().await.as_str(), two.world.provider.machines()), ("2", 0));
    let outcome = two.eval("hi").await.unwrap();
    assert_eq!((outcome.provider, outcome.fallback_from), ("docker", None));
}

/// What works on without a call is saved now and then, and once more before it is let go; until then it stays this process's own.
#[tokio::test]
async fn con_32_what_works_on_is_saved_before_it_is_let_go() {
    let two = Two::new(Rules { patience: Duration::ZERO, ..rules() });
    two.make("box", None).await.unwrap();
    two.eval("set works 1").await.unwrap();
    two.world.pass(Duration::from_secs(2)).await;
    let saved = async || {
        let handle = Handle::IdOrName("box");
        let path = crate::GuestPath::parse("/works").unwrap();
        let neighbour = two.world.neighbour();
        neighbour.sandboxes.add_provider(std::sync::Arc::new(two.containers.clone()));
        neighbour.sandboxes.read(&two.world.owner, &handle, path, 0, 9).await
    };
    assert_eq!(code(saved().await), Some(ErrorCode::Busy), "it is this process's own");
    // Nobody calls it: once for each ten times of the usual.
    two.world.pass(Duration::from_secs(2)).await;
    two.world.pass(Duration::from_secs(9)).await;
    two.world.pass(Duration::from_secs(1)).await;
    let (owner, handle) = (&two.world.owner, Handle::IdOrName("box"));
    two.world.sandboxes.stop(owner, &handle, crate::sandbox::StopReason::User).await.unwrap();
    assert_eq!(
        saved().await.unwrap().bytes,
        b"3",
        "after its call, after ten seconds, and before it was let go"
    );
}

#[tokio::test]
async fn con_33_variables_that_went_with_a_machine_are_told_once() {
    let two = Two::new(rules());
    two.make("box", None).await.unwrap();
    let recovery = async |code: &str| two.eval(code).await.unwrap().recovery;
    assert_eq!(recovery("set x 1").await, None);
    // Stopped, restored, died before it was saved.
    let (owner, handle, sandboxes) = (&two.world.owner, Handle::IdOrName("box"), &two.world.sandboxes);
    sandboxes.stop(owner, &handle, crate::sandbox::StopReason::User).await.unwrap();
    assert_eq!(recovery("get x").await, Some(crate::Recovery::Fresh));
    assert_eq!(recovery("get x").await, None);
    let (made, _) = sandboxes.checkpoint(owner, &handle, None, Include::Both).await.unwrap();
    sandboxes.restore(owner, &handle, made.label.id.as_str()).await.unwrap();
    assert_eq!(recovery("get x").await, Some(crate::Recovery::Fresh));
    let forks = sandboxes.fork(owner, &handle, 1, None).await.unwrap();
    let fork = two.world.eval(forks[0].sandbox.id.as_str(), "get x").await.unwrap();
    assert_eq!(fork.recovery, Some(crate::Recovery::Fresh));
    assert_eq!(recovery("get x").await, None);
    two.make("young", None).await.unwrap();
    two.world.eval("young", "set x 1").await.unwrap();
    two.containers.set_down(true);
    let young = two.world.eval("young", "get x").await.unwrap();
    assert_eq!((young.provider, young.recovery), ("fake", Some(crate::Recovery::Fresh)));
}

/// CON-06: a container has room of its own for `/tmp`, and what takes its place has not.
#[tokio::test]
async fn con_06_what_a_container_had_more_room_for_is_told_where_it_leaves_none() {
    let two = Two::new(rules());
    let spec = SandboxSpec { provider: ProviderName::Docker, disk: 100, ..SandboxSpec::default() };
    let name = Some(Name::parse("box").unwrap());
    let (owner, handle, sandboxes) = (&two.world.owner, Handle::IdOrName("box"), &two.world.sandboxes);
    sandboxes.create(owner, Asked { name, spec: Some(spec), ..Asked::default() }).await.unwrap();
    let warned = async |code: &str| two.eval(code).await.map(|outcome| outcome.warning);
    // Kept output makes room, at a wake and at a restore.
    let ninety = "x".repeat(90);
    two.eval(&format!("write /tmp/output-1.stdout {ninety}")).await.unwrap();
    two.eval(&format!("write /workspace/a {}", &ninety[..60])).await.unwrap();
    let checkpoint =
        async || sandboxes.checkpoint(owner, &handle, None, Include::Both).await.unwrap().0.label.id;
    let kept = checkpoint().await;
    two.containers.set_down(true);
    assert!(warned("write /workspace/b 1").await.unwrap().is_none());
    sandboxes.restore(owner, &handle, kept.as_str()).await.unwrap();
    assert!(warned("write /workspace/b 1").await.unwrap().is_none());
    assert_eq!(two.file().await.len(), 60);
    // The user's own files do not.
    two.containers.set_down(false);
    sandboxes.stop(owner, &handle, StopReason::User).await.unwrap();
    two.eval(&format!("write /tmp/own {ninety}")).await.unwrap();
    let full = checkpoint().await;
    two.containers.set_down(true);
    sandboxes.restore(owner, &handle, full.as_str()).await.unwrap();
    assert_eq!(code(warned("write /workspace/c 1").await), Some(ErrorCode::LimitDisk));
    let warning = warned("hi").await.unwrap().unwrap();
    assert_eq!(warning.code(), ErrorCode::LimitDisk, "{warning}");
    assert!(warning.message().contains("by 51 B"), "{warning}");
    let path = crate::GuestPath::parse("/tmp/own").unwrap();
    sandboxes.remove_file(owner, &handle, path, false).await.unwrap();
    assert!(warned("write /workspace/c 1").await.unwrap().is_none());
}

#[tokio::test]
async fn what_a_provider_keeps_of_a_sandbox_goes_with_the_sandbox() {
    let two = Two::new(rules());
    let mut ids = Vec::new();
    for name in ["destroyed", "moved", "stays"] {
        ids.push(two.make(name, None).await.unwrap().sandbox.id);
        two.world.eval(name, "set v 1").await.unwrap();
    }
    let stranger = SandboxId::random().unwrap();
    two.containers.keeps().insert(stranger.clone());
    let (owner, sandboxes) = (&two.world.owner, &two.world.sandboxes);
    sandboxes.destroy(owner, &Handle::IdOrName("destroyed")).await.unwrap();
    assert!(!two.containers.keeps().contains(&ids[0]), "a sandbox that is destroyed is forgotten at once");
    sandboxes.move_to(owner, &Handle::IdOrName("moved"), ProviderName::Wasm, 64 << 20).await.unwrap();
    assert_eq!(two.containers.keeps().len(), 3);
    sandboxes.sweep().await.unwrap();
    assert_eq!(
        two.containers.keeps().iter().collect::<Vec<_>>(),
        [&ids[2]],
        "one that there is, and its own"
    );
    // Nor does a stop forget it.
    two.world.eval("stays", "1").await.unwrap();
    sandboxes.stop(owner, &Handle::IdOrName("stays"), StopReason::User).await.unwrap();
    sandboxes.sweep().await.unwrap();
    assert_eq!(two.containers.keeps().len(), 1);
}
