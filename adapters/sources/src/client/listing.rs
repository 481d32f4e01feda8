//! A server's list of tools, page by page, checked and bounded.
//!
//! A tool whose name or schema cannot be taken is left out with a warning: the others are of use without it. A list that is
//! too long as a whole is an error: which of its tools to leave out is not ours to say.

use std::collections::HashSet;

use dormouse_core::{Error, ErrorCode, Result};
use serde_json::Value as Json;

use super::wire::unavailable;
use crate::Listed;

/// Most tools.
const MAX_TOOLS: usize = 1_000;
/// Longest name, in characters.
const MAX_NAME: usize = 128;
/// Largest description (64 KiB); the rest is cut.
const MAX_DESCRIPTION: usize = 64 << 10;
/// Largest schema or annotations (64 KiB).
const MAX_SCHEMA: usize = 64 << 10;
/// Bytes of all schemas, annotations and descriptions together (4 MiB).
const MAX_TOTAL: usize = 4 << 20;
/// Most pages, and the longest mark of a page, in bytes.
const MAX_PAGES: usize = 100;
const MAX_CURSOR: usize = 4_096;

/// What has been listed so far.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) tools: Vec<Listed>,
    names: HashSet<String>,
    pages: usize,
    seen: usize,
    bytes: usize,
}

impl Listing {
    /// Takes a page. The mark of the next, if there is one.
    pub(super) fn add(&mut self, mut page: Json) -> Result<Option<String>> {
        let Some(Json::Array(tools)) = page.get_mut("tools").map(Json::take) else {
            return Err(unavailable("the MCP server's list of tools is none"));
        };
        self.seen += tools.len();
        if self.seen > MAX_TOOLS {
            return Err(too_large(format!("the MCP server lists more than {MAX_TOOLS} tools")));
        }
        for tool in tools {
            self.add_tool(tool)?;
        }
        self.pages += 1;
        match page["nextCursor"].as_str() {
            Some(_) if self.pages >= MAX_PAGES => {
                Err(too_large(format!("the MCP server's list of tools has more than {MAX_PAGES} pages")))
            }
            Some(cursor) if cursor.len() > MAX_CURSOR => {
                Err(too_large(format!("the MCP server's mark of a page has more than {MAX_CURSOR} bytes")))
            }
            cursor => Ok(cursor.map(str::to_owned)),
        }
    }

    fn add_tool(&mut self, tool: Json) -> Result<()> {
        let listed = match checked(tool) {
            Ok(listed) => listed,
            Err((name, why)) => {
                tracing::warn!(tool = name, why, "a tool of an MCP server is left out");
                return Ok(());
            }
        };
        if !self.names.insert(listed.name.clone()) {
            tracing::warn!(tool = listed.name, "an MCP server lists a tool twice; the first is taken");
            return Ok(());
        }
        let parts = [Some(&listed.input_schema), listed.output_schema.as_ref(), listed.annotations.as_ref()];
        self.bytes += listed.description.len() + parts.into_iter().flatten().map(size).sum::<usize>();
        if self.bytes > MAX_TOTAL {
            return Err(too_large(format!(
                "the MCP server's tools have more than {MAX_TOTAL} bytes of schemas"
            )));
        }
        self.tools.push(listed);
        Ok(())
    }
}

/// The tool, or its name as far as it can be shown and what is wrong with it.
fn checked(mut tool: Json) -> Result<Listed, (String, String)> {
    let name = tool["name"].as_str().unwrap_or_default().to_owned();
    let wrong = |why: String| (name.escape_debug().take(MAX_NAME).collect::<String>(), why);
    let count = name.chars().take(MAX_NAME + 1).count();
    if !(1..=MAX_NAME).contains(&count) {
        return Err(wrong(format!("its name has not 1 to {MAX_NAME} characters")));
    }
    if name.chars().any(|c| c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')) {
        return Err(wrong("its name has control characters".into()));
    }
    let mut take = |key: &str| tool.get_mut(key).map(Json::take).filter(|part| !part.is_null());
    let (input, output) = (take("inputSchema"), take("outputSchema"));
    let (annotations, description) = (take("annotations"), take("description"));
    for (what, part) in [("input schema", &input), ("output schema", &output), ("annotations", &annotations)]
    {
        if part.as_ref().is_some_and(|part| size(part) > MAX_SCHEMA) {
            return Err(wrong(format!("its {what} has more than {MAX_SCHEMA} bytes")));
        }
    }
    let Some(input_schema @ Json::Object(_)) = input else {
        return Err(wrong("it has no input schema".into()));
    };
    let description = description.as_ref().and_then(Json::as_str).unwrap_or_default();
    let end = description.floor_char_boundary(MAX_DESCRIPTION.min(description.len()));
    let description = description[..end].to_owned();
    Ok(Listed { name, description, input_schema, output_schema: output, annotations })
}

fn size(part: &Json) -> usize {
    part.to_string().len()
}

fn too_large(message: String) -> Error {
    Error::new(ErrorCode::TooLarge, message).with_hint("have the server offer fewer tools")
}
