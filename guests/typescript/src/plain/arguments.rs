//! The arguments of a call: those that are literals, and the names of the others.

use std::fmt::Write as _;

use swc_ecma_ast::{Expr, ExprOrSpread, Lit, ObjectLit, Prop, PropName, PropOrSpread, Tpl, UnaryOp};

/// What a call is given.
pub(super) struct Arguments {
    /// Names, and JSON.
    pub(super) literals: Vec<(String, String)>,
    pub(super) others: Vec<String>,
    /// The text shows them all.
    pub(super) whole: bool,
    /// One is given that no tool takes: it is no object.
    pub(super) positional: bool,
}

impl Arguments {
    pub(super) fn of(given: &[ExprOrSpread]) -> Self {
        let mut arguments = Self { literals: Vec::new(), others: Vec::new(), whole: true, positional: false };
        let Some(first) = given.first() else { return arguments };
        match bare(&first.expr) {
            _ if first.spread.is_some() => arguments.whole = false,
            Expr::Object(object) => arguments.object(object),
            Expr::Lit(_) | Expr::Tpl(_) | Expr::Array(_) => arguments.positional = true,
            _ => arguments.whole = false,
        }
        arguments
    }

    fn object(&mut self, object: &ObjectLit) {
        for prop in &object.props {
            let named = match prop {
                PropOrSpread::Spread(_) => None,
                PropOrSpread::Prop(prop) => named(prop),
            };
            let Some((name, value)) = named else {
                // What is spread may replace what stands before it.
                self.whole = false;
                self.others.extend(self.literals.drain(..).map(|(name, _)| name));
                continue;
            };
            self.literals.retain(|(known, _)| *known != name);
            match value.and_then(literal) {
                Some(value) => self.literals.push((name, value)),
                None => self.others.push(name),
            }
        }
    }
}

/// An expression without what only says its type.
fn bare(mut expr: &Expr) -> &Expr {
    loop {
        expr = match expr {
            Expr::Paren(of) => &of.expr,
            Expr::TsAs(of) => &of.expr,
            Expr::TsConstAssertion(of) => &of.expr,
            Expr::TsSatisfies(of) => &of.expr,
            Expr::TsNonNull(of) => &of.expr,
            Expr::TsTypeAssertion(of) => &of.expr,
            _ => return expr,
        };
    }
}

/// A property's name, and its value if it has one of its own; none: the name is worked out.
fn named(prop: &Prop) -> Option<(String, Option<&Expr>)> {
    match prop {
        Prop::Shorthand(name) => Some((name.sym.to_string(), None)),
        Prop::KeyValue(pair) => Some((name_of(&pair.key)?, Some(&pair.value))),
        Prop::Getter(of) => Some((name_of(&of.key)?, None)),
        Prop::Method(of) => Some((name_of(&of.key)?, None)),
        Prop::Setter(_) | Prop::Assign(_) => None,
    }
}

fn name_of(key: &PropName) -> Option<String> {
    let name = match key {
        PropName::Ident(name) => name.sym.to_string(),
        PropName::Str(name) => name.value.as_str()?.to_owned(),
        _ => return None,
    };
    // These make an object what its other keys do not say.
    (!matches!(name.as_str(), "__proto__" | "toJSON")).then_some(name)
}

/// A literal as JSON; none: it is something else.
fn literal(expr: &Expr) -> Option<String> {
    match bare(expr) {
        Expr::Lit(Lit::Str(text)) => text.value.as_str().map(quoted),
        Expr::Lit(Lit::Bool(value)) => Some(value.value.to_string()),
        Expr::Lit(Lit::Null(_)) => Some("null".into()),
        Expr::Lit(Lit::Num(number)) => numeral(number.value),
        Expr::Unary(of) if of.op == UnaryOp::Minus => match bare(&of.arg) {
            Expr::Lit(Lit::Num(number)) => numeral(-number.value),
            _ => None,
        },
        Expr::Tpl(of) => text_of(of),
        Expr::Array(of) => {
            let items = of.elems.iter().map(|item| match item {
                Some(ExprOrSpread { spread: None, expr }) => literal(expr),
                _ => None,
            });
            Some(format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(",")))
        }
        Expr::Object(of) => {
            let mut arguments =
                Arguments { literals: Vec::new(), others: Vec::new(), whole: true, positional: false };
            arguments.object(of);
            if !arguments.whole || !arguments.others.is_empty() {
                return None;
            }
            let pairs = arguments.literals.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
            Some(format!("{{{}}}", pairs.collect::<Vec<_>>().join(",")))
        }
        _ => None,
    }
}

fn numeral(value: f64) -> Option<String> {
    // Beyond this a number is not told exactly, and may be written in another way.
    const EXACT: f64 = 9_007_199_254_740_991.0;
    (value.is_finite() && value.abs() <= EXACT).then(|| match value {
        0.0 => "0".to_owned(),
        value => value.to_string(),
    })
}

fn text_of(of: &Tpl) -> Option<String> {
    match of.quasis.as_slice() {
        [only] => only.cooked.as_ref()?.as_str().map(quoted),
        _ => None,
    }
}

/// A text in JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if u32::from(c) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
