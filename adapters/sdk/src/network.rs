//! The network of an engine: what its program lets runs reach.

use std::sync::Arc;

use dormouse::{Error, ErrorCode, Result};
use dormouse_egress::flags::Short;
use dormouse_egress::{Audit, Gate, Options as Gated, Outside, Settings, file, kept_key};
use tokio::runtime::Runtime;

use crate::Options;

/// The audit's file in the folder of state.
const AUDIT: &str = "network.jsonl";
/// The file of the key from which placeholders are made.
const KEY: &str = "network.key";

/// Opens what the options name. None: no network.
///
/// # Errors
/// As [`file::read`], [`Short`], [`Gate::open`] and [`Audit::file`]; `args_invalid` for secrets or an audit without rules.
pub(crate) fn open(options: &Options, threads: &Runtime) -> Result<Option<Arc<Outside>>> {
    let Options { network, allow_net, secrets, network_audit, state, .. } = options;
    if network.is_none() && allow_net.is_empty() {
        let idle = [("secrets", !secrets.is_empty()), ("network_audit", network_audit.is_some())];
        return match idle.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(None),
            Some((name, _)) => Err(Error::args_invalid(format!("`{name}` has no effect without a network"))
                .with_hint("name what may be reached with `allow_net` or `network`")),
        };
    }
    let settings = match network {
        Some(path) => file::read(path)?,
        None => Settings::default(),
    };
    let settings = Short::read(allow_net, secrets)?.added_to(settings)?;
    if let Some(folder) = state {
        // What opens the files says what is wrong with their folder.
        let _ = std::fs::create_dir_all(folder);
    }
    let audit = match (network_audit, state) {
        (Some(path), _) => Audit::file(path)?,
        (None, Some(folder)) => Audit::file(&folder.join(AUDIT))?,
        (None, None) => Audit::none(),
    };
    let key = state.as_deref().map(|folder| kept_key(&folder.join(KEY))).transpose()?;
    let opening = Gate::open(Gated { settings, names: None, audit, key, cassette: None, operator: None });
    // An engine can be made within a call of another one, whose thread may not wait for a runtime.
    let opened = std::thread::scope(|scope| scope.spawn(|| threads.block_on(opening)).join());
    let gate = opened.map_err(|_| Error::new(ErrorCode::Internal, "the network cannot be opened"))??;
    Ok(Some(Arc::new(Outside::new(gate))))
}
