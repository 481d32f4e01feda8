//! The calls of tools that a program's text shows, so that the host can look at them before it runs: `tools.SERVER.TOOL({...})`.
//!
//! A call counts if its names stand in the text, and if nothing that the text shows can catch its failure: a program that
//! expects one is right.

mod arguments;
mod program;

use std::fmt::Write as _;

use swc_atoms::Atom;
use swc_common::sync::Lrc;
use swc_common::{FileName, SourceMap, Spanned};
use swc_ecma_ast::{
    ArrowExpr, ArrowFunctionBody, BinaryOp, CallExpr, Callee, ClassMethod, CondExpr, EsVersion, Expr, FnDecl,
    FnExpr, Function, IfStmt, Lit, MemberExpr, MemberProp, MethodProp, Pat, Program, PropName, SwitchStmt,
    TryStmt, VarDeclarator, WhileStmt,
};
use swc_ecma_parser::lexer::Lexer;
use swc_ecma_parser::{EsSyntax, Parser, StringInput, Syntax};
use swc_ecma_visit::{Visit, VisitWith};

use self::arguments::{Arguments, quoted};
use self::program::Facts;
use crate::compile;

/// Calls of one program.
const MOST: usize = 500;
/// What a call of this raises is raised where it stands, if it is awaited: a call of a tool that it is given, too.
const RAISES: [&str; 5] = ["all", "map", "flatMap", "from", "resolve"];

/// The calls in JSON; `[]` for a text that cannot be read.
pub(crate) fn calls(source: &str, is_typescript: bool) -> String {
    let read = if is_typescript { typescript(source) } else { javascript(source) };
    let Some((program, map)) = read else { return "[]".into() };
    let Some(facts) = Facts::of(&program) else { return "[]".into() };
    let mut finder = Finder { facts, map, state: State::default(), found: Vec::new() };
    program.visit_with(&mut finder);
    match finder.found {
        found if found.len() <= MOST => format!("[{}]", found.join(",")),
        _ => "[]".into(),
    }
}

fn typescript(source: &str) -> Option<(Program, Lrc<SourceMap>)> {
    let may_have_jsx = source.contains("</") || source.contains("/>");
    let parsed = match compile::parse(source, may_have_jsx) {
        Err(_) if may_have_jsx => compile::parse(source, false),
        parsed => parsed,
    };
    parsed.ok().map(compile::Parsed::into_program)
}

fn javascript(source: &str) -> Option<(Program, Lrc<SourceMap>)> {
    let map: Lrc<SourceMap> = Lrc::default();
    let file = map.new_source_file(FileName::Anon.into(), source.to_owned());
    let syntax = EsSyntax {
        allow_return_outside_function: true,
        import_attributes: true,
        explicit_resource_management: true,
        ..EsSyntax::default()
    };
    let lexer = Lexer::new(Syntax::Es(syntax), EsVersion::latest(), StringInput::from(&*file), None);
    let mut parser = Parser::new_from(lexer);
    let program = parser.parse_program().ok()?;
    parser.take_errors().is_empty().then_some((program, map))
}

/// The names behind `tools`; none: it is something else.
fn path(of: &Expr) -> Option<Vec<&str>> {
    let (mut names, mut left) = (Vec::new(), of);
    while let Expr::Member(MemberExpr { obj, prop, .. }) = left {
        names.push(match prop {
            MemberProp::Ident(name) => &*name.sym,
            MemberProp::Computed(computed) => match &*computed.expr {
                Expr::Lit(Lit::Str(name)) => name.value.as_str()?,
                _ => return None,
            },
            MemberProp::PrivateName(_) => return None,
        });
        left = obj;
    }
    let is_tools = left.as_ident().is_some_and(|name| name.sym == "tools");
    // What a promise and JSON ask an object for.
    let is_asked = names.iter().any(|name| matches!(*name, "then" | "toJSON"));
    names.reverse();
    (is_tools && !names.is_empty() && !is_asked).then_some(names)
}

/// Whether names are those of what finds tools.
fn looks(names: &[&str]) -> bool {
    matches!(names, ["search" | "describe"])
}

/// The name that a function is called by.
fn called(call: &CallExpr) -> Option<&Atom> {
    match &call.callee {
        Callee::Expr(of) => match &**of {
            Expr::Ident(name) => Some(&name.sym),
            Expr::Member(member) => member.prop.as_ident().map(|name| &name.sym),
            _ => None,
        },
        _ => None,
    }
}

fn key(of: &PropName) -> Option<&Atom> {
    match of {
        PropName::Ident(name) => Some(&name.sym),
        _ => None,
    }
}

/// Where a part stands.
#[derive(Clone, Copy, Default)]
struct State {
    /// What it raises may be caught.
    caught: bool,
    /// What a call raises is raised where it stands.
    surfaces: bool,
    /// It is given to a function that may catch what it raises.
    foreign: bool,
}

struct Finder {
    facts: Facts,
    map: Lrc<SourceMap>,
    state: State,
    found: Vec<String>,
}

impl Finder {
    fn within(&mut self, state: State, what: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.state, state);
        what(self);
        self.state = before;
    }

    fn caught(&mut self, what: impl FnOnce(&mut Self)) {
        let state = State { caught: true, ..self.state };
        self.within(state, what);
    }

    /// A function that is called by a name.
    fn named(&mut self, name: Option<&Atom>, what: impl FnOnce(&mut Self)) {
        let is_caught = name.is_none_or(|name| self.facts.may_catch(name));
        let state = State { caught: self.state.caught || is_caught, ..State::default() };
        self.within(state, what);
    }

    /// A function without a name, whose answer is that of an expression, or not.
    fn nameless(&mut self, is_expression: bool, what: impl FnOnce(&mut Self)) {
        let State { caught, surfaces, foreign } = self.state;
        let caught = caught || foreign || (self.facts.catches && !surfaces);
        let state = State { caught, surfaces: surfaces && is_expression, foreign: false };
        self.within(state, what);
    }

    /// A branch, of a program that looks for tools: it may know which are there.
    fn branch(&mut self, what: impl FnOnce(&mut Self)) {
        if self.facts.looks {
            self.caught(what);
        } else {
            what(self);
        }
    }

    fn call(&mut self, call: &CallExpr) {
        let State { caught, surfaces, foreign } = self.state;
        let of = match &call.callee {
            Callee::Expr(of) => of,
            _ => return call.visit_children_with(self),
        };
        let names = path(of);
        let is_told = !caught && (surfaces || !(foreign || self.facts.catches));
        match &names {
            Some(names) if is_told && !looks(names) => self.note(names, of, call),
            Some(_) => {}
            None => self.callee(of, call),
        }
        let is_known = self.facts.is_known(call);
        let raises = called(call).is_some_and(|name| RAISES.contains(&&**name));
        let given = State { caught, surfaces: surfaces && is_known && raises, foreign: foreign || !is_known };
        self.within(given, |finder| call.args.visit_with(finder));
    }

    /// What is called: `tools.a.b({}).then(...)` is a call of a tool, and of something else.
    fn callee(&mut self, of: &Expr, call: &CallExpr) {
        let Expr::Member(member) = of else { return of.visit_with(self) };
        let name = member.prop.as_ident().map(|name| &*name.sym);
        let is_caught = name == Some("catch") || (name == Some("then") && call.args.len() > 1);
        let passes = matches!(name, Some("then" | "finally" | "map" | "flatMap"));
        let surfaces = self.state.surfaces && passes;
        let state = State { caught: self.state.caught || is_caught, surfaces, ..self.state };
        self.within(state, |finder| member.obj.visit_with(finder));
        self.within(State { surfaces: false, ..self.state }, |finder| member.prop.visit_with(finder));
    }

    fn note(&mut self, names: &[&str], of: &Expr, call: &CallExpr) {
        let line = self.map.lookup_char_pos(of.span().hi).line;
        let Arguments { literals, others, whole, positional } = Arguments::of(&call.args);
        let (mut known, mut named) = (String::new(), String::new());
        for (name, value) in &literals {
            let _ = write!(known, "{}{}:{value}", if known.is_empty() { "" } else { "," }, quoted(name));
        }
        for name in &others {
            let _ = write!(named, "{}{}", if named.is_empty() { "" } else { "," }, quoted(name));
        }
        self.found.push(format!(
            "{{\"line\":{line},\"name\":{},\"literals\":{{{known}}},\"others\":[{named}],\"whole\":{whole},\
             \"positional\":{positional}}}",
            quoted(&names.join("."))
        ));
    }
}

impl Visit for Finder {
    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Await(of) => {
                let state = State { surfaces: true, foreign: false, ..self.state };
                self.within(state, |finder| of.arg.visit_with(finder));
            }
            Expr::Call(call) => self.call(call),
            Expr::Arrow(_) | Expr::Fn(_) | Expr::Array(_) | Expr::Paren(_) | Expr::Cond(_) => {
                expr.visit_children_with(self);
            }
            Expr::Bin(of) if matches!(of.op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) => {
                self.branch(|finder| of.visit_children_with(finder));
            }
            _ => {
                let state = State { surfaces: false, ..self.state };
                self.within(state, |finder| expr.visit_children_with(finder));
            }
        }
    }

    fn visit_arrow_expr(&mut self, arrow: &ArrowExpr) {
        let is_expression = matches!(&*arrow.body, ArrowFunctionBody::Expr(_));
        self.nameless(is_expression, |finder| arrow.visit_children_with(finder));
    }

    fn visit_fn_expr(&mut self, function: &FnExpr) {
        self.nameless(false, |finder| function.visit_children_with(finder));
    }

    fn visit_fn_decl(&mut self, function: &FnDecl) {
        self.named(Some(&function.ident.sym), |finder| function.function.visit_with(finder));
    }

    fn visit_class_method(&mut self, method: &ClassMethod) {
        self.named(key(&method.key), |finder| method.function.visit_with(finder));
    }

    fn visit_method_prop(&mut self, method: &MethodProp) {
        self.named(key(&method.key), |finder| method.function.visit_with(finder));
    }

    fn visit_function(&mut self, function: &Function) {
        if function.decorators.is_empty() {
            function.visit_children_with(self);
        } else {
            self.caught(|finder| function.visit_children_with(finder));
        }
    }

    fn visit_var_declarator(&mut self, declared: &VarDeclarator) {
        match (&declared.name, declared.init.as_deref()) {
            (Pat::Ident(name), Some(Expr::Arrow(arrow))) => {
                self.named(Some(&name.sym), |finder| arrow.visit_children_with(finder));
            }
            (Pat::Ident(name), Some(Expr::Fn(function))) => {
                self.named(Some(&name.sym), |finder| function.function.visit_with(finder));
            }
            _ => declared.visit_children_with(self),
        }
    }

    fn visit_try_stmt(&mut self, of: &TryStmt) {
        let Some(handler) = &of.handler else { return of.visit_children_with(self) };
        self.caught(|finder| of.block.visit_with(finder));
        handler.visit_with(self);
        of.finalizer.visit_with(self);
    }

    fn visit_if_stmt(&mut self, of: &IfStmt) {
        self.branch(|finder| of.visit_children_with(finder));
    }

    fn visit_while_stmt(&mut self, of: &WhileStmt) {
        self.branch(|finder| of.visit_children_with(finder));
    }

    fn visit_switch_stmt(&mut self, of: &SwitchStmt) {
        self.branch(|finder| of.visit_children_with(finder));
    }

    fn visit_cond_expr(&mut self, of: &CondExpr) {
        self.branch(|finder| of.visit_children_with(finder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<String> {
        let told = calls(source, false);
        let parts = told.split("\"name\":\"").skip(1);
        parts.filter_map(|part| part.split('"').next()).map(str::to_owned).collect()
    }

    #[test]
    fn calls_are_found_with_their_arguments() {
        assert_eq!(
            calls(
                "\nawait tools.a.b({ x: 'q\"', y: -1, z, w: [true, { k: null }], ...rest, v: `t` })",
                false
            ),
            "[{\"line\":2,\"name\":\"a.b\",\"literals\":{\"v\":\"t\"},\"others\":[\"z\",\"x\",\"y\",\"w\"],\
             \"whole\":false,\"positional\":false}]"
        );
        assert_eq!(names("await Promise.all(xs.map((x) => tools.a.b({ x })))"), ["a.b"]);
        assert_eq!(names("await tools['odd-server']['t']({})"), ["odd-server.t"]);
        assert_eq!(names("const f = async () => { await tools.a.b({}); };\nawait f()"), ["a.b"]);
        assert_eq!(
            calls("const x: number = await tools.a.b<string>(1 as any)", true).matches("a.b").count(),
            1
        );
    }

    #[test]
    fn calls_whose_failure_may_be_caught_are_left_alone() {
        for source in [
            "try { await tools.a.b({}) } catch {}",
            "await tools.a.b({}).catch(() => 1)",
            "await Promise.allSettled([tools.a.b({})])",
            "await attempt(() => tools.a.b({}))",
            "async function f() { await tools.a.b({}) }\ntry { await f() } catch {}",
            "async function never() { await tools.a.b({}) }",
            "const tools = {}; tools.a.b({})",
            "function f(tools) { tools.a.b({}) }\nf(1)",
            "globalThis.tools = x; await tools.a.b({})",
            "if (await tools.search('x')) await tools.a.b({})",
            "// tools.a.b({})\n'tools.a.b({})'",
            "self.tools.a.b({})",
            "await tools.a?.b({})",
        ] {
            assert_eq!(names(source), Vec::<String>::new(), "{source}");
        }
    }
}
