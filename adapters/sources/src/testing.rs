//! Doubles for the tests of this crate.

pub(crate) mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json, json};

use crate::{Call, Endpoint, Listed, Opened, Source, ToolAnswer};

/// How long anything may take that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What happened, in order.
pub(crate) type Diary = Arc<Mutex<Vec<String>>>;

/// A source whose endpoints only pretend. Arguments: `tag`, `tools`, `fail` (open, list, close), `slow_ms`.
#[derive(Default)]
pub(crate) struct Pretend {
    pub(crate) diary: Diary,
}

pub(crate) struct Pretended {
    tag: String,
    tools: Vec<String>,
    fail: String,
    diary: Diary,
}

pub(crate) fn note(diary: &Diary, text: String) {
    diary.lock().unwrap().push(text);
}

pub(crate) fn listed(name: &str) -> Listed {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let annotations = Some(json!({"readOnlyHint": true, "x-own": 1}));
    Listed {
        name: name.into(),
        description: String::new(),
        input_schema: schema,
        output_schema: None,
        annotations,
    }
}

impl Pretend {
    /// Endpoints that are open, by the diary.
    pub(crate) fn live(&self) -> usize {
        let diary = self.diary.lock().unwrap();
        let count = |word: &str| diary.iter().filter(|line| line.starts_with(word)).count();
        count("open ") - count("close ")
    }
}

#[async_trait]
impl Source for Pretend {
    fn check(&self, args: &Map<String, Json>) -> Result<()> {
        match args.contains_key("bad") {
            true => Err(Error::args_invalid("`bad` is bad")),
            false => Ok(()),
        }
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        let text = |key: &str| args.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        if let Some(ms) = args.get("slow_ms").and_then(Json::as_u64) {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        if text("fail") == "open" {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "no luck").with_hint("try again"));
        }
        let tools = args.get("tools").and_then(Json::as_array).cloned().unwrap_or_default();
        let tools = tools.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        let (tag, fail, diary) = (text("tag"), text("fail"), self.diary.clone());
        note(&diary, format!("open {tag}"));
        Ok(Opened::new("pretend", Arc::new(Pretended { tag, tools, fail, diary })))
    }
}

#[async_trait]
impl Endpoint for Pretended {
    async fn list(&self) -> Result<Vec<Listed>> {
        match self.fail.as_str() {
            "list" => Err(Error::new(ErrorCode::ProviderUnavailable, "no list")),
            _ => Ok(self.tools.iter().map(|name| listed(name)).collect()),
        }
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        match call.tool.as_str() {
            "gone" => Err(Error::new(ErrorCode::NotFound, "unknown tool")),
            "picky" => Err(Error::args_invalid("n is odd")),
            _ => Ok(ToolAnswer {
                content: vec![json!({"type": "text", "text": self.tag}), json!({"type": "x-own", "y": [1]})],
                structured: Some(json!({"by": self.tag, "args": call.arguments})),
                is_error: false,
            }),
        }
    }

    async fn close(&self) -> Result<()> {
        tokio::task::yield_now().await;
        note(&self.diary, format!("close {}", self.tag));
        match self.fail.as_str() {
            "close" => Err(Error::new(ErrorCode::ProviderUnavailable, "it would not go")),
            _ => Ok(()),
        }
    }
}
