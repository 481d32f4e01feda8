//! What a scripted call must come to.

use dormouse_core::Result;
use dormouse_sources::ToolAnswer;

use crate::config::Expect;
use crate::report::last_words;

/// Characters of a value that a failure shows.
const SHOWN: usize = 200;

/// Why the result is not what is expected, if it is not.
pub(super) fn failure(expect: &Expect, result: &Result<ToolAnswer>) -> Option<String> {
    let answer = match (result, &expect.error) {
        (Err(error), Some(code)) if error.code().as_str() == code => return None,
        (Err(error), Some(code)) => {
            return Some(format!(
                "expected the error `{}`, got `{}`: {}",
                cut(code),
                error.code(),
                error.message()
            ));
        }
        (Err(error), None) => return Some(error.message().to_owned()),
        (Ok(_), Some(code)) => return Some(format!("expected the error `{}`, got an answer", cut(code))),
        (Ok(answer), None) => answer,
    };
    if answer.is_error != expect.is_error {
        let (expected, got) =
            if expect.is_error { ("a failure", "success") } else { ("success", "a failure") };
        let said = match last_words(&answer.text()) {
            said if said.is_empty() => said,
            said => format!(": {said}"),
        };
        return Some(format!("expected {expected} of the tool, got {got}{said}"));
    }
    if let Some(pattern) = expect.text.as_ref().filter(|pattern| !pattern.finds(&answer.text())) {
        return Some(format!("the text has no `{pattern}`"));
    }
    expect.structured.iter().find_map(|(pointer, wanted)| {
        let found = answer.structured.as_ref().and_then(|structured| pointer.find(structured));
        match found {
            Some(found) if found == wanted => None,
            Some(found) => Some(format!(
                "the structured content has {} at `{pointer}`, expected {}",
                cut(&found.to_string()),
                cut(&wanted.to_string())
            )),
            None => Some(format!("the structured content has nothing at `{pointer}`")),
        }
    })
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
