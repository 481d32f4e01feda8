//! A tool's answer for people: a list as one line an entry, columns with tabs between; a thing as one line, or as one line a field.

use serde_json::{Map, Value as Json};

/// What is shown of the entries of a list, in this order. Of other lists, all that is neither object nor list.
const COLUMNS: [(&str, &[&str]); 4] = [
    ("sandboxes", &["name", "id", "status", "last_activity_at"]),
    ("checkpoints", &["id", "created_at", "size_bytes", "name", "note"]),
    ("variables", &["name", "type", "summary"]),
    ("steps", &["step", "ended", "language", "code"]),
];

/// The answer; `whole`: with every field of a thing.
pub(super) fn lines(answer: &Json, whole: bool) -> String {
    let Json::Object(fields) = answer else { return format!("{answer}\n") };
    if let Some(message) = fields.get("message").and_then(Json::as_str) {
        return format!("{message}\n");
    }
    let is_thing = fields.contains_key("id");
    let list = fields.iter().find(|(_, value)| value.is_array()).filter(|_| !is_thing);
    if let Some((name, Json::Array(entries))) = list {
        let columns = COLUMNS.iter().find(|(list, _)| list == name).map(|(_, columns)| *columns);
        return entries.iter().map(|entry| row(entry, columns)).collect();
    }
    if is_thing && !whole {
        let told: Vec<&str> = ["name", "id"].into_iter().filter(|name| fields.contains_key(*name)).collect();
        return row(answer, Some(&told));
    }
    let told = fields.iter().filter(|(name, value)| name.as_str() != "error" && !value.is_null());
    told.map(|(name, value)| format!("{name}: {}\n", text(value))).collect()
}

fn row(entry: &Json, columns: Option<&[&str]>) -> String {
    let Json::Object(fields) = entry else { return text(entry) + "\n" };
    let shown: Vec<String> = match columns {
        Some(columns) => {
            let last = columns.iter().rposition(|name| fields.contains_key(*name)).map_or(0, |last| last + 1);
            columns.iter().take(last).map(|name| text(fields.get(*name).unwrap_or(&Json::Null))).collect()
        }
        None => scalars(fields).map(text).collect(),
    };
    // A line stays a line, whatever a guest calls its variables.
    shown.join("\t").replace('\n', " ") + "\n"
}

fn scalars(fields: &Map<String, Json>) -> impl Iterator<Item = &Json> {
    fields.values().filter(|value| !value.is_object() && !value.is_array())
}

fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => "-".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_rows_and_things_are_a_line_or_all_their_fields() {
        let sandbox =
            json!({"id": "sb-1", "name": "a", "status": "warm", "last_activity_at": "t", "awake": []});
        assert_eq!(lines(&json!({"sandboxes": [sandbox], "next_cursor": null}), false), "a\tsb-1\twarm\tt\n");
        assert_eq!(lines(&sandbox, false), "a\tsb-1\n");
        assert!(lines(&sandbox, true).contains("status: warm\n"));
        assert_eq!(lines(&json!({"id": "ckpt-1", "closed_files": ["f"]}), false), "ckpt-1\n");
        assert_eq!(
            lines(
                &json!({"sandbox_id": "x", "variables": [{"name": "v", "type": "str", "summary": "a\nb"}]}),
                false
            ),
            "v\tstr\ta b\n"
        );
        assert_eq!(
            lines(&json!({"entries": [{"path": "f", "kind": "file", "bytes": 1}]}), false),
            "f\tfile\t1\n"
        );
        let noted = json!({"id": "ckpt-1", "created_at": "t", "size_bytes": 3, "note": "why"});
        assert_eq!(lines(&json!({"checkpoints": [noted]}), false), "ckpt-1\tt\t3\t-\twhy\n");
        assert_eq!(lines(&json!({"message": "done", "sandbox_id": "x"}), false), "done\n");
    }
}
