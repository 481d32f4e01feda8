//! Whole runs: files are read, scopes opened, tools called over endpoints in this process, reports written.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

mod cancelling;
mod double;
mod example;
mod files;
mod gates;
mod hostile;
mod model;
mod scopes;
mod server;
mod told;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse_core::Result;
use dormouse_scenario::{Options, Plan, Report};
use dormouse_sources::Registry;

use double::Double;

/// A folder with files, and one source whose endpoints are in this process.
struct Stage {
    folder: tempfile::TempDir,
    double: Arc<Double>,
    registry: Registry,
}

impl Stage {
    fn new() -> Self {
        let double = Arc::new(Double::default());
        let mut registry = Registry::default();
        registry.register("double", double.clone());
        Self { folder: tempfile::tempdir().unwrap(), double, registry }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and names it.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn plan(&self, arena: &str) -> Result<Plan> {
        Plan::load(&[self.file("arena.yaml", arena)])
    }

    async fn run(&self, arena: &str) -> Report {
        self.run_with(arena, &Options::default()).await
    }

    async fn run_with(&self, arena: &str, options: &Options) -> Report {
        let plan = self.plan(arena).unwrap_or_else(|error| panic!("{error}"));
        dormouse_scenario::run(&plan, &self.registry, options).await.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// An arena with one server of that scope and this scenario, which is indented by two steps.
fn arena(scope: &str, scenario: &str) -> String {
    format!(
        "spec:\n  mcp_servers:\n    - name: box\n      source: double\n      scope: {scope}\n      source_args: {{tag: {scope}}}\n  scenarios:\n    - spec:\n        id: one\n{}",
        indented(scenario, 8)
    )
}

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
}
