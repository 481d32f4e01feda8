//! Secrets end to end: where values go, and that none comes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Response;
use hyper::body::Frame;

use crate::tests::support::{Authority, SECRET, Server, Setup, Told, answer, ask, get, request, rule};
use crate::{Body, Door, Reason, Refusal, full};

const VALUE: &str = "s3cr3t/value+of=the operator";

/// A server at `https://a.test`, the gate with a rule and the secret for it, and the placeholder.
struct Case {
    server: Server,
    setup: Setup,
    door: Door,
    placeholder: String,
}

impl Case {
    async fn new(
        rest: &str,
        handler: impl Fn(&hyper::Request<()>, &str) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        let authority = Authority::new();
        let server = Server::http(Some(authority.server("a.test")), handler).await;
        let setup =
            Setup::new(Some(&authority), VALUE, &format!("{}{SECRET}", rule("https", server.port, rest)))
                .await;
        let way = setup.way("ann", "s");
        let (name, placeholder) = way.environment().remove(0);
        assert!(name == "KEY" && placeholder.starts_with("sk-"));
        Self { server, door: way.run(Default::default()), setup, placeholder }
    }

    fn url(&self, path: &str) -> String {
        format!("https://a.test:{}{path}", self.server.port)
    }

    /// Asks with the placeholder as a bearer token.
    async fn bearer(&self, path: &str) -> Result<Told, Reason> {
        ask(&self.door, get(&self.url(path), &[("authorization", &format!("Bearer {}", self.placeholder))]))
            .await
    }

    /// Nothing that was written down holds the value.
    fn assert_unwritten(&self) {
        let audit = std::fs::read_to_string(self.setup.audit_path()).unwrap();
        assert!(!audit.contains(VALUE) && !audit.contains("s3cr3t"), "{audit}");
        assert!(!format!("{:?}", self.setup.gate.settings()).contains("s3cr3t"));
    }
}

#[tokio::test]
async fn a_placeholder_becomes_the_value_on_its_way() {
    let case = Case::new("", |_, _| answer(&[], "x")).await;
    assert_eq!(case.bearer("/").await.unwrap().body, "x");
    assert!(case.server.last().contains(&format!("authorization: Bearer {VALUE}\n")));
    let basic = STANDARD.encode(format!("user:{}", case.placeholder));
    ask(&case.door, get(&case.url("/"), &[("authorization", &format!("Basic {basic}"))])).await.unwrap();
    let wanted = STANDARD.encode(format!("user:{VALUE}"));
    assert!(case.server.last().contains(&format!("authorization: Basic {wanted}\n")));
    assert_eq!(case.setup.audit()[1]["secrets"][0], "KEY");
    case.assert_unwritten();
}

#[tokio::test]
async fn a_header_that_a_rule_sets_needs_nothing_in_the_sandbox() {
    let case = Case::new("set = { authorization = \"Bearer {KEY}\" }", |_, _| answer(&[], "x")).await;
    ask(&case.door, get(&case.url("/"), &[("authorization", "its own")])).await.unwrap();
    let got = case.server.last();
    assert!(got.contains(&format!("authorization: Bearer {VALUE}\n")) && !got.contains("its own"));
    case.assert_unwritten();
}

#[tokio::test]
async fn net_13_a_placeholder_that_does_not_count_stops_the_request() {
    let case = Case::new("", |_, body| answer(&[], body.to_owned())).await;
    let p = &case.placeholder;
    for (url, headers) in [
        (case.url("/"), vec![("user-agent", p.as_str())]),
        (case.url("/"), vec![("cookie", p)]),
        (case.url(&format!("/{p}")), vec![]),
        (case.url(&format!("/?key={p}")), vec![]),
    ] {
        let told = ask(&case.door, get(&url, &headers)).await.unwrap();
        assert_eq!((told.status, told.denied()), (403, "secret"), "{headers:?}");
    }
    assert_eq!(case.server.accepted(), 0);
    // In a body it is data.
    let body = format!("{{\"key\":\"{p}\"}}");
    let told = ask(&case.door, request("POST", &case.url("/"), &[], full(body.clone()))).await.unwrap();
    assert_eq!(told.body, body);
    assert!(!case.server.last().contains("s3cr3t"));
    assert_eq!(case.door.used().denied[0].reason, "secret");
    case.assert_unwritten();
}

#[tokio::test]
async fn net_13_a_placeholder_goes_to_its_hosts_only_and_over_tls_only() {
    let open = Server::http(None, |_, _| answer(&[], "x")).await;
    let rules = format!(
        "{}{}[[profile.p.allow]]\nhost = \"a.test\"\n{SECRET}",
        rule("http", open.port, ""),
        rule("http", open.port, "").replace("a.test", "b.test")
    );
    let setup = Setup::new(None, VALUE, &rules).await;
    let way = setup.way("ann", "s");
    let token = format!("Bearer {}", way.environment()[0].1);
    for host in ["a.test", "b.test"] {
        let url = format!("http://{host}:{}/", open.port);
        let told = ask(&way.run(Default::default()), get(&url, &[("authorization", &token)])).await.unwrap();
        assert_eq!(told.denied(), "secret", "{host}");
        assert!(!told.body.contains("s3cr3t"));
    }
    assert_eq!(open.accepted(), 0);
}

#[tokio::test]
async fn net_20_another_owners_placeholder_is_worth_nothing() {
    let case = Case::new("", |_, _| answer(&[], "x")).await;
    let bob = case.setup.way("bob", "s");
    assert_ne!(bob.environment()[0].1, case.placeholder);
    let token = format!("Bearer {}", case.placeholder);
    ask(&bob.run(Default::default()), get(&case.url("/"), &[("authorization", &token)])).await.unwrap();
    assert!(case.server.last().contains(&token) && !case.server.last().contains("s3cr3t"));
}

/// The forms in which servers repeat a value.
fn forms() -> Vec<String> {
    let percent: String = url::form_urlencoded::byte_serialize(VALUE.as_bytes()).collect();
    vec![
        VALUE.to_owned(),
        STANDARD.encode(VALUE),
        STANDARD.encode(format!("user:{VALUE}")),
        STANDARD.encode(format!("{{\"token\":\"{VALUE}\"}}")),
        percent,
        "s3cr3t%2Fvalue%2Bof%3Dthe%20operator".to_owned(),
        "s3cr3t/value%2Bof%3Dthe%20operator".to_owned(),
    ]
}

/// Whether some of it can be read: the value in any form, or ten of its letters.
fn shows(text: &str) -> bool {
    let mut parts: Vec<String> = forms();
    parts.push("alue+of=th".into());
    parts.iter().any(|part| text.contains(part.as_str()))
}

#[tokio::test]
async fn net_14_a_value_that_comes_back_is_masked_in_headers_and_bodies() {
    let case = Case::new("", |request, _| {
        let at: usize = request.uri().path()[1..].parse().unwrap();
        let form = forms()[at].clone();
        let location = format!("/next?token={form}");
        let cookie = format!("token={form}; Path=/");
        answer(&[("location", &location), ("set-cookie", &cookie), ("x-echo", &form)], format!("<{form}>"))
    })
    .await;
    for at in 0..forms().len() {
        let told = case.bearer(&format!("/{at}")).await.unwrap();
        assert!(!shows(&told.body) && told.body.contains("*****"), "{}", told.body);
        assert_eq!(told.body.len(), forms()[at].len() + 2);
        for name in ["location", "set-cookie", "x-echo"] {
            let value = told.headers[name].to_str().unwrap();
            assert!(!shows(value) && value.contains("*****"), "{name}: {value}");
        }
        // Also in the answer to a request that used no secret: a server may have kept it.
        let later = ask(&case.door, get(&case.url(&format!("/{at}")), &[])).await.unwrap();
        assert!(!shows(&later.body), "{}", later.body);
    }
    assert_eq!(case.door.used().secrets_masked, 7 * 2 * 4);
    assert_eq!(case.setup.audit()[1]["masked"], 4);
    case.assert_unwritten();
}

#[tokio::test]
async fn net_14_a_value_is_masked_over_every_cut_of_an_answer() {
    let case = Case::new("", |request, _| {
        let at: usize = request.uri().path()[1..].parse().unwrap();
        let text = format!("data: {VALUE}\n\n");
        let (one, two) = text.split_at(at);
        let pieces =
            [one.to_owned(), two.to_owned()].map(|piece| Ok::<_, Refusal>(Frame::data(Bytes::from(piece))));
        Response::new(StreamBody::new(stream::iter(pieces)).boxed_unsync())
    })
    .await;
    let wanted = format!("data: {}\n\n", "*".repeat(VALUE.len()));
    for at in 0..wanted.len() {
        assert_eq!(case.bearer(&format!("/{at}")).await.unwrap().body, wanted, "{at}");
    }
}

#[tokio::test]
async fn events_of_a_bound_host_are_not_late() {
    // The second event comes when the first was read.
    let (next, wait) = tokio::sync::mpsc::unbounded_channel::<()>();
    let wait = std::sync::Mutex::new(Some(wait));
    let case = Case::new("", move |_, _| {
        let wait = wait.lock().unwrap().take().unwrap();
        let first = stream::once(async { "data: 1\n\n".to_owned() });
        let rest = stream::unfold(wait, |mut wait| async {
            wait.recv().await.map(|()| (format!("data: {VALUE}\n\n"), wait))
        });
        let pieces = first.chain(rest).map(|text| Ok::<_, Refusal>(Frame::data(Bytes::from(text))));
        Response::new(StreamBody::new(pieces).boxed_unsync())
    })
    .await;
    let mut answer = case.door.exchange(get(&case.url("/"), &[])).await.unwrap().into_body();
    let piece = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(piece, "data: 1\n\n");
    next.send(()).unwrap();
    let piece = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(piece, format!("data: {}\n\n", "*".repeat(VALUE.len())));
}

#[tokio::test]
async fn net_15_an_answer_that_cannot_be_looked_through_is_refused() {
    let case = Case::new("", |request, _| {
        assert_eq!(request.headers()["accept-encoding"], "identity");
        assert!(!request.headers().contains_key("range") && !request.headers().contains_key("if-range"));
        let status = match request.uri().path() {
            "/206" => 206,
            "/304" => 304,
            _ => 200,
        };
        let encoding = request.uri().path().trim_start_matches('/').to_owned();
        let encoding = if status == 206 { "identity".into() } else { encoding };
        let body = if status == 304 { String::new() } else { "x".into() };
        Response::builder().status(status).header("content-encoding", encoding).body(full(body)).unwrap()
    })
    .await;
    let headers = [("range", "bytes=0-3"), ("if-range", "x"), ("accept-encoding", "gzip, br")];
    for path in ["/gzip", "/br", "/zstd", "/206"] {
        let told = ask(&case.door, get(&case.url(path), &headers)).await.unwrap();
        assert_eq!((told.status, told.denied()), (502, "encoding"), "{path}");
    }
    for (method, path) in [("HEAD", "/gzip"), ("GET", "/identity"), ("GET", "/304")] {
        let told = ask(&case.door, request(method, &case.url(path), &headers, full(""))).await.unwrap();
        assert_eq!(told.denied(), "", "{method} {path}");
    }
}

#[tokio::test]
async fn net_15_trailers_are_dropped() {
    let case = Case::new("", |_, _| {
        let mut trailers = hyper::HeaderMap::new();
        trailers.insert("x-trailer", VALUE.parse().unwrap());
        let pieces = [Ok::<_, Refusal>(Frame::data(Bytes::from("x"))), Ok(Frame::trailers(trailers))];
        let mut answer = Response::new(StreamBody::new(stream::iter(pieces)).boxed_unsync());
        answer.headers_mut().insert("trailer", "x-trailer".parse().unwrap());
        answer
    })
    .await;
    let answer = case.door.exchange(get(&case.url("/"), &[("te", "trailers")])).await.unwrap();
    let body = answer.into_body().collect().await.unwrap();
    assert!(body.trailers().is_none());
    assert_eq!(body.to_bytes(), "x");
}

#[tokio::test]
async fn net_17_a_path_that_holds_a_value_is_not_written_down() {
    let case = Case::new("", |_, _| answer(&[], "x")).await;
    ask(&case.door, get(&case.url("/s3cr3t/value%2Bof%3Dthe%20operator"), &[])).await.unwrap();
    case.assert_unwritten();
}
