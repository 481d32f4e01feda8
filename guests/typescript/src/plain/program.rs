//! What holds for a program as a whole: what it may catch, and whether `tools` is its own.

use rustc_hash::{FxHashMap, FxHashSet};
use swc_atoms::Atom;
use swc_ecma_ast::{
    AssignExpr, BinExpr, BinaryOp, CallExpr, Callee, ClassDecl, ClassMethod, Expr, FnDecl, ForOfStmt, Ident,
    IdentName, MemberExpr, MethodProp, Pat, Program, Prop, Str, TryStmt, UnaryExpr, UnaryOp, UpdateExpr,
    VarDeclarator, WithStmt,
};
use swc_ecma_visit::{Visit, VisitWith};

use super::{called, key, looks, path};

/// Methods that keep or pass on what they are given.
const KEEPS: [&str; 22] = [
    "add",
    "all",
    "concat",
    "entries",
    "filter",
    "finally",
    "find",
    "flatMap",
    "forEach",
    "from",
    "fromEntries",
    "includes",
    "join",
    "map",
    "parse",
    "push",
    "reduce",
    "resolve",
    "set",
    "sort",
    "stringify",
    "unshift",
];
/// Methods that tell what was raised, or pass it over.
const CATCHES: [&str; 4] = ["allSettled", "any", "catch", "race"];

type Names = FxHashSet<Atom>;

#[derive(Default)]
pub(super) struct Facts {
    /// It catches something.
    pub(super) catches: bool,
    /// It looks for tools.
    pub(super) looks: bool,
    /// Functions that it declares.
    declared: Names,
    /// What may be reached from where something is caught.
    caught: Names,
    /// Functions that are mentioned outside of themselves.
    mentioned: Names,
}

impl Facts {
    /// None: `tools` is the program's own, or may be.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let mut reader = Reader::default();
        program.visit_with(&mut reader);
        // A name that stands for no value declares or assigns.
        if reader.is_own || reader.named > reader.read {
            return None;
        }
        let mut facts = Self {
            catches: reader.catches,
            looks: reader.looks,
            declared: reader.declared,
            ..Self::default()
        };
        let mut reach = Reach { facts: &facts, caught: Names::default(), made: FxHashMap::default() };
        program.visit_with(&mut reach);
        let Reach { mut caught, made, .. } = reach;
        let mut left: Vec<Atom> = caught.iter().cloned().collect();
        while let Some(name) = left.pop() {
            for behind in made.get(&name).into_iter().flatten() {
                if caught.insert(behind.clone()) {
                    left.push(behind.clone());
                }
            }
        }
        facts.caught = caught;
        let mut mentions = Mentions::default();
        program.visit_with(&mut mentions);
        facts.mentioned = mentions.found;
        Some(facts)
    }

    /// Whether a function's failure may be caught, or never comes.
    pub(super) fn may_catch(&self, name: &Atom) -> bool {
        self.caught.contains(name) || !self.mentioned.contains(name)
    }

    /// Whether what is called lets through what its arguments raise.
    pub(super) fn is_known(&self, call: &CallExpr) -> bool {
        let Callee::Expr(of) = &call.callee else { return false };
        match &**of {
            Expr::Ident(name) => !self.catches && self.declared.contains(&name.sym),
            Expr::Member(member) => {
                let name = member.prop.as_ident().map_or("", |name| &*name.sym);
                let is_then = name == "then" && call.args.len() == 1;
                is_then || KEEPS.contains(&name) || path(of).is_some()
            }
            _ => false,
        }
    }
}

/// Looks for what a program has.
#[derive(Default)]
struct Reader {
    catches: bool,
    looks: bool,
    declared: Names,
    /// It has something by which `tools` may be changed.
    is_own: bool,
    /// How often the name stands there, and how often as a value.
    named: usize,
    read: usize,
}

impl Visit for Reader {
    fn visit_ident(&mut self, name: &Ident) {
        self.named += usize::from(name.sym == "tools");
    }

    fn visit_expr(&mut self, expr: &Expr) {
        if let Expr::Ident(name) = expr {
            self.read += usize::from(name.sym == "tools");
            self.is_own |= name.sym == "eval";
        }
        expr.visit_children_with(self);
    }

    fn visit_prop(&mut self, prop: &Prop) {
        if let Prop::Shorthand(name) = prop {
            self.read += usize::from(name.sym == "tools");
        }
        prop.visit_children_with(self);
    }

    fn visit_update_expr(&mut self, of: &UpdateExpr) {
        self.is_own |= of.arg.as_ident().is_some_and(|name| name.sym == "tools");
        of.visit_children_with(self);
    }

    fn visit_member_expr(&mut self, of: &MemberExpr) {
        let is_tools = of.prop.as_ident().is_some_and(|name| name.sym == "tools");
        let of_all = match &*of.obj {
            Expr::Ident(name) => matches!(&*name.sym, "globalThis" | "global" | "self" | "window"),
            Expr::This(_) => true,
            _ => false,
        };
        self.is_own |= is_tools && of_all;
        self.catches |= of.prop.as_ident().is_some_and(|name| CATCHES.contains(&&*name.sym));
        of.visit_children_with(self);
    }

    fn visit_str(&mut self, text: &Str) {
        self.is_own |= text.value.as_str() == Some("tools");
    }

    fn visit_with_stmt(&mut self, of: &WithStmt) {
        self.is_own = true;
        of.visit_children_with(self);
    }

    fn visit_try_stmt(&mut self, of: &TryStmt) {
        self.catches |= of.handler.is_some();
        of.visit_children_with(self);
    }

    fn visit_call_expr(&mut self, call: &CallExpr) {
        if let Callee::Expr(of) = &call.callee {
            self.looks |= path(of).is_some_and(|names| looks(&names));
        }
        self.catches |= called(call).is_some_and(|name| name == "then") && call.args.len() > 1;
        call.visit_children_with(self);
    }

    fn visit_bin_expr(&mut self, of: &BinExpr) {
        self.looks |= of.op == BinaryOp::In;
        of.visit_children_with(self);
    }

    fn visit_unary_expr(&mut self, of: &UnaryExpr) {
        self.looks |= of.op == UnaryOp::TypeOf;
        of.visit_children_with(self);
    }

    fn visit_fn_decl(&mut self, function: &FnDecl) {
        self.declared.insert(function.ident.sym.clone());
        function.visit_children_with(self);
    }

    fn visit_var_declarator(&mut self, of: &VarDeclarator) {
        if let (Pat::Ident(name), Some(Expr::Arrow(_) | Expr::Fn(_))) = (&of.name, of.init.as_deref()) {
            self.declared.insert(name.sym.clone());
        }
        of.visit_children_with(self);
    }
}

/// All names in a part.
#[derive(Default)]
struct Named(Names);

impl Named {
    fn of(part: &(impl VisitWith<Self> + ?Sized)) -> Names {
        let mut named = Self::default();
        part.visit_with(&mut named);
        named.0
    }
}

impl Visit for Named {
    fn visit_ident(&mut self, name: &Ident) {
        self.0.insert(name.sym.clone());
    }

    fn visit_ident_name(&mut self, name: &IdentName) {
        self.0.insert(name.sym.clone());
    }
}

/// Names behind names: what functions call, and what variables are made of.
struct Reach<'a> {
    facts: &'a Facts,
    caught: Names,
    made: FxHashMap<Atom, Names>,
}

impl Reach<'_> {
    fn note(&mut self, names: impl IntoIterator<Item = Atom>, behind: &Names) {
        for name in names {
            self.made.entry(name).or_default().extend(behind.iter().cloned());
        }
    }
}

impl Visit for Reach<'_> {
    fn visit_try_stmt(&mut self, of: &TryStmt) {
        if of.handler.is_some() {
            self.caught.extend(Named::of(&of.block));
        }
        of.visit_children_with(self);
    }

    fn visit_call_expr(&mut self, call: &CallExpr) {
        let given = Named::of(call.args.as_slice());
        if !self.facts.is_known(call) {
            self.caught.extend(given.iter().cloned());
        }
        if let Callee::Expr(of) = &call.callee
            && let Expr::Member(member) = &**of
        {
            let behind = Named::of(&member.obj);
            let is_caught = member.prop.as_ident().is_some_and(|name| {
                CATCHES.contains(&&*name.sym) || (name.sym == "then" && call.args.len() > 1)
            });
            if is_caught {
                self.caught.extend(behind.iter().cloned());
            }
            self.note(behind, &given);
        }
        call.visit_children_with(self);
    }

    fn visit_fn_decl(&mut self, function: &FnDecl) {
        let behind = Named::of(&function.function);
        self.note([function.ident.sym.clone()], &behind);
        function.visit_children_with(self);
    }

    fn visit_class_decl(&mut self, class: &ClassDecl) {
        let behind = Named::of(&class.class);
        self.note([class.ident.sym.clone()], &behind);
        class.visit_children_with(self);
    }

    fn visit_class_method(&mut self, method: &ClassMethod) {
        let behind = Named::of(&method.function);
        self.note(key(&method.key).cloned(), &behind);
        method.visit_children_with(self);
    }

    fn visit_method_prop(&mut self, method: &MethodProp) {
        let behind = Named::of(&method.function);
        self.note(key(&method.key).cloned(), &behind);
        method.visit_children_with(self);
    }

    fn visit_var_declarator(&mut self, of: &VarDeclarator) {
        if let Some(init) = &of.init {
            let behind = Named::of(init);
            self.note(Named::of(&of.name), &behind);
        }
        of.visit_children_with(self);
    }

    fn visit_assign_expr(&mut self, of: &AssignExpr) {
        let behind = Named::of(&of.right);
        self.note(Named::of(&of.left), &behind);
        of.visit_children_with(self);
    }

    fn visit_for_of_stmt(&mut self, of: &ForOfStmt) {
        let behind = Named::of(&of.right);
        self.note(Named::of(&of.left), &behind);
        of.visit_children_with(self);
    }
}

/// Functions that are mentioned outside of themselves.
#[derive(Default)]
struct Mentions {
    found: Names,
    inside: Vec<Atom>,
}

impl Mentions {
    fn within(&mut self, name: &Atom, what: impl FnOnce(&mut Self)) {
        self.inside.push(name.clone());
        what(self);
        self.inside.pop();
    }

    fn note(&mut self, name: &Atom) {
        if !self.inside.contains(name) {
            self.found.insert(name.clone());
        }
    }
}

impl Visit for Mentions {
    fn visit_ident(&mut self, name: &Ident) {
        self.note(&name.sym);
    }

    fn visit_ident_name(&mut self, name: &IdentName) {
        self.note(&name.sym);
    }

    fn visit_fn_decl(&mut self, function: &FnDecl) {
        self.within(&function.ident.sym, |mentions| function.function.visit_with(mentions));
    }

    fn visit_class_method(&mut self, method: &ClassMethod) {
        match key(&method.key) {
            Some(name) => self.within(name, |mentions| method.function.visit_with(mentions)),
            None => method.visit_children_with(self),
        }
    }

    fn visit_method_prop(&mut self, method: &MethodProp) {
        match key(&method.key) {
            Some(name) => self.within(name, |mentions| method.function.visit_with(mentions)),
            None => method.visit_children_with(self),
        }
    }

    fn visit_var_declarator(&mut self, of: &VarDeclarator) {
        match (&of.name, of.init.as_deref()) {
            (Pat::Ident(name), Some(init @ (Expr::Arrow(_) | Expr::Fn(_)))) => {
                self.within(&name.sym, |mentions| init.visit_with(mentions));
            }
            _ => of.visit_children_with(self),
        }
    }
}
