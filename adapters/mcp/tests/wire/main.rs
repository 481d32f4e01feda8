//! The server over raw bytes, in process, with a provider that runs nothing. Names in brackets are attack ids of
//! docs/THREAT_MODEL.md.

mod arguments;
mod calls;
mod ending;
mod eras;
mod malformed;
mod support;
