//! The programs that an image has, of those that make a difference: looked for once in each image.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::program::Written;

/// Those that make a difference.
const LOOKED_FOR: [&str; 7] = ["bash", "python3", "node", "php", "rm", "stat", "tar"];
/// Says which of its arguments are commands.
const PROBE: &str = r#"for tool; do command -v "$tool" >/dev/null 2>&1 && echo "$tool"; done; true"#;

/// The names of the programs that an image has.
pub type Tools = BTreeSet<String>;

/// What is known of images.
#[derive(Debug, Default)]
pub struct KnownTools(Mutex<HashMap<String, Arc<Tools>>>);

impl KnownTools {
    /// Those of an image; none: nobody has looked yet.
    pub fn of(&self, image: &str) -> Option<Arc<Tools>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(image).cloned()
    }

    /// Notes those of an image.
    pub fn note(&self, image: &str, tools: Tools) -> Arc<Tools> {
        let tools = Arc::new(tools);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(image.to_owned(), tools.clone());
        tools
    }
}

/// The command that looks for them in a container.
pub fn probe() -> Vec<String> {
    ["sh", "-c", PROBE, "dormouse"].iter().chain(&LOOKED_FOR).map(|word| (*word).to_owned()).collect()
}

/// What [`probe`] has found. None: the container has no shell.
pub fn found(written: &Written) -> Option<Tools> {
    (written.code == Some(0)).then(|| written.stdout.text().lines().map(str::to_owned).collect())
}
