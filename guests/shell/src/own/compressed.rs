//! `zcat`: `gzip -dc` by its other name.

use bashkit::{Builtin, BuiltinContext, ExecResult, ExecutionPlan, Result, SubCommand, async_trait};

/// The command.
pub(super) struct Zcat;

#[async_trait]
impl Builtin for Zcat {
    /// Never runs: there is always a plan.
    async fn execute(&self, _: BuiltinContext<'_>) -> Result<ExecResult> {
        Ok(ExecResult::err("zcat: gzip is missing\n", 1))
    }

    async fn execution_plan(&self, context: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        let args = ["-dc".to_owned()].into_iter().chain(context.args.iter().cloned()).collect();
        let gzip =
            SubCommand { name: "gzip".into(), args, stdin: context.stdin.cloned(), assignments: Vec::new() };
        Ok(Some(ExecutionPlan::Batch { commands: vec![gzip] }))
    }
}
