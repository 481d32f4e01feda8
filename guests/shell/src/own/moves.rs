//! `mv`.

use std::path::Path;

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::copy::{Manner, Way, back_up, real, ways};
use super::folders::{ended, reason};
use super::options::{self, Known, Value};
use super::paths::lexical;

const MV: &[Known] = &[
    ('f', "force", Value::None),
    ('i', "interactive", Value::None),
    ('n', "no-clobber", Value::None),
    ('u', "update", Value::None),
    ('v', "verbose", Value::None),
    ('b', "backup", Value::Optional),
    ('S', "suffix", Value::Required),
    ('t', "target-directory", Value::Required),
    ('T', "no-target-directory", Value::None),
    ('\0', "strip-trailing-slashes", Value::None),
];

/// `mv`.
pub(super) struct Mv;

#[async_trait]
impl Builtin for Mv {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, names) = match options::parse("mv", MV, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let mut manner = Manner::default();
        for option in given {
            match option.letter {
                'f' | 'i' => manner.keep = false,
                'n' => manner.keep = true,
                'u' => manner.newer = true,
                'v' => manner.verbose = true,
                'b' => manner.backup = manner.backup.or(Some("~".into())),
                'S' => manner.backup = option.value,
                't' => manner.into = option.value,
                'T' => manner.not_into = true,
                _ => {}
            }
        }
        let (ways, mut err) = ways("mv", &context, &manner, names).await;
        let mut out = String::new();
        for way in ways {
            match one(&context, &manner, &way).await {
                Ok(true) if manner.verbose => out += &format!("renamed '{}' -> '{}'\n", way.from, way.to),
                Ok(_) => {}
                Err(why) => err += &format!("mv: {why}\n"),
            }
        }
        Ok(ended(out, err))
    }
}

/// Moves one name; false: it stays, what is there is to be kept.
async fn one(context: &BuiltinContext<'_>, manner: &Manner, way: &Way) -> std::result::Result<bool, String> {
    let files = &*context.fs;
    let Way { from: shown_from, to: shown_to } = way;
    let path = |name: &str| lexical(&context.cwd.join(name));
    let (from, to) = (path(shown_from), path(shown_to));
    let found = files.lstat(&from).await;
    let found = found.map_err(|_| format!("cannot stat '{shown_from}': No such file or directory"))?;
    if to.starts_with(&from) && to != from && found.file_type.is_dir() {
        return Err(format!("cannot move '{shown_from}' to a subdirectory of itself, '{shown_to}'"));
    }
    if let Ok(there) = files.lstat(&to).await {
        if manner.keep || (manner.newer && there.modified >= found.modified) {
            return Ok(false);
        }
        if from == to || (!found.file_type.is_symlink() && real(files, &from).await == real(files, &to).await)
        {
            return Err(format!("'{shown_from}' and '{shown_to}' are the same file"));
        }
        match (found.file_type.is_dir(), there.file_type.is_dir()) {
            (true, false) => {
                return Err(format!(
                    "cannot overwrite non-directory '{shown_to}' with directory '{shown_from}'"
                ));
            }
            (false, true) => {
                return Err(format!(
                    "cannot overwrite directory '{shown_to}' with non-directory '{shown_from}'"
                ));
            }
            (true, true) if !files.read_dir(&to).await.is_ok_and(|entries| entries.is_empty()) => {
                return Err(format!("cannot move '{shown_from}' to '{shown_to}': Directory not empty"));
            }
            _ => {}
        }
        if let Some(suffix) = &manner.backup {
            let kept = back_up(files, &to, suffix).await;
            kept.map_err(|error| format!("cannot backup '{shown_to}': {}", reason(&error)))?;
        } else if there.file_type.is_dir() {
            let _ = files.remove(&to, false).await;
        }
    }
    let moved = files.rename(&from, &to).await;
    if moved.is_err() && found.file_type.is_file() {
        // Another file system: copied, then taken away.
        return across(context, &from, &to, found.mode)
            .await
            .map_err(|error| format!("cannot move '{shown_from}' to '{shown_to}': {}", reason(&error)));
    }
    moved
        .map(|()| true)
        .map_err(|error| format!("cannot move '{shown_from}' to '{shown_to}': {}", reason(&error)))
}

async fn across(context: &BuiltinContext<'_>, from: &Path, to: &Path, mode: u32) -> Result<bool> {
    let bytes = context.fs.read_file(from).await?;
    context.fs.write_file(to, &bytes).await?;
    context.fs.chmod(to, mode & 0o7777).await?;
    context.fs.remove(from, false).await?;
    Ok(true)
}
