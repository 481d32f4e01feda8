//! The way from a tool to a language model and back: real interpreters, a real HTTP server of the tests' own.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

mod asking;
mod binary;
mod client;
#[path = "../../adapters/models/tests/http/server.rs"]
#[allow(dead_code, reason = "two test programs share it")]
mod server;
mod sub_agent;

use std::sync::Arc;

use dormouse::{Dormouse, Model, ModelBudget, Policy};
use dormouse_models::{Api, Endpoint, HttpModel, Key};
use dormouse_tests::sandbox;
use dormouse_tools::{CallContext, HostFolders, Profile, Reply, Surface, Toolset};
use serde_json::{Value as Json, json};

use self::server::{Say, Server};

/// The endpoint's key. Nothing but the endpoint may ever see it.
const KEY: &str = "sk-test-0123456789-secret";

/// A surface over real sandboxes, and the endpoint that it asks.
struct Desk {
    surface: Arc<Surface>,
    dormouse: Dormouse,
    server: Server,
    folder: tempfile::TempDir,
}

/// How a desk differs from the usual one.
struct Setup {
    profile: Profile,
    budget: ModelBudget,
    policy: Policy,
    /// Whether the operator has named the endpoint.
    configured: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let (budget, policy) = (ModelBudget::default(), Policy::default());
        Self { profile: Profile::Rlm, budget, policy, configured: true }
    }
}

impl Desk {
    /// A desk of the profile `rlm` whose endpoint says these things.
    fn new(says: impl IntoIterator<Item = Say>) -> Self {
        Self::with(Setup::default(), says)
    }

    fn with(setup: Setup, says: impl IntoIterator<Item = Say>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = sandbox::wait(Server::start(says));
        let (dormouse, surface) = surface_over(setup, &server, folder.path());
        Self { surface: Arc::new(surface), dormouse, server, folder }
    }

    /// The same sandboxes in what could be another process.
    fn again(self) -> Self {
        let Self { surface, dormouse, server, folder } = self;
        sandbox::wait(dormouse.sandboxes().unwrap().close()).unwrap();
        drop((surface, dormouse));
        let (dormouse, surface) = surface_over(Setup::default(), &server, folder.path());
        Self { surface: Arc::new(surface), dormouse, server, folder }
    }

    fn call(&self, name: &str, arguments: Json) -> Reply {
        sandbox::wait(call(self.surface.clone(), name.to_owned(), arguments))
    }

    /// The text of an answer that must not be an error.
    fn text(&self, name: &str, arguments: Json) -> String {
        let reply = self.call(name, arguments);
        assert!(!reply.is_error, "{name}: {}", reply.text);
        reply.text
    }

    /// What Python prints and comes to.
    fn python(&self, code: &str) -> String {
        self.text("rlm_exec", json!({"code": code}))
    }

    /// The stable code of an error.
    fn code(&self, name: &str, arguments: Json) -> String {
        let reply = self.call(name, arguments);
        reply.structured["error"]["code"].as_str().unwrap_or("none").into()
    }
}

fn surface_over(setup: Setup, server: &Server, folder: &std::path::Path) -> (Dormouse, Surface) {
    let dormouse =
        Dormouse::builder().unwrap().policy(setup.policy).state(folder.join("state")).build().unwrap();
    let file = folder.join("key");
    std::fs::write(&file, KEY).unwrap();
    let endpoint =
        Endpoint::new(&server.url, Api::OpenAi, "m").unwrap().with_key(Key::from_file(&file).unwrap());
    let model: Arc<dyn Model> = Arc::new(HttpModel::new(endpoint.with_time(setup.budget.call_time)).unwrap());
    let host = HostFolders::default().readable(folder).unwrap();
    let surface = Surface::new(dormouse.runtime().clone())
        .with_profile(setup.profile)
        .with_host(host)
        .with_model(setup.configured.then_some(model), setup.budget)
        .with_tools(Toolset::All)
        .unwrap();
    (dormouse, surface)
}

async fn call(surface: Arc<Surface>, name: String, arguments: Json) -> Reply {
    let Json::Object(arguments) = arguments else { panic!("not an object") };
    let reply = surface.call(&name, arguments, CallContext::default()).await.unwrap();
    assert!(!format!("{reply:?}").contains(KEY), "the key is in an answer");
    reply
}
