//! A decorated `accessor` where decorators are of the older kind: a getter with the decorators, a setter, and a private field.

use swc_common::DUMMY_SP;
use swc_ecma_ast::{
    AssignExpr, AssignOp, AutoAccessor, BindingIdent, Class, ClassMember, ClassMethod, Expr, ExprStmt,
    Function, FunctionBody, Ident, Key, MemberExpr, MemberProp, MethodKind, Param, Pat, PrivateName,
    PrivateProp, Program, PropName, ReturnStmt, Stmt, ThisExpr,
};
use swc_ecma_visit::{VisitMut, VisitMutWith, noop_visit_mut_type};

pub(crate) fn split(program: &mut Program) {
    program.visit_mut_with(&mut Split { count: 0 });
}

/// Whether it can be: its name is not worked out, and not private.
pub(crate) fn can_be_split(accessor: &AutoAccessor) -> bool {
    matches!(&accessor.key, Key::Public(name) if !name.is_computed())
}

struct Split {
    count: usize,
}

impl VisitMut for Split {
    noop_visit_mut_type!();

    fn visit_mut_class(&mut self, class: &mut Class) {
        class.visit_mut_children_with(self);
        let members = std::mem::take(&mut class.body);
        for member in members {
            match member {
                ClassMember::AutoAccessor(accessor)
                    if !accessor.decorators.is_empty() && can_be_split(&accessor) =>
                {
                    class.body.extend(self.parts(accessor));
                }
                other => class.body.push(other),
            }
        }
    }
}

impl Split {
    fn parts(&mut self, accessor: AutoAccessor) -> Vec<ClassMember> {
        let AutoAccessor { span, key, value, decorators, is_static, type_ann, .. } = accessor;
        let Key::Public(key) = key else { return Vec::new() };
        self.count += 1;
        let place = PrivateName { span: DUMMY_SP, name: format!("_accessor_{}", self.count).into() };
        let field = || {
            let (obj, prop) = (Box::new(Expr::This(ThisExpr { span: DUMMY_SP })), place.clone());
            MemberExpr { span: DUMMY_SP, obj, prop: MemberProp::PrivateName(prop) }
        };
        let given = Ident::new_no_ctxt("value".into(), DUMMY_SP);
        let read = Stmt::Return(ReturnStmt { span: DUMMY_SP, arg: Some(Box::new(Expr::Member(field()))) });
        let right = Box::new(Expr::Ident(given.clone()));
        let write = AssignExpr { span: DUMMY_SP, op: AssignOp::Assign, left: field().into(), right };
        let write = Stmt::Expr(ExprStmt { span: DUMMY_SP, expr: Box::new(Expr::Assign(write)) });
        // Metadata is told of the types of both.
        let param = Pat::Ident(BindingIdent { id: given, type_ann: type_ann.clone() });
        let param = Param { span: DUMMY_SP, decorators: Vec::new(), pat: param };
        let method = |kind, params, statement, decorators, return_type, key: PropName| {
            let body = Some(FunctionBody { span: DUMMY_SP, stmts: vec![statement] });
            let function = Function { params, body, decorators, return_type, ..Function::default() };
            let function = Box::new(function);
            ClassMember::Method(ClassMethod {
                span,
                key,
                function,
                kind,
                is_static,
                ..ClassMethod::default()
            })
        };
        vec![
            ClassMember::PrivateProp(PrivateProp {
                span,
                key: place.clone(),
                value,
                is_static,
                ..PrivateProp::default()
            }),
            method(MethodKind::Getter, Vec::new(), read, decorators, type_ann, key.clone()),
            method(MethodKind::Setter, vec![param], write, Vec::new(), None, key),
        ]
    }
}
