//! `mkdir` and `rm`.

use std::path::{Path, PathBuf};

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::mode;
use super::options::{self, Known, Value};
use super::paths::lexical;

const MKDIR: &[Known] =
    &[('p', "parents", Value::None), ('m', "mode", Value::Required), ('v', "verbose", Value::None)];

const RM: &[Known] = &[
    ('r', "recursive", Value::None),
    ('R', "", Value::None),
    ('f', "force", Value::None),
    ('d', "dir", Value::None),
    ('v', "verbose", Value::None),
    ('i', "", Value::None),
    ('I', "", Value::None),
    ('\0', "interactive", Value::Optional),
    ('\0', "preserve-root", Value::Optional),
    ('\0', "no-preserve-root", Value::None),
    ('\0', "one-file-system", Value::None),
];

/// `mkdir`.
pub(super) struct Mkdir;

/// `rm`.
pub(super) struct Rm;

#[async_trait]
impl Builtin for Mkdir {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, names) = match options::parse("mkdir", MKDIR, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let (mut parents, mut verbose, mut bits) = (false, false, None);
        for option in given {
            match (option.letter, option.value) {
                ('p', _) => parents = true,
                ('v', _) => verbose = true,
                (_, Some(text)) => match mode::changed(&text, 0o777, true) {
                    Some(mode) => bits = Some(mode),
                    None => return Ok(ExecResult::err(format!("mkdir: invalid mode '{text}'\n"), 1)),
                },
                _ => {}
            }
        }
        if names.is_empty() {
            return Ok(ExecResult::err("mkdir: missing operand\n", 1));
        }
        let (mut out, mut err) = (String::new(), String::new());
        for name in &names {
            for (shown, path) in steps(context.cwd, name, parents) {
                let last = shown == *name;
                let there = context.fs.stat(&path).await;
                if parents && there.as_ref().is_ok_and(|found| found.file_type.is_dir()) {
                    continue;
                }
                let made = match there {
                    Ok(_) => Err("File exists".to_owned()),
                    Err(_) if context.fs.lstat(&path).await.is_ok() => Err("File exists".to_owned()),
                    Err(_) => context.fs.mkdir(&path, false).await.map_err(|error| reason(&error)),
                };
                match made {
                    Err(why) => {
                        err += &format!("mkdir: cannot create directory '{name}': {why}\n");
                        break;
                    }
                    Ok(()) => {
                        if let Some(mode) = bits.filter(|_| last) {
                            context.fs.chmod(&path, mode).await?;
                        }
                        if verbose {
                            out += &format!("mkdir: created directory '{shown}'\n");
                        }
                    }
                }
            }
        }
        Ok(ended(out, err))
    }
}

/// The folders to make for a name: with `-p` those above it too.
fn steps(directory: &Path, name: &str, parents: bool) -> Vec<(String, PathBuf)> {
    let whole = (name.to_owned(), lexical(&directory.join(name)));
    if !parents {
        return vec![whole];
    }
    let ends = name.trim_end_matches('/').match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    let above = ends.map(|at| (name[..at].to_owned(), lexical(&directory.join(&name[..at]))));
    above.chain([whole]).collect()
}

#[async_trait]
impl Builtin for Rm {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, names) = match options::parse("rm", RM, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let has = |wanted: &str| given.iter().any(|option| wanted.contains(option.letter));
        let (deep, force, verbose, folders) = (has("rR"), has("f"), has("v"), has("d"));
        if names.is_empty() && !force {
            return Ok(ExecResult::err("rm: missing operand\n", 1));
        }
        let (mut out, mut err) = (String::new(), String::new());
        for name in &names {
            let path = lexical(&context.cwd.join(name));
            let refuse = |why: &str| format!("rm: cannot remove '{name}': {why}\n");
            if matches!(name.trim_end_matches('/').rsplit('/').next(), Some("." | "..")) {
                err += &format!("rm: refusing to remove '.' or '..' directory: skipping '{name}'\n");
                continue;
            }
            if path == Path::new("/") {
                err += "rm: it is dangerous to operate recursively on '/'\n";
                continue;
            }
            let found = match context.fs.lstat(&path).await {
                Ok(found) => found,
                Err(_) if force => continue,
                Err(_) => {
                    err += &refuse("No such file or directory");
                    continue;
                }
            };
            let folder = found.file_type.is_dir();
            if folder && !deep && !folders {
                err += &refuse("Is a directory");
                continue;
            }
            match context.fs.remove(&path, deep).await {
                Err(error) => err += &refuse(&reason(&error)),
                Ok(()) if verbose && folder => out += &format!("removed directory '{name}'\n"),
                Ok(()) if verbose => out += &format!("removed '{name}'\n"),
                Ok(()) => {}
            }
        }
        Ok(ended(out, err))
    }
}

/// Why, in the words of the system.
pub(super) fn reason(error: &bashkit::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("io error: ").unwrap_or(&text);
    let text = text.split(" (os error").next().unwrap_or(text);
    let known = ["no such file", "not found", "No such file"].iter().any(|words| text.contains(words));
    if known { "No such file or directory".into() } else { text.to_owned() }
}

/// The end of a command that went on after errors.
pub(super) fn ended(out: String, err: String) -> ExecResult {
    let mut result = ExecResult::with_code(out, i32::from(!err.is_empty()));
    result.stderr = err.into();
    result
}
