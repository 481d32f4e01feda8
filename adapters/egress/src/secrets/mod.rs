//! Secrets: their values stay in this process. A sandbox has placeholders, which are worth nothing anywhere else.
//!
//! | what | module |
//! | --- | --- |
//! | what the operator said of one: hosts, places, shape | `named`: [`Secret`], [`Place`] |
//! | where values come from | `source`: [`Source`]; `keyring` |
//! | the values, and what of them is looked for in answers | `vault`, `value` |
//! | what a sandbox has in place of one | `placeholder` |
//! | placeholders in a request become values | `fill` |
//! | values in an answer become stars | `wash`; with escapes undone `escapes`; in frames of a WebSocket `frames` |

mod escapes;
mod fill;
mod frames;
mod keyring;
mod named;
mod placeholder;
mod source;
mod value;
mod vault;
mod wash;

pub use named::{DEFAULT_SHAPE, Place, Secret};
pub use source::Source;

pub(crate) use fill::{Filling, Parts};
pub(crate) use frames::Frames;
pub(crate) use keyring::is_name as is_key;
pub(crate) use named::is_own;
pub(crate) use source::COMMAND_TTL;
pub(crate) use vault::{Current, Vault, forms_of};
pub(crate) use wash::{Forms, Washer};
