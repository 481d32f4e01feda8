//! The command lines of `cargo xtask guests` and `cargo xtask suite`. `xtask` reads them first, so that help and mistakes are
//! answered before anything is compiled; the tool reads the same words again.

use clap::{Args, Subcommand, ValueEnum};

/// Which guests to build, and how.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Guests {
    /// None: build guests.
    #[command(subcommand)]
    pub chore: Option<GuestsChore>,
    /// Guests to build; none named: all
    #[arg(value_name = "LANG")]
    pub languages: Vec<String>,
    /// Build even what the cache holds
    #[arg(long)]
    pub force: bool,
    /// Stop before the steps that need the engine; the next build goes on there
    #[arg(long, conflicts_with_all = ["check_reproducible", "print_path"])]
    pub compile_only: bool,
    /// Link, pre-initialise and wrap once more, and fail unless that gives the same bytes
    #[arg(long)]
    pub check_reproducible: bool,
    /// Print the path of each guest to standard output
    #[arg(long)]
    pub print_path: bool,
}

/// Other chores with guests.
#[derive(Subcommand)]
pub enum GuestsChore {
    /// Edit the patches of a guest as commits of a git repository
    Refresh(Refresh),
    /// Lint and test the guests' own Rust code on this machine
    Check(Check),
    /// Print the key of each guest
    Keys,
    /// Print the C sources that guests are made of: name, file and SHA-256 of each
    Sources,
    /// Install the tool chain for C, where it is missing
    Toolchain,
    /// Remove from the cache what only builds need: build folders, sources, the Rust compiler for guests
    Tidy,
}

/// What of the guests' Rust code to check.
#[derive(Args)]
pub struct Check {
    /// Run only the tests whose name contains this, and no lints
    #[arg(value_name = "TEXT")]
    pub only: Option<String>,
}

/// What to do with the patches of a guest.
#[derive(Args)]
pub struct Refresh {
    /// Create the repository target/patches/LANG with a commit for each patch; without this option, write the patches from it
    #[arg(long)]
    pub prepare: bool,
    /// The guest
    #[arg(value_name = "LANG")]
    pub language: String,
}

/// Which suite to run, and how much of it.
#[derive(Args)]
pub struct Suites {
    /// The suite
    #[arg(value_enum)]
    pub suite: Suite,
    /// How much of it.
    #[command(flatten)]
    pub extent: Extent,
}

/// How much of a suite is run, and what is done with what it shows.
#[derive(Args)]
pub struct Extent {
    /// Run everything, not only the part that a change has to pass
    #[arg(long)]
    pub all: bool,
    /// Rewrite the list of expected failures; new ones get a reason that a person has to replace
    #[arg(long)]
    pub bless: bool,
    /// Run only the tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

impl Extent {
    /// Whether the test of this name is asked for.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|text| name.contains(text))
    }

    /// Whether the test is run: all that are asked for by name, else all or those of the share.
    pub fn takes(&self, name: &str, in_share: impl FnOnce() -> bool) -> bool {
        self.wants(name) && (self.all || self.only.is_some() || in_share())
    }
}

/// Tests that others wrote, and programs of others to compare with.
#[derive(Clone, Copy, ValueEnum)]
pub enum Suite {
    /// CPython's own tests, in the Python guest
    Cpython,
    /// The tests of ECMAScript and of the JavaScript engine, in the JavaScript guest
    Test262,
    /// Node.js's own tests of the modules that the JavaScript guest has
    Node,
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
    /// Programs that call tools of real MCP servers, run straight and moved wherever they wait
    Tools,
}
