//! What goes wrong with a cluster, in our words.

use dormouse_core::{Error, ErrorCode};
use kube::Error as Fault;

/// What to do where the cluster cannot be used.
pub(crate) const HINT: &str =
    "`dormouse doctor`, with the options for Kubernetes that this has, says step by step what is missing";
/// Most letters of what a server says that are shown.
const SHOWN: usize = 300;

/// A cluster that cannot be used.
pub(crate) fn unavailable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ProviderUnavailable, message.into()).with_hint(HINT)
}

/// What a server says, as it is shown.
pub(crate) fn shown(said: &str) -> String {
    said.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

/// The HTTP status that the API server answered with; none: it did not answer.
pub(crate) fn status(fault: &Fault) -> Option<u16> {
    match fault {
        Fault::Api(status) => Some(status.code),
        _ => None,
    }
}

/// Whether the API server says that there is no such thing.
pub(crate) fn is_missing(fault: &Fault) -> bool {
    status(fault) == Some(404)
}

/// Whether what was asked for was certainly not done.
pub(crate) fn is_refusal(fault: &Fault) -> bool {
    status(fault).is_some_and(|code| (400..500).contains(&code) && code != 409)
}

/// What went wrong, in our words.
pub(crate) fn wrong(what: &str, fault: Fault) -> Error {
    let Fault::Api(status) = &fault else {
        let said = match &fault {
            Fault::Auth(_) => "the credentials cannot be had",
            Fault::SerdeError(_) => "the API server says something that is not understood",
            Fault::UpgradeConnection(_) => "the API server does not open a stream by WebSocket",
            _ => "the API server cannot be reached, or broke off",
        };
        return unavailable(format!("could not {what}: {said}")).with_source(fault);
    };
    let said = shown(&status.message);
    let error = |code, message: String| Error::new(code, message);
    let webhook = said.contains("admission webhook") || said.contains("denied the request");
    let error = match status.code {
        401 => unavailable(format!("could not {what}: the cluster does not accept the credentials")),
        403 if said.contains("exceeded quota") => {
            error(ErrorCode::Busy, format!("could not {what}: the namespace's quota is used up: {said}"))
                .with_hint("end sandboxes, or have the quota of the namespace raised")
        }
        400..=403 | 422 if webhook => error(
            ErrorCode::CapabilityUnavailable,
            format!("could not {what}: a policy of the cluster refuses it: {said}"),
        )
        .with_hint("the cluster's administrator says what the policy wants"),
        403 => unavailable(format!("could not {what}: the account may not do that: {said}")).with_hint(
            "`dormouse doctor` names the missing rights, and the guide for Kubernetes has a role with them",
        ),
        404 => unavailable(format!("could not {what}: the cluster has no such thing: {said}")),
        400 | 422 => error(
            ErrorCode::CapabilityUnavailable,
            format!("could not {what}: the API server refuses it: {said}"),
        )
        .with_hint("the cluster may have another version, or settings that it does not take"),
        429 => error(ErrorCode::Busy, format!("could not {what}: the API server has too much to do"))
            .with_hint("try again in a moment"),
        code => unavailable(format!("could not {what}: the API server says: {said} ({code})")),
    };
    error.with_source(fault)
}
