//! The calls of the npm package.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dormouse::ErrorCode;
use serde_json::Value as Json;

use super::{Tool, camel, capitals, lines, routes, tools};

/// What is written by hand, because its answer is more than an answer.
const BY_HAND: [&str; 3] = ["sandbox_create", "sandbox_eval", "sandbox_fork"];
/// Words of the language that cannot name an argument.
const WORDS: [&str; 8] = ["class", "default", "delete", "import", "in", "new", "var", "with"];

const VERBS: &str = "/** The calls of the tools. Made from how the tools are listed: `BLESS=1 cargo test --test structure sdk`. */

import type * as answers from \"./answers.js\";
import type { Sandbox } from \"./client.js\";
import { arguments_, type CallOptions, type Fields, type Shape } from \"./surface.js\";
";

const ANSWERS: &str =
    "/** What calls answer. Made from how the tools are listed: `BLESS=1 cargo test --test structure sdk`. */

import type { Typed } from \"./values.js\";
";

/// A comment of this indentation, or nothing.
fn comment(indent: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace("*/", "*\\/");
    let one = lines(&format!("{indent} * "), &text);
    match one.contains('\n') {
        true => format!("{indent}/**\n{indent} * {one}\n{indent} */\n"),
        false => format!("{indent}/** {one} */\n"),
    }
}

fn described(schema: &Json) -> String {
    renamed(schema["description"].as_str().unwrap_or_default())
}

/// Text in which arguments and fields are called as they are here: what stands between backquotes and is neither a tool nor a code
/// of an error.
fn renamed(text: &str) -> String {
    let is_name = |word: &str| {
        let is_plain = word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
        let is_code = ErrorCode::ALL.iter().any(|code| code.as_str() == word);
        let is_tool = ["sandbox_", "run_", "call_tool", "llm_"].iter().any(|start| word.starts_with(start));
        is_plain && word.trim_matches('_').contains('_') && !word.ends_with('_') && !is_code && !is_tool
    };
    let words = text.split('`').enumerate().map(|(place, word)| match place % 2 == 1 && is_name(word) {
        true => camel(word),
        false => word.to_owned(),
    });
    words.collect::<Vec<_>>().join("`")
}

/// Whether it is a typed value, which looks the same at every door.
fn is_typed(schema: &Json) -> bool {
    schema["properties"]["is_list"].is_object() && schema["properties"]["type"].is_object()
}

/// The fields of an object that has fields of its own.
fn fields(schema: &Json) -> Option<&serde_json::Map<String, Json>> {
    schema["properties"].as_object().filter(|fields| !fields.is_empty() && !is_typed(schema))
}

/// The interfaces of answers, each once.
#[derive(Default)]
struct Interfaces {
    by_schema: BTreeMap<String, String>,
    text: String,
}

impl Interfaces {
    /// The type of what a schema allows; `name`: what an interface of its own is called.
    fn kind(&mut self, schema: &Json, name: &str) -> String {
        if let Some(any) = schema["anyOf"].as_array() {
            return any.iter().map(|one| self.kind(one, name)).collect::<Vec<_>>().join(" | ");
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().map(Json::to_string).collect::<Vec<_>>().join(" | ");
        }
        match schema["type"].as_str() {
            Some("string") => "string".into(),
            Some("integer" | "number") => "number".into(),
            Some("boolean") => "boolean".into(),
            Some("null") => "null".into(),
            Some("array") => match self.kind(&schema["items"], name) {
                one if one.contains('|') => format!("readonly ({one})[]"),
                one => format!("readonly {one}[]"),
            },
            Some("object") if is_typed(schema) => "Typed".into(),
            Some("object") if fields(schema).is_some() => self.interface(schema, name),
            Some("object") => "Readonly<Record<string, unknown>>".into(),
            _ => "unknown".into(),
        }
    }

    fn interface(&mut self, schema: &Json, name: &str) -> String {
        let key = format!("{}{}", schema["properties"], schema["required"]);
        if let Some(known) = self.by_schema.get(&key) {
            return known.clone();
        }
        self.by_schema.insert(key, name.to_owned());
        let stem = name.strip_suffix("Answer").unwrap_or(name).to_owned();
        let mut lines = String::new();
        for (field, of) in schema["properties"].as_object().into_iter().flatten() {
            let kind = self.kind(of, &format!("{stem}{}", capitals(field)));
            let always = schema["required"].as_array().into_iter().flatten().any(|one| one == field);
            let mark = if always { "" } else { "?" };
            lines.push_str(&comment("  ", &described(of)));
            writeln!(lines, "  readonly {}{mark}: {kind};", camel(field)).unwrap();
        }
        let about = comment("", &format!("What is answered as `{stem}`: {}", described(schema)));
        let about = if described(schema).is_empty() { String::new() } else { about };
        write!(self.text, "\n{about}export interface {name} {{\n{lines}}}\n").unwrap();
        name.to_owned()
    }
}

/// The fields that are objects with fields of their own, or lists of such.
fn shape(schema: &Json) -> String {
    let mut parts = Vec::new();
    for (name, of) in fields(schema).into_iter().flatten() {
        let inner = of["anyOf"].as_array().and_then(|any| any.iter().find(|one| fields(one).is_some()));
        let inner = inner.unwrap_or(if of["items"].is_object() { &of["items"] } else { of });
        if fields(inner).is_some() {
            parts.push(format!("{name}: {}", shape(inner)));
        }
    }
    if parts.is_empty() { "{}".into() } else { format!("{{ {} }}", parts.join(", ")) }
}

/// The options of a method, if it has any.
fn options(tool: &Tool, interfaces: &mut Interfaces) -> Option<String> {
    let (_, optional) = tool.own_arguments();
    if optional.is_empty() {
        return None;
    }
    let name = format!("{}Options", capitals(tool.method()));
    let mut text = format!(
        "\n/** What `{}` may say. */\nexport interface {name} extends CallOptions {{\n",
        camel(tool.method())
    );
    for (field, of) in optional {
        text.push_str(&comment("  ", &described(of)));
        writeln!(text, "  readonly {}?: {} | undefined;", camel(field), interfaces.kind(of, "")).unwrap();
    }
    text.push_str("}\n");
    Some(text)
}

/// One method.
fn method(tool: &Tool, interfaces: &mut Interfaces) -> String {
    let (needed, optional) = tool.own_arguments();
    let name = camel(tool.method());
    let argument = |name: &str| match WORDS.contains(&name) {
        true => format!("{name}_"),
        false => camel(name),
    };
    let options = match optional.is_empty() {
        true => "CallOptions".to_owned(),
        false => format!("{}Options", capitals(tool.method())),
    };
    let mut about =
        format!("  /**\n   * {}\n", lines("   * ", &renamed(&tool.description).replace("*/", "*\\/")));
    for (name, of) in &needed {
        writeln!(about, "   *\n   * @param {} - {}", argument(name), lines("   * ", &described(of))).unwrap();
    }
    about.push_str("   */\n");
    let mut parameters: Vec<String> =
        needed.iter().map(|(name, of)| format!("{}: {}", argument(name), interfaces.kind(of, ""))).collect();
    if tool.name == "sandbox_create" {
        return format!("\n{about}  abstract create(options?: {options}): Promise<Sandbox>;\n");
    }
    parameters.push(format!("options: {options} = {{}}"));
    let answer = interfaces.interface(&tool.output, &format!("{}Answer", capitals(tool.method())));
    let given: Vec<String> = needed
        .iter()
        .map(|(name, _)| match argument(name) {
            same if same == *name => same,
            other => format!("{name}: {other}"),
        })
        .collect();
    let given = if given.is_empty() { "{}".into() } else { format!("{{ {} }}", given.join(", ")) };
    format!(
        "\n{about}  async {name}({}): Promise<answers.{answer}> {{\n    return (await this.asked(\"{}\", {given}, \
         options)) as answers.{answer};\n  }}\n",
        parameters.join(", "),
        tool.name
    )
}

/// The files: their names, and what they are to hold.
pub(super) fn files() -> [(&'static str, String); 2] {
    let tools = tools();
    let mut interfaces = Interfaces::default();
    let mut verbs = VERBS.to_owned();
    for tool in &tools {
        if tool.name != "sandbox_eval" && tool.name != "sandbox_fork" {
            verbs.push_str(&options(tool, &mut interfaces).unwrap_or_default());
        }
    }
    for (class, of_sandbox) in [("DormouseVerbs", false), ("SandboxVerbs", true)] {
        let of = if of_sandbox { "one persistent sandbox" } else { "all sandboxes" };
        write!(
            verbs,
            "\n/** The tools that are about {of}. */\nexport abstract class {class} {{\n  /** @internal */\n  abstract \
             call(tool: string, asked: Fields, signal: AbortSignal | undefined): Promise<unknown>;\n\n  /** @internal */\n  \
             protected asked(tool: string, needed: Fields, options: CallOptions): Promise<unknown> {{\n    return \
             this.call(tool, {{ ...arguments_(options, OPTIONS[tool]), ...needed }}, options.signal);\n  }}\n"
        )
        .unwrap();
        for tool in tools.iter().filter(|tool| tool.is_of_a_sandbox() == of_sandbox) {
            match BY_HAND.contains(&tool.name.as_str()) {
                true if tool.name == "sandbox_create" => {
                    verbs.push_str(&method(tool, &mut interfaces));
                    interfaces.interface(&tool.output, "CreateAnswer");
                }
                true if tool.name == "sandbox_fork" => drop(interfaces.interface(&tool.output, "ForkAnswer")),
                true => {}
                false => verbs.push_str(&method(tool, &mut interfaces)),
            }
        }
        verbs.push_str("}\n");
    }
    verbs.push_str("\n/** The options of each tool. @internal */\nexport const OPTIONS: Readonly<Record<string, readonly string[]>> = {\n");
    for tool in &tools {
        let names: Vec<String> =
            tool.own_arguments().1.iter().map(|(name, _)| format!("\"{}\"", camel(name))).collect();
        writeln!(verbs, "  {}: [{}],", tool.name, names.join(", ")).unwrap();
    }
    verbs.push_str("};\n\n/** Which fields of a tool's answer have fields of their own. @internal */\nexport const SHAPES: Readonly<Record<string, Shape>> = {\n");
    for tool in &tools {
        writeln!(verbs, "  {}: {},", tool.name, shape(&tool.output)).unwrap();
    }
    verbs.push_str("};\n\n/** The method and the path of each tool at a server. @internal */\nexport const ROUTES: Readonly<Record<string, readonly [method: string, path: string]>> = {\n");
    for (name, method, path) in routes() {
        let name = if name.contains('/') { format!("\"{name}\"") } else { name.to_owned() };
        writeln!(verbs, "  {name}: [\"{method}\", \"{path}\"],").unwrap();
    }
    verbs.push_str("};\n");
    [("verbs.ts", verbs), ("answers.ts", format!("{ANSWERS}{}", interfaces.text))]
}
