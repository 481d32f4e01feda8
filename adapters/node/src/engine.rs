//! The engine, and a call that is told when it is done.

use std::sync::Arc;

use dormouse::{Error, OutputSink, Result};
use dormouse_sdk::{Answer, Options, Run, With};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use serde_json::{Map, Value as Json};
use tokio::task::AbortHandle;

use crate::fault::{thrown, told};
use crate::program::{Listener, Offered, Program};

/// Sandboxes in this process.
#[napi]
pub struct Engine {
    /// None only at its end.
    engine: Option<dormouse_sdk::Engine>,
}

impl Drop for Engine {
    /// What nobody can call any more is saved as well, without keeping the program's thread.
    fn drop(&mut self) {
        let Some(engine) = self.engine.take() else { return };
        let end = move || {
            // Nobody is there to be told.
            let _unsaved = engine.threads().block_on(engine.close());
            engine.end();
        };
        // Without a thread it ends as the process does.
        let _thread = std::thread::Builder::new().name("dormouse-end".into()).spawn(end);
    }
}

/// A call that is worked on.
#[napi]
pub struct Ticket(AbortHandle);

#[napi]
impl Ticket {
    /// Gives it up. It is not told then.
    #[napi]
    pub fn cancel(&self) {
        self.0.abort();
    }
}

#[napi]
impl Engine {
    /// `options`: JSON of [`Options`].
    #[napi(constructor)]
    pub fn new(options: String) -> napi::Result<Self> {
        let engine = Options::parse(&options).and_then(|options| dormouse_sdk::Engine::new(&options));
        Ok(Self { engine: Some(engine.map_err(|error| thrown(&error))?) })
    }

    /// Starts a snippet. `request`: JSON of [`Run`]; `tells_output`: whether the program is told of it while it is written.
    #[napi]
    pub fn run(
        &self,
        request: String,
        stdin: Uint8Array,
        functions: Vec<Offered>,
        tells_output: bool,
        listener: Listener<'_>,
    ) -> napi::Result<Ticket> {
        let engine = self.engine()?;
        let run = Run::parse(&request).map_err(|error| thrown(&error))?;
        let program = Program::new(&listener)?;
        let output = tells_output.then(|| Arc::new(program.clone()) as Arc<dyn OutputSink>);
        let with = With { stdin: stdin.to_vec(), callbacks: program.callbacks(functions)?, output };
        let sandbox = run.sandbox.clone();
        Ok(start(engine, sandbox, engine.run(run, with), program))
    }

    /// Starts a call of a tool. `arguments`: a JSON object.
    #[napi]
    pub fn call(&self, tool: String, arguments: String, listener: Listener<'_>) -> napi::Result<Ticket> {
        let engine = self.engine()?;
        let arguments: Map<String, Json> = serde_json::from_str(&arguments).map_err(|error| {
            thrown(&Error::args_invalid(format!("the arguments are no JSON object: {error}")))
        })?;
        let sandbox = arguments.get("sandbox").and_then(Json::as_str).map(str::to_owned);
        Ok(start(engine, sandbox, engine.call(tool, arguments, None), Program::new(&listener)?))
    }

    /// Begins to save all sandboxes and to let go of them.
    #[napi]
    pub fn close(&self, listener: Listener<'_>) -> napi::Result<Ticket> {
        let engine = self.engine()?;
        let closing = engine.close();
        Ok(start(engine, None, async move { closing.await.map(|()| Json::Null) }, Program::new(&listener)?))
    }

    /// The same, waited for: at the end of the program, when no thread of it can be told any more.
    #[napi]
    pub fn close_now(&self) -> napi::Result<()> {
        let engine = self.engine()?;
        engine.threads().block_on(engine.close()).map_err(|error| thrown(&error))
    }
}

impl Engine {
    fn engine(&self) -> napi::Result<&dormouse_sdk::Engine> {
        let ended = || Error::args_invalid("this engine has ended");
        self.engine.as_ref().ok_or_else(|| thrown(&ended()))
    }
}

/// Works on it on the engine's threads.
fn start(
    engine: &dormouse_sdk::Engine,
    sandbox: Option<String>,
    call: impl Future<Output = Result<Answer>> + Send + 'static,
    program: Program,
) -> Ticket {
    let task = engine.spawn(sandbox, async move {
        let answer = call.await;
        program.done(answer.map(|answer| answer.to_string()).map_err(|error| told(&error)));
    });
    Ticket(task)
}
