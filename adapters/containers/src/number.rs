//! Numbers that nobody can guess, for names and marks.

use dormouse_core::{Error, Result};

/// 128 random bits, as hexadecimal digits.
///
/// # Errors
/// `internal` when the system gives none.
pub fn random() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal("there are no random numbers", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
