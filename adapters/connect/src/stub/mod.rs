//! A tool's schemas in the caller's language: a stub with its description, or one line.
//!
//! | what | module |
//! | --- | --- |
//! | a schema as a shape: references followed, bounded | `shape` |
//! | Python | `python` |
//! | JavaScript and TypeScript | `typescript` |
//! | PHP | `php` |
//! | a command line | `shell` |
//!
//! All that a server says of its tools is data: it stands in comments and literals, out of which it cannot break.

mod php;
mod python;
mod shape;
pub(crate) mod shell;
#[cfg(test)]
mod tests;
mod typescript;

use dormouse_core::Language;

pub(crate) use self::shape::{Field, Shape, fields};
use crate::text;
use crate::tools::Tool;

/// Characters of a description in a stub, and of an argument's.
const MAX_DESCRIPTION: usize = 2_000;
const MAX_ARGUMENT: usize = 200;
/// Characters of a description in a list.
const MAX_SUMMARY: usize = 200;
/// Characters of a signature in a list.
const MAX_SIGNATURE: usize = 400;

/// A tool as its stub tells it.
struct Told<'a> {
    /// The name of its server in programs.
    server: &'a str,
    /// Its name in programs.
    name: &'a str,
    /// Its name as the server gives it, where it is another but for what stands between its words.
    raw: Option<&'a str>,
    description: &'a str,
    fields: Vec<Field>,
    /// What it answers. None: the server does not say.
    answer: Option<Shape>,
}

impl<'a> Told<'a> {
    fn new(server: &'a str, tool: &'a Tool) -> Self {
        let listed = &tool.listed;
        Self {
            server,
            name: &tool.identifier,
            raw: (separated(&listed.name) != tool.identifier).then_some(&listed.name),
            description: &listed.description,
            fields: fields(&listed.input_schema),
            answer: listed.output_schema.as_ref().map(Shape::of),
        }
    }

    /// The description, and the server's own name where it is another.
    fn text(&self) -> String {
        let raw = self.raw.map(|raw| format!("\n\nThe server calls it `{}`.", text::line(raw, 128)));
        format!("{}{}", text::visible(self.description.trim(), MAX_DESCRIPTION), raw.unwrap_or_default())
    }

    /// The arguments that have something said of them: name, and what.
    fn described(&self) -> impl Iterator<Item = (&Field, String)> {
        let told = self.fields.iter().map(|field| (field, text::line(&field.description, MAX_ARGUMENT)));
        told.filter(|(_, text)| !text.is_empty())
    }
}

/// A name with `_` between its words.
fn separated(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A text as a string literal of Python and JavaScript, with what is not seen escaped.
fn escaped(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            c if text::visible(&c.to_string(), 1) == c.to_string() => literal.push(c),
            c => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| literal.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    literal.push('"');
    literal
}

/// A text that cannot end the comment it stands in.
fn uncommented(text: &str) -> String {
    text.replace("*/", "*\\/")
}

/// A text as a comment before what follows. Empty for no text.
fn comment(text: &str, indent: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let lines = uncommented(text.trim());
    let lines: String =
        lines.lines().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n").collect();
    format!("{indent}/**\n{lines}{indent} */\n")
}

/// Which language's words are used.
enum Words {
    Python,
    TypeScript,
    Php,
    Shell,
}

impl Words {
    fn of(language: Option<&Language>) -> Self {
        match language.map(Language::as_str) {
            None => Self::Shell,
            Some("python") => Self::Python,
            Some("php") => Self::Php,
            Some(_) => Self::TypeScript,
        }
    }
}

/// The beginning of a description, on one line.
pub(crate) fn summary(description: &str) -> String {
    text::line(description, MAX_SUMMARY)
}

/// How a tool is called, in one line.
pub(crate) fn signature(server: &str, tool: &Tool, language: Option<&Language>) -> String {
    let told = Told::new(server, tool);
    let line = match Words::of(language) {
        Words::Python => python::signature(&told),
        Words::TypeScript => typescript::signature(&told),
        Words::Php => php::signature(&told),
        Words::Shell => shell::signature(&told),
    };
    text::line(&line, MAX_SIGNATURE)
}

/// One tool's stub.
pub(crate) fn one(server: &str, tool: &Tool, language: Option<&Language>) -> String {
    let told = Told::new(server, tool);
    match Words::of(language) {
        Words::Python => format!("# await tools.{server}.{}(...)\n{}", told.name, python::stub(&told, "")),
        Words::TypeScript => format!(
            "interface {server} {{\n{}}}\ndeclare const tools: {{ {server}: {server} }};\n",
            typescript::stub(&told)
        ),
        Words::Php => format!("// tools()->{server}->{}(...)\n{}", told.name, php::stub(&told, "")),
        Words::Shell => shell::help(&told),
    }
}

/// The stubs of all tools of a server.
pub(crate) fn all(server: &str, tools: &[Tool], language: Option<&Language>) -> String {
    let told = tools.iter().map(|tool| Told::new(server, tool));
    match Words::of(language) {
        Words::Python => {
            let stubs: Vec<String> = told.map(|told| python::stub(&told, "")).collect();
            format!("# await tools.{server}.NAME(...)\n{}", stubs.join("\n"))
        }
        Words::TypeScript => {
            let stubs: String = told.map(|told| typescript::stub(&told)).collect();
            format!("interface {server} {{\n{stubs}}}\ndeclare const tools: {{ {server}: {server} }};\n")
        }
        Words::Php => {
            let stubs: Vec<String> = told.map(|told| php::stub(&told, "")).collect();
            format!("// tools()->{server}->NAME(...)\n{}", stubs.join("\n"))
        }
        Words::Shell => {
            let lines =
                told.map(|told| format!("{}\n    {}\n", shell::signature(&told), summary(told.description)));
            lines.collect()
        }
    }
}
