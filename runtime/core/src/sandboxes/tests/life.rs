//! What becomes of a sandbox with time.

use std::time::Duration;

use super::fakes::{World, code, rules};
use crate::ErrorCode;
use crate::sandbox::{Handle, Name, Owner, Phase, SandboxSpec, StopReason};
use crate::sandboxes::{Asked, Rules};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Acceptance run 7: idle, stopped, files kept, resumed, retention, destroyed.
#[tokio::test]
async fn a_life_from_first_call_to_the_end_of_retention() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "write /workspace/x kept").await.unwrap();
    world.eval("a", "set v 1").await.unwrap();
    world.pass(14 * MINUTE).await;
    assert_eq!((world.phase("a"), world.view("a").unwrap().status), ("running", "warm"));
    world.pass(2 * MINUTE).await;
    let view = world.view("a").unwrap();
    assert_eq!((view.sandbox.phase, view.sandbox.stop_reason), (Phase::Stopped, Some(StopReason::Idle)));
    assert_eq!((view.status, world.provider.machines()), ("cold", 0));

    let handle = Handle::IdOrName("a");
    let view = world.sandboxes.resume(&world.owner, &handle).await.unwrap();
    assert_eq!((view.sandbox.phase, view.sandbox.stopped_at), (Phase::Running, None));
    let path = crate::GuestPath::parse("/workspace/x").unwrap();
    let bytes = world.sandboxes.read(&world.owner, &handle, path, 0, 10).await.unwrap().bytes;
    assert_eq!((bytes.as_slice(), world.variable("a", "v").await.as_str()), (&b"kept"[..], "1"));

    world.pass(16 * MINUTE).await;
    assert_eq!(world.phase("a"), "stopped");
    world.pass(7 * DAY - MINUTE).await;
    assert_eq!(world.phase("a"), "stopped");
    world.pass(2 * MINUTE).await;
    assert_eq!(world.phase("a"), "stopped", "it is marked first");
    world.pass(61 * MINUTE).await;
    assert_eq!(world.phase("a"), "unknown_sandbox");
    assert!(world.sandboxes.sweep().await.unwrap().chunks > 0);
    assert_eq!(code(world.eval("a", "1").await), Some(ErrorCode::UnknownSandbox));
}

#[tokio::test]
async fn a_sandbox_that_nobody_ever_called_ages_out_though_it_was_stopped_before() {
    let world = World::new(rules());
    world.create("never").await;
    world.create("once").await;
    world.eval("once", "1").await.unwrap();
    world.pass(16 * MINUTE).await;
    assert_eq!((world.phase("never"), world.phase("once")), ("stopped", "stopped"));
    world.pass(DAY).await;
    world.pass(61 * MINUTE).await;
    assert_eq!((world.phase("never"), world.phase("once")), ("unknown_sandbox", "stopped"));
}

#[tokio::test]
async fn a_call_wakes_what_is_stopped_and_begins_its_time_anew() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let handle = Handle::IdOrName("a");
    for _ in 0..2 {
        let view = world.sandboxes.stop(&world.owner, &handle, StopReason::User).await.unwrap();
        assert_eq!((view.status, world.provider.machines()), ("shutdown", 0));
    }
    world.clock.advance(7 * DAY);
    assert_eq!(world.variable("a", "v").await, "1");
    // It has been called, though that has not been saved yet.
    assert_eq!(world.phase("a"), "running");
    world.sandboxes.live().await.unwrap();
    assert_eq!(world.phase("a"), "running");
    world.pass(MINUTE).await;
    assert_eq!(world.neighbour().phase("a"), "running");
}

#[tokio::test]
async fn what_is_destroyed_is_gone_with_its_name_and_checkpoints() {
    let world = World::new(rules());
    let first = world.create("a").await;
    let handle = Handle::IdOrName("a");
    let (saved, _) =
        world.sandboxes.checkpoint(&world.owner, &handle, None, Default::default()).await.unwrap();
    world.sandboxes.destroy(&world.owner, &handle).await.unwrap();
    let again = world.sandboxes.destroy(&world.owner, &handle).await;
    assert_eq!(code(again), Some(ErrorCode::UnknownSandbox));
    let second = world.create("a").await;
    assert_ne!(first.sandbox.id, second.sandbox.id);
    let restored = world.sandboxes.restore(&world.owner, &handle, saved.label.id.as_str()).await;
    assert_eq!(code(restored), Some(ErrorCode::UnknownCheckpoint));
}

/// No difference between another's, a destroyed one and one that was never there.
#[tokio::test]
async fn mcp_07_what_is_not_ones_own_is_as_unknown_as_what_never_was() {
    let world = World::new(rules());
    let view = world.create("a").await;
    let stranger = Owner::parse("somebody").unwrap();
    let long = "x".repeat(10_000);
    let upper = view.sandbox.id.as_str().to_uppercase();
    for handle in [view.sandbox.id.as_str(), "a", "../a", "a/b", "", "名前", "a\0", &long, &upper] {
        let error = world.sandboxes.get(&stranger, &Handle::IdOrName(handle)).unwrap_err();
        let shown: String = handle.escape_debug().take(64).collect();
        assert_eq!(error.code(), ErrorCode::UnknownSandbox);
        assert_eq!(error.message(), format!("there is no sandbox `{shown}`"));
        let error = world.sandboxes.destroy(&stranger, &Handle::SessionKey(handle)).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnknownSandbox);
    }
    assert_eq!(world.sandboxes.list(&stranger, None, None, 10).await.unwrap(), []);
    assert_eq!(world.phase("a"), "running");
}

#[tokio::test]
async fn what_may_be_asked_of_a_new_one_is_bounded() {
    let world = World::new(rules());
    let asked = |name: Option<&str>, spec: Option<SandboxSpec>| Asked {
        name: name.map(|name| Name::parse(name).unwrap()),
        spec,
        ..Asked::default()
    };
    let refused = async |asked| code(world.sandboxes.create(&world.owner, asked).await);
    let ceiling = Rules::default().ceiling;
    for spec in [
        SandboxSpec { memory: ceiling.memory + 1, ..SandboxSpec::default() },
        SandboxSpec { disk: 0, ..SandboxSpec::default() },
        SandboxSpec { files: ceiling.files + 1, ..SandboxSpec::default() },
        SandboxSpec { idle: ceiling.idle + MINUTE, ..SandboxSpec::default() },
        SandboxSpec { retention: Duration::ZERO, ..SandboxSpec::default() },
    ] {
        assert_eq!(refused(asked(None, Some(spec))).await, Some(ErrorCode::ArgsInvalid));
    }
    let id = world.create("a").await.sandbox.id;
    assert_eq!(refused(asked(Some(id.as_str()), None)).await, Some(ErrorCode::ArgsInvalid));
    assert_eq!(refused(asked(Some("a"), None)).await, Some(ErrorCode::NameTaken));
    for _ in 0..9 {
        assert_eq!(refused(asked(None, None)).await, None);
    }
    assert_eq!(refused(asked(None, None)).await, Some(ErrorCode::QuotaExceeded));
}
