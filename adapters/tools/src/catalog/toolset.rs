//! Which of the profiles' tools are listed.

use dormouse_core::{Error, Result};

use super::USUAL;
use crate::profile::Profile;
use crate::spec::nearest;

/// What has to be done for tools over sandboxes that last.
pub(crate) const WITH_STATE: &str =
    "it needs persistent sandboxes: the server must be started with `--state-dir DIR`";

/// A choice of tools. Tools that are not chosen are not there at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Toolset {
    /// The usual ones of the profile `sandbox`; all of any other profile.
    #[default]
    Usual,
    /// All.
    All,
    /// These.
    Named(Vec<String>),
}

impl Toolset {
    /// Reads `usual`, `all`, or names with commas between them.
    ///
    /// # Errors
    /// `args_invalid` for an empty name. Whether a name exists is seen by [`Surface::with_tools`](crate::Surface::with_tools).
    pub fn parse(text: &str) -> Result<Self> {
        match text.trim() {
            "usual" => Ok(Self::Usual),
            "all" => Ok(Self::All),
            names => {
                let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
                if names.iter().any(String::is_empty) {
                    return Err(Error::args_invalid("the choice of tools has an empty name")
                        .with_hint("write `all`, `usual`, or names such as `sandbox_eval,sandbox_create`"));
                }
                Ok(Self::Named(names))
            }
        }
    }

    pub(crate) fn has(&self, profile: Profile, name: &str) -> bool {
        match self {
            Self::Usual => profile != Profile::Sandbox || USUAL.contains(&name),
            Self::All => true,
            Self::Named(names) => names.iter().any(|chosen| chosen == name),
        }
    }

    /// Whether all that are named exist. `lasting`: those that would be there with sandboxes that last.
    pub(crate) fn check(&self, known: &[&str], lasting: &[&str]) -> Result<()> {
        let Self::Named(names) = self else { return Ok(()) };
        let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
        let shown: String = unknown.escape_debug().take(64).collect();
        let error = Error::args_invalid(format!("there is no tool `{shown}` to choose"));
        if lasting.contains(&unknown.as_str()) {
            return Err(error.with_hint(WITH_STATE));
        }
        Err(match nearest(unknown, known.iter().copied()) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error.with_hint(format!("the tools are `{}`", known.join("`, `"))),
        })
    }
}
