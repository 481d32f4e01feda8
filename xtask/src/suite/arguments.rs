//! The command line of `cargo xtask suite`.

use std::io::Write as _;
use std::time::Instant;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::{clients, conformance, cpython, inspector, packages, phpt, shell, test262, wasi};
use crate::process::Totals;
use crate::progress::complain;

/// Which suite to run, and how much of it.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The suite
    #[arg(value_enum)]
    suite: Suite,
    #[command(flatten)]
    extent: Extent,
}

/// How much of a suite is run, and what is done with what it shows.
#[derive(Args)]
pub(crate) struct Extent {
    /// Run everything, not only the part that a change has to pass
    #[arg(long)]
    pub(crate) all: bool,
    /// Rewrite the list of expected failures; new ones get a reason that a person has to replace
    #[arg(long)]
    pub(crate) bless: bool,
    /// Run only the tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
}

impl Extent {
    /// Whether the test of this name is asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|text| name.contains(text))
    }

    /// Whether the test is run: all that are asked for by name, else all or those of the share.
    pub(crate) fn takes(&self, name: &str, in_share: impl FnOnce() -> bool) -> bool {
        self.wants(name) && (self.all || self.only.is_some() || in_share())
    }
}

/// Tests that others wrote, and programs of others to compare with.
#[derive(Clone, Copy, ValueEnum)]
enum Suite {
    /// CPython's own tests, in the Python guest
    Cpython,
    /// The tests of ECMAScript and of the JavaScript engine, in the JavaScript guest
    Test262,
    /// PHP's own tests, in the PHP guest
    Phpt,
    /// The Python and TypeScript MCP clients against `dormouse mcp`, and schemathesis against `dormouse serve`
    Clients,
    /// The MCP inspector, against `dormouse mcp`
    Inspector,
    /// The MCP conformance suite, against `dormouse serve`
    McpConformance,
    /// Packages of PyPI, npm and Debian's PHP, used inside a project
    Packages,
    /// wasi-testsuite's programs of preview 1, with `dormouse run`
    Wasi,
    /// One-liners and scripts in the shell of a sandbox, compared with Debian's bash
    Shell,
}

/// Runs the suite; prints every unexpected result and the counts to standard output.
///
/// # Errors
///
/// What kept the suite from running. Tests that failed are counted in the totals.
pub(crate) fn run(arguments: &Arguments) -> Result<Totals> {
    let started = Instant::now();
    let extent = &arguments.extent;
    let totals = match arguments.suite {
        Suite::Cpython => cpython::run(extent)?,
        Suite::Test262 => test262::run(extent)?,
        Suite::Phpt => phpt::run(extent)?,
        Suite::Clients => clients::run(extent)?,
        Suite::Inspector => inspector::run(extent)?,
        Suite::McpConformance => conformance::run(extent)?,
        Suite::Packages => packages::run(extent)?,
        Suite::Wasi => wasi::run(extent)?,
        Suite::Shell => shell::run(extent)?,
    };
    complain(&format!("took {:.1} s", started.elapsed().as_secs_f64()));
    writeln!(std::io::stdout().lock(), "{totals}")?;
    Ok(totals)
}
