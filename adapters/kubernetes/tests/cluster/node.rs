//! What runs pods: containers of the tests' engine, or, where nothing of a sandbox's files is needed, processes of this machine.
//!
//! It is no kubelet: it knows what the pods of this provider have and no more. Programs in a pod are reached by the WebSocket protocol
//! that Kubernetes has, in version 5 or 4.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use hyper::{Request, Response, StatusCode};
use serde_json::{Value as Json, json};
use tokio::process::Command;
use tokio::sync::{RwLock, broadcast, watch};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::answers::Body;
use crate::objects::VOLUMES;
use crate::server::Server;
use crate::streams;

/// The mark of containers of these tests.
const MARK: &str = "dormouse-test-kubernetes";

/// Most processes of a pod, as the `podPidsLimit` of a kubelet.
const PIDS: u32 = 128;

/// How many nodes there were in this process.
static NODES: AtomicUsize = AtomicUsize::new(0);

/// What runs pods.
pub(crate) struct Node {
    /// The engine; none: processes of this machine.
    engine: bool,
    /// Whether it takes pods.
    pub(crate) idle: AtomicBool,
    /// Whether it knows version 4 of the protocol alone.
    pub(crate) old: AtomicBool,
    /// Whether it says nothing on streams, and hears nothing.
    still: watch::Sender<bool>,
    /// Breaks off all streams.
    ends: broadcast::Sender<()>,
    made: Mutex<Vec<String>>,
    /// Whether it is closed; held while a pod is started.
    closed: RwLock<bool>,
    /// What its containers' names end with: several tests may have pods of one name on one engine.
    own: String,
    /// Where the files of volumes are, each under the number of its claim.
    volumes: tempfile::TempDir,
    /// By pod that is not ended, the volumes that it has.
    mounted: Mutex<HashMap<String, Vec<String>>>,
    /// How often a pod has begun with a volume that another one had.
    pub(crate) clashes: AtomicUsize,
}

/// The claims that a pod names.
pub(crate) fn claims_of(pod: &Json) -> Vec<String> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|one| one["persistentVolumeClaim"]["claimName"].as_str().map(str::to_owned)).collect()
}

impl Node {
    /// One whose pods are containers.
    pub(crate) fn containers() -> Self {
        let mut node = Self::processes();
        node.engine = true;
        node
    }

    /// One whose pods are nothing, and whose programs are processes of this machine.
    pub(crate) fn processes() -> Self {
        Self {
            engine: false,
            idle: AtomicBool::new(true),
            old: AtomicBool::new(false),
            still: watch::channel(false).0,
            ends: broadcast::channel(16).0,
            made: Mutex::default(),
            closed: RwLock::default(),
            own: format!("{}-{}", std::process::id(), NODES.fetch_add(1, Ordering::Relaxed)),
            volumes: tempfile::tempdir().unwrap(),
            mounted: Mutex::default(),
            clashes: AtomicUsize::default(),
        }
    }

    /// Breaks off all streams into pods.
    pub(crate) fn break_off(&self) {
        let _none = self.ends.send(());
    }

    /// Goes silent on all streams into pods, or goes on where it was.
    pub(crate) fn hold_still(&self, still: bool) {
        self.still.send_replace(still);
    }

    /// Starts what pods there are and come to be, and ends those that go.
    pub(crate) fn run(server: &Server) {
        let (server, mut changes) = (server.clone(), server.changes());
        let mut pods = server.follow("pods");
        tokio::spawn(async move {
            loop {
                for (kind, pod) in pods() {
                    let (server, name) =
                        (server.clone(), pod["metadata"]["name"].as_str().unwrap().to_owned());
                    if kind == "ADDED" && server.node.idle.load(Ordering::Acquire) {
                        tokio::spawn(async move {
                            let (own, to) = (server.clone(), name.clone());
                            let start = move || own.node.start(&own, &to, &pod);
                            let started = tokio::task::spawn_blocking(start).await.unwrap();
                            if started.is_ok() && server.node.engine {
                                server.node.watch_for_its_end(&server, &name);
                            }
                            let status = match started {
                                Ok(()) => json!({"phase": "Running", "conditions": [
                                    {"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]}),
                                Err(why) => json!({"phase": "Pending", "containerStatuses": [
                                    {"state": {"waiting": {"reason": "CreateContainerError", "message": why}}}]}),
                            };
                            server.status("pods", &name, status);
                        });
                    } else if kind == "DELETED" {
                        tokio::spawn(async move {
                            server.node.end(&name).await;
                            server.reclaim();
                        });
                    } else if pod["metadata"]["deletionTimestamp"].is_string() {
                        // Its end is asked for: the object goes when nothing of it runs any more.
                        tokio::spawn(async move {
                            server.node.end(&name).await;
                            server.remove("pods", &name);
                        });
                    }
                }
                if changes.recv().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Whether programs can be run in a pod. Those on a volume are ours to empty it, which no process of this machine may do.
    pub(crate) fn takes(&self, pod: &Json) -> bool {
        self.engine || claims_of(pod).is_empty()
    }

    /// The folder of a volume.
    pub(crate) fn folder(&self, claim: &Json) -> PathBuf {
        self.volumes.path().join(claim["metadata"]["uid"].as_str().unwrap())
    }

    /// Gives a pod its volumes, as a provisioner would.
    fn mount(&self, server: &Server, name: &str, pod: &Json) -> Result<HashMap<String, PathBuf>, String> {
        let mut folders = HashMap::new();
        for claim in claims_of(pod) {
            let _write = server.writes.lock().unwrap();
            let mut object = server.get(VOLUMES, &claim).ok_or("there is no such volume")?;
            let folder = self.folder(&object);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
            if object["spec"]["volumeName"].is_null() {
                object["spec"]["volumeName"] =
                    json!(format!("pv-{}", object["metadata"]["uid"].as_str().unwrap()));
                object["status"] = json!({"phase": "Bound"});
                server.put(VOLUMES, object);
            }
            folders.insert(claim.clone(), folder);
            let mut mounted = self.mounted.lock().unwrap();
            if mounted.values().flatten().any(|other| *other == claim) {
                self.clashes.fetch_add(1, Ordering::AcqRel);
            }
            mounted.entry(name.to_owned()).or_default().push(claim);
        }
        Ok(folders)
    }

    /// Tells the end of a pod that nobody has asked for.
    fn watch_for_its_end(&self, server: &Server, name: &str) {
        let (server, name, container) = (server.clone(), name.to_owned(), self.container(name));
        tokio::spawn(async move {
            let ended = Command::new("docker").args(["wait", &container]).output().await;
            let there = server.get("pods", &name).is_some_and(|pod| {
                pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] == "Running"
            });
            if there && ended.is_ok_and(|ended| ended.status.success()) {
                let pod = server.get("pods", &name).unwrap_or_default();
                let first = &pod["spec"]["containers"][0]["name"];
                // A pod goes on for as long as one of its containers does.
                server.status(
                    "pods",
                    &name,
                    match pod["spec"]["containers"].get(1) {
                        None => json!({"phase": "Failed", "reason": "Error"}),
                        Some(second) => json!({"phase": "Running", "containerStatuses": [
                        {"name": first, "state": {"terminated": {"reason": "Error"}}},
                        {"name": second["name"], "state": {"running": {}}}]}),
                    },
                );
            }
        });
    }

    /// Starts a pod. It blocks: what a test breaks off in the middle of it goes on, so that the node ends after it and removes what it
    /// made.
    fn start(&self, server: &Server, name: &str, pod: &Json) -> Result<(), String> {
        let folders = self.mount(server, name, pod)?;
        if !self.engine {
            return Ok(());
        }
        let closed = self.closed.blocking_read();
        if *closed {
            return Err("the node is closed".into());
        }
        self.made.lock().unwrap().push(name.to_owned());
        let name = &self.container(name);
        let container = &pod["spec"]["containers"][0];
        let user = &pod["spec"]["securityContext"]["runAsUser"];
        let limit = container["resources"]["limits"]["memory"].as_str().unwrap_or("512m").replace("Mi", "m");
        let mut argv: Vec<String> = ["run", "-d", "--network", "none", "--read-only", "--cap-drop", "ALL"]
            .iter()
            .chain(&["--security-opt", "no-new-privileges", "--label", MARK, "--name", name])
            .map(|word| (*word).to_owned())
            .collect();
        // Nodes have no swap, and bound the processes of each pod.
        argv.extend(["--memory-swap".into(), limit.clone(), "--pids-limit".into(), PIDS.to_string()]);
        argv.extend(["--user".into(), format!("{user}:{user}"), "--memory".into(), limit]);
        let volumes = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        let mut shared = self.prepare(name, pod, user)?;
        let beside = &pod["spec"]["containers"][1];
        shared.extend(share(name, beside)?);
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            if let Some(volume) = shared.get(mount["name"].as_str().unwrap()) {
                let (place, only) = (mount["mountPath"].as_str().unwrap(), mount["readOnly"] == true);
                let mode = if only { ":ro" } else { "" };
                argv.extend(["-v".into(), format!("{volume}:{place}{mode}")]);
                continue;
            }
            let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
            let size = volume["emptyDir"]["sizeLimit"].as_str().unwrap_or("67108864");
            let place = mount["mountPath"].as_str().unwrap();
            if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
                argv.extend(["--volume".into(), format!("{}:{place}", folders[claim].display())]);
                continue;
            }
            argv.extend([
                "--tmpfs".into(),
                format!("{place}:size={size},uid=65534,gid=65534,mode=0777,exec"),
            ]);
        }
        for one in container["env"].as_array().into_iter().flatten() {
            let pair = format!("{}={}", one["name"].as_str().unwrap(), one["value"].as_str().unwrap());
            argv.extend(["--env".into(), pair]);
        }
        let words = |of: &Json| {
            let all = of.as_array().into_iter().flatten();
            all.map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let mut command = words(&container["command"]);
        if let Some(name) = pod["spec"]["hostname"].as_str() {
            argv.extend(["--hostname".into(), name.to_owned()]);
        }
        if let Some(directory) = container["workingDir"].as_str() {
            argv.extend(["--workdir".into(), directory.to_owned()]);
        }
        argv.extend([
            "--entrypoint".into(),
            command.remove(0),
            container["image"].as_str().unwrap().to_owned(),
        ]);
        argv.extend(command);
        docker(&argv)?;
        if beside.is_null() {
            return Ok(());
        }
        // The second one has the first one's network, and nothing else of it.
        let (network, place) = (format!("container:{name}"), beside["volumeMounts"][0]["mountPath"].as_str());
        let (volume, command) = (format!("{}:{}", second(name), place.unwrap()), words(&beside["command"]));
        let run = ["run", "-d", "--network", &network, "--read-only", "--cap-drop", "ALL", "--label", MARK];
        let own = format!("{user}:{user}");
        let more =
            ["--name", &second(name), "--user", &own, "--memory", "64m", "-v", &volume, "--entrypoint"];
        let image = beside["image"].as_str().unwrap();
        let all = run.iter().chain(&more).copied().chain([command[0].as_str(), image]);
        let argv: Vec<&str> = all.chain(command[1..].iter().map(String::as_str)).collect();
        docker(&argv).map(drop)
    }

    /// Runs the init container of a pod, if it has one; answers the volume that it shares with the other one.
    fn prepare(&self, name: &str, pod: &Json, user: &Json) -> Result<HashMap<String, String>, String> {
        let Some(first) = pod["spec"]["initContainers"].get(0) else { return Ok(HashMap::new()) };
        let mount = &first["volumeMounts"][0];
        let volume = format!("{name}:{}", mount["mountPath"].as_str().unwrap());
        let image = first["image"].as_str().unwrap().to_owned();
        let command: Vec<&str> =
            first["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let run = ["run", "--rm", "--network", "none", "--label", MARK, "-v", &volume];
        let own = format!("{user}:{user}");
        // A folder that is the pod's own can be written by its user.
        let open =
            [&run[..], &["--entrypoint", "chmod", &image, "777", mount["mountPath"].as_str().unwrap()]]
                .concat();
        let fill = [
            &run[..],
            &["--read-only", "--cap-drop", "ALL", "--user", &own, "--entrypoint", command[0], &image],
            &command[1..],
        ]
        .concat();
        for argv in [open, fill] {
            docker(&argv)?;
        }
        Ok(HashMap::from([(mount["name"].as_str().unwrap().to_owned(), name.to_owned())]))
    }

    /// The name of its container on the engine.
    pub(crate) fn container(&self, pod: &str) -> String {
        format!("{pod}-{}", self.own)
    }

    /// Ends a pod. What a test breaks off in the middle of it goes on, and the test's end waits for it.
    pub(crate) async fn end(&self, pod: &str) {
        if self.engine {
            let container = self.container(pod);
            tokio::task::spawn_blocking(move || clear(&container)).await.unwrap();
        }
        self.mounted.lock().unwrap().remove(pod);
    }

    /// Ends what it has made, also what nobody removed.
    pub(crate) async fn close(&self) {
        *self.closed.write().await = true;
        let made = std::mem::take(&mut *self.made.lock().unwrap());
        for name in made {
            self.end(&name).await;
        }
    }

    /// Takes a request for a program in a pod.
    pub(crate) fn exec(
        &self,
        (pod, container): (&str, Option<&str>),
        command: &[String],
        request: Request<Incoming>,
    ) -> Response<Body> {
        let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (key, offered) = (header(SEC_WEBSOCKET_KEY).unwrap(), header(SEC_WEBSOCKET_PROTOCOL).unwrap());
        let old = self.old.load(Ordering::Acquire);
        let version = if old { "v4.channel.k8s.io" } else { "v5.channel.k8s.io" };
        assert!(offered.split(", ").any(|one| one == version), "{offered}");
        let mut program = if self.engine {
            let mut docker = Command::new("docker");
            let first = self.container(pod);
            let name = if container == Some("gate") { second(&first) } else { first };
            docker.args(["exec", "-i", &name]).args(command);
            docker
        } else {
            let mut own = Command::new("setsid");
            own.args(["-w"]).args(command);
            own
        };
        let program =
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let child = program.spawn().unwrap();
        let (mut ends, still) = (self.ends.subscribe(), self.still.subscribe());
        tokio::spawn(async move {
            let upgraded = hyper::upgrade::on(request).await.unwrap();
            tokio::select! {
                () = streams::speak(upgraded, child, old, still) => {}
                _ = ends.recv() => {}
            }
        });
        let mut response = Response::new(Empty::new().boxed());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(CONNECTION, "Upgrade".parse().unwrap());
        headers.insert(UPGRADE, "websocket".parse().unwrap());
        headers.insert(SEC_WEBSOCKET_ACCEPT, derive_accept_key(key.as_bytes()).parse().unwrap());
        headers.insert(SEC_WEBSOCKET_PROTOCOL, version.parse().unwrap());
        response
    }
}

/// What a test that fails leaves is removed, so that it fails alone.
impl Drop for Node {
    fn drop(&mut self) {
        if !self.engine {
            return;
        }
        let made = std::mem::take(self.made.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        for pod in &made {
            clear(&self.container(pod));
        }
    }
}

/// What a command of docker says.
fn docker(words: &[impl AsRef<OsStr>]) -> Result<String, String> {
    let ran = std::process::Command::new("docker").args(words).output().map_err(|error| error.to_string())?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if ran.status.success() { Ok(text(&ran.stdout)) } else { Err(text(&ran.stderr)) }
}

/// What the second container of a pod is called, and the volume that it shares with the first.
fn second(first: &str) -> String {
    format!("{first}-gate")
}

/// Makes the volume that a second container shares with the first of this name, if there is one: each by the name that the pod has for it.
fn share(name: &str, beside: &Json) -> Result<HashMap<String, String>, String> {
    let Some(mount) = beside["volumeMounts"].get(0) else { return Ok(HashMap::new()) };
    let (volume, place) = (second(name), mount["mountPath"].as_str().unwrap());
    let at = format!("{volume}:{place}");
    let image = beside["image"].as_str().unwrap();
    docker(&[
        "run",
        "--rm",
        "--network",
        "none",
        "--label",
        MARK,
        "-v",
        &at,
        "--entrypoint",
        "chmod",
        image,
        "777",
        place,
    ])?;
    Ok(HashMap::from([(mount["name"].as_str().unwrap().to_owned(), volume)]))
}

/// Removes the containers of a pod and their volumes.
fn clear(container: &str) {
    clear_one(&second(container));
    clear_one(container);
}

/// Removes a container and its volume. Another removal of the same may have them for a moment longer.
fn clear_one(container: &str) {
    for _ in 0..50 {
        let _gone = docker(&["rm", "-fv", container]);
        if docker(&["volume", "rm", "-f", container]).is_ok() {
            return;
        }
        let users = docker(&["ps", "-aq", "--filter", &format!("volume={container}")]).unwrap_or_default();
        for user in users.split_whitespace() {
            let _gone = docker(&["rm", "-fv", user]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
