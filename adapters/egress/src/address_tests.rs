//! The registries of IANA, as of 2026, as tables: whatever stands in them is not public.

use super::*;

/// IANA's IPv4 special-purpose address registry, and multicast.
const V4: [&str; 28] = [
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.88.99.2/32",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "224.0.0.0/4",
    "239.0.0.0/8",
];

/// IANA's IPv6 special-purpose address registry (without NAT64's 64:ff9b::/96, which counts as what it leads to), multicast, and what
/// was site-local and compatible once.
const V6: [&str; 28] = [
    "::1/128",
    "::/128",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "ff02::/16",
    "::/96",
    "::ffff:0:0:0/96",
];

/// The first and the last address of a network, and one in the middle.
fn samples(text: &str) -> [IpAddr; 3] {
    let network = Network::parse(text).unwrap();
    let first = network.first();
    let rest = (!0_u128).checked_shr(u32::from(network.bits)).unwrap_or(0);
    let rest = if network.address.is_ipv4() { rest >> 96 << 96 } else { rest };
    let address = |number: u128| match network.address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(u32::try_from(number >> 96).unwrap())),
        IpAddr::V6(_) => IpAddr::V6(number.into()),
    };
    [address(first), address(first | rest), address(first | (rest / 3))]
}

#[test]
fn net_02_nothing_of_the_registries_is_public() {
    for text in V4.iter().chain(&V6) {
        for address in samples(text) {
            assert!(!may_dial(address, &[]), "{address} of {text}");
        }
    }
}

#[test]
fn net_02_the_neighbours_of_the_registries_are_public() {
    for text in [
        "1.0.0.0",
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.31.195.255",
        "192.31.197.0",
        "192.52.194.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "192.175.49.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2001:200::1",
        "2001:db7::1",
        "2001:db9::1",
        "2003::1",
        "2606:4700::1",
        "2620:4f:8001::1",
        "2000::1",
        "3ffe::1",
        "3fff:1000::1",
    ] {
        assert!(may_dial(text.parse().unwrap(), &[]), "{text}");
    }
}

#[test]
fn net_02_an_inner_address_in_every_dress_is_refused() {
    for inner in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "192.168.1.1",
        "100.100.100.200",
        "0.0.0.0",
        "255.255.255.255",
    ] {
        let four: Ipv4Addr = inner.parse().unwrap();
        let [a, b, c, d] = four.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        for dress in [
            IpAddr::V4(four),
            IpAddr::V6(four.to_ipv6_mapped()),
            IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low)),
            IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low)),
            IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low)),
            IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low)),
            IpAddr::V6(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1)),
            IpAddr::V6(Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !0x101, !0x101)),
            IpAddr::V6(Ipv6Addr::new(0x2001, 0, 0x101, 0x101, 0, 0, !high, !low)),
            IpAddr::V6(Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, high, low)),
            IpAddr::V6(Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0x200, 0x5efe, high, low)),
        ] {
            assert!(!may_dial(dress, &[]), "{inner} as {dress}");
            // Naming the outer network does not open what it carries.
            let all = [Network::parse("::/0").unwrap()];
            let is_bare = dress.is_ipv4() || plain(dress).is_ipv4();
            assert!(is_bare || !may_dial(dress, &all), "{inner} as {dress}, ::/0 named");
        }
    }
    // Public ones that are only written in another way.
    for outer in ["::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2606:4700::5efe:101:101"] {
        assert!(may_dial(outer.parse().unwrap(), &[]), "{outer}");
    }
}

#[test]
fn a_named_network_is_opened_and_nothing_beside_it() {
    let named = [Network::parse("10.8.0.0/16").unwrap(), Network::parse("fd00:1::/32").unwrap()];
    for (text, opened) in [
        ("10.8.255.255", true),
        ("::ffff:10.8.0.1", true),
        ("10.9.0.0", false),
        ("fd00:1::1", true),
        ("fd00:2::1", false),
        ("2002:a08:1::", false),
        ("64:ff9b::10.8.0.1", false),
        ("127.0.0.1", false),
    ] {
        assert_eq!(may_dial(text.parse().unwrap(), &named), opened, "{text}");
    }
}

#[test]
fn a_network_is_read_in_one_way() {
    for good in ["10.0.0.0/8", "0.0.0.0/0", "::/0", "10.1.2.3", "fe80::/10", "::1"] {
        assert!(Network::parse(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "::/129",
        "10/8",
        "example.com",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "010.0.0.0/8",
        "fe80::1%1",
    ] {
        assert!(Network::parse(bad).is_err(), "{bad}");
    }
}
