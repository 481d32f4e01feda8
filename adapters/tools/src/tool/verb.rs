//! A tool over sandboxes that last: a table of arguments, one function, an output schema. Everything else is here.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use data_encoding::HEXLOWER;
use dormouse_core::fair::Fair;
use dormouse_core::sandbox::{Handle, Owner, Phase, Sandbox, SandboxId, SessionKey};
use dormouse_core::sandboxes::Asked;
use dormouse_core::{Error, Grants, Language, MeteredModel, OutputSink, Result, Sandboxes};
use futures::future::BoxFuture;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::{Tool, error_schema, lost};
use crate::decode::{Arguments, decode};
use crate::encode;
use crate::fallback;
use crate::field::{Absent, Field};
use crate::host::HostFolders;
use crate::models::Models;
use crate::schema::{self, Object};
use crate::skills::Skills;
use crate::surface::{Annotations, CallContext, Reply, ToolSpec};
use crate::unsaved;

/// Longest id, name or key that is looked up, in bytes. What is longer than a name can be is merely not there.
const MAX_HANDLE: usize = 64 << 10;
/// Bytes of a hash that tell a folder from others.
const MARK: usize = 8;

/// What all of these tools share.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) sandboxes: Sandboxes,
    /// What the operator grants new sandboxes.
    pub(crate) granted: Grants,
    pub(crate) host: HostFolders,
    /// The key of the one sandbox that the profiles `rlm` and `codegen` work in, if it is not the usual one.
    pub(crate) session: Option<SessionKey>,
    /// The mark of the folder that the server was started in, if that sandbox is the folder's own.
    pub(crate) started_in: Option<String>,
    /// What new sandboxes see of instructions and scripts.
    pub(crate) skills: Skills,
    pub(crate) models: Models,
    /// The turn of an archive that is unpacked: one at a time, owners in turns. That computes beside the threads that serve everybody.
    pub(crate) archives: Arc<Fair>,
}

/// One such tool.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) fields: Vec<Field>,
    /// What an answer holds; nothing of it is there when the call was refused.
    pub(crate) output: Object,
    pub(crate) annotations: Annotations,
    pub(crate) run: Run,
}

/// The work of a verb: arguments as they were checked, and who calls.
pub(crate) type Run = for<'a> fn(&'a Kept, Arguments, &'a Caller) -> BoxFuture<'a, Result<Answer>>;

/// Who calls, and where output goes meanwhile.
pub(crate) struct Caller {
    pub(crate) owner: Owner,
    pub(crate) output: Option<Arc<dyn OutputSink>>,
    /// The language model that the call may use, if there is one.
    pub(crate) model: Option<MeteredModel>,
}

/// What a verb answers.
pub(crate) struct Answer {
    fields: Map<String, Json>,
    text: Option<String>,
    is_error: bool,
}

impl Answer {
    /// Of a run that was stopped.
    pub(crate) fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// In other words than the JSON's.
    pub(crate) fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }
}

impl From<Json> for Answer {
    fn from(fields: Json) -> Self {
        let fields = match fields {
            Json::Object(fields) => fields,
            _ => Map::new(),
        };
        Self { fields, text: None, is_error: false }
    }
}

/// It only looks.
pub(crate) const LOOKS: Annotations =
    Annotations { read_only: true, destructive: false, idempotent: true, open_world: false };
/// It changes something inside.
pub(crate) const CHANGES: Annotations =
    Annotations { read_only: false, destructive: false, idempotent: false, open_world: false };
/// It changes something inside; twice is as once.
pub(crate) const SETTLES: Annotations = Annotations { idempotent: true, ..CHANGES };
/// It takes away what cannot be had back; twice is as once.
pub(crate) const REMOVES: Annotations = Annotations { destructive: true, ..SETTLES };

/// The two ways to name a sandbox.
pub(crate) fn naming(fields: impl IntoIterator<Item = Field>) -> Vec<Field> {
    let mut all = vec![
        Field::text(
            "sandbox",
            MAX_HANDLE,
            Absent::None,
            "Id or name of the sandbox, as sandbox_create or sandbox_list tells it. Give it or `session_key`.",
        ),
        Field::text(
            "session_key",
            MAX_HANDLE,
            Absent::None,
            "The key of your own that the sandbox was made with, instead of `sandbox`.",
        ),
    ];
    all.extend(fields);
    all
}

impl Kept {
    /// The sandbox that is meant, which must be there.
    ///
    /// # Errors
    /// `args_invalid` when none or two are named; `unknown_sandbox`.
    pub(crate) fn there(&self, arguments: &mut Arguments, owner: &Owner) -> Result<SandboxId> {
        let (id, key) = named(arguments)?;
        let handle = match (&id, &key) {
            (Some(id), _) => Handle::IdOrName(id),
            (None, key) => Handle::SessionKey(key.as_deref().unwrap_or_default()),
        };
        Ok(self.sandboxes.get(owner, &handle)?.sandbox.id)
    }

    /// Destroys the sandbox that is meant, also one whose record is damaged.
    ///
    /// # Errors
    /// `args_invalid` when none or two are named; `unknown_sandbox`.
    pub(crate) async fn destroy(&self, arguments: &mut Arguments, owner: &Owner) -> Result<Sandbox> {
        let (id, key) = named(arguments)?;
        let handle = match (&id, &key) {
            (Some(id), _) => Handle::IdOrName(id),
            (None, key) => Handle::SessionKey(key.as_deref().unwrap_or_default()),
        };
        self.sandboxes.destroy(owner, &handle).await
    }

    /// The sandbox that is meant. If it is meant by its key and is not there, it is made (S2-16).
    ///
    /// # Errors
    /// As [`Kept::there`], and of [`Sandboxes::create`].
    pub(crate) async fn there_or_new(&self, arguments: &mut Arguments, owner: &Owner) -> Result<SandboxId> {
        match named(arguments)? {
            (Some(id), _) => Ok(self.sandboxes.get(owner, &Handle::IdOrName(&id))?.sandbox.id),
            (None, key) => self.with_key(key.as_deref().unwrap_or_default(), owner).await,
        }
    }

    /// The key of the one sandbox that a profile works in.
    pub(crate) fn key_of(&self, profile: &str) -> String {
        match (&self.session, &self.started_in) {
            (Some(key), _) => key.as_str().to_owned(),
            (None, Some(folder)) => format!("{profile}-{folder}"),
            (None, None) => profile.to_owned(),
        }
    }

    /// The sandbox of a session key, made if it is not there.
    ///
    /// # Errors
    /// As [`Sandboxes::create`].
    pub(crate) async fn with_key(&self, key: &str, owner: &Owner) -> Result<SandboxId> {
        let key = SessionKey::parse(key)?;
        let handle = Handle::SessionKey(key.as_str());
        if let Ok(view) = self.sandboxes.get(owner, &handle)
            && view.sandbox.phase != Phase::Creating
        {
            return Ok(view.sandbox.id);
        }
        let spec = super::create::spec(self, false);
        let asked = Asked { session_key: Some(key), spec: Some(spec), ..Asked::default() };
        Ok(self.sandboxes.create(owner, asked).await?.0.sandbox.id)
    }
}

/// What tells a folder from others in a key: the beginning of a hash of its path.
pub(crate) fn mark_of(folder: &Path) -> String {
    let hash = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    HEXLOWER.encode(&hash[..MARK])
}

fn named(arguments: &mut Arguments) -> Result<(Option<String>, Option<String>)> {
    match (arguments.take_text("sandbox"), arguments.take_text("session_key")) {
        (None, None) => {
            Err(Error::args_invalid("no sandbox is named")
                .with_hint("sandbox_list names those that there are"))
        }
        (Some(_), Some(_)) => {
            Err(Error::args_invalid("a sandbox is named by `sandbox` and by `session_key`")
                .with_hint("give one of the two"))
        }
        named => Ok(named),
    }
}

/// The handle of an id.
pub(crate) fn by_id(id: &SandboxId) -> Handle<'_> {
    Handle::IdOrName(id.as_str())
}

/// Who calls. A front door without callers of its own names nobody.
pub(crate) fn owner(context: &CallContext) -> Result<Owner> {
    if context.owner.is_empty() { Ok(Owner::local()) } else { Owner::parse(&context.owner) }
}

/// The language of a call.
pub(crate) fn language(arguments: &mut Arguments) -> Result<Language> {
    let name = arguments.take_text("language").unwrap_or_default();
    Language::parse(&name).map_err(|error| {
        let hint = error.hint().unwrap_or_default().to_owned();
        Error::args_invalid(format!("the field `language` is invalid: {error}")).with_hint(hint)
    })
}

/// The row of the table for it.
pub(crate) fn language_field() -> Field {
    Field::text(
        "language",
        Language::MAX_BYTES,
        Absent::Default("python"),
        "Whose variables: `python` (default), `javascript`, `typescript` or `php`; each language has its own.",
    )
}

/// A verb that can be called.
pub(crate) struct KeptTool {
    kept: Arc<Kept>,
    fields: Vec<Field>,
    run: Run,
    spec: ToolSpec,
    /// Whether it answers as a seed does: no `error` beside an answer, no hint in a text.
    is_seed: bool,
}

impl KeptTool {
    pub(crate) fn new(kept: Arc<Kept>, verb: Verb) -> Self {
        let output = verb.output.optional_else(fallback::FIELD, fallback::schema);
        let output = match verb.annotations.read_only {
            true => output,
            false => output.optional(unsaved::FIELD, unsaved::schema()),
        };
        let spec = ToolSpec {
            name: verb.name,
            title: verb.title,
            description: verb.description.into(),
            input_schema: schema::input(&verb.fields),
            output_schema: output
                .required("error", error_schema("Why the call was refused; null when it was not."))
                .build(),
            annotations: verb.annotations,
        };
        Self { kept, fields: verb.fields, run: verb.run, spec, is_seed: false }
    }

    /// One whose schema of arguments and forms of answers are a seed's, to the letter.
    pub(crate) fn seed(kept: Arc<Kept>, verb: Verb, input_schema: Json) -> Self {
        let mut tool = Self::new(kept, verb);
        tool.spec.input_schema = input_schema;
        if let Some(required) = tool.spec.output_schema.get_mut("required").and_then(Json::as_array_mut) {
            required.retain(|name| name != "error");
        }
        Self { is_seed: true, ..tool }
    }

    async fn answer(&self, arguments: Map<String, Json>, context: &CallContext) -> Result<Answer> {
        let arguments = decode(&self.fields, arguments)?;
        let model = self.kept.models.of_call(context);
        let caller = Caller { owner: owner(context)?, output: context.output.clone(), model };
        (self.run)(&self.kept, arguments, &caller).await
    }
}

#[async_trait]
impl Tool for KeptTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        match self.answer(arguments, &context).await {
            Ok(Answer { mut fields, text, is_error }) => {
                if !self.is_seed && !fields.contains_key("error") {
                    fields.insert("error".into(), Json::Null);
                }
                let structured = Json::Object(fields);
                Reply { text: text.unwrap_or_else(|| structured.to_string()), structured, is_error }
            }
            Err(error) => self.refuse(&lost::at_door(self.spec.name, error)),
        }
    }

    fn refuse(&self, error: &Error) -> Reply {
        let structured = json!({"error": encode::error(error)});
        let text = if self.is_seed { format!("Error: {error}") } else { encode::error_text(error) };
        Reply { structured, text, is_error: true }
    }
}
