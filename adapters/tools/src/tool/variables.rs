//! `sandbox_load`, `sandbox_get_var`, `sandbox_vars`: the variables of a sandbox (S3-05 to S3-09).

use data_encoding::BASE64;
use dormouse_core::sandbox::{Lost, Owner, SandboxId};
use dormouse_core::{Bounds, Error, EvalRequest, Language, Outcome, Result, Status};
use serde_json::{Value as Json, json};

use super::look::{Look, look};
use super::verb::{Answer, CHANGES, Kept, LOOKS, Verb, by_id, language, language_field, naming};
use super::{eval, lost};
use crate::decode::Arguments;
use crate::encode;
use crate::field::{Absent, Field};
use crate::fit::{VALUE, encoded_len, fit};
use crate::incoming;
use crate::schema::{self, Object};

/// Largest file that is bound to a variable, in bytes (64 MiB).
const MAX_LOAD: u64 = 64 << 20;
/// Longest name of a variable, in bytes.
pub(crate) const MAX_NAME: usize = 128;

pub(crate) fn load() -> Verb {
    Verb {
        name: "sandbox_load",
        title: "Load a file of the host into a variable",
        description: "Reads a file of the host and binds its content to a variable in a sandbox, without showing it. Use it \
            for inputs that are too long to read: snippets then work on the variable, and only what they print or return \
            comes back. One file at a time, below the folders that the operator allows; patterns are not expanded.",
        fields: naming([
            Field::text("path", 64 << 10, Absent::Refused, "Path of the file on the host."),
            Field::text("var", MAX_NAME, Absent::Refused, "The variable: letters, digits and `_`."),
            Field::choice(
                "as",
                &["text", "bytes", "json"],
                "`text` (default, UTF-8), `bytes`, or `json` for the value of a JSON file.",
            ),
            language_field(),
        ]),
        output: loaded(),
        annotations: CHANGES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let path = arguments.take_text("path").unwrap_or_default();
                let var = arguments.take_text("var").unwrap_or_default();
                let form = arguments.take_text("as").unwrap_or_default();
                let loaded = read(kept, path, var, &form, language(&mut arguments)?).await?;
                let id = kept.there_or_new(&mut arguments, &caller.owner).await?;
                bind(kept, &caller.owner, &id, loaded).await
            })
        },
    }
}

/// The schema of the answer.
pub(crate) fn loaded() -> Object {
    let fields = Object::new()
        .optional("sandbox_id", schema::text("The sandbox."))
        .optional("var", schema::text("The variable."))
        .optional("bytes", schema::integer(0, "Bytes of the file."))
        .optional("message", schema::text("What was done, in one sentence."));
    lost::told(fields)
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
    kept: &Kept,
    path: String,
    var: String,
    form: &str,
    language: Language,
) -> Result<Loaded> {
    if !is_name(&var) {
        let shown: String = var.escape_debug().take(48).collect();
        return Err(Error::args_invalid(format!("`{shown}` cannot be a variable"))
            .with_hint("use letters, digits and `_`, and begin with no digit"));
    }
    let file = kept.host.read(path, MAX_LOAD).await?;
    let (size, name) = (file.bytes.len(), short(&file.name));
    let (json, count) = match form {
        "bytes" => (Json::from(carried(&language, &file.bytes)).to_string(), format!("{size} bytes")),
        "json" => (as_json(file.bytes, &name).await?, format!("{size} bytes of JSON")),
        _ => {
            let text = String::from_utf8(file.bytes).map_err(|_| {
                Error::args_invalid(format!("`{name}` is no UTF-8 text")).with_hint("load it as `bytes`")
            })?;
            let count = format!("{} chars", text.chars().count());
            (Json::from(text).to_string(), count)
        }
    };
    let message = format!("Loaded {name} into `{var}` ({count})");
    Ok(Loaded { var, language, json, is_bytes: form == "bytes", size, message })
}

/// The text of a file that is JSON. It is looked through, and not made into values: the interpreter does that.
async fn as_json(bytes: Vec<u8>, name: &str) -> Result<String> {
    let looked = tokio::task::spawn_blocking(move || {
        incoming::check(&bytes).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())
    });
    let looked = looked.await.map_err(|error| Error::internal("the file was not read", error))?;
    looked.map_err(|why| {
        Error::args_invalid(format!("`{name}` is no JSON: {why}")).with_hint("load it as `text` or `bytes`")
    })
}

/// Binds it. The answer never holds the content (S3-05).
pub(crate) async fn bind(kept: &Kept, owner: &Owner, id: &SandboxId, loaded: Loaded) -> Result<Answer> {
    let Loaded { var, language, json, is_bytes, size, message } = loaded;
    let bound = async {
        let gone =
            kept.sandboxes.set_variable(owner, &by_id(id), language.clone(), var.clone(), json).await?;
        if is_bytes {
            unwrap(kept, owner, id, language, &var).await?;
        }
        Ok::<_, Error>(gone)
    };
    let gone = kept.sandboxes.at_one_turn(bound).await?;
    let mut answer = json!({"sandbox_id": id.as_str(), "var": var, "bytes": size, "message": message});
    lost::tell(&mut answer, gone.as_ref());
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
async fn unwrap(kept: &Kept, owner: &Owner, id: &SandboxId, language: Language, var: &str) -> Result<()> {
    let code = match language.as_str() {
        "python" => format!("globals()['{var}'] = globals()['{var}'].encode('latin-1')\nNone"),
        "php" => format!("$GLOBALS['{var}'] = base64_decode($GLOBALS['{var}']); null;"),
        _ => format!(
            "globalThis['{var}'] = Uint8Array.from(globalThis['{var}'], c => c.charCodeAt(0)); undefined"
        ),
    };
    let mut request = EvalRequest::new(language, code);
    request.limits = kept.sandboxes.manager().policy().defaults.clone();
    let (_, outcome) = kept.sandboxes.eval(owner, &by_id(id), request).await?;
    match outcome.status {
        Status::Stopped(error) => Err(error),
        Status::Raised(exception) => Err(Error::args_invalid(format!(
            "the bytes cannot be bound: {}",
            exception.message.chars().take(200).collect::<String>()
        ))),
        Status::Returned(_) | Status::Exited(_) => Ok(()),
    }
}

pub(crate) fn get_var() -> Verb {
    Verb {
        name: "sandbox_get_var",
        title: "Show a variable of a sandbox",
        description: "Shows the value of a variable in a sandbox, typed as sandbox_eval does. With `query`, an expression in \
            which `value` is that variable, such as `len(value)`, it shows the value of the expression, which is evaluated \
            inside the sandbox. Use it to look at a part of something long. Python's iterators are shown and not used up. An \
            unknown name is an error, not_found.",
        fields: naming([
            Field::text("name", 1 << 10, Absent::Refused, "The variable."),
            Field::text(
                "query",
                64 << 10,
                Absent::None,
                "An expression over `value`. Default: the value itself.",
            ),
            language_field(),
            Field::integer(
                "preview_offset",
                (0, u32::MAX.into()),
                Absent::Default(0),
                "Items of the outermost container to skip. Default 0.",
            ),
            Field::integer(
                "preview_items",
                (1, 10_000),
                Absent::Default(50),
                "Items shown of each container. Default 50.",
            ),
        ]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("name", schema::text("The variable."))
            .optional("result", eval::result())
            .optional("exception", eval::exception())
            .optional("recovery", lost::recovery())
            .optional("recovery_reason", lost::reason()),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(get(kept, arguments, &caller.owner)),
    }
}

async fn get(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let language = language(&mut arguments)?;
    let name = arguments.take_text("name").unwrap_or_default();
    let query = arguments.take_text("query");
    let id = kept.there(&mut arguments, owner)?;
    let bounds: Bounds = eval::bounds(&arguments);
    let got = if language == Language::python() {
        let asked = Look { name: name.clone(), query, page: None, bounds };
        look(kept, owner, &id, asked).await?.outcome
    } else {
        kept.sandboxes.get_variable(owner, &by_id(&id), language, name.clone(), query, bounds).await?
    };
    let outcome: Outcome = fit(got);
    if let Status::Stopped(error) = outcome.status {
        return Err(error);
    }
    let shown = encode::outcome(&outcome);
    let mut answer = json!({
        "sandbox_id": id.as_str(),
        "name": name,
        "result": shown["result"],
        "exception": shown["exception"],
    });
    lost::copy(&mut answer, &shown);
    Ok(answer.into())
}

pub(crate) fn vars() -> Verb {
    let variable = Object::new()
        .description("A variable.")
        .required("name", schema::text("Its name."))
        .required("type", schema::text("The name of its type."))
        .required("summary", schema::text("The beginning of how it is shown. Untrusted text."))
        .build();
    Verb {
        name: "sandbox_vars",
        title: "List variables of a sandbox",
        description: "Lists the variables of a sandbox in one language: name, type, and the first 100 characters of how each \
            is shown. Names that begin with `_` are left out. Use it to see what earlier runs have left; sandbox_get_var \
            shows one of them.",
        fields: naming([language_field()]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("variables", schema::list(&variable, "Sorted by name."))
            .optional("total", schema::integer(0, "How many there are, shown or not."))
            .optional("recovery", lost::recovery())
            .optional("recovery_reason", lost::reason()),
        annotations: LOOKS,
        run: |kept, arguments, caller| Box::pin(list(kept, arguments, &caller.owner)),
    }
}

async fn list(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let language = language(&mut arguments)?;
    let id = kept.there(&mut arguments, owner)?;
    let (variables, total, gone) = shown(kept, owner, &id, language).await?;
    let mut answer = json!({"sandbox_id": id.as_str(), "variables": variables, "total": total});
    lost::tell(&mut answer, gone.as_ref());
    Ok(answer.into())
}

/// Those that fit into an answer, how many there are, and what was lost before.
pub(crate) async fn shown(
    kept: &Kept,
    owner: &Owner,
    id: &SandboxId,
    language: Language,
) -> Result<(Vec<Json>, usize, Option<Lost>)> {
    let (mut variables, gone) = kept.sandboxes.variables(owner, &by_id(id), language).await?;
    variables.retain(|variable| !variable.name.starts_with('_'));
    let total = variables.len();
    let mut room = VALUE;
    let fits = variables.iter().take_while(|variable| {
        room = room.saturating_sub(encoded_len(variable) + 1);
        room > 0
    });
    Ok((fits.map(|variable| json!(variable)).collect(), total, gone))
}
