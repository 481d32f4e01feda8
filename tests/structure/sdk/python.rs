//! The calls of the Python package.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{Tool, capitals, lines, tools};

/// What is written by hand, because its answer is more than an answer.
const BY_HAND: [&str; 2] = ["sandbox_eval", "sandbox_fork"];
/// What cannot be the name of an argument in Python.
const KEYWORDS: [&str; 4] = ["as", "class", "from", "import"];

const VERBS: &str = r#""""The calls of the tools. Made from how the tools are listed: `BLESS=1 cargo test --test structure sdk`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Literal, Mapping, Optional, Sequence

if TYPE_CHECKING:
    from . import answers
    from ._client import AsyncSandbox, Sandbox
"#;

const ANSWERS: &str = r#""""What calls answer. Made from how the tools are listed: `BLESS=1 cargo test --test structure sdk`.

The package itself does without this module; it is for the types of programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired

"#;

/// Text as documentation of this indentation.
fn documented(indent: &str, text: &str) -> String {
    lines(indent, &text.replace('\\', "\\\\").replace("\"\"\"", "'''"))
}

/// The classes of answers, each once.
#[derive(Default)]
struct Classes {
    by_schema: BTreeMap<String, String>,
    text: String,
}

impl Classes {
    /// The type of what a schema allows; `name`: what a class of its own is called.
    fn kind(&mut self, schema: &Json, name: &str) -> String {
        if let Some(any) = schema["anyOf"].as_array() {
            let kinds: Vec<String> = any.iter().map(|one| self.kind(one, name)).collect();
            return format!("Union[{}]", kinds.join(", "));
        }
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<String> = words.iter().map(Json::to_string).collect();
            return format!("Literal[{}]", words.join(", "));
        }
        match schema["type"].as_str() {
            Some("string") => "str".into(),
            Some("integer") => "int".into(),
            Some("number") => "float".into(),
            Some("boolean") => "bool".into(),
            Some("null") => "None".into(),
            Some("array") => format!("List[{}]", self.kind(&schema["items"], name)),
            Some("object") if schema["properties"].is_object() => self.class(schema, name),
            Some("object") => "Dict[str, Any]".into(),
            _ => "Any".into(),
        }
    }

    fn class(&mut self, schema: &Json, name: &str) -> String {
        let key = format!("{}{}", schema["properties"], schema["required"]);
        if let Some(known) = self.by_schema.get(&key) {
            return known.clone();
        }
        self.by_schema.insert(key, name.to_owned());
        let stem = name.strip_suffix("Answer").unwrap_or(name).to_owned();
        let fields = schema["properties"].as_object().unwrap();
        // A name that is a word of the language can stand in a table alone.
        let in_table = fields.keys().any(|field| KEYWORDS.contains(&field.as_str()));
        let mut lines = String::new();
        for (field, of) in fields {
            let kind = self.kind(of, &format!("{stem}{}", capitals(field)));
            let needed = schema["required"].as_array().into_iter().flatten().any(|one| one == field);
            let kind = if needed { kind } else { format!("NotRequired[{kind}]") };
            let text = of["description"].as_str().unwrap_or_default();
            if in_table {
                writeln!(
                    lines,
                    "        # {}\n        \"{field}\": \"{kind}\",",
                    documented("        # ", text)
                )
                .unwrap();
                continue;
            }
            writeln!(lines, "    {field}: {kind}").unwrap();
            if !text.is_empty() {
                writeln!(lines, "    \"\"\"{}\"\"\"", documented("    ", text)).unwrap();
            }
        }
        if lines.is_empty() {
            lines.push_str("    pass\n");
        }
        let text = match in_table {
            true => format!("\n{name} = TypedDict(\n    \"{name}\",\n    {{\n{lines}    }},\n)\n\n"),
            false => format!("\nclass {name}(TypedDict):\n{lines}\n"),
        };
        self.text.push_str(&text);
        name.to_owned()
    }
}

/// One method.
fn method(tool: &Tool, classes: &mut Classes, is_async: bool) -> String {
    let (needed, optional) = tool.own_arguments();
    let python = |name: &str| if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() };
    // What is taken may be more than a list.
    let mut kind =
        |schema: &Json| classes.kind(schema, "").replace("List[", "Sequence[").replace("Dict[", "Mapping[");
    let mut parameters = vec!["self".to_owned()];
    parameters.extend(needed.iter().map(|(name, of)| format!("{}: {}", python(name), kind(of))));
    if !optional.is_empty() {
        parameters.push("*".into());
    }
    parameters
        .extend(optional.iter().map(|(name, of)| format!("{}: Optional[{}] = None", python(name), kind(of))));
    let made = tool.name == "sandbox_create";
    let answer = match (made, is_async) {
        (true, true) => "AsyncSandbox".into(),
        (true, false) => "Sandbox".into(),
        (false, _) => {
            format!("answers.{}", classes.class(&tool.output, &format!("{}Answer", capitals(tool.method()))))
        }
    };
    let (begin, wait) = if is_async { ("async def", "await ") } else { ("def", "") };
    let mut text = format!("\n    {begin} {}(\n", tool.method());
    for parameter in parameters {
        writeln!(text, "        {parameter},").unwrap();
    }
    writeln!(text, "    ) -> {answer}:").unwrap();
    writeln!(text, "        \"\"\"{}", documented("        ", &tool.description)).unwrap();
    for (name, of) in needed.iter().chain(&optional) {
        let said = format!("`{}`: {}", python(name), of["description"].as_str().unwrap_or_default());
        writeln!(text, "\n        {}", documented("        ", &said)).unwrap();
    }
    writeln!(text, "        \"\"\"").unwrap();
    let pair = |name: &str| format!("\"{name}\": {}", python(name));
    let given: Vec<String> = needed.iter().map(|(name, _)| pair(name)).collect();
    writeln!(text, "        asked: Dict[str, Any] = {{{}}}", given.join(", ")).unwrap();
    for (name, _) in optional {
        writeln!(
            text,
            "        if {} is not None:\n            asked[\"{name}\"] = {}",
            python(name),
            python(name)
        )
        .unwrap();
    }
    let call = format!("{wait}self._call(\"{}\", asked)", tool.name);
    match made {
        true => writeln!(text, "        return self._made({call})").unwrap(),
        false => writeln!(text, "        answer: {answer} = {call}\n        return answer").unwrap(),
    }
    text
}

/// The files: their names, and what they are to hold.
pub(super) fn files() -> [(&'static str, String); 2] {
    let tools = tools();
    let mut classes = Classes::default();
    let mut verbs = String::new();
    for (class, of_sandbox, is_async) in [
        ("DormouseVerbs", false, false),
        ("SandboxVerbs", true, false),
        ("AsyncDormouseVerbs", false, true),
        ("AsyncSandboxVerbs", true, true),
    ] {
        let (begin, made) = if is_async { ("async def", "AsyncSandbox") } else { ("def", "Sandbox") };
        let of = if of_sandbox { "one persistent sandbox" } else { "all sandboxes" };
        writeln!(verbs, "\n\nclass {class}:\n    \"\"\"The tools that are about {of}.\"\"\"\n").unwrap();
        writeln!(verbs, "    {begin} _call(self, tool: str, arguments: Mapping[str, Any]) -> Any:\n        raise NotImplementedError").unwrap();
        if !of_sandbox {
            writeln!(
                verbs,
                "\n    def _made(self, answer: Any) -> {made}:\n        raise NotImplementedError"
            )
            .unwrap();
        }
        for tool in &tools {
            if tool.is_of_a_sandbox() == of_sandbox && !BY_HAND.contains(&tool.name.as_str()) {
                verbs.push_str(&method(tool, &mut classes, is_async));
            }
        }
    }
    let mut routes = String::from("\n\nROUTES = {\n");
    for (name, method, path) in super::routes() {
        writeln!(routes, "    \"{name}\": (\"{method}\", \"{path}\"),").unwrap();
    }
    routes.push_str("}\n\"\"\"The method and the path of each tool at a server.\"\"\"\n");
    let answers = format!("{ANSWERS}{}\n", classes.text.trim_end());
    [("_verbs.py", format!("{VERBS}{}{routes}", verbs.trim_end())), ("answers.py", answers)]
}
