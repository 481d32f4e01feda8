//! Requests: which leave, in what form, and what is written down of them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dormouse_core::testing::wait_until_async;
use hyper::Response;

use crate::tests::support::{Authority, SECRET, Server, Setup, answer, ask, get, request, rule, self_signed};
use crate::{Grant, Reason, Run, Wanted, empty, full};

#[tokio::test]
async fn net_01_without_a_rule_nothing_leaves_and_no_name_is_looked_up() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let setup = Setup::new(None, "", "[profile.p]").await;
    let door = setup.door();
    let url = format!("http://a.test:{}/", server.port);
    assert_eq!(ask(&door, get(&url, &[])).await.err(), Some(Reason::Host));
    assert_eq!(door.open("a.test", server.port).err().map(|refusal| refusal.reason), Some(Reason::Host));
    assert_eq!((server.accepted(), setup.names.asked.load(Ordering::Relaxed)), (0, 0));
    let used = door.used();
    assert_eq!((used.requests, used.denied[0].reason.as_ref()), (2, "host"));
    let events: Vec<_> =
        setup.audit().iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["refused", "refused"]);
}

#[tokio::test]
async fn an_allowed_request_leaves_and_is_written_down() {
    let server = Server::http(None, |_, body| answer(&[("x-own", "1")], format!("got {body}"))).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "methods = [\"POST\"]")).await;
    let door = setup.door();
    let url = format!("http://a.test:{}/v1/x?q=hidden", server.port);
    let told = ask(&door, request("POST", &url, &[("user-agent", "test")], full("hello"))).await.unwrap();
    assert_eq!((told.status, told.body.as_str()), (200, "got hello"));
    assert_eq!(told.headers["x-own"], "1");
    let got = server.last();
    assert!(
        got.starts_with("POST /v1/x?q=hidden\n") && got.contains(&format!("host: a.test:{}\n", server.port))
    );
    let lines = setup.audit();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!((&lines[0]["event"], &lines[1]["event"]), (&"sent".into(), &"ended".into()));
    let line = &lines[1];
    for (field, wanted) in [
        ("owner", "ann"),
        ("sandbox", "sbx"),
        ("run", "run1"),
        ("language", "python"),
        ("method", "POST"),
        ("protocol", "http"),
        ("host", "a.test"),
        ("path", "/v1/x"),
        ("rule", "profile.p.allow[0]"),
        ("address", "127.0.0.1"),
    ] {
        assert_eq!(line[field], wanted, "{line}");
    }
    assert_eq!((&line["status"], &line["bytes_out"], &line["bytes_in"]), (&200.into(), &5.into(), &9.into()));
    assert!(!std::fs::read_to_string(setup.audit_path()).unwrap().contains("hidden"));
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(setup.audit_path()).unwrap().permissions().mode() & 0o777, 0o600);
    let used = door.used();
    assert_eq!((used.requests, used.bytes_out, used.bytes_in, used.denied.len()), (1, 5, 9, 0));
}

#[tokio::test]
async fn a_request_that_says_it_has_no_body_says_so_to_the_server() {
    let server = Server::http(None, |_, _| answer(&[], "")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let url = format!("http://a.test:{}/", server.port);
    let ask_for = async |method: &str, headers: &[(&str, &str)]| {
        assert_eq!(ask(&setup.door(), request(method, &url, headers, empty())).await.unwrap().status, 200);
        server.last().contains("content-length: 0\n")
    };
    assert!(ask_for("POST", &[("content-length", "0")]).await);
    assert!(!ask_for("GET", &[]).await);
}

#[tokio::test]
async fn https_is_checked_by_the_roots_and_the_name() {
    let authority = Authority::new();
    let server = Server::http(Some(authority.server("a.test")), |_, _| answer(&[], "safe")).await;
    let setup = Setup::new(Some(&authority), "", &rule("https", server.port, "")).await;
    let door = setup.door();
    let url = format!("https://a.test:{}/", server.port);
    for _ in 0..3 {
        assert_eq!(ask(&door, get(&url, &[])).await.unwrap().body, "safe");
    }
    // Kept: dialled once, looked up once.
    assert_eq!((server.accepted(), setup.names.asked.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test]
async fn net_12_certificates_that_are_not_good_are_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (config, wanted) in [
        (self_signed("a.test"), "signed by nobody"),
        (other.server("a.test"), "signed by nobody"),
        (authority.server("b.test"), "another name"),
        (
            authority.server_with("a.test", |params| {
                params.not_before = rcgen::date_time_ymd(2000, 1, 1);
                params.not_after = rcgen::date_time_ymd(2001, 1, 1);
            }),
            "expired",
        ),
    ] {
        let server = Server::http(Some(config), |_, _| answer(&[], "x")).await;
        let setup = Setup::new(Some(&authority), "", &rule("https", server.port, "")).await;
        let url = format!("https://a.test:{}/", server.port);
        let refusal = setup.door().exchange(get(&url, &[])).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::Untrusted);
        assert!(refusal.message.contains(wanted), "{refusal}");
        assert!(server.got.lock().unwrap().is_empty());
        let line = setup.audit().pop().unwrap();
        assert_eq!((&line["event"], &line["reason"]), (&"ended".into(), &"untrusted".into()));
    }
}

#[tokio::test]
async fn net_02_addresses_as_literals_are_no_hosts_of_a_rule_for_names() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let rules = format!("[[profile.p.allow]]\nhost = \"*\"\nprotocol = \"http\"\nport = {}", server.port);
    let setup = Setup::new(None, "", &rules).await;
    for host in [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "0.0.0.0",
    ] {
        let url = format!("http://{host}:{}/", server.port);
        assert_eq!(ask(&setup.door(), get(&url, &[])).await.err(), Some(Reason::Host), "{host}");
    }
    // One that a rule names is allowed as itself.
    let rules =
        format!("[[profile.p.allow]]\nhost = \"127.0.0.1\"\nprotocol = \"http\"\nport = {}", server.port);
    let setup = Setup::new(None, "", &rules).await;
    assert!(ask(&setup.door(), get(&format!("http://127.0.0.1:{}/", server.port), &[])).await.is_ok());
    assert_eq!((server.accepted(), setup.names.asked.load(Ordering::Relaxed)), (1, 0));
}

#[tokio::test]
async fn net_03_what_some_take_for_an_address_is_unknown() {
    let setup = Setup::new(None, "", "[[profile.p.allow]]\nhost = \"*\"\nprotocol = \"http\"").await;
    for host in ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.", "user@a.test", "a..test"] {
        let told = ask(&setup.door(), get(&format!("http://{host}/"), &[])).await.err();
        assert_eq!(told, Some(Reason::UnknownName), "{host}");
    }
    for host in ["2130706433", "127.1", "a b", "a\0b", "１２７.0.0.1", "a%00", &"a".repeat(64 << 10)] {
        let told = setup.door().open(host, 80).err().map(|refusal| refusal.reason);
        assert_eq!(told, Some(Reason::UnknownName));
    }
    assert_eq!(setup.names.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn net_04_a_name_with_an_inner_address_is_refused_and_nothing_is_dialled() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let rules =
        format!("[[profile.p.allow]]\nhost = \"a.test\"\nprotocol = \"http\"\nport = {}", server.port);
    let setup = Setup::new(None, "", &rules).await;
    let url = format!("http://a.test:{}/", server.port);
    for told in [&["127.0.0.1"][..], &["127.0.0.1", "1.1.1.1"], &["1.1.1.1", "::1"]] {
        setup.names.told.lock().unwrap().insert("a.test".into(), told.to_vec());
        let refusal = setup.door().exchange(get(&url, &[])).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::Address);
        assert_eq!(refusal.rule.as_deref(), Some("profile.p.allow[0]"));
        // What the name leads to is not told.
        assert!(!refusal.message.contains("127.0"), "{refusal}");
    }
    setup.names.told.lock().unwrap().insert("a.test".into(), vec![]);
    assert_eq!(ask(&setup.door(), get(&url, &[])).await.err(), Some(Reason::UnknownName));
    assert_eq!((server.accepted(), setup.names.asked.load(Ordering::Relaxed)), (0, 4));
}

#[tokio::test]
async fn net_06_redirects_are_answers_and_what_follows_is_checked_and_has_no_secret() {
    let server = Server::http(None, |request, _| {
        let to = match request.uri().path() {
            "/inner" => "http://127.0.0.1/",
            "/file" => "file:///etc/passwd",
            _ => "http://b.test/",
        };
        Response::builder().status(302).header("location", to).body(full("")).unwrap()
    })
    .await;
    let other = rule("http", server.port, "").replace("a.test", "b.test");
    let own = rule("http", server.port, "set = { x-own = \"only-here\" }");
    let setup = Setup::new(None, "", &format!("{own}{other}")).await;
    let door = setup.door();
    for path in ["inner", "file", "other"] {
        let told = ask(&door, get(&format!("http://a.test:{}/{path}", server.port), &[])).await.unwrap();
        assert_eq!(told.status, 302);
        assert!(server.last().contains("x-own: only-here"));
    }
    assert_eq!(ask(&door, get("http://127.0.0.1/", &[])).await.err(), Some(Reason::Host));
    assert_eq!(ask(&door, get("ftp://a.test/", &[])).await.err(), Some(Reason::Form));
    let url = format!("http://b.test:{}/", server.port);
    assert_eq!(ask(&door, get(&url, &[])).await.unwrap().status, 302);
    assert!(!server.last().contains("x-own"));
}

#[tokio::test]
async fn net_09_and_net_10_what_a_rule_lacks_is_an_answer_that_says_so() {
    let server = Server::http(None, |_, _| answer(&[("x-dormouse-denied", "spoofed")], "x")).await;
    let rules = rule("http", server.port, "methods = [\"GET\", \"POST\"]\npaths = [\"/v1/**\"]");
    let setup = Setup::new(None, "", &rules).await;
    let door = setup.door();
    let url = |path: &str| format!("http://a.test:{}{path}", server.port);
    for path in ["/v2", "/v1/../x", "/v1/%2e%2e/x", "/v1/a//b", "/v1/a;b", "/V1/a", "/v1/a.", "/v1/%c0%ae"] {
        let told = ask(&door, get(&url(path), &[])).await.unwrap();
        assert_eq!((told.status, told.denied()), (403, "path"), "{path}");
        let json: serde_json::Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!((&json["error"], &json["rule"]), (&"network_denied".into(), &"profile.p.allow[0]".into()));
    }
    for method in ["PUT", "get", "TRACE", "X", &"A".repeat(10 << 10)] {
        let told = ask(&door, request(method, &url("/v1/a"), &[], full(""))).await.unwrap();
        assert_eq!((told.status, told.denied()), (403, "method"), "{method}");
    }
    assert_eq!(server.accepted(), 0);
    let overrides =
        [("x-http-method-override", "DELETE"), ("x-method-override", "PUT"), ("x-http-method", "PUT")];
    let told = ask(&door, request("POST", &url("/v1/a"), &overrides, full("b"))).await.unwrap();
    // A server cannot pretend to be the gate.
    assert_eq!((told.status, told.denied()), (200, ""));
    assert!(!server.last().contains("override") && !server.last().contains("x-http-method"));
    let denied = door.used().denied;
    assert_eq!(denied.len(), 2, "each reason once: {denied:?}");
}

#[tokio::test]
async fn net_07_the_host_that_a_request_names_is_where_it_is_sent() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let url = format!("http://a.test:{}/", server.port);
    let own = format!("A.test:{}", server.port);
    for hosts in [&["b.test"][..], &["a.test"], &[&own, &own], &[&own, "b.test"]] {
        let headers: Vec<(&str, &str)> = hosts.iter().map(|host| ("host", *host)).collect();
        let told = ask(&setup.door(), get(&url, &headers)).await.unwrap();
        assert_eq!((told.status, told.denied()), (421, "authority"), "{hosts:?}");
    }
    assert_eq!(server.accepted(), 0);
    let told = ask(&setup.door(), get(&url, &[("host", &own), ("x-forwarded-host", "b.test")])).await;
    assert_eq!(told.unwrap().status, 200);
    assert!(server.last().contains("x-forwarded-host: b.test"));
}

#[tokio::test]
async fn net_28_what_connection_names_is_dropped_before_the_rule_sets_its_own() {
    let server = Server::http(None, |_, _| answer(&[("connection", "x-hop"), ("x-hop", "1")], "x")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "set = { authorization = \"own\" }")).await;
    let headers = [
        ("connection", "authorization, x-a, te"),
        ("x-a", "1"),
        ("te", "trailers"),
        ("authorization", "guest's"),
    ];
    let told = ask(&setup.door(), get(&format!("http://a.test:{}/", server.port), &headers)).await.unwrap();
    let got = server.last();
    assert!(
        got.contains("authorization: own\n") && !got.contains("guest's") && !got.contains("x-a"),
        "{got}"
    );
    assert!(!got.contains("te:") && !told.headers.contains_key("x-hop"));
}

#[tokio::test]
async fn net_19_a_call_that_narrows_reaches_less_and_has_fewer_secrets() {
    let rules =
        format!("[[profile.p.allow]]\nhost = \"a.test\"\n[[profile.p.allow]]\nhost = \"b.test\"\n{SECRET}");
    let setup = Setup::new(None, "a-long-value", &rules).await;
    let profile = setup.gate.settings().profile("p").unwrap().clone();
    let way = |json: &str| {
        let wanted: Wanted = serde_json::from_str(json).unwrap();
        let grant = Grant::narrowed(profile.clone(), &wanted)?;
        setup.gate.way(Default::default(), grant)
    };
    assert_eq!(way(r#"{"allow":[{"host":"a.test"}]}"#).unwrap().environment().len(), 1);
    assert_eq!(way(r#"{"allow":[{"host":"a.test"}],"secrets":[]}"#).unwrap().environment(), []);
    assert_eq!(way(r#"{"allow":[{"host":"b.test"}]}"#).unwrap().environment(), []);
    for beyond in [
        r#"{"allow":[{"host":"c.test"}]}"#,
        r#"{"allow":[{"host":"b.test"}],"secrets":["KEY"]}"#,
        r#"{"allow":[{"host":"a.test"}],"secrets":["OTHER"]}"#,
    ] {
        let error = way(beyond).err().unwrap();
        assert_eq!(error.code().as_str(), "network_denied", "{beyond}");
    }
    let door = way(r#"{"allow":[{"host":"a.test"}]}"#).unwrap().run(Run::default());
    assert_eq!(ask(&door, get("https://b.test/", &[])).await.err(), Some(Reason::Host));
}

#[tokio::test]
async fn net_20_a_kept_connection_is_one_sandboxs_own() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let url = format!("http://a.test:{}/", server.port);
    let (one, two) = (setup.way("ann", "s1"), setup.way("ann", "s2"));
    for _ in 0..2 {
        // Another run of the same sandbox finds it.
        ask(&one.run(Run::default()), get(&url, &[])).await.unwrap();
    }
    assert_eq!(server.accepted(), 1);
    ask(&two.run(Run::default()), get(&url, &[])).await.unwrap();
    assert_eq!(server.accepted(), 2);
    assert_eq!(one.kept(), [format!("a.test:{}", server.port)]);
    one.forget();
    assert!(one.kept().is_empty());
    ask(&one.run(Run::default()), get(&url, &[])).await.unwrap();
    assert_eq!(server.accepted(), 3);
}

#[tokio::test]
async fn net_27_each_name_below_a_wildcard_is_one_look_up() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let rules = rule("http", server.port, "").replace("a.test", "*.a.test") + "[budget]\nrequests = 3\n";
    let setup = Setup::new(None, "", &rules).await;
    let door = setup.door();
    let url = |at: u32| format!("http://data{at}.a.test:{}/", server.port);
    for at in 0..3 {
        assert!(ask(&door, get(&url(at), &[])).await.is_ok());
    }
    for at in 3..20 {
        assert_eq!(ask(&door, get(&url(at), &[])).await.err(), Some(Reason::Requests));
    }
    assert_eq!(setup.names.asked.load(Ordering::Relaxed), 3);
    // Whoever goes on past the budget does not fill the audit.
    assert_eq!(setup.audit().len(), 7);
}

#[tokio::test]
async fn net_32_what_cannot_be_written_down_does_not_leave() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let full_disk = std::path::Path::new("/dev/full");
    let setup = Setup::with(None, "", &rule("http", server.port, ""), Some(full_disk)).await;
    let door = setup.door();
    for url in [format!("http://a.test:{}/", server.port), "http://other.test/".into()] {
        assert_eq!(ask(&door, get(&url, &[])).await.err(), Some(Reason::Unrecorded));
    }
    assert_eq!((server.accepted(), setup.names.asked.load(Ordering::Relaxed)), (0, 0));
}

#[tokio::test]
async fn a_kept_connection_that_the_server_ended_is_replaced() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx".to_vec();
    let server = Server::bytes(vec![answer], false).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let way = setup.way("ann", "s");
    let url = format!("http://a.test:{}/", server.port);
    ask(&way.run(Run::default()), get(&url, &[])).await.unwrap();
    assert_eq!(way.kept().len(), 1);
    way.forget();
    ask(&way.run(Run::default()), get(&url, &[])).await.unwrap();
    wait_until_async("two connections", Duration::from_secs(5), || server.accepted() == 2).await;
}

#[tokio::test]
async fn who_has_read_what_strangers_wrote_sends_nothing_out() {
    let server = Server::http(None, |_, _| answer(&[], "issue")).await;
    let port = server.port;
    let rules = [("tracker.test", "untrusted = true"), ("paste.test", "outward = true"), ("own.test", "")];
    let rules = rules.map(|(host, rest)| rule("http", port, rest).replace("a.test", host));
    let setup = Setup::new(None, "", &rules.join("\n")).await;
    let door = setup.door();
    let url = |host: &str| format!("http://{host}:{port}/");
    for (host, status) in [("paste.test", 200), ("tracker.test", 200), ("paste.test", 403), ("own.test", 200)]
    {
        assert_eq!(ask(&door, get(&url(host), &[])).await.unwrap().status, status, "{host}");
    }
    assert_eq!(door.used().denied[0].reason, "tainted");
    // A run that begins anew has read nothing.
    assert_eq!(ask(&setup.door(), get(&url("paste.test"), &[])).await.unwrap().status, 200);
}
