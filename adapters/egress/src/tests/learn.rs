//! Rules out of what the gate wrote down, in their turn for the gate.

use std::io::BufReader;

use crate::tests::support::{Server, Setup, answer, ask, request, rule};
use crate::{Filter, Learned, Run, full};

#[tokio::test]
async fn net_31_rules_out_of_an_audit_let_the_same_sandbox_do_the_same_again() {
    let server = Server::http(None, |_, body| answer(&[], body.to_owned())).await;
    let setup = Setup::new(None, "", &rule("http", server.port, "")).await;
    let way = setup.way("ann", "sbx");
    let asked = [
        ("GET", "/"),
        ("GET", "/v1/items/17"),
        ("GET", "/v1/items/18?page=2"),
        ("POST", "/v1/items"),
        ("PUT", "/v1/users/0f8fad5b-d9cd-469f-a165-70867728950e/name"),
        ("DELETE", "/odd//path"),
    ];
    let denied = async |method: &str, path: &str| {
        let url = format!("http://a.test:{}{path}", server.port);
        let told = ask(&way.run(Run::default()), request(method, &url, &[], full("x"))).await;
        told.map(|told| told.denied().to_owned()).unwrap_or_else(|reason| reason.to_string())
    };
    for (method, path) in asked {
        assert_eq!(denied(method, path).await, "", "{method} {path}");
    }
    assert!(way.run(Run::default()).open("b.test", 443).is_err());
    let audit = BufReader::new(std::fs::File::open(setup.audit_path()).unwrap());
    let learned = Learned::read(audit, &Filter { sandbox: Some("sbx".into()), ..Filter::default() }).unwrap();
    assert_eq!((learned.requests(), learned.unread()), (6, 0));
    let text = learned.written("p").unwrap();
    assert!(
        text.contains("addresses = [\"127.0.0.1/32\"]") && text.contains("# b.test:443 (host), 1 time"),
        "{text}"
    );
    setup.reload(None, "", &text).await.unwrap();
    for (method, path) in asked.into_iter().chain([("GET", "/v1/items/19"), ("DELETE", "/other//path")]) {
        assert_eq!(denied(method, path).await, "", "{method} {path}\n{text}");
    }
    for (method, path, wanted) in [
        ("GET", "/v1/users", "path"),
        ("GET", "/v1/items/19/x", "path"),
        ("PUT", "/v1/items", "path"),
        ("PATCH", "/", "method"),
    ] {
        assert_eq!(denied(method, path).await, wanted, "{method} {path}\n{text}");
    }
}

#[tokio::test]
async fn net_31_what_is_learned_names_all_inner_addresses_of_a_name() {
    let server = Server::http(None, |_, _| answer(&[], "x")).await;
    let own = format!(
        "[[profile.p.allow]]\nhost = \"localhost\"\nport = {}\nprotocol = \"http\"\naddresses = [\"127.0.0.0/8\", \"::1/128\"]\n",
        server.port
    );
    let setup = Setup::new(None, "", &own).await;
    let asks = async || {
        let url = format!("http://localhost:{}/", server.port);
        ask(&setup.door(), request("GET", &url, &[], full(""))).await.map(|told| told.status)
    };
    assert_eq!(asks().await, Ok(200));
    let audit = BufReader::new(std::fs::File::open(setup.audit_path()).unwrap());
    let text = Learned::read(audit, &Filter::default()).unwrap().written("p").unwrap();
    assert!(text.contains("addresses = [\"127.0.0.1/32\", \"::1/128\"]"), "{text}");
    setup.reload(None, "", &text).await.unwrap();
    setup.way("ann", "sbx").forget();
    assert_eq!(asks().await, Ok(200), "{text}");
}
