//! A program of a user's own, a component whose `wasi:http` goes through the gate (NET-36).

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use dormouse::network::NetworkGrant;
use dormouse::sandbox::Owner;
use dormouse::{CommandRequest, Dormouse, Outcome};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::Outside;
use crate::tests::support::Setup;

const WIT: &str = include_str!("program/program.wit");
const WAT: &str = include_str!("program/program.wat");

/// What the program asks for.
#[derive(Clone)]
pub(crate) struct Asks {
    pub(crate) method: String,
    pub(crate) url: String,
    /// A header; without a value it is that of the first variable of the environment.
    pub(crate) header: Option<(&'static str, Option<&'static str>)>,
    /// Pieces of 4 KiB that its body has. None: it has no body.
    pub(crate) pieces: u32,
    pub(crate) first_byte: Duration,
    pub(crate) between_bytes: Duration,
}

impl Asks {
    pub(crate) fn get(url: &str) -> Self {
        Self {
            method: "GET".into(),
            url: url.into(),
            header: None,
            pieces: 0,
            first_byte: Duration::ZERO,
            between_bytes: Duration::ZERO,
        }
    }

    /// The component.
    fn component(&self) -> Vec<u8> {
        let (scheme, rest) = self.url.split_once("://").unwrap();
        let (authority, path) = rest.split_at(rest.find('/').unwrap());
        let (header, value) = self.header.unwrap_or_default();
        let texts = [
            ("method", self.method.as_str()),
            ("authority", authority),
            ("path", path),
            ("header", header),
            ("value", value.unwrap_or_default()),
        ];
        let mut text = WAT.to_owned();
        for (name, put) in texts {
            text = text.replace(&format!("@{name}@"), &escaped(put));
            text = text.replace(&format!("@{name}_length@"), &put.len().to_string());
        }
        let numbers = [
            ("scheme", u128::from(scheme == "https")),
            ("from_environment", u128::from(self.header.is_some() && value.is_none())),
            ("pieces", self.pieces.into()),
            ("first", self.first_byte.as_nanos()),
            ("between", self.between_bytes.as_nanos()),
        ];
        for (name, put) in numbers {
            text = text.replace(&format!("@{name}@"), &put.to_string());
        }
        let mut module = wat::parse_str(&text).unwrap();
        let mut resolve = wit_parser::Resolve::default();
        let package = resolve.push_str("program.wit", WIT).unwrap();
        let world = resolve.select_world(&[package], None).unwrap();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
    }
}

fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        let _ = write!(all, "\\{byte:02x}");
        all
    })
}

/// What runs programs.
pub(crate) struct Programs {
    dormouse: Dormouse,
    _cache: tempfile::TempDir,
}

impl Programs {
    pub(crate) fn new() -> Self {
        let cache = tempfile::tempdir().unwrap();
        let dormouse = Dormouse::builder_in(cache.path()).build().unwrap();
        Self { dormouse, _cache: cache }
    }

    /// Those that reach what the rules of a gate's profile `p` allow.
    pub(crate) fn through(setup: &Setup) -> Self {
        let own = Self::new();
        own.dormouse.runtime().set_network(Arc::new(Outside::new(setup.gate.clone())), None);
        own
    }

    /// A request that has the profile `p`.
    pub(crate) fn granted(&self, asks: &Asks) -> CommandRequest {
        let mut request = self.request(asks);
        let grant = NetworkGrant { profile: "p".into(), allow: None };
        let runtime = self.dormouse.runtime();
        runtime.give_network_to_program(&Owner::local(), &grant, "run", &mut request).unwrap();
        request
    }

    /// A request without a network.
    pub(crate) fn request(&self, asks: &Asks) -> CommandRequest {
        let mut request = CommandRequest::new("asks", asks.component());
        request.limits.wall = Duration::from_secs(20);
        request
    }

    pub(crate) async fn run(&self, request: CommandRequest) -> Outcome {
        self.dormouse.command(request).await.unwrap()
    }

    /// What the program prints that has the profile `p`.
    pub(crate) async fn told(&self, asks: &Asks) -> String {
        printed(&self.run(self.granted(asks)).await)
    }
}

/// What a program printed that ended well.
#[track_caller]
pub(crate) fn printed(outcome: &Outcome) -> String {
    assert!(outcome.is_ok(), "{:?} {}", outcome.status, outcome.stderr.text);
    outcome.stdout.text.clone()
}
