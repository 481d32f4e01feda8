//! Namespaces of one name see what the others of it export, as if they were one. swc compiles each by itself, so such a name is
//! declared in a namespace that does not have it before names are resolved ([`declare`]), and is a property of the namespace
//! after that ([`qualify`]).

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use swc_atoms::Atom;
use swc_common::{BytePos, DUMMY_SP, Span};
use swc_ecma_ast::{
    AssignPat, AssignPatProp, Decl, ExportDecl, Expr, Id, Ident, JSXElementName, JSXMemberExpr, JSXObject,
    KeyValuePatProp, KeyValueProp, Lit, MemberExpr, MemberProp, ModuleDecl, ModuleItem, Number,
    ObjectPatProp, Pat, Program, Prop, PropName, SimpleAssignTarget, Stmt, TsEntityName, TsImportEqualsDecl,
    TsModuleBlock, TsModuleDecl, TsModuleName, TsModuleRef, TsNamespaceBody, TsNamespaceDecl,
    TsQualifiedName, VarDecl, VarDeclKind, VarDeclarator,
};
use swc_ecma_utils::find_pat_ids;
use swc_ecma_visit::{VisitMut, VisitMutWith, noop_visit_mut_type};

/// Where a declaration stands that is taken out again.
const MARK: Span = Span { lo: BytePos(u32::MAX), hi: BytePos(u32::MAX) };

/// One of the namespaces of a name.
struct Part<'a> {
    body: &'a mut TsNamespaceBody,
    /// What is to be seen in it of namespaces around it that have no body of their own (`namespace A.B`): how many levels up.
    around: BTreeMap<Atom, u32>,
}

/// Parts of namespaces, by name.
type Groups<'a> = BTreeMap<Atom, Vec<Part<'a>>>;

/// Declares in each namespace what others of its name export. False: there is nothing of that kind.
pub(crate) fn declare(program: &mut Program) -> bool {
    let mut groups = Groups::new();
    match program {
        Program::Module(module) => {
            for item in &mut module.body {
                if let Some((module, _)) = namespace(item) {
                    add(&mut groups, module);
                }
            }
        }
        Program::Script(script) => {
            for statement in &mut script.body {
                if let Stmt::Decl(Decl::TsModule(module)) = statement {
                    add(&mut groups, module);
                }
            }
        }
    }
    merge(groups)
}

/// The namespace that is declared, and whether it is exported.
fn namespace(item: &mut ModuleItem) -> Option<(&mut TsModuleDecl, bool)> {
    match item {
        ModuleItem::Stmt(Stmt::Decl(Decl::TsModule(module))) => Some((module, false)),
        ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(ExportDecl {
            decl: Decl::TsModule(module), ..
        })) => Some((module, true)),
        _ => None,
    }
}

fn add<'a>(groups: &mut Groups<'a>, module: &'a mut TsModuleDecl) {
    if let TsModuleDecl { declare: false, id: TsModuleName::Ident(name), body: Some(body), .. } = module {
        let part = Part { body, around: BTreeMap::new() };
        groups.entry(name.sym.clone()).or_default().push(part);
    }
}

fn merge(groups: Groups<'_>) -> bool {
    // All of them are to be done, so not with `any`.
    groups.into_values().map(merge_parts).fold(false, |one, other| one | other)
}

fn merge_parts(parts: Vec<Part<'_>>) -> bool {
    let exports: Vec<FxHashSet<Atom>> = parts.iter().map(|part| exported(part.body)).collect();
    let (mut inner, mut done) = (Groups::new(), false);
    for (at, Part { body, around }) in parts.into_iter().enumerate() {
        let mut seen: BTreeMap<Atom, u32> =
            around.into_iter().map(|(name, level)| (name, level + 1)).collect();
        let others =
            exports.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, names)| names);
        seen.extend(others.map(|name| (name.clone(), 0)));
        match body {
            TsNamespaceBody::TsNamespaceDecl(TsNamespaceDecl { id, body, .. }) => {
                seen.remove(&id.sym);
                inner.entry(id.sym.clone()).or_default().push(Part { body, around: seen });
            }
            TsNamespaceBody::TsModuleBlock(TsModuleBlock { body: items, .. }) => {
                for name in items.iter().flat_map(declared) {
                    seen.remove(&name);
                }
                if !seen.is_empty() {
                    items.insert(0, stub(&seen));
                    done = true;
                }
                let mut own = Groups::new();
                for (module, is_exported) in items.iter_mut().filter_map(namespace) {
                    add(if is_exported { &mut inner } else { &mut own }, module);
                }
                done |= merge(own);
            }
        }
    }
    done | merge(inner)
}

/// What a namespace exports that is more than a type.
fn exported(body: &TsNamespaceBody) -> FxHashSet<Atom> {
    match body {
        TsNamespaceBody::TsNamespaceDecl(inner) => FxHashSet::from_iter([inner.id.sym.clone()]),
        TsNamespaceBody::TsModuleBlock(block) => {
            let of = |item: &ModuleItem| match item {
                ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(export)) => names_of(&export.decl),
                ModuleItem::ModuleDecl(ModuleDecl::TsImportEquals(import)) if import.is_export => {
                    vec![import.id.sym.clone()]
                }
                _ => Vec::new(),
            };
            block.body.iter().flat_map(of).collect()
        }
    }
}

/// What an item of a namespace's body declares.
fn declared(item: &ModuleItem) -> Vec<Atom> {
    match item {
        ModuleItem::Stmt(Stmt::Decl(declaration)) => names_of(declaration),
        ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(export)) => names_of(&export.decl),
        ModuleItem::ModuleDecl(ModuleDecl::TsImportEquals(import)) => vec![import.id.sym.clone()],
        _ => Vec::new(),
    }
}

fn names_of(declaration: &Decl) -> Vec<Atom> {
    match declaration {
        Decl::Class(class) => vec![class.ident.sym.clone()],
        Decl::Fn(function) => vec![function.ident.sym.clone()],
        Decl::TsEnum(of) => vec![of.id.sym.clone()],
        Decl::Var(variables) => {
            find_pat_ids::<_, Id>(&variables.decls).into_iter().map(|(name, _)| name).collect()
        }
        Decl::TsModule(module) => match &module.id {
            TsModuleName::Ident(name) => vec![name.sym.clone()],
            TsModuleName::Str(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `var name = level, ...`
fn stub(names: &BTreeMap<Atom, u32>) -> ModuleItem {
    let declarator = |(name, level): (&Atom, &u32)| VarDeclarator {
        span: DUMMY_SP,
        name: Pat::Ident(Ident::new_no_ctxt(name.clone(), DUMMY_SP).into()),
        init: Some(Box::new(Expr::Lit(Lit::Num(Number::from(f64::from(*level)))))),
        definite: false,
    };
    let decls = names.iter().map(declarator).collect();
    let variables = VarDecl { span: MARK, kind: VarDeclKind::Var, decls, ..VarDecl::default() };
    ModuleItem::Stmt(Stmt::Decl(Decl::Var(Box::new(variables))))
}

/// Takes the declarations out again: what they are the names of are properties of a namespace.
pub(crate) fn qualify(program: &mut Program) {
    let mut stubs = Stubs { around: Vec::new(), owners: FxHashMap::default() };
    program.visit_mut_with(&mut stubs);
    program.visit_mut_with(&mut Qualify { owners: stubs.owners });
}

/// Collects what was declared.
struct Stubs {
    /// The namespaces around, the innermost last.
    around: Vec<Ident>,
    owners: FxHashMap<Id, Ident>,
}

impl Stubs {
    fn note(&mut self, variable: &VarDeclarator) {
        let (Pat::Ident(name), Some(Expr::Lit(Lit::Num(level)))) = (&variable.name, variable.init.as_deref())
        else {
            return;
        };
        if let Some(owner) = self.around.iter().rev().nth(level.value as usize) {
            self.owners.insert(name.to_id(), owner.clone());
        }
    }
}

impl VisitMut for Stubs {
    noop_visit_mut_type!();

    fn visit_mut_ts_module_decl(&mut self, module: &mut TsModuleDecl) {
        let TsModuleName::Ident(name) = &module.id else { return };
        self.around.push(name.clone());
        module.visit_mut_children_with(self);
        self.around.pop();
    }

    fn visit_mut_ts_namespace_decl(&mut self, namespace: &mut TsNamespaceDecl) {
        self.around.push(namespace.id.clone());
        namespace.visit_mut_children_with(self);
        self.around.pop();
    }

    fn visit_mut_ts_module_block(&mut self, block: &mut TsModuleBlock) {
        if let Some(ModuleItem::Stmt(Stmt::Decl(Decl::Var(variables)))) = block.body.first()
            && variables.span == MARK
        {
            variables.decls.iter().for_each(|variable| self.note(variable));
            block.body.remove(0);
        }
        block.visit_mut_children_with(self);
    }
}

struct Qualify {
    owners: FxHashMap<Id, Ident>,
}

impl Qualify {
    fn member(&self, name: &Ident) -> Option<MemberExpr> {
        let owner = self.owners.get(&name.to_id())?;
        let owner = Ident { span: DUMMY_SP, ..owner.clone() };
        Some(MemberExpr {
            span: name.span,
            obj: Box::new(Expr::Ident(owner)),
            prop: MemberProp::Ident(name.clone().into()),
        })
    }

    /// What `import x = a.b` names.
    fn entity(&self, name: &mut TsEntityName) {
        match name {
            TsEntityName::Ident(first) => {
                if let Some(owner) = self.owners.get(&first.to_id()) {
                    let (left, right) = (TsEntityName::Ident(owner.clone()), first.clone().into());
                    let qualified = TsQualifiedName { span: first.span, left, right };
                    *name = TsEntityName::TsQualifiedName(Box::new(qualified));
                }
            }
            TsEntityName::TsQualifiedName(of) => self.entity(&mut of.left),
        }
    }
}

impl VisitMut for Qualify {
    noop_visit_mut_type!();

    fn visit_mut_expr(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Ident(name) => {
                if let Some(member) = self.member(name) {
                    *expression = Expr::Member(member);
                }
            }
            _ => expression.visit_mut_children_with(self),
        }
    }

    fn visit_mut_simple_assign_target(&mut self, target: &mut SimpleAssignTarget) {
        match target {
            SimpleAssignTarget::Ident(name) => {
                if let Some(member) = self.member(name) {
                    *target = SimpleAssignTarget::Member(member);
                }
            }
            _ => target.visit_mut_children_with(self),
        }
    }

    fn visit_mut_pat(&mut self, pattern: &mut Pat) {
        match pattern {
            Pat::Ident(name) => {
                if let Some(member) = self.member(name) {
                    *pattern = Pat::Expr(Box::new(Expr::Member(member)));
                }
            }
            _ => pattern.visit_mut_children_with(self),
        }
    }

    fn visit_mut_prop(&mut self, property: &mut Prop) {
        match property {
            Prop::Shorthand(name) => {
                if let Some(member) = self.member(name) {
                    let key = PropName::Ident(name.clone().into());
                    *property = Prop::KeyValue(KeyValueProp { key, value: Box::new(Expr::Member(member)) });
                }
            }
            _ => property.visit_mut_children_with(self),
        }
    }

    fn visit_mut_object_pat_prop(&mut self, property: &mut ObjectPatProp) {
        property.visit_mut_children_with(self);
        let ObjectPatProp::Assign(AssignPatProp { key, value, .. }) = property else { return };
        let Some(member) = self.member(key) else { return };
        let target = Pat::Expr(Box::new(Expr::Member(member)));
        let value = match value.take() {
            Some(right) => Pat::Assign(AssignPat { span: DUMMY_SP, left: Box::new(target), right }),
            None => target,
        };
        let key = PropName::Ident(key.id.clone().into());
        *property = ObjectPatProp::KeyValue(KeyValuePatProp { key, value: Box::new(value) });
    }

    fn visit_mut_ts_import_equals_decl(&mut self, import: &mut TsImportEqualsDecl) {
        if let TsModuleRef::TsEntityName(name) = &mut import.module_ref {
            self.entity(name);
        }
    }

    fn visit_mut_jsx_element_name(&mut self, name: &mut JSXElementName) {
        match name {
            JSXElementName::Ident(first) => {
                if let Some(owner) = self.owners.get(&first.to_id()) {
                    let (obj, prop) = (JSXObject::Ident(owner.clone()), first.clone().into());
                    *name = JSXElementName::JSXMemberExpr(JSXMemberExpr { span: first.span, obj, prop });
                }
            }
            _ => name.visit_mut_children_with(self),
        }
    }

    fn visit_mut_jsx_object(&mut self, object: &mut JSXObject) {
        match object {
            JSXObject::Ident(first) => {
                if let Some(owner) = self.owners.get(&first.to_id()) {
                    let (obj, prop) = (JSXObject::Ident(owner.clone()), first.clone().into());
                    let member = JSXMemberExpr { span: first.span, obj, prop };
                    *object = JSXObject::JSXMemberExpr(Box::new(member));
                }
            }
            JSXObject::JSXMemberExpr(member) => member.visit_mut_children_with(self),
        }
    }
}
