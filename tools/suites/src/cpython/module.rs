//! One run of one test module in one fresh instance.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dormouse::{Access, Bounds, Dormouse, Limits, OutputSink, Status, Stream};
use serde::Deserialize;
use serde_json::json;

use crate::sandbox::brief;

/// What one run may use. The time is many times what the slowest module takes, so that a busy machine changes nothing.
pub(super) const WALL: Duration = Duration::from_secs(240);
const MEMORY: u64 = 512 << 20;
const OUTPUT: u64 = 8 << 20;
const DISK: u64 = 1 << 30;
const FILES: u32 = 1_000_000;

/// Where the guest sees the folder with the package `test`.
const MOUNT: &str = "/py/test-suite";

/// Marks the line on standard error that names the test which begins.
const MARK: &str = "\u{1}test ";

/// Runs test modules.
pub(super) struct Runner {
    pub(super) dormouse: Dormouse,
    pub(super) folder: PathBuf,
    /// The script that runs inside the guest (`tests/conformance/cpython/run.py`).
    pub(super) script: String,
}

/// Which tests of a module are run.
pub(super) struct Job {
    /// Such as `test.test_json`.
    pub(super) module: String,
    /// These only; none: all.
    pub(super) only: Vec<String>,
    /// All but these.
    pub(super) without: Vec<String>,
}

/// What a run came to.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Results {
    pub(super) passed: u64,
    /// Messages by test.
    pub(super) failed: BTreeMap<String, String>,
    /// Counts by reason.
    pub(super) skipped: BTreeMap<String, u64>,
    /// Wall-clock time.
    #[serde(default)]
    pub(super) seconds: f64,
}

impl Runner {
    pub(super) async fn run(&self, job: &Job) -> Results {
        let started = Instant::now();
        let results = self.results(job).await;
        Results { seconds: started.elapsed().as_secs_f64(), ..results }
    }

    async fn results(&self, job: &Job) -> Results {
        let last = Arc::new(LastTest::default());
        let limits = Limits {
            wall: WALL,
            memory: MEMORY,
            output: OUTPUT,
            disk: DISK,
            files: FILES,
            ..Limits::default()
        };
        let asked = json!({"module": job.module, "only": job.only, "without": job.without});
        let snippet = self.dormouse.snippet("python", self.script.as_str());
        let snippet =
            snippet.name("run.py").limits(limits).bounds(Bounds { string_bytes: 1 << 20, ..Bounds::MAX });
        let snippet = snippet.mount(&self.folder, MOUNT, Access::ReadOnly).stdin(asked.to_string());
        let message = match snippet.directory("/tmp").on_output(last.clone()).run().await {
            Err(error) => format!("stopped: host: {error}"),
            Ok(outcome) => match &outcome.status {
                Status::Returned(value) => match value.as_str().map(serde_json::from_str) {
                    Some(Ok(results)) => return results,
                    _ => "stopped: the runner's answer cannot be read".to_owned(),
                },
                Status::Raised(exception) => {
                    format!("raised: {}: {}", exception.class, brief(&exception.message))
                }
                Status::Exited(status) => format!("stopped: it exited with {status}"),
                Status::Stopped(error) => format!("stopped: {}: {}", error.code(), brief(error.message())),
            },
        };
        let culprit = last.name().unwrap_or_else(|| job.module.clone());
        Results { failed: BTreeMap::from([(culprit, message)]), ..Results::default() }
    }
}

/// Remembers which test began last.
#[derive(Default)]
struct LastTest {
    line: Mutex<(Vec<u8>, Option<String>)>,
}

impl LastTest {
    fn name(&self) -> Option<String> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

impl OutputSink for LastTest {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        if stream != Stream::Stderr {
            return;
        }
        let mut held = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in bytes {
            if *byte == b'\n' {
                let line = String::from_utf8_lossy(&held.0).into_owned();
                held.0.clear();
                if let Some((_, name)) = line.split_once(MARK) {
                    held.1 = Some(name.to_owned());
                }
            } else if held.0.len() < 4096 {
                held.0.push(*byte);
            }
        }
    }
}
