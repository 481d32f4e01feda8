//! What is declared at the top of a source, for a sandbox that keeps it.

use swc_common::DUMMY_SP;
use swc_common::util::take::Take;
use swc_ecma_ast::{
    ArrowExpr, ArrowFunctionBody, AwaitExpr, BinaryOp, CallExpr, Callee, Class, ClassDecl, ClassExpr,
    ClassMember, Decl, DefaultDecl, ExportDecl, ExportDefaultDecl, ExportDefaultExpr, Expr, Function,
    FunctionBody, Ident, ModuleDecl, ModuleItem, ParamOrTsParamProp, Pat, Program, ReturnStmt, Stmt, VarDecl,
    VarDeclKind, VarDeclarator, YieldExpr,
};
use swc_ecma_visit::{Visit, VisitMut, VisitMutWith, VisitWith, noop_visit_mut_type, noop_visit_type};

use crate::facts::Facts;

/// `export =` is the value of the source, as `export default` is.
pub(crate) fn export_default(program: &mut Program) {
    let Program::Module(module) = program else { return };
    for item in &mut module.body {
        if let ModuleItem::ModuleDecl(ModuleDecl::TsExportAssignment(assignment)) = item {
            let (span, expr) = (assignment.span, assignment.expr.take());
            *item = ModuleDecl::ExportDefaultExpr(ExportDefaultExpr { span, expr }).into();
        }
    }
}

/// Whether a file is a module of the older kind: `import x = require()` and `export =` are the only ones of its statements that
/// only a module has.
pub(crate) fn is_common(program: &Program) -> bool {
    let is_newer = |item: &ModuleItem| match item {
        ModuleItem::ModuleDecl(ModuleDecl::Import(import)) => !import.type_only,
        ModuleItem::ModuleDecl(ModuleDecl::ExportNamed(export)) => !export.type_only,
        ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(export)) => {
            !matches!(export.decl, Decl::TsInterface(_) | Decl::TsTypeAlias(_))
        }
        ModuleItem::ModuleDecl(declaration) => {
            !matches!(declaration, ModuleDecl::TsImportEquals(_) | ModuleDecl::TsExportAssignment(_))
        }
        ModuleItem::Stmt(_) => false,
    };
    program.as_module().is_none_or(|module| !module.body.iter().any(is_newer))
}

/// Compiled decorators need variables beside their class. So that these are none of the sandbox's, a class with decorators is
/// made in a function, and is its result.
pub(crate) fn prepare(program: &mut Program, facts: &Facts) {
    if facts.decorators {
        match program {
            Program::Module(module) => {
                let body = module.body.take();
                module.body = body.into_iter().flat_map(|item| enclose_item(item, facts)).collect();
            }
            Program::Script(script) => {
                for statement in &mut script.body {
                    enclose_statement(statement, facts);
                }
            }
        }
        program.visit_mut_with(&mut Enclose);
    }
}

/// An enum of an earlier snippet is not added to: it is declared anew.
pub(crate) fn anew(program: &mut Program, facts: &Facts) {
    if facts.enums.is_empty() {
        return;
    }
    let declared = |declaration: &mut Decl| {
        let Decl::Var(variables) = declaration else { return };
        for VarDeclarator { name, init, .. } in &mut variables.decls {
            let (Pat::Ident(name), Some(Expr::Call(call))) = (name, init.as_deref_mut()) else { continue };
            let [argument] = &mut *call.args else { continue };
            if !facts.enums.contains(&name.sym) {
                continue;
            }
            match &mut *argument.expr {
                Expr::Bin(or)
                    if or.op == BinaryOp::LogicalOr && or.span.is_dummy() && or.right.is_object() =>
                {
                    argument.expr = or.right.take();
                }
                _ => {}
            }
        }
    };
    match program {
        Program::Script(script) => {
            for statement in &mut script.body {
                if let Stmt::Decl(declaration) = statement {
                    declared(declaration);
                }
            }
        }
        Program::Module(module) => {
            for item in &mut module.body {
                if let ModuleItem::Stmt(Stmt::Decl(declaration)) = item {
                    declared(declaration);
                }
            }
        }
    }
}

fn enclose_statement(statement: &mut Stmt, facts: &Facts) {
    if let Stmt::Decl(declaration) = statement {
        enclose_declaration(declaration, facts);
    }
}

fn enclose_declaration(declaration: &mut Decl, facts: &Facts) {
    let Decl::Class(class) = declaration else { return };
    // A namespace of its name adds to the class itself.
    let is_added_to = facts.namespaces.contains(&class.ident.sym);
    if is_added_to || class.declare {
        return;
    }
    if let Some(of) = Enclosure::of(&class.class) {
        *declaration = enclosed(class.ident.clone(), class.class.take(), of);
    }
}

/// `let C = (() => { class C {} return C; })()`
fn enclosed(name: Ident, class: Box<Class>, of: Enclosure) -> Decl {
    let variable = VarDeclarator {
        span: DUMMY_SP,
        name: Pat::Ident(unplaced(&name).into()),
        init: Some(Box::new(of.call(vec![
            Stmt::Decl(Decl::Class(ClassDecl { ident: name.clone(), declare: false, class })),
            returned(Expr::Ident(unplaced(&name))),
        ]))),
        definite: false,
    };
    let kind = VarDeclKind::Let;
    Decl::Var(Box::new(VarDecl { kind, decls: vec![variable], ..VarDecl::default() }))
}

fn enclose_item(item: ModuleItem, facts: &Facts) -> Vec<ModuleItem> {
    match item {
        ModuleItem::Stmt(mut statement) => {
            enclose_statement(&mut statement, facts);
            vec![statement.into()]
        }
        ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(ExportDecl { span, mut decl })) => {
            enclose_declaration(&mut decl, facts);
            vec![ModuleDecl::ExportDecl(ExportDecl { span, decl }).into()]
        }
        ModuleItem::ModuleDecl(ModuleDecl::ExportDefaultDecl(ExportDefaultDecl {
            span,
            decl: DefaultDecl::Class(ClassExpr { ident, class }),
        })) => match (ident, Enclosure::of(&class)) {
            (Some(name), Some(of)) => {
                let default = ExportDefaultExpr { span: DUMMY_SP, expr: unplaced(&name).into() };
                let class = Stmt::Decl(enclosed(name, class, of));
                vec![class.into(), ModuleDecl::ExportDefaultExpr(default).into()]
            }
            // It is enclosed as an expression.
            (None, Some(_)) => {
                let expr = Box::new(Expr::Class(ClassExpr { ident: None, class }));
                vec![ModuleDecl::ExportDefaultExpr(ExportDefaultExpr { span, expr }).into()]
            }
            (ident, None) => {
                let decl = DefaultDecl::Class(ClassExpr { ident, class });
                vec![ModuleDecl::ExportDefaultDecl(ExportDefaultDecl { span, decl }).into()]
            }
        },
        other => vec![other],
    }
}

/// Classes in expressions, which have no statement of their own to stand before.
struct Enclose;

impl VisitMut for Enclose {
    noop_visit_mut_type!();

    fn visit_mut_var_declarator(&mut self, variable: &mut VarDeclarator) {
        // The name that it has from its variable.
        match (&variable.name, variable.init.as_deref_mut()) {
            (Pat::Ident(name), Some(Expr::Class(class))) if is_decorated(&class.class) => {
                class.ident.get_or_insert_with(|| unplaced(&name.id));
            }
            _ => {}
        }
        variable.visit_mut_children_with(self);
    }

    fn visit_mut_expr(&mut self, expression: &mut Expr) {
        expression.visit_mut_children_with(self);
        let of = match expression {
            Expr::Class(class) => Enclosure::of(&class.class),
            _ => None,
        };
        if let Some(of) = of {
            *expression = of.call(vec![returned(expression.take())]);
        }
    }
}

/// The function that a class with decorators is made in.
struct Enclosure {
    is_async: bool,
}

impl Enclosure {
    /// None: the class has no decorators, or a `yield`, which would be the inner function's.
    fn of(class: &Class) -> Option<Self> {
        if !is_decorated(class) {
            return None;
        }
        let mut outer = Outer::default();
        class.visit_with(&mut outer);
        (!outer.yields).then_some(Self { is_async: outer.awaits })
    }

    /// Calls a function of these statements.
    fn call(self, stmts: Vec<Stmt>) -> Expr {
        let Self { is_async } = self;
        let body = Box::new(ArrowFunctionBody::FunctionBody(FunctionBody { span: DUMMY_SP, stmts }));
        let function = Box::new(Expr::Arrow(ArrowExpr { body, is_async, ..ArrowExpr::default() }));
        let called = Expr::Call(CallExpr { callee: Callee::Expr(function), ..CallExpr::default() });
        if !is_async {
            return called;
        }
        Expr::Await(AwaitExpr { span: DUMMY_SP, arg: Box::new(called) })
    }
}

fn returned(value: Expr) -> Stmt {
    Stmt::Return(ReturnStmt { span: DUMMY_SP, arg: Some(Box::new(value)) })
}

fn unplaced(name: &Ident) -> Ident {
    Ident { span: DUMMY_SP, ..name.clone() }
}

pub(crate) fn is_decorated(class: &Class) -> bool {
    let of_member = |member: &ClassMember| match member {
        ClassMember::Method(method) => is_decorated_function(&method.function),
        ClassMember::PrivateMethod(method) => is_decorated_function(&method.function),
        ClassMember::ClassProp(property) => !property.decorators.is_empty(),
        ClassMember::PrivateProp(property) => !property.decorators.is_empty(),
        ClassMember::AutoAccessor(accessor) => !accessor.decorators.is_empty(),
        ClassMember::Constructor(constructor) => constructor.params.iter().any(|parameter| match parameter {
            ParamOrTsParamProp::Param(parameter) => !parameter.decorators.is_empty(),
            ParamOrTsParamProp::TsParamProp(parameter) => !parameter.decorators.is_empty(),
        }),
        _ => false,
    };
    !class.decorators.is_empty() || class.body.iter().any(of_member)
}

fn is_decorated_function(function: &Function) -> bool {
    !function.decorators.is_empty() || function.params.iter().any(|each| !each.decorators.is_empty())
}

/// Whether `await` and `yield` stand outside of the functions within.
#[derive(Default)]
struct Outer {
    awaits: bool,
    yields: bool,
}

impl Visit for Outer {
    noop_visit_type!();

    fn visit_await_expr(&mut self, expression: &AwaitExpr) {
        self.awaits = true;
        expression.visit_children_with(self);
    }

    fn visit_yield_expr(&mut self, expression: &YieldExpr) {
        self.yields = true;
        expression.visit_children_with(self);
    }

    fn visit_function_body(&mut self, _: &FunctionBody) {}

    fn visit_arrow_expr(&mut self, _: &ArrowExpr) {}
}
