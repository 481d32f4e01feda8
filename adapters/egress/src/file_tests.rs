//! The file: what it means, and that nothing of it is passed over.

use super::*;
use crate::host::{Host, HostPattern};
use crate::policy::Asked;
use crate::secrets::Place;

fn parsed(text: &str) -> Result<Settings> {
    parse(text, Path::new("net.toml"))
}

const WHOLE: &str = r#"
[[profile.default.allow]]
host = "api.example.com"
methods = ["GET", "POST"]
paths = ["/v1/**"]

[[profile.default.allow]]
host = "git.example.com"
set = { authorization = "Bearer {GIT}", x-plain = "text" }

[[profile.inner.allow]]
host = "db.inside.example"
port = 5432
protocol = "tcp"
addresses = ["10.8.0.0/16"]

[secret.GIT]
command = ["vault", "kv", "get"]
ttl = "90s"
hosts = ["git.example.com"]

[secret.OPENAI_API_KEY]
env = "OPENAI_API_KEY"
hosts = ["api.openai.example", "*.openai.example"]
places = ["header:Authorization", "query:key"]
shape = "sk-{}"

[secret.FILE]
file = "keys/one"
hosts = ["a.example"]

[budget]
requests = 10
bytes_in = "1 MiB"

[budget.owner]
connections = 3
bytes_out = 100
"#;

#[test]
fn a_file_means_what_it_says() {
    let settings = parsed(WHOLE).unwrap();
    let rules = &settings.profile("default").unwrap().rules;
    assert_eq!((rules[0].id.as_str(), rules[0].port), ("profile.default.allow[0]", 443));
    let set = &rules[1].set[0];
    assert_eq!(
        (set.name.as_str(), &set.parts[..]),
        ("authorization", &[Part::Text("Bearer ".into()), Part::Secret("GIT".into())][..])
    );
    let inner = settings.profile("inner").unwrap();
    let db = Host::parse("db.inside.example").unwrap();
    assert_eq!(inner.raw(&db, 5432).unwrap().addresses[0].to_string(), "10.8.0.0/16");
    let asked = Asked {
        protocol: Protocol::Https,
        host: &db,
        port: 5432,
        method: "GET",
        path: "/",
        websocket: false,
    };
    assert!(inner.decide(&asked).is_err());
    let secrets = &settings.secrets;
    assert_eq!(secrets[0].source, Source::File { path: "keys/one".into(), ttl: None });
    assert_eq!(secrets[0].places, Place::usual());
    let command = ["vault", "kv", "get"].map(str::to_owned).into();
    assert_eq!(secrets[1].source, Source::Command { arguments: command, ttl: Duration::from_secs(90) });
    assert_eq!(secrets[2].hosts[1], HostPattern::Below("openai.example".into()));
    assert_eq!(secrets[2].places[0].to_string(), "header:authorization");
    let budgets = settings.budgets;
    assert_eq!((budgets.run.requests, budgets.run.bytes_in, budgets.run.bytes_out), (10, 1 << 20, 16 << 20));
    assert_eq!((budgets.owner.connections, budgets.owner.bytes_out), (3, 100));
    assert_eq!(budgets.process, Budgets::default().process);
    let error = settings.profile("other").unwrap_err();
    assert_eq!((error.code(), error.hint()), (ErrorCode::NetworkDenied, Some("there are: default, inner")));
    assert!(parsed("").unwrap().profiles.is_empty());
}

#[test]
fn net_31_what_is_not_understood_is_an_error_by_its_field() {
    let rule = |rest: &str| format!("[[profile.p.allow]]\nhost = \"a.test\"\n{rest}");
    let secret = |rest: &str| format!("[secret.K]\nenv = \"K\"\nhosts = [\"a.test\"]\n{rest}");
    for (text, wanted) in [
        (rule("method = \"GET\""), "net.toml:3:1: unknown field `method`"),
        (rule("websocket = 1"), "net.toml:3:13"),
        (rule("methods = [\"POST\"]\nwebsocket = true"), "allow[0].websocket"),
        (rule("protocol = \"tcp\"\nport = 1\nwebsocket = true"), "allow[0].websocket"),
        (rule("protocol = \"ftp\""), "net.toml:3:12: unknown variant `ftp`"),
        (rule("port = 65536"), "net.toml:3:8"),
        (rule("port = 0"), "profile.p.allow[0].port"),
        (rule("protocol = \"tcp\""), "profile.p.allow[0].port"),
        (rule("protocol = \"tcp\"\nport = 1\nmethods = [\"GET\"]"), "allow[0].methods"),
        (rule("protocol = \"tcp\"\nport = 1\npaths = [\"/\"]"), "allow[0].paths"),
        (rule("protocol = \"tcp\"\nport = 1\nset = { a = \"b\" }"), "allow[0].set"),
        (rule("methods = [\"get\"]"), "allow[0].methods: `get`"),
        (rule("paths = [\"/a\", \"b\"]"), "allow[0].paths[1]: `b`"),
        (rule("addresses = [\"10.0.0.1/8\"]"), "allow[0].addresses[0]: `10.0.0.1/8`"),
        (rule("set = { host = \"b\" }"), "allow[0].set.host"),
        (rule("set = { content-length = \"1\" }"), "allow[0].set.content-length"),
        (rule("set = { x-a = \"1\", X-A = \"2\" }"), "allow[0].set.x-a"),
        (rule("set = { \"a b\" = \"1\" }"), "allow[0].set.a b"),
        (rule("set = { a = \"{NONE}\" }"), "there is no secret `NONE`"),
        (rule("set = { a = \"{\" }"), "allow[0].set.a: a brace"),
        (rule("set = { a = \"x\\ny\" }"), "allow[0].set.a"),
        (
            rule("protocol = \"http\"\nset = { a = \"{K}\" }\n") + &secret(""),
            "the secret `K` goes over https only",
        ),
        (
            rule("set = { a = \"{K}\" }\n[secret.K]\nenv = \"K\"\nhosts = [\"b.test\"]"),
            "`secret.K.hosts` does not name `a.test`",
        ),
        ("[[profile.p.allow]]\nport = 1".into(), "missing field `host`"),
        ("[[profile.p.allow]]\nhost = \"127.1\"".into(), "profile.p.allow[0].host: `127.1` is no host"),
        ("[[profile.p.allow]]\nhost = \"a.test:443\"".into(), "profile.p.allow[0].host"),
        ("[[profile.p.allow]]\nhost = \"a.*\"".into(), "profile.p.allow[0].host"),
        ("[[profile.p.deny]]\nhost = \"a.test\"".into(), "unknown field `deny`"),
        ("[profiles]".into(), "unknown field `profiles`"),
        (secret("file = \"x\""), "secret.K: it has more than one source"),
        (secret("command = [\"x\"]"), "secret.K: it has more than one source"),
        ("[secret.K]\nhosts = [\"a.test\"]".into(), "secret.K: it has no source"),
        ("[secret.K]\nenv = \"K\"".into(), "secret.K.hosts: it names no host"),
        ("[secret.K]\nenv = \"K\"\nhosts = []".into(), "secret.K.hosts: it names no host"),
        ("[secret.K]\nenv = \"K\"\nhosts = [\"*\"]".into(), "secret.K.hosts: a secret is not for every host"),
        ("[secret.K]\nenv = \"K\"\nhosts = [\"a b\"]".into(), "secret.K.hosts: `a b`"),
        ("[secret.K]\nenv = \"\"\nhosts = [\"a.test\"]".into(), "secret.K.env"),
        ("[secret.K]\ncommand = []\nhosts = [\"a.test\"]".into(), "secret.K.command"),
        ("[secret.\"a-b\"]\nenv = \"K\"\nhosts = [\"a.test\"]".into(), "secret.a-b: it is no name"),
        (secret("places = [\"body\"]"), "secret.K.places: `body`"),
        (secret("places = [\"header:host\"]"), "secret.K.places: `header:host`"),
        (secret("places = [\"query:a b\"]"), "secret.K.places"),
        (secret("shape = \"sk-\""), "secret.K.shape"),
        (secret("shape = \"{}{}\""), "secret.K.shape"),
        (secret("shape = \"a b{}\""), "secret.K.shape"),
        (secret("ttl = \"5m\""), "secret.K.ttl"),
        (secret("keyring = \"x\""), "secret.K: it has more than one source"),
        ("[secret.K]\nkeyring = \"\"\nhosts = [\"a.test\"]".into(), "secret.K.keyring"),
        ("[secret.K]\nkeyring = \"a\\u0000b\"\nhosts = [\"a.test\"]".into(), "secret.K.keyring"),
        ("[budget]\nbytes_in = \"lots\"".into(), "budget.bytes_in: `lots`"),
        ("[budget]\nbytes = 1".into(), "unknown field `bytes`"),
        ("[budget.owner]\nbytes_out = -1".into(), "net.toml:2:13"),
        ("trust = [\"/no/such.pem\"]".into(), "trust[0]"),
        ("not toml".into(), "net.toml:1:"),
    ] {
        let error = parsed(&text).expect_err(&text);
        assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{text}");
        assert!(
            error.message().starts_with("net.toml:") && error.message().contains(wanted),
            "{text}\n{error}"
        );
    }
}

#[test]
fn net_31_a_file_has_bounds() {
    let rules = "[[profile.p.allow]]\nhost = \"a.test\"\n".repeat(1_001);
    assert!(parsed(&rules).unwrap_err().message().contains("more than 1000 rules"));
    assert!(parsed(&rules[..rules.len() / 1_001 * 1_000]).is_ok());
    let secrets: String =
        (0..65).map(|at| format!("[secret.K{at}]\nenv = \"K\"\nhosts = [\"a.test\"]\n")).collect();
    assert!(parsed(&secrets).unwrap_err().message().contains("65 secrets"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.toml");
    std::fs::write(&path, "#".repeat(2 << 20)).unwrap();
    assert_eq!(read(&path).unwrap_err().code(), ErrorCode::TooLarge);
    assert_eq!(read(&folder.path().join("none")).unwrap_err().code(), ErrorCode::NotFound);
}

#[test]
fn net_31_an_empty_list_is_never_read_as_all() {
    let rule = "[[profile.default.allow]]\nhost = \"a.test\"\n";
    for list in ["methods = []", "paths = []", "methods = [ ]\npaths = [\"/\"]"] {
        let error = parsed(&format!("{rule}{list}\n")).expect_err(list);
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        let told = "net.toml:3:";
        assert!(
            error.message().starts_with(told) && error.message().contains("an empty list allows nothing"),
            "{error}"
        );
    }
    let wanted: std::result::Result<crate::policy::Wanted, _> =
        serde_json::from_str("{\"allow\": [{\"host\": \"a.test\", \"methods\": []}]}");
    assert!(wanted.unwrap_err().to_string().contains("an empty list allows nothing"));
    // A secret for no host is none; what else is empty allows nothing.
    let secret = |more: &str| format!("[secret.KEY]\nenv = \"KEY\"\n{more}\n");
    assert!(parsed(&secret("hosts = []")).is_err());
    let settings =
        parsed(&format!("{rule}addresses = []\n{}", secret("hosts = [\"a.test\"]\nplaces = []"))).unwrap();
    assert!(settings.secrets[0].places.is_empty());
    assert!(settings.profile("default").unwrap().rules[0].networks().is_empty());
    let nothing = parsed("[profile.default]\nallow = []\n").unwrap();
    assert!(nothing.profile("default").unwrap().rules.is_empty());
}
