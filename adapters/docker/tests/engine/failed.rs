//! What a test that fails leaves on the engine is removed, so that it fails alone: whether the engine is clean is asked in the end.

use std::path::Path;

/// Removes the containers and volumes of the installation with a state folder, if a test of it is failing.
#[allow(clippy::disallowed_methods, reason = "a test that fails has no runtime to ask the engine with")]
pub(crate) fn remove_what_is_left(state: &Path) {
    if !std::thread::panicking() {
        return;
    }
    let Ok(text) = std::fs::read_to_string(state.join("docker/owner")) else { return };
    let label = format!("label=dormouse.owner={}", text.lines().next().unwrap_or_default());
    let remove = "docker ps -aq --filter \"$1\" | xargs -r docker rm -fv; \
        docker volume ls -q --filter \"$1\" | xargs -r docker volume rm -f";
    let _gone = std::process::Command::new("sh").args(["-c", remove, "sh", &label]).output();
}
