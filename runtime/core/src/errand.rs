//! The port for requests that this process makes itself, to servers that the operator connects: they go out where those of sandboxes do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::Result;
use crate::network::Door;
use crate::sandbox::Owner;

/// For whom and to whom requests go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errand {
    /// For whom. None: for all owners.
    pub owner: Option<Owner>,
    /// How the operator calls the server.
    pub server: String,
    /// Headers that the gate writes, by name; `{NAME}` in a value is the secret of that name. Default none.
    pub set: BTreeMap<String, String>,
}

/// Opens doors for errands. Only requests go through them ([`Door::exchange`]).
pub trait Errands: fmt::Debug + Send + Sync {
    /// A door to the host of an `http` or `https` URL and to nothing else. `is_named`: the operator wrote the host, so that it leads
    /// wherever it does; otherwise it leads to the public internet, or nowhere. Nothing is looked up or dialled yet.
    ///
    /// # Errors
    /// `args_invalid` for a URL whose host cannot be read, and for a header or a secret that may not go there.
    fn door(&self, errand: &Errand, url: &str, is_named: bool) -> Result<Arc<dyn Door>>;
}
