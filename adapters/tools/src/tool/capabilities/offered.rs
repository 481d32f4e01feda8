//! What the host does for sandboxes that they cannot do themselves: packages, git repositories, language models. Told are the
//! operator's bounds, never an address with a credential, an index or a key.

use dormouse_core::Sandboxes;
use serde_json::{Value as Json, json};

use crate::models::Models;
use crate::schema::{self, Object};

/// Entries of an operator's list that are shown; how many there are is told too.
const SHOWN: usize = 100;

/// Packages that can be installed.
pub(super) fn packages(sandboxes: Option<&Sandboxes>) -> Json {
    let offer = sandboxes.map(Sandboxes::package_offer).unwrap_or_default();
    let managers: Vec<&str> = offer.managers.iter().map(|manager| manager.as_str()).collect();
    if managers.is_empty() || offer.allow.is_empty() {
        return json!({"available": false, "managers": [], "allow": [], "allowed": 0, "packages": 0, "bytes": 0});
    }
    json!({
        "available": true,
        "managers": managers,
        "allow": offer.allow.iter().take(SHOWN).collect::<Vec<_>>(),
        "allowed": offer.allow.len(),
        "packages": offer.packages,
        "bytes": offer.bytes,
    })
}

pub(super) fn packages_schema() -> Json {
    Object::new()
        .description("Packages that sandboxes can have installed by the host.")
        .required("available", schema::flag("Whether there are any."))
        .required("managers", schema::list(&schema::text("pip or npm."), "Whose there are."))
        .required(
            "allow",
            schema::list(
                &schema::text(
                    "Name; `*` is any characters, `pip:` or `npm:` before it makes it that one's alone.",
                ),
                "Names that the operator allows, dependencies included; the first 100.",
            ),
        )
        .required("allowed", schema::integer(0, "How many such names there are."))
        .required(
            "packages",
            schema::integer(0, "Packages that one call may install, dependencies included."),
        )
        .required("bytes", schema::integer(0, "Bytes that they may unpack to."))
        .build()
}

/// Remote git repositories.
pub(super) fn git(sandboxes: Option<&Sandboxes>) -> Json {
    let remotes = sandboxes.map(Sandboxes::remotes).unwrap_or_default();
    json!({
        "available": !remotes.is_empty(),
        "allow": remotes.iter().take(SHOWN).collect::<Vec<_>>(),
        "allowed": remotes.len(),
    })
}

pub(super) fn git_schema() -> Json {
    Object::new()
        .description(
            "Remote git repositories. `git` itself is always there for repositories of the sandbox's own.",
        )
        .required("available", schema::flag("Whether any can be reached."))
        .required(
            "allow",
            schema::list(
                &schema::text(
                    "Address; repositories at it and below it can be cloned, fetched and pushed to.",
                ),
                "What the operator allows; the first 100.",
            ),
        )
        .required("allowed", schema::integer(0, "How many such addresses there are."))
        .build()
}

/// Language models.
pub(super) fn models(models: &Models, brings: bool) -> Json {
    let from = match (models.is_configured(), brings) {
        (true, _) => "operator",
        (false, true) => "client",
        (false, false) => "none",
    };
    let budget = models.budget();
    json!({
        "available": from != "none",
        "from": from,
        "model": models.name(),
        "max_calls": budget.calls,
        "max_tokens": budget.tokens,
    })
}

pub(super) fn models_schema() -> Json {
    Object::new()
        .description("The language model that snippets and sub-agents can ask.")
        .required("available", schema::flag("Whether there is one."))
        .required("from", schema::text("Whose it is: operator, client (it samples for the server), or none."))
        .required("model", schema::text("The operator's model; empty when there is none."))
        .required("max_calls", schema::integer(0, "Calls of it that one call of a tool may make."))
        .required("max_tokens", schema::integer(0, "Tokens that one call of a tool may use."))
        .build()
}
