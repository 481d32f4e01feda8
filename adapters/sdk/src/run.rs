//! A snippet, as a program of another language asks for it.

use std::sync::Arc;
use std::time::Duration;

use dormouse::{
    Bounds, Callbacks, Error, EvalRequest, Grants, GuestPath, Language, Limits, OutputSink, Result,
};
use indexmap::IndexMap;
use serde::Deserialize;

use crate::Folder;

/// A run of a snippet, in JSON: the arguments of the tool `sandbox_eval`, with folders and variables besides.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The source text.
    pub code: String,
    /// Its language. Default `python`.
    #[serde(default = "python")]
    pub language: String,
    /// Id or name of the sandbox that lasts, to run in. Default: a fresh one.
    pub sandbox: Option<String>,
    /// The file name that traces show. Default `<snippet>`.
    pub name: Option<String>,
    /// Wall-clock limit in milliseconds. Default 5 000.
    pub timeout_ms: Option<u64>,
    /// Memory limit in bytes. Default 128 MiB; in a sandbox that lasts its own.
    pub memory_bytes: Option<u64>,
    /// Bytes kept of each stream. Default and most 8 MiB.
    pub output_bytes: Option<u64>,
    /// Bytes that the run may write. Default 64 MiB; in a sandbox that lasts its own.
    pub disk_bytes: Option<u64>,
    /// Executed operations. Default: not counted; never in a sandbox that lasts.
    pub fuel: Option<u64>,
    /// Fixes all randomness. Default: random.
    pub seed: Option<u64>,
    /// Whether it may reach what the engine's network `default` allows. Default false. A sandbox that lasts has what it was made with.
    #[serde(default)]
    pub allow_network: bool,
    /// Whether the snippet may make code from text. Default true.
    #[serde(default = "yes")]
    pub allow_eval: bool,
    /// Items of the outermost container to skip. Default 0.
    #[serde(default)]
    pub preview_offset: u32,
    /// Items shown of each container. Default and most 10 000.
    pub preview_items: Option<u32>,
    /// Environment variables. Default none; in a sandbox that lasts its own.
    #[serde(default)]
    pub env: IndexMap<String, String>,
    /// The working directory. Default `/tmp`; in a sandbox that lasts where it is.
    pub cwd: Option<String>,
    /// Folders of this machine. Default none; in a sandbox that lasts its own.
    #[serde(default)]
    pub mounts: Vec<Folder>,
}

/// What goes with a run and is no text.
#[derive(Default)]
pub struct With {
    /// What standard input yields.
    pub stdin: Vec<u8>,
    /// Functions of the program.
    pub callbacks: Callbacks,
    /// Receives output while the snippet runs.
    pub output: Option<Arc<dyn OutputSink>>,
}

fn python() -> String {
    "python".into()
}

fn yes() -> bool {
    true
}

impl Run {
    /// Reads it.
    ///
    /// # Errors
    /// `args_invalid` for JSON that is no such object.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json)
            .map_err(|error| Error::args_invalid(format!("the run cannot be read: {error}")))
    }

    /// What cannot be asked of a run in a sandbox that lasts, if it was asked.
    fn settled(&self) -> Option<&'static str> {
        let asked = [
            ("memory_bytes", self.memory_bytes.is_some()),
            ("disk_bytes", self.disk_bytes.is_some()),
            ("fuel", self.fuel.is_some()),
            ("env", !self.env.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("mounts", !self.mounts.is_empty()),
        ];
        asked.into_iter().find_map(|(name, asked)| asked.then_some(name))
    }

    /// The request. `usual`: the limits of a run that asks for none; `granted`: what every run has.
    ///
    /// # Errors
    /// `args_invalid`, `unknown_language`.
    pub(crate) fn request(self, with: With, usual: &Limits, granted: &Grants) -> Result<EvalRequest> {
        if self.sandbox.is_some()
            && let Some(name) = self.settled()
        {
            let message = format!("`{name}` cannot be used with a persistent sandbox");
            return Err(Error::args_invalid(message)
                .with_hint(format!("leave `{name}` out; it was decided when the sandbox was created")));
        }
        let mut request = EvalRequest::new(Language::parse(&self.language)?, self.code);
        if let Some(name) = self.name {
            request.name = name;
        }
        request.allow_eval = self.allow_eval;
        let context = &mut request.context;
        context.limits = Limits {
            wall: self.timeout_ms.map_or(usual.wall, Duration::from_millis),
            memory: self.memory_bytes.unwrap_or(usual.memory),
            output: self.output_bytes.unwrap_or_else(|| Limits::ceiling().output),
            disk: self.disk_bytes.unwrap_or(usual.disk),
            fuel: self.fuel,
            ..usual.clone()
        };
        context.bounds = Bounds {
            items: self.preview_items.unwrap_or(Bounds::MAX.items),
            offset: self.preview_offset,
            frames: Bounds::default().frames,
            ..Bounds::MAX
        };
        let grants = match self.sandbox {
            Some(_) => Grants::default(),
            None => granted.clone(),
        };
        context.grants = Grants { stdin: with.stdin, seed: self.seed, ..grants };
        for folder in &self.mounts {
            context.grants.mounts.push(folder.mount()?);
        }
        context.grants.environment.extend(self.env);
        if let Some(path) = self.cwd {
            context.grants.directory = Some(GuestPath::parse(&path)?);
        }
        context.callbacks = with.callbacks;
        context.output = with.output;
        Ok(request)
    }
}
