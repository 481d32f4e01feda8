//! Variables of the shell, as the contract shows them.

use serde_json::{Value, json};

use crate::session::Session;

/// Characters that a summary shows.
const SUMMARY: usize = 100;

/// One as a typed value.
pub(crate) fn get(session: &Session, name: &str) -> Option<String> {
    let state = session.bash.shell_state_view();
    let value = state.variables.get(name).or_else(|| state.env.get(name))?;
    Some(json!({"type": "string", "value": value}).to_string())
}

/// Sets one, exported.
pub(crate) fn set(session: &mut Session, name: &str, json: &str) -> bool {
    let fits = |(at, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit());
    if name.is_empty() || !name.char_indices().all(fits) {
        return false;
    }
    let value = match serde_json::from_str(json) {
        Ok(Value::String(text)) => text,
        Ok(Value::Number(number)) => number.to_string(),
        _ => return false,
    };
    session.bash.set_env(name, &value);
    true
}

/// All that the user has set, by name.
pub(crate) fn list(session: &Session) -> String {
    let state = session.bash.shell_state_view();
    let mut names: Vec<(&String, &String)> =
        state.variables.iter().filter(|(name, _)| !session.is_own(name)).collect();
    names.sort();
    let shown = names.into_iter().map(|(name, value)| {
        json!({"name": name, "type": "string", "summary": value.chars().take(SUMMARY).collect::<String>()})
    });
    Value::Array(shown.collect()).to_string()
}
