//! Fields as TypeScript has had them before ECMAScript had some (`useDefineForClassFields` is off): they are assigned in the
//! constructor, after the properties of parameters, and those without a value are nothing.

use swc_common::util::take::Take;
use swc_common::{DUMMY_SP, Span};
use swc_ecma_ast::{
    AssignExpr, AssignOp, BlockStmt, Class, ClassMember, ClassProp, ComputedPropName, Expr, ExprStmt,
    MemberExpr, MemberProp, Program, PropName, StaticBlock, Stmt, ThisExpr,
};
use swc_ecma_utils::constructor::inject_after_super;
use swc_ecma_utils::{default_constructor_with_span, is_literal, prop_name_to_expr};
use swc_ecma_visit::{VisitMut, VisitMutWith, noop_visit_mut_type};

pub(crate) fn assign(program: &mut Program) {
    program.visit_mut_with(&mut Assign);
}

struct Assign;

impl VisitMut for Assign {
    noop_visit_mut_type!();

    fn visit_mut_class(&mut self, class: &mut Class) {
        class.visit_mut_children_with(self);
        let mut values = Vec::new();
        let members = class.body.take();
        class.body = members.into_iter().filter_map(|member| taken(member, &mut values)).collect();
        if values.is_empty() {
            return;
        }
        let has_super = class.super_class.is_some();
        let mut constructors = class.body.iter_mut().filter_map(ClassMember::as_mut_constructor);
        // The others are overloads.
        let constructor = constructors.find(|constructor| constructor.body.is_some());
        match constructor {
            Some(constructor) => inject_after_super(constructor, values),
            None => {
                let mut constructor = default_constructor_with_span(has_super, DUMMY_SP);
                inject_after_super(&mut constructor, values);
                class.body.push(ClassMember::Constructor(constructor));
            }
        }
    }
}

/// What stays of a member; what the constructor assigns is added to `values`.
fn taken(member: ClassMember, values: &mut Vec<Box<Expr>>) -> Option<ClassMember> {
    match member {
        ClassMember::ClassProp(ClassProp { declare, is_abstract, ref decorators, .. })
            if declare || is_abstract || !decorators.is_empty() =>
        {
            Some(member)
        }
        // Such a name is worked out once, where the class is made.
        ClassMember::ClassProp(ClassProp { key: PropName::Computed(ref key), .. })
            if !is_literal(&key.expr) =>
        {
            Some(member)
        }
        ClassMember::ClassProp(ClassProp { value: None, .. }) => None,
        ClassMember::ClassProp(ClassProp { span, key, value: Some(value), is_static, .. }) => {
            let assigned = assigned(member_of(key), value, span);
            if !is_static {
                values.push(assigned);
                return None;
            }
            let stmts = vec![Stmt::Expr(ExprStmt { span, expr: assigned })];
            Some(ClassMember::StaticBlock(StaticBlock {
                span,
                body: BlockStmt { stmts, ..BlockStmt::default() },
            }))
        }
        ClassMember::PrivateProp(mut field) if !field.is_static && field.decorators.is_empty() => {
            if let Some(value) = field.value.take() {
                values.push(assigned(MemberProp::PrivateName(field.key.clone()), value, field.span));
            }
            Some(ClassMember::PrivateProp(field))
        }
        _ => Some(member),
    }
}

fn member_of(key: PropName) -> MemberProp {
    match key {
        PropName::Ident(name) => MemberProp::Ident(name),
        PropName::Computed(computed) => MemberProp::Computed(computed),
        other => {
            let expr = Box::new(prop_name_to_expr(other));
            MemberProp::Computed(ComputedPropName { span: DUMMY_SP, expr })
        }
    }
}

/// `this.key = value`
fn assigned(prop: MemberProp, right: Box<Expr>, span: Span) -> Box<Expr> {
    let this = Box::new(Expr::This(ThisExpr { span: DUMMY_SP }));
    let left = MemberExpr { span, obj: this, prop }.into();
    Box::new(Expr::Assign(AssignExpr { span, op: AssignOp::Assign, left, right }))
}
