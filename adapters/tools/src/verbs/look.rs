//! Looking at a variable of Python so that looking changes nothing: an iterator is shown as what it is, and nothing is taken
//! out of it. A text comes page by page, as containers do.
//!
//! The guest encodes by itself; this makes it do so with an expression of ours (`look.py`), to which the caller's query is an
//! argument. Other languages are looked at by the guest's own way.

use dormouse_core::sandbox::{Owner, SandboxId};
use dormouse_core::{Bounds, ErrorCode, Exception, Language, Outcome, Result, Status, Value};
use serde_json::Value as Json;

use crate::services::{Services, by_id};

/// The expression.
const LOOK: &str = include_str!("look.py");
/// Bytes of the text that carries a value of `total_bytes`, at most: it is quoted once more.
const CARRIED: u32 = 2;
/// What the frames of that expression are named after, as those of a query are.
const PLACE: &str = "(<string>:";
/// Frames of it below those of the query.
const FRAMES: usize = 3;

/// What is looked at.
pub(crate) struct Look {
    /// The variable.
    pub(crate) name: String,
    /// An expression over it.
    pub(crate) query: Option<String>,
    /// Characters of a text, or bytes, shown at most from `bounds.offset` on; none: a text is cut by its bound and has no pages.
    pub(crate) page: Option<u32>,
    /// `offset` counts items, or what `page` counts.
    pub(crate) bounds: Bounds,
}

/// What was seen.
pub(crate) struct Seen {
    /// Its value is the one that was looked at.
    pub(crate) outcome: Outcome,
    /// Characters or bytes of the whole, where a page of it was shown.
    pub(crate) length: Option<u64>,
}

/// Looks at a variable of Python.
///
/// # Errors
/// `unknown_sandbox`; `not_found` when there is no such variable; and those of a run. What the query raises is an outcome.
pub(crate) async fn look(services: &Services, owner: &Owner, id: &SandboxId, look: Look) -> Result<Seen> {
    let Look { name, query, page, bounds } = look;
    let bounds = bounds.clamped();
    let arguments = Json::from(vec![
        Json::from(name.as_str()),
        query.as_deref().map_or(Json::Null, Json::from),
        bounds.offset.into(),
        page.map_or(Json::Null, Json::from),
        bounds.depth.into(),
        bounds.items.into(),
        bounds.string_bytes.into(),
        bounds.total_bytes.into(),
    ]);
    // JSON of texts and numbers is Python, but for the null.
    let expression = format!("({LOOK})(*(lambda null: {arguments})(None))");
    let carried = bounds.total_bytes.saturating_mul(CARRIED);
    let outer = Bounds { string_bytes: carried, total_bytes: carried.saturating_mul(CARRIED), ..bounds };
    let (python, handle) = (Language::python(), by_id(id));
    let got = services.sandboxes.get_variable(
        owner,
        &handle,
        python.clone(),
        name.clone(),
        Some(expression),
        outer,
    );
    let mut outcome = got.await?;
    let mut length = None;
    match &mut outcome.status {
        Status::Returned(value) => {
            let answered = value.as_str().and_then(|text| {
                let (length, typed) = text.split_once(' ')?;
                Some((length.parse().ok(), Value::from_guest(typed, &bounds).ok()?))
            });
            // Where the interpreter's own modules have been changed from inside, it is taken at its word.
            if let Some((whole, seen)) = answered {
                (length, *value) = (whole, seen);
            }
        }
        Status::Raised(exception) => {
            if query.is_none() && exception.class == "NameError" {
                // The guest's own way says whether it is there; where it is not, nothing is looked at.
                let least = Bounds { depth: 1, items: 0, ..Bounds::default() };
                let asked = services.sandboxes.get_variable(owner, &handle, python, name, None, least).await;
                if let Err(error) = asked
                    && error.code() == ErrorCode::NotFound
                {
                    return Err(error);
                }
            }
            forget_own(exception);
        }
        _ => {}
    }
    Ok(Seen { outcome, length })
}

/// Leaves the frames of the expression out.
fn forget_own(exception: &mut Exception) {
    for _ in 0..FRAMES {
        if exception.stack_trace.last().is_some_and(|frame| frame.contains(PLACE)) {
            exception.stack_trace.pop();
        }
    }
    // It tells them, too.
    exception.traceback = None;
}
