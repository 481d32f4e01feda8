//! A server whose sandboxes are pods, as the program itself.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use dormouse::Policy;
use dormouse::sandboxes::Rules;
use dormouse_kubernetes::Mode;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

use super::cluster::Cluster;
use super::confined::lives;
use super::objects::VOLUMES;
use super::{Desk, Engine, FULL};

/// By a name, which the server cannot look up itself, and with a token that is replaced while it runs, as that of a pod's account is.
#[test]
fn osw_04_a_confined_server_has_pods_through_a_helper_and_reads_new_tokens() {
    let Some(desk) = Desk::new("osw_04 pods") else { return };
    desk.close();
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::new(Mode::Pods, folder.path());
    let account = folder.path().join("account");
    std::fs::create_dir(&account).unwrap();
    let renew = |token: &str| {
        let new = account.join("new");
        std::fs::write(&new, format!("{token}\n")).unwrap();
        std::fs::rename(&new, account.join("token")).unwrap();
        cluster.server.store.lock().unwrap().token = Some(token.into());
    };
    renew("first");
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "t",
        "clusters": [{"name": "t", "cluster": {"server": format!("http://localhost:{}", cluster.server.address.port())}}],
        "users": [{"name": "t", "user": {"tokenFile": account.join("token")}}],
        "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t", "namespace": "boxes"}}]});
    std::fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
    let config = json!({"kubeconfig": folder.path().join("kubeconfig"), "images": [FULL]});
    let file = folder.path().join("kubernetes.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let state = folder.path().join("state");
    let mut wire = Wire::start(&[
        "--tools",
        "all",
        "--no-fallback",
        "--state-dir",
        state.to_str().unwrap(),
        "--kubernetes",
        "pods",
        "--kubernetes-config",
        file.to_str().unwrap(),
    ]);
    lives(&mut wire, "kubernetes", || renew("second"));
    assert_eq!(wire.end(PATIENCE).status, Some(0));
    assert!(cluster.server.names("pods").is_empty());
    cluster.close();
}

/// S2-11: what is kept of a sandbox, through the whole of the runtime.
#[test]
fn a_stopped_sandbox_keeps_its_volume_and_a_destroyed_one_does_not() {
    let Some(desk) = Desk::new("a volume that is kept") else { return };
    desk.close();
    let keeping = |folder: &Path| Some(Engine::Cluster(Cluster::keeping(folder)));
    let desk = Desk::of(Policy::default(), Rules::default(), keeping).unwrap();
    let Engine::Cluster(cluster) = &desk.engine else { panic!("it is a cluster") };
    let on = |tool: &str, more: Json| {
        let mut arguments = json!({"sandbox": "pod"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        desk.call(tool, arguments)
    };
    let exec = |line: &str| on("sandbox_exec", json!({"command": line}))["stdout"].clone();
    let volume = || {
        let names = cluster.server.names(VOLUMES);
        names.first().and_then(|name| cluster.server.get(VOLUMES, name))
    };
    // What tells a file from one that was made anew.
    let stamp = || {
        let folder = cluster.server.node.folder(&volume().unwrap());
        let found = std::fs::metadata(folder.join("d/f")).unwrap();
        (found.ino(), found.ctime(), found.ctime_nsec())
    };
    let stop = || {
        on("sandbox_stop", json!({}));
        let noted =
            || volume().is_some_and(|one| one["metadata"]["annotations"]["dormouse.save"].is_string());
        cluster.wait_until("it is known what it holds", noted);
    };
    desk.container("pod");
    exec("mkdir d; head -c 1000000 /dev/urandom > d/f; echo one > a; sleep 0.2");
    on("sandbox_checkpoint", json!({"name": "first"}));
    exec("echo two > a; sleep 0.2");
    let begun = stamp();
    stop();
    assert_eq!(exec("cat a"), "two\n");
    assert_eq!(stamp(), begun, "nothing was unpacked");
    stop();
    // An older state goes on in a pod of its own, beside the one that had the volume, and is what the volume gets with the next wake.
    on("sandbox_restore", json!({"checkpoint_id": "first"}));
    assert_eq!(exec("cat a; cksum < d/f | wc -l"), "one\n1\n");
    assert_eq!(stamp(), begun, "the volume is as it was");
    on("sandbox_stop", json!({}));
    assert_eq!(exec("cat a; sleep 0.2"), "one\n");
    let again = stamp();
    assert_ne!(again, begun, "it was emptied, and unpacked into");
    stop();
    assert_eq!(exec("cat a"), "one\n");
    assert_eq!(stamp(), again);
    let forked = on("sandbox_fork", json!({}));
    assert!(forked.is_object(), "{forked}");
    on("sandbox_destroy", json!({}));
    cluster.wait_until("the volume is removed", || cluster.server.names(VOLUMES).is_empty());
    desk.close();
}
