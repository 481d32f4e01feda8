//! What the JavaScript guest has of Rust's libraries, for the C side of `native.h`.
//!
//! | what | module |
//! | --- | --- |
//! | bytes and pointers that cross from C and to it | [`border`] |
//! | digests, HMAC, derived keys | [`digest`] |
//! | ciphers; those that make a tag | [`cipher`], [`sealed`] |
//! | encodings of text | [`encodings`] |
//! | keys in pairs; the test of a search for primes | [`pairs`], [`fermat`] |
//! | `Temporal` | [`temporal`] |
//! | plural rules, lists, orders of strings, borders of words, time zones | [`intl`] |
//!
//! Nothing in here guards the host: the limits of the instance do.

mod border;
mod cipher;
mod digest;
mod encodings;
mod fermat;
mod intl;
mod pairs;
mod sealed;
mod temporal;
