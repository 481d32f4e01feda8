//! Single files of a sandbox, as core's port.
//!
//! Each call is one small program in the container, run as the sandbox's user with its paths as arguments: the kernel
//! resolves links and checks rights as it does for everything else in there, nothing of the engine's own, which is root,
//! follows a path that the sandbox made, and a full volume leaves a file as it was.

use async_trait::async_trait;
use dormouse_core::sandbox::{Entry, EntryKind, Files as Port, OWN_FOLDERS, Piece, must_be_seen};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};
use dormouse_files::{Files, Quota, Tree};

use crate::exec::run_bounded;
use crate::machine::ContainerMachine;
use crate::number::random;
use crate::program::Written;

/// Most bytes of one read: 64 MiB.
const MAX_READ: u64 = 64 << 20;
/// Most bytes of a listing: 32 MiB.
const MAX_LIST: u64 = 32 << 20;

/// `$1` the file, `$2` from which byte (1 is the first), `$3` how many. Says the size of the whole on standard error.
const READ: &str = r#"[ -e "$1" ] || exit 44; [ -f "$1" ] || exit 45
stat -L -c '%s %Y' -- "$1" >&2 || exit 1
[ "$3" = 0 ] || tail -c "+$2" -- "$1" | head -c "$3""#;
/// `$1` the file, `$2` a number for a name of its own, `$3` the bytes that have to come.
const WRITE: &str = r#"file=$1
[ -L "$file" ] && file=$(readlink -f -- "$file")
[ -d "$file" ] && exit 45
folder=${file%/*}
mkdir -p -- "$folder" || exit 1
new=$folder/.dormouse-$2
cat > "$new" && [ "$(stat -c '%s' -- "$new")" = "$3" ] || { rm -f -- "$new"; exit 1; }
mode=$(stat -c '%a' -- "$file" 2>/dev/null) && chmod "$mode" -- "$new"
mv -f -- "$new" "$file" || { rm -f -- "$new"; exit 1; }"#;
/// `$1` the file, `$2` the bytes that have to come. Says how many there are then.
const APPEND: &str = r#"file=$1
[ -L "$file" ] && file=$(readlink -f -- "$file")
[ -e "$file" ] && [ ! -f "$file" ] && exit 45
folder=${file%/*}
mkdir -p -- "$folder" || exit 1
had=none
[ -f "$file" ] && { had=$(stat -c '%s' -- "$file") || exit 1; }
[ "$had" = none ] && size=0 || size=$had
cat >> "$file" && now=$(stat -c '%s' -- "$file") && [ "$now" = $((size + $2)) ] && echo "$now" && exit 0
if [ "$had" = none ]; then rm -f -- "$file"; else dd if=/dev/null of="$file" bs=1 seek="$had" 2>/dev/null; fi
exit 1"#;
/// `$1` the folder, `$2` what each entry begins with, `$3` `-r` for all levels.
const LIST: &str = r#"[ -e "$1" ] || exit 44
if [ ! -d "$1" ]; then stat -L -c "$2 %f %s %Y ." -- "$1"; exit; fi
cd -- "$1" || exit 1
if [ "$3" = -r ]; then find . -mindepth 1 -exec stat -c "$2 %f %s %Y %n" {} +
else find . -mindepth 1 -maxdepth 1 -exec stat -c "$2 %f %s %Y %n" {} +; fi
true"#;
/// `$1` the file or folder, `$2` `all` for a folder with all that it holds.
const REMOVE: &str = r#"[ -e "$1" ] || [ -L "$1" ] || exit 44
if [ "$2" = all ]; then rm -rf -- "$1"
elif [ -d "$1" ] && [ ! -L "$1" ]; then rmdir -- "$1"
else rm -f -- "$1"; fi"#;
/// `$1` the old name, `$2` the new one, `$3` `replace` where that may be taken. A link that gives way is removed first: `mv` would
/// put a file into the folder that it leads to.
const RENAME: &str = r#"[ -e "$1" ] || [ -L "$1" ] || exit 44
case $2 in "$1"/*) exit 47;; esac
if [ -e "$2" ] || [ -L "$2" ]; then
[ "$3" = replace ] || exit 46
if [ -d "$2" ] && [ ! -L "$2" ]; then
if [ -d "$1" ] && [ ! -L "$1" ]; then rmdir -- "$2" || exit 1; else exit 45; fi
elif [ -d "$1" ] && [ ! -L "$1" ]; then exit 46
elif [ -L "$2" ]; then rm -f -- "$2" || exit 1; fi
fi
mkdir -p -- "${2%/*}" && mv -f -- "$1" "$2""#;
const FOLDER: &str = r#"mkdir -p -- "$1""#;
const STAT: &str = r#"[ -e "$1" ] || exit 44; stat -L -c '%f %s %Y' -- "$1""#;

impl ContainerMachine {
    /// Runs one of the programs above on a path.
    async fn ask(
        &mut self,
        script: &str,
        path: &GuestPath,
        rest: &[&str],
        (input, most): (Vec<u8>, u64),
    ) -> Result<Written> {
        must_be_seen(path, &self.spec.mounts)?;
        self.settle().await?;
        let words = ["sh", "-c", script, "dormouse", path.as_str()];
        let argv = words.iter().chain(rest).map(|word| (*word).to_owned()).collect();
        // What only reads and removes has to go on where the memory is full, and can be run twice.
        let written = match [READ, LIST, REMOVE, STAT].contains(&script) {
            true => self.container.insist(argv, input, most).await?,
            false => run_bounded(self.container.as_ref(), argv, input.into(), most).await?,
        };
        match written.code {
            Some(0) => Ok(written),
            _ if written.was_kept_out() && self.container.is_full().await => Err(self.out_of_memory()),
            code => Err(refused(path, code.unwrap_or(-1), &written.stderr.text())),
        }
    }
}

/// What a program's end says of a path.
fn refused(path: &GuestPath, code: i64, said: &str) -> Error {
    let shown = path.as_str().escape_debug();
    let error = |code, why: &str| Error::new(code, format!("`{shown}`: {why}"));
    let has = |text: &str| said.contains(text);
    if code == 44 || has("No such file or directory") {
        return error(ErrorCode::NotFound, "it does not exist")
            .with_hint("list the folder to see what there is");
    }
    if code == 46 {
        return error(ErrorCode::ArgsInvalid, "the new name is taken")
            .with_hint("choose another name, or have it take the place with `replace`");
    }
    if has("not empty") {
        return error(ErrorCode::ArgsInvalid, "the folder is not empty")
            .with_hint("to remove it with all that it holds, say `recursive`");
    }
    if code == 47 {
        return error(ErrorCode::ArgsInvalid, "a folder cannot lie in itself")
            .with_hint("choose a place outside it");
    }
    if code == 45 {
        return error(ErrorCode::InvalidState, "it is no file")
            .with_hint("name a file in it; list the folder to see what there is");
    }
    if has("No space left") || has("File too large") {
        return error(ErrorCode::LimitDisk, "the sandbox's files have no space left")
            .with_hint("remove files, or make a sandbox with more disk, and memory for it");
    }
    if has("File exists") || has("Not a directory") {
        return error(ErrorCode::InvalidState, "a file is in the way")
            .with_hint("remove it before, or choose another name");
    }
    if has("Read-only file system") || has("Permission denied") || has("not permitted") || has("busy") {
        return error(ErrorCode::WriteDenied, "it may not be changed")
            .with_hint("the sandbox's own files are in `/workspace` and `/tmp`");
    }
    let said: String = said.chars().filter(|c| !c.is_control()).take(200).collect();
    error(ErrorCode::ProviderUnavailable, &format!("the container's own programs failed ({code}): {said}"))
        .with_hint("the image must have sh, cat, find, head, mkdir, mv, rm, stat and tail")
}

#[async_trait]
impl Port for ContainerMachine {
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<Piece> {
        let most = most.min(MAX_READ);
        let (from, count) = (offset.saturating_add(1).to_string(), most.to_string());
        let written = self.ask(READ, path, &[&from, &count], (Vec::new(), most.max(4096))).await?;
        let told = written.stderr.text();
        let numbers = told
            .trim()
            .split_once(' ')
            .and_then(|(size, seconds)| Some((size.parse().ok()?, seconds.parse::<u64>().ok()?)));
        let (size, seconds) =
            numbers.ok_or_else(|| Error::internal("a file's size and time were not told", told))?;
        Ok(Piece { bytes: written.stdout.bytes, size, modified_ms: seconds.saturating_mul(1000) })
    }

    async fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        let (number, count) = (random()?, bytes.len().to_string());
        self.ask(WRITE, path, &[&number, &count], (bytes.to_vec(), 4096)).await.map(|_| ())
    }

    async fn append(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<u64> {
        let count = bytes.len().to_string();
        let written = self.ask(APPEND, path, &[&count], (bytes.to_vec(), 4096)).await?;
        let size = written.stdout.text().trim().parse();
        size.map_err(|error| Error::internal("a file's size was not told", error))
    }

    async fn edit(&mut self, path: &GuestPath, old: &str, new: &str, all: bool) -> Result<usize> {
        let most = Files::MAX_EDIT as u64 + 1;
        let before = Port::read(self, path, 0, most).await?.bytes;
        // The tree's own rules and words, for this one file.
        let file =
            Files::new(Tree::new(Quota { bytes: 4 * most, files: 10_000, depth: 4_096, name_bytes: 255 }));
        file.write(path, &before)?;
        let replaced = file.edit(path, old, new, all)?;
        let size = usize::try_from(file.stat(path)?.size).unwrap_or(Files::MAX_EDIT);
        Port::write(self, path, &file.read(path, 0, size)?).await?;
        Ok(replaced)
    }

    async fn list(&mut self, path: &GuestPath, recursive: bool, most: usize) -> Result<(Vec<Entry>, u64)> {
        let mark = random()?;
        let deep = if recursive { "-r" } else { "" };
        let written = self.ask(LIST, path, &[&mark, deep], (Vec::new(), MAX_LIST)).await?;
        if written.stdout.total > MAX_LIST {
            return Err(Error::new(ErrorCode::TooLarge, "there are too many names to list")
                .with_hint("list one folder at a time"));
        }
        let text = written.stdout.text();
        let mut entries: Vec<Entry> = text.split(&format!("{mark} ")).filter_map(entry).collect();
        entries.sort_by(|one, other| one.path.split('/').cmp(other.path.split('/')));
        let total = entries.len() as u64;
        entries.truncate(most);
        Ok((entries, total))
    }

    async fn remove(&mut self, path: &GuestPath, all: bool) -> Result<()> {
        if OWN_FOLDERS.contains(&path.as_str()) {
            return Err(dormouse_files::Errno::Busy.at(path));
        }
        let all = if all { "all" } else { "" };
        self.ask(REMOVE, path, &[all], (Vec::new(), 4096)).await.map(|_| ())
    }

    async fn rename(&mut self, path: &GuestPath, to: &GuestPath, replace: bool) -> Result<()> {
        must_be_seen(to, &self.spec.mounts)?;
        let replace = if replace { "replace" } else { "" };
        let done = self.ask(RENAME, path, &[to.as_str(), replace], (Vec::new(), 4096)).await;
        done.map(|_| ()).map_err(|error| renamed(error, path, to))
    }

    async fn make_folder(&mut self, path: &GuestPath) -> Result<()> {
        self.ask(FOLDER, path, &[], (Vec::new(), 4096)).await.map(|_| ())
    }

    async fn stat(&mut self, path: &GuestPath) -> Result<Entry> {
        let written = self.ask(STAT, path, &[], (Vec::new(), 4096)).await?;
        let found = entry(&format!("{} {path}\n", written.stdout.text().trim()));
        found.ok_or_else(|| {
            Error::new(ErrorCode::InvalidState, format!("`{path}`: it is neither file nor folder"))
        })
    }
}

/// What a rename says of what stands in its way: that is the new path's, and a rename does not have `recursive`.
fn renamed(error: Error, path: &GuestPath, to: &GuestPath) -> Error {
    let old = format!("`{}`: ", path.as_str().escape_debug());
    let hint = match error.message().strip_prefix(&old) {
        Some("the folder is not empty") => "choose another name, or remove what is in that folder",
        Some("the new name is taken") => "choose another name, or have it take the place with `replace`",
        Some("it is no file") => "choose another name: a file takes the place of a file only",
        Some("a file is in the way") => "remove it before, or choose another name",
        _ => return error,
    };
    let why = error.message().strip_prefix(&old).unwrap_or_default();
    Error::new(error.code(), format!("`{}`: {why}", to.as_str().escape_debug())).with_hint(hint)
}

/// One entry: mode in hexadecimal digits, bytes, seconds since 1970, path. None: it is neither file, folder nor link.
fn entry(text: &str) -> Option<Entry> {
    let mut words = text.splitn(4, ' ');
    let mode = u32::from_str_radix(words.next()?, 16).ok()?;
    let bytes: u64 = words.next()?.parse().ok()?;
    let modified: i64 = words.next()?.parse().ok()?;
    let path = words.next()?.strip_suffix('\n')?;
    let path = path.strip_prefix("./").unwrap_or(if path == "." { "" } else { path });
    let kind = match mode & 0o170_000 {
        0o100_000 => EntryKind::File,
        0o040_000 => EntryKind::Folder,
        0o120_000 => EntryKind::Link,
        _ => return None,
    };
    let bytes = if kind == EntryKind::File { bytes } else { 0 };
    let modified_ms = u64::try_from(modified).unwrap_or_default().saturating_mul(1000);
    Some(Entry { path: path.to_owned(), kind, bytes, modified_ms, target: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_line_break_is_one_entry() {
        let text = "M 81a4 3 10 ./a\nM 81a4 0 5 b\nM 41ed 40 11 ./c\n";
        let entries: Vec<Entry> = text.split("M ").filter_map(entry).collect();
        assert_eq!(entries.len(), 3);
        let text = "Z 81a4 3 10 ./a\n81a4 1 1 b\nZ 41ed 40 11 ./c\n";
        let entries: Vec<Entry> = text.split("Z ").filter_map(entry).collect();
        assert_eq!(entries[0].path, "a\n81a4 1 1 b");
        assert_eq!(entries[1].kind, EntryKind::Folder);
    }
}
