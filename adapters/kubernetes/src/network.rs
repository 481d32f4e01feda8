//! A network for some sandboxes: which addresses the operator lets them reach.
//!
//! Owns: the blocks of addresses, and what is left out of those that hold more than the internet. Does not own: the policy that is made
//! of them ([`crate::manifest`]), and what a template's lets out ([`crate::vet`]).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dormouse_core::{Error, Result};
use serde::Deserialize;

/// What is written for all addresses of the internet.
const ALL: &str = "all";
/// Blocks that are not the internet: clusters, their nodes, the services of clouds that say who a machine is. They are left out of every
/// block that holds them, and reached where they, or a part of them, are named themselves.
const INNER: [&str; 22] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    "::/127",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
];

/// What the operator says of a network.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The images, or pools, whose sandboxes have it.
    #[serde(rename = "for")]
    pub of: Vec<String>,
    /// Blocks that they reach, such as `198.51.100.0/24`; `all` is the internet.
    pub to: Vec<String>,
    /// Blocks that are left out besides.
    #[serde(default)]
    pub except: Vec<String>,
    /// Name servers, which they reach at port 53; those of their pods are these.
    #[serde(default)]
    pub dns: Vec<IpAddr>,
}

impl Network {
    /// What may be reached.
    ///
    /// # Errors
    /// `args_invalid` for what is no block, and where nothing is left of one.
    pub(crate) fn allowed(&self) -> Result<Allowed> {
        let blocks = |texts: &[String]| texts.iter().map(|text| block(text)).collect::<Result<Vec<_>>>();
        let out: Vec<Block> = inner().chain(blocks(&self.except)?).collect();
        let mut allowed = Allowed { blocks: Vec::new(), dns: self.dns.clone() };
        for text in &self.to {
            let these = match text.as_str() {
                ALL => vec![block("0.0.0.0/0")?, block("::/0")?],
                text => vec![block(text)?],
            };
            for own in these {
                // What is said to be left out is, however it is said; what lies around a block that was named is not.
                let said = &out[INNER.len()..];
                if said.iter().any(|out| out.holds(&own)) {
                    return Err(Error::args_invalid(format!("`network`: nothing is left of `{own}`"))
                        .with_hint("name blocks in `except` that are smaller than those in `to`"));
                }
                let mut except: Vec<Block> =
                    out.iter().filter(|out| own.holds(out) && **out != own).copied().collect();
                except.sort();
                except.dedup();
                allowed.blocks.push((own, except));
            }
        }
        Ok(allowed)
    }

    /// A word that is another one for every other network.
    pub(crate) fn word(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.to, &self.except, &self.dns).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

fn inner() -> impl Iterator<Item = Block> {
    // They are blocks, as a test says.
    INNER.iter().filter_map(|text| Block::parse(text))
}

fn block(text: &str) -> Result<Block> {
    let shown: String = text.escape_debug().take(80).collect();
    Block::parse(text).ok_or_else(|| {
        Error::args_invalid(format!("`network`: `{shown}` is no block of addresses"))
            .with_hint("write `all`, or a block such as `198.51.100.0/24` or `2001:db8::/32`")
    })
}

/// What may be reached: blocks without some parts of them, and name servers at port 53.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    pub(crate) blocks: Vec<(Block, Vec<Block>)>,
    pub(crate) dns: Vec<IpAddr>,
}

impl Allowed {
    /// Whether all of a block but these parts may be reached.
    pub(crate) fn admits(&self, block: &Block, without: &[Block]) -> bool {
        self.blocks.iter().any(|(own, except)| {
            let left_out = |out: &Block| {
                !out.holds(block) && (!block.holds(out) || without.iter().any(|one| one.holds(out)))
            };
            own.holds(block) && except.iter().all(left_out)
        })
    }

    /// Whether a block is one of the name servers.
    pub(crate) fn is_dns(&self, block: &Block) -> bool {
        self.dns.iter().any(|address| Block::of(*address) == *block)
    }
}

/// A block of addresses: the first one, and how many bits all of them have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block {
    first: IpAddr,
    bits: u32,
}

impl Block {
    /// Reads one. An address within it stands for it, as it does for Kubernetes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let bits = bits.parse().ok().filter(|bits| *bits <= length(address))?;
        Some(Self { first: masked(address, bits), bits })
    }

    /// The one that is a single address.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self { first: address, bits: length(address) }
    }

    /// Whether all of another one is in it.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        self.first.is_ipv4() == other.first.is_ipv4()
            && self.bits <= other.bits
            && masked(other.first, self.bits) == self.first
    }
}

impl std::fmt::Display for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

fn length(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(own) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or_default();
            Ipv4Addr::from_bits(own.to_bits() & mask).into()
        }
        IpAddr::V6(own) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or_default();
            Ipv6Addr::from_bits(own.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(to: &[&str], except: &[&str]) -> Network {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Network { of: vec!["i".into()], to: words(to), except: words(except), dns: Vec::new() }
    }

    fn admits(network: &Network, block: &str, without: &[&str]) -> bool {
        let without: Vec<Block> = without.iter().map(|text| Block::parse(text).unwrap()).collect();
        network.allowed().unwrap().admits(&Block::parse(block).unwrap(), &without)
    }

    #[test]
    fn blocks_are_read_and_hold_others() {
        assert_eq!(inner().count(), INNER.len());
        let block = |text: &str| Block::parse(text).unwrap();
        assert_eq!(block("10.1.2.3/8").to_string(), "10.0.0.0/8");
        assert_eq!(block("fd00::1/128"), Block::of("fd00::1".parse().unwrap()));
        assert!(block("0.0.0.0/0").holds(&block("255.255.255.255/32")));
        assert!(block("::/0").holds(&block("ff00::/8")) && !block("::/0").holds(&block("10.0.0.0/8")));
        assert!(block("10.0.0.0/9").holds(&block("10.127.0.0/16")));
        assert!(!block("10.0.0.0/9").holds(&block("10.128.0.0/16")));
        for bad in ["", "10.0.0.0", "10.0.0.0/33", "::/129", "a/8", "10.0.0/8", "10.0.0.0/-1", "all "] {
            assert!(Block::parse(bad).is_none(), "{bad}");
            assert!(network(&[bad], &[]).allowed().is_err(), "{bad}");
        }
    }

    /// KUB-35: a network that leads into the cluster, to its nodes, or to what says who a machine is.
    #[test]
    fn kub_35_the_internet_is_not_the_cluster_nor_what_says_who_a_machine_is() {
        let all = network(&["all"], &["20.0.0.0/8"]);
        for inside in [
            "10.96.0.1/32",
            "169.254.169.254/32",
            "192.168.0.0/24",
            "127.0.0.1/32",
            "fd00:ec2::254/128",
            "100.100.100.200/32",
            "168.63.129.16/32",
            "::ffff:10.0.0.1/128",
            "20.1.2.3/32",
            "0.0.0.0/0",
            "::/0",
        ] {
            assert!(!admits(&all, inside, &[]), "{inside}");
        }
        assert!(admits(&all, "1.1.1.1/32", &[]) && admits(&all, "2606:4700::/32", &[]));
        assert!(admits(&all, "8.0.0.0/7", &[]) && !admits(&all, "8.0.0.0/6", &[]));
        assert!(admits(&all, "8.0.0.0/6", &["10.0.0.0/8"]) && admits(&all, "8.0.0.0/6", &["10.0.0.0/7"]));
        assert!(!admits(&all, "8.0.0.0/6", &["10.0.0.0/9"]));
        // What is named is reached, and no more of it.
        let named = network(&["10.20.0.0/16", "169.254.169.254/32"], &["10.20.9.0/24"]);
        assert!(admits(&named, "10.20.1.0/24", &[]) && admits(&named, "169.254.169.254/32", &[]));
        for other in ["10.20.9.1/32", "10.21.0.0/16", "10.0.0.0/8", "1.1.1.1/32"] {
            assert!(!admits(&named, other, &[]), "{other}");
        }
        assert!(network(&["10.0.0.0/24"], &["10.0.0.0/8"]).allowed().is_err());
        assert_ne!(all.word(), named.word());
    }
}
