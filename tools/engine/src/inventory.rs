//! What is in an engine, and in the folder of temporary files, to compare after the tests with before.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Engine;

/// What each container, volume and image of Dormouse is labelled with.
pub(super) const LABEL: &str = "label=dormouse.owner";
/// How long what is being removed may take.
const SETTLING: Duration = Duration::from_secs(15);

/// One line for each thing, such as `volume abc`.
pub(super) struct Inventory(BTreeSet<String>);

impl Inventory {
    /// All that is there, but for the test images. An engine that others use as well shows only what has our label.
    pub(super) fn take(engine: &Engine) -> Result<Self> {
        let mut things = BTreeSet::new();
        let mut list = |kind: &str, command: &[&str], format: &str| -> Result<()> {
            let mut arguments = command.to_vec();
            if !engine.is_own() {
                arguments.extend(["--filter", LABEL]);
            }
            arguments.extend(["--format", format]);
            for line in engine.client().run(arguments)?.lines() {
                things.insert(format!("{kind} {line}"));
            }
            Ok(())
        };
        list("container", &["ps", "--all", "--no-trunc"], "{{.Names}} ({{.Image}}, {{.Status}})")?;
        list("volume", &["volume", "ls"], "{{.Name}}")?;
        list("image", &["images"], "{{.Repository}}:{{.Tag}} {{.ID}}")?;
        list("network", &["network", "ls"], "{{.Name}}")?;
        // That of relays is kept, as the images of sandboxes are.
        things.retain(|thing| {
            !["image dormouse-test/", "image dormouse-relay:"].iter().any(|kept| thing.starts_with(kept))
        });
        things.extend(folders());
        Ok(Self(things))
    }

    /// What is there now and was not there before, once what is being removed had time to go.
    pub(super) fn left_over(&self, engine: &Engine) -> Result<Vec<String>> {
        let started = Instant::now();
        loop {
            let left: Vec<String> = Self::take(engine)?.0.difference(&self.0).cloned().collect();
            if left.is_empty() || started.elapsed() > SETTLING {
                return Ok(left);
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}

/// The folders and files that Dormouse has made among the temporary ones. Some tests keep a file of the host that nothing may
/// change; it has no part in this.
fn folders() -> Vec<String> {
    let temporary = std::env::temp_dir();
    let Ok(all) = std::fs::read_dir(&temporary) else { return Vec::new() };
    let names = all.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let others = ["dormouse-engine-", "dormouse-canary-"];
    let ours = names
        .filter(|name| name.starts_with("dormouse-") && !others.iter().any(|other| name.starts_with(other)));
    ours.map(|name| format!("file {}", temporary.join(name).display())).collect()
}
