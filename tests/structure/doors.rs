//! docs/reference/doors.md: every call at every door, with its arguments, bounds and defaults. The tools, as they are listed, say
//! what there is; the packages, the command line, the HTTP server and the crate are held to them. `BLESS=1` writes the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dormouse::ErrorCode;
use dormouse_tests::binary;
use serde_json::Value as Json;

use super::sdk::{Tool, camel, capitals, compare, routes, tools};
use super::{files, name, read, root};

/// What a tool is elsewhere: the command, what the command calls its arguments, and the method of the crate's `Sandboxes`. Empty:
/// there is none.
struct Elsewhere(&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

const NAMES: [Elsewhere; 36] = [
    Elsewhere("run_lint", "", &[], ""),
    Elsewhere("run_tests", "", &[], ""),
    Elsewhere("run_typecheck", "", &[], ""),
    Elsewhere("sandbox_capabilities", "", &[], ""),
    Elsewhere(
        "sandbox_checkpoint",
        "sandbox checkpoint",
        &[("name", "--label"), ("note", "--note")],
        "checkpoint",
    ),
    Elsewhere(
        "sandbox_create",
        "sandbox create",
        &[
            ("name", "[NAME]"),
            ("session_key", "--session-key"),
            ("persistence", "--persistence"),
            ("provider", "--provider"),
            ("image", "--image"),
            ("fallback", "--fallback"),
            ("memory_bytes", "--memory"),
            ("cpu_millis", "--cpu"),
            ("processes", "--processes"),
            ("disk_bytes", "--disk"),
            ("files", "--files"),
            ("idle_timeout_ms", "--idle"),
            ("retention_ms", "--retention"),
            ("durability", "--durability"),
            ("env", "--env"),
            ("repo", "--repo"),
            ("branch", "--branch"),
            ("allow_writes", "--allow-writes"),
        ],
        "create",
    ),
    Elsewhere(
        "sandbox_describe_checkpoint",
        "sandbox describe-checkpoint",
        &[("checkpoint_id", "<CHECKPOINT>"), ("name", "--label"), ("note", "--note")],
        "describe_checkpoint",
    ),
    Elsewhere("sandbox_destroy", "sandbox rm", &[], "destroy"),
    Elsewhere("sandbox_download", "sandbox cp", &[("path", "<FROM>")], "contents"),
    Elsewhere("sandbox_edit", "", &[], "edit"),
    Elsewhere(
        "sandbox_eval",
        "eval",
        &[
            ("code", "[CODE]"),
            ("language", "--language"),
            ("name", "--name"),
            ("stdin", "--stdin"),
            ("timeout_ms", "--timeout"),
            ("memory_bytes", "--memory"),
            ("output_bytes", "--output"),
            ("fuel", "--fuel"),
            ("allow_writes", "--writes"),
            ("allow_network", "--network"),
            ("allow_eval", "--no-eval"),
            ("seed", "--seed"),
            ("preview_offset", "--offset"),
            ("preview_items", "--items"),
        ],
        "eval",
    ),
    Elsewhere(
        "sandbox_exec",
        "sandbox exec",
        &[("command", "<COMMAND>..."), ("timeout_ms", "--timeout"), ("cwd", "--cwd"), ("stdin", "--stdin")],
        "exec",
    ),
    Elsewhere(
        "sandbox_files",
        "sandbox files",
        &[("path", "[PATH]"), ("recursive", "--recursive")],
        "list_files",
    ),
    Elsewhere(
        "sandbox_fork",
        "sandbox fork",
        &[("count", "--count"), ("checkpoint_id", "--checkpoint")],
        "fork",
    ),
    Elsewhere("sandbox_get", "sandbox show", &[], "get"),
    Elsewhere("sandbox_get_var", "", &[], "get_variable"),
    Elsewhere("sandbox_history", "", &[], "history"),
    Elsewhere("sandbox_install", "", &[], "install"),
    Elsewhere("sandbox_job", "", &[], "job"),
    Elsewhere("sandbox_list", "sandbox list", &[], "list"),
    Elsewhere("sandbox_list_checkpoints", "sandbox checkpoints", &[], "checkpoints"),
    Elsewhere("sandbox_load", "", &[], "set_variable"),
    Elsewhere("sandbox_make_folder", "sandbox mkdir", &[("path", "<PATH>")], "make_folder"),
    Elsewhere("sandbox_read", "sandbox cp", &[("path", "<FROM>")], "read"),
    Elsewhere(
        "sandbox_remove_checkpoint",
        "sandbox rm-checkpoint",
        &[("checkpoint_id", "<CHECKPOINT>")],
        "remove_checkpoint",
    ),
    Elsewhere(
        "sandbox_remove_file",
        "sandbox rm-file",
        &[("path", "<PATH>"), ("recursive", "--recursive")],
        "remove_file",
    ),
    Elsewhere(
        "sandbox_rename_file",
        "sandbox mv",
        &[("path", "<PATH>"), ("to", "<TO>"), ("replace", "--replace")],
        "rename_file",
    ),
    Elsewhere("sandbox_reset", "sandbox reset", &[], "reset"),
    Elsewhere("sandbox_restore", "sandbox restore", &[("checkpoint_id", "<CHECKPOINT>")], "restore"),
    Elsewhere("sandbox_resume", "sandbox resume", &[], "resume"),
    Elsewhere("sandbox_run", "", &[], ""),
    Elsewhere("sandbox_stop", "sandbox stop", &[], "stop"),
    Elsewhere("sandbox_sub_agent", "", &[], ""),
    Elsewhere("sandbox_upload", "sandbox cp", &[("path", "<TO>")], "upload"),
    Elsewhere("sandbox_vars", "sandbox vars", &[("language", "--language")], "variables"),
    Elsewhere("sandbox_write", "sandbox cp", &[("path", "<TO>")], "write"),
];

/// Commands of `dormouse sandbox` that are no tool: the second form of a tool that has one, and upkeep.
const COMMANDS_ALONE: [&str; 2] = ["eval", "sweep"];

const PAGE: &str = "# The same call at every door

Every call of Dormouse, as its doors name it. A tool of MCP has the same arguments over HTTP, where those of the path are a part of
the address and the others are the JSON body, or the query of GET and DELETE. The packages take the place, `sandbox` or `session_key`,
from the object that is called. Bounds are those of the tools; a run within a program may take 10 ms as its limit, show 10 000 items of a
value and keep 8 MiB of output. The same [error codes](../errors.md) are told at all of them.
";

/// The help of a command, once for all tools that ask.
#[derive(Default)]
struct Helps(BTreeMap<&'static str, String>);

impl Helps {
    fn of(&mut self, command: &'static str) -> &str {
        self.0.entry(command).or_insert_with(|| {
            let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
            binary::dormouse(&words, b"").text()
        })
    }

    /// The text of an option or argument of a command, its lines joined.
    fn option(&mut self, command: &'static str, called: &str) -> Option<String> {
        let help = self.of(command).to_owned();
        let mut lines = help.lines().skip_while(|line| {
            let mut words = line.split(|letter: char| letter.is_whitespace() || letter == ',');
            let is_option = line.starts_with("  ") && words.by_ref().any(|word| word == called);
            !is_option || line.trim_start().starts_with("Usage")
        });
        let first = lines.next()?.to_owned();
        let deep = |line: &&str| line.len() - line.trim_start().len() > 8;
        let rest = lines.take_while(deep).map(|line| format!(" {}", line.trim_start()));
        Some(first + &rest.collect::<String>())
    }
}

/// The default that a command's help tells, in the tool's unit: bytes, milliseconds, thousandths.
fn told_default(argument: &str, help: &str) -> Option<f64> {
    let told = help.split_once("[default: ")?.1.split_once(']')?.0;
    let (digits, unit) = told
        .split_at(told.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(told.len()));
    let number: f64 = digits.parse().ok()?;
    let factor = match (argument.rsplit('_').next(), unit) {
        (_, "") => 1.0,
        (Some("bytes"), "KiB") => 1024.0,
        (Some("bytes"), "MiB") => 1024.0 * 1024.0,
        (Some("ms"), "ms") => 1.0,
        (Some("ms"), "s") => 1000.0,
        (Some("ms"), "m") => 60_000.0,
        _ => return None,
    };
    Some(number * factor)
}

/// The arguments that a method of a package takes, as it names them.
fn parameters(text: &str, method: &str, ends: &str) -> Option<BTreeSet<String>> {
    let begin = text.find(&format!("{method}("))? + method.len() + 1;
    let inside = &text[begin..begin + text[begin..].find(ends)?];
    let named = inside.split([',', '\n']).filter_map(|part| part.trim().split_once([':', '?']));
    let is_name = |name: &&str| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    Some(named.map(|(name, _)| name).filter(is_name).map(str::to_owned).collect())
}

/// The fields of an interface, or of a class of names and types.
fn fields_of(text: &str, begins: &str, ends: &str) -> BTreeSet<String> {
    let Some(begin) = text.find(begins) else { return BTreeSet::new() };
    let body = &text[begin..begin + text[begin..].find(ends).unwrap_or(0)];
    let lines = body.lines().skip(1).map(|line| line.trim().trim_start_matches("readonly "));
    let named = lines.filter_map(|line| line.split_once([':', '?'])).map(|(name, _)| name.to_owned());
    named.filter(|name| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')).collect()
}

/// What the packages take for a tool: in Python, and in TypeScript.
struct Packages {
    python: String,
    typescript: String,
    python_runs: BTreeSet<String>,
    typescript_runs: BTreeSet<String>,
}

impl Packages {
    fn read() -> Self {
        let python = |file: &str| read(&root().join("adapters/python/dormouse").join(file));
        let typescript = |file: &str| read(&root().join("adapters/node/dormouse/src").join(file));
        let (asked, request) = (python("_request.py"), typescript("request.ts"));
        let both = |text: &str, names: [&str; 2], ends: &str| -> BTreeSet<String> {
            names.iter().flat_map(|name| fields_of(text, name, ends)).collect()
        };
        Self {
            python: python("_verbs.py") + &python("_client.py"),
            typescript: typescript("verbs.ts") + &typescript("client.ts"),
            python_runs: both(&asked, ["class SandboxRunOptions", "class RunOptions"], "\n\n\n"),
            typescript_runs: both(
                &request,
                ["export interface SandboxRunOptions", "export interface RunOptions"],
                "\n}",
            ),
        }
    }

    /// What each takes, in the tool's names.
    fn arguments(&self, tool: &Tool) -> (BTreeSet<String>, BTreeSet<String>) {
        let back = |names: BTreeSet<String>| -> BTreeSet<String> {
            let own: BTreeMap<String, &str> =
                tool.arguments().iter().map(|(name, _)| (camel(name), *name)).collect();
            let known = |name: String| {
                let plain = name.trim_end_matches('_');
                own.get(plain).map_or_else(|| plain.to_owned(), |&name| name.to_owned())
            };
            names.into_iter().filter(|name| name != "options").map(known).collect()
        };
        if tool.name == "sandbox_eval" {
            return (back(self.python_runs.clone()), back(self.typescript_runs.clone()));
        }
        let python = parameters(&self.python, &format!("def {}", tool.method()), ") ->");
        let method = camel(tool.method());
        let typescript = parameters(&self.typescript, &format!("\n  async {method}"), "): Promise")
            .or_else(|| parameters(&self.typescript, &format!("\n  abstract {method}"), "): Promise"));
        let mut typescript = typescript.unwrap_or_else(|| panic!("{}: no method in TypeScript", tool.name));
        let capital = capitals(tool.method());
        typescript.extend(fields_of(&self.typescript, &format!("export interface {capital}Options"), "\n}"));
        let python = python.unwrap_or_else(|| panic!("{}: no method in Python", tool.name));
        (back(python), back(typescript))
    }
}

fn told(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// The part of the page about a tool.
fn section(tool: &Tool, elsewhere: &Elsewhere, packages: &Packages, helps: &mut Helps) -> String {
    let Elsewhere(_, command, called, method) = elsewhere;
    let mut text = format!("\n## `{}`\n\n", tool.name);
    let found = routes().filter(|(name, ..)| name.split('/').next() == Some(tool.name.as_str()));
    let found: Vec<String> = found.map(|(_, method, path)| format!("`{method} {path}`")).collect();
    assert!(!found.is_empty(), "{} has no address at a server", tool.name);
    let of = if tool.is_of_a_sandbox() && tool.name != "sandbox_eval" { "Sandbox" } else { "Dormouse" };
    let python = if tool.name == "sandbox_eval" { "run" } else { tool.method() };
    write!(text, "HTTP {}; Python `{of}.{python}`; TypeScript `{of}.{}`", found.join(", "), camel(python))
        .unwrap();
    if !command.is_empty() {
        write!(text, "; command line `dormouse {command}`").unwrap();
    }
    if !method.is_empty() {
        write!(text, "; Rust `Sandboxes::{method}`").unwrap();
    }
    text.push_str(".\n");
    let (in_python, in_typescript) = packages.arguments(tool);
    let own: Vec<(&str, &Json)> = tool
        .arguments()
        .into_iter()
        .filter(|(name, _)| !["sandbox", "session_key"].contains(name) || tool.name == "sandbox_create")
        .collect();
    for known in &in_python {
        let beside = ["callbacks", "on_output", "mounts", "env", "cwd", "disk_bytes"];
        let is_known = own.iter().any(|(name, _)| name == known) || beside.contains(&known.as_str());
        assert!(is_known, "{}: Python takes `{known}`, which the tool does not", tool.name);
    }
    for (argument, flag) in called.iter() {
        assert!(own.iter().any(|(name, _)| name == argument), "{}: there is no `{argument}`", tool.name);
        let help = helps.option(command, flag);
        let help = help.unwrap_or_else(|| panic!("`dormouse {command}` has no `{flag}`"));
        let default = own.iter().find(|(name, _)| name == argument).map(|(_, schema)| &schema["default"]);
        if let (Some(told), Some(listed)) = (told_default(argument, &help), default.and_then(Json::as_f64)) {
            assert_eq!(
                told, listed,
                "`dormouse {command} {flag}` has another default than `{argument}`: {help}"
            );
        }
    }
    if own.is_empty() {
        return text;
    }
    text.push_str("\n| argument | default | from, to | Python | TypeScript | command line |\n| --- | --- | --- | --- | --- | --- |\n");
    // What only operators of a server decide of runs in a process, and runs that outlive a call, which packages do not have.
    let decided = ["allow_writes", "allow_network", "background"];
    for (argument, schema) in own {
        let (python, typescript) = (in_python.contains(argument), in_typescript.contains(argument));
        assert_eq!(python, typescript, "{}: `{argument}` in one package alone", tool.name);
        let by_code = tool.name == "sandbox_eval" && (argument == "code" || decided.contains(&argument));
        assert!(python || by_code, "{}: the packages lack `{argument}`", tool.name);
        let reserved = ["as", "class", "from", "import"].contains(&argument);
        let python = match (python || argument == "code", reserved) {
            (true, true) => format!("`{argument}_`"),
            (true, false) => format!("`{argument}`"),
            (false, _) => String::new(),
        };
        let typescript = if python.is_empty() { String::new() } else { format!("`{}`", camel(argument)) };
        let flag = called.iter().find(|(name, _)| *name == argument).map(|(_, flag)| format!("`{flag}`"));
        let needed = if tool.needs(argument) { "needed".into() } else { told(&schema["default"]) };
        let bounds = [told(&schema["minimum"]), told(&schema["maximum"])].join(", ");
        let bounds = if bounds == ", " { "" } else { &bounds };
        let flag = flag.unwrap_or_default();
        writeln!(text, "| `{argument}` | {needed} | {bounds} | {python} | {typescript} | {flag} |").unwrap();
    }
    text
}

#[test]
fn every_call_is_the_same_at_every_door() {
    let (packages, mut helps) = (Packages::read(), Helps::default());
    let tools = tools();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let listed: BTreeSet<&str> = NAMES.iter().map(|elsewhere| elsewhere.0).collect();
    assert_eq!(listed, names, "tools, and what they are elsewhere");
    let mut page = PAGE.to_owned();
    for tool in &tools {
        let elsewhere = NAMES.iter().find(|elsewhere| elsewhere.0 == tool.name).unwrap();
        page.push_str(&section(tool, elsewhere, &packages, &mut helps));
    }
    compare("docs/reference/doors.md", &page);
    // Every command is a tool's, and every method is the crate's.
    let below = helps.of("sandbox").to_owned();
    let commands = below.lines().skip_while(|line| *line != "Commands:").take_while(|line| !line.is_empty());
    let commands = commands.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    for command in commands.filter_map(|rest| rest.split_whitespace().next()).filter(|name| *name != "help") {
        let is_named = NAMES.iter().any(|elsewhere| elsewhere.1 == format!("sandbox {command}"));
        assert!(is_named || COMMANDS_ALONE.contains(&command), "`dormouse sandbox {command}` is no tool's");
    }
    let sources: String = files(&["rs"])
        .iter()
        .filter(|file| name(file).starts_with("runtime/core/src/sandboxes/"))
        .map(|file| read(file))
        .collect();
    for Elsewhere(tool, _, _, method) in NAMES.iter().filter(|elsewhere| !elsewhere.3.is_empty()) {
        let is_there =
            ["pub fn", "pub async fn"].iter().any(|kind| sources.contains(&format!("{kind} {method}(")));
        assert!(is_there, "{tool}: the crate has no `Sandboxes::{method}`");
    }
}

#[test]
fn the_packages_tell_error_codes_that_there_are() {
    let codes: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let mut found = 0;
    for file in files(&["py", "ts"]).iter().filter(|file| {
        let name = name(file);
        name.starts_with("adapters/python/dormouse/") || name.starts_with("adapters/node/dormouse/src/")
    }) {
        let text = read(file);
        for begin in [
            "Error(\"",
            "Error(\n                \"",
            "Error(\n      \"",
            "Error(\n                        \"",
        ] {
            for (place, _) in text.match_indices(begin) {
                let word = text[place + begin.len()..].split('"').next().unwrap_or_default();
                if word.contains('_') && !word.contains(' ') {
                    found += 1;
                    assert!(codes.contains(word), "{}: `{word}` is no code of an error", name(file));
                }
            }
        }
    }
    assert!(found > 10, "only {found} codes were found");
}
