//! `ls` in the shape of GNU's: the long format with links, owner, group and `total`, `.` and `..`, and the sorts.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bashkit::{Builtin, BuiltinContext, ExecResult, FileType, Metadata, async_trait};

use super::times::Moment;

/// What everything belongs to.
pub(super) const OWNER: &str = "user";
/// Half a year in seconds: older files show the year instead of the time.
const RECENT: i64 = 15_778_476;

/// The command.
pub(super) struct Ls;

#[derive(Default)]
struct Options {
    all: bool,
    almost_all: bool,
    long: bool,
    no_owner: bool,
    no_group: bool,
    numeric: bool,
    human: bool,
    by_size: bool,
    by_time: bool,
    unsorted: bool,
    by_version: bool,
    by_extension: bool,
    reverse: bool,
    recursive: bool,
    folder_itself: bool,
    classify: bool,
    slash: bool,
    commas: bool,
    blocks: bool,
    inode: bool,
    quoted: bool,
    folders_first: bool,
    follow: bool,
    time_style: String,
}

struct Item {
    name: String,
    path: PathBuf,
    meta: Metadata,
    target: Option<String>,
}

#[async_trait]
impl Builtin for Ls {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let (options, names) = match parse(ctx.args) {
            Ok(parsed) => parsed,
            Err(message) => return Ok(ExecResult::err(message, 2)),
        };
        let mut listing = Listing { ctx: &ctx, options, out: String::new(), err: String::new(), code: 0 };
        listing.run(names).await;
        let (out, err, code) = (listing.out, listing.err, listing.code);
        let mut result = ExecResult::with_code(out, code);
        result.stderr = err.into();
        Ok(result)
    }

    fn llm_hint(&self) -> Option<&'static str> {
        Some("ls: GNU shape; -aAlogndhrtSRFpmQi1XvU --group-directories-first --time-style --full-time")
    }
}

fn parse(args: &[String]) -> Result<(Options, Vec<String>), String> {
    let (mut o, mut names, mut ended) = (Options::default(), Vec::new(), false);
    for arg in args {
        if ended || arg == "-" || !arg.starts_with('-') {
            names.push(arg.clone());
        } else if arg == "--" {
            ended = true;
        } else if let Some(word) = arg.strip_prefix("--") {
            long_option(&mut o, word)?;
        } else {
            for letter in arg[1..].chars() {
                short_option(&mut o, letter)?;
            }
        }
    }
    Ok((o, names))
}

fn long_option(o: &mut Options, word: &str) -> Result<(), String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    match name {
        "all" => o.all = true,
        "almost-all" => o.almost_all = true,
        "human-readable" => o.human = true,
        "reverse" => o.reverse = true,
        "recursive" => o.recursive = true,
        "directory" => o.folder_itself = true,
        "classify" => o.classify = true,
        "size" => o.blocks = true,
        "inode" => o.inode = true,
        "quote-name" => o.quoted = true,
        "no-group" => o.no_group = true,
        "numeric-uid-gid" => (o.long, o.numeric) = (true, true),
        "dereference" => o.follow = true,
        "group-directories-first" => o.folders_first = true,
        "full-time" => (o.long, o.time_style) = (true, "full-iso".into()),
        "time-style" => o.time_style = value.into(),
        "file-type" => o.classify = true,
        "color" | "colour" | "hyperlink" | "literal" | "time" | "escape" | "quoting-style" | "format"
        | "width" => {}
        "sort" => match value {
            "size" => o.by_size = true,
            "time" => o.by_time = true,
            "none" => o.unsorted = true,
            "version" => o.by_version = true,
            "extension" => o.by_extension = true,
            _ => return Err(format!("ls: invalid argument '{value}' for '--sort'\n")),
        },
        _ => {
            return Err(format!(
                "ls: unrecognized option '--{word}'\nTry 'ls --help' for more information.\n"
            ));
        }
    }
    Ok(())
}

fn short_option(o: &mut Options, letter: char) -> Result<(), String> {
    match letter {
        'a' => o.all = true,
        'A' => o.almost_all = true,
        'l' => o.long = true,
        'g' => (o.long, o.no_owner) = (true, true),
        'o' => (o.long, o.no_group) = (true, true),
        'G' => o.no_group = true,
        'n' => (o.long, o.numeric) = (true, true),
        'd' => o.folder_itself = true,
        'h' => o.human = true,
        'r' => o.reverse = true,
        't' => o.by_time = true,
        'S' => o.by_size = true,
        'U' | 'f' => o.unsorted = true,
        'v' => o.by_version = true,
        'X' => o.by_extension = true,
        'R' => o.recursive = true,
        'F' => o.classify = true,
        'p' => o.slash = true,
        'm' => o.commas = true,
        's' => o.blocks = true,
        'i' => o.inode = true,
        'Q' => o.quoted = true,
        'L' | 'H' => o.follow = true,
        '1' | 'C' | 'x' | 'k' | 'N' | 'b' | 'q' | 'c' | 'u' | 'w' | 'T' => {}
        _ => {
            return Err(format!("ls: invalid option -- '{letter}'\nTry 'ls --help' for more information.\n"));
        }
    }
    Ok(())
}

struct Listing<'a, 'b> {
    ctx: &'a BuiltinContext<'b>,
    options: Options,
    out: String,
    err: String,
    code: i32,
}

impl Listing<'_, '_> {
    async fn run(&mut self, mut names: Vec<String>) {
        if names.is_empty() {
            names.push(".".into());
        }
        let several = names.len() > 1;
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for name in names {
            match self.item(&name, self.ctx.cwd.join(&name)).await {
                Some(item) if item.meta.file_type.is_dir() && !self.options.folder_itself => {
                    folders.push(item)
                }
                Some(item) => {
                    // Without -l a link to a folder that is named shows what is in it.
                    let behind = self.ctx.fs.stat(&item.path).await;
                    let leads = behind.is_ok_and(|meta| meta.file_type.is_dir());
                    let into =
                        leads && !self.options.folder_itself && (!self.options.long || name.ends_with('/'));
                    if into { folders.push(item) } else { files.push(item) }
                }
                None => {
                    self.err += &format!("ls: cannot access '{name}': No such file or directory\n");
                    self.code = 2;
                }
            }
        }
        self.sort(&mut files);
        self.sort(&mut folders);
        let had_files = !files.is_empty();
        self.show(&files, false);
        let mut open: Vec<(String, PathBuf)> =
            folders.into_iter().rev().map(|item| (item.name, item.path)).collect();
        let (titled, mut first) = (several || self.options.recursive, !had_files);
        while let Some((name, path)) = open.pop() {
            if !first {
                self.out.push('\n');
            }
            first = false;
            if titled {
                self.out += &format!("{name}:\n");
            }
            let items = self.inside(&name, &path).await;
            self.show(&items, true);
            if self.options.recursive {
                let below = items
                    .iter()
                    .rev()
                    .filter(|item| item.meta.file_type.is_dir() && item.name != "." && item.name != "..");
                open.extend(below.map(|item| {
                    (format!("{}/{}", name.trim_end_matches('/'), item.name), item.path.clone())
                }));
            }
        }
    }

    async fn item(&self, name: &str, path: PathBuf) -> Option<Item> {
        let meta =
            if self.options.follow { self.ctx.fs.stat(&path).await } else { self.ctx.fs.lstat(&path).await };
        let meta = match meta {
            Ok(meta) => meta,
            Err(_) => self.ctx.fs.lstat(&path).await.ok()?,
        };
        let target = match meta.file_type {
            FileType::Symlink => {
                self.ctx.fs.read_link(&path).await.ok().map(|target| target.to_string_lossy().into_owned())
            }
            _ => None,
        };
        Some(Item { name: name.to_owned(), path, meta, target })
    }

    async fn inside(&mut self, shown: &str, folder: &Path) -> Vec<Item> {
        let entries = match self.ctx.fs.read_dir(folder).await {
            Ok(entries) => entries,
            Err(error) => {
                self.err += &format!("ls: cannot open directory '{shown}': {error}\n");
                self.code = 2;
                return Vec::new();
            }
        };
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            let hidden = entry.name.starts_with('.') && !self.options.all && !self.options.almost_all;
            if !hidden {
                items.extend(self.item(&entry.name, folder.join(&entry.name)).await);
            }
        }
        self.sort(&mut items);
        if self.options.all {
            let mut dots = Vec::new();
            dots.extend(self.item(".", folder.to_path_buf()).await);
            let parent = folder.parent().unwrap_or(folder).to_path_buf();
            dots.extend(self.item("..", parent).await);
            if self.options.reverse {
                dots.reverse();
                items.extend(dots);
            } else {
                items.splice(0..0, dots);
            }
        }
        items
    }

    fn sort(&self, items: &mut [Item]) {
        let o = &self.options;
        if o.unsorted {
            return;
        }
        items.sort_by(|a, b| {
            let order = if o.by_size {
                b.meta.size.cmp(&a.meta.size)
            } else if o.by_time {
                b.meta.modified.cmp(&a.meta.modified)
            } else if o.by_extension {
                extension(&a.name).cmp(extension(&b.name))
            } else if o.by_version {
                natural(&a.name).cmp(&natural(&b.name))
            } else {
                std::cmp::Ordering::Equal
            };
            let order = order.then_with(|| a.name.as_bytes().cmp(b.name.as_bytes()));
            if o.reverse { order.reverse() } else { order }
        });
        if o.folders_first {
            items.sort_by_key(|item| !item.meta.file_type.is_dir());
        }
    }

    fn show(&mut self, items: &[Item], in_folder: bool) {
        if in_folder && (self.options.long || self.options.blocks) {
            let total: u64 = items.iter().map(|item| blocks(&item.meta)).sum();
            let total = if self.options.human { human(total * 1024) } else { total.to_string() };
            self.out += &format!("total {total}\n");
        }
        if self.options.long {
            return self.long(items);
        }
        let words: Vec<String> = items.iter().map(|item| self.prefix(item) + &self.named(item)).collect();
        match (self.options.commas, words.is_empty()) {
            (_, true) => {}
            (true, _) => self.out += &format!("{}\n", words.join(", ")),
            (false, _) => words.iter().for_each(|word| self.out += &format!("{word}\n")),
        }
    }

    fn prefix(&self, item: &Item) -> String {
        let inode = if self.options.inode { format!("{} ", inode(&item.path)) } else { String::new() };
        let blocks = if self.options.blocks { format!("{} ", blocks(&item.meta)) } else { String::new() };
        inode + &blocks
    }

    fn named(&self, item: &Item) -> String {
        let name = if self.options.quoted { format!("{:?}", item.name) } else { item.name.clone() };
        let mark = match item.meta.file_type {
            FileType::Directory if self.options.classify || self.options.slash => "/",
            FileType::Symlink if self.options.classify && !self.options.long => "@",
            FileType::Fifo if self.options.classify => "|",
            FileType::File if self.options.classify && item.meta.mode & 0o111 != 0 => "*",
            _ => "",
        };
        name + mark
    }

    fn long(&mut self, items: &[Item]) {
        let now = Moment::in_zone(SystemTime::now(), self.ctx.env.get("TZ"));
        let owner = if self.options.numeric { "1000" } else { OWNER };
        let sizes: Vec<String> = items
            .iter()
            .map(|item| if self.options.human { human(item.meta.size) } else { item.meta.size.to_string() })
            .collect();
        let width = sizes.iter().map(String::len).max().unwrap_or(0);
        for (item, size) in items.iter().zip(&sizes) {
            let links = if item.meta.file_type.is_dir() { 2 } else { 1 };
            let mut line = format!("{}{} {links} ", self.prefix(item), mode(&item.meta));
            if !self.options.no_owner {
                line += &format!("{owner} ");
            }
            if !self.options.no_group {
                line += &format!("{owner} ");
            }
            let time = Moment::in_zone(item.meta.modified, self.ctx.env.get("TZ"));
            let time = shown_time(&time, &now, &self.options.time_style);
            line += &format!("{size:>width$} {time} {}", self.named(item));
            if let Some(target) = &item.target {
                line += &format!(" -> {target}");
            }
            self.out += &line;
            self.out.push('\n');
        }
    }
}

pub(super) fn mode(meta: &Metadata) -> String {
    let kind = match meta.file_type {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Fifo => 'p',
        FileType::File => '-',
    };
    let mode = if meta.file_type.is_symlink() { 0o777 } else { meta.mode };
    let bits = (0..9).rev().map(|bit| if mode >> bit & 1 == 1 { ['x', 'w', 'r'][bit % 3] } else { '-' });
    std::iter::once(kind).chain(bits).collect()
}

/// Kilobytes on a disk with blocks of 4 KiB.
fn blocks(meta: &Metadata) -> u64 {
    if meta.file_type.is_dir() {
        4
    } else if meta.file_type.is_symlink() {
        0
    } else {
        meta.size.div_ceil(4096) * 4
    }
}

/// A stable number for a path; nothing here has inodes.
pub(super) fn inode(path: &Path) -> u32 {
    path.to_string_lossy()
        .bytes()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn human(size: u64) -> String {
    const UNITS: [&str; 6] = ["K", "M", "G", "T", "P", "E"];
    if size < 1024 {
        return size.to_string();
    }
    let (mut unit, mut scale) = (0, 1024_u64);
    while unit < 5 && size.div_ceil(scale) >= 1024 {
        (unit, scale) = (unit + 1, scale * 1024);
    }
    let tenths = (u128::from(size) * 10).div_ceil(u128::from(scale));
    if tenths < 100 {
        format!("{}.{}{}", tenths / 10, tenths % 10, UNITS[unit])
    } else {
        format!("{}{}", size.div_ceil(scale), UNITS[unit])
    }
}

fn shown_time(at: &Moment, now: &Moment, style: &str) -> String {
    let (hour, minute) = (at.hour, at.minute);
    let recent = (0..RECENT).contains(&(now.seconds - at.seconds));
    match style {
        "full-iso" => at.full(),
        "long-iso" => format!("{} {hour:02}:{minute:02}", at.date()),
        "iso" if recent => format!("{:02}-{:02} {hour:02}:{minute:02}", at.month, at.day),
        "iso" => format!("{} ", at.date()),
        _ if style.starts_with('+') => at.shown(&style[1..]),
        _ if recent => format!("{} {:>2} {hour:02}:{minute:02}", at.month_name(), at.day),
        _ => format!("{} {:>2}  {:04}", at.month_name(), at.day, at.year),
    }
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, end)| end)
}

/// Runs of digits by their value, other text by its bytes.
fn natural(name: &str) -> Vec<(bool, u64, String)> {
    let mut parts: Vec<(bool, u64, String)> = Vec::new();
    for letter in name.chars() {
        let digit = letter.is_ascii_digit();
        match parts.last_mut() {
            Some((kind, _, text)) if *kind == digit => text.push(letter),
            _ => parts.push((digit, 0, letter.to_string())),
        }
    }
    for (digit, value, text) in &mut parts {
        if *digit {
            *value = text.parse().unwrap_or(u64::MAX);
        }
    }
    parts
}
