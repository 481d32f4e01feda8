//! `diff` in the shape of GNU's: files, folders, and every format but `ed` scripts.

mod compare;
mod format;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::options::{self, Given, Known, Value};
use super::times::Moment;
use compare::{Ignored, Text};
use format::Format;

/// The exit status of trouble.
const TROUBLE: i32 = 2;

const KNOWN: &[Known] = &[
    ('u', "", Value::None),
    ('U', "unified", Value::Optional),
    ('c', "", Value::None),
    ('C', "context", Value::Optional),
    ('q', "brief", Value::None),
    ('s', "report-identical-files", Value::None),
    ('y', "side-by-side", Value::None),
    ('W', "width", Value::Required),
    ('\0', "suppress-common-lines", Value::None),
    ('\0', "left-column", Value::None),
    ('r', "recursive", Value::None),
    ('N', "new-file", Value::None),
    ('a', "text", Value::None),
    ('i', "ignore-case", Value::None),
    ('E', "ignore-tab-expansion", Value::None),
    ('Z', "ignore-trailing-space", Value::None),
    ('b', "ignore-space-change", Value::None),
    ('w', "ignore-all-space", Value::None),
    ('B', "ignore-blank-lines", Value::None),
    ('x', "exclude", Value::Required),
    ('L', "label", Value::Required),
    ('\0', "strip-trailing-cr", Value::None),
    ('\0', "normal", Value::None),
    ('\0', "old-line-format", Value::Required),
    ('\0', "new-line-format", Value::Required),
    ('\0', "unchanged-line-format", Value::Required),
    ('\0', "line-format", Value::Required),
    ('\0', "color", Value::Optional),
    ('\0', "no-dereference", Value::None),
    ('d', "minimal", Value::None),
    ('\0', "speed-large-files", Value::None),
];

/// The command.
pub(super) struct Diff;

#[derive(Default)]
struct Settings {
    format: Format,
    brief: bool,
    identical: bool,
    recursive: bool,
    absent_is_empty: bool,
    text: bool,
    ignored: Ignored,
    labels: Vec<String>,
    excluded: Vec<String>,
    /// The options as they were given: the head of each file's part names them.
    words: String,
}

#[async_trait]
impl Builtin for Diff {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let parsed = options::parse("diff", KNOWN, context.args)
            .and_then(|(given, operands)| Ok((settings(&given, context.args)?, operands)));
        let (settings, operands) = match parsed {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), TROUBLE)),
        };
        let [left, right] = operands.as_slice() else {
            let why = match operands.last() {
                Some(last) if operands.len() > 2 => {
                    format!("extra operand '{}'", operands.get(2).unwrap_or(last))
                }
                Some(last) => format!("missing operand after '{last}'"),
                None => "missing operand after 'diff'".into(),
            };
            let hint = "diff: Try 'diff --help' for more information.";
            return Ok(ExecResult::err(format!("diff: {why}\n{hint}\n"), TROUBLE));
        };
        let mut run = Run { context: &context, settings, out: Vec::new(), err: String::new(), status: 0 };
        run.operands(left, right).await;
        let mut result = ExecResult::ok_bytes(run.out);
        (result.stderr, result.exit_code) = (run.err.into(), run.status);
        Ok(result)
    }

    fn llm_hint(&self) -> Option<&'static str> {
        Some("diff: -u -U n -c -q -s -y -r -N -i -b -w -B -x --label --strip-trailing-cr --*-line-format")
    }
}

fn settings(given: &[Given], words: &[String]) -> std::result::Result<Settings, String> {
    let mut settings = Settings::default();
    let lines = |value: &Option<String>| match value {
        None => Ok(3),
        Some(text) => text.parse().map_err(|_| format!("diff: invalid context length '{text}'")),
    };
    for Given { letter, name, value } in given {
        let text = || value.clone().unwrap_or_default();
        match (letter, *name) {
            ('u', _) => settings.format.unified(3),
            ('U', _) => settings.format.unified(lines(value)?),
            ('c', _) => settings.format.context(3),
            ('C', _) => settings.format.context(lines(value)?),
            ('y', _) => settings.format.side_by_side(),
            ('W', _) => {
                let width = text().parse().map_err(|_| format!("diff: invalid width '{}'", text()))?;
                settings.format.width(width);
            }
            (_, "suppress-common-lines") => settings.format.only_changes(),
            (_, "left-column") => settings.format.left_column(),
            (_, "old-line-format") => settings.format.lines(Some(text()), None, None),
            (_, "new-line-format") => settings.format.lines(None, Some(text()), None),
            (_, "unchanged-line-format") => settings.format.lines(None, None, Some(text())),
            (_, "line-format") => settings.format.lines(Some(text()), Some(text()), Some(text())),
            ('q', _) => settings.brief = true,
            ('s', _) => settings.identical = true,
            ('r', _) => settings.recursive = true,
            ('N', _) => settings.absent_is_empty = true,
            ('a', _) => settings.text = true,
            ('i', _) => settings.ignored.case = true,
            ('E' | 'b', _) => settings.ignored.space_change = true,
            ('Z', _) => settings.ignored.trailing_space = true,
            ('w', _) => settings.ignored.all_space = true,
            ('B', _) => settings.ignored.blank_lines = true,
            (_, "strip-trailing-cr") => settings.ignored.carriage_return = true,
            ('L', _) => settings.labels.push(text()),
            ('x', _) => settings.excluded.push(text()),
            _ => {}
        }
    }
    let options =
        words.iter().take_while(|word| *word != "--").filter(|word| word.len() > 1 && word.starts_with('-'));
    settings.words = options.map(|word| format!(" {word}")).collect();
    Ok(settings)
}

/// One side: where it is and what it is called.
struct Side {
    name: String,
    path: PathBuf,
}

struct Run<'a, 'b> {
    context: &'a BuiltinContext<'b>,
    settings: Settings,
    out: Vec<u8>,
    err: String,
    status: i32,
}

impl Run<'_, '_> {
    async fn operands(&mut self, left: &str, right: &str) {
        let mut sides =
            [left, right].map(|name| Side { name: name.to_owned(), path: self.context.cwd.join(name) });
        let folders = [self.is_folder(&sides[0]).await, self.is_folder(&sides[1]).await];
        match folders {
            [true, true] => return self.folders(sides).await,
            [true, false] if right != "-" => sides[0] = sides[0].below(last(right)),
            [false, true] if left != "-" => sides[1] = sides[1].below(last(left)),
            _ => {}
        }
        let [left, right] = &sides;
        self.files(left, right, false).await;
    }

    async fn is_folder(&self, side: &Side) -> bool {
        side.name != "-" && self.context.fs.stat(&side.path).await.is_ok_and(|found| found.file_type.is_dir())
    }

    /// Folders and those below them, in the order of their names.
    async fn folders(&mut self, sides: [Side; 2]) {
        let mut open = vec![sides];
        while let Some([left, right]) = open.pop() {
            let (here, there) = (self.names(&left).await, self.names(&right).await);
            let mut all: Vec<&String> = here.iter().chain(&there).collect();
            all.sort();
            all.dedup();
            let mut deeper = Vec::new();
            for name in all {
                let pair = [left.below(name), right.below(name)];
                let are = [self.is_folder(&pair[0]).await, self.is_folder(&pair[1]).await];
                let only = match (here.contains(name), there.contains(name)) {
                    (true, false) => Some(&left.name),
                    (false, true) => Some(&right.name),
                    _ => None,
                };
                match (only, are) {
                    (Some(folder), _) if !self.settings.absent_is_empty => {
                        self.say(&format!("Only in {folder}: {name}\n"));
                        self.status = self.status.max(1);
                    }
                    (Some(_), [false, false]) | (None, [false, false]) => {
                        self.files(&pair[0], &pair[1], true).await;
                    }
                    (Some(_), _) | (None, [true, true]) if self.settings.recursive => deeper.push(pair),
                    (None, [true, true]) => {
                        self.say(&format!("Common subdirectories: {} and {}\n", pair[0].name, pair[1].name));
                    }
                    (Some(_), _) => {}
                    (None, [folder, _]) => {
                        let (first, second) = ("a directory", "a regular file");
                        let (first, second) = if folder { (first, second) } else { (second, first) };
                        let [one, other] = &pair;
                        self.say(&format!(
                            "File {} is {first} while file {} is {second}\n",
                            one.name, other.name
                        ));
                        self.status = self.status.max(1);
                    }
                }
            }
            open.extend(deeper.into_iter().rev());
        }
    }

    async fn names(&mut self, side: &Side) -> Vec<String> {
        match self.context.fs.read_dir(&side.path).await {
            Ok(entries) => {
                let kept = entries.into_iter().map(|entry| entry.name);
                kept.filter(|name| !self.settings.excluded.iter().any(|pattern| fits(pattern, name)))
                    .collect()
            }
            Err(_) if self.settings.absent_is_empty => Vec::new(),
            Err(error) => {
                self.trouble(&side.name, &error.to_string());
                Vec::new()
            }
        }
    }

    async fn read(&mut self, side: &Side) -> Option<(Vec<u8>, SystemTime)> {
        if side.name == "-" {
            let input = self.context.stdin.map(|input| input.as_bytes().to_vec());
            return Some((input.unwrap_or_default(), SystemTime::now()));
        }
        match self.context.fs.read_file(&side.path).await {
            Ok(bytes) => {
                let found = self.context.fs.stat(&side.path).await;
                Some((bytes, found.map_or(SystemTime::UNIX_EPOCH, |found| found.modified)))
            }
            Err(_)
                if self.settings.absent_is_empty
                    && !self.context.fs.exists(&side.path).await.unwrap_or(false) =>
            {
                Some((Vec::new(), SystemTime::UNIX_EPOCH))
            }
            Err(_) => {
                self.trouble(&side.name, "No such file or directory");
                None
            }
        }
    }

    async fn files(&mut self, left: &Side, right: &Side, in_folder: bool) {
        let (old, new) = (self.read(left).await, self.read(right).await);
        let (Some((old, old_time)), Some((new, new_time))) = (old, new) else { return };
        let names = format!("{} and {}", left.name, right.name);
        let binary = !self.settings.text && [&old, &new].iter().any(|bytes| bytes.contains(&0));
        if binary {
            if old != new {
                self.say(&format!(
                    "{} {names} differ\n",
                    if self.settings.brief { "Files" } else { "Binary files" }
                ));
                self.status = self.status.max(1);
            } else if self.settings.identical {
                self.say(&format!("Files {names} are identical\n"));
            }
            return;
        }
        let texts = [Text::of(&old), Text::of(&new)];
        let changes = compare::changes(&texts, &self.settings.ignored);
        let differ = changes.iter().any(compare::Change::counts);
        if !differ {
            if self.settings.identical {
                self.say(&format!("Files {names} are identical\n"));
            } else if self.settings.format.shows_equal_files() && !self.settings.brief {
                self.settings.format.write(&mut self.out, &texts, &changes, ["", ""]);
            }
            return;
        }
        self.status = self.status.max(1);
        if self.settings.brief {
            return self.say(&format!("Files {names} differ\n"));
        }
        if in_folder {
            self.say(&format!("diff{} {} {}\n", self.settings.words, left.name, right.name));
        }
        let title = |side: &Side, time: SystemTime, at: usize| match self.settings.labels.get(at) {
            Some(label) => label.clone(),
            None => format!("{}\t{}", side.name, Moment::of(time).full()),
        };
        let titles = [title(left, old_time, 0), title(right, new_time, 1)];
        let titles = [titles[0].as_str(), titles[1].as_str()];
        self.settings.format.write(&mut self.out, &texts, &changes, titles);
    }

    fn say(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn trouble(&mut self, name: &str, why: &str) {
        self.err += &format!("diff: {name}: {why}\n");
        self.status = TROUBLE;
    }
}

impl Side {
    fn below(&self, name: &str) -> Self {
        Self { name: format!("{}/{name}", self.name.trim_end_matches('/')), path: self.path.join(name) }
    }
}

fn last(name: &str) -> &str {
    Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name)
}

/// Whether a name fits a pattern of `*` and `?`.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => name.is_empty(),
        Some('*') => {
            let after = rest.as_str();
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(after, &name[at..]))
        }
        Some(one) => {
            let mut letters = name.chars();
            letters
                .next()
                .is_some_and(|letter| (one == '?' || one == letter) && fits(rest.as_str(), letters.as_str()))
        }
    }
}
