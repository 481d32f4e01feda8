//! What is meant by the options of remote git repositories.

use std::sync::Arc;

use dormouse::{Resolve, Result};
use dormouse_git::{Allowed, Credential, Remotes};

use crate::args::GitArgs;

/// What reaches them, if any is allowed. Reads the credentials.
pub(crate) fn remotes(arguments: &GitArgs, names: Option<&Arc<dyn Resolve>>) -> Result<Option<Arc<Remotes>>> {
    if arguments.allow_git.is_empty() {
        return Ok(None);
    }
    let allowed = arguments.allow_git.iter().map(|text| allowed(text)).collect::<Result<_>>()?;
    Ok(Some(Arc::new(Remotes::with_names(allowed, names)?)))
}

fn allowed(text: &str) -> Result<Allowed> {
    // An address without a query has no such sign of its own.
    match text.rsplit_once('=') {
        Some((address, variable)) => {
            Ok(Allowed::new(address)?.with_credential(Credential::from_env(variable)?))
        }
        None => Allowed::new(text),
    }
}
