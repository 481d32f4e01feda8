//! A server whose sandboxes are pods, as the program itself.

use dormouse_kubernetes::Mode;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::json;

use super::cluster::Cluster;
use super::{Desk, FULL};

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
    wire.greet();
    let word = wire.call(1, "sandbox_capabilities", json!({}))["structuredContent"]["confinement"].clone();
    if word == "off" {
        eprintln!("skipped a part of osw_04: the kernel has nothing of the second wall");
    }
    let made = wire.call(2, "sandbox_create", json!({"name": "box", "provider": "kubernetes"}));
    assert_eq!(made["structuredContent"]["provider"], "kubernetes", "{made}");
    let line = "head -c 3000000 /dev/zero | tee big | wc -c && read line; echo \"[$line]\"";
    let ran = wire.call(3, "sandbox_exec", json!({"sandbox": "box", "command": line, "stdin": "typed\n"}));
    assert_eq!(ran["structuredContent"]["stdout"], "3000000\n[typed]\n", "{ran}");
    renew("second");
    let ran = wire.call(4, "sandbox_eval", json!({"sandbox": "box", "code": "6 * 7"}));
    assert_eq!(ran["structuredContent"]["result"]["value"], 42, "{ran}");
    wire.call(5, "sandbox_stop", json!({"sandbox": "box"}));
    let ran = wire.call(6, "sandbox_exec", json!({"sandbox": "box", "command": "wc -c < big"}));
    assert_eq!(ran["structuredContent"]["stdout"], "3000000\n", "{ran}");
    let gone = wire.call(7, "sandbox_destroy", json!({"sandbox": "box"}));
    assert_ne!(gone["isError"], true, "{gone}");
    assert_eq!(wire.end(PATIENCE).status, Some(0));
    assert!(cluster.server.names("pods").is_empty());
    cluster.close();
}
