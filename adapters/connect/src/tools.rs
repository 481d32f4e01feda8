//! The tools of one server as it listed them: by name, with the check of their arguments, and what they are known again by.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use dormouse_sources::{Check, Listed, Patterns};
use serde_json::Value as Json;

use crate::names;

/// What a tool, or a list of them, is known again by.
pub(crate) type Mark = [u8; 32];

/// A tool.
pub(crate) struct Tool {
    /// As its server lists it.
    pub(crate) listed: Listed,
    /// Its name in programs.
    pub(crate) identifier: String,
    /// Of all that its server says of it.
    pub(crate) mark: Mark,
    check: OnceLock<Option<Check>>,
}

/// All tools of a server, in the server's order.
pub(crate) struct Tools {
    /// Of all of them.
    pub(crate) mark: Mark,
    pub(crate) list: Vec<Tool>,
    by_name: HashMap<String, usize>,
    patterns: Mutex<Patterns>,
}

impl Tools {
    pub(crate) fn new(listed: Vec<Listed>) -> Self {
        let raw: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
        let identifiers = names::identifiers(&raw, &[]);
        let mut whole = blake3::Hasher::new();
        let list: Vec<Tool> = listed
            .into_iter()
            .zip(identifiers)
            .map(|(listed, identifier)| {
                let mark = mark(&listed);
                whole.update(&mark);
                Tool { listed, identifier, mark, check: OnceLock::new() }
            })
            .collect();
        let both = list
            .iter()
            .enumerate()
            .flat_map(|(at, tool)| [(tool.identifier.clone(), at), (tool.listed.name.clone(), at)]);
        let by_name = both.collect();
        Self { mark: whole.finalize().into(), list, by_name, patterns: Mutex::default() }
    }

    /// The tool of that name: the server's own, or the identifier.
    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(|at| &self.list[*at])
    }

    /// What is wrong with the arguments of a call.
    pub(crate) fn violation(&self, tool: &Tool, arguments: &Json) -> Option<String> {
        self.check(tool)?.violation(arguments)
    }

    /// Whether the arguments of its calls are checked.
    pub(crate) fn is_checked(&self, tool: &Tool) -> bool {
        self.check(tool).is_some()
    }

    fn check<'a>(&self, tool: &'a Tool) -> Option<&'a Check> {
        let check = tool.check.get_or_init(|| {
            let mut patterns = self.patterns.lock().unwrap_or_else(PoisonError::into_inner);
            let made = Check::new(&tool.listed.input_schema, &mut patterns);
            made.inspect_err(|why| {
                tracing::warn!(tool = tool.listed.name, why, "arguments are not checked against the schema");
            })
            .ok()
        });
        check.as_ref()
    }
}

impl Tool {
    /// Whether its server says that it only reads.
    pub(crate) fn is_read_only(&self) -> bool {
        let annotations = self.listed.annotations.as_ref();
        annotations.is_some_and(|annotations| annotations["readOnlyHint"] == true)
    }
}

fn mark(listed: &Listed) -> Mark {
    let mut hash = blake3::Hasher::new();
    let parts = [Some(&listed.input_schema), listed.output_schema.as_ref(), listed.annotations.as_ref()];
    let texts = parts.map(|part| part.map(Json::to_string).unwrap_or_default());
    for text in [&listed.name, &listed.description].into_iter().chain(&texts) {
        hash.update(&text.len().to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().into()
}

/// Lists that are the same are kept once, whoever's connection they came by.
#[derive(Default)]
pub(crate) struct Known(Mutex<HashMap<Mark, Weak<Tools>>>);

impl Known {
    /// The list, or the same one that is there already.
    pub(crate) fn keep(&self, tools: Tools) -> Arc<Tools> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, tools| tools.strong_count() > 0);
        if let Some(tools) = known.get(&tools.mark).and_then(Weak::upgrade) {
            return tools;
        }
        let tools = Arc::new(tools);
        known.insert(tools.mark, Arc::downgrade(&tools));
        tools
    }
}
