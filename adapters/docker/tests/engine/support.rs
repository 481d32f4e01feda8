//! A provider with a state folder of its own, and the check that it leaves nothing behind.

use std::collections::HashMap;
use std::path::Path;

use bollard::Docker;
use bollard::query_parameters::{
    ImportImageOptionsBuilder, ListContainersOptionsBuilder, ListVolumesOptionsBuilder,
};
use dormouse_core::Provider;
use dormouse_core::sandbox::Machine;
use dormouse_core::testing::wait_for_async;
use dormouse_docker::{DockerProvider, Settings};
use futures::StreamExt as _;

use crate::failed::remove_what_is_left;
use crate::list::{BUSYBOX, FULL, Ground, PATIENCE, spec};

/// An engine, and a provider of this test's own.
pub(crate) struct Bench {
    pub(crate) docker: Docker,
    pub(crate) provider: DockerProvider,
    pub(crate) state: tempfile::TempDir,
}

/// Whether the test has to run.
pub(crate) fn skip(test: &str, why: &str) {
    assert!(std::env::var("DORMOUSE_REQUIRE_DOCKER").as_deref() != Ok("1"), "{test}: {why}");
    println!("skipped: {test}: {why}");
}

pub(crate) async fn engine() -> Result<Docker, String> {
    let docker = Docker::connect_with_defaults().map_err(|fault| fault.to_string())?;
    let docker = docker.negotiate_version().await.map_err(|fault| fault.to_string())?;
    docker.ping().await.map_err(|fault| fault.to_string())?;
    Ok(docker)
}

/// Settings for tests: nothing waits unless it is asked for.
pub(crate) fn settings(state: &Path) -> Settings {
    Settings {
        state: Some(state.to_owned()),
        images: vec![
            BUSYBOX.into(),
            FULL.into(),
            "dormouse-test/noshell:1".into(),
            "dormouse-test/surprise:1".into(),
        ],
        warm: 0,
        ..Settings::default()
    }
}

impl Bench {
    pub(crate) async fn new(test: &str) -> Option<Self> {
        Self::with(test, |_| {}).await
    }

    pub(crate) async fn with(test: &str, change: impl FnOnce(&mut Settings)) -> Option<Self> {
        let docker = match engine().await {
            Ok(docker) => docker,
            Err(why) => {
                skip(test, &format!("no container engine: {why}"));
                return None;
            }
        };
        if let Err(why) = busybox(&docker).await {
            skip(test, &why);
            return None;
        }
        let state = tempfile::tempdir().unwrap();
        let mut settings = settings(state.path());
        change(&mut settings);
        let provider = DockerProvider::new(settings).unwrap();
        Some(Self { docker, provider, state })
    }

    /// For a test of the list, which needs both images.
    pub(crate) async fn of_list(test: &str) -> Option<Self> {
        let bench = Self::new(test).await?;
        bench.has(test, FULL).await.then_some(bench)
    }

    /// Whether the engine has an image; says so if not.
    pub(crate) async fn has(&self, test: &str, image: &str) -> bool {
        let there = self.docker.inspect_image(image).await.is_ok();
        if !there {
            println!("skipped: {test}: the engine does not have {image}");
        }
        there
    }

    pub(crate) async fn machine(&self) -> Box<dyn Machine> {
        self.provider.machine(&spec(), None).await.unwrap()
    }

    pub(crate) fn owner(&self) -> String {
        owner_of(self.state.path())
    }

    /// Containers and volumes of this installation.
    pub(crate) async fn left(&self) -> (usize, usize) {
        left_of(&self.docker, &self.owner()).await
    }

    /// The end: nothing of this test is left.
    pub(crate) async fn end(self) {
        self.provider.close().await;
        assert_eq!(self.left().await, (0, 0), "containers and volumes are left");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        remove_what_is_left(self.state.path());
    }
}

impl Ground for Bench {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    async fn running(&self) -> Vec<String> {
        running(&self.docker, &self.owner()).await
    }

    async fn processes(&self, container: &str) -> String {
        processes(&self.docker, container).await
    }

    async fn kill(&self, container: &str) {
        self.docker.kill_container(container, None).await.unwrap();
    }
}

/// The number of the installation with a state folder.
pub(crate) fn owner_of(state: &Path) -> String {
    let text = std::fs::read_to_string(state.join("docker/owner")).unwrap();
    text.lines().next().unwrap().to_owned()
}

/// The containers of an installation that run.
pub(crate) async fn running(docker: &Docker, owner: &str) -> Vec<String> {
    let filter = HashMap::from([("label", vec![format!("dormouse.owner={owner}")])]);
    let options = ListContainersOptionsBuilder::default().filters(&filter).build();
    let found = docker.list_containers(Some(options)).await.unwrap();
    found.into_iter().filter_map(|container| container.id).collect()
}

/// What runs in a container, seen from the host.
async fn processes(docker: &Docker, id: &str) -> String {
    let top = docker.top_processes(id, None).await.unwrap();
    top.processes.unwrap_or_default().into_iter().map(|words| words.join(" ") + "\n").collect()
}

/// Waits until something of that name runs in a container.
pub(crate) async fn wait_for_process(docker: &Docker, id: &str, name: &str) {
    wait_for_async("the program runs", PATIENCE, async || {
        let all = processes(docker, id).await;
        if all.contains(name) { Ok(()) } else { Err(all) }
    })
    .await;
}

/// Waits until an installation has so many containers and volumes.
pub(crate) async fn wait_for_left(docker: &Docker, owner: &str, count: (usize, usize)) {
    wait_for_async("the containers and volumes are as many as they should be", PATIENCE, async || {
        let left = left_of(docker, owner).await;
        if left == count { Ok(()) } else { Err(left) }
    })
    .await;
}

/// Containers and volumes of an installation.
pub(crate) async fn left_of(docker: &Docker, owner: &str) -> (usize, usize) {
    let filter = HashMap::from([("label", vec![format!("dormouse.owner={owner}")])]);
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filter).build();
    let containers = docker.list_containers(Some(options)).await.unwrap().len();
    let options = ListVolumesOptionsBuilder::default().filters(&filter).build();
    let volumes = docker.list_volumes(Some(options)).await.unwrap().volumes.unwrap_or_default();
    (containers, volumes.len())
}

/// Sees to it that an engine has the small image: one that does not have it is given that of the tests' own engine. The
/// error is the cause to go on without.
pub(crate) async fn busybox(docker: &Docker) -> Result<(), String> {
    if docker.inspect_image(BUSYBOX).await.is_ok() {
        return Ok(());
    }
    let missing =
        |cause: String| format!("no image {BUSYBOX} (`cargo xtask engine images` makes it): {cause}");
    let other = engine().await.map_err(missing)?;
    let mut bytes = Vec::new();
    let mut export = std::pin::pin!(other.export_image(BUSYBOX));
    while let Some(part) = export.next().await {
        bytes.extend_from_slice(&part.map_err(|fault| missing(fault.to_string()))?);
    }
    let options = ImportImageOptionsBuilder::default().quiet(true).build();
    let mut loading = std::pin::pin!(docker.import_image(options, bollard::body_full(bytes.into()), None));
    while let Some(step) = loading.next().await {
        step.map_err(|fault| missing(fault.to_string()))?;
    }
    Ok(())
}
