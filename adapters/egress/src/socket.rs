//! WebSockets: how one begins, on a stream on which a guest speaks HTTP itself.
//!
//! The request that asks for one is a request as any other: a rule allows it, secrets go into its head, it is written down. When the
//! server has agreed, bytes are carried in both directions, and count in the budget as bodies do. Frames are not looked into, so a
//! placeholder in one stays what it is; only what comes back from a host of a secret is washed, for which no extension may change it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::upgrade::Upgraded;
use hyper::{Method, Version};
use hyper_util::rt::TokioIo;
use sha1::{Digest as _, Sha1};

use crate::carry::carry;
use crate::gate::Door;
use crate::message::{self, only};
use crate::note::Note;
use crate::reason::{Reason, Refusal};
use crate::secrets::Frames;
use crate::upstream::Place;

/// What a server adds to a key to show that it knows what it agrees to.
const AGREED: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Bytes of a key.
const KEY: usize = 16;

/// What a request says that asks for a WebSocket.
pub(crate) struct Handshake {
    /// What the server has to answer to its key.
    accept: String,
}

impl Handshake {
    /// Of a request.
    ///
    /// # Errors
    /// `form` for one that no server should agree to.
    pub(crate) fn of(method: &Method, version: Version, headers: &HeaderMap) -> Result<Self, Refusal> {
        let key = only(headers, &header::SEC_WEBSOCKET_KEY).unwrap_or_default();
        let is_key = STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == KEY);
        let is_good = *method == Method::GET
            && version == Version::HTTP_11
            && is_upgrade(headers)
            && only(headers, &header::SEC_WEBSOCKET_VERSION) == Some("13")
            && is_key
            && !message::says_body(headers);
        if !is_good {
            let told =
                "the request is none that begins a WebSocket: GET of HTTP/1.1, version 13, one key, no body";
            return Err(Refusal::new(Reason::Form, told));
        }
        let mut hash = Sha1::new();
        hash.update(key);
        hash.update(AGREED);
        Ok(Self { accept: STANDARD.encode(hash.finalize()) })
    }

    /// Whether a server that answered with 101 agreed to this request.
    ///
    /// # Errors
    /// `reset` if it did not; `encoding` for an extension, where its frames are to be looked through.
    pub(crate) fn agreed(&self, headers: &HeaderMap, is_washed: bool) -> Result<(), Refusal> {
        if !is_upgrade(headers) || only(headers, &header::SEC_WEBSOCKET_ACCEPT) != Some(self.accept.as_str())
        {
            return Err(Refusal::new(
                Reason::Reset,
                "the server did not agree to the WebSocket that was asked for",
            ));
        }
        if is_washed && headers.contains_key(header::SEC_WEBSOCKET_EXTENSIONS) {
            return Err(Refusal::new(
                Reason::Encoding,
                "the server's frames are of an extension, and might hold a secret",
            ));
        }
        Ok(())
    }
}

/// Says to a neighbour that a WebSocket follows: what another neighbour said was not passed on.
pub(crate) fn announce(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
}

/// Whether a request wants to become a WebSocket, well or badly.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let names = |value: &HeaderValue| {
        value.as_bytes().to_ascii_lowercase().windows(9).any(|part| part == b"websocket")
    };
    headers.get_all(header::UPGRADE).iter().any(names)
}

/// Whether a head says, in both its places, that a WebSocket follows.
fn is_upgrade(headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = |value: &str| value.split(',').any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    let kind = only(headers, &header::UPGRADE);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("websocket")) && named.any(names)
}

/// A WebSocket that a server has agreed to.
pub(crate) struct Socket {
    pub(crate) server: Upgraded,
    pub(crate) place: Place,
    pub(crate) frames: Option<Frames>,
    pub(crate) door: Door,
    pub(crate) note: Note,
}

impl Socket {
    /// Carries it until either side is done.
    ///
    /// # Errors
    /// What ended it, if that was not the guest.
    pub(crate) async fn carry(mut self, guest: Upgraded) -> Result<(), Refusal> {
        let (guest, server) = (TokioIo::new(guest), TokioIo::new(self.server));
        match carry(&self.door, &self.note, (&self.place, true), guest, server, self.frames).await {
            Ok(()) => {
                self.note.carried();
                Ok(())
            }
            // Both have said what they had to say, and one did not wait for the other to go.
            Err(refusal) if refusal.reason == Reason::Reset && self.note.is_whole() => {
                self.note.carried();
                Ok(())
            }
            Err(refusal) => Err(self.note.refused(refusal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in all {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        map
    }

    const GOOD: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    fn shaken(all: &[(&str, &str)]) -> Result<Handshake, Reason> {
        Handshake::of(&Method::GET, Version::HTTP_11, &headers(all)).map_err(|refusal| refusal.reason)
    }

    #[test]
    fn net_29_a_handshake_is_what_the_standard_says() {
        // The example of RFC 6455.
        let handshake = shaken(&GOOD).unwrap();
        assert_eq!(handshake.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(Handshake::of(&Method::POST, Version::HTTP_11, &headers(&GOOD)).is_err());
        assert!(Handshake::of(&Method::GET, Version::HTTP_10, &headers(&GOOD)).is_err());
        for at in 0..GOOD.len() {
            let mut less = GOOD.to_vec();
            let (name, value) = less.remove(at);
            assert_eq!(shaken(&less).err(), Some(Reason::Form), "{name}");
            if name != "connection" {
                assert_eq!(
                    shaken(&[&GOOD[..], &[(name, value)]].concat()).err(),
                    Some(Reason::Form),
                    "{name}"
                );
            }
        }
        for (at, bad) in [
            (0, "keep-alive"),
            (1, "h2c, websocket"),
            (2, "8"),
            (3, "c2hvcnQ="),
            (3, "dGhlIHNhbXBsZSBub25jZXg="),
            (3, "no base64 at all, long"),
        ] {
            let mut all = GOOD.to_vec();
            all[at].1 = bad;
            assert_eq!(shaken(&all).err(), Some(Reason::Form), "{bad}");
        }
        for body in [("content-length", "1"), ("transfer-encoding", "chunked")] {
            assert_eq!(shaken(&[&GOOD[..], &[body]].concat()).err(), Some(Reason::Form), "{body:?}");
        }
        assert!(shaken(&[&GOOD[..], &[("content-length", "0")]].concat()).is_ok());
    }

    #[test]
    fn net_29_a_server_agrees_to_this_request_or_to_none() {
        let handshake = shaken(&GOOD).unwrap();
        let answer = [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ];
        let agreed = |all: &[(&str, &str)], is_washed| {
            handshake.agreed(&headers(all), is_washed).map_err(|refusal| refusal.reason)
        };
        assert_eq!(agreed(&answer, true), Ok(()));
        let extended = [&answer[..], &[("sec-websocket-extensions", "permessage-deflate")]].concat();
        assert_eq!((agreed(&extended, false), agreed(&extended, true)), (Ok(()), Err(Reason::Encoding)));
        for at in 0..answer.len() {
            let mut all = answer.to_vec();
            all.remove(at);
            assert_eq!(agreed(&all, false), Err(Reason::Reset));
            all.push((answer[at].0, "other"));
            assert_eq!(agreed(&all, false), Err(Reason::Reset));
        }
    }

    #[test]
    fn net_29_whoever_names_a_websocket_wants_one() {
        for (value, wanted) in
            [("websocket", true), ("WebSocket/13", true), ("h2c, websocket", true), ("h2c", false)]
        {
            assert_eq!(is_wanted(&headers(&[("upgrade", value)])), wanted, "{value}");
        }
        assert!(is_wanted(&headers(&[("upgrade", "h2c"), ("upgrade", "websocket")])));
        assert!(!is_wanted(&headers(&[("connection", "upgrade")])));
    }
}
