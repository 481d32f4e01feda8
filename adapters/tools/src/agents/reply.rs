//! What a model's turn holds: blocks of Python between fences, or the outputs as JSON.

use serde_json::{Map, Value as Json};

use super::signature::Slot;

/// Blocks of one turn that are run.
pub(super) const BLOCKS: usize = 8;

/// One turn.
#[derive(Debug, PartialEq)]
pub(super) enum Turn {
    /// Code to run, block after block.
    Code(Vec<String>),
    /// Every output, each of its type.
    Outputs(Map<String, Json>),
    /// Neither; what to say about it.
    Nothing(&'static str),
}

/// Reads a turn.
pub(super) fn turn(text: &str, outputs: &[Slot]) -> Turn {
    let (blocks, closed) = fenced(text);
    if !closed {
        return Turn::Nothing("The last code block is not closed, so nothing was run. Write shorter code.");
    }
    let code = |language: &str| ["", "python", "py", "python3", "repl"].contains(&language);
    let found: Vec<String> =
        blocks.iter().filter(|(language, _)| code(language)).map(|(_, body)| body.clone()).collect();
    if !found.is_empty() {
        return Turn::Code(found.into_iter().take(BLOCKS).collect());
    }
    let json = blocks.iter().filter(|(language, _)| language == "json").map(|(_, body)| body.as_str());
    for body in json.chain([text]) {
        if let Ok(Json::Object(given)) = serde_json::from_str(body) {
            let whole = given.len() == outputs.len()
                && outputs.iter().all(|slot| given.get(&slot.name).is_some_and(|v| slot.kind.takes_json(v)));
            if whole {
                return Turn::Outputs(given);
            }
            return Turn::Nothing("The JSON does not hold exactly the outputs, each of its type.");
        }
    }
    Turn::Nothing("No code block was found. Write one between ```python and ```, and end with submit(...).")
}

/// The blocks between fences with the word after the first, and whether the last is closed.
fn fenced(text: &str) -> (Vec<(String, String)>, bool) {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        open = match (open.take(), fence) {
            (None, Some(word)) => Some((word.trim().to_ascii_lowercase(), String::new())),
            (None, None) => None,
            (Some(block), Some(rest)) if rest.trim().is_empty() => {
                blocks.push(block);
                None
            }
            (Some((language, mut body)), _) => {
                body.push_str(line);
                body.push('\n');
                Some((language, body))
            }
        };
    }
    (blocks, open.is_none())
}

#[cfg(test)]
mod tests {
    use super::super::signature::Signature;
    use super::*;

    fn read(text: &str) -> Turn {
        turn(text, &Signature::parse("q -> answer: int").unwrap().outputs)
    }

    #[test]
    fn code_outputs_and_neither_are_told_apart() {
        let code = |blocks: &[&str]| Turn::Code(blocks.iter().map(|block| (*block).to_owned()).collect());
        assert_eq!(read("Look:\n```python\nx = 1\nx\n```\nand\n```\ny\n```"), code(&["x = 1\nx\n", "y\n"]));
        assert_eq!(read("```Python\n```"), code(&[""]));
        assert!(matches!(read("```json\n{\"answer\": 3}\n```"), Turn::Outputs(_)));
        assert!(matches!(read("{\"answer\": 3}"), Turn::Outputs(_)));
        for nothing in [
            "",
            "3",
            "```python\nx",
            "{\"answer\": \"3\"}",
            "{\"answer\": 3, \"b\": 1}",
            "{}",
            "```json\n3\n```",
            "```rust\n```",
        ] {
            assert!(matches!(read(nothing), Turn::Nothing(_)), "{nothing}");
        }
        assert!(matches!(read(&"```\n1\n```\n".repeat(20)), Turn::Code(blocks) if blocks.len() == BLOCKS));
    }
}
