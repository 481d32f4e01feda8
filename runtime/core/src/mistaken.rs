//! Whether a snippet was given in the wrong language: a guess from its text, made once its own language could not read it.
//!
//! A guess is a hint and nothing more. So only signs count that one language has and the other has not, and quoted text is
//! left out: a program that writes another language's text is no text in that language.

use crate::{EvalRequest, Exception, Language, Outcome, Status, notebook};

/// Bytes of a source that are looked at.
const SEEN: usize = 4 << 10;
/// What stands in a hint before and after the name of the language.
const NAMED: (&str, &str) = (": name `", "` as the language");

/// A hint of this kind in the words of a door where languages are not named, or not so: `told` has what comes in the place of
/// "name `php` as the language". Other hints as they are.
pub fn in_other_words(hint: &str, told: impl Fn(&str) -> String) -> String {
    let named = hint.strip_suffix(NAMED.1).and_then(|hint| hint.rsplit_once(NAMED.0));
    named.map_or_else(|| hint.to_owned(), |(looks, language)| format!("{looks}: {}", told(language)))
}

/// What has to be remembered of a request to tell afterwards.
pub(crate) struct Read {
    language: Language,
    beginning: String,
}

impl Read {
    /// Of this one.
    pub(crate) fn of(request: &EvalRequest) -> Self {
        let end = request.code.floor_char_boundary(SEEN);
        Self { language: request.language.clone(), beginning: request.code[..end].to_owned() }
    }

    /// Adds the hint to an exception that says that the source cannot be read, where another language can be meant.
    pub(crate) fn hint(&self, outcome: &mut Outcome) {
        let Status::Raised(exception) = &mut outcome.status else { return };
        let (read, title) = (&self.language, self.language.title());
        let notebook = notebook::hint(read, exception);
        let other = if is_unreadable(exception) { looks_like(&self.beginning, read) } else { None };
        let hint = match other {
            _ if notebook.is_some() => notebook,
            Some(other) => {
                let looks = other.title();
                Some(format!("it was read as {title} and looks like {looks}{}{other}{}", NAMED.0, NAMED.1))
            }
            None if is_return(exception) => Some(format!(
                "{title} has no `return` outside of a function: the value is that of the last expression"
            )),
            None => foreign(&self.beginning, read, exception)
                .map(|(word, own)| format!("{title} has no `{word}`: write `{own}`")),
        };
        exception.hint = hint.or(exception.hint.take());
    }
}

/// Words of other languages, and what a language has in their place.
const WORDS: [(&str, &[(&str, &str)]); 3] = [
    ("python", &[("null", "None"), ("undefined", "None"), ("true", "True"), ("false", "False")]),
    ("javascript", &[("None", "null"), ("True", "true"), ("False", "false"), ("print", "console.log")]),
    ("php", &[("None", "null"), ("undefined", "null")]),
];

/// The word of another language that an exception says is not there and that the source has outside of quotes, and what is
/// written in its place.
fn foreign(source: &str, read: &Language, exception: &Exception) -> Option<(&'static str, &'static str)> {
    if !matches!(exception.class.as_str(), "NameError" | "ReferenceError" | "Error") {
        return None;
    }
    let runs_as = read.runs_as();
    let (_, words) = WORDS.iter().find(|(language, _)| runs_as.as_str() == *language)?;
    let message = exception.message.as_str();
    let is_named = |word: &str| {
        [
            format!("name '{word}' is not defined"),
            format!("{word} is not defined"),
            format!("'{word}' is not defined"),
        ]
        .iter()
        .any(|beginning| message.starts_with(beginning))
            || message == format!("Undefined constant \"{word}\"")
    };
    let (word, own) = words.iter().find(|(word, _)| is_named(word))?;
    let names =
        |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|name| name == *word);
    source.lines().any(|line| names(&bare(line))).then_some((*word, *own))
}

/// Whether it says that a `return` stands where none can.
fn is_return(exception: &Exception) -> bool {
    let says = ["'return' outside function", "return not in a function"];
    exception.class == "SyntaxError" && says.iter().any(|says| exception.message.starts_with(says))
}

/// Whether the language's grammar is what the source broke. JavaScript's `console` is a name that others do not have.
fn is_unreadable(exception: &Exception) -> bool {
    match exception.class.as_str() {
        "SyntaxError" | "IndentationError" | "TabError" | "ParseError" | "CompileError" => true,
        "NameError" | "Error" => {
            let message = &exception.message;
            message.contains("'console'") || message.contains("\"console\"")
        }
        _ => false,
    }
}

/// The language that a source looks like, which `read` is not.
fn looks_like(source: &str, read: &Language) -> Option<Language> {
    let lines: Vec<String> = source.lines().map(bare).collect();
    let any = |is: fn(&str) -> bool| lines.iter().any(|line| is(line));
    let (python, php) = (*read == Language::python(), *read == Language::php());
    let script = read.runs_as() == Language::javascript();
    let opened = source.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with("<?");
    if !php && (opened || any(is_php) || (python && any(has_dollar))) {
        return Some(Language::php());
    }
    if *read == Language::javascript() && any(is_typescript) {
        return Some(Language::typescript());
    }
    if !script && (any(is_javascript) || (python && any(is_script))) {
        let typed = any(is_typescript);
        return Some(if typed { Language::typescript() } else { Language::javascript() });
    }
    if !python && any(is_python) {
        return Some(Language::python());
    }
    // At the top level PHP alone has it.
    (python && any(returns)).then(Language::php)
}

/// A line without what stands in quotes.
fn bare(line: &str) -> String {
    let mut told = String::with_capacity(line.len());
    let (mut within, mut escaped) = (None, false);
    for character in line.chars() {
        match within {
            Some(quote) if !escaped && character == quote => within = None,
            Some(_) => {
                escaped = !escaped && character == '\\';
                continue;
            }
            None if matches!(character, '\'' | '"' | '`') => within = Some(character),
            None => {}
        }
        told.push(character);
    }
    told
}

/// The name at the beginning of a text, and what follows it.
fn name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some((name, rest))
}

/// What follows each variable with a dollar sign.
fn after_dollars(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('$').filter_map(|(at, _)| name(&line[at + 1..])).map(|(_, rest)| rest)
}

fn is_php(line: &str) -> bool {
    let start = line.trim_start();
    let ends = line.trim_end().ends_with(';');
    (ends && start.starts_with("echo "))
        || (start.starts_with("foreach (") && start.contains(" as $"))
        || after_dollars(line).any(|rest| rest.starts_with("->") || rest.starts_with("::"))
}

/// A statement with a variable; a text over several lines can have the variable, as one for a shell has.
fn has_dollar(line: &str) -> bool {
    let line = line.trim();
    after_dollars(line).next().is_some() && (line.starts_with('$') || line.ends_with([';', '{', '}']))
}

fn returns(line: &str) -> bool {
    line.starts_with("return ") && line.trim_end().ends_with(';')
}

/// Signs of JavaScript that neither Python nor PHP has.
fn is_javascript(line: &str) -> bool {
    let start = line.trim_start();
    let bound = |keyword: &str| {
        let Some((bound, rest)) = start.strip_prefix(keyword).and_then(name) else { return false };
        // PHP has constants, which are written in capitals.
        let rest = rest.trim_start();
        bound.starts_with(|c: char| c.is_lowercase()) && (rest.starts_with('=') || rest.starts_with(": "))
    };
    line.contains("console.log(") || bound("let ") || bound("const ") || bound("var ")
}

/// Signs that Python does not have.
fn is_script(line: &str) -> bool {
    let start = line.trim_start();
    let function = start.strip_prefix("async ").unwrap_or(start).strip_prefix("function ");
    let unpacked = ["const {", "const [", "let {", "let ["].iter().any(|open| start.starts_with(open));
    function.is_some_and(|rest| rest.contains('('))
        || unpacked
        || line.contains(") => ")
        || line.contains("===")
}

fn is_typescript(line: &str) -> bool {
    let start = line.trim_start();
    let start = start.strip_prefix("export ").unwrap_or(start);
    let declared = |keyword: &str, after: char| {
        let Some((_, rest)) = start.strip_prefix(keyword).and_then(name) else { return false };
        let rest = rest.trim_start();
        rest.starts_with(after) || rest.starts_with('<')
    };
    let typed = ["string", "number", "boolean", "unknown", "any", "void"].iter().any(|word| {
        line.match_indices(&format!(": {word}")).any(|(at, sign)| {
            let rest = &line[at + sign.len()..];
            // In an object it would be a value that is followed by a comma or the end.
            rest.starts_with([')', '[']) || rest.trim_start().starts_with(['=', '{'])
        })
    });
    declared("interface ", '{') || declared("type ", '=') || declared("enum ", '{') || typed
}

fn is_python(line: &str) -> bool {
    let start = line.trim();
    let opens = start.ends_with(':');
    let begins = |word: &str| start.starts_with(word);
    let plain = !start.contains([';', '\'', '"', '{', '*', '\\']);
    // PHP has these with parentheses, and JavaScript without a colon.
    let asks = ["if ", "while "].iter().any(|word| {
        start
            .strip_prefix(word)
            .is_some_and(|rest| !rest.trim_start().starts_with('(') && !rest.contains('$'))
    });
    let bound = ["let ", "const ", "var "].into_iter().any(begins);
    let sets = [" = None", " = True", " = False", " is None", " is not None"];
    (opens && asks)
        || (plain && !bound && sets.iter().any(|end| start.ends_with(end)))
        || (opens && (begins("def ") || begins("async def ") || begins("elif ")))
        || (opens && begins("class ") && !start.contains('{'))
        || (opens && begins("for ") && start.contains(" in "))
        || (plain && begins("import "))
        || (plain && begins("from ") && start.contains(" import "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(read: &str, source: &str) -> Option<String> {
        looks_like(source, &Language::parse(read).unwrap()).map(|language| language.as_str().to_owned())
    }

    #[test]
    fn the_signs_of_another_language_are_seen() {
        for (read, source, other) in [
            ("python", "return 1 + 1;", "php"),
            ("python", "<?php return 1;", "php"),
            ("python", "$users = container('users');", "php"),
            ("python", "echo 1;", "php"),
            ("python", "foreach ([1] as $x) { }", "php"),
            ("javascript", "$users->find(1)", "php"),
            ("javascript", "<?php echo 1;", "php"),
            ("python", "const x = 1; x", "javascript"),
            ("python", "let x = 1\nreturn x;", "javascript"),
            ("python", "[1, 2].map((x) => x * 2)", "javascript"),
            ("python", "function f(a) { return a }", "javascript"),
            ("python", "console.log(1)", "javascript"),
            ("php", "const x = 1; x", "javascript"),
            ("php", "console.log(1)", "javascript"),
            ("python", "const x: number = 1; x", "typescript"),
            ("javascript", "const x: number = 1; x", "typescript"),
            ("javascript", "interface A { b: string }", "typescript"),
            ("javascript", "function f(a: string) { }", "typescript"),
            ("javascript", "import json\njson.loads('[]')", "python"),
            ("typescript", "from os import path", "python"),
            ("php", "def f(x):\n    return x", "python"),
            ("javascript", "for x in range(3):\n    print(x)", "python"),
            ("javascript", "x = 1\nwhile x < 3:\n    x += 1", "python"),
            ("typescript", "if x is not None:\n    y = 1", "python"),
            ("php", "x = None", "python"),
        ] {
            assert_eq!(seen(read, source).as_deref(), Some(other), "{read}: {source}");
        }
    }

    #[test]
    fn what_only_breaks_its_own_language_and_what_is_quoted_is_not_guessed_at() {
        for (read, source) in [
            ("python", "x = = 1"),
            ("python", "def f(:\n    return 1"),
            ("python", "print('const x = 1; $y->z' "),
            ("python", "text = \"it\\\"s $x\" +"),
            ("python", "price = '$5' +"),
            ("python", "script = \"\"\"\necho $HOME\n\"\"\" +"),
            ("javascript", "const x = ;"),
            ("javascript", "return 1 + 1;"),
            ("javascript", "$el = $('#a'"),
            ("javascript", "({ kind: string, other: any )"),
            ("javascript", "import { a } from 'b' +"),
            ("javascript", "import x from './y' +"),
            ("typescript", "let x: = 1"),
            ("php", "$x = [1 => 2;"),
            ("php", "const X = ;"),
            ("php", "function f($x) { return $x === 1 ? : 2; }"),
            ("php", "if ($x): echo 1; else: endif"),
            ("php", "if ($x):\n  while ($y > 1):\n"),
            ("javascript", "if (a) {\n  x = {a: None, b:\n"),
            ("typescript", "enum A { None = 0, True = 1, }\nlet x = A.None +"),
            ("php", "use A\\B; import"),
        ] {
            assert_eq!(seen(read, source), None, "{read}: {source}");
        }
    }

    #[test]
    fn a_hint_can_be_told_in_the_words_of_a_door() {
        let hint = "it looks like PHP: name `php` as the language";
        let told = |hint| in_other_words(hint, |language| format!("add `-l {language}`"));
        assert_eq!(told(hint), "it looks like PHP: add `-l php`");
        assert_eq!(told("raise the time-out"), "raise the time-out");
    }

    fn hinted(read: &str, source: &str, class: &str, message: &str) -> Option<String> {
        let exception =
            serde_json::from_value(serde_json::json!({"class": class, "message": message})).unwrap();
        foreign(source, &Language::parse(read).unwrap(), &exception)
            .map(|(word, own)| format!("{word} {own}"))
    }

    #[test]
    fn a_word_of_another_language_is_told_where_it_is_what_is_missing() {
        for (read, source, class, message, told) in [
            ("python", "x = null", "NameError", "name 'null' is not defined", Some("null None")),
            (
                "python",
                "f(true)",
                "NameError",
                "name 'true' is not defined. Did you mean: 'True'?",
                Some("true True"),
            ),
            ("js", "let x = None", "ReferenceError", "None is not defined", Some("None null")),
            ("ts", "let x = True", "ReferenceError", "'True' is not defined", Some("True true")),
            ("js", "print(1)", "ReferenceError", "print is not defined", Some("print console.log")),
            ("php", "return None;", "Error", "Undefined constant \"None\"", Some("None null")),
            // What stands in quotes is no word of the source.
            ("python", "eval('{\"a\": true}')", "NameError", "name 'true' is not defined", None),
            ("python", "nullable", "NameError", "name 'nullable' is not defined", None),
            ("python", "x = null\ny", "NameError", "name 'y' is not defined", None),
            ("python", "raise ValueError(\"null\") # null", "ValueError", "name 'null' is not defined", None),
            ("js", "f(Nothing)", "ReferenceError", "Nothing is not defined", None),
        ] {
            assert_eq!(hinted(read, source, class, message).as_deref(), told, "{read}: {source}");
        }
    }

    #[test]
    fn only_a_source_that_cannot_be_read_gets_a_hint() {
        let exception = |class: &str, message: &str| -> Exception {
            serde_json::from_value(
                serde_json::json!({"class": class, "message": message, "hint": "a guest's"}),
            )
            .unwrap()
        };
        assert_eq!(exception("E", "").hint, None, "a guest gives no hints in our words");
        for (class, message, hinted) in [
            ("SyntaxError", "'return' outside function", true),
            ("ParseError", "", true),
            ("NameError", "name 'console' is not defined", true),
            ("NameError", "name 'x' is not defined", false),
            ("ValueError", "", false),
        ] {
            assert_eq!(is_unreadable(&exception(class, message)), hinted, "{class}");
        }
    }
}
