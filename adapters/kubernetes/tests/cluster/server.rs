//! An API server for tests: objects with versions, lists, watches, `pods/exec` by WebSocket, and what goes wrong on request.
//!
//! It is no Kubernetes: it checks no schemas and runs no controllers. What is answered to single requests is in [`crate::answers`]. What makes pods ready is [`crate::node`], and what answers claims
//! is [`crate::pools`].

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::AUTHORIZATION;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast;

use crate::answers::{Body, Place, busy, decoded, failure, matches, place, streamed, text};
use crate::node::Node;

/// How long anything that is waited for may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What goes wrong, as often as it is said.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// An answer with this status, reason and message.
    Status(u16, &'static str, &'static str),
    /// The connection ends without an answer.
    Silence,
    /// It has too much to do, for so many seconds.
    Busy(u64),
    /// It is answered as usual, this much later.
    Late(Duration),
}

#[derive(Clone, Debug)]
struct Event {
    version: u64,
    kind: &'static str,
    plural: String,
    object: Json,
}

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) version: u64,
    pub(crate) objects: BTreeMap<(String, String), Json>,
    events: Vec<Event>,
    /// Versions up to this one are forgotten.
    forgotten: u64,
    /// What was asked: verb, group, resource.
    pub(crate) calls: Vec<(String, String, String)>,
    /// What was sent to be written, as it came.
    pub(crate) written: Vec<Written>,
    wrong: Vec<(String, usize, Wrong)>,
    pub(crate) denied: Vec<(String, String)>,
    /// Groups and their versions that are served.
    pub(crate) groups: HashMap<String, String>,
    /// The one token that is accepted; none: any.
    pub(crate) token: Option<String>,
    /// How many requests had another one.
    pub(crate) refused: usize,
}

/// A request that writes.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The type of its content.
    pub(crate) kind: String,
    pub(crate) body: String,
}

/// The server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<Mutex<Store>>,
    told: broadcast::Sender<()>,
    ends: broadcast::Sender<()>,
    pub(crate) node: Arc<Node>,
    /// Held by who writes what he has read before.
    pub(crate) writes: Arc<Mutex<()>>,
}

impl Server {
    /// One on a port of the loopback, with a node of its own.
    pub(crate) async fn start(node: Node) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            store: Arc::default(),
            told: broadcast::channel(1024).0,
            ends: broadcast::channel(16).0,
            node: Arc::new(node),
            writes: Arc::default(),
        };
        let own = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (own, mut ends) = (own.clone(), own.ends.subscribe());
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        let own = own.clone();
                        async move { own.serve(request).await }
                    });
                    let connection = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .with_upgrades();
                    tokio::select! {
                        _ = connection => {}
                        _ = ends.recv() => {}
                    }
                });
            }
        });
        server
    }

    /// A kubeconfig that leads here.
    pub(crate) fn kubeconfig(&self) -> String {
        let server = format!("http://{}", self.address);
        json!({"apiVersion": "v1", "kind": "Config", "current-context": "t",
            "clusters": [{"name": "t", "cluster": {"server": server}}],
            "users": [{"name": "t", "user": {"token": "t"}}],
            "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t", "namespace": "boxes"}}]})
        .to_string()
    }

    /// Lets requests whose `VERB resource` begins so go wrong, as often as said.
    pub(crate) fn fail(&self, what: &str, times: usize, wrong: Wrong) {
        self.store.lock().unwrap().wrong.push((what.to_owned(), times, wrong));
    }

    /// Denies a right, as `doctor` asks for it.
    pub(crate) fn deny(&self, verb: &str, resource: &str) {
        self.store.lock().unwrap().denied.push((verb.to_owned(), resource.to_owned()));
    }

    /// Ends all connections.
    pub(crate) fn hang_up(&self) {
        let _none = self.ends.send(());
    }

    /// Forgets all versions: who goes on from one of them is told 410.
    pub(crate) fn forget(&self) {
        let mut store = self.store.lock().unwrap();
        store.version += 10;
        store.forgotten = store.version;
        store.events.clear();
    }

    pub(crate) fn get(&self, plural: &str, name: &str) -> Option<Json> {
        self.store.lock().unwrap().objects.get(&(plural.to_owned(), name.to_owned())).cloned()
    }

    pub(crate) fn names(&self, plural: &str) -> Vec<String> {
        let store = self.store.lock().unwrap();
        store.objects.keys().filter(|(kind, _)| kind == plural).map(|(_, name)| name.clone()).collect()
    }

    /// How often something was asked.
    pub(crate) fn count(&self, verb: &str, resource: &str) -> usize {
        let store = self.store.lock().unwrap();
        store.calls.iter().filter(|(one, _, of)| one == verb && of == resource).count()
    }

    pub(crate) fn asked(&self) -> Vec<(String, String, String)> {
        self.store.lock().unwrap().calls.clone()
    }

    /// Puts an object there, or another version of it.
    pub(crate) fn put(&self, plural: &str, mut object: Json) {
        let mut store = self.store.lock().unwrap();
        store.version += 1;
        let version = store.version;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        object["metadata"]["namespace"] = json!("boxes");
        let key = (plural.to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned());
        let before = store.objects.get(&key).map(|before| before["metadata"]["uid"].clone());
        object["metadata"]["uid"] = before.unwrap_or_else(|| json!(format!("uid-{version}")));
        let there = store.objects.insert(key, object.clone()).is_some();
        let kind = if there { "MODIFIED" } else { "ADDED" };
        store.events.push(Event { version, kind, plural: plural.to_owned(), object });
        drop(store);
        let _none = self.told.send(());
    }

    /// Changes the status of an object that is there.
    pub(crate) fn status(&self, plural: &str, name: &str, status: Json) {
        let _write = self.writes.lock().unwrap();
        if let Some(mut object) = self.get(plural, name) {
            object["status"] = status;
            self.put(plural, object);
        }
    }

    /// Removes an object.
    pub(crate) fn remove(&self, plural: &str, name: &str) -> Option<Json> {
        let mut store = self.store.lock().unwrap();
        let mut object = store.objects.remove(&(plural.to_owned(), name.to_owned()))?;
        store.version += 1;
        let version = store.version;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        store.events.push(Event {
            version,
            kind: "DELETED",
            plural: plural.to_owned(),
            object: object.clone(),
        });
        drop(store);
        let _none = self.told.send(());
        Some(object)
    }

    /// What happens to objects of a kind from now on.
    pub(crate) fn follow(&self, plural: &'static str) -> impl FnMut() -> Vec<(String, Json)> + use<> {
        let (store, mut from) = (self.store.clone(), 0);
        move || {
            let store = store.lock().unwrap();
            let new = store.events.iter().filter(|event| event.version > from && event.plural == plural);
            let new = new.map(|event| (event.kind.to_owned(), event.object.clone())).collect();
            from = store.version;
            new
        }
    }

    pub(crate) fn changes(&self) -> broadcast::Receiver<()> {
        self.told.subscribe()
    }

    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Body>, std::io::Error> {
        let (path, query) =
            (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
        let query: Vec<(String, String)> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect();
        if !self.accepts(&request) {
            return Ok(failure(401, "Unauthorized", "Unauthorized"));
        }
        let asked = |name: &str| query.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str());
        match path.trim_matches('/') {
            "version" => {
                return Ok(text(
                    &json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0-test", "gitCommit": "",
                    "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}),
                ));
            }
            "apis" => return Ok(text(&self.groups())),
            _ => {}
        }
        let Some(Place { group, plural, name, part }) = place(&path) else {
            return Ok(self.resources(&path));
        };
        let watches = asked("watch").is_some();
        let verb = match (request.method(), &name) {
            (&Method::POST, _) => "create",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, _) => "delete",
            (_, Some(_)) => "get",
            _ if watches => "watch",
            _ => "list",
        };
        let resource = match &part {
            Some(part) => format!("{plural}/{part}"),
            None => plural.clone(),
        };
        if let Some(wrong) = self.noted(verb, &group, &resource) {
            match wrong {
                Wrong::Status(status, reason, message) => return Ok(failure(status, reason, message)),
                Wrong::Busy(seconds) => return Ok(busy(seconds)),
                Wrong::Silence => return Err(std::io::ErrorKind::ConnectionReset.into()),
                Wrong::Late(wait) => tokio::time::sleep(wait).await,
            }
        }
        if part.as_deref() == Some("exec") {
            let name = name.unwrap_or_default();
            let command: Vec<String> =
                query.iter().filter(|(one, _)| one == "command").map(|(_, value)| value.clone()).collect();
            let pod = self.get("pods", &name).unwrap_or_default();
            if !self.node.takes(&pod) {
                return Ok(failure(500, "InternalError", "the node of this test runs nothing on a volume"));
            }
            return Ok(self.node.exec((&name, asked("container")), &command, request));
        }
        if verb == "watch" {
            let from = asked("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or_default();
            return Ok(self.watch(plural, from, asked("labelSelector").map(str::to_owned)));
        }
        let method = request.method().clone();
        let kind = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let merges =
            request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/merge-patch+json");
        let verb = if merges { "merge" } else { verb };
        let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
        if method != Method::GET {
            let body = String::from_utf8_lossy(&body).into_owned();
            self.store.lock().unwrap().written.push(Written { method, path, kind, body });
        }
        let object = serde_json::from_slice(&body).unwrap_or(Json::Null);
        Ok(self.answer(verb, &plural, name, object, asked("labelSelector")))
    }

    fn accepts(&self, request: &Request<Incoming>) -> bool {
        let told = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let mut store = self.store.lock().unwrap();
        let accepted =
            store.token.as_ref().is_none_or(|token| told == Some(format!("Bearer {token}").as_str()));
        store.refused += usize::from(!accepted);
        accepted
    }

    /// Notes a call, and answers what is to go wrong with it.
    fn noted(&self, verb: &str, group: &str, resource: &str) -> Option<Wrong> {
        let mut store = self.store.lock().unwrap();
        store.calls.push((verb.to_owned(), group.to_owned(), resource.to_owned()));
        let what = format!("{verb} {resource}");
        let at = store
            .wrong
            .iter()
            .position(|(begins, times, _)| *times > 0 && what.starts_with(begins.as_str()))?;
        let (_, times, wrong) = &mut store.wrong[at];
        *times -= 1;
        Some(wrong.clone())
    }

    fn watch(&self, plural: String, from: u64, selector: Option<String>) -> Response<Body> {
        let (store, mut told) = (self.store.clone(), self.told.subscribe());
        if from < store.lock().unwrap().forgotten {
            let gone = json!({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "metadata": {},
                "status": "Failure", "code": 410, "reason": "Expired", "message": "too old resource version"}});
            return text(&gone);
        }
        let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(64);
        tokio::spawn(async move {
            let mut from = from;
            loop {
                let new: Vec<Event> = {
                    let store = store.lock().unwrap();
                    store
                        .events
                        .iter()
                        .filter(|event| event.version > from && event.plural == plural)
                        .filter(|event| matches(&event.object, selector.as_deref()))
                        .cloned()
                        .collect()
                };
                for event in new {
                    from = event.version;
                    let line = format!("{}\n", json!({"type": event.kind, "object": event.object}));
                    if sender.send(line.into()).await.is_err() {
                        return;
                    }
                }
                if told.recv().await.is_err() {
                    return;
                }
            }
        });
        let lines = futures::stream::unfold(receiver, |mut receiver| async move {
            let line = receiver.recv().await?;
            Some((Ok::<_, Infallible>(Frame::data(line)), receiver))
        });
        streamed(lines)
    }

    fn groups(&self) -> Json {
        let store = self.store.lock().unwrap();
        let groups: Vec<Json> = store
            .groups
            .iter()
            .map(|(name, version)| {
                let one = json!({"groupVersion": format!("{name}/{version}"), "version": version});
                json!({"name": name, "versions": [one.clone()], "preferredVersion": one})
            })
            .collect();
        json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    }

    /// The kinds of a group.
    fn resources(&self, path: &str) -> Response<Body> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        // What an independent client, such as kubectl, asks for first.
        match parts.as_slice() {
            ["api"] => return text(&json!({"kind": "APIVersions", "versions": ["v1"]})),
            ["api", "v1"] => {
                return kinds("v1", &[("pods", "Pod"), ("persistentvolumeclaims", "PersistentVolumeClaim")]);
            }
            _ => {}
        }
        if let ["apis", group, version] = parts.as_slice()
            && self.store.lock().unwrap().groups.get(*group).map(String::as_str) == Some(*version)
        {
            let of_group: &[(&str, &str)] = match *group {
                "networking.k8s.io" => &[("networkpolicies", "NetworkPolicy")],
                _ => &[],
            };
            return kinds(&format!("{group}/{version}"), of_group);
        }
        failure(404, "NotFound", "the server could not find the requested resource")
    }
}

/// The kinds of a group's version, each by its plural and its name.
fn kinds(version: &str, of_group: &[(&str, &str)]) -> Response<Body> {
    let kind = |(plural, kind): &(&str, &str)| {
        json!({"name": plural, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind,
            "verbs": ["create", "delete", "get", "list", "watch"]})
    };
    let resources: Vec<Json> = of_group.iter().map(kind).collect();
    text(
        &json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}),
    )
}
