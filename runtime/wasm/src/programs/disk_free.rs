//! `df`: how much room a sandbox's files have. The shell cannot know, so it is asked of the host.

use dormouse_core::{Error, GuestPath, ProgramCall, ProgramEnd, Result};
use dormouse_files::{Files, Quota, Usage};

/// What the tree is called, and where it begins.
const NAME: &str = "sandbox";
const ROOT: &str = "/";

const HELP: &str = "\
Usage: df [OPTION]... [FILE]...
Shows how much room the files of the sandbox have.

  -B, --block-size=SIZE  scale sizes by SIZE, such as 512, K or MB
  -h, --human-readable   show sizes in powers of 1024
  -H, --si               show sizes in powers of 1000
  -i, --inodes           show names instead of bytes
  -k                     blocks of 1 KiB, as by default
  -m                     blocks of 1 MiB
  -P, --portability      the form of POSIX
  -T, --print-type       show the kind of the file system
      --help             show this
";

/// In which form sizes are shown.
#[derive(Clone, Copy)]
enum Unit {
    /// Blocks of so many bytes.
    Blocks(u64),
    /// Three digits and a letter, in steps of so much.
    Human(u64),
}

/// What is to be shown.
struct Asked<'a> {
    unit: Unit,
    /// Names instead of bytes.
    names: bool,
    /// The form of POSIX: another word in the head.
    posix: bool,
    /// The kind of each file system.
    kind: bool,
    paths: Vec<&'a str>,
}

/// Runs the program over a sandbox's files. Mounts belong to the host, whose room is not told.
pub(super) fn run(call: &ProgramCall, files: &Files) -> ProgramEnd {
    if call.arguments.iter().any(|word| word == "--help") {
        return ProgramEnd::said(HELP);
    }
    let asked = match read(&call.arguments) {
        Ok(asked) => asked,
        Err(why) => return ProgramEnd::failed(1, format!("df: {why}\n")),
    };
    let mut errors = String::new();
    for path in &asked.paths {
        if found(call, path, files).is_err() {
            errors.push_str(&format!("df: {path}: No such file or directory\n"));
        }
    }
    if !errors.is_empty() {
        return ProgramEnd::failed(1, errors);
    }
    ProgramEnd::said(table(&asked, files.quota(), files.usage()))
}

/// A path that is shown must be there. The shell's own (`/dev`, `/etc`) and mounts lie on no tree of the sandbox.
fn found(call: &ProgramCall, path: &str, files: &Files) -> Result<()> {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", call.directory) };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = GuestPath::parse(&format!("/{}", parts.join("/")))?;
    files.stat(&path).map(drop)
}

fn read(words: &[String]) -> Result<Asked<'_>> {
    let mut asked =
        Asked { unit: Unit::Blocks(1024), names: false, posix: false, kind: false, paths: Vec::new() };
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "--human-readable" => asked.unit = Unit::Human(1024),
            "--si" => asked.unit = Unit::Human(1000),
            "--inodes" => asked.names = true,
            "--portability" => asked.posix = true,
            "--print-type" => asked.kind = true,
            "--all" | "--local" | "--sync" | "--no-sync" => {}
            "--" => asked.paths.extend(rest.by_ref()),
            "-B" | "--block-size" => asked.unit = block(rest.next().unwrap_or_default())?,
            long if long.starts_with("--block-size=") => asked.unit = block(&long["--block-size=".len()..])?,
            long if long.starts_with("--") => {
                return Err(Error::args_invalid(format!("unrecognized option '{}'", long.escape_debug())));
            }
            short if short.starts_with("-B") => asked.unit = block(&short[2..])?,
            short if short.len() > 1 && short.starts_with('-') => {
                for letter in short[1..].chars() {
                    match letter {
                        'h' => asked.unit = Unit::Human(1024),
                        'H' => asked.unit = Unit::Human(1000),
                        'k' => asked.unit = Unit::Blocks(1024),
                        'm' => asked.unit = Unit::Blocks(1 << 20),
                        'i' => asked.names = true,
                        'P' => asked.posix = true,
                        'T' => asked.kind = true,
                        'a' | 'l' => {}
                        other => {
                            return Err(Error::args_invalid(format!(
                                "invalid option -- '{}'",
                                other.escape_debug()
                            )));
                        }
                    }
                }
            }
            path => asked.paths.push(path),
        }
    }
    Ok(asked)
}

/// `1`, `512`, `K`, `1M`, `MB`.
fn block(text: &str) -> Result<Unit> {
    let refused = || Error::args_invalid(format!("invalid --block-size argument '{}'", text.escape_debug()));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = if digits == 0 { 1 } else { text[..digits].parse().map_err(|_| refused())? };
    let (base, letter): (u64, &str) = match &text[digits..] {
        unit if unit.len() == 2 && unit.ends_with('B') => (1000, &unit[..1]),
        unit => (1024, unit),
    };
    let power = match letter {
        "" if digits > 0 => 0,
        "K" | "k" => 1,
        "M" => 2,
        "G" => 3,
        _ => return Err(refused()),
    };
    let size = base.checked_pow(power).and_then(|unit| unit.checked_mul(count)).filter(|size| *size > 0);
    size.map(Unit::Blocks).ok_or_else(refused)
}

/// A head, and the one file system.
fn table(asked: &Asked<'_>, quota: Quota, usage: Usage) -> String {
    let (total, used) = if asked.names { (quota.files, usage.files) } else { (quota.bytes, usage.bytes) };
    let left = total.saturating_sub(used);
    let size = |amount: u64| match (asked.names, asked.unit) {
        (true, Unit::Blocks(_)) => amount.to_string(),
        (false, Unit::Blocks(size)) => amount.div_ceil(size).to_string(),
        (_, Unit::Human(base)) => human(amount, base),
    };
    let percent =
        if total == 0 { "-".to_owned() } else { format!("{}%", used.saturating_mul(100).div_ceil(total)) };
    let head = match (asked.names, asked.unit) {
        (true, _) => ["Inodes", "IUsed", "IFree", "IUse%"].map(str::to_owned),
        (_, Unit::Human(_)) => ["Size", "Used", "Avail", "Use%"].map(str::to_owned),
        (_, Unit::Blocks(size)) => {
            let name = match (asked.posix, size) {
                (true, _) => format!("{size}-blocks"),
                (_, 1024) => "1K-blocks".into(),
                (_, 0x10_0000) => "1M-blocks".into(),
                _ => format!("{size}B-blocks"),
            };
            [name, "Used".into(), "Available".into(), if asked.posix { "Capacity" } else { "Use%" }.into()]
        }
    };
    let row = [size(total), size(used), size(left), percent];
    let mut lines = [format!("{:<14}", "Filesystem"), format!("{NAME:<14}")];
    if asked.kind {
        lines[0].push_str(" Type");
        lines[1].push_str(" wasi");
    }
    for (title, cell) in head.iter().zip(&row) {
        let width = title.len().max(cell.len());
        lines[0].push_str(&format!(" {title:>width$}"));
        lines[1].push_str(&format!(" {cell:>width$}"));
    }
    format!("{} Mounted on\n{} {ROOT}\n", lines[0], lines[1])
}

/// As coreutils rounds: up, with one digit after the point below ten.
fn human(amount: u64, base: u64) -> String {
    let (mut unit, mut letter) = (1_u128, None);
    for next in ["K", "M", "G", "T", "P", "E"] {
        if u128::from(amount) < unit * u128::from(base) {
            break;
        }
        (unit, letter) = (unit * u128::from(base), Some(next));
    }
    let Some(letter) = letter else { return amount.to_string() };
    let tenths = (u128::from(amount) * 10).div_ceil(unit);
    let letter = if base == 1000 && letter == "K" { "k" } else { letter };
    if tenths < 100 {
        return format!("{}.{}{letter}", tenths / 10, tenths % 10);
    }
    format!("{}{letter}", u128::from(amount).div_ceil(unit))
}

#[cfg(test)]
mod tests {
    use dormouse_files::Tree;

    use super::*;

    fn shown(line: &str) -> (u8, String) {
        let files = Files::new(Tree::default());
        files.set_quota(Quota { bytes: 64 << 20, files: 1000, ..Quota::default() });
        files.make_folder(&GuestPath::parse("/workspace").unwrap()).unwrap();
        files.write(&GuestPath::parse("/workspace/f").unwrap(), &[7; 1 << 20]).unwrap();
        let arguments = line.split_whitespace().map(str::to_owned).collect();
        let call = ProgramCall { arguments, directory: "/workspace".into(), ..ProgramCall::default() };
        let ended = run(&call, &files);
        (ended.status, String::from_utf8([ended.output, ended.errors].concat()).unwrap())
    }

    #[test]
    fn the_room_is_that_of_the_sandbox() {
        for (line, told) in [
            (
                "",
                "Filesystem     1K-blocks Used Available Use% Mounted on\nsandbox            65536 1024     64512   2% /\n",
            ),
            (
                "-h f ..",
                "Filesystem     Size Used Avail Use% Mounted on\nsandbox         64M 1.0M   63M   2% /\n",
            ),
            (
                "-PT .",
                "Filesystem     Type 1024-blocks Used Available Capacity Mounted on\nsandbox        wasi       65536 1024     64512       2% /\n",
            ),
            (
                "-BM --",
                "Filesystem     1M-blocks Used Available Use% Mounted on\nsandbox               64    1        63   2% /\n",
            ),
            (
                "-i",
                "Filesystem     Inodes IUsed IFree IUse% Mounted on\nsandbox          1000     2   998    1% /\n",
            ),
        ] {
            assert_eq!(shown(line), (0, told.to_owned()), "df {line}");
        }
        assert_eq!(shown("none"), (1, "df: none: No such file or directory\n".into()));
        assert_eq!(shown("-Z"), (1, "df: invalid option -- 'Z'\n".into()));
        assert!(shown("--what").1.contains("unrecognized option") && shown("-Bx").1.contains("block-size"));
    }
}
