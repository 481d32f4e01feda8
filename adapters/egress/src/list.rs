//! Lists that restrict, as an operator or a call writes them.

use serde::{Deserialize as _, Deserializer};

/// A list that restricts. One without an element would allow nothing, which is what no rule is for, and is never read as "all".
pub(crate) fn some<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<String>, D::Error> {
    let all = Vec::deserialize(from)?;
    if all.is_empty() {
        return Err(serde::de::Error::custom("an empty list allows nothing: leave the key out to allow all"));
    }
    Ok(all)
}
