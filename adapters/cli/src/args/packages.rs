//! Which packages can be installed in sandboxes, and from where, as it is written.

use clap::Args;

/// Packages of Python and JavaScript.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Packages")]
pub(crate) struct PackageArgs {
    /// Whether packages can be installed in sandboxes: `off`, `on` (from the indexes named here) or `system` (from those of
    /// this machine's pip and npm)
    #[arg(
        long,
        value_name = "WORD",
        default_value = "off",
        env = "DORMOUSE_PACKAGES",
        hide_env_values = true
    )]
    pub(crate) packages: String,
    /// Allow a package: a name, a pattern such as `pytest-*`, or `*` for all; dependencies must be allowed too; the prefix `pip:`
    /// or `npm:` limits it to one manager; can be repeated
    #[arg(
        long,
        value_name = "NAME",
        env = "DORMOUSE_PACKAGE_ALLOW",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub(crate) package_allow: Vec<String>,
    /// Address of the Python package index
    #[arg(long, value_name = "URL", env = "DORMOUSE_PIP_INDEX", hide_env_values = true)]
    pub(crate) pip_index: Option<String>,
    /// Address of the npm registry
    #[arg(long, value_name = "URL", env = "DORMOUSE_NPM_REGISTRY", hide_env_values = true)]
    pub(crate) npm_registry: Option<String>,
}
