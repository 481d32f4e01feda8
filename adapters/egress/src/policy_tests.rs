//! Decisions, and what a call can make of a profile.

use super::*;

fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

fn given(host: &str, methods: &[&str], paths: &[&str]) -> WantedRule {
    let own = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
    WantedRule { host: host.into(), methods: own(methods), paths: own(paths), ..WantedRule::default() }
}

fn profile(rules: &[WantedRule]) -> Arc<Profile> {
    let rules = rules.iter().enumerate().map(|(at, given)| rule(&format!("allow[{at}]"), given).unwrap());
    Arc::new(Profile { name: "p".into(), rules: rules.collect() })
}

/// `https://HOST` and a path; the reason and the rule that came nearest, or the rule that allows it.
fn verdict(
    profile: &Profile,
    method: &str,
    at: &str,
    path: &str,
) -> Result<String, (Reason, Option<String>)> {
    let host = host(at);
    let asked = Asked { protocol: Protocol::Https, host: &host, port: 443, method, path, websocket: false };
    profile.decide(&asked).map(|rule| rule.id.clone()).map_err(|refusal| (refusal.reason, refusal.rule))
}

fn nearest(reason: Reason, rule: &str) -> Result<String, (Reason, Option<String>)> {
    Err((reason, Some(rule.into())))
}

#[test]
fn the_first_rule_that_fits_counts_and_a_refusal_names_what_the_nearest_lacked() {
    let other = WantedRule { port: Some(8443), ..given("other.example", &[], &[]) };
    let open = WantedRule { protocol: Protocol::Http, port: Some(443), ..given("open.example", &[], &[]) };
    let all = profile(&[
        given("api.example", &["GET"], &["/v1/**"]),
        given("api.example", &["POST"], &[]),
        given("*.example", &["DELETE"], &[]),
        other,
        open,
    ]);
    assert_eq!(verdict(&all, "GET", "api.example", "/v1/a"), Ok("allow[0]".into()));
    assert_eq!(verdict(&all, "POST", "api.example", "/v2"), Ok("allow[1]".into()));
    assert_eq!(verdict(&all, "DELETE", "api.example", "/v2"), Ok("allow[2]".into()));
    assert_eq!(verdict(&all, "GET", "api.example", "/v2"), nearest(Reason::Path, "allow[0]"));
    assert_eq!(verdict(&all, "PUT", "api.example", "/v1/a"), nearest(Reason::Method, "allow[0]"));
    assert_eq!(verdict(&all, "GET", "elsewhere.test", "/"), Err((Reason::Host, None)));
    let only = |at: usize| Profile { name: "p".into(), rules: vec![all.rules[at].clone()] };
    assert_eq!(verdict(&only(3), "GET", "other.example", "/"), nearest(Reason::Port, "allow[3]"));
    assert_eq!(verdict(&only(4), "GET", "open.example", "/"), nearest(Reason::Protocol, "allow[4]"));
    assert_eq!(verdict(&Profile::default(), "GET", "a", "/"), Err((Reason::Host, None)));
    let told = only(0).reaches(&host("api.example"), 80).unwrap_err();
    assert_eq!(
        (told.reason, told.message.as_str()),
        (Reason::Port, "no rule allows port 80 of `api.example`")
    );
}

#[test]
fn net_10_a_method_is_allowed_as_it_is_written_or_not_at_all() {
    let any = profile(&[given("a.test", &[], &[])]);
    for good in ["GET", "POST", "PATCH", "OPTIONS", "M-SEARCH", "PROPFIND"] {
        assert!(verdict(&any, good, "a.test", "/").is_ok(), "{good}");
    }
    let long = "A".repeat(10 << 10);
    for bad in ["get", "Get", "CONNECT", "TRACE", "", "G ET", "GET\n", "G\u{c9}T", long.as_str(), "connect"] {
        assert_eq!(verdict(&any, bad, "a.test", "/"), nearest(Reason::Method, "allow[0]"), "{bad:?}");
    }
    let some = profile(&[given("a.test", &["GET", "POST"], &[])]);
    for bad in ["get", "PUT", "TRACE", "GET "] {
        assert_eq!(verdict(&some, bad, "a.test", "/"), nearest(Reason::Method, "allow[0]"), "{bad:?}");
    }
    for bad in ["get", "CONNECT", "TRACE", "", "*"] {
        assert!(rule("r", &given("a.test", &[bad], &[])).is_err(), "{bad}");
    }
}

#[test]
fn net_09_rules_of_paths_refuse_what_has_two_readings() {
    let some = profile(&[given("a.test", &[], &["/pub/**"])]);
    assert!(verdict(&some, "GET", "a.test", "/pub/a").is_ok());
    for bad in [
        "/pub/../x",
        "/pub/%2e%2e/x",
        "/pub/..%2fx",
        "/pub//x",
        "/pub/a;b",
        "/pub/\\x",
        "/PUB/a",
        "/pub/a.",
        "http://b/pub/a",
    ] {
        assert_eq!(verdict(&some, "GET", "a.test", bad), nearest(Reason::Path, "allow[0]"), "{bad}");
    }
}

#[test]
fn net_19_a_call_narrows_and_never_widens() {
    let own = profile(&[given("*.example", &["GET", "POST"], &["/v1/**"]), given("b.test", &[], &[])]);
    let narrow = |allow: Vec<WantedRule>| Grant::narrowed(own.clone(), &Wanted { allow, secrets: None });
    let ask = |grant: &Grant, method: &str, at: &str, path: &str| {
        let host = host(at);
        let asked =
            Asked { protocol: Protocol::Https, host: &host, port: 443, method, path, websocket: false };
        grant.decide(&asked).map(|rule| rule.id.clone()).map_err(|refusal| refusal.reason)
    };
    // No paths of its own: those of the operator hold. The rule that is named is the operator's.
    let grant = narrow(vec![given("a.example", &["GET"], &[])]).unwrap();
    assert_eq!(ask(&grant, "GET", "a.example", "/v1/x"), Ok("allow[0]".into()));
    assert_eq!(ask(&grant, "GET", "a.example", "/v2"), Err(Reason::Path));
    assert_eq!(ask(&grant, "POST", "a.example", "/v1/x"), Err(Reason::Method));
    assert_eq!(ask(&grant, "GET", "c.example", "/v1/x"), Err(Reason::Host));
    assert_eq!(ask(&grant, "GET", "b.test", "/"), Err(Reason::Host));
    // Paths wider than the operator's do not widen.
    let grant = narrow(vec![given("a.example", &[], &["/**"])]).unwrap();
    assert_eq!(ask(&grant, "GET", "a.example", "/v2"), Err(Reason::Path));
    // Nothing asked for is nothing.
    assert_eq!(ask(&narrow(vec![]).unwrap(), "GET", "b.test", "/"), Err(Reason::Host));
    for beyond in [
        given("c.test", &[], &[]),
        given("*", &[], &[]),
        given("*.test", &[], &[]),
        given("example", &[], &[]),
        given("a.example", &["PUT"], &[]),
        WantedRule { port: Some(8443), ..given("b.test", &[], &[]) },
        WantedRule { protocol: Protocol::Http, ..given("b.test", &[], &[]) },
        WantedRule { protocol: Protocol::Tcp, port: Some(443), ..given("b.test", &[], &[]) },
    ] {
        let error = narrow(vec![beyond.clone()]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NetworkDenied, "{beyond:?}");
    }
    let unreadable = narrow(vec![given("127.1", &[], &[])]).unwrap_err();
    assert_eq!(unreadable.code(), ErrorCode::ArgsInvalid);
    for json in [
        r#"{"allow":[{"host":"b.test","addresses":["10.0.0.0/8"]}]}"#,
        r#"{"allow":[{"host":"b.test","set":{}}]}"#,
        r#"{"all":1}"#,
    ] {
        assert!(serde_json::from_str::<Wanted>(json).is_err(), "{json}");
    }
}

#[test]
fn an_address_is_allowed_as_itself_and_names_its_own_network() {
    let all = profile(&[given("*", &[], &[]), given("10.0.0.1", &[], &[])]);
    assert_eq!(verdict(&all, "GET", "10.0.0.1", "/"), Ok("allow[1]".into()));
    assert_eq!(verdict(&all, "GET", "10.0.0.2", "/"), Err((Reason::Host, None)));
    assert!(all.rules[0].networks().is_empty());
    assert_eq!(all.rules[1].networks(), [Network::parse("10.0.0.1").unwrap()]);
}
