//! A source whose endpoints are in this process: each has files of its own and keeps a diary.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{Call, Endpoint, Listed, Opened, Source, ToolAnswer};
use serde_json::{Map, Value as Json, json};

/// What happened, in order.
pub(crate) type Diary = Arc<Mutex<Vec<String>>>;

/// The source. Arguments: `tag`; `fail`: `open` or `close`; `tools`: other names for `Read`; `mounts`.
#[derive(Default)]
pub(crate) struct Double {
    pub(crate) diary: Diary,
    pub(crate) opened_with: Mutex<Vec<Json>>,
}

impl Double {
    pub(crate) fn diary(&self) -> Vec<String> {
        self.diary.lock().unwrap().clone()
    }

    /// Endpoints that are open.
    pub(crate) fn live(&self) -> usize {
        let diary = self.diary();
        let count = |word: &str| diary.iter().filter(|line| line.starts_with(word)).count();
        count("open ") - count("close ")
    }
}

#[async_trait]
impl Source for Double {
    fn check(&self, args: &Map<String, Json>) -> Result<()> {
        match args.keys().find(|key| !["tag", "fail", "tools", "mounts"].contains(&key.as_str())) {
            Some(key) => Err(Error::args_invalid(format!("the argument `{key}` is not known"))),
            None => Ok(()),
        }
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        self.opened_with.lock().unwrap().push(Json::Object(args.clone()));
        let text = |key: &str| args.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let (tag, fail) = (text("tag"), text("fail"));
        if fail == "hang" {
            std::future::pending::<()>().await;
        }
        if fail == "open" {
            return Err(Error::new(
                ErrorCode::HealthTimeout,
                "container not healthy: health timeout after 20s",
            ));
        }
        self.diary.lock().unwrap().push(format!("open {tag}"));
        let tools = args.get("tools").and_then(Json::as_array).cloned();
        let tools = tools.map(|names| names.iter().filter_map(Json::as_str).map(str::to_owned).collect());
        let (files, diary) = (Mutex::default(), self.diary.clone());
        let endpoint = Arc::new(Doubled { tag, fail, tools, files, diary });
        Ok(Opened::new("double", endpoint))
    }

    fn takes_mounts(&self) -> bool {
        true
    }
}

struct Doubled {
    tag: String,
    fail: String,
    tools: Option<Vec<String>>,
    files: Mutex<BTreeMap<String, String>>,
    diary: Diary,
}

/// The tools: what each does is in [`Doubled::answer`].
const TOOLS: [&str; 8] = ["Write", "Read", "Say", "Fail", "Wait", "Break", "run_tests", "strict"];

fn listed(name: &str) -> Listed {
    let input_schema = match name {
        "strict" => json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        _ => json!({"type": "object"}),
    };
    Listed {
        name: name.into(),
        description: format!("Does {name}"),
        input_schema,
        output_schema: None,
        annotations: None,
    }
}

fn said(text: impl Into<String>) -> ToolAnswer {
    ToolAnswer { content: vec![json!({"type": "text", "text": text.into()})], ..ToolAnswer::default() }
}

/// Tells the diary when a call is given up.
struct GivenUp<'a>(&'a Doubled);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.0.note("given up");
    }
}

impl Doubled {
    fn note(&self, what: &str) {
        self.diary.lock().unwrap().push(format!("{what} {}", self.tag));
    }

    async fn answer(&self, call: &Call) -> Result<ToolAnswer> {
        let text = |key: &str| call.arguments.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        Ok(match call.tool.as_str() {
            "Write" => {
                self.files.lock().unwrap().insert(text("path"), text("content"));
                said("written")
            }
            "Read" => match self.files.lock().unwrap().get(&text("path")) {
                Some(content) => said(content.clone()),
                None => ToolAnswer { is_error: true, ..said("no such file") },
            },
            // Says its argument `text`, `times` over, with `structured` beside it.
            "Say" => {
                let times = call.arguments.get("times").and_then(Json::as_u64).unwrap_or(1);
                let structured = call.arguments.get("structured").cloned();
                ToolAnswer { structured, ..said(text("text").repeat(usize::try_from(times).unwrap_or(1))) }
            }
            "Fail" => ToolAnswer { is_error: true, ..said(text("text")) },
            "Wait" => {
                let _given_up = GivenUp(self);
                if let Some(progress) = &call.progress {
                    progress.progress("waiting", None, None);
                }
                std::future::pending().await
            }
            "Break" => return Err(Error::new(ErrorCode::ProviderUnavailable, "the connection broke")),
            "run_tests" => {
                let passed =
                    self.files.lock().unwrap().get("add.py").is_some_and(|text| text.contains("a + b"));
                let structured =
                    Some(json!({"passed": passed, "summary": if passed { "1 passed" } else { "1 failed" }}));
                let text = if passed { "1 passed" } else { "FAILED test_add" };
                ToolAnswer { structured, is_error: !passed, ..said(text) }
            }
            _ => said("done"),
        })
    }
}

#[async_trait]
impl Endpoint for Doubled {
    async fn list(&self) -> Result<Vec<Listed>> {
        Ok(match &self.tools {
            Some(names) => names.iter().map(|name| listed(name)).collect(),
            None => TOOLS.map(listed).into(),
        })
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        self.note(&call.tool);
        self.answer(&call).await
    }

    async fn close(&self) -> Result<()> {
        self.note("close");
        match self.fail == "close" {
            true => Err(Error::new(ErrorCode::ProviderUnavailable, "it would not go")),
            false => Ok(()),
        }
    }
}
