//! What a command line starts with `&`: where it begins and ends in the text.
//!
//! Owns: finding it. A line of which it is not sure that its parts, run one after the other, do what the line does is left
//! whole. Does not own: what becomes of the parts.

/// A command line in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// At least one; each starts something.
    pub(super) steps: Vec<Step>,
    /// What runs last; may be empty.
    pub(super) after: String,
}

/// Something that `&` starts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What runs first; may be empty.
    pub(super) before: String,
    /// What `&` starts.
    pub(super) beside: String,
}

/// A part of a line with the id of the job before it in the place of `$!`.
pub(super) fn with_id(text: &str, job: &str) -> String {
    text.replace("${!}", job).replace("$!", job)
}

/// Words that let what comes before differ from a line of its own: it may not come to its end, or sets what does not last. So
/// does `exec`, but where it only opens files.
const OWN_LINE: &[&str] =
    &["exit", "return", "set", "shopt", "trap", "logout", "ulimit", "umask", "source", "eval"];
/// Words that move to another folder.
const MOVES: &[&str] = &["cd", "pushd", "popd"];
/// Words that ask for what was started.
const ASKS: &[&str] =
    &["wait", "jobs", "fg", "bg", "kill", "pkill", "killall", "ps", "pgrep", "disown", "BASHPID"];

/// How an item of the list ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Semicolon,
    Ampersand,
}

/// A command of the outermost list.
#[derive(Clone, Copy, Debug)]
struct Item<'a> {
    text: &'a str,
    /// Here-documents, each with the line that ends it.
    documents: &'a str,
    end: End,
}

impl Item<'_> {
    /// It as a line, or more than one, with what ends the command.
    fn line(&self, end: &str) -> String {
        let Self { text, documents, .. } = self;
        if documents.is_empty() { format!("{text}{end}") } else { format!("{text}{end}\n{documents}") }
    }
}

/// Takes a line apart. `None` where nothing is started with `&`, where it is asked for again, and for what is not understood
/// here, such as a here-document behind which its line goes on. With `placed` the line runs in a folder of its own, which a part
/// must not leave.
pub(super) fn parts(line: &str, placed: bool) -> Option<Parts> {
    let items = kept(items(line)?);
    let mut rest = items.as_slice();
    let mut steps = Vec::new();
    while let Some(first) = rest.iter().position(|item| item.end == End::Ampersand) {
        let (before, from) = rest.split_at(first);
        let last = from.iter().position(|item| item.end != End::Ampersand).unwrap_or(from.len());
        let (beside, after) = from.split_at(last);
        if before.iter().any(|item| differs(item.text) || (placed && has(item.text, MOVES))) {
            return None;
        }
        // What was started before can be meant, but for the first.
        let asks = |item: &Item<'_>| has(&item.line(""), ASKS) || is_unsure(item);
        if !steps.is_empty() && before.iter().chain(beside).any(asks) {
            return None;
        }
        steps.push(Step { before: joined(before, ""), beside: joined(beside, " &") });
        rest = after;
        if rest.iter().all(|item| item.end != End::Ampersand) && rest.iter().any(asks) {
            return None;
        }
    }
    (!steps.is_empty()).then(|| Parts { steps, after: joined(rest, "") })
}

/// Items as lines; what ends all but the last.
fn joined(items: &[Item<'_>], end: &str) -> String {
    let last = items.len().saturating_sub(1);
    let lines = items.iter().enumerate().map(|(at, item)| item.line(if at < last { end } else { "" }));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a command does something else where it is a line of its own.
fn differs(text: &str) -> bool {
    has(text, OWN_LINE) || (has(text, &["exec"]) && !opens(text))
}

/// Whether it is an `exec` that opens files at descriptors from 3 on, or copies others there, and nothing else: they stay open.
fn opens(text: &str) -> bool {
    let Some(mut rest) = text.strip_prefix("exec ").map(str::trim_start) else { return false };
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, redirection) = rest.split_at(digits);
        let sign =
            [">>", "<>", ">|", ">&", "<&", ">", "<"].into_iter().find(|sign| redirection.starts_with(sign));
        let (Some(sign), true) = (sign, number.parse::<u32>().is_ok_and(|number| number > 2)) else {
            return false;
        };
        let name = redirection[sign.len()..].trim_start();
        let end = name.find(char::is_whitespace).unwrap_or(name.len());
        // Standard input is each line's own.
        let fits = match sign {
            ">&" | "<&" => &name[..end] == "-" || name[..end].parse().is_ok_and(|number: u32| number > 0),
            _ => end > 0 && name[..end].chars().all(|c| c.is_alphanumeric() || "/._-".contains(c)),
        };
        if !fits {
            return false;
        }
        rest = name[end..].trim_start();
    }
    true
}

/// Whether a `$!` in it may be none of the shell's: it is replaced without a look at quotes.
fn is_unsure(item: &Item<'_>) -> bool {
    let text = item.line("");
    let names = text.contains("$!") || text.contains("${!}");
    names && (text.contains(['\'', '\\']) || !item.documents.is_empty() || text.contains("<<"))
}

/// The items without each `disown` that directly follows what `&` starts, which goes on in any case.
fn kept(items: Vec<Item<'_>>) -> Vec<Item<'_>> {
    let mut kept: Vec<Item<'_>> = Vec::with_capacity(items.len());
    for item in items {
        let disowns = words(item.text).next() == Some("disown") && !item.text.contains(['&', '|']);
        let follows = kept.last().is_some_and(|last| last.end == End::Ampersand);
        if !(disowns && follows && item.end == End::Semicolon && item.documents.is_empty()) {
            kept.push(item);
        }
    }
    kept
}

/// Whether a line that stays whole seems to start something with `&`: for a hint, so that a guess will do.
pub(super) fn starts_any(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let near = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
        *byte == b'&'
            && near(at.checked_sub(1)).is_ascii_whitespace()
            && !matches!(near(Some(at + 1)), b'&' | b'>')
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn has(text: &str, any: &[&str]) -> bool {
    words(text).any(|word| any.contains(&word))
}

/// The items of the outermost list that are not empty.
fn items(line: &str) -> Option<Vec<Item<'_>>> {
    let mut scan = Scan { text: line, at: 0, depth: 0, documents: Vec::new() };
    let mut items = Vec::new();
    // Where the item begins, how many compound commands are open in it, whether a command is still to come after `&&`, and
    // whether the next word is a command's name.
    let (mut start, mut open, mut expects, mut names) = (0, 0_usize, false, true);
    loop {
        let at = scan.at;
        let next = scan.step()?;
        match next {
            Next::Blank => {}
            Next::Word(word) => {
                let was = std::mem::replace(&mut names, false);
                expects = false;
                match word {
                    "case" | "function" | "coproc" | "[[" | "((" => return None,
                    "if" | "for" | "while" | "until" | "select" | "{" if was => {
                        (open, names) = (open + 1, matches!(word, "if" | "while" | "until" | "{"));
                    }
                    "fi" | "done" | "}" if was => open = open.checked_sub(1)?,
                    "then" | "do" | "else" | "elif" | "!" | "time" if was => names = true,
                    _ => {}
                }
            }
            // A subshell, or what begins a function.
            Next::Group => (expects, names) = (false, true),
            Next::Redirect => names = false,
            Next::Join => {
                if names
                    && !matches!(line.get(start..at).map(str::trim_end), Some(text) if text.ends_with(')') || text.ends_with('}'))
                {
                    return None;
                }
                (expects, names) = (true, true);
            }
            Next::Newline if expects => {}
            Next::Newline | Next::Semicolon | Next::Ampersand | Next::Over => {
                if expects {
                    return None;
                }
                names = true;
                if open == 0 {
                    if next != Next::Newline && !scan.documents.is_empty() {
                        // They begin on the next line: only what has nothing behind it on its own is told from the rest.
                        scan.end_line()?;
                    }
                    let text = line.get(start..at)?.trim();
                    let after = line.get(at..scan.at)?;
                    let documents =
                        after.split_once('\n').map_or("", |(_, documents)| documents).trim_end_matches('\n');
                    let end = if next == Next::Ampersand { End::Ampersand } else { End::Semicolon };
                    let is_comment = text.lines().all(|line| line.trim_start().starts_with('#'));
                    if !text.is_empty() && !is_comment {
                        items.push(Item { text, documents, end });
                    } else if end == End::Ampersand {
                        return None;
                    }
                    start = scan.at;
                }
                if next == Next::Over {
                    return (open == 0 && scan.documents.is_empty()).then_some(items);
                }
            }
        }
    }
}

/// What comes next in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next<'a> {
    Blank,
    Word(&'a str),
    /// Something in parentheses.
    Group,
    Redirect,
    /// `&&`, `||`, `|`.
    Join,
    Newline,
    Semicolon,
    Ampersand,
    Over,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Quotes and brackets that are open.
    depth: usize,
    /// Here-documents that begin on the next line.
    documents: Vec<Document>,
}

/// A here-document.
struct Document {
    /// The line that ends it.
    end: String,
    /// Whether tabs before that do not count.
    tabs: bool,
    /// Whether its text is taken as it stands.
    plain: bool,
}

/// Quotes and brackets that are followed into each other.
const DEEPEST: usize = 50;

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn starts(&self, with: &str) -> bool {
        self.rest().starts_with(with)
    }

    fn take(&mut self, bytes: usize, next: Next<'a>) -> Option<Next<'a>> {
        self.at += bytes;
        Some(next)
    }

    /// The next piece; none for what is not understood here.
    fn step(&mut self) -> Option<Next<'a>> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Some(Next::Over) };
        if rest.starts_with("\\\n") {
            return self.take(2, Next::Blank);
        }
        match first {
            '\n' => {
                self.at += 1;
                self.bodies()?;
                Some(Next::Newline)
            }
            ' ' | '\t' | '\r' => self.take(1, Next::Blank),
            '#' => self.take(rest.find('\n').unwrap_or(rest.len()), Next::Blank),
            ';' if rest.starts_with(";;") || rest.starts_with(";&") => None,
            ';' => self.take(1, Next::Semicolon),
            '&' if rest.starts_with("&&") => self.take(2, Next::Join),
            '&' if rest.starts_with("&>>") => self.take(3, Next::Redirect),
            '&' if rest.starts_with("&>") => self.take(2, Next::Redirect),
            '&' => self.take(1, Next::Ampersand),
            '|' if rest.starts_with("||") || rest.starts_with("|&") => self.take(2, Next::Join),
            '|' => self.take(1, Next::Join),
            '<' if rest.starts_with("<<<") => self.take(3, Next::Redirect),
            '<' if rest.starts_with("<<") => {
                self.document()?;
                Some(Next::Redirect)
            }
            '<' | '>' => {
                let two = [">>", ">&", "<&", ">|", "<>"].iter().any(|two| rest.starts_with(two));
                self.take(if two { 2 } else { 1 }, Next::Redirect)
            }
            '(' if rest.starts_with("((") => None,
            '(' => {
                self.group('(', ')')?;
                Some(Next::Group)
            }
            ')' => None,
            _ => {
                let start = self.at;
                while let Some(c) = self.rest().chars().next() {
                    if c.is_whitespace() || ";&|<>()".contains(c) {
                        break;
                    }
                    self.piece(c)?;
                }
                Some(Next::Word(self.text.get(start..self.at)?))
            }
        }
    }

    /// The head of a here-document: `<<END`, `<<-'END'`.
    fn document(&mut self) -> Option<()> {
        let tabs = self.starts("<<-");
        self.at += if tabs { 3 } else { 2 };
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let start = self.at;
        while let Some(c) =
            self.rest().chars().next().filter(|c| !c.is_whitespace() && !";&|<>()".contains(*c))
        {
            self.piece(c)?;
        }
        let word = self.text.get(start..self.at)?;
        let end: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        if end.is_empty() || word.contains(['$', '`', '\n']) {
            return None;
        }
        self.documents.push(Document { plain: end != word, end, tabs });
        Some(())
    }

    /// The here-documents that begin here.
    fn bodies(&mut self) -> Option<()> {
        for document in std::mem::take(&mut self.documents) {
            let mut goes_on = false;
            loop {
                let line = self.rest().lines().next()?;
                let shown = if document.tabs { line.trim_start_matches('\t') } else { line };
                // A line that goes on behind its end is not told from the next.
                if shown == document.end && goes_on {
                    return None;
                }
                self.at = (self.at + line.len() + 1).min(self.text.len());
                if shown == document.end {
                    break;
                }
                goes_on = !document.plain && line.ends_with('\\');
            }
        }
        Some(())
    }

    /// The rest of the line, which is to be empty, and the here-documents behind it.
    fn end_line(&mut self) -> Option<()> {
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.at += blanks;
        if !self.starts("\n") {
            return None;
        }
        self.at += 1;
        self.bodies()
    }

    /// A character of a word, or what is quoted or put in there.
    fn piece(&mut self, first: char) -> Option<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        match first {
            '\\' => {
                self.at += 1;
                self.at += self.rest().chars().next()?.len_utf8();
            }
            '\'' => self.at += self.rest().get(1..)?.find('\'')? + 2,
            '"' => self.quoted('"')?,
            '`' => self.quoted('`')?,
            '$' if self.starts("$'") => {
                self.at += 1;
                self.quoted('\'')?;
            }
            '$' if self.starts("$(") => {
                self.at += 1;
                self.group('(', ')')?;
            }
            '$' if self.starts("${") => {
                self.at += 1;
                self.group('{', '}')?;
            }
            other => self.at += other.len_utf8(),
        }
        self.depth -= 1;
        Some(())
    }

    /// Up to the same mark once more; what is put in between double quotes has quotes of its own.
    fn quoted(&mut self, mark: char) -> Option<()> {
        self.at += 1;
        loop {
            let c = self.rest().chars().next()?;
            match c {
                c if c == mark => {
                    self.at += 1;
                    return Some(());
                }
                '\\' => {
                    self.at += 1;
                    self.at += self.rest().chars().next()?.len_utf8();
                }
                '$' | '`' if mark == '"' => self.piece(c)?,
                c => self.at += c.len_utf8(),
            }
        }
    }

    /// From a bracket to the one that closes it. Patterns of `case` and here-documents have other ends.
    fn group(&mut self, opens: char, closes: char) -> Option<()> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            let c = self.rest().chars().next()?;
            match c {
                c if c == opens => (self.at, depth) = (self.at + 1, depth + 1),
                c if c == closes => {
                    (self.at, depth) = (self.at + 1, depth - 1);
                    if depth == 0 {
                        let inner = self.text.get(start..self.at)?;
                        return (!has(inner, &["case"]) && !inner.contains("<<") && !inner.contains(" #"))
                            .then_some(());
                    }
                }
                c => self.piece(c)?,
            }
        }
    }
}

#[cfg(test)]
#[path = "ampersand_tests.rs"]
mod tests;
