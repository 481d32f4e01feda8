//! Permission bits: the language of `chmod`, and `chmod` itself.

use std::path::{Path, PathBuf};

use bashkit::{Builtin, BuiltinContext, ExecResult, FileSystem, Metadata, Result, async_trait};

/// `chmod`.
pub(super) struct Chmod;

#[async_trait]
impl Builtin for Chmod {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (mut deep, mut verbose, mut changes, mut quiet) = (false, false, false, false);
        let (mut words, mut reference, mut ended) = (Vec::new(), None, false);
        for word in context.args {
            match word.as_str() {
                _ if ended => words.push(word),
                "--" => ended = true,
                "--recursive" => deep = true,
                "--verbose" => verbose = true,
                "--changes" => changes = true,
                "--silent" | "--quiet" => quiet = true,
                other if other.starts_with("--reference=") => reference = Some(other[12..].to_owned()),
                // `-x` is a mode; `-R` and its like are not.
                other
                    if other.len() > 1
                        && other.starts_with('-')
                        && other[1..].chars().all(|c| "Rvcf".contains(c)) =>
                {
                    deep |= other.contains('R');
                    verbose |= other.contains('v');
                    changes |= other.contains('c');
                    quiet |= other.contains('f');
                }
                _ => words.push(word),
            }
        }
        let from = match &reference {
            None if words.is_empty() => return Ok(ExecResult::err("chmod: missing operand\n", 1)),
            None => words.remove(0).clone(),
            Some(name) => match context.fs.stat(&context.cwd.join(name)).await {
                Ok(found) => format!("{:o}", found.mode),
                Err(_) => {
                    let why =
                        format!("chmod: failed to get attributes of '{name}': No such file or directory\n");
                    return Ok(ExecResult::err(why, 1));
                }
            },
        };
        if words.is_empty() {
            return Ok(ExecResult::err(format!("chmod: missing operand after '{from}'\n"), 1));
        }
        if changed(&from, 0, false).is_none() {
            return Ok(ExecResult::err(format!("chmod: invalid mode: '{from}'\n"), 1));
        }
        let (mut out, mut err) = (String::new(), String::new());
        let mut open: Vec<(String, PathBuf)> =
            words.iter().rev().map(|name| ((*name).clone(), context.cwd.join(name))).collect();
        while let Some((name, path)) = open.pop() {
            let Ok(found) = context.fs.stat(&path).await else {
                if !quiet {
                    err += &format!("chmod: cannot access '{name}': No such file or directory\n");
                }
                continue;
            };
            let before = found.mode & 0o7777;
            let after = changed(&from, before, found.file_type.is_dir()).unwrap_or(before);
            if let Err(error) = context.fs.chmod(&path, after).await {
                err += &format!("chmod: changing permissions of '{name}': {error}\n");
            } else if before != after && (verbose || changes) {
                out += &format!("mode of '{name}' changed from {} to {}\n", shown(before), shown(after));
            } else if verbose {
                out += &format!("mode of '{name}' retained as {}\n", shown(before));
            }
            if deep && found.file_type.is_dir() {
                open.extend(below(&*context.fs, &name, &path).await);
            }
        }
        let mut result = ExecResult::with_code(out, i32::from(!err.is_empty()));
        result.stderr = err.into();
        Ok(result)
    }
}

/// What is in a folder, links left out.
async fn below(files: &dyn FileSystem, name: &str, path: &Path) -> Vec<(String, PathBuf)> {
    let entries = files.read_dir(path).await.unwrap_or_default();
    let entries = entries.into_iter().filter(|entry| !entry.metadata.file_type.is_symlink());
    let name = name.trim_end_matches('/');
    entries.map(|entry| (format!("{name}/{}", entry.name), path.join(&entry.name))).collect()
}

fn shown(mode: u32) -> String {
    let meta = Metadata { mode, ..Metadata::default() };
    format!("{mode:04o} ({})", &super::ls::mode(&meta)[1..])
}

/// The bits after a change such as `755` or `u+x,go=`; none: it is no mode.
pub(super) fn changed(text: &str, before: u32, folder: bool) -> Option<u32> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    }
    text.split(',').try_fold(before, |mode, clause| one_clause(clause, mode, folder))
}

fn one_clause(clause: &str, before: u32, folder: bool) -> Option<u32> {
    let at = clause.find(['+', '-', '='])?;
    let (who, mut rest) = clause.split_at(at);
    let mask = who.chars().try_fold(0, |mask, one| {
        Some(
            mask | match one {
                'u' => 0o4700,
                'g' => 0o2070,
                'o' => 0o1007,
                'a' => 0o7777,
                _ => return None,
            },
        )
    })?;
    let (mask, limit) = if who.is_empty() { (0o7777, !0o022) } else { (mask, !0) };
    let mut mode = before;
    while !rest.is_empty() {
        let verb = rest.chars().next()?;
        let end = rest[1..].find(['+', '-', '=']).map_or(rest.len(), |at| at + 1);
        let mut bits = 0;
        for one in rest[1..end].chars() {
            bits |= match one {
                'r' => 0o444,
                'w' => 0o222,
                'x' => 0o111,
                'X' if folder || before & 0o111 != 0 => 0o111,
                'X' => 0,
                's' => 0o6000,
                't' => 0o1000,
                'u' => (mode >> 6 & 7) * 0o111,
                'g' => (mode >> 3 & 7) * 0o111,
                'o' => (mode & 7) * 0o111,
                _ => return None,
            };
        }
        let bits = bits & mask & limit;
        mode = match verb {
            '+' => mode | bits,
            '-' => mode & !bits,
            _ => (mode & !(mask & 0o777)) | bits,
        };
        rest = &rest[end..];
    }
    Some(mode)
}
