//! `npm run`, `npm test` and `npx`: scripts of a package are the shell's to run; all else of npm is the host's.

use std::path::{Path, PathBuf};

use bashkit::{
    Builtin, BuiltinContext, ExecResult, ExecutionPlan, FileSystem, Result, SubCommand, async_trait,
};
use serde_json::Value;

use crate::programs::Program;

/// Options that change nothing here.
const QUIET: [&str; 4] = ["-s", "--silent", "--if-present", "--no-audit"];

/// What npm says before it runs a script; npm tells scripts the same by these variables.
const HEAD: &str = r#"printf '\n> %s@%s %s\n> %s\n\n' "$npm_package_name" "$npm_package_version" "$npm_lifecycle_event" "$npm_lifecycle_script"
"#;

/// What some editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// `npm`.
pub(crate) struct Npm;

/// `npx`.
pub(crate) struct Npx;

/// A script that is to be run.
struct Script {
    name: String,
    arguments: Vec<String>,
    quiet: bool,
    if_present: bool,
}

#[async_trait]
impl Builtin for Npm {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let Some(script) = script(context.args) else {
            return Program("npm".into()).execute(context).await;
        };
        let package = package(context.fs.as_ref(), context.cwd).await;
        Ok(match package {
            Err((told, status)) => ExecResult::err(told, status),
            Ok(_) if script.if_present => ExecResult::ok(""),
            Ok(package) if script.name.is_empty() => ExecResult::ok(listed(&package)),
            Ok(_) => ExecResult::err(format!("npm error Missing script: \"{}\"\n", script.name), 1),
        })
    }

    async fn execution_plan(&self, context: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        let Some(script) = script(context.args) else { return Ok(None) };
        let Ok(package) = package(context.fs.as_ref(), context.cwd).await else { return Ok(None) };
        let text = |name: &str| package["scripts"][name].as_str();
        let own = match text(&script.name) {
            Some(line) => line,
            None if script.name == "start" => "node server.js",
            None => return Ok(None),
        };
        let around = [format!("pre{}", script.name), script.name.clone(), format!("post{}", script.name)];
        let mut lines = Vec::new();
        for name in &around {
            match text(name) {
                _ if *name == script.name => lines.push(format!("{{ {own} \"$@\"\n}}")),
                Some(line) => lines.push(format!("{{ {line}\n}}")),
                None => {}
            }
        }
        let before = context.env.get("PATH").cloned();
        let path: Vec<String> =
            bins(context.cwd).map(|bin| bin.display().to_string()).chain(before).collect();
        let head = if script.quiet { "" } else { HEAD };
        let mut args = vec!["-c".to_owned(), format!("{head}{}", lines.join(" && ")), "npm".to_owned()];
        args.extend(script.arguments);
        let of = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let assignments = vec![
            ("PATH".into(), path.join(":")),
            ("npm_package_name".into(), of("name")),
            ("npm_package_version".into(), of("version")),
            ("npm_lifecycle_event".into(), script.name.clone()),
            ("npm_lifecycle_script".into(), own.to_owned()),
        ];
        let stdin = context.stdin.cloned();
        let commands = vec![SubCommand { name: "bash".into(), args, stdin, assignments }];
        Ok(Some(ExecutionPlan::Batch { commands }))
    }
}

#[async_trait]
impl Builtin for Npx {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let name = binary(context.args).and_then(|words| words.first()).cloned().unwrap_or_default();
        Ok(ExecResult::err(
            format!("npx: `{name}` is not installed in node_modules; npm install it first\n"),
            127,
        ))
    }

    async fn execution_plan(&self, context: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        let Some([name, arguments @ ..]) = binary(context.args) else { return Ok(None) };
        for bin in bins(context.cwd) {
            let path = bin.join(name);
            if !context.fs.exists(&path).await? {
                continue;
            }
            let name = path.to_string_lossy().into_owned();
            let stdin = context.stdin.cloned();
            let command = SubCommand { name, args: arguments.to_vec(), stdin, assignments: Vec::new() };
            return Ok(Some(ExecutionPlan::Batch { commands: vec![command] }));
        }
        Ok(None)
    }
}

/// Where programs of packages lie, from the nearest folder up.
fn bins(folder: &Path) -> impl Iterator<Item = PathBuf> {
    folder.ancestors().map(|above| above.join("node_modules/.bin"))
}

/// What `npx` is to run: its words after the options.
fn binary(words: &[String]) -> Option<&[String]> {
    let at = words.iter().position(|word| !word.starts_with('-'))?;
    Some(&words[at..])
}

/// The script that a command line of npm means; none: it means something else.
fn script(words: &[String]) -> Option<Script> {
    let quiet =
        words.iter().take_while(|word| *word != "--").any(|word| matches!(word.as_str(), "-s" | "--silent"));
    let if_present = words.iter().any(|word| word == "--if-present");
    let mut rest = words.iter().filter(|word| !QUIET.contains(&word.as_str()));
    let name = match rest.next()?.as_str() {
        "test" | "t" | "tst" => "test".to_owned(),
        "start" => "start".to_owned(),
        "run" | "run-script" => rest.next().cloned().unwrap_or_default(),
        _ => return None,
    };
    let arguments = rest.skip_while(|word| *word == "--").cloned().collect();
    Some(Script { name, arguments, quiet, if_present })
}

/// The `package.json` of a folder. Else what npm says where there is none or it is no JSON, and its exit status.
async fn package(files: &dyn FileSystem, folder: &Path) -> std::result::Result<Value, (String, i32)> {
    let path = folder.join("package.json");
    let Ok(bytes) = files.read_file(&path).await else {
        return Err(("npm error code ENOENT\nnpm error no package.json in this folder\n".into(), 254));
    };
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    serde_json::from_slice(text).map_err(|error| {
        let head = format!("npm error code EJSONPARSE\nnpm error path {}\n", path.display());
        (format!("{head}npm error JSON.parse {error}\nnpm error JSON.parse Failed to parse JSON data.\n"), 1)
    })
}

/// The scripts that there are.
fn listed(package: &Value) -> String {
    let scripts = package["scripts"].as_object().into_iter().flatten();
    scripts.map(|(name, line)| format!("  {name}\n    {}\n", line.as_str().unwrap_or_default())).collect()
}
