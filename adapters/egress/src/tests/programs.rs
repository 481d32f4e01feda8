//! Programs of users' own, whose requests go through the gate as a guest's do.

use std::time::Duration;

use dormouse::{ErrorCode, Status};
use hyper::Response;

use crate::body::streamed;
use crate::tests::program::{Asks, Programs, printed};
use crate::tests::support::{Authority, SECRET, Server, Setup, answer, rule, self_signed};

/// Numbers of errors in `wasi:http/types`.
const DNS: &str = "error 001\n";
const REFUSED: &str = "error 006\n";
const READ_TIMEOUT: &str = "error 009\n";
const EXHAUSTED: &str = "error 011\n";
const UNTRUSTED: &str = "error 013\n";
const DENIED: &str = "error 015\n";

#[tokio::test(flavor = "multi_thread")]
async fn net_36_what_a_component_asks_for_goes_through_the_gate() {
    let server = Server::http(None, |_, body| answer(&[], format!("{} bytes", body.len()))).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "paths = [\"/v1/**\"]")).await;
    let programs = Programs::through(&setup);
    let url = format!("http://a.test:{}/v1/x?q=1", server.port);
    let get = Asks { header: Some(("x-own", Some("1"))), ..Asks::get(&url) };
    let outcome = programs.run(programs.granted(&get)).await;
    assert_eq!(printed(&outcome), "status 200\n0 bytes");
    let got = server.last();
    assert!(got.starts_with("GET /v1/x?q=1\n") && got.contains("x-own: 1\n"), "{got}");
    assert!(got.contains(&format!("host: a.test:{}\n", server.port)) && !got.contains("chunked"), "{got}");
    let used = outcome.network.unwrap();
    assert_eq!((used.requests, used.bytes_in), (1, 7));

    let post = Asks { method: "POST".into(), pieces: 100, ..get.clone() };
    assert_eq!(programs.told(&post).await, "status 200\n409600 bytes");

    let elsewhere = Asks::get(&format!("http://a.test:{}/v2", server.port));
    let told = programs.told(&elsewhere).await;
    assert!(told.starts_with("status 403\n") && told.contains("\"reason\":\"path\""), "{told}");
    let lines = setup.audit();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["sent", "ended", "sent", "ended", "refused"]);
    assert_eq!((&lines[0]["language"], &lines[0]["run"]), (&"wasm".into(), &"run".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn net_36_what_no_rule_allows_is_an_error_of_its_kind() {
    let authority = Authority::new();
    let own = Server::http(Some(self_signed("a.test")), |_, _| answer(&[], "x")).await;
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let rules = [rule("https", own.port, ""), rule("http", gone, ""), rule("http", 80, "")].concat();
    let unknown = "[[profile.p.allow]]\nhost = \"b.test\"\nprotocol = \"http\"\n";
    let setup = Setup::new(Some(&authority), "", &(rules + unknown)).await;
    setup.names.told.lock().unwrap().insert("b.test".into(), Vec::new());
    let programs = Programs::through(&setup);
    for (url, told) in [
        ("http://c.test/".into(), DENIED),
        ("http://127.0.0.1/".into(), DENIED),
        ("http://a.test:1/".into(), DENIED),
        ("http://b.test/".into(), DNS),
        (format!("http://a.test:{gone}/"), REFUSED),
        (format!("https://a.test:{}/", own.port), UNTRUSTED),
    ] {
        assert_eq!(programs.told(&Asks::get(&url)).await, told, "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn net_36_without_a_grant_a_component_runs_and_its_requests_are_denied() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let programs = Programs::new();
    let outcome =
        programs.run(programs.request(&Asks::get(&format!("http://127.0.0.1:{}/", server.port)))).await;
    assert_eq!(printed(&outcome), DENIED);
    assert_eq!((server.accepted(), outcome.network), (0, None));
    let warning = outcome.warning.unwrap();
    assert_eq!(warning.code(), ErrorCode::NetworkDenied);
    assert!(warning.hint().unwrap().contains("--allow-net"));
}

#[tokio::test(flavor = "multi_thread")]
async fn net_36_a_placeholder_of_a_component_becomes_the_value_on_its_way() {
    let authority = Authority::new();
    let server = Server::http(Some(authority.server("a.test")), |request, _| {
        let seen = request.headers()["authorization"].to_str().unwrap();
        answer(&[], format!("seen {seen}"))
    })
    .await;
    let value = "a-value-of-the-operator";
    let setup = Setup::new(Some(&authority), value, &(rule("https", server.port, "") + SECRET)).await;
    let programs = Programs::through(&setup);
    let url = format!("https://a.test:{}/", server.port);
    let asks = Asks { header: Some(("authorization", None)), ..Asks::get(&url) };
    let outcome = programs.run(programs.granted(&asks)).await;
    assert_eq!(printed(&outcome), format!("status 200\nseen {}", "*".repeat(value.len())));
    assert!(server.last().contains(&format!("authorization: {value}\n")));
    assert_eq!(outcome.network.unwrap().secrets_masked, 1);
    let asks = Asks { header: Some(("x-other", None)), ..asks };
    assert!(programs.told(&asks).await.starts_with("status 403\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn net_36_budgets_hold_for_components() {
    let server = Server::http(None, |_, body| answer(&[], "x".repeat(body.len()))).await;
    let budget = "[budget]\nrequests = 1\nbytes_out = \"8 KiB\"\nbytes_in = \"4 KiB\"\n";
    let setup = Setup::new(None, "", &(rule("http", server.port, "") + budget)).await;
    let programs = Programs::through(&setup);
    let post = |pieces| Asks {
        method: "POST".into(),
        pieces,
        ..Asks::get(&format!("http://a.test:{}/", server.port))
    };
    assert_eq!(programs.told(&post(1)).await, format!("status 200\n{}", "x".repeat(4096)));
    let cut = programs.told(&post(2)).await;
    assert!(cut.starts_with("status 200\n") && cut.ends_with("error 028\n"), "{cut}");
    assert_eq!(programs.told(&post(3)).await, EXHAUSTED);
}

#[tokio::test(flavor = "multi_thread")]
async fn net_36_times_of_a_request_and_of_the_run_hold() {
    let silent = Server::start(|stream, _| async move {
        let _stream = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let slow = Server::http(None, |_, _| {
        let first = futures::stream::iter([Ok("begun".into())]);
        let body = futures::StreamExt::chain(first, futures::stream::pending());
        Response::new(streamed(body))
    })
    .await;
    let rules = rule("http", silent.port, "") + &rule("http", slow.port, "");
    let setup = Setup::new(None, "", &rules).await;
    let programs = Programs::through(&setup);
    let silent = Asks::get(&format!("http://a.test:{}/", silent.port));
    let limit = Duration::from_millis(100);
    assert_eq!(programs.told(&Asks { first_byte: limit, ..silent.clone() }).await, READ_TIMEOUT);
    let slow = Asks { between_bytes: limit, ..Asks::get(&format!("http://a.test:{}/", slow.port)) };
    assert_eq!(programs.told(&slow).await, format!("status 200\nbegun{READ_TIMEOUT}"));
    let mut request = programs.granted(&silent);
    request.limits.wall = Duration::from_millis(300);
    let outcome = programs.run(request).await;
    assert!(matches!(&outcome.status, Status::Stopped(error) if error.code() == ErrorCode::LimitTime));
    assert!(outcome.usage.wall < Duration::from_secs(2), "{:?}", outcome.usage.wall);
}

#[tokio::test(flavor = "multi_thread")]
async fn net_36_what_the_host_keeps_of_a_request_is_bounded() {
    let programs = Programs::new();
    let asks = Asks::get("http://a.test/");
    let long = |count: usize| "x".repeat(count);
    for (asks, told) in [
        (Asks { method: long(64), ..asks.clone() }, DENIED),
        (Asks { method: long(65), ..asks.clone() }, "bad"),
        (Asks { url: format!("http://{}/", long(1 << 10)), ..asks.clone() }, DENIED),
        (Asks { url: format!("http://{}/", long((1 << 10) + 1)), ..asks.clone() }, "bad"),
        (Asks { url: format!("http://a.test/{}", long((8 << 10) - 1)), ..asks.clone() }, DENIED),
        (Asks { url: format!("http://a.test/{}", long(8 << 10)), ..asks.clone() }, "bad"),
    ] {
        let outcome = programs.run(programs.request(&asks)).await;
        assert_eq!(printed(&outcome), told, "{} {}", asks.method.len(), asks.url.len());
    }
}
