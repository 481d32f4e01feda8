//! What the host does for sandboxes that they cannot do themselves: packages, git repositories, language models. Told are the
//! operator's bounds, never an address with a credential, an index or a key.

use dormouse_core::Sandboxes;

use crate::models::Models;
use crate::spec::{answer, list_of};

/// Entries of an operator's list that are shown; how many there are is told too.
const SHOWN: usize = 100;

answer! {
    /// Packages that can be installed.
    pub(crate) struct Packages {
        available: bool = "Whether there are any.",
        managers: Vec<&'static str> = list_of("pip or npm.", "Whose there are."),
        allow: Vec<String> = list_of(
            "Name; `*` is any characters, `pip:` or `npm:` before it makes it that one's alone.",
            "Names that the operator allows, dependencies included; the first 100.",
        ),
        allowed: usize = "How many such names there are.",
        packages: u64 = "Packages that one call may install, dependencies included.",
        bytes: u64 = "Bytes that they may unpack to.",
    }
}

/// Packages that can be installed.
pub(crate) fn packages(sandboxes: Option<&Sandboxes>) -> Packages {
    let offer = sandboxes.map(Sandboxes::package_offer).unwrap_or_default();
    let managers: Vec<&str> = offer.managers.iter().map(|manager| manager.as_str()).collect();
    if managers.is_empty() || offer.allow.is_empty() {
        let (managers, allow) = (Vec::new(), Vec::new());
        return Packages { available: false, managers, allow, allowed: 0, packages: 0, bytes: 0 };
    }
    Packages {
        available: true,
        managers,
        allow: offer.allow.iter().take(SHOWN).cloned().collect(),
        allowed: offer.allow.len(),
        packages: offer.packages,
        bytes: offer.bytes,
    }
}

answer! {
    /// Remote git repositories.
    pub(crate) struct Git {
        available: bool = "Whether any can be reached.",
        allow: Vec<String> = list_of(
            "Address; repositories at it and below it can be cloned, fetched and pushed to.",
            "What the operator allows; the first 100.",
        ),
        allowed: usize = "How many such addresses there are.",
    }
}

/// Remote git repositories.
pub(crate) fn git(sandboxes: Option<&Sandboxes>) -> Git {
    let remotes = sandboxes.map(Sandboxes::remotes).unwrap_or_default();
    let allow = remotes.iter().take(SHOWN).map(ToString::to_string).collect();
    Git { available: !remotes.is_empty(), allow, allowed: remotes.len() }
}

answer! {
    /// The language model that can be asked.
    pub(crate) struct LanguageModel {
        available: bool = "Whether there is one.",
        from: &'static str = "Whose it is: operator, client (it samples for the server), or none.",
        model: String = "The operator's model; empty when there is none.",
        max_calls: u32 = "Calls of it that one call of a tool may make.",
        max_tokens: u64 = "Tokens that one call of a tool may use.",
    }
}

/// Language models. `brings`: the caller offers one.
pub(crate) fn models(models: &Models, brings: bool) -> LanguageModel {
    let from = match (models.is_configured(), brings) {
        (true, _) => "operator",
        (false, true) => "client",
        (false, false) => "none",
    };
    let budget = models.budget();
    LanguageModel {
        available: from != "none",
        from,
        model: models.name().to_owned(),
        max_calls: budget.calls,
        max_tokens: budget.tokens,
    }
}
