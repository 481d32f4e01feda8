//! The names under which calls can mean one sandbox.

use super::Sandboxes;
use crate::arrival::Lane;
use crate::sandbox::{Handle, Owner};

impl Sandboxes {
    /// All names of the sandbox that is meant now. Of what is not there, the name that was given: it may be about to be made.
    pub fn lanes(&self, owner: &Owner, handle: &Handle<'_>) -> Vec<Lane> {
        let given = match handle {
            Handle::IdOrName(text) => Lane::Named((*text).to_owned()),
            Handle::SessionKey(key) => Lane::Keyed((*key).to_owned()),
            Handle::Found(record) => Lane::Named(record.id.as_str().to_owned()),
        };
        let Ok(record) = self.find(owner, handle) else { return vec![given] };
        let key = record.session_key.map(|key| Lane::Keyed(key.as_str().to_owned()));
        let names = [record.id.as_str(), record.name.as_str()].map(|name| Lane::Named(name.to_owned()));
        names.into_iter().chain(key).collect()
    }
}
