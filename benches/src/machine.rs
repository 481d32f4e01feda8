//! The machine a table was measured on, so that a reader can tell how much its numbers say.

use std::fs;

use serde::Serialize;

/// What numbers depend on.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    /// Load of the last minute, as the run began and as it ended.
    pub(crate) load: [f64; 2],
}

impl Machine {
    pub(crate) fn look() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let processor = text("/proc/cpuinfo")
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map_or_else(|| "unknown".into(), |rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let kernel = text("/proc/sys/kernel/osrelease").trim().to_owned();
        Self { processor, cores, kernel, load: [load(); 2] }
    }

    /// Notes the load at the end.
    pub(crate) fn end(&mut self) {
        self.load[1] = load();
    }
}

fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}
