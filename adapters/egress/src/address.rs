//! Which addresses are of the public internet, and which networks a rule names besides.
//!
//! Whatever stands in IANA's special-purpose registries is not public, multicast is not, and nothing of IPv6 outside of what is
//! given to hosts is. An address that carries another (IPv4 inside of IPv6) counts as both.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network: addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads `10.8.0.0/16` or a single address.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence about `it`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr =
            address.parse().map_err(|_| "it is no address, and no network such as `10.8.0.0/16`")?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits.map(str::parse::<u8>) {
            None => most,
            Some(Ok(bits)) if bits <= most => bits,
            Some(_) => return Err("its length is past the length of an address"),
        };
        let network = Self { address, bits };
        if network.first() != number(address) {
            return Err("its address has bits past its length");
        }
        Ok(network)
    }

    /// The network of one address.
    pub(crate) fn of(address: IpAddr) -> Self {
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    fn first(&self) -> u128 {
        number(self.address) & (!0_u128).checked_shl(128 - u32::from(self.bits)).unwrap_or(0)
    }

    /// Whether an address lies in it. One of IPv4 lies in none of IPv6, and the other way round.
    pub fn contains(&self, address: IpAddr) -> bool {
        let other = Self { address, bits: self.bits };
        self.address.is_ipv4() == address.is_ipv4() && self.first() == other.first()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// The bits of an address, from the highest one on.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(u32::from(four)) << 96,
        IpAddr::V6(six) => six.into(),
    }
}

/// An address as it is dialled: IPv4 that is written as IPv6 (`::ffff:a.b.c.d`) is IPv4.
pub fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Whether an address may be dialled: it is of the public internet, or in a network that was named; and so is every address that
/// it carries.
pub fn may_dial(address: IpAddr, named: &[Network]) -> bool {
    let address = plain(address);
    let is_named = |address: IpAddr| named.iter().any(|network| network.contains(address));
    let carried = match address {
        IpAddr::V4(_) => [None, None],
        IpAddr::V6(six) => carried(six),
    };
    let fits = |four: &Ipv4Addr| is_public_v4(*four) || is_named(IpAddr::V4(*four));
    (is_public(address) || is_named(address)) && carried.iter().flatten().all(fits)
}

/// Whether an address is of the public internet, whatever is named.
pub fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) => is_public_v6(six),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        // This network, private, loopback, multicast, reserved and broadcast.
        [0 | 10 | 127 | 224..=255, ..]
            // Shared (CGNAT), link-local with the metadata of clouds, private.
            | [100, 64..=127, ..] | [169, 254, ..] | [172, 16..=31, ..] | [192, 168, ..]
            // Protocol assignments, documentation, AS112, AMT, relays of 6to4, AS112, benchmarks.
            | [192, 0, 0 | 2, _] | [192, 31, 196, _] | [192, 52, 193, _] | [192, 88, 99, _] | [192, 175, 48, _] | [198, 18 | 19, ..]
            | [198, 51, 100, _] | [203, 0, 113, _]
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64: what it leads to is what counts.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(four(high, low)),
        // Protocol assignments (Teredo, benchmarks, ORCHID and others), documentation, 6to4, AS112.
        [0x2001, 0..=0x1ff | 0xdb8, ..]
        | [0x2002, ..]
        | [0x2620, 0x4f, 0x8000, ..]
        | [0x3fff, 0..=0xfff, ..] => false,
        // What is given to hosts: 2000::/3.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

fn four(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

/// The addresses of IPv4 that one of IPv6 carries.
fn carried(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    match address.segments() {
        // Teredo: its server, and its client, of which each bit is turned.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            [Some(four(server_high, server_low)), Some(four(!high, !low))]
        }
        // 6to4.
        [0x2002, high, low, ..] => [Some(four(high, low)), None],
        // IPv4-compatible; `::1` carries none.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) != (0, 1) => [Some(four(high, low)), None],
        // NAT64, its local form, IPv4-translated, ISATAP.
        [0x64, 0xff9b, .., high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => [Some(four(high, low)), None],
        _ => [None, None],
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
