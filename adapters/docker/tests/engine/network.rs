//! A sandbox's network: what its programs reach through the gate, and nothing else.

use dormouse_core::network::NetworkGrant;
use dormouse_core::sandbox::{SandboxId, SandboxSpec};
use dormouse_core::Provider as _;

use crate::list::{FULL, spec};
use crate::outside::{VALUE, World, run};
use crate::support::Bench;

/// Two hosts: one over https with a secret, one in the clear.
const RULES: &str = r#"
[[profile.default.allow]]
host = "a.test"
port = HTTPS
methods = ["GET"]
paths = ["/v1/**"]
addresses = ["127.0.0.0/8"]

[[profile.default.allow]]
host = "a.test"
port = HTTP
protocol = "http"
methods = ["GET"]
paths = ["/v1/**"]
addresses = ["127.0.0.0/8"]

[[profile.other.allow]]
host = "b.test"
port = HTTPS
addresses = ["127.0.0.0/8"]
"#;

fn networked(profile: &str) -> (SandboxSpec, NetworkGrant) {
    let grant = NetworkGrant { profile: profile.into(), allow: None };
    let spec = SandboxSpec { image: Some(FULL.into()), network: Some(grant.clone()), memory: 256 << 20, ..spec() };
    (spec, grant)
}

/// Python's own client, told by the environment alone.
fn python(url: &str, headers: &str) -> String {
    format!(
        r#"python3 - <<'E'
import os, urllib.request, urllib.error
request = urllib.request.Request("{url}", headers={{{headers}}})
try:
    answer = urllib.request.urlopen(request, timeout=20)
    print(answer.status, answer.headers.get("x-echo"), answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.headers.get("x-dormouse-denied"), error.read().decode())
except Exception as error:
    print(type(error).__name__, error)
E"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn net_34_a_container_reaches_what_rules_allow_and_nothing_else() {
    let Some(bench) = Bench::new("net_34").await else { return };
    if !bench.has("net_34", FULL).await {
        return bench.end().await;
    }
    let world = World::new(RULES).await;
    let (spec, grant) = networked("default");
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    assert_eq!(bench.left().await.0, 1, "nothing is made before the first run");
    let sandbox = SandboxId::random().unwrap();
    let door = world.door(&sandbox, "run1", &grant);
    let (http, https) = (world.http, world.https);

    let said = run(&mut machine, &door, &python(&format!("http://a.test:{http}/v1/x"), "")).await.outcome;
    assert!(said.stdout.text.starts_with("200 "), "{} {}", said.stdout.text, said.stderr.text);
    assert!(said.stdout.text.contains("GET /v1/x HTTP/1.1"), "{}", said.stdout.text);

    let header = r#""Authorization": "Bearer " + os.environ["KEY"]"#;
    let url = format!("https://a.test:{https}/v1/y");
    let said = run(&mut machine, &door, &python(&url, header)).await.outcome;
    let stars = "*".repeat(VALUE.len());
    assert!(said.stdout.text.starts_with(&format!("200 {stars} GET /v1/y")), "{}", said.stdout.text);
    assert!(said.stdout.text.contains(&format!("authorization: Bearer {stars}")), "{}", said.stdout.text);
    let told = said.network.unwrap();
    assert_eq!((told.requests, told.secrets_masked >= 2), (2, true), "{told:?}");

    for (url, status, reason) in [
        (format!("https://a.test:{https}/v2/y"), "403", "path"),
        (format!("http://a.test:{http}/"), "403", "path"),
        ("http://b.test/".to_owned(), "403", "host"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "403", "host"),
    ] {
        let said = run(&mut machine, &door, &python(&url, "")).await.outcome;
        assert!(said.stdout.text.starts_with(&format!("{status} {reason} ")), "{url}: {}", said.stdout.text);
    }
    let said = run(&mut machine, &door, &python("https://b.test/", "")).await.outcome;
    assert!(said.stdout.text.contains("403 Forbidden"), "{}", said.stdout.text);
    assert!(said.network.unwrap().denied.iter().any(|denied| denied.host == "b.test" && denied.port == 443));
    println!("{:#?}", world.audit());
    drop(machine);
    bench.end().await;
}
