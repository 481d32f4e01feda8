//! The network in calls and answers: what one asks for, what there is, what a run did with it.

use dormouse_core::network::{Denied, NetworkGrant, NetworkProfile, NetworkUse};
use dormouse_core::{Error, Result};

use crate::spec::{Given, Nested, answer, list_of};

/// The word for no network.
const NONE: &str = "none";

answer! {
    /// What a run did with its network.
    pub(crate) struct UsedShown = "What the run did with its network." {
        requests: u64 = "Requests, refused ones too.",
        bytes_in: u64 = "Bytes of bodies that came back.",
        bytes_out: u64 = "Bytes of bodies that were sent.",
        denied: Option<Vec<DeniedShown>> = "What was refused, each once, at most 16: what to ask the operator for. Only if something was.",
        secrets_masked: u64 = "How often the value of a secret was masked in an answer.",
    }
}

answer! {
    /// What was refused.
    pub(crate) struct DeniedShown = "What was refused." {
        host: String = "The host.",
        port: u32 = "Its port.",
        reason: String = "What was lacking: host, port, protocol, method, path, address, secret, or a budget.",
        rule: Option<String> = "The operator's rule that came nearest; only if one did.",
    }
}

answer! {
    /// A network that sandboxes can ask for.
    pub(crate) struct ProfileShown = "A network that can be asked for." {
        name: String = "Its name.",
        allows: Vec<String> = list_of("A rule.", "What it allows. Lines of `network_allow` are written like these."),
        secrets: Vec<String> = list_of("Its name.", "Secrets of which sandboxes get placeholders, in environment variables of these names."),
    }
}

answer! {
    /// What of the network a sandbox has.
    pub(crate) struct GrantShown = "What it may reach." {
        profile: String = "The operator's network that it asked for.",
        allow: Option<Vec<String>> = list_of("A rule.", "What of it was asked for; only if not all of it was."),
    }
}

/// What a run did, if it had a network.
pub(crate) fn used(used: Option<&NetworkUse>) -> Option<Nested<UsedShown>> {
    let used = used?;
    let denied = |one: &Denied| DeniedShown {
        host: one.host.clone(),
        port: one.port.into(),
        reason: one.reason.clone().into_owned(),
        rule: one.rule.clone(),
    };
    Some(Nested(UsedShown {
        requests: used.requests,
        bytes_in: used.bytes_in,
        bytes_out: used.bytes_out,
        denied: Some(used.denied.iter().map(denied).collect()).filter(|denied: &Vec<_>| !denied.is_empty()),
        secrets_masked: used.secrets_masked,
    }))
}

/// What there is to ask for.
pub(crate) fn profiles(profiles: Vec<NetworkProfile>) -> Vec<ProfileShown> {
    let shown = |NetworkProfile { name, allows, secrets }| ProfileShown { name, allows, secrets };
    profiles.into_iter().map(shown).collect()
}

/// What a sandbox has.
pub(crate) fn granted(grant: Option<&NetworkGrant>) -> Option<Nested<GrantShown>> {
    grant.map(|grant| Nested(GrantShown { profile: grant.profile.clone(), allow: grant.allow.clone() }))
}

/// What a call asks for. Lines alone mean the usual profile.
///
/// # Errors
/// `args_invalid` for lines without a network, and for a list without lines.
pub(crate) fn asked(profile: Option<&str>, allow: &Given<Vec<String>>) -> Result<Option<NetworkGrant>> {
    if allow.given && allow.value.is_empty() {
        return Err(Error::args_invalid("`network_allow` is empty, which would allow nothing")
            .with_hint("leave it out to have all of the network, or leave `network` out to have none"));
    }
    let lines = allow.given.then(|| allow.value.clone());
    match (profile, lines) {
        (None | Some(NONE), None) => Ok(None),
        (Some(NONE), Some(_)) => {
            Err(Error::args_invalid("`network_allow` is of no use with `network: none`")
                .with_hint("leave `network` out, or name one of sandbox_capabilities"))
        }
        (None, allow) => Ok(Some(NetworkGrant { allow, ..NetworkGrant::default() })),
        (Some(profile), allow) => Ok(Some(NetworkGrant { profile: profile.to_owned(), allow })),
    }
}
