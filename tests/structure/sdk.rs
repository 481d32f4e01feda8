//! The calls of the packages are made from the tools, from how they are listed (adapters/tools/src/golden/sandbox.json) and the
//! routes of REST: for Python `_verbs.py` and `answers.py` in adapters/python/dormouse, for Node.js `verbs.ts` and `answers.ts` in
//! adapters/node/dormouse/src. `BLESS=1` writes them.

mod python;
mod typescript;

use std::fs;

use dormouse_rest::route::{Method, ROUTES};
use serde_json::Value as Json;

use super::{read, root};

/// Arguments that say in which sandbox: the object is one.
const PLACE: [&str; 2] = ["sandbox", "session_key"];

/// The name of an argument, and its schema.
type Argument<'a> = (&'a str, &'a Json);

/// A tool, as it is listed.
#[derive(serde::Deserialize)]
pub(crate) struct Tool {
    pub(crate) name: String,
    description: String,
    pub(crate) input: Json,
    /// What an answer is that is no refusal.
    pub(crate) output: Json,
    /// Fields that every such answer has.
    answered: Vec<String>,
}

impl Tool {
    /// Its name in the packages: `run` is there already, and evaluates a snippet.
    pub(crate) fn method(&self) -> &str {
        match self.name.strip_prefix("sandbox_").unwrap_or(&self.name) {
            "run" => "runs",
            name => name,
        }
    }

    pub(crate) fn arguments(&self) -> Vec<Argument<'_>> {
        let fields = self.input["properties"].as_object().into_iter().flatten();
        fields.map(|(name, schema)| (name.as_str(), schema)).collect()
    }

    pub(crate) fn is_of_a_sandbox(&self) -> bool {
        self.name != "sandbox_create" && self.arguments().iter().any(|(name, _)| PLACE.contains(name))
    }

    pub(crate) fn needs(&self, argument: &str) -> bool {
        self.input["required"].as_array().into_iter().flatten().any(|name| name == argument)
    }

    /// Its arguments but those that say where: needed ones, and others.
    fn own_arguments(&self) -> (Vec<Argument<'_>>, Vec<Argument<'_>>) {
        let of_sandbox = self.is_of_a_sandbox();
        let own = self.arguments().into_iter().filter(|(name, _)| !of_sandbox || !PLACE.contains(name));
        own.partition(|(name, _)| self.needs(name))
    }
}

/// All of them.
pub(crate) fn tools() -> Vec<Tool> {
    let listed = read(&root().join("adapters/tools/src/golden/sandbox.json"));
    let mut tools: Vec<Tool> = serde_json::from_str(&listed).unwrap();
    for tool in &mut tools {
        let mut always: Vec<Json> = tool.output["required"].as_array().cloned().unwrap_or_default();
        always.extend(tool.answered.iter().map(|name| name.as_str().into()));
        tool.output["required"] = always.into();
    }
    tools
}

/// The name of each call at a server, its method and its path.
pub(crate) fn routes() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    ROUTES.iter().map(|route| {
        let method = match route.method {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        };
        (if route.id == "eval" { "sandbox_eval/fresh" } else { route.id }, method, route.path)
    })
}

/// The words of a name, each with a capital.
pub(crate) fn capitals(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// `timeout_ms` as `timeoutMs`. The package turns names the other way, so nothing may be lost.
pub(crate) fn camel(name: &str) -> String {
    let capitals = capitals(name);
    let camel = capitals[..1].to_lowercase() + &capitals[1..];
    let back: String = camel
        .chars()
        .flat_map(|letter| match letter.is_ascii_uppercase() {
            true => vec!['_', letter.to_ascii_lowercase()],
            false => vec![letter],
        })
        .collect();
    assert_eq!(back, name, "a name that cannot be turned back");
    camel
}

/// Text in lines that can be read, the second and later ones of this indentation.
fn lines(indent: &str, text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().unwrap();
        if !last.is_empty() && indent.len() + last.len() + word.len() > 116 {
            lines.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    lines.join(&format!("\n{indent}"))
}

/// Whether a file holds what was made; `BLESS=1` writes it.
pub(crate) fn compare(file: &str, made: &str) {
    let path = root().join(file);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, made).unwrap();
    }
    let found = read(&path);
    for (line, (wanted, found)) in made.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, wanted, "{file}, line {}: write it with BLESS=1", line + 1);
    }
    assert_eq!(found.lines().count(), made.lines().count(), "lines of {file}: write it with BLESS=1");
}

#[test]
fn the_calls_of_the_python_package_are_those_of_the_tools() {
    for (file, made) in python::files() {
        compare(&format!("adapters/python/dormouse/{file}"), &made);
    }
}

/// A package of another release than its native part is refused, so all are raised together.
#[test]
fn the_versions_of_the_packages_are_that_of_the_workspace() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, wanted) in [
        ("python/dormouse/_version.py", format!("__version__ = \"{version}\"")),
        ("node/dormouse/src/version.ts", format!("export const VERSION = \"{version}\";")),
        ("node/dormouse/package.json", format!("\"version\": \"{version}\",")),
        ("node/dormouse/package.json", format!("\"dormouse-sandbox-linux-arm64-gnu\": \"{version}\",")),
        ("node/dormouse/package.json", format!("\"dormouse-sandbox-linux-x64-gnu\": \"{version}\"")),
    ] {
        let text = read(&root().join("adapters").join(file));
        assert!(text.lines().any(|line| line.trim() == wanted), "{file}: {wanted}");
    }
}

#[test]
fn the_calls_of_the_npm_package_are_those_of_the_tools() {
    for (file, made) in typescript::files() {
        compare(&format!("adapters/node/dormouse/src/{file}"), &made);
    }
}
