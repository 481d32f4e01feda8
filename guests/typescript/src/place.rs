//! A writer that puts compiled code where its source stood: each token in its line, and in its column where the line has
//! room for it. Errors and stack traces then name the places of the source, without a map that somebody has to keep.
//!
//! A line is broken only where that cannot change what the code means ([`Placed::can_break`]); what comes too late for its
//! line stays late until the next place where it can be broken. Where compiling has changed the order of lines, some tokens
//! cannot stand in theirs ([`Placed::disorder`]); the code is written again then, without asking for it.

use swc_common::{BytePos, Span};
use swc_ecma_codegen::Result;
use swc_ecma_codegen::text_writer::WriteJs;

use crate::order;

/// The code that has been written so far.
pub(crate) struct Placed<'a> {
    source: &'a [u8],
    /// Where each of the source's lines begins, in bytes.
    lines: Vec<usize>,
    code: String,
    /// Where the code ends, both from 0; columns are characters.
    line: usize,
    column: usize,
    /// The place in the source of what comes next, in bytes, if that was told.
    next: Option<usize>,
    /// Whether a space was asked for.
    gap: bool,
    /// Whether a new line was asked for.
    new_line: bool,
    last: Last,
    /// Template literals and the holes in them that have not ended.
    templates: Vec<Template>,
    /// A place in the source whose column is known, in bytes, and that column.
    known: (usize, usize),
    /// The line that each token came from, from 1; 0 where that is not known.
    came_from: Vec<u32>,
    /// Which of them are to stand there.
    kept: Option<Vec<bool>>,
}

/// What the last token means for a line's end after it.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// Something must follow: an operator, an open bracket, a comma. So does the beginning.
    Open,
    /// A bracket that closes.
    Close,
    /// A name, a keyword, a literal.
    Word,
    /// A token that belongs to the next.
    Glue,
}

enum Template {
    Text,
    /// A hole, with the braces that are open in it.
    Hole(usize),
}

impl<'a> Placed<'a> {
    /// For code that was compiled from `source`, the first file of its map. It begins with `before`, which has no line ends.
    pub(crate) fn new(source: &'a str, before: String, kept: Option<Vec<bool>>) -> Self {
        let begins = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self {
            source: source.as_bytes(),
            lines: std::iter::once(0).chain(begins).collect(),
            line: 0,
            column: characters(before.as_bytes()),
            code: before,
            next: None,
            gap: false,
            new_line: false,
            last: Last::Open,
            templates: Vec::new(),
            known: (0, 0),
            came_from: Vec::new(),
            kept,
        }
    }

    /// Which tokens can stand in their lines; none: all of them.
    pub(crate) fn disorder(&self) -> Option<Vec<bool>> {
        order::kept(&self.came_from)
    }

    pub(crate) fn into_code(self) -> String {
        self.code
    }

    fn word(&mut self, span: Option<Span>, text: &str) -> Result {
        self.token(span, text, Last::Word);
        Ok(())
    }

    fn punctuation(&mut self, span: Option<Span>, text: &str) -> Result {
        let last = match text {
            // A slash may end a regular expression, whose flags follow.
            "++" | "--" | "#" | "@" | "/" | "`" => Last::Glue,
            _ if text.ends_with([')', ']', '}']) => Last::Close,
            _ => Last::Open,
        };
        self.token(span, text, last);
        Ok(())
    }

    fn token(&mut self, span: Option<Span>, text: &str, last: Last) {
        if text.is_empty() {
            return;
        }
        let told = self.next.take();
        let mut place = span.and_then(|span| self.offset(span.lo)).or(told);
        match &self.kept {
            Some(kept) if !kept.get(self.came_from.len()).is_some_and(|kept| *kept) => place = None,
            _ => {}
        }
        let line = place.map_or(0, |place| self.lines.partition_point(|begin| *begin <= place));
        self.came_from.push(u32::try_from(line).unwrap_or(u32::MAX));
        // The text of a template means what it is.
        if !matches!(self.templates.last(), Some(Template::Text)) {
            self.approach(place, text);
        }
        if last != Last::Word {
            self.nest(text);
        }
        self.push(text);
        (self.gap, self.new_line) = (false, false);
        let ends_template = text == "`" && !matches!(self.templates.last(), Some(Template::Text));
        self.last = if ends_template { Last::Word } else { last };
    }

    /// Goes as near to a place of the source as the code allows, or leaves a space where one is needed.
    fn approach(&mut self, place: Option<usize>, text: &str) {
        if let Some(place) = place {
            let (line, column) = self.locate(place);
            if line > self.line && self.can_break(text) {
                self.code.extend(std::iter::repeat_n('\n', line - self.line));
                (self.line, self.column) = (line, 0);
                (self.gap, self.new_line) = (false, false);
            }
            if line == self.line && column > self.column && self.last != Last::Glue {
                self.code.extend(std::iter::repeat_n(' ', column - self.column));
                self.column = column;
                return;
            }
        }
        let touches = |one: Option<char>, other: Option<char>, of: fn(char) -> bool| {
            one.is_some_and(of) && other.is_some_and(of)
        };
        let (before, after) = (self.code.chars().next_back(), text.chars().next());
        if (self.gap || self.new_line)
            && (touches(before, after, is_word) || touches(before, after, is_operator))
        {
            self.push(" ");
        }
    }

    /// Whether a new line before a token leaves the code's meaning as it is. Tokens that would be read as one statement
    /// without it still are, but for the few that must share a line with the one before: `=>`, `++` and `--` behind what
    /// they change, and what follows `return`, `throw`, `break`, `continue`, `yield` and `async`.
    fn can_break(&self, text: &str) -> bool {
        match self.last {
            Last::Open => true,
            Last::Close => self.new_line || !matches!(text, "=>" | "++" | "--"),
            // `.5` is a number, and may follow `return`.
            Last::Word => {
                let goes_on = text.starts_with(['?', '&', '|', '=', ',', ':']) && text != "=>";
                self.new_line || goes_on || text == "."
            }
            Last::Glue => false,
        }
    }

    /// Follows template literals, whose text must not be changed.
    fn nest(&mut self, text: &str) {
        match (text, self.templates.last_mut()) {
            ("`", Some(Template::Text)) => drop(self.templates.pop()),
            ("`", _) => self.templates.push(Template::Text),
            ("${", _) => self.templates.push(Template::Hole(0)),
            ("{", Some(Template::Hole(open))) => *open += 1,
            ("}", Some(Template::Hole(0))) => drop(self.templates.pop()),
            ("}", Some(Template::Hole(open))) => *open -= 1,
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        self.code.push_str(text);
        let (lines, rest) = match text.rfind('\n') {
            Some(end) => (text.bytes().filter(|byte| *byte == b'\n').count(), &text[end + 1..]),
            None => (0, text),
        };
        self.column = if lines > 0 { 0 } else { self.column } + characters(rest.as_bytes());
        self.line += lines;
    }

    /// The place in the source that a position of swc's is; none for one that it made up. The first byte has number 1.
    fn offset(&self, position: BytePos) -> Option<usize> {
        let place = (position.0 as usize).checked_sub(1)?;
        (place <= self.source.len()).then_some(place)
    }

    /// Line and column of a place in the source, both from 0.
    fn locate(&mut self, place: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|begin| *begin <= place).saturating_sub(1);
        let begin = self.lines[line];
        // Places mostly follow one another, so that a long line is not counted from its beginning each time.
        let (from, counted) = if (begin..=place).contains(&self.known.0) { self.known } else { (begin, 0) };
        let column = counted + characters(&self.source[from..place]);
        self.known = (place, column);
        (line, column)
    }
}

/// Characters of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric()
        || !character.is_ascii()
        || matches!(character, '_' | '$' | '#' | '@' | '\\' | '"' | '\'')
}

fn is_operator(character: char) -> bool {
    matches!(
        character,
        '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '^' | '~' | '?' | '.' | ':'
    )
}

impl WriteJs for Placed<'_> {
    fn increase_indent(&mut self) -> Result {
        Ok(())
    }

    fn decrease_indent(&mut self) -> Result {
        Ok(())
    }

    fn write_semi(&mut self, span: Option<Span>) -> Result {
        self.punctuation(span, ";")
    }

    fn write_space(&mut self) -> Result {
        self.gap = true;
        Ok(())
    }

    fn write_keyword(&mut self, span: Option<Span>, text: &'static str) -> Result {
        self.word(span, text)
    }

    fn write_operator(&mut self, span: Option<Span>, text: &str) -> Result {
        match text.chars().next() {
            // `in`, `instanceof` and others.
            Some(first) if is_word(first) => self.word(span, text),
            _ => self.punctuation(span, text),
        }
    }

    fn write_param(&mut self, text: &str) -> Result {
        self.word(None, text)
    }

    fn write_property(&mut self, text: &str) -> Result {
        self.word(None, text)
    }

    fn write_line(&mut self) -> Result {
        self.new_line = true;
        Ok(())
    }

    fn write_lit(&mut self, span: Span, text: &str) -> Result {
        self.word(Some(span), text)
    }

    fn write_comment(&mut self, _: &str) -> Result {
        Ok(())
    }

    fn write_str_lit(&mut self, span: Span, text: &str) -> Result {
        self.word(Some(span), text)
    }

    fn write_str(&mut self, text: &str) -> Result {
        self.word(None, text)
    }

    fn write_symbol(&mut self, span: Span, text: &str) -> Result {
        self.word(Some(span), text)
    }

    fn write_punct(&mut self, span: Option<Span>, text: &'static str, _: bool) -> Result {
        self.punctuation(span, text)
    }

    fn care_about_srcmap(&self) -> bool {
        true
    }

    fn add_srcmap(&mut self, position: BytePos) -> Result {
        self.next = self.offset(position).or(self.next);
        Ok(())
    }

    fn commit_pending_semi(&mut self) -> Result {
        Ok(())
    }
}
