//! `cargo xtask engine kubernetes`: the API machinery of Kubernetes with the resources of agent-sandbox, to check what the provider
//! writes against their real schemas. It has no pods and no controllers.
//!
//! The server is Kubernetes' own library for custom resources, in Debian's packages of Go libraries, which only the newest suite has.
//! So it is built here, once: the packages come through apt, which checks their signatures, into a folder of the cache, and nothing is
//! installed from that suite. That takes a compiler of PyPI, 250 MB of downloads and a quarter of an hour of processor time.

mod build;
mod serve;

use std::io::{Write as _, stdin, stdout};

use anyhow::Result;
use dormouse_chores::progress::complain;

pub use self::serve::Machinery;

/// What tests find its address by.
pub const ADDRESS: &str = "DORMOUSE_TEST_KUBERNETES";

/// Builds it where that was not done before, starts it, prints its address, and holds it until standard input ends.
///
/// # Errors
///
/// It cannot be built or started here; the cause.
pub(super) fn hold() -> Result<()> {
    let machinery = Machinery::start()?;
    writeln!(stdout(), "export {ADDRESS}={}", machinery.address())?;
    complain("the API server ends with standard input (Ctrl-D)");
    std::io::copy(&mut stdin().lock(), &mut std::io::sink())?;
    machinery.stop()
}
