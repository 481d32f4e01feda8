//! Command lines: the shell is an interpreter like the others, and what it starts works on the same files.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::sandbox::{Executed, Job};
use dormouse_core::{ErrorCode, Grants, GuestName, LineRequest, Programs as Operators, Result};

use super::WasmMachine;
use super::interpreter::Interpreter;
use crate::programs::Programs;
use crate::task::Task;

/// Bytes of a shell that is put to sleep after its line, so that a long pipeline does not stay in memory.
const LARGE: usize = 128 << 20;

impl WasmMachine {
    /// Runs a command line in the shell that lasts.
    pub(super) async fn run_line(
        &mut self,
        request: LineRequest,
        operators: Arc<dyn Operators>,
    ) -> Result<Executed> {
        let shell = GuestName::Shell;
        self.prepare(&shell).await.map_err(no_shell)?;
        let begin = Instant::now();
        let _process = self.share.process()?;
        let (request, programs) = self.line(request, operators);
        if !self.spec.keeps_memory {
            self.interpreters.remove(&shell);
        }
        let mut run = self.begin(&shell).await.map_err(no_shell)?;
        programs.clone().offer_to(&mut run.instance);
        let own = self.own();
        let running = run.instance.run(&request, begin, &own);
        let done = self.share.hold(begin + request.context.limits.wall, running).await;
        let large = run.instance.memory() > LARGE;
        let told = self.end(&shell, run);
        let outcome = self.answer(&shell, done, told)?;
        if large && let Some(interpreter) = self.interpreters.get_mut(&shell) {
            // Memory is never given back by an instance; the next one has what is in use of it.
            interpreter.settle(&shell).await?;
            interpreter.sleep();
        }
        Ok(programs.executed(outcome))
    }

    /// A command line in a copy of the shell.
    pub(super) async fn line_beside(
        &mut self,
        request: LineRequest,
        operators: Arc<dyn Operators>,
    ) -> Result<Job> {
        let process = self.share.process()?;
        let (request, programs) = self.line(request, operators);
        let shell = GuestName::Shell;
        self.interpreters.entry(shell.clone()).or_default().settle(&shell).await?;
        let stored = self.interpreters.get(&shell).and_then(Interpreter::stored);
        let mut copy = stored.map(|stored| Interpreter::of(stored, &self.files.0)).unwrap_or_default();
        copy.wake(&self.loader, &shell).await.map_err(no_shell)?;
        let (_, mut instance) = copy.take()?;
        instance.keep_time(&self.clock);
        let (own, share) = (self.own(), self.share.clone());
        Ok(Box::pin(async move {
            let _process = process;
            programs.clone().offer_to(&mut instance);
            let begin = Instant::now();
            let running = instance.run(&request, begin, &own);
            let outcome = share.hold(begin + request.context.limits.wall, running).await?;
            Ok(programs.executed(outcome))
        }))
    }

    /// The request with the sandbox's own grants, and what it can start.
    fn line(&self, request: LineRequest, operators: Arc<dyn Operators>) -> (Task, Programs) {
        let mut task = Task::from(request);
        let context = &mut task.context;
        context.limits.memory = self.spec.memory;
        context.limits.fuel = None;
        // Without a folder of its own the line runs where the last one ended.
        let Grants { stdin, directory, environment, .. } = std::mem::take(&mut context.grants);
        let environment = self.environment(environment);
        context.grants = Grants { stdin, directory, environment, ..self.grants.clone() };
        let files = self.files.0.clone();
        let shared = (self.share.clone(), self.clock.clone());
        let compiler = self.compiler(&task.context.limits);
        let programs = Programs::new((self.loader.clone(), compiler), files, &task, operators, shared);
        (task, programs)
    }
}

/// Without its guest there is no shell, which is something else than a language that nobody knows.
fn no_shell(error: dormouse_core::Error) -> dormouse_core::Error {
    match error.code() {
        ErrorCode::GuestMissing | ErrorCode::UnknownLanguage => {
            dormouse_core::Error::new(ErrorCode::CapabilityUnavailable, "there is no shell in this sandbox")
                .with_hint(
                    "build it with `dormouse guests build shell` in a source checkout, or use sandbox_eval",
                )
        }
        _ => error,
    }
}
