//! Steps: which there are, and going back to before one.

use std::time::Duration;

use super::fakes::{World, code, rules};
use crate::ErrorCode;
use crate::sandbox::Handle;
use crate::sandboxes::Rules;

const A: Handle<'static> = Handle::IdOrName("a");

async fn steps(world: &World) -> Vec<(String, &'static str)> {
    let steps = world.sandboxes.history(&world.owner, &A).await.unwrap();
    steps.into_iter().map(|step| (step.code, step.ended)).collect()
}

#[tokio::test]
async fn a_step_is_undone_with_all_that_came_after_it() {
    let world = World::new(rules());
    world.create("a").await;
    for run in ["set v 1", "set v 2", "stop", "write /x 1", "set v 3"] {
        world.eval("a", run).await.unwrap();
    }
    let ended = ["returned", "returned", "stopped", "returned", "returned"];
    assert_eq!(steps(&world).await.iter().map(|(_, ended)| *ended).collect::<Vec<_>>(), ended);
    let all = world.sandboxes.history(&world.owner, &A).await.unwrap();
    assert!(all.windows(2).all(|two| two[0].id < two[1].id), "ids are never used twice");

    world.sandboxes.go_back(&world.owner, &A, &all[1].id).await.unwrap();
    assert_eq!(steps(&world).await.len(), 1);
    assert_eq!(world.variable("a", "v").await, "1");
    let path = crate::GuestPath::parse("/x").unwrap();
    let gone = world.sandboxes.read(&world.owner, &A, path, 0, 9).await;
    assert_eq!(code(gone), Some(ErrorCode::NotFound));
    let undone = world.sandboxes.go_back(&world.owner, &A, &all[3].id).await;
    assert_eq!(code(undone), Some(ErrorCode::UnknownCheckpoint));
    assert_eq!(world.variable("a", "v").await, "1", "a refusal changes nothing");
    // What was undone is saved as well.
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.neighbour().variable("a", "v").await, "1");
}

#[tokio::test]
async fn steps_are_bounded_in_number_and_bytes_and_end_with_sleep() {
    let world = World::new(Rules { history: 3, history_bytes: 100, ..rules() });
    world.create("a").await;
    for number in 0..5 {
        world.eval("a", &format!("set v {number}")).await.unwrap();
    }
    let shown = steps(&world).await;
    assert_eq!(
        shown.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>(),
        ["set v 2", "set v 3", "set v 4"]
    );
    world.eval("a", &format!("set big {}", "x".repeat(90))).await.unwrap();
    world.eval("a", "set v 6").await.unwrap();
    world.eval("a", "set v 7").await.unwrap();
    assert_eq!(steps(&world).await.len(), 1, "two such states are over 100 bytes");
    world.pass(Duration::from_secs(61)).await;
    assert!(steps(&world).await.is_empty());

    let none = World::new(Rules { history: 0, ..rules() });
    none.create("a").await;
    none.eval("a", "set v 1").await.unwrap();
    assert!(steps(&none).await.is_empty());
}
