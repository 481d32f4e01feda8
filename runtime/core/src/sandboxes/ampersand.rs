//! What a command line starts with `&`: where it begins and ends in the text.
//!
//! Owns: finding it. A line of which it is not sure that its parts, run one after the other, do what the line does is left
//! whole. Does not own: what becomes of the parts.

/// A command line in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// What runs first; may be empty.
    pub(super) before: String,
    /// What `&` starts.
    pub(super) beside: String,
    /// What runs then; may be empty.
    pub(super) after: String,
}

impl Parts {
    /// What runs then, with the id of the job in the place of `$!`.
    pub(super) fn after(&self, job: &str) -> String {
        self.after.replace("${!}", job).replace("$!", job)
    }
}

/// Words that let what comes before differ from a line of its own: it may not come to its end, or sets what does not last.
const OWN_LINE: &[&str] =
    &["exit", "return", "exec", "set", "shopt", "trap", "logout", "ulimit", "umask", "source", "eval"];
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

/// Takes a line apart. `None` where nothing is started with `&`, where it is asked for again, and for what is not understood
/// here, such as here-documents. With `placed` the line runs in a folder of its own, which a part must not leave.
pub(super) fn parts(line: &str, placed: bool) -> Option<Parts> {
    let items = kept(items(line)?);
    let first = items.iter().position(|(_, end)| *end == End::Ampersand)?;
    let (before, rest) = items.split_at(first);
    let last = rest.iter().position(|(_, end)| *end != End::Ampersand).unwrap_or(rest.len());
    let (beside, after) = rest.split_at(last);
    if after.iter().any(|(text, end)| *end == End::Ampersand || has(text, ASKS) || is_unsure(text)) {
        return None;
    }
    if before.iter().any(|(text, _)| has(text, OWN_LINE) || (placed && has(text, MOVES))) {
        return None;
    }
    let join = |items: &[(&str, End)], with: &str| {
        items.iter().map(|(text, _)| *text).collect::<Vec<_>>().join(with)
    };
    Some(Parts { before: join(before, "\n"), beside: join(beside, " &\n"), after: join(after, "\n") })
}

/// Whether a `$!` in the text may be none of the shell's: it is replaced without a look at quotes.
fn is_unsure(text: &str) -> bool {
    let names = text.contains("$!") || text.contains("${!}");
    names && text.contains(['\'', '\\'])
}

/// The items without each `disown` that directly follows what `&` starts, which goes on in any case.
fn kept(items: Vec<(&str, End)>) -> Vec<(&str, End)> {
    let mut kept: Vec<(&str, End)> = Vec::with_capacity(items.len());
    for (text, end) in items {
        let disowns = words(text).next() == Some("disown") && !text.contains(['&', '|']);
        let follows = kept.last().is_some_and(|(_, end)| *end == End::Ampersand);
        if !(disowns && follows && end == End::Semicolon) {
            kept.push((text, end));
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
fn items(line: &str) -> Option<Vec<(&str, End)>> {
    let mut scan = Scan { text: line, at: 0, depth: 0 };
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
                    let text = line.get(start..at)?.trim();
                    let end = if next == Next::Ampersand { End::Ampersand } else { End::Semicolon };
                    let is_comment = text.lines().all(|line| line.trim_start().starts_with('#'));
                    if !text.is_empty() && !is_comment {
                        items.push((text, end));
                    } else if end == End::Ampersand {
                        return None;
                    }
                    start = scan.at;
                }
                if next == Next::Over {
                    return (open == 0).then_some(items);
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
            '\n' => self.take(1, Next::Newline),
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
            '<' if rest.starts_with("<<") => None,
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
mod tests {
    use super::*;

    #[track_caller]
    fn apart(line: &str, wanted: [&str; 3]) {
        let [before, beside, after] = wanted.map(str::to_owned);
        assert_eq!(parts(line, false), Some(Parts { before, beside, after }), "{line}");
    }

    #[test]
    fn what_is_started_with_an_ampersand_is_found() {
        apart("sleep 5 &", ["", "sleep 5", ""]);
        apart("sleep 5 & echo started", ["", "sleep 5", "echo started"]);
        apart("cd app; npm start > log 2>&1 &", ["cd app", "npm start > log 2>&1", ""]);
        apart("cd app && npm start &", ["", "cd app && npm start", ""]);
        apart("mkdir -p a\nnohup python3 a.py &> log &\n", ["mkdir -p a", "nohup python3 a.py &> log", ""]);
        apart("nohup a.py & disown\necho on", ["", "nohup a.py", "echo on"]);
        apart("a & disown -a", ["", "a", ""]);
        apart("a & disown; b & disown; echo c", ["", "a &\nb", "echo c"]);
        apart("echo x\na & disown\nnohup b & disown %2\nc &", ["echo x", "a &\nnohup b &\nc", ""]);
        apart("nohup a > log 2>&1 & echo $! > pid", ["", "nohup a > log 2>&1", "echo $! > pid"]);
        assert_eq!(parts("a & echo \"${!}\" $!", false).unwrap().after("job-1"), "echo \"job-1\" job-1");
        apart("a & b & echo c", ["", "a &\nb", "echo c"]);
        apart(
            "(while true; do date >> log; sleep 0.1; done) &",
            ["", "(while true; do date >> log; sleep 0.1; done)", ""],
        );
        apart("while true; do date & sleep 1; done &", ["", "while true; do date & sleep 1; done", ""]);
        apart("{ a; b; } & c", ["", "{ a; b; }", "c"]);
        apart("f() { sleep 1; }; f &", ["f() { sleep 1; }", "f", ""]);
        apart("echo \"a & b; c\" 'd & e' f\\& & g", ["", "echo \"a & b; c\" 'd & e' f\\&", "g"]);
        apart("x=$(a & b) y=${z:-\")\"} w | v & u", ["", "x=$(a & b) y=${z:-\")\"} w | v", "u"]);
        apart("if true; then a & fi; b &", ["if true; then a & fi", "b", ""]);
        apart("a &&\n  b &\n# what follows\nc", ["", "a &&\n  b", "c"]);
        apart("a | b |& c & d", ["", "a | b |& c", "d"]);
        apart("a <<< 'x & y' & b >| f", ["", "a <<< 'x & y'", "b >| f"]);
        apart("(a) && b & c", ["", "(a) && b", "c"]);
    }

    #[test]
    fn a_line_that_its_parts_would_not_do_stays_whole() {
        for line in [
            "",
            "echo a && b || c",
            "echo a 2>&1 >&2 &> f",
            "echo 'a & b'",
            "echo a \\& b",
            "echo a # & b",
            "(a & b)",
            "for i in 1 2; do a & done",
            "for i in 1 2; do a & done; wait",
            "a & wait",
            "a & b & wait",
            "a & p=$!; kill $p",
            "a & echo '$!'",
            "a & echo \\$!",
            "a & kill %1",
            "a & b; c &",
            "a & disown && b",
            "a & disown; b; c & disown",
            "disown; a & b; disown",
            "cd app || exit 1; a &",
            "set -e; a &",
            "cat << EOF\na & b\nEOF\nb &",
            "case a in a) b & ;; esac",
            "a & case b in b) c;; esac",
            "echo \"a & b",
            "a & )",
            "a & (b",
            "& a",
            "a & & b",
            "a && & b",
            "a; } & b",
            "if a; then b & c",
            "((i = 1 & 2)) & b",
        ] {
            assert_eq!(parts(line, false), None, "{line}");
        }
        assert_eq!(parts("cd a; b &", true), None, "a folder for the line alone");
        assert!(parts("cat a; b &", true).is_some());
    }

    #[test]
    fn a_hint_is_given_where_something_is_started() {
        for (line, wanted) in [
            ("a & wait", true),
            ("a &", true),
            ("a && b", false),
            ("a &> f", false),
            ("a 2>&1", false),
            ("&", true),
            ("", false),
        ] {
            assert_eq!(starts_any(line), wanted, "{line}");
        }
    }

    #[test]
    fn no_text_is_too_much_for_it() {
        for line in
            ["(", "$(", "${", "\"$(", "`", "'", "\\", "a &(", "&&", "|", "é & \u{1f994}", "a &\u{0} b"]
        {
            for times in [1, 2, 10_000] {
                let _ = parts(&line.repeat(times), false);
                let _ = parts(&format!("a & {}", line.repeat(times)), false);
            }
        }
    }
}
