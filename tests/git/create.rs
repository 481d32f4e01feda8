//! A sandbox that begins with a repository (requirements S0-22, S4-03).

use std::sync::Arc;
use std::time::Duration;

use dormouse::sandbox::Owner;
use dormouse_git::Remotes;
use dormouse_tests::wire::Wire;
use dormouse_tests::{lasting, sandbox, wait_for};
use dormouse_tools::{CallContext, Profile, Reply, Surface, Toolset};
use serde_json::{Value as Json, json};

use crate::server::Server;
use crate::{allowed, has_git, real_text};

#[test]
fn a_sandbox_begins_with_a_repository_or_is_not_there() {
    if !has_git("a_sandbox_begins_with_a_repository_or_is_not_there") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bare = folder.path().join("r.git");
    std::fs::create_dir(&bare).unwrap();
    real_text(&bare, "git init -q --bare -b main");
    let work = "git init -q -b main w && cd w && echo main > name && git add -A && git commit -q -m one && git checkout -q -b \
        \"it's\" && echo side > name && git commit -q -am two && git push -q ../r.git main \"it's\"";
    real_text(folder.path(), work);
    let server = Server::start(folder.path(), None);
    let dormouse = lasting::open(&folder.path().join("state"));
    lasting::sandboxes(&dormouse).offer(Arc::new(Remotes::new(vec![allowed(&server.url, None)]).unwrap()));
    let call = |profile: Profile, tool: &str, arguments: Json| -> Reply {
        let surface =
            Surface::new(dormouse.runtime().clone()).with_profile(profile).with_tools(Toolset::All).unwrap();
        let Json::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        sandbox::wait(surface.call(tool, arguments, CallContext::default())).unwrap()
    };
    let url = format!("{}/r.git", server.url);
    let name = |sandbox: &str| {
        let read = json!({"sandbox": sandbox, "command": "cat name; git status -sb"});
        call(Profile::Sandbox, "sandbox_exec", read).structured["stdout"].clone()
    };
    let made = call(Profile::Sandbox, "sandbox_create", json!({"name": "a", "repo": url}));
    assert!(!made.is_error, "{}", made.text);
    assert_eq!(name("a"), "main\n## main...origin/main\n");
    let made = call(Profile::Sandbox, "sandbox_create", json!({"name": "b", "repo": url, "branch": "it's"}));
    assert!(!made.is_error, "{}", made.text);
    assert_eq!(name("b"), "side\n## it's...origin/it's\n");
    let made = call(Profile::Sprites, "sprite_create", json!({"name": "c", "repoUrl": url}));
    assert!(!made.is_error, "{}", made.text);
    assert_eq!(name("c"), "main\n## main...origin/main\n");
    assert_eq!(lasting::count(&dormouse), 3);
    for arguments in [
        json!({"name": "d", "repo": format!("{}/none.git", server.url)}),
        json!({"name": "d", "repo": "https://example.com/x.git"}),
        json!({"name": "d", "repo": url, "branch": "none"}),
        json!({"name": "d", "repo": "'; touch /workspace/x; '"}),
        json!({"name": "d", "repo": "--upload-pack=x"}),
        json!({"name": "d", "branch": "main"}),
    ] {
        let refused = call(Profile::Sandbox, "sandbox_create", arguments.clone());
        assert!(refused.is_error, "{arguments}");
        let code = refused.structured["error"]["code"].as_str().unwrap_or_default();
        assert!(["args_invalid", "capability_unavailable"].contains(&code), "{arguments}: {}", refused.text);
        assert_eq!(lasting::count(&dormouse), 3, "{arguments}");
    }
}

/// A caller that gives up in the middle of a clone leaves no sandbox under the key, and the next call begins anew.
#[test]
fn mcp_05_a_clone_that_is_given_up_leaves_nothing_under_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(&folder.path().join("state"));
    // A server that takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    lasting::sandboxes(&dormouse).offer(Arc::new(Remotes::new(vec![allowed(&url, None)]).unwrap()));
    let surface = Surface::new(dormouse.runtime().clone()).with_tools(Toolset::All).unwrap();
    let call = |arguments: Json| {
        let Json::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        surface.call("sandbox_create", arguments, CallContext::default())
    };
    let cloning = json!({"name": "half", "session_key": "k", "repo": format!("{url}/r.git")});
    let there_come_to_be = |count: usize| {
        wait_for("there are as many sandboxes as there should be", Duration::from_secs(60), || {
            let now = lasting::count(&dormouse);
            if now == count { Ok(()) } else { Err(now) }
        });
    };
    sandbox::wait(async {
        let mut making = Box::pin(call(cloning));
        let given_up = tokio::time::timeout(Duration::from_secs(2), &mut making).await;
        assert!(given_up.is_err(), "it did not wait for the server");
        let there = lasting::sandboxes(&dormouse).list(&Owner::local(), None, None, 9).await.unwrap();
        assert_eq!((there.len(), there[0].status), (1, "provisioning"));
    });
    there_come_to_be(0);
    let made = sandbox::wait(call(json!({"name": "half", "session_key": "k"}))).unwrap();
    assert_eq!(made.structured["created"], true, "{}", made.text);
    lasting::close(dormouse);
}

/// What a clone has received is told while it goes on, and the sandbox is `provisioning` meanwhile.
#[test]
fn a_clone_tells_how_it_is_going() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let server = Server::start(folder.path(), None);
    let mut wire = Wire::greeted(&["--state-dir", state.to_str().unwrap(), "--allow-git", &server.url]);
    let repo = format!("{}/trickle/r.git", server.url);
    wire.send(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sandbox_create",
        "arguments": {"name": "slow", "repo": repo}, "_meta": {"progressToken": "p"}}}),
    );
    let told = loop {
        let told = wire.next(Duration::from_secs(60)).expect("something is told");
        assert_eq!(told["method"], "notifications/progress", "{told}");
        let message = told["params"]["message"].as_str().unwrap().to_owned();
        if message.contains("bytes received") {
            break message;
        }
    };
    assert!(told.contains("ms, ") && !told.contains(", 0 bytes received"), "{told}");
    let dormouse = lasting::open(&state);
    let there = sandbox::wait(lasting::sandboxes(&dormouse).list(&Owner::local(), None, None, 9)).unwrap();
    assert_eq!((there.len(), there[0].status), (1, "provisioning"));
    wire.tell("notifications/cancelled", json!({"requestId": 1}));
    wire.end(Duration::from_secs(20));
}
