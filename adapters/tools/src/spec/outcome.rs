//! The schemas of what a run comes to: its value, its exception, and what is to be known besides. The JSON is that of the types of
//! `dormouse-core`.

use serde_json::Value as Json;

use super::answer::error_schema;
use super::schema::{self, Object};

/// What `recovery_reason` of an answer is.
pub(crate) const RECOVERY_REASON: &str = "Why, if the outcome of this run does not say it.";

/// The schema of the `warning` of a run.
pub(crate) fn warning() -> Json {
    error_schema(
        "A warning, if there is one: a quota of saved bytes or of files is exceeded, so the run could change and \
            remove files but not add to them.",
    )
}

/// What `closed_files` of a run's answer is.
pub(crate) const CLOSED_FILES: &str =
    "Files that were open and could not be opened again when the sandbox woke; only if there are any.";

/// The schema of a value.
pub(crate) fn result() -> Json {
    Object::new()
        .description("The typed value of the last expression; null after an exception, an exit or a stop. Further \
                      fields by type: `undefined`, `big`, `entries`, `properties`, `repr`, `preview`, `exhausted`, \
                      `size_hint`, `id`, `reason`.")
        .open()
        .required("type", schema::text("One of null, bool, int, float, string, bytes, array, iterable, object, \
                                        reference, resource, unknown."))
        .optional("value", schema::anything("The value itself: a JSON value; digits as text when a number does not fit; \
                                             base64 for bytes; typed values inside an array."))
        .optional("class", schema::text("Class, where it says more than the type."))
        .optional("is_list", schema::flag("For an array: a list, else a dictionary."))
        .optional("count", schema::integer(0, "For an array: items of the whole, shown or not."))
        .optional("length", schema::integer(0, "For text or bytes that were cut: bytes of the whole."))
        .optional("truncated", schema::flag("True when something was left out."))
        .or_null()
}

/// The schema of an exception.
pub(crate) fn exception() -> Json {
    frame_fields(Object::new().description("What the snippet raised; null when it did not. Untrusted text."))
        .optional("excerpt", schema::text("The source line that raised."))
        .optional("traceback", schema::text("The language's own rendering, cut in its middle."))
        .optional("hint", schema::text("What to do about it, such as naming another language; only when there is something to advise."))
        .required(
            "previous",
            schema::list(
                &frame_fields(Object::new())
                    .optional("excerpt", schema::text("The source line that raised."))
                    .optional("traceback", schema::text("The language's own rendering."))
                    .required("previous", schema::list(&schema::text("Nothing."), "Always empty here."))
                    .build(),
                "Causes, nearest first, at most 10.",
            ),
        )
        .or_null()
}

fn frame_fields(object: Object) -> Object {
    object
        .required("class", schema::text("Name of its class."))
        .required("message", schema::text("Its message."))
        .required("code", schema::anything("A number or text where the language has one, else null."))
        .required("file", schema::text_or_null("File that raised, or null."))
        .required("line", schema::number_or_null("Line that raised, from 1, or null."))
        .required("column", schema::number_or_null("Column that raised, from 1, or null."))
        .required(
            "stack_trace",
            schema::list(&schema::text("function (file:line)"), "Frames, innermost first."),
        )
}
