//! `stat`.

use bashkit::{Builtin, BuiltinContext, ExecResult, FileType, Metadata, Result, async_trait};

use super::ls;
use super::options::{self, Known, Value};
use super::times::Moment;

const KNOWN: &[Known] = &[
    ('c', "format", Value::Required),
    ('\0', "printf", Value::Required),
    ('L', "dereference", Value::None),
    ('f', "file-system", Value::None),
    ('t', "terse", Value::None),
];

/// What `stat` shows without a format.
const USUAL: &str = "  File: %N\n  Size: %s\t\tBlocks: %b\t IO Block: 4096   %F\n\
                     Device: 0,1\tInode: %i\tLinks: %h\n\
                     Access: (%a/%A)  Uid: ( %u/ %U)   Gid: ( %g/ %G)\n\
                     Access: %x\nModify: %y\nChange: %z\n Birth: %w\n";
const TERSE: &str = "%n %s %b %f %u %g 1 %i %h 0 0 %X %Y %Z %W 4096\n";
const OF_A_FILE_SYSTEM: &str = "  File: \"%n\"\n    ID: 0 Namelen: 255     Type: wasi\n";

/// The command.
pub(super) struct Stat;

#[async_trait]
impl Builtin for Stat {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let (given, names) = match options::parse("stat", KNOWN, context.args) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let (mut pattern, mut follow) = (USUAL.to_owned(), false);
        for option in given {
            match (option.letter, option.value) {
                ('c', Some(format)) => pattern = format + "\n",
                (_, Some(format)) => pattern = unescaped(&format),
                ('L', _) => follow = true,
                ('f', _) => pattern = OF_A_FILE_SYSTEM.into(),
                ('t', _) => pattern = TERSE.into(),
                _ => {}
            }
        }
        if names.is_empty() {
            return Ok(ExecResult::err("stat: missing operand\n", 1));
        }
        let (mut out, mut err) = (String::new(), String::new());
        for name in &names {
            let path = context.cwd.join(name);
            let found = if follow { context.fs.stat(&path).await } else { context.fs.lstat(&path).await };
            let Ok(found) = found else {
                err += &format!("stat: cannot statx '{name}': No such file or directory\n");
                continue;
            };
            let target = match found.file_type {
                FileType::Symlink => context.fs.read_link(&path).await.ok(),
                _ => None,
            };
            let quoted = match target {
                Some(target) => format!("'{name}' -> '{}'", target.display()),
                None => format!("'{name}'"),
            };
            let modified = Moment::in_zone(found.modified, context.env.get("TZ"));
            out += &shown(&pattern, name, &quoted, ls::inode(&path), (&found, &modified));
        }
        let mut result = ExecResult::with_code(out, i32::from(!err.is_empty()));
        result.stderr = err.into();
        Ok(result)
    }
}

fn shown(
    pattern: &str,
    name: &str,
    quoted: &str,
    inode: u32,
    (found, moment): (&Metadata, &Moment),
) -> String {
    let (folder, link) = (found.file_type.is_dir(), found.file_type.is_symlink());
    let (bits, kind) = match found.file_type {
        FileType::Directory => (0o040_000, "directory"),
        FileType::Symlink => (0o120_000, "symbolic link"),
        FileType::Fifo => (0o010_000, "fifo"),
        FileType::File if found.size == 0 => (0o100_000, "regular empty file"),
        FileType::File => (0o100_000, "regular file"),
    };
    let mode = if link { 0o777 } else { found.mode & 0o7777 };
    let value = |directive: char| match directive {
        'n' => name.to_owned(),
        'N' => quoted.to_owned(),
        's' => found.size.to_string(),
        'a' => format!("{mode:o}"),
        'A' => ls::mode(found),
        'f' => format!("{:x}", bits | mode),
        'F' => kind.to_owned(),
        'b' => found.size.div_ceil(512).to_string(),
        'B' => "512".into(),
        'h' => if folder { "2" } else { "1" }.into(),
        'i' => inode.to_string(),
        'u' | 'g' => "1000".into(),
        'U' | 'G' => ls::OWNER.into(),
        'x' | 'y' | 'z' | 'w' => moment.full(),
        'X' | 'Y' | 'Z' | 'W' => moment.seconds.to_string(),
        'o' => "4096".into(),
        'm' => "/".into(),
        'd' | 'D' | 't' | 'T' | 'r' | 'R' | 'C' => "0".into(),
        '%' => "%".into(),
        other => format!("?{other}"),
    };
    let (mut text, mut rest) = (String::new(), pattern);
    while let Some((before, after)) = rest.split_once('%') {
        text += before;
        let flags =
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit() || "-#.".contains(c)).len();
        let (width, after) = after.split_at(flags);
        let Some(directive) = after.chars().next() else {
            text += "%";
            rest = "";
            break;
        };
        let value = value(directive);
        let columns = width.trim_start_matches(['-', '0']).parse().unwrap_or(0);
        text += &match (width.starts_with('-'), width.starts_with('0')) {
            (true, _) => format!("{value:<columns$}"),
            (_, true) => format!("{value:0>columns$}"),
            _ => format!("{value:>columns$}"),
        };
        rest = &after[directive.len_utf8()..];
    }
    text + rest
}

/// `\n` and its like, which `--printf` knows.
fn unescaped(format: &str) -> String {
    let (mut text, mut letters) = (String::new(), format.chars());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('0') => text.push('\0'),
            Some(other) => text.push(other),
            None => text.push('\\'),
        }
    }
    text
}
