//! What a front door asks for. Immutable once built.

use std::sync::Arc;

use crate::connections::Taint;
use crate::network::Door;
use crate::{Bounds, Callbacks, Error, ErrorCode, Grants, Language, Limits, OutputSink, Result};

/// What every run has, whatever it runs.
#[derive(Clone, Default)]
pub struct RunContext {
    /// What it may use.
    pub limits: Limits,
    /// What it may touch.
    pub grants: Grants,
    /// How much of its value is encoded.
    pub bounds: Bounds,
    /// Functions of the host that it may call.
    pub callbacks: Callbacks,
    /// Receives output while it runs. Default none.
    pub output: Option<Arc<dyn OutputSink>>,
    /// Whether it has read what a server sent that the operator does not trust. Whoever offers tools takes the same for the
    /// [`Caller`](crate::connections::Caller).
    pub taint: Taint,
    /// Its door to the network. Default none: it has no network.
    pub network: Option<Arc<dyn Door>>,
}

impl RunContext {
    /// Adds variables to its environment, where it has none of their names.
    pub fn offer_variables(&mut self, variables: Vec<(String, String)>) {
        self.grants.offer_variables(variables);
    }
}

/// One snippet.
#[derive(Clone)]
pub struct EvalRequest {
    /// The language.
    pub language: Language,
    /// The source text.
    pub code: String,
    /// The name that traces show. Default `<snippet>`.
    pub name: String,
    /// Whether its own text may make code from text: `eval` in all languages, `exec` and `compile` in Python, the
    /// constructors of functions in JavaScript; if not, they raise (S1-24). Code of libraries and of the project is not
    /// held back: this keeps a snippet readable, it is not what confines it. Default true.
    pub allow_eval: bool,
    /// What it runs with.
    pub context: RunContext,
}

impl EvalRequest {
    /// Largest source text, in bytes (32 MiB). It must also fit the memory limit several times over.
    pub const MAX_CODE: usize = 32 << 20;
    /// Longest name, in bytes.
    pub const MAX_NAME: usize = 256;

    /// A request with default limits and no grants.
    pub fn new(language: Language, code: impl Into<String>) -> Self {
        Self {
            language,
            code: code.into(),
            name: "<snippet>".into(),
            allow_eval: true,
            context: RunContext::default(),
        }
    }

    /// Checks sizes and grants.
    ///
    /// # Errors
    /// `too_large` for the source, `args_invalid` for the rest.
    pub fn check(&self) -> Result<()> {
        if self.code.len() > Self::MAX_CODE {
            return Err(Error::new(
                ErrorCode::TooLarge,
                format!("the source has {} bytes, at most {} are taken", self.code.len(), Self::MAX_CODE),
            )
            .with_hint("put data into a file of a mount instead of the source text"));
        }
        if self.name.is_empty() || self.name.len() > Self::MAX_NAME || self.name.contains('\0') {
            return Err(Error::args_invalid("the snippet's name is not a file name that traces can show")
                .with_hint("give it 1 to 256 bytes without NUL, such as `main.py`"));
        }
        self.context.grants.check()
    }
}

/// One command line, which the shell of a sandbox runs.
#[derive(Clone)]
pub struct LineRequest {
    /// The command line; several lines are a script.
    pub text: String,
    /// What it runs with. Of the grants only standard input and the working folder are the line's own; the others are the
    /// sandbox's.
    pub context: RunContext,
}

impl LineRequest {
    /// A command line with default limits.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), context: RunContext::default() }
    }

    /// Checks its grants.
    ///
    /// # Errors
    /// `args_invalid`.
    pub fn check(&self) -> Result<()> {
        self.context.grants.check()
    }
}

/// A program of the user's own: a `wasi:cli` command component, or a preview1 core module.
#[derive(Clone)]
pub struct CommandRequest {
    /// The bytes of the component or module; text (`.wat`) is not taken.
    pub wasm: Arc<[u8]>,
    /// The program's name, its argument 0.
    pub name: String,
    /// What it may use.
    pub limits: Limits,
    /// What it may touch.
    pub grants: Grants,
    /// Receives output while it runs.
    pub output: Option<Arc<dyn OutputSink>>,
    /// Its door to the network, which its `wasi:http` goes through. Default none: all its requests are denied.
    pub network: Option<Arc<dyn Door>>,
}

impl CommandRequest {
    /// Largest program, in bytes (64 MiB).
    pub const MAX_WASM: usize = 64 << 20;

    /// A program with default limits and no grants.
    pub fn new(name: impl Into<String>, wasm: impl Into<Arc<[u8]>>) -> Self {
        Self {
            wasm: wasm.into(),
            name: name.into(),
            limits: Limits::default(),
            grants: Grants::default(),
            output: None,
            network: None,
        }
    }

    /// Checks sizes and grants.
    ///
    /// # Errors
    /// `too_large` for the program, `args_invalid` for the rest.
    pub fn check(&self) -> Result<()> {
        if self.wasm.len() > Self::MAX_WASM {
            return Err(Error::new(
                ErrorCode::TooLarge,
                format!("the program has {} bytes, at most {} are taken", self.wasm.len(), Self::MAX_WASM),
            ));
        }
        if self.name.contains('\0') {
            return Err(Error::args_invalid("the program's name holds a NUL byte"));
        }
        self.grants.check()
    }
}
