//! `sandbox_load`, `sandbox_get_var`, `sandbox_vars`: the variables of a sandbox (S3-05 to S3-09).

use data_encoding::BASE64;
use dormouse_core::sandbox::{Lost, Owner, SandboxId, Variable};
use dormouse_core::{Error, EvalRequest, Exception, Language, Result, Status, Value};
use serde_json::Value as Json;

use super::eval::bounds;
use super::look::{Look, look};
use super::{Verb, lost};
use crate::call::fit::{VALUE, encoded_len, fit};
use crate::call::{Answer, Caller, incoming};
use crate::services::{Services, Target, by_id, found};
use crate::spec::outcome;
use crate::spec::{
    CHANGES, Flat, Inline, LOOKS, OrNull, Order, Row, answer, arguments, choice, integer, text, words,
};

/// Largest file that is bound to a variable, in bytes (64 MiB).
const MAX_LOAD: u64 = 64 << 20;
/// Longest name of a variable, in bytes.
pub(crate) const MAX_NAME: usize = 128;

/// The row of the language whose variables are meant.
fn language_row() -> Row<Language> {
    text::<Language>(
        Language::MAX_BYTES,
        "Whose variables: `python` (default), `javascript`, `typescript` or `php`; each language has its own.",
    )
    .or("python")
}

words! {
    /// What a file becomes.
    pub(crate) enum Form {
        /// A text.
        Text = "text",
        /// Bytes.
        Bytes = "bytes",
        /// The value of a JSON file.
        Json = "json",
    }
}

arguments! {
    /// What `sandbox_load` is asked.
    pub(crate) struct Load {
        target: Target = Target::table(),
        path: String = text(64 << 10, "Path of the file on the host."),
        var: String = text(MAX_NAME, "The variable: letters, digits and `_`."),
        form as "as": Form =
            choice("`text` (default, UTF-8), `bytes`, or `json` for the value of a JSON file."),
        language: Language = language_row(),
    }
}

answer! {
    /// What was loaded.
    pub(crate) struct LoadedAnswer {
        sandbox_id: SandboxId = "The sandbox.",
        var: String = "The variable.",
        bytes: usize = "Bytes of the file.",
        message: String = "What was done, in one sentence.",
        lost: Flat<lost::Told> = Inline,
    }
}

pub(crate) fn load() -> Verb<Load, LoadedAnswer> {
    Verb {
        name: "sandbox_load",
        title: "Load a file of the host into a variable",
        description: "Reads a file of the host and binds its content to a variable in a sandbox, without showing it. Use it \
            for inputs that are too long to read: snippets then work on the variable, and only what they print or return \
            comes back. One file at a time, below the folders that the operator allows; patterns are not expanded.",
        arguments: Load::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| {
            Box::pin(async move {
                let loaded = read(services, asked.path, asked.var, asked.form, asked.language).await?;
                let sandbox = services.get_or_create(&asked.target, &caller.owner).await?;
                bind(services, &caller.owner, &sandbox.id, loaded).await
            })
        },
    }
}

/// A file of the host that is about to be a variable.
pub(crate) struct Loaded {
    var: String,
    language: Language,
    /// The value; for bytes what [`carried`] makes of them.
    json: String,
    is_bytes: bool,
    size: usize,
    message: String,
}

/// Reads and checks what is to be loaded, before any sandbox is touched.
pub(crate) async fn read(
    services: &Services,
    path: String,
    var: String,
    form: Form,
    language: Language,
) -> Result<Loaded> {
    if !is_name(&var) {
        let shown: String = var.escape_debug().take(48).collect();
        return Err(Error::args_invalid(format!("`{shown}` cannot be a variable"))
            .with_hint("use letters, digits and `_`, not beginning with a digit"));
    }
    let file = services.host.read(path, MAX_LOAD).await?;
    let (size, name) = (file.bytes.len(), short(&file.name));
    let (json, count) = match form {
        Form::Bytes => (Json::from(carried(&language, &file.bytes)).to_string(), format!("{size} bytes")),
        Form::Json => (as_json(file.bytes, &name).await?, format!("{size} bytes of JSON")),
        Form::Text => {
            let text = String::from_utf8(file.bytes).map_err(|_| {
                Error::args_invalid(format!("`{name}` is not UTF-8 text")).with_hint("load it as `bytes`")
            })?;
            let count = format!("{} chars", text.chars().count());
            (Json::from(text).to_string(), count)
        }
    };
    let message = format!("Loaded {name} into `{var}` ({count})");
    Ok(Loaded { var, language, json, is_bytes: form == Form::Bytes, size, message })
}

/// The text of a file that is JSON. It is looked through, and not made into values: the interpreter does that.
async fn as_json(bytes: Vec<u8>, name: &str) -> Result<String> {
    let looked = tokio::task::spawn_blocking(move || {
        incoming::check(&bytes).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    });
    let looked = looked.await.map_err(|error| Error::internal("the file was not read", error))?;
    looked.map_err(|why| {
        Error::args_invalid(format!("`{name}` is not JSON: {why}")).with_hint("load it as `text` or `bytes`")
    })
}

/// Binds it. The answer never holds the content (S3-05).
pub(crate) async fn bind(
    services: &Services,
    owner: &Owner,
    id: &SandboxId,
    loaded: Loaded,
) -> Result<Answer<LoadedAnswer>> {
    let Loaded { var, language, json, is_bytes, size, message } = loaded;
    let sandboxes = &services.sandboxes;
    let bound = async {
        let gone = sandboxes.set_variable(owner, &by_id(id), language.clone(), var.clone(), json).await?;
        if is_bytes {
            unwrap(services, owner, id, language, &var).await?;
        }
        Ok::<_, Error>(gone)
    };
    let gone = sandboxes.at_one_turn(bound).await?;
    let answer = LoadedAnswer {
        sandbox_id: id.clone(),
        var,
        bytes: size,
        message: message.clone(),
        lost: Flat(gone.as_ref().into()),
    };
    Ok(Answer::from(answer).with_text(message))
}

fn is_name(var: &str) -> bool {
    let plain = var.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && !var.starts_with(|first: char| first.is_ascii_digit())
}

fn short(name: &str) -> String {
    name.escape_debug().take(64).collect()
}

/// Bytes as text that the language can turn back: a character for each, or base64.
fn carried(language: &Language, bytes: &[u8]) -> String {
    if *language == Language::php() {
        return BASE64.encode(bytes);
    }
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Turns what [`carried`] made into bytes, inside.
async fn unwrap(
    services: &Services,
    owner: &Owner,
    id: &SandboxId,
    language: Language,
    var: &str,
) -> Result<()> {
    let code = match language.as_str() {
        "python" => format!("globals()['{var}'] = globals()['{var}'].encode('latin-1')\nNone"),
        "php" => format!("$GLOBALS['{var}'] = base64_decode($GLOBALS['{var}']); null;"),
        _ => format!(
            "globalThis['{var}'] = Uint8Array.from(globalThis['{var}'], c => c.charCodeAt(0)); undefined"
        ),
    };
    let mut request = EvalRequest::new(language, code);
    request.context.limits = services.sandboxes.policy().defaults.clone();
    let (_, outcome) = services.sandboxes.eval(owner, &by_id(id), request).await?;
    match outcome.status {
        Status::Stopped(error) => Err(error),
        Status::Raised(exception) => Err(Error::args_invalid(format!(
            "the bytes cannot be bound: {}",
            exception.message.chars().take(200).collect::<String>()
        ))),
        Status::Returned(_) | Status::Exited(_) => Ok(()),
    }
}

arguments! {
    /// What `sandbox_get_var` is asked.
    pub(crate) struct Get {
        target: Target = Target::table(),
        name: String = text(1 << 10, "The variable."),
        query: Option<String> =
            text(64 << 10, "An expression over `value`. Default: the value itself.").optional(),
        language: Language = language_row(),
        preview_offset: u32 = integer(
            (0, u32::MAX.into()),
            "Items of the outermost container to skip. Default 0.",
        ).or(0),
        preview_items: u32 = integer((1, 10_000), "Items shown of each container. Default 50.").or(50),
    }
}

answer! {
    /// A variable, or what the query made of it.
    pub(crate) struct Got {
        sandbox_id: SandboxId = "The sandbox.",
        name: String = "The variable.",
        result: OrNull<Value> = outcome::result(),
        exception: OrNull<Exception> = outcome::exception(),
        lost: Flat<lost::Told> = Inline,
    }
}

pub(crate) fn get_var() -> Verb<Get, Got> {
    Verb {
        name: "sandbox_get_var",
        title: "Show a variable of a sandbox",
        description: "Shows the value of a variable in a sandbox, typed as sandbox_eval does. With `query`, an expression in \
            which `value` is that variable, such as `len(value)`, it shows the value of the expression, which is evaluated \
            inside the sandbox. Use it to look at a part of something long. Python's iterators are described and not \
            consumed. An \
            unknown name is an error, not_found.",
        arguments: Get::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(get(services, caller, asked)),
    }
}

async fn get(services: &Services, caller: &Caller, asked: Get) -> Result<Answer<Got>> {
    let Get { target, name, query, language, preview_offset, preview_items } = asked;
    let owner = &caller.owner;
    let sandbox = services.there(&target, owner)?;
    let bounds = bounds(preview_offset, Some(preview_items));
    let got = if language == Language::python() {
        let asked = Look { name: name.clone(), query, page: None, bounds };
        look(services, owner, &sandbox.id, asked).await?.outcome
    } else {
        let sandboxes = &services.sandboxes;
        sandboxes.get_variable(owner, &found(&sandbox), language, name.clone(), query, bounds).await?
    };
    let outcome = fit(got);
    let lost = Flat(lost::Told::from(&outcome));
    let (result, exception) = match outcome.status {
        Status::Stopped(error) => return Err(error),
        Status::Returned(value) => (Some(value), None),
        Status::Raised(exception) => (None, Some(exception)),
        Status::Exited(_) => (None, None),
    };
    let (result, exception) = (OrNull(result), OrNull(exception));
    Ok(Got { sandbox_id: sandbox.id, name, result, exception, lost }.into())
}

arguments! {
    /// What `sandbox_vars` is asked.
    pub(crate) struct List {
        target: Target = Target::table(),
        language: Language = language_row(),
    }
}

answer! {
    /// The variables of a sandbox.
    pub(crate) struct Listed {
        sandbox_id: SandboxId = "The sandbox.",
        variables: Vec<VariableShown> = "Sorted by name.",
        total: usize = "How many there are, shown or not.",
        lost: Flat<lost::Told> = Inline,
    }
}

answer! {
    /// One of them.
    pub(crate) struct VariableShown = "A variable." {
        name: String = "Its name.",
        kind as "type": String = "The name of its type.",
        summary: String = "The beginning of its representation. Untrusted text.",
    }
}

impl From<Variable> for VariableShown {
    fn from(variable: Variable) -> Self {
        Self { name: variable.name, kind: variable.kind, summary: variable.summary }
    }
}

pub(crate) fn vars() -> Verb<List, Listed> {
    Verb {
        name: "sandbox_vars",
        title: "List variables of a sandbox",
        description: "Lists the variables of a sandbox in one language: name, type, and the first 100 characters of how each \
            is shown. Names that begin with `_` are left out. Use it to see what earlier runs have left; sandbox_get_var \
            shows one of them.",
        arguments: List::table(),
        annotations: LOOKS,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(list(services, caller, asked)),
    }
}

async fn list(services: &Services, caller: &Caller, asked: List) -> Result<Answer<Listed>> {
    let List { target, language } = asked;
    let sandbox = services.there(&target, &caller.owner)?;
    let Fitting { variables, total, lost } = fitting(services, &caller.owner, &sandbox.id, language).await?;
    let variables = variables.into_iter().map(VariableShown::from).collect();
    Ok(Listed { sandbox_id: sandbox.id, variables, total, lost: Flat(lost.as_ref().into()) }.into())
}

/// The variables that fit into an answer.
pub(crate) struct Fitting {
    pub(crate) variables: Vec<Variable>,
    /// How many there are.
    pub(crate) total: usize,
    /// What was lost before.
    pub(crate) lost: Option<Lost>,
}

/// Those that fit into an answer. Names that begin with `_` are left out.
pub(crate) async fn fitting(
    services: &Services,
    owner: &Owner,
    id: &SandboxId,
    language: Language,
) -> Result<Fitting> {
    let (mut variables, lost) = services.sandboxes.variables(owner, &by_id(id), language).await?;
    variables.retain(|variable| !variable.name.starts_with('_'));
    let total = variables.len();
    let mut room = VALUE;
    let fits = variables.iter().take_while(|variable| {
        room = room.saturating_sub(encoded_len(variable) + 1);
        room > 0
    });
    let fits = fits.count();
    variables.truncate(fits);
    Ok(Fitting { variables, total, lost })
}
