//! Other settings while sandboxes run.

use std::time::Duration;

use dormouse_core::testing::wait_until_async;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::tests::support::{Authority, SECRET, Server, Setup, answer, ask, get, rule};
use crate::{Grant, Reason, Run, Wanted};

#[tokio::test]
async fn net_37_a_sandbox_has_the_rules_that_its_profile_has_now() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let port = server.port;
    let get_only = rule("http", port, "methods = [\"GET\"]");
    let setup = Setup::new(None, "", &get_only).await;
    let way = setup.way("ann", "s");
    let narrowed = {
        let json = format!(
            "{{\"allow\":[{{\"host\":\"a.test\",\"port\":{port},\"protocol\":\"http\",\"paths\":[\"/a\"]}}]}}"
        );
        let wanted: Wanted = serde_json::from_str(&json).unwrap();
        let profile = setup.gate.settings().profile("p").unwrap().clone();
        setup.gate.way(Default::default(), Grant::narrowed(profile, &wanted).unwrap()).unwrap()
    };
    let (door, narrow) = (way.run(Run::default()), narrowed.run(Run::default()));
    let denied = async |door: &crate::Door, method: &str, host: &str, path: &str| {
        let url = format!("http://{host}:{port}{path}");
        let request = crate::tests::support::request(method, &url, &[], crate::empty());
        ask(door, request)
            .await
            .map(|told| told.denied().to_owned())
            .unwrap_or_else(|reason| reason.to_string())
    };
    assert_eq!(denied(&door, "GET", "a.test", "/b").await, "");
    assert_eq!(denied(&door, "DELETE", "a.test", "/b").await, "method");
    assert_eq!(denied(&narrow, "GET", "a.test", "/a").await, "");
    // Wider, narrower, other hosts; the runs that have begun see it with their next request.
    setup.reload(None, "", &rule("http", port, "methods = [\"DELETE\"]")).await.unwrap();
    assert_eq!(denied(&door, "DELETE", "a.test", "/b").await, "");
    assert_eq!(denied(&door, "GET", "a.test", "/b").await, "method");
    assert_eq!(denied(&narrow, "DELETE", "a.test", "/a").await, "");
    assert_eq!(denied(&narrow, "DELETE", "a.test", "/b").await, "path");
    let other = get_only.replace("a.test", "b.test");
    setup.reload(None, "", &other).await.unwrap();
    assert_eq!(denied(&door, "GET", "a.test", "/a").await, "host");
    assert_eq!(denied(&door, "GET", "b.test", "/a").await, "");
    // What a call narrowed stays so.
    assert_eq!(denied(&narrow, "GET", "b.test", "/a").await, "host");
    // A profile that is gone allows nothing, and one that comes back is its own again.
    setup.reload(None, "", &get_only.replace("profile.p", "profile.q")).await.unwrap();
    assert_eq!(denied(&door, "GET", "a.test", "/a").await, "host");
    assert!(setup.gate.settings().profile("p").is_err());
    setup.reload(None, "", &get_only).await.unwrap();
    assert_eq!(denied(&door, "GET", "a.test", "/a").await, "");
}

#[tokio::test]
async fn net_37_kept_connections_that_no_rule_allows_any_more_end() {
    let authority = Authority::new();
    let secure = Server::http(Some(authority.server("a.test")), |_, _| answer(&[], "x")).await;
    let plain = Server::http(None, |_, _| answer(&[], "x")).await;
    let (one, two) = (rule("https", secure.port, ""), rule("http", plain.port, ""));
    let setup = Setup::new(Some(&authority), "", &format!("{one}{two}")).await;
    let way = setup.way("ann", "s");
    let door = way.run(Run::default());
    let (https, http) =
        (format!("https://a.test:{}/", secure.port), format!("http://a.test:{}/", plain.port));
    let both = async || {
        ask(&door, get(&https, &[])).await.unwrap();
        ask(&door, get(&http, &[])).await.unwrap();
    };
    both().await;
    assert_eq!(way.kept().len(), 2);
    // The same rules: the same connections.
    setup.reload(Some(&authority), "", &format!("{one}{two}")).await.unwrap();
    both().await;
    assert_eq!((secure.accepted(), plain.accepted()), (1, 1));
    // Other networks are another place.
    let elsewhere = two.replace("127.0.0.0/8", "127.0.0.0/16");
    setup.reload(Some(&authority), "", &format!("{one}{elsewhere}")).await.unwrap();
    assert_eq!(way.kept(), [format!("a.test:{}", secure.port)]);
    setup.reload(Some(&authority), "", &elsewhere).await.unwrap();
    assert!(way.kept().is_empty());
    // Whoever was trusted and is not any more.
    setup.reload(Some(&authority), "", &format!("{one}{two}")).await.unwrap();
    both().await;
    setup.reload(Some(&Authority::new()), "", &format!("{one}{two}")).await.unwrap();
    assert_eq!(way.kept(), [format!("a.test:{}", plain.port)]);
    assert_eq!(ask(&door, get(&https, &[])).await.err(), Some(Reason::Untrusted));
    setup.reload(Some(&authority), "", &format!("{one}{two}")).await.unwrap();
    both().await;
}

#[tokio::test]
async fn net_37_a_connection_that_comes_back_after_its_rule_is_gone_is_not_kept() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n".to_vec();
    let server = Server::bytes(vec![head, b"ab".to_vec(), b"cd".to_vec()], false).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let way = setup.way("ann", "s");
    let answer = way.run(Run::default()).exchange(get(&format!("http://a.test:{}/", server.port), &[])).await;
    setup.reload(None, "", "[profile.p]").await.unwrap();
    let mut body = answer.unwrap().into_body();
    while let Some(piece) = crate::piece(&mut body).await {
        piece.unwrap();
    }
    assert!(way.kept().is_empty());
}

#[tokio::test]
async fn net_37_what_is_carried_ends_when_no_rule_allows_it_any_more() {
    let server = Server::bytes(vec![b"back".to_vec()], false).await;
    let tcp = rule("tcp", server.port, "");
    let setup = Setup::new(None, "", &tcp).await;
    let door = setup.door();
    let (mut guest, host) = tokio::io::duplex(1 << 10);
    let serving = tokio::spawn(door.open("a.test", server.port).unwrap().serve(host));
    guest.write_all(b"\r\n\r\n").await.unwrap();
    guest.read_exact(&mut [0; 4]).await.unwrap();
    setup.reload(None, "", &format!("{tcp}[[profile.p.allow]]\nhost = \"b.test\"\n")).await.unwrap();
    guest.write_all(b"still there").await.unwrap();
    wait_until_async("the bytes", Duration::from_secs(5), || server.last().ends_with("still there")).await;
    setup.reload(None, "", "[[profile.p.allow]]\nhost = \"b.test\"\n").await.unwrap();
    assert_eq!(serving.await.unwrap().unwrap_err().reason, Reason::Host);
    assert_eq!(guest.read(&mut [0]).await.unwrap(), 0);
    let line = setup.audit().pop().unwrap();
    assert_eq!((&line["event"], &line["reason"]), (&"ended".into(), &"host".into()));
}

#[tokio::test]
async fn net_37_secrets_are_read_again_and_placeholders_stay() {
    let authority = Authority::new();
    let server = Server::http(Some(authority.server("a.test")), |_, _| {
        answer(&[], "first-value second-value third-value")
    })
    .await;
    let rules = format!("{}{SECRET}", rule("https", server.port, ""));
    let setup = Setup::new(Some(&authority), "first-value", &rules).await;
    let way = setup.way("ann", "s");
    let environment = way.environment();
    let door = way.run(Run::default());
    let url = format!("https://a.test:{}/", server.port);
    let token = format!("Bearer {}", environment[0].1);
    let told = async || ask(&door, get(&url, &[("authorization", &token)])).await.unwrap().body;
    assert_eq!(told().await, "*********** second-value third-value");
    assert!(server.last().contains("Bearer first-value\n"));
    setup.reload(Some(&authority), "second-value", &rules).await.unwrap();
    assert_eq!(way.environment(), environment);
    // A server may repeat what it was told before.
    assert_eq!(told().await, "*********** ************ third-value");
    assert!(server.last().contains("Bearer second-value\n"));
    // One more secret is in the environment of the next run; one that is gone is not.
    let two = format!("{rules}{}", SECRET.replace("KEY", "TWO"));
    setup.reload(Some(&authority), "third-value", &two).await.unwrap();
    assert_eq!(way.environment().len(), 2);
    assert_eq!(told().await, "*********** ************ ***********");
    setup.reload(Some(&authority), "", &rule("https", server.port, "")).await.unwrap();
    assert!(way.environment().is_empty());
    // Its placeholder is a text as any other.
    assert_eq!(told().await, "first-value second-value third-value");
    assert!(server.last().contains(&token));
}

#[tokio::test]
async fn net_31_and_net_37_settings_with_an_error_change_nothing() {
    let authority = Authority::new();
    let server = Server::http(Some(authority.server("a.test")), |_, _| answer(&[], "x")).await;
    let rules = format!("{}{SECRET}", rule("https", server.port, ""));
    let setup = Setup::new(Some(&authority), "first-value", &rules).await;
    let way = setup.way("ann", "s");
    let door = way.run(Run::default());
    let url = format!("https://a.test:{}/", server.port);
    let token = format!("Bearer {}", way.environment()[0].1);
    ask(&door, get(&url, &[("authorization", &token)])).await.unwrap();
    let other = SECRET.replace("\"key\"", "\"other\"");
    let error = setup.reload(Some(&authority), "tiny", &format!("[profile.p]\n{other}")).await.unwrap_err();
    assert!(error.message().starts_with("secret.KEY: ") && !error.message().contains("tiny"), "{error}");
    ask(&door, get(&url, &[("authorization", &token)])).await.unwrap();
    assert!(server.last().contains("Bearer first-value\n"));
    assert_eq!((server.accepted(), way.kept().len()), (1, 1));
}

#[tokio::test]
async fn net_37_what_was_spent_stays_spent() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let rules = |run: u64, owner: u64| {
        format!(
            "{}[budget]\nrequests = {run}\n[budget.owner]\nrequests = {owner}\n",
            rule("http", server.port, "")
        )
    };
    let setup = Setup::new(None, "", &rules(3, 10)).await;
    let way = setup.way("ann", "s");
    let url = format!("http://a.test:{}/", server.port);
    let door = way.run(Run::default());
    let asked = async |door: &crate::Door| ask(door, get(&url, &[])).await.err();
    for _ in 0..2 {
        assert_eq!(asked(&door).await, None);
    }
    setup.reload(None, "", &rules(1, 4)).await.unwrap();
    // The run that has begun keeps its budget; one that begins has the new one.
    assert_eq!((asked(&door).await, asked(&door).await), (None, Some(Reason::Requests)));
    let next = way.run(Run::default());
    assert_eq!((asked(&next).await, asked(&next).await), (None, Some(Reason::Requests)));
    // The owner has spent four.
    assert_eq!(asked(&way.run(Run::default())).await, Some(Reason::Requests));
    setup.reload(None, "", &rules(1, 2)).await.unwrap();
    assert_eq!(asked(&way.run(Run::default())).await, Some(Reason::Requests));
    setup.reload(None, "", &rules(1, 5)).await.unwrap();
    assert_eq!(asked(&way.run(Run::default())).await, None);
    assert_eq!(asked(&way.run(Run::default())).await, Some(Reason::Requests));
}
