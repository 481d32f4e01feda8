//! The network of a container's runs: its programs are told of a proxy by variables that clients know, and the proxy is the gate's.
//!
//! Owns: when there is a way to the proxy, and the variables. Does not own: the way ([`Container::reach`]), nor
//! what the proxy lets through ([`dormouse_core::network`]).
//!
//! The way is made when the first run with a network begins, and lasts as long as its container. Nothing in a request says which run it
//! is of: it counts for the one that began last of those that go on, and where none does for the last one.

use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::network::{Door, NetworkUse, Proxy};
use dormouse_core::sandbox::SandboxSpec;
use dormouse_core::{Error, ErrorCode, Result, RunContext};

use crate::port::{Container, Reached};

/// Variables by which clients know of a proxy.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
/// Variables by which they know what does not go through it: nothing, whatever the image says. `localhost` is a name like any other.
const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Variables by which they know which authorities to trust.
const AUTHORITIES: [&str; 9] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
];
/// Node.js asks for this before its own `fetch` looks for a proxy.
const NODE: &str = "NODE_USE_ENV_PROXY";

/// What a sandbox has of a network.
#[derive(Default)]
pub(crate) struct Network {
    /// As long as the sandbox is awake: what it trusts is the same in each of its containers.
    proxy: Option<Arc<dyn Proxy>>,
    /// From the container that it has now.
    reached: Option<Reached>,
    variables: Vec<(String, String)>,
    doors: Doors,
}

/// The doors of the runs that go on, in the order in which they began.
type Doors = Arc<Mutex<Vec<Arc<dyn Door>>>>;

/// A run that requests may count for, until this is dropped.
pub(crate) struct Connected {
    door: Arc<dyn Door>,
    doors: Doors,
    proxy: Arc<dyn Proxy>,
}

impl Connected {
    fn new(doors: &Doors, door: Arc<dyn Door>, proxy: Arc<dyn Proxy>) -> Self {
        let mut all = doors.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(door.clone());
        proxy.turn(&door);
        drop(all);
        Self { door, doors: doors.clone(), proxy }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = doors.iter().position(|door| Arc::ptr_eq(door, &self.door)) {
            doors.remove(at);
        }
        if let Some(last) = doors.last() {
            self.proxy.turn(last);
        }
    }
}

impl Network {
    /// Its container is another one.
    pub(crate) fn leave(&mut self) {
        self.reached = None;
    }

    /// What its programs find, once there was a way.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// Gives a run of a sandbox its network, if it has a door, with the variables that say so. None: nothing goes out.
    ///
    /// # Errors
    /// `capability_unavailable` for a sandbox that asked for a network which its container cannot have; `provider_unavailable`.
    pub(crate) async fn connect(
        &mut self,
        container: &dyn Container,
        spec: &SandboxSpec,
        context: &mut RunContext,
    ) -> Result<Option<Connected>> {
        let Some(door) = context.network.clone() else { return Ok(None) };
        let proxy = match &self.proxy {
            Some(proxy) => proxy.clone(),
            None => match door.proxy()? {
                Some(proxy) => self.proxy.insert(proxy).clone(),
                // The operator has taken the network back: there is nothing to reach.
                None => return Ok(None),
            },
        };
        if self.reached.as_ref().is_none_or(|reached| !reached.way.is_open()) {
            self.reached = None;
            match container.reach(proxy.clone()).await {
                Ok(reached) => {
                    let own = &spec.environment;
                    let mut all = reached.variables();
                    all.retain(|(name, _)| own.iter().all(|(other, _)| other != name));
                    self.variables = all;
                    self.reached = Some(reached);
                }
                // It has not asked for it: this is what sandboxes are given that can have it.
                Err(error) if cannot(&error) && spec.network.is_none() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        context.offer_variables(self.variables.clone());
        Ok(Some(Connected::new(&self.doors, door, proxy)))
    }
}

/// What a run did with its network, if it has one.
pub(crate) fn used(run: Option<&Connected>) -> Option<NetworkUse> {
    run.map(|run| run.door.used())
}

fn cannot(error: &Error) -> bool {
    error.code() == ErrorCode::CapabilityUnavailable
}

/// Gives a container that runs one program, and nothing after it, the network of that program's run. None: there is none for it, and
/// the program runs without.
///
/// # Errors
/// `provider_unavailable`.
pub async fn reach_once(container: &dyn Container, door: &Arc<dyn Door>) -> Result<Option<Reached>> {
    let Some(proxy) = door.proxy()? else { return Ok(None) };
    proxy.turn(door);
    match container.reach(proxy).await {
        Ok(reached) => Ok(Some(reached)),
        Err(error) if cannot(&error) => {
            tracing::debug!(%error, "a program in a container has no network");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl Reached {
    /// Variables by which clients know of it.
    pub fn variables(&self) -> Vec<(String, String)> {
        let of = |names: &[&str], value: &str| {
            let all: Vec<(String, String)> =
                names.iter().map(|name| ((*name).to_owned(), value.to_owned())).collect();
            all
        };
        [of(&PROXIES, &self.url), of(&DIRECT, ""), of(&AUTHORITIES, &self.authorities), of(&[NODE], "1")]
            .concat()
    }
}
