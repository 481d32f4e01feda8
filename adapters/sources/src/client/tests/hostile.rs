//! Servers that mean harm: whatever they send is bounded, and comes to an error that names it.

use std::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use dormouse_core::testing::wait_for_async;

use super::*;
use crate::testing::server::{answers, event, event_stream, fed, tool};

/// Time for what is to come at all; the bounds are what ends it.
const LONG: Patience = Patience {
    discover: Duration::from_secs(60),
    answer: Duration::from_secs(60),
    call: Duration::from_secs(60),
};

/// A server that speaks properly, but for what `evil` answers itself.
async fn server(evil: impl Fn(&Json) -> Option<Response> + Clone + Send + Sync + 'static) -> Server {
    let answer = move |body: Bytes| async move {
        let message: Json = serde_json::from_slice(&body).unwrap();
        let usual = || match answers(&message).pop() {
            Some(answer) => json(answer.to_string()),
            None => StatusCode::ACCEPTED.into_response(),
        };
        evil(&message).unwrap_or_else(usual)
    };
    Server::start(Router::new().route("/mcp", post(answer))).await
}

fn json(body: impl Into<Body>) -> Response {
    ([("content-type", "application/json")], body.into()).into_response()
}

fn result(message: &Json, result: &Json) -> Response {
    json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
}

/// The same piece for ever.
fn endless(begin: &'static str, piece: Vec<u8>) -> Body {
    let rest = futures::stream::repeat(Bytes::from(piece));
    let all = futures::stream::once(async move { Bytes::from(begin) });
    Body::from_stream(futures::StreamExt::map(futures::StreamExt::chain(all, rest), Ok::<_, Infallible>))
}

async fn greeted(server: &Server, patience: Patience) -> Remote {
    let place = Place::new(&server.url("/mcp"), &BTreeMap::new(), &Outside::default()).unwrap();
    remote::initialize(Arc::new(Streamable::new(place)), patience).await.unwrap()
}

/// What listing comes to.
async fn listing(
    evil: impl Fn(&Json) -> Option<Response> + Clone + Send + Sync + 'static,
) -> Result<Vec<String>> {
    let server = server(move |message| evil(message).filter(|_| message["method"] == "tools/list")).await;
    let tools = greeted(&server, LONG).await.list().await?;
    Ok(tools.into_iter().map(|tool| tool.name).collect())
}

/// What the call of a tool comes to.
async fn calling(
    evil: impl Fn(&Json) -> Response + Clone + Send + Sync + 'static,
    patience: Patience,
) -> Result<crate::ToolAnswer> {
    let server = server(move |message| (message["method"] == "tools/call").then(|| evil(message))).await;
    greeted(&server, patience).await.call(call("echo")).await
}

fn tools(names: impl IntoIterator<Item = String>) -> Json {
    names.into_iter().map(|name| json!({"name": name, "inputSchema": {}})).collect()
}

#[tokio::test]
async fn src_01_an_endless_body_is_too_large() {
    let error = calling(|_| json(endless("{\"a\":\"", vec![b'x'; 64 << 10])), LONG).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert!(error.message().contains("more than 4194304 bytes"), "{error}");
    // A refusal's too: it is read in part.
    let refuse = |_: &Json| (StatusCode::FORBIDDEN, endless("", vec![b'x'; 64 << 10])).into_response();
    let error = calling(refuse, LONG).await.unwrap_err();
    assert!(error.message().contains("HTTP status 403"), "{error}");
}

#[tokio::test]
async fn src_01_an_endless_stream_is_too_large() {
    let one_line = |_: &Json| event_stream(endless("data: ", vec![b'x'; 64 << 10]));
    let error = calling(one_line, LONG).await.unwrap_err();
    assert!(error.message().contains("a message of the MCP server has more than"), "{error}");
    let comments = |_: &Json| event_stream(endless("", [&b": "[..], &[b'x'; 64 << 10], b"\n\n"].concat()));
    let error = calling(comments, LONG).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert!(error.message().contains("an answer of the MCP server has more than 67108864 bytes"), "{error}");
}

#[tokio::test]
async fn src_02_a_server_that_is_slow_or_silent_is_given_up() {
    let short = Patience { call: Duration::from_secs(1), ..LONG };
    let trickle = |_: &Json| {
        let drops = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
        });
        json(Body::from_stream(drops))
    };
    let silent = |_: &Json| {
        let (sender, body) = fed();
        // The stream stays open as long as the server lives.
        tokio::spawn(async move { sender.closed().await });
        event_stream(body)
    };
    for error in [calling(trickle, short).await.unwrap_err(), calling(silent, short).await.unwrap_err()] {
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
        assert_eq!(error.message(), "the MCP server gave no answer for 1 s");
    }
}

#[tokio::test]
async fn src_03_a_hundred_thousand_tools_are_too_many_and_a_thousand_are_not() {
    let of = |count: usize| {
        move |message: &Json| {
            let tools: Vec<String> =
                (0..count).map(|at| format!(r#"{{"name":"t{at}","inputSchema":{{}}}}"#)).collect();
            let (id, tools) = (&message["id"], tools.join(","));
            Some(json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}]}}}}"#)))
        }
    };
    let error = listing(of(100_000)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert!(error.message().contains("more than 1000 tools"), "{error}");
    assert_eq!(listing(of(1_001)).await.unwrap_err().code(), ErrorCode::TooLarge);
    assert_eq!(listing(of(1_000)).await.unwrap().len(), 1_000);
    let pages = |message: &Json| Some(result(message, &json!({"tools": [], "nextCursor": "again"})));
    let error = listing(pages).await.unwrap_err();
    assert!(error.message().contains("more than 100 pages"), "{error}");
}

#[tokio::test]
async fn src_03_giant_schemas_are_left_out_and_too_many_large_ones_are_refused() {
    let schema = |bytes: usize| json!({"description": "x".repeat(bytes)});
    let one = move |message: &Json| {
        let tools = json!([
            {"name": "giant", "inputSchema": schema(64 << 10)},
            {"name": "answers-with-giants", "inputSchema": {}, "outputSchema": schema(64 << 10)},
            {"name": "noted", "inputSchema": {}, "annotations": schema(64 << 10)},
            {"name": "large", "inputSchema": schema((64 << 10) - 18)},
            {"name": "small", "inputSchema": {}},
        ]);
        Some(result(message, &json!({"tools": tools})))
    };
    assert_eq!(listing(one).await.unwrap(), ["large", "small"]);
    let many = move |message: &Json| {
        let page = message["params"]["cursor"].as_str().unwrap_or("a").to_owned();
        let tools = (0..40).map(|at| json!({"name": format!("{page}{at}"), "inputSchema": schema(60_000)}));
        Some(result(message, &json!({"tools": tools.collect::<Json>(), "nextCursor": format!("{page}a")})))
    };
    let error = listing(many).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert!(error.message().contains("more than 4194304 bytes of schemas"), "{error}");
}

#[tokio::test]
async fn src_04_tools_with_names_that_cannot_be_shown_are_left_out() {
    let listed = |message: &Json| {
        let mut list = tools(
            ["", "a\u{1b}[31m", "b\nc", "d\u{85}", "e\u{2028}", "\u{0}", "fine", "fine", "Ünïcode tool"]
                .map(str::to_owned),
        );
        let more = [
            json!({"name": "x".repeat(128), "inputSchema": {}}),
            json!({"name": "y".repeat(129), "inputSchema": {}}),
            json!({"name": 1, "inputSchema": {}}),
            json!({"name": "no-schema"}),
            json!({"name": "bad-schema", "inputSchema": true}),
            json!("text"),
            json!(null),
        ];
        list.as_array_mut().unwrap().extend(more);
        Some(result(message, &json!({"tools": list})))
    };
    let long = "x".repeat(128);
    assert_eq!(listing(listed).await.unwrap(), ["fine", "Ünïcode tool", &long]);
    for no_list in [json!({}), json!({"tools": {}}), json!([]), json!("x")] {
        let error = listing(move |message| Some(result(message, &no_list))).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    }
}

#[tokio::test]
async fn src_05_redirects_are_not_followed() {
    let heard = Heard::default();
    let other = Server::start(streamable(heard.clone()).merge(legacy(heard.clone()))).await;
    for status in [StatusCode::FOUND, StatusCode::TEMPORARY_REDIRECT] {
        let to = |path: &str| (status, [("location", other.url(path))]).into_response();
        let (mcp, sse) = (to("/mcp"), to("/sse"));
        let (mcp, sse) = (mcp.headers().clone(), sse.headers().clone());
        let router = Router::new()
            .route("/mcp", post(move || async move { (status, mcp) }))
            .route("/sse", get(move || async move { (status, sse) }));
        let server = Server::start(router).await;
        for error in [
            open_url(&server.url("/mcp"), &BTreeMap::new(), &Outside::default()).await.err().unwrap(),
            open_container(&server.url(""), true).await.err().unwrap(),
        ] {
            assert!(error.message().contains(&format!("HTTP status {}", status.as_u16())), "{error}");
            assert!(error.hint().unwrap().contains("redirects are not followed"));
        }
    }
    assert!(heard.messages.lock().unwrap().is_empty());
}

#[tokio::test]
async fn src_06_answers_to_other_requests_and_second_answers_are_not_taken() {
    let answer = |id: Json, text: &str| json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}});
    let other = move |_: &Json| json(answer(json!(4_711), "other").to_string());
    let error = calling(other, LONG).await.unwrap_err();
    assert!(error.message().contains("is not the answer to this request"), "{error}");
    let several = move |message: &Json| {
        let id = message["id"].clone();
        let wrong = [json!(4_711), json!("1"), json!(-1), json!(1.5), json!(null), json!([])];
        let events = wrong.map(|id| event(&answer(id, "other"))).concat();
        let right = [event(&answer(id.clone(), "first")), event(&answer(id, "second"))].concat();
        event_stream(Body::from([events, right].concat()))
    };
    assert_eq!(calling(several, LONG).await.unwrap().text(), "first");
}

#[tokio::test]
async fn src_06_what_is_no_message_is_an_error() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies: [Vec<u8>; 6] = [
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"text\":\"\xff\xfe\"}]}}".into(),
        b"".into(),
        b"<html>".into(),
        deep.into_bytes(),
        b"{\"jsonrpc\":\"2.0\",\"id\":2}".into(),
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":\"x\"}".into(),
    ];
    for body in bodies {
        let as_json = body.clone();
        let error = calling(move |_| json(as_json.clone()), LONG).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
        let event = [b"data: ", &body[..], b"\n\n"].concat();
        let error = calling(move |_| event_stream(Body::from(event.clone())), LONG).await.unwrap_err();
        assert!(error.message().contains("ended its stream without an answer"), "{error}");
    }
    for wrong in [json!(1), json!({}), json!({"content": "x"}), json!({"resultType": "task", "content": []})]
    {
        let error = calling(move |message| result(message, &wrong), LONG).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    }
    let blocks = |message: &Json| result(message, &json!({"content": vec![0; 10_001]}));
    assert_eq!(calling(blocks, LONG).await.unwrap_err().code(), ErrorCode::TooLarge);
}

#[tokio::test]
async fn src_06_a_server_that_asks_without_end_is_told_no_a_few_times() {
    let heard = Heard::default();
    let notes = heard.clone();
    let server = server(move |message| {
        notes.messages.lock().unwrap().push(message.clone());
        (message["method"] == "tools/call").then(|| {
            let ask = |id| {
                event(&json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": {}}))
            };
            let asks: Vec<Bytes> = (0..1_000).map(ask).collect();
            let answer = answers(message).pop().unwrap();
            event_stream(Body::from([asks.concat(), event(&answer).into()].concat()))
        })
    })
    .await;
    let endpoint = greeted(&server, LONG).await;
    assert_eq!(endpoint.call(call("echo")).await.unwrap().text(), "one\ntwo");
    let messages = heard.messages.lock().unwrap().clone();
    let told: Vec<&Json> = messages.iter().filter(|message| message["error"]["code"] == -32601).collect();
    assert_eq!(told.len(), 16);
}

#[tokio::test]
async fn an_unknown_revision_is_refused() {
    let greet = |message: &Json| {
        let told = json!({"protocolVersion": "1999-01-01\u{1b}", "capabilities": {}});
        (message["method"] == "initialize").then(|| result(message, &told))
    };
    let server = server(greet).await;
    let error = open_url(&server.url("/mcp"), &BTreeMap::new(), &Outside::default()).await.err().unwrap();
    assert_eq!(error.message(), "the MCP server speaks the unknown revision `1999-01-01`");
}

#[tokio::test]
async fn a_junk_answer_to_the_first_question_does_not_mislead() {
    for junk in [json!({}), json!({"supportedVersions": ["2024-11-05"]}), json!({"supportedVersions": 1})] {
        let server =
            server(move |message| (message["method"] == "server/discover").then(|| result(message, &junk)))
                .await;
        let opened = open_url(&server.url("/mcp"), &BTreeMap::new(), &Outside::default()).await.unwrap();
        assert_eq!(opened.endpoint.list().await.unwrap().len(), 4);
    }
}

/// A server whose stream is this.
async fn stream(body: impl Fn() -> Body + Clone + Send + Sync + 'static) -> Error {
    let answer = move || async move { event_stream(body()) };
    let server = Server::start(Router::new().route("/sse", get(answer))).await;
    open_container(&server.url(""), true).await.err().unwrap()
}

#[tokio::test]
async fn src_05_a_legacy_stream_is_bounded_and_tells_a_place_of_its_own_origin() {
    for place in ["http://example.com/x", "//127.0.0.2/x", "http://127.0.0.1:1/x", "ftp://x", "http://["] {
        let told = format!("event: endpoint\ndata: {place}\n\n");
        let error = stream(move || Body::from(told.clone())).await;
        assert!(error.message().contains("at another place"), "{place}: {error}");
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    }
    let error = stream(|| Body::from("data: x\n\n")).await;
    assert!(error.message().contains("ended before it told"), "{error}");
    let error = stream(|| endless("event: endpoint\ndata: ", vec![b'x'; 64 << 10])).await;
    assert_eq!(error.code(), ErrorCode::TooLarge);
    let server = Server::start(Router::new().route("/sse", get(|| async { "hello" }))).await;
    let error = open_container(&server.url(""), true).await.err().unwrap();
    assert!(error.message().contains("no stream of events"), "{error}");
}

#[tokio::test]
async fn a_legacy_stream_that_ends_or_overflows_ends_the_calls_that_wait() {
    for overflow in [false, true] {
        let (sender, body) = fed();
        sender.send("event: endpoint\ndata: /messages\n\n".into()).unwrap();
        let (body, feed) = (Arc::new(Mutex::new(Some(body))), Arc::new(Mutex::new(Some(sender))));
        let take = move || async move { event_stream(body.lock().unwrap().take().unwrap()) };
        let message = move |bytes: Bytes| async move {
            let message: Json = serde_json::from_slice(&bytes).unwrap();
            let mut feed = feed.lock().unwrap();
            if message["method"] == "tools/call" {
                if overflow {
                    let piece = Bytes::from(vec![b'x'; 1 << 20]);
                    (0..5).for_each(|_| drop(feed.as_ref().unwrap().send(piece.clone())));
                }
                // The stream ends with its sender.
                *feed = None;
            } else {
                answers(&message).iter().for_each(|one| drop(feed.as_ref().unwrap().send(event(one))));
            }
            StatusCode::ACCEPTED
        };
        let router = Router::new().route("/sse", get(take)).route("/messages", post(message));
        let server = Server::start(router).await;
        let endpoint = open_container(&server.url(""), true).await.unwrap();
        let error = endpoint.call(call("echo")).await.unwrap_err();
        let expected = if overflow { ErrorCode::TooLarge } else { ErrorCode::ProviderUnavailable };
        assert_eq!(error.code(), expected, "{error}");
        assert!(endpoint.call(call("echo")).await.is_err(), "and there are no more");
    }
}

#[tokio::test]
async fn a_message_that_is_not_taken_is_an_error_of_its_call() {
    let greet = Heard::default();
    let usual = legacy(greet);
    let server = Server::start(usual).await;
    let endpoint = open_container(&server.url(""), true).await.unwrap();
    // The server is gone; its stream ends, or what is sent cannot be.
    drop(server);
    let error = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            if let Err(error) = endpoint.call(call("echo")).await {
                return error;
            }
        }
    });
    assert_eq!(error.await.unwrap().code(), ErrorCode::ProviderUnavailable);
}

async fn program(script: &str) -> Result<Opened> {
    let prelude = r#"answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
        greeting='{"protocolVersion":"2025-11-25","capabilities":{}}'
        read -r line; answer 1 '{}'; read -r line; answer 2 "$greeting"; read -r line;"#;
    open_command(&named("sh", &["-c", &format!("{prelude} {script}")]), &Local).await
}

#[tokio::test]
async fn src_01_a_program_without_line_ends_is_too_large_and_one_that_floods_its_errors_goes_on() {
    let opened = program("read -r line; head -c 6000000 /dev/zero | tr '\\0' x; sleep 1000").await.unwrap();
    let error = opened.endpoint.call(call("x")).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    opened.endpoint.close().await.unwrap();
    let flood = "yes flood | head -c 3000000 >&2; head -c 3000000 /dev/zero >&2; read -r line; answer 3 '{\"content\":[]}'; read -r line";
    let opened = program(flood).await.unwrap();
    opened.endpoint.call(call("x")).await.unwrap();
    opened.endpoint.close().await.unwrap();
}

#[tokio::test]
async fn src_02_a_program_that_does_not_want_to_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.1; done", pid.display());
    let opened = program(&script).await.unwrap();
    let pids =
        wait_for_async("the program says its number", PATIENCE, async || {
            match std::fs::read_to_string(&pid) {
                Ok(pid) if pid.ends_with('\n') => Ok([pid.trim().to_owned()]),
                other => Err(other),
            }
        })
        .await;
    assert!(is_alive(&pids[0]));
    opened.endpoint.close().await.unwrap();
    assert!(!is_alive(&pids[0]));
}

#[tokio::test]
async fn src_03_a_list_of_hostile_tools_does_not_keep_the_others_from_being_called() {
    let listed = |message: &Json| {
        (message["method"] == "tools/list").then(|| {
            let bad = json!({"name": "bad\u{7}", "inputSchema": {}});
            let endless = json!({"name": "circle", "inputSchema": {"$ref": "#"}});
            result(message, &json!({"tools": [bad, endless, tool("echo")]}))
        })
    };
    let server = server(listed).await;
    let entry = json!({"name": "s", "url": server.url("/mcp")});
    let entries = vec![crate::Entry::parse(entry).unwrap()];
    let run = crate::Scopes::new(crate::Registry::default(), entries).unwrap().open_run().await.unwrap();
    let names: Vec<String> = run.tools().list().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["mcp__s__circle", "mcp__s__echo"]);
    for name in names {
        run.tools()
            .call(&name, call("x").arguments, None)
            .await
            .map(drop)
            .or_else(|error| {
                // The server does not have what it lists.
                (error.message() == "tool not found: mcp__s__circle").then_some(()).ok_or(error)
            })
            .unwrap();
    }
    run.close().await;
}
