//! Processes that the kernel killed for want of memory: how many, and what is said of it.

use dormouse_core::{Error, ErrorCode, Result};

use crate::exec::run_own;
use crate::port::Container;

/// Says how often the kernel killed a process of the container for want of memory.
const KILLS: &str = "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null";

/// That the limit was reached.
pub fn out_of_memory(container: &dyn Container) -> Error {
    Error::new(
        ErrorCode::LimitMemory,
        format!("the memory limit of {} bytes was reached, and a process was killed", container.memory()),
    )
    .with_hint(
        "what is in /workspace and /tmp counts: sandbox_remove_file removes files, or use less memory, or make a sandbox \
         with more",
    )
}

/// The counter of kills, asked for by a program of its own; -1 where there is none.
///
/// # Errors
/// `provider_unavailable`.
pub async fn kills(container: &dyn Container) -> Result<i64> {
    let written = run_own(container, ["sh", "-c", KILLS].map(str::to_owned).into(), Vec::new()).await?;
    let text = written.stdout.text();
    let count = text.lines().filter_map(|line| line.strip_prefix("oom_kill "));
    Ok(count.filter_map(|count| count.trim().parse().ok()).next_back().unwrap_or(-1))
}
