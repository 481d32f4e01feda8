//! The container engine: a way to it that can be closed and held up, and what it has of a server's.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_tests::between::{Between, Way};

/// The images of the tests, the default first; those that are there are used.
const IMAGES: [&str; 2] = ["dormouse-test/busybox:1", PYTHON];
/// The one with interpreters.
pub(crate) const PYTHON: &str = "dormouse-test/full:1";
/// Where Docker's own clients look when nothing is said.
const USUAL: &str = "unix:///var/run/docker.sock";
/// How long removing what is left may take: it is tried again ever less often.
const REMOVED: Duration = Duration::from_secs(40);

/// A way to an engine, and what of it is used.
pub(crate) struct Engine {
    host: String,
    way: Between,
    /// The images that sandboxes may be.
    pub(crate) images: Vec<&'static str>,
}

impl Engine {
    /// The one that answers at `DOCKER_HOST`, else at the system's socket.
    ///
    /// # Errors
    /// Why there is none that could be used.
    pub(crate) fn find(folder: &Path) -> Result<Self> {
        let named = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        let host = named.unwrap_or_else(|| USUAL.into());
        docker(&host, &["version", "--format", "{{.Server.Version}}"])?;
        let is_there = |image: &&str| docker(&host, &["image", "inspect", image]).is_ok();
        let images: Vec<&str> = IMAGES.into_iter().filter(is_there).collect();
        ensure!(!images.is_empty(), "the engine has no test image (`cargo xtask engine images` makes them)");
        let way = Between::new(&host, &folder.join("engine.sock"))?;
        Ok(Self { host, way, images })
    }

    /// What the server is told of it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let images = self.images.iter().flat_map(|image| ["--docker-image".into(), (*image).to_owned()]);
        ["--docker-host".into(), self.way.address()].into_iter().chain(images).collect()
    }

    /// How the server finds it from now on.
    pub(crate) fn set(&self, way: Way) {
        self.way.set(way);
    }

    /// Ends the containers of a state folder's servers, as somebody at the engine might.
    pub(crate) fn end_containers(&self, state: &Path) {
        let Ok(ids) = self.named(state, &["ps", "-q"]) else { return };
        let words: Vec<&str> = ["kill"].into_iter().chain(ids.iter().map(String::as_str)).collect();
        if !ids.is_empty() {
            // One may have ended by itself meanwhile.
            let _ = docker(&self.host, &words);
        }
    }

    /// The containers and volumes of a state folder's servers that are left when those that are being removed have had their time;
    /// none of those that were there `before`.
    pub(crate) fn left(&self, state: &Path, before: &[String]) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let mut left = self.there(state);
            left.retain(|one| !before.contains(one));
            if left.is_empty() || begun.elapsed() > REMOVED {
                return left;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Those that are there; or else why that is not known.
    pub(crate) fn there(&self, state: &Path) -> Vec<String> {
        self.all(state).unwrap_or_else(|error| vec![format!("{error:#}")])
    }

    fn all(&self, state: &Path) -> Result<Vec<String>> {
        let mut all = self.named(state, &["ps", "-aq"])?;
        all.extend(self.named(state, &["volume", "ls", "-q"])?);
        Ok(all)
    }

    fn named(&self, state: &Path, words: &[&str]) -> Result<Vec<String>> {
        let Ok(owner) = std::fs::read_to_string(state.join("docker/owner")) else { return Ok(Vec::new()) };
        let filter = format!("label=dormouse.owner={}", owner.lines().next().unwrap_or_default());
        let said = docker(&self.host, &[words, &["--filter", &filter]].concat())?;
        Ok(said.lines().map(str::to_owned).collect())
    }
}

/// What Docker's command line says.
#[expect(clippy::disallowed_methods, reason = "the engine is asked from outside")]
fn docker(host: &str, words: &[&str]) -> Result<String> {
    let output = Command::new("docker").args(["--host", host]).args(words).output();
    let output = output.context("`docker` does not start")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
