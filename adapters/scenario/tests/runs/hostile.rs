//! What tools say is data: it is shown, cut and never obeyed by the report.

use dormouse_scenario::{Report, Status};
use serde_json::Value as Json;

use super::{Stage, arena};

async fn said(text: &str) -> Report {
    let stage = Stage::new();
    let quoted = Json::String(text.into());
    let scenario = format!(
        "turns:\n  - tool_calls:\n      - tool: Say\n        arguments: {{text: {quoted}, structured: {{k: {quoted}}}}}\nconversation_assertions:\n  - {{type: tool_exec, params: {{tool: Say, message: {quoted}, args: {{text: {quoted}}}}}}}\n"
    );
    stage.run(&arena("session", &scenario)).await
}

#[tokio::test]
async fn marks_and_hidden_characters_are_shown_as_text() {
    let text = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[31m\u{0}\u{202e}txt\u{200b}\"'&amp;";
    let report = said(text).await;
    let page = report.to_html();
    assert!(!page.contains("<script") && !page.contains("<img") && page.contains("&lt;script&gt;"));
    assert!(
        !page.contains('\u{1b}')
            && !page.contains('\0')
            && !page.contains('\u{202e}')
            && !page.contains('\u{200b}')
    );
    assert!(page.contains("\u{241b}[31m\u{2400}\\u{202e}txt\\u{200b}") && page.contains("&amp;amp;"));
    // The twin has it to the letter.
    let twin: Json = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    let step = &twin["scenarios"][0]["repetitions"][0]["turns"][0]["steps"][0];
    assert_eq!((step["type"].as_str(), step["output"]["text"].as_str()), (Some("called"), Some(text)));
    assert_eq!(twin["format"], 2);
    assert_eq!(step["structured"]["k"], text);
    let junit = report.to_junit().unwrap();
    assert!(
        !junit.contains("<script") && !junit.contains(['\0', '\u{1b}', '\u{202e}', '\u{200b}']),
        "{junit}"
    );
}

#[tokio::test]
async fn what_a_failure_says_is_text_in_junits_report_too() {
    let stage = Stage::new();
    let text = Json::String("</failure><script>]]>\u{1b}[31m\u{202e}\u{ffff}\u{1}&amp;".into());
    let text = text.to_string().replace('\u{ffff}', "\\uffff");
    let scenario = format!(
        "turns: [{{tool_calls: [{{tool: Fail, arguments: {{text: {text}}}}}]}}]\nconversation_assertions: [{{type: tool_exec, params: {{tool: Fail, message: {text}, args: {{text: {text}}}}}}}]\n"
    );
    let junit = stage.run(&arena("session", &scenario)).await.to_junit().unwrap();
    assert!(junit.contains("&lt;/failure&gt;&lt;script&gt;") && junit.contains("&amp;amp;"), "{junit}");
    for bad in ["<script", "\u{1b}", "\u{202e}", "\u{ffff}", "\u{1}"] {
        assert!(!junit.contains(bad), "{bad:?}: {junit}");
    }
}

#[tokio::test]
async fn the_page_needs_nothing_from_elsewhere() {
    let page = said("x").await.to_html();
    for word in ["http://", "https://", "src=", "url(", "@import", "<link", "<script", "javascript:"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[tokio::test]
async fn src_07_long_outputs_are_cut_with_a_mark() {
    let stage = Stage::new();
    let scenario = "turns: [{tool_calls: [{tool: Say, arguments: {text: '0123456789', times: 1048576}}]}]";
    let report = stage.run(&arena("session", scenario)).await;
    let output = &report.scenarios[0].repetitions[0].turns[0].calls().next().unwrap().output;
    assert!(output.text.len() < 40_000 && output.text.contains("bytes left out"));
    assert_eq!(output.omitted_bytes, (10 << 20) - (32 << 10));
    assert!(report.to_html().len() < 200_000);
}

#[tokio::test]
async fn src_07_a_whole_report_is_bounded() {
    let stage = Stage::new();
    let call = "{tool: Say, arguments: {text: '0123456789', times: 4000}}";
    let scenario = format!("repetitions: 40\nturns: [{{tool_calls: [{}]}}]", vec![call; 40].join(", "));
    let report = stage.run(&arena("session", &scenario)).await;
    assert_eq!((report.status, report.totals.calls), (Status::Passed, 1_600));
    let bytes = report.to_json().unwrap().len();
    assert!((30 << 20..40 << 20).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn all_files_are_written_whole_and_cleared() {
    let report = said("x").await;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/out");
    for _ in 0..2 {
        assert_eq!(report.write(&out).unwrap(), out.join("report.html"));
    }
    let names: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().ends_with("</html>"));
    let twin: Json = serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(twin["status"], "passed");
    assert!(std::fs::read_to_string(out.join("junit.xml")).unwrap().contains("<testsuites"));
    std::fs::write(out.join("other"), "x").unwrap();
    for _ in 0..2 {
        Report::clear(&out).unwrap();
    }
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1, "what is not ours stays");
    Report::clear(&folder.path().join("nowhere")).unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for refused in [report.write(&file).map(drop), Report::prepare(&file)] {
        assert_eq!(refused.unwrap_err().code().as_str(), "path_denied");
    }
    Report::prepare(&folder.path().join("a/b")).unwrap();
    assert_eq!(std::fs::read_dir(folder.path().join("a/b")).unwrap().count(), 0);
}
