//! Names become addresses that have been checked. Nothing else is ever dialled.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::Resolve;
use tokio::sync::Semaphore;

use crate::address::{Network, may_dial, plain};
use crate::host::Host;
use crate::reason::{Reason, Refusal};

/// Threads that ask the system's resolver at one time.
const THREADS: usize = 16;
/// Time for a name, waiting for a thread included.
const LOOK_UP: Duration = Duration::from_secs(5);

/// The system's resolver: at most 16 threads at one time, for all sandboxes together. A thread that hangs keeps its place, so that a
/// silent name server costs no more than these.
#[derive(Clone, Debug)]
pub struct System {
    places: Arc<Semaphore>,
}

impl Default for System {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(THREADS)) }
    }
}

#[async_trait]
impl Resolve for System {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let place = self.places.clone().acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let asking = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            drop(place);
            found.map(|all| all.map(|address| address.ip()).collect())
        });
        asking.await.map_err(io::Error::other)?
    }
}

/// The addresses of a host, each of them public or in a network that was named.
///
/// # Errors
/// `unknown_name`; `timed_out` after 5 s; `address` if one is neither, whatever the others are.
pub(crate) async fn checked(
    names: &dyn Resolve,
    host: &Host,
    named: &[Network],
) -> Result<Vec<IpAddr>, Refusal> {
    let found = match host {
        Host::Address(address) => vec![*address],
        // Nobody has to be asked for this name, which a confined process could not do.
        Host::Name(name) if name == "localhost" => {
            vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
        }
        Host::Name(name) => match tokio::time::timeout(LOOK_UP, names.resolve(name)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::debug!(name, "a name cannot be looked up: {error}");
                return Err(unknown(host));
            }
            Err(_) => {
                return Err(Refusal::new(
                    Reason::TimedOut,
                    format!("looking up `{host}` took longer than 5 s"),
                ));
            }
        },
    };
    if found.is_empty() {
        return Err(unknown(host));
    }
    if !found.iter().all(|address| may_dial(*address, named)) {
        // Which one it is, is nothing that a sandbox needs to know.
        let told = format!("`{host}` has an address outside of the public internet that no rule names");
        return Err(Refusal::new(Reason::Address, told));
    }
    let mut all: Vec<IpAddr> = Vec::new();
    for address in found.into_iter().map(plain) {
        if !all.contains(&address) && all.len() < MOST {
            all.push(address);
        }
    }
    Ok(all)
}

/// Looks names up for clients of this process itself. A name that the operator wrote has whatever addresses it has; one that somebody
/// else wrote, such as an index or a document, has public ones or none.
#[derive(Debug)]
pub struct Outer {
    names: Arc<dyn Resolve>,
    named: Vec<Host>,
}

impl Outer {
    /// Of somebody who looks names up (none: the system), and the hosts that the operator wrote.
    pub fn new(names: Option<Arc<dyn Resolve>>, named: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let names = names.unwrap_or_else(|| Arc::new(System::default()));
        Self { names, named: named.into_iter().filter_map(|host| Host::parse(host.as_ref())).collect() }
    }
}

#[async_trait]
impl Resolve for Outer {
    /// Fails with a [`Refusal`] as its cause where an address is not public.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let host = Host::parse(name).ok_or(io::ErrorKind::InvalidInput)?;
        if self.named.contains(&host) {
            return self.names.resolve(name).await;
        }
        checked(&*self.names, &host, &[]).await.map_err(|refusal| {
            let kind = match refusal.reason {
                Reason::Address => io::ErrorKind::PermissionDenied,
                Reason::TimedOut => io::ErrorKind::TimedOut,
                _ => io::ErrorKind::NotFound,
            };
            io::Error::new(kind, refusal)
        })
    }
}

/// Addresses of one name that are tried.
const MOST: usize = 8;

fn unknown(host: &Host) -> Refusal {
    Refusal::new(Reason::UnknownName, format!("the name `{host}` has no address"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Answers in their turn, the last one for ever; none: silence.
    #[derive(Debug)]
    struct Turns(Vec<Option<Vec<&'static str>>>, AtomicUsize);

    #[async_trait]
    impl Resolve for Turns {
        async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            let turn = self.1.fetch_add(1, Ordering::Relaxed).min(self.0.len() - 1);
            match &self.0[turn] {
                Some(all) => Ok(all.iter().map(|text| text.parse().unwrap()).collect()),
                None => std::future::pending().await,
            }
        }
    }

    async fn found(turns: &Turns, named: &[Network]) -> Result<Vec<String>, Reason> {
        let host = Host::parse("a.test").unwrap();
        let all = checked(turns, &host, named).await.map_err(|refusal| refusal.reason)?;
        Ok(all.iter().map(ToString::to_string).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn net_04_one_inner_address_refuses_all() {
        let turns = |all: &[&'static str]| Turns(vec![Some(all.to_vec())], AtomicUsize::new(0));
        let inner = Err(Reason::Address);
        assert_eq!(
            found(&turns(&["1.1.1.1", "2606:4700::1"]), &[]).await.unwrap(),
            ["1.1.1.1", "2606:4700::1"]
        );
        for all in [
            &["127.0.0.1"][..],
            &["1.1.1.1", "127.0.0.1"],
            &["::1"],
            &["1.1.1.1", "::ffff:10.0.0.1"],
            &["169.254.169.254", "1.1.1.1"],
        ] {
            assert_eq!(found(&turns(all), &[]).await, inner, "{all:?}");
        }
        // Nine are nine: those that would not be dialled are looked at too.
        let many = [
            "1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "1.1.1.6", "1.1.1.7", "1.1.1.8",
            "10.0.0.1",
        ];
        assert_eq!(found(&turns(&many), &[]).await, inner);
        let named = [Network::parse("10.0.0.0/8").unwrap()];
        assert_eq!(found(&turns(&many), &named).await.unwrap().len(), MOST);
        assert_eq!(found(&turns(&["::ffff:10.0.0.1"]), &named).await.unwrap(), ["10.0.0.1"]);
        assert_eq!(found(&turns(&[]), &[]).await, Err(Reason::UnknownName));
        // Rebinding: each look-up is checked by itself.
        let turns = Turns(vec![Some(vec!["1.1.1.1"]), Some(vec!["10.0.0.1"])], AtomicUsize::new(0));
        assert!(found(&turns, &[]).await.is_ok());
        assert_eq!(found(&turns, &[]).await, inner);
    }

    #[tokio::test(start_paused = true)]
    async fn net_04_a_name_that_the_operator_did_not_write_has_public_addresses_or_none() {
        let outer = |all: &[&'static str]| {
            let names = Turns(vec![Some(all.to_vec())], AtomicUsize::new(0));
            Outer::new(Some(Arc::new(names)), ["Index.corp.test", "10.0.0.1"])
        };
        assert_eq!(outer(&["10.0.0.7"]).resolve("index.corp.test").await.unwrap().len(), 1);
        assert_eq!(outer(&["1.1.1.1"]).resolve("files.test").await.unwrap().len(), 1);
        for inner in [&["10.0.0.7"][..], &["1.1.1.1", "169.254.169.254"], &["::ffff:127.0.0.1"]] {
            let error = outer(inner).resolve("files.test").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{inner:?}");
            let refusal = error.get_ref().and_then(|error| error.downcast_ref::<Refusal>());
            assert_eq!(refusal.unwrap().reason, Reason::Address);
        }
        assert_eq!(outer(&[]).resolve("files.test").await.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(outer(&["1.1.1.1"]).resolve("127.1").await.is_err());
        let system = Outer::new(None, ["localhost"]);
        assert!(system.resolve("localhost").await.unwrap().iter().all(IpAddr::is_loopback));
        assert!(Outer::new(None, ["other.test"]).resolve("localhost").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn net_05_a_resolver_that_is_silent_is_given_up() {
        let begin = tokio::time::Instant::now();
        let turns = Turns(vec![None], AtomicUsize::new(0));
        assert_eq!(found(&turns, &[]).await, Err(Reason::TimedOut));
        assert_eq!(begin.elapsed(), LOOK_UP);
    }

    #[tokio::test]
    async fn net_05_the_systems_resolver_has_so_many_threads_and_no_more() {
        let system = System::default();
        assert_eq!(
            system.resolve("localhost").await.unwrap().iter().filter(|one| !one.is_loopback()).count(),
            0
        );
        let all = system.places.clone().acquire_many_owned(u32::try_from(THREADS).unwrap()).await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_millis(20), system.resolve("localhost"));
        assert!(waiting.await.is_err());
        drop(all);
        assert!(system.resolve("localhost").await.is_ok());
    }
}
