//! Compiled code needs functions that the source does not have: helpers of swc, and those of a `jsx-runtime`. A sandbox keeps
//! what is declared at the top of a snippet, and shows it as the user's. So these are properties of an object that stands in
//! the global one under a symbol: later snippets' functions find them there, and no list of variables has them.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use swc_atoms::Atom;
use swc_common::{DUMMY_SP, Mark, SyntaxContext};
use swc_ecma_ast::{
    CallExpr, Callee, ComputedPropName, Expr, Id, Ident, IdentName, ImportSpecifier, Lit, MemberExpr,
    MemberProp, ModuleDecl, ModuleExportName, ModuleItem, Program, Stmt, Str,
};
use swc_ecma_transforms_base::helpers::Helpers;
use swc_ecma_transforms_base::helpers::generated::{ALL, HelperName};
use swc_ecma_visit::{VisitMut, VisitMutWith, noop_visit_mut_type};

/// The symbol.
const REGISTRY: &str = "dormouse.typescript";

/// The helpers that compiled code calls: name and text. The library's own list, and all helpers with it, is not linked.
const HELPERS: [(&str, &str); 6] = [
    helper(HelperName::apply_decs_2311),
    helper(HelperName::identity),
    helper(HelperName::to_property_key),
    helper(HelperName::ts_decorate),
    helper(HelperName::ts_metadata),
    helper(HelperName::ts_param),
];
/// Those that they call.
const CALLED: [(&str, [&str; 2]); 1] =
    [("_to_property_key", [helper(HelperName::to_primitive).1, helper(HelperName::type_of).1])];

const fn helper(name: HelperName) -> (&'static str, &'static str) {
    let helper = &ALL[name as usize];
    (helper.local, helper.source)
}

/// Takes what the passes have added to the beginning of a program, and lets all that uses it look it up. Answers the code
/// that must run before the program, in one line. A file's imports are its own, and stay.
pub(crate) fn hide(program: &mut Program, helpers: &Helpers, unresolved: Mark, is_file: bool) -> String {
    let mut hide = Hide {
        names: FxHashMap::default(),
        helpers: SyntaxContext::empty().apply_mark(helpers.mark()),
        unresolved: SyntaxContext::empty().apply_mark(unresolved),
        called: BTreeSet::new(),
    };
    let mut before = String::new();
    if let Program::Module(module) = program {
        module.body.retain(|item| match item {
            ModuleItem::ModuleDecl(ModuleDecl::Import(import)) if import.span.is_dummy() && !is_file => {
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
    program.visit_mut_with(&mut hide);
    for name in &hide.called {
        before += &format!(
            "void Object.assign(globalThis[Symbol.for(\"{REGISTRY}\")]??={{}},(()=>{{{};return{{{name}}}}})());",
            text_of(name)
        );
    }
    if !before.is_empty() && is_strict(program) {
        before.insert_str(0, "\"use strict\";");
    }
    before
}

/// A helper and those that it calls, in one line: there are no comments in them that end with their line.
fn text_of(name: &str) -> String {
    let called = CALLED.iter().filter(|(caller, _)| *caller == name).flat_map(|(_, texts)| texts);
    let own = HELPERS.iter().filter(|(known, _)| *known == name).map(|(_, text)| text);
    let lines = called.chain(own).flat_map(|text| text.lines()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
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

struct Hide {
    /// Names that were imported: of which module, and which of its exports.
    names: FxHashMap<Id, (Atom, Atom)>,
    /// The context of helpers' names.
    helpers: SyntaxContext,
    unresolved: SyntaxContext,
    /// Helpers that the program calls.
    called: BTreeSet<Atom>,
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

    fn found(&mut self, name: &Ident) -> Option<Expr> {
        let (object, property) = if name.ctxt == self.helpers {
            self.called.insert(name.sym.clone());
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
