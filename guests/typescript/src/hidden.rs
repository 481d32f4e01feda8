//! Compiled code needs functions that the source does not have: helpers of swc, and those of a `jsx-runtime`. A sandbox keeps
//! what is declared at the top of a snippet, and shows it as the user's. So these are properties of an object that stands in
//! the global one under a symbol: later snippets' functions find them there, and no list of variables has them.

use rustc_hash::FxHashMap;
use swc_atoms::Atom;
use swc_common::sync::Lrc;
use swc_common::{DUMMY_SP, Mark, SourceMap, SyntaxContext};
use swc_ecma_ast::{
    CallExpr, Callee, ComputedPropName, Decl, Expr, Id, Ident, IdentName, ImportSpecifier, Lit, MemberExpr,
    MemberProp, ModuleDecl, ModuleExportName, ModuleItem, Pass, Program, Script, Stmt, Str,
};
use swc_ecma_codegen::text_writer::JsWriter;
use swc_ecma_codegen::{Config, Emitter};
use swc_ecma_transforms_base::helpers::{Helpers, inject_helpers};
use swc_ecma_visit::{VisitMut, VisitMutWith, noop_visit_mut_type};

/// The symbol.
const REGISTRY: &str = "dormouse.typescript";

/// Takes what the passes have added to the beginning of a program, and lets all that uses it look it up. Answers the code
/// that must run before the program, in one line.
pub(crate) fn hide(
    program: &mut Program,
    helpers: &Helpers,
    unresolved: Mark,
    map: &Lrc<SourceMap>,
) -> String {
    let mut hide = Hide {
        names: FxHashMap::default(),
        helpers: SyntaxContext::empty().apply_mark(helpers.mark()),
        unresolved: SyntaxContext::empty().apply_mark(unresolved),
    };
    let mut before = String::new();
    if let Program::Module(module) = program {
        module.body.retain(|item| match item {
            ModuleItem::ModuleDecl(ModuleDecl::Import(import)) if import.span.is_dummy() => {
                let from = import.src.value.to_string_lossy();
                let quoted = quote(&from);
                before += &format!(
                    "void((globalThis[Symbol.for(\"{REGISTRY}\")]??={{}})[{quoted}]??=await import({quoted}));"
                );
                for specifier in &import.specifiers {
                    if let ImportSpecifier::Named(named) = specifier {
                        let member = match &named.imported {
                            Some(ModuleExportName::Ident(name)) => name.sym.clone(),
                            _ => named.local.sym.clone(),
                        };
                        hide.names.insert(named.local.to_id(), (from.as_ref().into(), member));
                    }
                }
                false
            }
            _ => true,
        });
    }
    let added = take_helpers(program, unresolved);
    if !added.is_empty() {
        let names: Vec<&str> = added.iter().filter_map(name).collect();
        let names = names.join(",");
        let code = write(added, map);
        before += &format!(
            "void Object.assign(globalThis[Symbol.for(\"{REGISTRY}\")]??={{}},(()=>{{{code};return{{{names}}}}})());"
        );
    }
    if !before.is_empty() {
        program.visit_mut_with(&mut hide);
        if is_strict(program) {
            before.insert_str(0, "\"use strict\";");
        }
    }
    before
}

/// The helpers that the program uses, which are put in front of it and taken out again.
fn take_helpers(program: &mut Program, unresolved: Mark) -> Vec<Stmt> {
    let count = |program: &Program| match program {
        Program::Module(module) => module.body.len(),
        Program::Script(script) => script.body.len(),
    };
    let before = count(program);
    inject_helpers(unresolved).process(program);
    let added = count(program) - before;
    match program {
        Program::Module(module) => {
            let first =
                module.body.iter().take_while(|item| item.as_stmt().is_some_and(is_directive)).count();
            module.body.drain(first..first + added).filter_map(ModuleItem::stmt).collect()
        }
        Program::Script(script) => {
            let first = script.body.iter().take_while(|statement| is_directive(statement)).count();
            script.body.drain(first..first + added).collect()
        }
    }
}

fn is_directive(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(expression) if matches!(&*expression.expr, Expr::Lit(Lit::Str(_))))
}

fn is_strict(program: &Program) -> bool {
    let says = |statement: &Stmt| match statement {
        Stmt::Expr(expression) => {
            matches!(&*expression.expr, Expr::Lit(Lit::Str(text)) if text.value == *"use strict")
        }
        _ => false,
    };
    match program {
        Program::Module(module) => {
            let mut statements = module.body.iter().map_while(ModuleItem::as_stmt);
            statements.by_ref().take_while(|statement| is_directive(statement)).any(says)
        }
        Program::Script(script) => {
            script.body.iter().take_while(|statement| is_directive(statement)).any(says)
        }
    }
}

fn name(statement: &Stmt) -> Option<&str> {
    match statement {
        Stmt::Decl(Decl::Fn(function)) => Some(&function.ident.sym),
        _ => None,
    }
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            _ if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') => {
                quoted += &format!("\\u{{{:x}}}", letter as u32);
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Statements as code without line ends.
fn write(body: Vec<Stmt>, map: &Lrc<SourceMap>) -> String {
    let mut code = Vec::new();
    let writer = JsWriter::new(map.clone(), " ", &mut code, None);
    let cfg = Config::default().with_minify(true);
    let script = Script { body, ..Script::default() };
    // It writes to memory.
    let _ = Emitter { cfg, cm: map.clone(), comments: None, wr: writer }.emit_script(&script);
    String::from_utf8_lossy(&code).replace('\n', " ")
}

struct Hide {
    /// Names that were imported: of which module, and which of its exports.
    names: FxHashMap<Id, (Atom, Atom)>,
    /// The context of helpers' names.
    helpers: SyntaxContext,
    unresolved: SyntaxContext,
}

impl Hide {
    /// `globalThis[Symbol.for(REGISTRY)]`
    fn registry(&self) -> Expr {
        let global = |name: &str| Box::new(Expr::Ident(Ident::new(name.into(), DUMMY_SP, self.unresolved)));
        let symbol = CallExpr {
            callee: Callee::Expr(Box::new(member(global("Symbol"), "for".into()))),
            args: vec![Expr::from(Lit::Str(Str::from(REGISTRY))).into()],
            ..CallExpr::default()
        };
        computed(global("globalThis"), Expr::Call(symbol))
    }

    fn found(&self, name: &Ident) -> Option<Expr> {
        let (object, property) = if name.ctxt == self.helpers {
            (self.registry(), name.sym.clone())
        } else {
            let (module, export) = self.names.get(&name.to_id())?;
            let module = Lit::Str(Str::from(module.clone()));
            (computed(Box::new(self.registry()), module.into()), export.clone())
        };
        let mut found = member(Box::new(object), property);
        // Where it stands is known of it as a whole.
        if let Expr::Member(member) = &mut found {
            member.span = name.span;
        }
        Some(found)
    }
}

fn member(object: Box<Expr>, property: Atom) -> Expr {
    let prop = MemberProp::Ident(IdentName::new(property, DUMMY_SP));
    Expr::Member(MemberExpr { span: DUMMY_SP, obj: object, prop })
}

fn computed(object: Box<Expr>, property: Expr) -> Expr {
    let prop = MemberProp::Computed(ComputedPropName { span: DUMMY_SP, expr: Box::new(property) });
    Expr::Member(MemberExpr { span: DUMMY_SP, obj: object, prop })
}

impl VisitMut for Hide {
    noop_visit_mut_type!();

    fn visit_mut_expr(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Ident(name) => {
                if let Some(found) = self.found(name) {
                    *expression = found;
                }
            }
            _ => expression.visit_mut_children_with(self),
        }
    }
}
