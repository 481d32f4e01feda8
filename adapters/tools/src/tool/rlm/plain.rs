//! A typed value as a REPL would show it: JSON where it can be written so, else its representation (S3-08).

use serde_json::{Map, Value as Json};

/// The text for a typed value.
pub(super) fn plain(typed: &Json) -> String {
    let shown = json_of(typed).map(|json| json.to_string());
    let mut text = shown.or_else(|| representation(typed)).unwrap_or_else(|| typed.to_string());
    if typed["truncated"] == true {
        text.push_str("\n(truncated)");
    }
    text
}

fn json_of(typed: &Json) -> Option<Json> {
    match typed["type"].as_str()? {
        "null" => Some(Json::Null),
        "bool" | "int" | "float" | "string" => typed.get("value").cloned(),
        "array" => match typed.get("value")? {
            Json::Array(items) => items.iter().map(json_of).collect::<Option<Vec<_>>>().map(Json::Array),
            Json::Object(items) => {
                let pairs = items.iter().map(|(key, item)| Some((key.clone(), json_of(item)?)));
                pairs.collect::<Option<Map<_, _>>>().map(Json::Object)
            }
            _ => None,
        },
        _ => None,
    }
}

fn representation(typed: &Json) -> Option<String> {
    Some(typed.get("repr")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_json_is_shown_as_json_and_the_rest_by_its_own_words() {
        let int = |value: i64| json!({"type": "int", "value": value});
        for (typed, text) in [
            (json!({"type": "null", "value": null}), "null"),
            (int(3), "3"),
            (json!({"type": "string", "value": "a\nb"}), r#""a\nb""#),
            (json!({"type": "array", "is_list": true, "count": 2, "value": [int(1), int(2)]}), "[1,2]"),
            (json!({"type": "array", "is_list": false, "count": 1, "value": {"a": int(1)}}), r#"{"a":1}"#),
            (
                json!({"type": "array", "is_list": true, "count": 9, "value": [int(1)], "truncated": true}),
                "[1]\n(truncated)",
            ),
            (json!({"type": "object", "class": "C", "id": 1, "repr": "<C>"}), "<C>"),
            (
                json!({"type": "reference", "class": "C", "id": 1}),
                r#"{"type":"reference","class":"C","id":1}"#,
            ),
        ] {
            assert_eq!(plain(&typed), text);
        }
    }
}
