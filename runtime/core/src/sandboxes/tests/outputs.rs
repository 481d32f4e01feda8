//! The whole of long output, in files that are few.

use super::fakes::{World, rules};
use crate::sandbox::{Handle, Name, SandboxSpec};
use crate::sandboxes::{Asked, CommandLine, Outputs, Whole};
use crate::{ErrorCode, GuestPath};

/// Bytes that are shown whole.
const SHOWN: usize = 100;

impl World {
    async fn with_disk(disk: u64) -> Self {
        let world = Self::new(rules());
        let spec = SandboxSpec { disk, ..SandboxSpec::default() };
        let asked = Asked { name: Some(Name::parse("a").unwrap()), spec: Some(spec), ..Asked::default() };
        world.sandboxes.create(&world.owner, asked).await.unwrap();
        world
    }

    async fn say(&self, bytes: usize) -> Whole {
        let line = CommandLine::new(format!("flood {bytes}"));
        let handle = Handle::IdOrName("a");
        let (_, _, outputs) = self.sandboxes.exec_keeping(&self.owner, &handle, line, SHOWN).await.unwrap();
        let Outputs { stdout, stderr } = outputs;
        assert!(matches!(stderr, Whole::Here));
        stdout
    }

    async fn kept(&self) -> Vec<(String, u64)> {
        let folder = GuestPath::parse("/tmp").unwrap();
        let handle = Handle::IdOrName("a");
        let listed = self.sandboxes.list_files(&self.owner, &handle, folder, false, 100).await.unwrap();
        listed.0.into_iter().map(|entry| (entry.path, entry.bytes)).collect()
    }
}

#[tokio::test]
async fn fs_08_the_last_few_outputs_are_kept_and_the_oldest_goes_first() {
    let world = World::with_disk(256 << 20).await;
    world.eval("a", "write /tmp/output-1.mine kept").await.unwrap();
    assert!(matches!(world.say(SHOWN).await, Whole::Here));
    let mut last = None;
    for round in 1..21 {
        let Whole::File(path) = world.say(SHOWN + round).await else { panic!("no file") };
        last = Some(path.to_string());
    }
    let kept = world.kept().await;
    assert_eq!(kept.len(), 8 + 1, "{kept:?}");
    assert!(kept.contains(&("output-1.mine".into(), 4)));
    let sizes: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
    let lasts: u64 = (13..21).map(|round| (SHOWN + round) as u64).sum();
    assert_eq!(sizes, lasts + 4);
    assert!(kept.iter().any(|(name, _)| Some(format!("/tmp/{name}")) == last));
    // Of large ones there are fewer.
    for _ in 0..6 {
        assert!(matches!(world.say(8 << 20).await, Whole::File(_)));
    }
    let large = world.kept().await.into_iter().filter(|(_, bytes)| *bytes == 8 << 20).count();
    assert_eq!(large, 4);
}

#[tokio::test]
async fn what_has_no_room_takes_the_place_of_older_outputs_and_is_told_when_there_is_none() {
    let world = World::with_disk(1_000).await;
    assert!(matches!(world.say(600).await, Whole::File(_)));
    assert!(matches!(world.say(700).await, Whole::File(_)));
    assert_eq!(world.kept().await.len(), 1);
    let Whole::Lost(error) = world.say(1_001).await else { panic!("it does not fit") };
    assert_eq!(error.code(), ErrorCode::LimitDisk);
    assert_eq!(world.kept().await.len(), 0);
}

/// The answer of a command that has ended waits for nobody.
#[tokio::test]
async fn long_output_is_kept_in_the_turn_of_its_command() {
    let world = World::with_disk(256 << 20).await;
    let mut first = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut first).is_pending());
    let mut said = Box::pin(world.say(1_000));
    assert!(futures::poll!(&mut said).is_pending());
    let mut behind = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut behind).is_pending());
    world.provider.let_go(1);
    first.await.unwrap();
    // The call behind it runs and does not end.
    let said = tokio::select! {
        said = &mut said => said,
        _ = &mut behind => panic!("nobody let it go"),
    };
    assert!(matches!(said, Whole::File(_)));
    world.provider.let_go(1);
    behind.await.unwrap();
}
