//! What `doctor` says of a cluster.

use dormouse_kubernetes::{Mode, Step};

use crate::server::Wrong;
use crate::support::Bench;

fn found<'a>(steps: &'a [Step], name: &str) -> &'a Step {
    steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("no {name}: {steps:?}"))
}

#[tokio::test]
async fn what_is_missing_is_named_step_by_step() {
    let bench = Bench::processes(Mode::AgentSandbox, |_| {}).await;
    bench.fill(2);
    let steps = bench.provider.look().await;
    assert!(steps.iter().all(|step| step.good), "{steps:?}");
    assert!(found(&steps, "kubernetes pool full").found.contains("2 wait"));
    bench.server.deny("create", "sandboxclaims");
    bench.server.deny("create", "pods/exec");
    bench.server.store.lock().unwrap().groups.insert("extensions.agents.x-k8s.io".into(), "v1alpha1".into());
    let steps = bench.provider.look().await;
    let rights = found(&steps, "kubernetes rights");
    assert!(
        !rights.good
            && rights.found.contains("create sandboxclaims")
            && rights.found.contains("create pods/exec")
    );
    let version = found(&steps, "kubernetes extensions.agents.x-k8s.io");
    assert!(!version.good && version.found.contains("v1alpha1 is served, not v1beta1"), "{version:?}");
    assert!(bench.server.names("sandboxclaims").is_empty(), "nothing is made");
    bench.server.deny("patch", "sandboxes");
    let steps = bench.provider.look().await;
    assert!(found(&steps, "kubernetes rights").found.contains("patch sandboxes"), "it suspends them");
    bench.end().await;
}

#[tokio::test]
async fn the_lines_of_a_template_that_lacks_the_helper_are_shown() {
    let change =
        |settings: &mut dormouse_kubernetes::Settings| settings.helper_image = Some("busybox:1".into());
    let bench = Bench::processes(Mode::AgentSandbox, change).await;
    bench.fill(1);
    let steps = bench.provider.look().await;
    let pool = found(&steps, "kubernetes pool full");
    assert!(!pool.good && pool.found.contains("/opt/dormouse"), "{pool:?}");
    assert!(
        pool.hint.as_ref().is_some_and(|hint| hint.contains("initContainers") && hint.contains("busybox:1")),
        "{pool:?}"
    );
    bench.end().await;
}

#[tokio::test]
async fn for_pods_the_storage_class_is_looked_for() {
    let bench = Bench::processes(Mode::Pods, |settings| settings.storage_class = Some("fast".into())).await;
    let steps = bench.provider.look().await;
    assert!(!found(&steps, "kubernetes storage").good);
    // An account with the role alone may not look at what belongs to the cluster.
    let denied = Wrong::Status(403, "Forbidden", "storageclasses is forbidden");
    bench.server.fail("get storageclasses", 1, denied);
    let steps = bench.provider.look().await;
    let storage = found(&steps, "kubernetes storage");
    assert!(storage.good && storage.found.contains("may not look"), "{storage:?}");
    assert!(found(&steps, "kubernetes API").found.contains("v1.36"));
    bench.end().await;
}
