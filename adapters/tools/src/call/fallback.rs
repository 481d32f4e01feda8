//! That another provider than the sandbox's own has answered: told in the answer, whichever tool it was and whatever form the answer
//! has (docs/providers.md).

use serde_json::Value as Json;

use super::Reply;
use crate::spec::schema;

/// The field of an answer.
pub(crate) const FIELD: &str = "fallback_from";
/// Who takes the place of others.
const FIRST: &str = "wasm";

/// How an answer's text is made of what is structured.
enum Form {
    Compact,
    Pretty,
    Words,
}

/// The answer, saying in whose place it was given, if it was given in anybody's. A text that is not the answer's JSON gets a line of
/// its own.
pub(crate) fn told(mut reply: Reply, wanted: Option<&str>) -> Reply {
    let Some(wanted) = wanted.or(reply.structured[FIELD].as_str()).map(str::to_owned) else { return reply };
    let form = form(&reply);
    let Some(fields) = reply.structured.as_object_mut() else { return reply };
    fields.entry(FIELD).or_insert_with(|| wanted.as_str().into());
    let by = fields.get("provider").and_then(Json::as_str).unwrap_or(FIRST);
    match form {
        Form::Words => {
            let line = format!("\n(fallback_from: {wanted}, done by {by})");
            reply.text.push_str(&line);
        }
        Form::Compact => reply.text = compact(&reply.structured),
        Form::Pretty => reply.text = pretty(&reply.structured),
    }
    reply
}

fn form(reply: &Reply) -> Form {
    if !reply.text.starts_with('{') {
        return Form::Words;
    }
    if reply.text == compact(&reply.structured) {
        Form::Compact
    } else if reply.text == pretty(&reply.structured) {
        Form::Pretty
    } else {
        Form::Words
    }
}

fn compact(value: &Json) -> String {
    value.to_string()
}

fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The same as a property of a schema.
pub(crate) fn schema() -> Json {
    schema::text("Whose it was to do; only when another provider did it.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(structured: &Json, text: &str) -> Reply {
        Reply { structured: structured.clone(), text: text.into(), is_error: false }
    }

    #[test]
    fn every_form_of_an_answer_says_in_whose_place_it_was_given() {
        let of = json!({"ok": true});
        assert_eq!(told(reply(&of, "done"), None), reply(&of, "done"));
        let words = told(reply(&of, "done"), Some("docker"));
        assert_eq!(words.text, "done\n(fallback_from: docker, done by wasm)");
        assert_eq!(words.structured["fallback_from"], "docker");
        for text in [of.to_string(), pretty(&of)] {
            let json = told(reply(&of, &text), Some("docker"));
            assert_eq!(serde_json::from_str::<Json>(&json.text).unwrap(), json.structured, "{text}");
            assert_eq!(json.text.contains('\n'), text.contains('\n'));
        }
        // A file that is JSON is shown as it is.
        let file = told(reply(&of, r#"{"a": 1}"#), Some("docker"));
        assert!(file.text.starts_with("{\"a\": 1}\n(fallback_from: "), "{}", file.text);
    }

    #[test]
    fn what_a_run_says_itself_stays() {
        let of = json!({"provider": "docker", "fallback_from": "wasm", "elsewhere": ["csplit"]});
        let words = told(reply(&of, "exit code: 0"), None);
        assert_eq!(words.text, "exit code: 0\n(fallback_from: wasm, done by docker)");
        assert_eq!(told(reply(&of, &of.to_string()), None), reply(&of, &of.to_string()));
    }
}
