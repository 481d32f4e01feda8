//! `realpath` and `readlink`: where a path leads, link by link.

use std::path::{Component, Path, PathBuf};

use bashkit::{Builtin, BuiltinContext, ExecResult, FileSystem, Result, async_trait};

use super::options::{self, Known, Value};

/// Links that one path may pass, as on Linux.
const LINKS: usize = 40;

const REALPATH: &[Known] = &[
    ('e', "canonicalize-existing", Value::None),
    ('m', "canonicalize-missing", Value::None),
    ('s', "strip", Value::None),
    ('\0', "no-symlinks", Value::None),
    ('L', "logical", Value::None),
    ('P', "physical", Value::None),
    ('q', "quiet", Value::None),
    ('z', "zero", Value::None),
    ('\0', "relative-to", Value::Required),
    ('\0', "relative-base", Value::Required),
];

const READLINK: &[Known] = &[
    ('f', "canonicalize", Value::None),
    ('e', "canonicalize-existing", Value::None),
    ('m', "canonicalize-missing", Value::None),
    ('n', "no-newline", Value::None),
    ('q', "quiet", Value::None),
    ('s', "silent", Value::None),
    ('v', "verbose", Value::None),
    ('z', "zero", Value::None),
];

/// `realpath`.
pub(super) struct Realpath;

/// `readlink`.
pub(super) struct Readlink;

/// What has to be there.
#[derive(Clone, Copy, PartialEq)]
enum Must {
    All,
    AllButTheLast,
    Nothing,
}

#[async_trait]
impl Builtin for Realpath {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, names) = match options::parse("realpath", REALPATH, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let (mut must, mut links, mut quiet, mut end) = (Must::AllButTheLast, true, false, '\n');
        let (mut to, mut base) = (None, None);
        for option in given {
            match (option.letter, option.name) {
                ('e', _) => must = Must::All,
                ('m', _) => must = Must::Nothing,
                ('s', _) | (_, "no-symlinks") => links = false,
                ('q', _) => quiet = true,
                ('z', _) => end = '\0',
                (_, "relative-to") => to = option.value,
                (_, "relative-base") => base = option.value,
                _ => {}
            }
        }
        if names.is_empty() {
            return Ok(ExecResult::err("realpath: missing operand\n", 1));
        }
        let find = async |name: &str| {
            let path = context.cwd.join(name);
            if links { resolve(&*context.fs, &path, must).await } else { Ok(lexical(&path)) }
        };
        let root = |name: &Option<String>| name.as_ref().map(|name| lexical(&context.cwd.join(name)));
        let (to, base) = (root(&to), root(&base));
        let (mut out, mut err, mut status) = (String::new(), String::new(), 0);
        for name in &names {
            match find(name).await {
                Ok(path) => {
                    let from = to.as_ref().or(base.as_ref());
                    let shown = match (from, &base) {
                        (_, Some(base)) if !path.starts_with(base) => path,
                        (Some(from), _) => relative(&path, from),
                        (None, _) => path,
                    };
                    out += &format!("{}{end}", shown.display());
                }
                Err(why) => {
                    status = 1;
                    if !quiet {
                        err += &format!("realpath: {name}: {why}\n");
                    }
                }
            }
        }
        let mut result = ExecResult::with_code(out, status);
        result.stderr = err.into();
        Ok(result)
    }
}

#[async_trait]
impl Builtin for Readlink {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, names) = match options::parse("readlink", READLINK, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let (mut must, mut end) = (None, "\n");
        let mut verbose = false;
        for option in given {
            match option.letter {
                'f' => must = Some(Must::AllButTheLast),
                'e' => must = Some(Must::All),
                'm' => must = Some(Must::Nothing),
                'n' => end = "",
                'z' => end = "\0",
                'v' => verbose = true,
                _ => {}
            }
        }
        if names.is_empty() {
            return Ok(ExecResult::err("readlink: missing operand\n", 1));
        }
        let (mut out, mut err, mut status) = (String::new(), String::new(), 0);
        for name in &names {
            let path = context.cwd.join(name);
            let found = match must {
                Some(must) => resolve(&*context.fs, &path, must).await,
                None => context.fs.read_link(&path).await.map_err(|_| "Invalid argument"),
            };
            match found {
                Ok(path) => out += &format!("{}{end}", path.display()),
                Err(why) => {
                    status = 1;
                    if verbose {
                        err += &format!("readlink: {name}: {why}\n");
                    }
                }
            }
        }
        let mut result = ExecResult::with_code(out, status);
        result.stderr = err.into();
        Ok(result)
    }
}

/// Follows every link of a path.
async fn resolve(
    files: &dyn FileSystem,
    path: &Path,
    must: Must,
) -> std::result::Result<PathBuf, &'static str> {
    let own = |part: Component<'_>| part.as_os_str().to_owned();
    let mut ahead: Vec<_> = path.components().rev().map(own).collect();
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = ahead.pop() {
        match part.to_str() {
            Some("/" | ".") => continue,
            Some("..") => {
                at.pop();
                continue;
            }
            _ => at.push(&part),
        }
        match files.lstat(&at).await {
            Ok(found) if found.file_type.is_symlink() => {
                links += 1;
                let target = files.read_link(&at).await.map_err(|_| "Invalid argument")?;
                if links > LINKS {
                    return Err("Too many levels of symbolic links");
                }
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                ahead.extend(target.components().rev().map(own));
            }
            Ok(found) => {
                if !found.file_type.is_dir() && !ahead.is_empty() && must != Must::Nothing {
                    return Err("Not a directory");
                }
            }
            Err(_) => {
                let last = ahead.is_empty();
                if must == Must::All || (must == Must::AllButTheLast && !last) {
                    return Err("No such file or directory");
                }
            }
        }
    }
    Ok(at)
}

/// Without a look at the files.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut whole = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::Normal(name) => whole.push(name),
            _ => {}
        }
    }
    whole
}

/// The way from a folder to a path.
pub(super) fn relative(path: &Path, from: &Path) -> PathBuf {
    let shared = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(shared)).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

/// Where a path leads when its last part may be missing.
pub(super) async fn real(files: &dyn FileSystem, path: &Path) -> Option<PathBuf> {
    resolve(files, path, Must::AllButTheLast).await.ok()
}
