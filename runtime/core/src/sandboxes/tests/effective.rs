//! What a sandbox has of what it was made with, under operators who give something else.

use std::path::Path;
use std::time::Duration;

use super::fakes::{World, code, rules};
use crate::sandbox::{Handle, Name, SandboxSpec, SpecMount};
use crate::sandboxes::{Asked, MountRule, Rules, Withdrawn};
use crate::{Access, ErrorCode, GuestPath, Limits, Policy, Status, Value};

const SECOND: Duration = Duration::from_secs(1);

fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).unwrap()
}

fn mount(source: &Path, target: &str, access: Access) -> SpecMount {
    SpecMount { source: source.into(), target: path(target), access }
}

fn offering(mounts: &[SpecMount]) -> Rules {
    Rules { mounts: MountRule::Offered(mounts.to_vec()), ..rules() }
}

fn policy(allow_writes: bool, memory: u64) -> Policy {
    let ceiling = Limits { memory, ..Limits::ceiling() };
    Policy { allow_writes, ceiling, ..Policy::default() }
}

const MEMORY: u64 = 512 << 20;

impl World {
    /// What the machine of a sandbox was woken with: its memory, then its mounts.
    async fn woken_with(&self, name: &str) -> String {
        match self.eval(name, "spec").await.unwrap().status {
            Status::Returned(Value::String { value, .. }) => value,
            other => panic!("{other:?}"),
        }
    }

    async fn make(&self, name: &str, mounts: &[SpecMount]) -> Option<ErrorCode> {
        let spec = SandboxSpec { mounts: mounts.to_vec(), ..self.sandboxes.rules().defaults.clone() };
        let name = Some(Name::parse(name).unwrap());
        let asked = Asked { name, spec: Some(spec), ..Asked::default() };
        code(self.sandboxes.create(&self.owner, asked).await)
    }

    fn withdrawn(&self, name: &str) -> Vec<Withdrawn> {
        self.view(name).unwrap().effective.withdrawn
    }
}

/// FS-13: a mount, and writes to it, are taken back from sandboxes that are there, from their forks and from what is restored.
#[tokio::test]
async fn fs_13_a_grant_that_is_taken_back_is_gone_and_comes_back_when_it_is_given_again() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (writable, readable) =
        (mount(data.path(), "/data", Access::ReadWrite), mount(other.path(), "/skills/a", Access::ReadOnly));
    let first = World::new(rules())
        .neighbour_with(policy(true, MEMORY), offering(&[writable.clone(), readable.clone()]));
    assert_eq!(first.make("a", &[writable.clone(), readable.clone()]).await, None);
    let all = first.woken_with("a").await;
    assert!(all.contains("/data:rw") && all.contains("/skills/a:ro"), "{all}");
    assert_eq!(first.withdrawn("a"), []);
    first.pass(2 * SECOND).await;

    // Nothing is offered any more: in the sandbox, in its forks, in what is restored.
    let none = first.neighbour_with(policy(false, MEMORY), offering(&[]));
    let handle = Handle::IdOrName("a");
    let bare = format!("{MEMORY}");
    assert_eq!(none.woken_with("a").await, bare);
    assert_eq!(none.withdrawn("a"), [Withdrawn::Mount(path("/data")), Withdrawn::Mount(path("/skills/a"))]);
    let fork = none.sandboxes.fork(&none.owner, &handle, 1, None).await.unwrap().remove(0).sandbox.name;
    assert_eq!(none.woken_with(fork.as_str()).await, bare);
    let (saved, _) = none.sandboxes.checkpoint(&none.owner, &handle, None, Default::default()).await.unwrap();
    none.sandboxes.restore(&none.owner, &handle, saved.label.id.as_str()).await.unwrap();
    assert_eq!(none.woken_with("a").await, bare);
    none.pass(2 * SECOND).await;

    // Without writes it is read-only, and so it is when it is offered so.
    let readers = [
        first.neighbour_with(policy(false, MEMORY), offering(std::slice::from_ref(&writable))),
        first.neighbour_with(
            policy(true, MEMORY),
            offering(&[SpecMount { access: Access::ReadOnly, ..writable.clone() }]),
        ),
    ];
    for reader in readers {
        assert!(reader.woken_with("a").await.ends_with("/data:ro"));
        assert_eq!(
            reader.withdrawn("a"),
            [Withdrawn::Writes(path("/data")), Withdrawn::Mount(path("/skills/a"))]
        );
        reader.pass(2 * SECOND).await;
    }

    // What was asked is still known; from a new place it comes from there.
    let moved = [mount(other.path(), "/data", Access::ReadWrite), readable];
    let again = first.neighbour_with(policy(true, MEMORY), offering(&moved));
    let all = again.woken_with("a").await;
    assert!(all.contains(&format!("{}:/data:rw", other.path().display())), "{all}");
    assert_eq!(again.withdrawn("a"), []);
}

/// A folder that was moved away costs the mount and nothing else.
#[tokio::test]
async fn fs_13_a_mount_whose_folder_is_gone_is_left_out() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("skill");
    std::fs::create_dir(&folder).unwrap();
    let mounts = [mount(&folder, "/skills/a", Access::ReadOnly)];
    // Also where the spec alone decides.
    for rules in [offering(&mounts), rules()] {
        let world = World::new(rules);
        assert_eq!(world.make("a", &mounts).await, None);
        std::fs::rename(&folder, outer.path().join("moved")).unwrap();
        assert_eq!(world.woken_with("a").await, format!("{MEMORY}"));
        assert_eq!(world.withdrawn("a"), [Withdrawn::Missing(path("/skills/a"))]);
        std::fs::rename(outer.path().join("moved"), &folder).unwrap();
        assert_eq!(world.withdrawn("a"), []);
    }
}

#[tokio::test]
async fn what_is_not_offered_cannot_be_asked_of_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let offered = mount(folder.path(), "/data", Access::ReadOnly);
    let world =
        World::new(rules()).neighbour_with(policy(true, MEMORY), offering(std::slice::from_ref(&offered)));
    let writable = SpecMount { access: Access::ReadWrite, ..offered.clone() };
    assert_eq!(
        world.make("a", &[mount(folder.path(), "/other", Access::ReadOnly)]).await,
        Some(ErrorCode::PathDenied)
    );
    assert_eq!(world.make("a", &[writable]).await, Some(ErrorCode::WriteDenied));
    assert_eq!(world.make("a", &[offered]).await, None);
}

/// One ceiling for runs and sandboxes, which holds for sandboxes that were made before.
#[tokio::test]
async fn fs_13_the_ceiling_of_memory_is_the_policys_and_binds_older_sandboxes() {
    let small = 64 << 20;
    let large = 2 << 30;
    let ceiling = SandboxSpec { memory: large, ..rules().ceiling };
    let first = World::new(rules()).neighbour_with(policy(false, large), Rules { ceiling, ..rules() });
    let spec = SandboxSpec { memory: large, ..SandboxSpec::default() };
    let asked = Asked { name: Some(Name::parse("a").unwrap()), spec: Some(spec), ..Asked::default() };
    first.sandboxes.create(&first.owner, asked.clone()).await.unwrap();
    assert_eq!(first.woken_with("a").await, format!("{large}"));
    first.pass(2 * SECOND).await;

    let second = first.neighbour_with(policy(false, small), rules());
    assert_eq!(second.woken_with("a").await, format!("{small}"));
    assert_eq!(second.withdrawn("a"), [Withdrawn::Memory { asked: large, given: small }]);
    // The default is within it, and what is above it is refused.
    second.create("b").await;
    assert_eq!(second.woken_with("b").await, format!("{small}"));
    assert_eq!(second.withdrawn("b"), []);
    assert_eq!(second.sandboxes.rules().ceiling.memory, small);
    let asked = Asked { name: Some(Name::parse("c").unwrap()), ..asked };
    assert_eq!(code(second.sandboxes.create(&second.owner, asked).await), Some(ErrorCode::ArgsInvalid));
}
