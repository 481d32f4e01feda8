//! Memory: whatever is asked for, the guest is told no, or ended, and the host's memory stays bounded.

mod javascript;
mod php;
mod python;

use std::sync::Arc;
use std::time::Duration;

use dormouse::Callback;
use dormouse::limits::MIB;
use dormouse_tests::attack::Attack;
use dormouse_tests::case::case;
use dormouse_tests::ending::{assert_ends, value};
use dormouse_tests::levels::{Levels, Watch};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;

/// Host memory beyond the guest's own that one run may make the host hold for a while, in KiB: copies of what passes
/// through one host call.
const COPIES: u64 = 256 << 10;

/// Runs the snippets and asserts that the host's memory never rose past the guest's limit and some copies.
fn bounded(attack: &Attack, mebibytes: u64, snippets: &[&str]) {
    let before = Levels::now();
    let watch = Watch::begin();
    attack.run(snippets);
    let peak = watch.end();
    let allowed = before.memory + (mebibytes << 10) + COPIES;
    assert!(peak.memory < allowed, "before {before:?}, at the peak {peak:?}");
}

/// While one run holds all the files it can get, another can use files, and so can the host.
fn files_are_shared(language: &'static str, hoard: &str, use_one: &str) {
    let (full, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut request = Attack::new(language).wall(30_000).request(hoard);
    let (told, go) = (full.clone(), done.clone());
    let hold = move |_: Json| {
        let (told, go) = (told.clone(), go.clone());
        async move {
            told.notify_one();
            go.notified().await;
            Ok(Json::Null)
        }
    };
    request
        .context
        .callbacks
        .insert("hold", Callback::new("Waits.", json!({"type": "object"}), hold))
        .unwrap();
    let before = Levels::now();
    let runtime = sandbox::sandbox().runtime().clone();
    let hoarder = sandbox::spawn(async move { runtime.eval(request).await });
    let reached =
        sandbox::wait(async { tokio::time::timeout(Duration::from_secs(30), full.notified()).await });
    let held = Levels::now();
    let neighbour = sandbox::eval(language, use_one);
    let host = std::fs::File::open("/proc/self/status");
    done.notify_one();
    let outcome = sandbox::wait(hoarder).unwrap().unwrap();
    assert!(
        reached.is_ok(),
        "the snippet did not get to its end: {}",
        dormouse_tests::ending::told(&outcome)
    );
    assert!(held.descriptors < before.descriptors + 4_200, "before {before:?}, then {held:?}");
    assert_ends(&neighbour, &["returned"]);
    host.unwrap();
}
