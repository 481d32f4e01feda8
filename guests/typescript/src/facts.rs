//! What a source has that only compiling can do.

use std::collections::BTreeSet;

use swc_atoms::Atom;
use swc_common::{Span, Spanned};
use swc_ecma_ast::{
    AutoAccessor, ClassProp, Decorator, JSXElement, JSXFragment, ModuleDecl, ModuleItem, Param, Program,
    TsModuleDecl, TsParamProp,
};
use swc_ecma_ast::{Decl, Stmt, TsModuleName};
use swc_ecma_visit::{Visit, VisitWith};

use crate::accessor::can_be_split;

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) decorators: bool,
    /// Of parameters, which only the older form of decorators has.
    pub(crate) parameters: bool,
    pub(crate) accessor: bool,
    /// The first decorated `accessor` that the older form of decorators cannot have.
    pub(crate) decorated_accessor: Option<Span>,
    pub(crate) jsx: bool,
    /// A class has some.
    pub(crate) fields: bool,
    /// Names of enums and namespaces that are declared at the top.
    pub(crate) enums: BTreeSet<Atom>,
    pub(crate) namespaces: BTreeSet<Atom>,
}

impl Facts {
    pub(crate) fn of(program: &Program) -> Self {
        let mut facts = Self::default();
        program.visit_with(&mut facts);
        match program {
            Program::Script(script) => script.body.iter().for_each(|statement| facts.note(statement)),
            Program::Module(module) => {
                for item in &module.body {
                    match item {
                        ModuleItem::Stmt(statement) => facts.note(statement),
                        ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(export)) => {
                            facts.declared(&export.decl)
                        }
                        ModuleItem::ModuleDecl(_) => {}
                    }
                }
            }
        }
        facts
    }

    fn note(&mut self, statement: &Stmt) {
        if let Stmt::Decl(declaration) = statement {
            self.declared(declaration);
        }
    }

    fn declared(&mut self, declaration: &Decl) {
        match declaration {
            Decl::TsEnum(of) => {
                self.enums.insert(of.id.sym.clone());
            }
            Decl::TsModule(of) => {
                if let TsModuleDecl { id: TsModuleName::Ident(name), .. } = &**of {
                    self.namespaces.insert(name.sym.clone());
                }
            }
            _ => {}
        }
    }
}

impl Visit for Facts {
    fn visit_decorator(&mut self, decorator: &Decorator) {
        self.decorators = true;
        decorator.visit_children_with(self);
    }

    fn visit_param(&mut self, parameter: &Param) {
        self.parameters |= !parameter.decorators.is_empty();
        parameter.visit_children_with(self);
    }

    fn visit_ts_param_prop(&mut self, parameter: &TsParamProp) {
        self.parameters |= !parameter.decorators.is_empty();
        parameter.visit_children_with(self);
    }

    fn visit_auto_accessor(&mut self, accessor: &AutoAccessor) {
        self.accessor = true;
        match (self.decorated_accessor, accessor.decorators.first()) {
            (None, Some(first)) if !can_be_split(accessor) => self.decorated_accessor = Some(first.span()),
            _ => {}
        }
        accessor.visit_children_with(self);
    }

    fn visit_class_prop(&mut self, field: &ClassProp) {
        self.fields = true;
        field.visit_children_with(self);
    }

    fn visit_jsx_element(&mut self, element: &JSXElement) {
        self.jsx = true;
        element.visit_children_with(self);
    }

    fn visit_jsx_fragment(&mut self, fragment: &JSXFragment) {
        self.jsx = true;
        fragment.visit_children_with(self);
    }
}
