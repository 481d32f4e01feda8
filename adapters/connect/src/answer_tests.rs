//! Answers as values and files.

use super::*;

fn names() -> FileNames {
    FileNames { run: 0xabcd, next: AtomicU64::new(1) }
}

fn value(content: Json) -> Result<CallbackAnswer, String> {
    let Json::Array(content) = content else { panic!("a list") };
    unwrapped(ToolAnswer { content, ..ToolAnswer::default() }, "tool", &names())
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

#[test]
fn structured_content_comes_first_then_json_then_text() {
    let structured =
        ToolAnswer { content: vec![text("{}")], structured: Some(json!({"a": 1})), is_error: false };
    assert_eq!(unwrapped(structured, "t", &names()).unwrap().value, json!({"a": 1}));
    for (given, wanted) in [
        (json!([text(r#" {"b": [1.5]} "#)]), json!({"b": [1.5]})),
        (json!([text("[]")]), json!([])),
        (json!([text("12")]), json!(12)),
        (json!([text("true")]), json!(true)),
        (json!([text("12345678901234567890123")]), json!("12345678901234567890123")),
        (json!([text("1e3")]), json!("1e3")),
        (json!([text("plain {")]), json!("plain {")),
        (json!([text("")]), json!("")),
        (json!([]), json!(null)),
        (json!([text("1"), text("b")]), json!(["1", "b"])),
        (json!([{"type": "odd", "x": 1}]), json!({"type": "odd", "x": 1})),
        (json!([{"type": "text"}]), json!(null)),
        (json!([7]), json!(7)),
        (
            json!([{"type": "resource_link", "uri": "file:///x", "name": "x", "mimeType": "text/plain", "_meta": {}}]),
            json!({"uri": "file:///x", "name": "x", "mime_type": "text/plain"}),
        ),
        (
            json!([{"type": "resource", "resource": {"uri": "a:b", "text": "short"}}]),
            json!({"uri": "a:b", "text": "short"}),
        ),
    ] {
        let answer = value(given).unwrap();
        assert_eq!((answer.value, answer.files.len()), (wanted, 0));
    }
}

#[test]
fn an_error_is_the_tools_text() {
    let failed = |content: Vec<Json>| ToolAnswer { content, structured: None, is_error: true };
    assert_eq!(unwrapped(failed(vec![text("no"), text("way")]), "t", &names()).unwrap_err(), "no\nway");
    assert!(unwrapped(failed(vec![]), "t", &names()).unwrap_err().contains("not why"));
    let long = unwrapped(failed(vec![text(&"ü".repeat(1 << 20))]), "t", &names()).unwrap_err();
    assert!(long.len() <= MAX_ERROR && long.len() > MAX_ERROR - 4);
}

#[test]
fn images_and_resources_become_files_with_names_of_their_own() {
    let image = json!({"type": "image", "data": "aGV5", "mimeType": "image/png"});
    let blob =
        json!({"type": "resource", "resource": {"uri": "x:y", "blob": "aGV5IQ", "mimeType": "../../etc"}});
    let answer = value(json!([image, blob, text("after")])).unwrap();
    let (first, second) = ("/tmp/tools/tool-0000abcd-1.png", "/tmp/tools/tool-0000abcd-2.bin");
    assert_eq!(
        answer.value,
        json!([
            {"file": first, "mime_type": "image/png", "bytes": 3},
            {"uri": "x:y", "file": second, "mime_type": "../../etc", "bytes": 4},
            "after",
        ])
    );
    let files: Vec<(&str, &[u8])> =
        answer.files.iter().map(|file| (file.path.as_str(), file.bytes.as_slice())).collect();
    assert_eq!(files, [(first, &b"hey"[..]), (second, b"hey!")]);
    assert!(value(json!([{"type": "image", "data": "%%%"}])).unwrap_err().contains("base64"));
}

/// A server answers with megabytes: the program gets a file and the beginning of it, or an error.
#[test]
fn run_21_a_large_answer_becomes_a_file_and_a_larger_one_an_error() {
    let long = "é".repeat(MAX_VALUE);
    let answer = value(json!([text(&long)])).unwrap();
    let [file] = answer.files.as_slice() else { panic!("one file") };
    assert_eq!((file.bytes.len(), file.path.as_str()), (2 * MAX_VALUE, "/tmp/tools/tool-0000abcd-1.txt"));
    assert_eq!(answer.value["bytes"], 2 * MAX_VALUE);
    assert!(answer.value["preview"].as_str().unwrap().len() <= PREVIEW);
    let rows = json!({ "rows": vec![7; MAX_VALUE] });
    let structured = ToolAnswer { structured: Some(rows.clone()), ..ToolAnswer::default() };
    let answer = unwrapped(structured, "tool", &names()).unwrap();
    assert!(answer.value["file"].as_str().unwrap().ends_with(".json"));
    assert_eq!(serde_json::from_slice::<Json>(&answer.files[0].bytes).unwrap(), rows);
    let image = json!({"type": "image", "data": "A".repeat(8 << 20), "mimeType": "image/png"});
    let images: Vec<Json> = std::iter::repeat_n(image, 6).collect();
    assert!(value(images.into()).unwrap_err().contains("32 MiB"));
}
