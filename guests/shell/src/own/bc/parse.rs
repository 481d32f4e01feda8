//! The language of `bc`: text to statements.

use super::MAX_DEPTH;

pub(super) enum Expression {
    Number(String),
    /// A variable, or with an index one of an array's.
    Place(Place),
    Call(String, Vec<Argument>),
    Negative(Box<Expression>),
    Not(Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// `place op= value`; the value before it is the result of `x++`.
    Assign {
        place: Place,
        operator: &'static str,
        value: Box<Expression>,
        gives_old: bool,
    },
    Group(Box<Expression>),
}

pub(super) struct Place {
    pub(super) name: String,
    pub(super) index: Option<Box<Expression>>,
}

pub(super) enum Argument {
    Value(Expression),
    Array(String),
}

pub(super) enum Statement {
    Expression(Expression),
    Text(String),
    Print(Vec<Result<String, Expression>>),
    Block(Vec<Statement>),
    If(Expression, Box<Statement>, Option<Box<Statement>>),
    For(Option<Expression>, Option<Expression>, Option<Expression>, Box<Statement>),
    Break,
    Continue,
    Return(Option<Expression>),
    Quit,
    Define(String, Function),
}

pub(super) struct Function {
    pub(super) parameters: Vec<String>,
    pub(super) locals: Vec<String>,
    pub(super) body: std::sync::Arc<Vec<Statement>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(String),
    Name(String),
    Text(String),
    Mark(&'static str),
    Line,
    End,
}

const MARKS: [&str; 34] = [
    "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "<=", ">=", "!=", "&&", "||", "+", "-", "*", "/",
    "%", "^", "=", "<", ">", "!", "(", ")", "{", "}", "[", "]", ",", ";", "~", "?",
];

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let (mut found, mut line, mut rest) = (Vec::new(), 1, text);
    while let Some(first) = rest.chars().next() {
        let take = |test: fn(char) -> bool| rest.find(|letter| !test(letter)).unwrap_or(rest.len());
        let (token, length) = match first {
            '\n' => (Some(Token::Line), 1),
            '\\' if rest[1..].starts_with('\n') => (None, 2),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '"' => {
                let end = rest[1..]
                    .find('"')
                    .ok_or_else(|| format!("(standard_in) {line}: unterminated string"))?;
                (Some(Token::Text(rest[1..=end].to_owned())), end + 2)
            }
            _ if rest.starts_with("/*") => (None, rest.find("*/").map_or(rest.len(), |at| at + 2)),
            _ if first.is_whitespace() => (None, first.len_utf8()),
            '0'..='9' | 'A'..='F' | '.' => {
                let length =
                    take(|letter| letter.is_ascii_digit() || ('A'..='F').contains(&letter) || letter == '.');
                let text = &rest[..length];
                let token =
                    if text == "." { Token::Name("last".into()) } else { Token::Number(text.to_owned()) };
                (Some(token), length)
            }
            'a'..='z' => {
                let length =
                    take(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
                (Some(Token::Name(rest[..length].to_owned())), length)
            }
            _ => match MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
                Some(mark) => (Some(Token::Mark(mark)), mark.len()),
                None => return Err(format!("(standard_in) {line}: illegal character: {first}")),
            },
        };
        found.extend(token.map(|token| (token, line)));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found.push((Token::End, line));
    Ok(found)
}

/// Statements line by line; a line that is none is passed over with its complaint.
pub(super) fn parse(text: &str) -> Vec<Result<Statement, String>> {
    let tokens = match tokens(text) {
        Ok(tokens) => tokens,
        Err(why) => return vec![Err(why)],
    };
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let mut statements = Vec::new();
    loop {
        parser.skip(&[Token::Line, Token::Mark(";")]);
        if parser.next_is(&Token::End) {
            return statements;
        }
        let statement = parser.statement();
        let ended = [Token::Line, Token::Mark(";"), Token::End].iter().any(|end| parser.next_is(end));
        match statement {
            Ok(statement) if ended || matches!(statement, Statement::Define(..)) => {
                statements.push(Ok(statement))
            }
            Ok(_) | Err(()) => {
                statements.push(Err(format!("(standard_in) {}: syntax error", parser.tokens[parser.at].1)));
                while !parser.next_is(&Token::Line) && !parser.next_is(&Token::End) {
                    parser.at += 1;
                }
                parser.depth = 0;
            }
        }
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, ()>;

impl Parser {
    fn next_is(&self, token: &Token) -> bool {
        self.tokens[self.at].0 == *token
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.next_is(token) && *token != Token::End;
        self.at += usize::from(found);
        found
    }

    fn mark(&mut self, mark: &'static str) -> bool {
        self.take(&Token::Mark(mark))
    }

    fn must(&mut self, mark: &'static str) -> Parsed<()> {
        if self.mark(mark) { Ok(()) } else { Err(()) }
    }

    fn word(&mut self, word: &str) -> bool {
        self.take(&Token::Name(word.into()))
    }

    fn name(&mut self) -> Parsed<String> {
        let Token::Name(name) = self.tokens[self.at].0.clone() else { return Err(()) };
        self.at += 1;
        Ok(name)
    }

    fn skip(&mut self, tokens: &[Token]) {
        while tokens.iter().any(|token| self.next_is(token)) {
            self.at += 1;
        }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        let parsed = if self.depth > MAX_DEPTH { Err(()) } else { parse(self) };
        self.depth -= 1;
        parsed
    }

    fn statement(&mut self) -> Parsed<Statement> {
        self.deeper(Self::statement_here)
    }

    fn statement_here(&mut self) -> Parsed<Statement> {
        if self.mark("{") {
            return Ok(Statement::Block(self.block()?));
        }
        if let Token::Text(text) = self.tokens[self.at].0.clone() {
            self.at += 1;
            return Ok(Statement::Text(text));
        }
        let Token::Name(name) = self.tokens[self.at].0.clone() else {
            return Ok(Statement::Expression(self.expression(0)?));
        };
        self.at += 1;
        Ok(match name.as_str() {
            "if" => {
                let test = self.in_brackets()?;
                self.skip(&[Token::Line]);
                let then = Box::new(self.statement()?);
                let before = self.at;
                self.skip(&[Token::Line, Token::Mark(";")]);
                let otherwise = if self.word("else") {
                    self.skip(&[Token::Line]);
                    Some(Box::new(self.statement()?))
                } else {
                    self.at = before;
                    None
                };
                Statement::If(test, then, otherwise)
            }
            "while" => {
                let test = self.in_brackets()?;
                self.skip(&[Token::Line]);
                Statement::For(None, Some(test), None, Box::new(self.statement()?))
            }
            "for" => {
                self.must("(")?;
                let mut part = |end| {
                    let part = if self.next_is(&Token::Mark(end)) { None } else { Some(self.expression(0)?) };
                    self.must(end)?;
                    Ok(part)
                };
                let (first, test, step) = (part(";")?, part(";")?, part(")")?);
                self.skip(&[Token::Line]);
                Statement::For(first, test, step, Box::new(self.statement()?))
            }
            "break" => Statement::Break,
            "continue" => Statement::Continue,
            "quit" | "halt" => Statement::Quit,
            "return" => {
                let ends = [Token::Line, Token::Mark(";"), Token::Mark("}"), Token::End];
                let none = ends.iter().any(|end| self.next_is(end));
                Statement::Return(if none { None } else { Some(self.expression(0)?) })
            }
            "print" => {
                let mut parts = Vec::new();
                loop {
                    parts.push(match self.tokens[self.at].0.clone() {
                        Token::Text(text) => {
                            self.at += 1;
                            Ok(text)
                        }
                        _ => Err(self.expression(0)?),
                    });
                    if !self.mark(",") {
                        break Statement::Print(parts);
                    }
                }
            }
            "define" => self.define()?,
            _ => {
                self.at -= 1;
                Statement::Expression(self.expression(0)?)
            }
        })
    }

    fn block(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            self.skip(&[Token::Line, Token::Mark(";")]);
            if self.mark("}") {
                return Ok(statements);
            }
            statements.push(self.statement()?);
        }
    }

    fn define(&mut self) -> Parsed<Statement> {
        self.word("void");
        let name = self.name()?;
        self.must("(")?;
        let parameters = self.names(")")?;
        self.must(")")?;
        self.skip(&[Token::Line]);
        self.must("{")?;
        self.skip(&[Token::Line]);
        let locals = if self.word("auto") { self.names(";")? } else { Vec::new() };
        let body = self.block()?.into();
        Ok(Statement::Define(name, Function { parameters, locals, body }))
    }

    /// Names up to a mark; arrays have brackets behind theirs.
    fn names(&mut self, end: &'static str) -> Parsed<Vec<String>> {
        let mut names = Vec::new();
        while !self.next_is(&Token::Mark(end)) && !self.next_is(&Token::Line) {
            let mut name = self.name()?;
            if self.mark("[") {
                self.must("]")?;
                name += "[]";
            }
            names.push(name);
            if !self.mark(",") {
                break;
            }
        }
        Ok(names)
    }

    fn in_brackets(&mut self) -> Parsed<Expression> {
        self.must("(")?;
        let inner = self.expression(0)?;
        self.must(")")?;
        Ok(inner)
    }

    /// By strength: or, and, not, comparison, assignment, sum, product, power.
    fn expression(&mut self, strength: usize) -> Parsed<Expression> {
        self.deeper(|parser| parser.expression_here(strength))
    }

    fn expression_here(&mut self, strength: usize) -> Parsed<Expression> {
        const LEVELS: [&[&str]; 7] = [
            &["||"],
            &["&&"],
            &[],
            &["==", "<=", ">=", "!=", "<", ">"],
            &["+", "-"],
            &["*", "/", "%"],
            &["^"],
        ];
        if strength == 2 && self.mark("!") {
            return Ok(Expression::Not(Box::new(self.expression(2)?)));
        }
        let Some(marks) = LEVELS.get(strength) else { return self.factor() };
        let mut left = self.expression(strength + 1)?;
        while let Some(mark) = marks.iter().copied().find(|mark| self.next_is(&Token::Mark(mark))) {
            self.at += 1;
            // A power binds to the right.
            let right = self.expression(if mark == "^" { strength } else { strength + 1 })?;
            left = Expression::Binary(mark, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Parsed<Expression> {
        for mark in ["++", "--"] {
            if self.mark(mark) {
                let place = self.place()?;
                return Ok(Expression::Group(Box::new(step(place, mark, false))));
            }
        }
        if self.mark("-") {
            return Ok(Expression::Negative(Box::new(self.deeper(Self::factor)?)));
        }
        if self.mark("(") {
            let inner = self.expression(0)?;
            self.must(")")?;
            return Ok(Expression::Group(Box::new(inner)));
        }
        if let Token::Number(digits) = self.tokens[self.at].0.clone() {
            self.at += 1;
            return Ok(Expression::Number(digits));
        }
        if matches!(self.tokens.get(self.at + 1), Some((Token::Mark("("), _))) {
            let name = self.name()?;
            self.must("(")?;
            let mut arguments = Vec::new();
            while !self.mark(")") {
                arguments.push(self.argument()?);
                if !self.mark(",") && !self.next_is(&Token::Mark(")")) {
                    return Err(());
                }
            }
            return Ok(Expression::Call(name, arguments));
        }
        let place = self.place()?;
        for mark in ["++", "--"] {
            if self.mark(mark) {
                return Ok(step(place, mark, true));
            }
        }
        for (mark, operator) in
            [("=", "="), ("+=", "+"), ("-=", "-"), ("*=", "*"), ("/=", "/"), ("%=", "%"), ("^=", "^")]
        {
            if self.mark(mark) {
                let value = Box::new(self.expression(3)?);
                return Ok(Expression::Assign { place, operator, value, gives_old: false });
            }
        }
        Ok(Expression::Place(place))
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let brackets = [Token::Mark("["), Token::Mark("]")];
        let array = (0..2)
            .all(|at| self.tokens.get(self.at + 1 + at).is_some_and(|(token, _)| *token == brackets[at]));
        if !array {
            return Ok(Argument::Value(self.expression(0)?));
        }
        let name = self.name()?;
        self.at += 2;
        Ok(Argument::Array(name))
    }

    fn place(&mut self) -> Parsed<Place> {
        let name = self.name()?;
        let index = if self.mark("[") {
            let index = self.expression(0)?;
            self.must("]")?;
            Some(Box::new(index))
        } else {
            None
        };
        Ok(Place { name, index })
    }
}

fn step(place: Place, mark: &str, gives_old: bool) -> Expression {
    let operator = if mark == "++" { "+" } else { "-" };
    Expression::Assign { place, operator, value: Box::new(Expression::Number("1".into())), gives_old }
}
