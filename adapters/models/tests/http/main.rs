//! Endpoints that behave, and those that do not, against a real server.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

#[allow(dead_code, reason = "two test programs share it")]
mod server;

use std::time::{Duration, Instant};

use dormouse_core::model::{Message, Role};
use dormouse_core::testing::wait_until_async;
use dormouse_core::{Error, ErrorCode, Model, Prompt};
use dormouse_models::{Api, Endpoint, HttpModel, Key};
use serde_json::json;

use self::server::{Say, Server};

const KEY: &str = "sk-test-0123456789-secret";
const BYTES: usize = 1 << 10;

fn key() -> Key {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), KEY).unwrap();
    Key::from_file(&folder.path().join("key")).unwrap()
}

fn model(server: &Server, api: Api) -> HttpModel {
    let endpoint = Endpoint::new(&format!("{}/v1", server.url), api, "m-1").unwrap().with_key(key());
    HttpModel::new(endpoint.with_time(Duration::from_secs(30))).unwrap()
}

async fn openai(says: impl IntoIterator<Item = Say>) -> (Server, HttpModel) {
    let server = Server::start(says).await;
    let model = model(&server, Api::OpenAi);
    (server, model)
}

async fn refused(says: impl IntoIterator<Item = Say>) -> (Server, Error) {
    let (server, model) = openai(says).await;
    let error = model.complete(&Prompt::question("hello"), BYTES).await.unwrap_err();
    let shown = format!("{error:?} {error} {:?} {model:?}", error.hint());
    assert!(!shown.contains(KEY) && !shown.contains("secret"), "{shown}");
    assert!(error.hint().is_some(), "{error}");
    (server, error)
}

fn conversation() -> Prompt {
    let message = |role, text: &str| Message { role, text: text.into() };
    let messages = vec![
        message(Role::User, "one \u{1f600}\n"),
        message(Role::Assistant, "two"),
        message(Role::User, "three"),
    ];
    Prompt { system: Some("be short".into()), messages, max_tokens: 77 }
}

#[tokio::test]
async fn openai_is_asked_and_read() {
    let (server, model) = openai([Say::Text("four \u{1f600}".into())]).await;
    let answer = model.complete(&conversation(), BYTES).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens), ("four \u{1f600}", Some((10, 5))));
    let asked = server.asked().remove(0);
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}").as_str());
    assert_eq!(asked.headers["content-type"], "application/json");
    let messages = json!([
        {"role": "system", "content": "be short"},
        {"role": "user", "content": "one \u{1f600}\n"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]);
    assert_eq!(asked.body, json!({"model": "m-1", "messages": messages, "max_tokens": 77, "stream": false}));
}

#[tokio::test]
async fn anthropic_is_asked_and_read() {
    let server = Server::texts(["four"]).await;
    let answer = model(&server, Api::Anthropic).complete(&conversation(), BYTES).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens), ("four", Some((10, 5))));
    let asked = server.asked().remove(0);
    assert_eq!(asked.path, "/v1/messages");
    assert_eq!(
        (&asked.headers["x-api-key"], &asked.headers["anthropic-version"]),
        (&KEY.parse().unwrap(), &"2023-06-01".parse().unwrap())
    );
    assert!(!asked.headers.contains_key("authorization"));
    let messages = json!([
        {"role": "user", "content": "one \u{1f600}\n"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]);
    assert_eq!(
        asked.body,
        json!({"model": "m-1", "max_tokens": 77, "messages": messages, "system": "be short"})
    );
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_long_as_asked() {
    let busy = |after| Say::Status(429, after, String::new());
    let (server, model) = openai([busy(Some("1")), Say::Text("now".into())]).await;
    let begin = Instant::now();
    assert_eq!(model.complete(&Prompt::question("hello"), BYTES).await.unwrap().text, "now");
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.asked().len(), 2);
    // A date that is past: at once.
    let (_, model) = openai([busy(Some("Thu, 01 Jan 1970 00:00:00 GMT")), Say::Text("now".into())]).await;
    assert_eq!(model.complete(&Prompt::question("hello"), BYTES).await.unwrap().text, "now");
}

#[tokio::test]
async fn a_rate_limit_that_lasts_is_told_after_a_few_tries_and_a_long_one_at_once() {
    let body =
        json!({"error": {"message": format!("too many for {KEY}"), "type": "rate_limit_error"}}).to_string();
    let busy = |after| Say::Status(429, after, body.clone());
    let (server, error) = refused([busy(Some("0")), busy(None), busy(Some("0")), busy(None)]).await;
    assert_eq!((error.code(), server.asked().len()), (ErrorCode::ModelRateLimited, 3));
    assert!(error.message().contains("429 (rate_limit_error)"), "{error}");
    let (server, error) = refused([busy(Some("3600"))]).await;
    assert_eq!((error.code(), server.asked().len()), (ErrorCode::ModelRateLimited, 1));
    assert!(error.hint().is_some_and(|hint| hint.contains("3600 s")));
}

#[tokio::test]
async fn a_fault_of_the_endpoint_is_tried_again_and_then_told() {
    let (server, model) = openai([Say::Status(500, None, "boom".into()), Say::Text("now".into())]).await;
    assert_eq!(model.complete(&Prompt::question("hello"), BYTES).await.unwrap().text, "now");
    assert_eq!(server.asked().len(), 2);
    for status in [500, 503, 529] {
        let says = vec![Say::Status(status, Some("0"), format!("<html>{KEY}</html>")); 3];
        let (server, error) = refused(says).await;
        assert_eq!((error.code(), server.asked().len()), (ErrorCode::ModelUnavailable, 3));
        assert!(error.message().contains(&status.to_string()), "{error}");
    }
}

#[tokio::test]
async fn what_will_not_get_better_is_tried_once() {
    let wrong =
        json!({"error": {"message": format!("wrong key {KEY}"), "code": "invalid_api_key"}}).to_string();
    let odd = json!({"error": {"code": KEY}}).to_string();
    for (say, told) in [
        (Say::Status(401, None, wrong), "401 (invalid_api_key)"),
        (Say::Status(400, None, odd), "400"),
        (Say::Status(404, None, String::new()), "404"),
        (Say::Status(302, None, String::new()), "302"),
        (Say::Raw("not JSON".into()), "an unexpected format"),
        (Say::Raw(String::new()), "an unexpected format"),
        (Say::Raw(r#"{"choices": []}"#.into()), "an unexpected format"),
        (Say::Raw(format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000))), "an unexpected format"),
    ] {
        let (server, error) = refused([say]).await;
        assert_eq!((error.code(), server.asked().len()), (ErrorCode::ModelUnavailable, 1), "{error}");
        assert!(error.message().contains(told), "{error}");
    }
}

#[tokio::test]
async fn a_body_without_an_end_is_read_to_its_bound() {
    let (_, error) = refused([Say::Endless]).await;
    assert_eq!(error.code(), ErrorCode::TooLarge);
    let (_, error) = refused([Say::Text("a".repeat(BYTES + 1))]).await;
    assert_eq!(error.code(), ErrorCode::TooLarge);
    let (_, model) = openai([Say::Text("\u{0}".repeat(BYTES))]).await;
    assert_eq!(model.complete(&Prompt::question("hello"), BYTES).await.unwrap().text.len(), BYTES);
}

#[tokio::test]
async fn an_endpoint_that_is_silent_is_left_when_the_time_is_over() {
    for say in [Say::After(Duration::from_secs(60)), Say::Stalled] {
        let server = Server::start([say]).await;
        let endpoint = Endpoint::new(&server.url, Api::OpenAi, "m").unwrap();
        let model = HttpModel::new(endpoint.with_time(Duration::from_millis(300))).unwrap();
        let error = model.complete(&Prompt::question("hello"), BYTES).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ModelUnavailable);
        assert!(error.message().contains("0.3 s"), "{error}");
    }
}

#[tokio::test]
async fn nobody_there_is_told() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let model = HttpModel::new(Endpoint::new(&url, Api::OpenAi, "m").unwrap()).unwrap();
    let error = model.complete(&Prompt::question("hello"), BYTES).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ModelUnavailable);
    assert!(error.message().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_endpoint() {
    let (server, model) = openai([Say::After(Duration::from_secs(60))]).await;
    let prompt = Prompt::question("hello");
    let patience = Duration::from_secs(20);
    tokio::select! {
        _ = model.complete(&prompt, BYTES) => panic!("the endpoint has answered"),
        () = wait_until_async("the endpoint is asked", patience, || server.under_way() == 1) => {}
    }
    wait_until_async("the endpoint works no more", patience, || server.under_way() == 0).await;
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn llm_02_an_endpoint_that_repeats_the_key_does_not_pass_it_on() {
    let escaped: String = KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let base64 = data_encoding::BASE64.encode(format!("Bearer {KEY}").as_bytes());
    let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for text in [
        KEY.to_owned(),
        format!("your key is Bearer {KEY}, and again {KEY}"),
        format!("{{\"authorization\": \"Bearer {escaped}\"}}"),
        format!("headers: {base64}"),
        format!("?key={percent}&x=1"),
    ] {
        for api in [Api::OpenAi, Api::Anthropic] {
            let server = Server::texts([text.as_str(), text.as_str()]).await;
            let model = model(&server, api);
            let answer = model.complete(&Prompt::question("hello"), BYTES).await.unwrap().text;
            let raw = model.exchange(b"{\"messages\":[]}", BYTES).await.unwrap();
            let raw = String::from_utf8(raw).unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(&raw).is_ok(), "{raw}");
            for shown in [answer, raw] {
                assert!(shown.contains("[key removed]"), "{shown}");
                for secret in [KEY, &escaped, &percent, &base64[8..24]] {
                    assert!(!shown.contains(secret), "{secret}: {shown}");
                }
            }
        }
    }
    // Where the whole of the JSON is written in escapes.
    let whole = format!("{{\"choices\":[{{\"message\":{{\"content\":\"a {escaped} b\"}}}}]}}");
    let (_, model) = openai([Say::Raw(whole)]).await;
    let answer = model.complete(&Prompt::question("hello"), BYTES).await.unwrap();
    assert_eq!(answer.text, "a [key removed] b");
}
