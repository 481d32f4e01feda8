//! That what a call did could not be saved: told once in its answer, whichever tool it was and whatever form the answer has.

use dormouse_core::Error;
use serde_json::Value as Json;

use super::Reply;
use super::encode;
use crate::spec::schema::{self, Object};

/// The field of an answer.
pub const FIELD: &str = "unsaved";

/// The answer, saying why what the call has done is not saved, if it is not. It stays the answer that it was: the call was done, and
/// is saved later if that can be.
pub(crate) fn told(mut reply: Reply, unsaved: Option<Error>) -> Reply {
    let Some(error) = unsaved.filter(|_| was_done(&reply)) else { return reply };
    let Some(fields) = reply.structured.as_object_mut() else { return reply };
    let was_json = reply.text.starts_with('{') && serde_json::from_str::<Json>(&reply.text).is_ok();
    fields.insert(FIELD.into(), encode::error(&error));
    if was_json {
        reply.text = reply.structured.to_string();
    } else {
        reply.text.push_str(&format!("\nNot saved: {error}"));
        reply.text.extend(error.hint().map(|hint| format!("\nHint: {hint}")));
    }
    reply
}

/// Whether the call was done and not refused. What a limit ended, or a crash, was done up to there.
fn was_done(reply: &Reply) -> bool {
    reply.structured["error"].is_null() || reply.structured.get("timed_out").is_some()
}

/// The same as a property of a schema.
pub(crate) fn schema() -> Json {
    Object::new()
        .description("Why what the call did is not saved, if it could not be.")
        .required("code", schema::text("Stable name."))
        .required("message", schema::text("What keeps it."))
        .required("hint", schema::text("What to do."))
        .build()
}

#[cfg(test)]
mod tests {
    use dormouse_core::ErrorCode;
    use serde_json::json;

    use super::*;

    fn full() -> Option<Error> {
        Some(Error::new(ErrorCode::StateUnavailable, "the disk is full").with_hint("make room"))
    }

    #[test]
    fn what_is_not_saved_is_told_in_both_forms_of_an_answer() {
        let structured = json!({"ok": true, "error": null});
        let reply = |text: &str| Reply { structured: structured.clone(), text: text.into(), is_error: false };
        let same = told(reply(&structured.to_string()), None);
        assert_eq!(same.structured, structured);
        let json = told(reply(&structured.to_string()), full());
        assert_eq!(json.structured["unsaved"]["code"], "state_unavailable");
        assert_eq!(serde_json::from_str::<Json>(&json.text).unwrap(), json.structured);
        assert!(!json.is_error, "the call was done");
        let plain = told(reply("done"), full());
        assert_eq!(plain.text, "done\nNot saved: the disk is full\nHint: make room");
    }

    #[test]
    fn what_a_limit_ended_was_done_up_to_there() {
        let structured = json!({"ok": false, "timed_out": true, "error": {"code": "limit_time"}});
        let ended = told(Reply { text: structured.to_string(), structured, is_error: true }, full());
        assert_eq!(ended.structured["unsaved"]["code"], "state_unavailable");
        assert_eq!(ended.structured["error"]["code"], "limit_time");
    }

    #[test]
    fn a_refusal_says_only_why_it_is_one() {
        let refused = Reply {
            structured: json!({"error": {"code": "busy"}}),
            text: "Error: busy".into(),
            is_error: true,
        };
        assert_eq!(told(refused.clone(), full()), refused);
    }
}
