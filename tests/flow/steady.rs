//! Answers without what differs from one installation, one run and one moment to the next.

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value as Json;

/// Fields of answers that differ from run to run, and those that say what is in memory just now.
const VARYING: [&str; 4] = ["duration_ms", "memory_peak_bytes", "awake", "status"];

/// Gives ids, made-up names and times the same words in the same places, in all answers that one of these has seen.
#[derive(Default)]
pub(crate) struct Steady(HashMap<String, String>);

impl Steady {
    /// The answer as it is compared.
    pub(crate) fn of(&mut self, answer: &Json) -> Json {
        match answer {
            Json::Object(fields) => Json::Object(
                fields
                    .iter()
                    .filter(|(name, _)| !VARYING.contains(&name.as_str()))
                    // What a state takes depends on what ran before, and how often it was put down.
                    .filter(|(name, _)| *name != "size_bytes" || !fields.contains_key("include"))
                    .map(|(name, value)| (name.clone(), self.of(value)))
                    .collect(),
            ),
            Json::Array(items) => items.iter().map(|item| self.of(item)).collect(),
            Json::String(text) => self.text(text).into(),
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let times = Regex::new(r"\d{4}-\d\d-\d\dT[\d:.]+Z").unwrap();
        let ids = Regex::new(r"\b(sb|ckpt|fork|job)-[a-z2-7]{12,26}").unwrap();
        let text = times.replace_all(text, "TIME");
        let known = &mut self.0;
        let named = ids.replace_all(&text, |found: &regex::Captures<'_>| {
            let number = known.len();
            known.entry(found[0].to_owned()).or_insert_with(|| format!("{}-{number}", &found[1])).clone()
        });
        named.into_owned()
    }
}
