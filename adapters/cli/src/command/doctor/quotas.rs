//! How many bytes sandboxes may take on this machine, where no `--quota` says otherwise.

use dormouse::sandbox::{Quota, Share};

use crate::print::{self, Row};
use crate::settings;

/// The numbers for the state folder that is used when none is named.
pub(super) fn row() -> Row {
    let shown = |share: Share| {
        let size = |bytes: Option<u64>| bytes.map_or_else(|| "any".into(), print::size);
        format!("{} of an owner, {} in all", size(share.of_owner), size(share.in_all))
    };
    let name = "quotas".into();
    match settings::state_folder(None) {
        Ok(folder) => {
            let Quota { saved, awake, .. } = dormouse::fitted(Quota::default(), &folder, false);
            let found = format!("saved {}; awake {} (--quota)", shown(saved), shown(awake));
            Row { good: Some(true), name, found, hint: None }
        }
        Err(error) => {
            Row { good: None, name, found: error.message().into(), hint: error.hint().map(Into::into) }
        }
    }
}
