//! `bc` in the shape of GNU's: numbers of any size, its language, and the functions of `-l`.

mod number;
mod parse;

use std::collections::HashMap;
use std::sync::Arc;

use bashkit::{Builtin, BuiltinContext, ExecResult, ExecutionBudget, async_trait};
use num_bigint::BigInt;

use number::Number;
use parse::{Argument, Expression, Function, Place, Statement};

/// Levels of brackets, blocks and calls; the stack has room for them.
const MAX_DEPTH: usize = 200;
/// Digits in a line of output; longer numbers go on after a backslash.
const WIDTH: usize = 69;

/// The command.
pub(super) struct Bc;

#[async_trait]
impl Builtin for Bc {
    async fn execute(&self, context: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let budget = context.execution_budget().and_then(|budget| budget.try_with(Clone::clone).ok());
        let mut machine = Machine { budget, ..Machine::default() };
        let mut text = String::new();
        for word in context.args {
            match word.as_str() {
                "-l" | "--mathlib" => (machine.library, machine.scale) = (true, 20),
                "-q" | "-s" | "-w" | "-i" | "-ql" | "-lq" | "--quiet" | "--standard" | "--warn" => {
                    if word.contains('l') {
                        (machine.library, machine.scale) = (true, 20);
                    }
                }
                "-v" | "--version" => return Ok(ExecResult::ok("bc 1.07.1\n")),
                option if option.len() > 1 && option.starts_with('-') => {
                    return Ok(ExecResult::err(format!("bc: invalid option '{option}'\n"), 1));
                }
                file => match context.fs.read_file(&context.cwd.join(file)).await {
                    Ok(bytes) => text += &String::from_utf8_lossy(&bytes),
                    Err(_) => return Ok(ExecResult::err(format!("File {file} is unavailable.\n"), 1)),
                },
            }
        }
        if let Some(input) = context.stdin {
            text += input;
        }
        machine.all(&text)
    }
}

/// How a statement ended.
enum End {
    Next,
    Break,
    Continue,
    Return(Number),
    Quit,
}

struct Machine {
    scale: usize,
    input: u32,
    output: u32,
    library: bool,
    last: Number,
    numbers: HashMap<String, Number>,
    arrays: HashMap<String, HashMap<BigInt, Number>>,
    functions: HashMap<String, Arc<Function>>,
    depth: usize,
    out: String,
    /// Where a time limit shows.
    budget: Option<ExecutionBudget>,
    /// Why nothing more is computed.
    stopped: Option<bashkit::Error>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            scale: 0,
            input: 10,
            output: 10,
            library: false,
            last: Number::default(),
            numbers: HashMap::new(),
            arrays: HashMap::new(),
            functions: HashMap::new(),
            depth: 0,
            out: String::new(),
            budget: None,
            stopped: None,
        }
    }
}

type Done<T> = Result<T, String>;

impl Machine {
    fn all(mut self, text: &str) -> bashkit::Result<ExecResult> {
        let mut errors = String::new();
        for statement in parse::parse(text) {
            let ran = statement.map(|statement| self.run(&statement));
            if let Some(why) = self.stopped {
                return Err(why);
            }
            match ran {
                Err(why) => errors += &format!("{why}\n"),
                Ok(Err(why)) => errors += &format!("Runtime error (func=(main), adr=0): {why}\n"),
                Ok(Ok(End::Quit)) => break,
                Ok(Ok(_)) => {}
            }
        }
        let mut result = ExecResult::ok(self.out);
        result.stderr = errors.into();
        Ok(result)
    }

    /// An error once a time limit is over.
    fn in_time(&mut self) -> Done<()> {
        match self.budget.as_ref().map_or(Ok(()), ExecutionBudget::check) {
            Ok(()) => Ok(()),
            Err(limit) => {
                let why = limit.to_string();
                self.stopped = Some(limit.into());
                Err(why)
            }
        }
    }

    fn run(&mut self, statement: &Statement) -> Done<End> {
        self.in_time()?;
        match statement {
            Statement::Expression(expression) => {
                let value = self.value(expression)?;
                if !matches!(expression, Expression::Assign { gives_old: false, .. }) {
                    self.show(&value);
                    self.out.push('\n');
                    self.last = value;
                }
            }
            Statement::Text(text) => self.out += text,
            Statement::Print(parts) => {
                for part in parts {
                    match part {
                        Ok(text) => self.out += &unescaped(text),
                        Err(expression) => {
                            let value = self.value(expression)?;
                            self.show(&value);
                            self.last = value;
                        }
                    }
                }
            }
            Statement::Block(statements) => return self.each(statements),
            Statement::If(test, then, otherwise) => {
                if !self.value(test)?.is_zero() {
                    return self.run(then);
                }
                if let Some(otherwise) = otherwise {
                    return self.run(otherwise);
                }
            }
            Statement::For(first, test, step, body) => {
                if let Some(first) = first {
                    self.value(first)?;
                }
                while test.as_ref().map_or(Ok(true), |test| self.value(test).map(|value| !value.is_zero()))? {
                    match self.run(body)? {
                        End::Break => break,
                        End::Next | End::Continue => {}
                        end => return Ok(end),
                    }
                    if let Some(step) = step {
                        self.value(step)?;
                    }
                }
            }
            Statement::Break => return Ok(End::Break),
            Statement::Continue => return Ok(End::Continue),
            Statement::Return(None) => return Ok(End::Return(Number::default())),
            Statement::Return(Some(expression)) => return Ok(End::Return(self.value(expression)?)),
            Statement::Quit => return Ok(End::Quit),
            Statement::Define(name, function) => {
                let Function { parameters, locals, body } = function;
                let function =
                    Function { parameters: parameters.clone(), locals: locals.clone(), body: body.clone() };
                self.functions.insert(name.clone(), Arc::new(function));
            }
        }
        Ok(End::Next)
    }

    fn each(&mut self, statements: &[Statement]) -> Done<End> {
        for statement in statements {
            match self.run(statement)? {
                End::Next => {}
                end => return Ok(end),
            }
        }
        Ok(End::Next)
    }

    fn show(&mut self, value: &Number) {
        let text = value.shown(self.output);
        for (at, letter) in text.chars().enumerate() {
            if at > 0 && at % (WIDTH - 1) == 0 && text.len() > WIDTH {
                self.out += "\\\n";
            }
            self.out.push(letter);
        }
    }

    fn value(&mut self, expression: &Expression) -> Done<Number> {
        Ok(match expression {
            Expression::Number(digits) => {
                Number::read(digits, self.input).ok_or_else(|| format!("bad number {digits}"))?
            }
            Expression::Group(inner) => self.value(inner)?,
            Expression::Negative(inner) => self.value(inner)?.negative(),
            Expression::Not(inner) => Number::whole(i32::from(self.value(inner)?.is_zero())),
            Expression::Place(place) => self.read(place)?,
            Expression::Binary(mark, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(mark, &left, &right)?
            }
            Expression::Assign { place, operator, value, gives_old } => {
                let value = self.value(value)?;
                let old = if *operator == "=" { Number::default() } else { self.read(place)? };
                let new = if *operator == "=" { value } else { self.binary(operator, &old, &value)? };
                self.write(place, new.clone())?;
                if *gives_old { old } else { new }
            }
            Expression::Call(name, arguments) => self.call(name, arguments)?,
        })
    }

    fn binary(&self, mark: &str, left: &Number, right: &Number) -> Done<Number> {
        let truth = |truth: bool| Number::whole(i32::from(truth));
        let order = left.compare(right);
        let result = match mark {
            "+" => Some(left.plus(right)),
            "-" => Some(left.plus(&right.negative())),
            "*" => Some(left.times(right, self.scale)),
            "/" => left.over(right, self.scale),
            "%" => left.rest(right, self.scale),
            "^" => {
                return left.power(right, self.scale).ok_or_else(|| "exponent too large or zero base".into());
            }
            "==" => Some(truth(order.is_eq())),
            "!=" => Some(truth(order.is_ne())),
            "<" => Some(truth(order.is_lt())),
            ">" => Some(truth(order.is_gt())),
            "<=" => Some(truth(order.is_le())),
            ">=" => Some(truth(order.is_ge())),
            "&&" => Some(truth(!left.is_zero() && !right.is_zero())),
            _ => Some(truth(!left.is_zero() || !right.is_zero())),
        };
        result.ok_or_else(|| "Divide by zero".into())
    }

    fn read(&mut self, place: &Place) -> Done<Number> {
        if let Some(index) = &place.index {
            let index = self.value(index)?.at(0).value;
            let array = self.arrays.get(&place.name);
            return Ok(array.and_then(|array| array.get(&index)).cloned().unwrap_or_default());
        }
        Ok(match place.name.as_str() {
            "scale" => Number::whole(self.scale),
            "ibase" => Number::whole(self.input),
            "obase" => Number::whole(self.output),
            "last" => self.last.clone(),
            name => self.numbers.get(name).cloned().unwrap_or_default(),
        })
    }

    fn write(&mut self, place: &Place, value: Number) -> Done<()> {
        if let Some(index) = &place.index {
            let index = self.value(index)?.at(0).value;
            self.arrays.entry(place.name.clone()).or_default().insert(index, value);
            return Ok(());
        }
        let whole =
            || u32::try_from(value.at(0).value).map_err(|_| format!("{} is out of its range", place.name));
        match place.name.as_str() {
            "scale" => self.scale = whole()?.min(1 << 20) as usize,
            "ibase" => self.input = whole()?.clamp(2, 16),
            "obase" => self.output = whole()?.clamp(2, 999_999),
            "last" => self.last = value,
            name => drop(self.numbers.insert(name.to_owned(), value)),
        }
        Ok(())
    }

    fn call(&mut self, name: &str, arguments: &[Argument]) -> Done<Number> {
        if let Some(function) = self.functions.get(name).cloned() {
            self.in_time()?;
            self.depth += 1;
            let result = if self.depth > MAX_DEPTH {
                Err("functions call each other too deep".into())
            } else {
                self.own_function(&function, arguments)
            };
            self.depth -= 1;
            return result;
        }
        let (Some(Argument::Value(argument)), 1) = (arguments.first(), arguments.len()) else {
            return Err(format!("Function {name} not defined."));
        };
        let given = self.value(argument)?;
        let going = || self.budget.as_ref().is_none_or(|budget| budget.check().is_ok()).then_some(());
        let found = match name {
            "length" => Some(Number::whole(given.length())),
            "scale" => Some(Number::whole(given.scale)),
            "sqrt" => return given.root(self.scale).ok_or_else(|| "Square root of a negative number".into()),
            "s" if self.library => given.sine(self.scale, false, &going),
            "c" if self.library => given.sine(self.scale, true, &going),
            "a" if self.library => given.arctangent(self.scale, &going),
            "l" if self.library => given.logarithm(self.scale, &going),
            "e" if self.library => given.exponential(self.scale, &going),
            _ => return Err(format!("Function {name} not defined.")),
        };
        found.ok_or_else(|| format!("{name}: the argument is out of range"))
    }

    fn own_function(&mut self, function: &Function, arguments: &[Argument]) -> Done<Number> {
        if arguments.len() != function.parameters.len() {
            return Err("Parameter number mismatch.".into());
        }
        let (mut numbers, mut arrays) = (Vec::new(), Vec::new());
        for (name, argument) in function.parameters.iter().zip(arguments) {
            match argument {
                Argument::Value(expression) => numbers.push((name.clone(), self.value(expression)?)),
                Argument::Array(from) => {
                    let array = self.arrays.get(from).cloned().unwrap_or_default();
                    arrays.push((name.trim_end_matches("[]").to_owned(), array));
                }
            }
        }
        for name in &function.locals {
            match name.strip_suffix("[]") {
                Some(array) => arrays.push((array.to_owned(), HashMap::new())),
                None => numbers.push((name.clone(), Number::default())),
            }
        }
        // What the names meant before they mean again after.
        let numbers: Vec<_> =
            numbers.into_iter().map(|(name, new)| (name.clone(), self.numbers.insert(name, new))).collect();
        let arrays: Vec<_> =
            arrays.into_iter().map(|(name, new)| (name.clone(), self.arrays.insert(name, new))).collect();
        let ended = self.each(&function.body);
        for (name, old) in numbers {
            match old {
                Some(old) => self.numbers.insert(name, old),
                None => self.numbers.remove(&name),
            };
        }
        for (name, old) in arrays {
            match old {
                Some(old) => self.arrays.insert(name, old),
                None => self.arrays.remove(&name),
            };
        }
        Ok(match ended? {
            End::Return(value) => value,
            _ => Number::default(),
        })
    }
}

/// `\n` and its like in the text of a `print`.
fn unescaped(text: &str) -> String {
    let (mut shown, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => shown.push('\n'),
                Some('t') => shown.push('\t'),
                Some('q') => shown.push('"'),
                Some(other) => shown.push(other),
                None => shown.push('\\'),
            },
            _ => shown.push(letter),
        }
    }
    shown
}
