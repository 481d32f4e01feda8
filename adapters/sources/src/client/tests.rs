//! Clients against real servers: what passes through, in both eras and by every transport.

use std::sync::Mutex;

use dormouse_core::errand::{Errand, Errands};
use dormouse_core::testing::wait_until_async;
use dormouse_core::{Error, ErrorCode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, json};

use super::*;
use crate::outside::Local;
use crate::testing::PATIENCE;
use crate::testing::server::{Heard, Server, legacy, streamable};
use crate::{Call, Entry, Outside, Progress, Registry, Scopes, Source};

mod hostile;

type Step = (String, Option<f64>, Option<f64>);

#[derive(Default)]
struct Steps(Mutex<Vec<Step>>);

impl Progress for Steps {
    fn progress(&self, message: &str, done: Option<f64>, total: Option<f64>) {
        self.0.lock().unwrap().push((message.into(), done, total));
    }
}

fn call(tool: &str) -> Call {
    let Json::Object(arguments) = json!({"n": 7}) else { panic!("a map") };
    Call { tool: tool.into(), arguments, progress: None, key: None }
}

fn named(program: &str, args: &[&str]) -> Program {
    let args = args.iter().map(ToString::to_string).collect();
    Program { program: program.into(), args, env: BTreeMap::new(), cwd: None }
}

async fn code(endpoint: &dyn Endpoint, tool: &str) -> (ErrorCode, String) {
    let error = endpoint.call(call(tool)).await.unwrap_err();
    (error.code(), error.message().to_owned())
}

/// What every server of the tests is to show through every transport.
async fn check_all(endpoint: &dyn Endpoint) {
    let tools = endpoint.list().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["echo", "slow", "progress", "fails"]);
    assert_eq!(tools[0].annotations, Some(json!({"readOnlyHint": true, "x-own": [1]})));
    assert_eq!(tools[0].input_schema["x-own"], true);
    assert_eq!(tools[0].output_schema, Some(json!({"type": "object"})));
    let answer = endpoint.call(call("echo")).await.unwrap();
    assert_eq!(answer.structured, Some(json!({"args": {"n": 7}, "deep": [null, 1.5]})));
    assert_eq!(answer.content[1], json!({"type": "x-own", "data": {"a": 1}}));
    assert_eq!((answer.text(), answer.is_error), ("one\ntwo".into(), false));
    let failed = endpoint.call(call("fails")).await.unwrap();
    assert!(failed.is_error && failed.text() == "no");
    let steps = Arc::new(Steps::default());
    endpoint.call(Call { progress: Some(steps.clone()), ..call("progress") }).await.unwrap();
    let expected = [("step 1".into(), Some(1.0), Some(2.0)), ("step 2".into(), Some(2.0), Some(2.0))];
    assert_eq!(*steps.0.lock().unwrap(), expected);
    assert_eq!(code(endpoint, "picky").await, (ErrorCode::ArgsInvalid, "n is odd".into()));
    assert_eq!(code(endpoint, "absent").await.0, ErrorCode::NotFound);
    let (code, message) = code(endpoint, "breaks").await;
    assert_eq!(code, ErrorCode::ProviderUnavailable);
    assert!(
        message.contains("-32603") && message.contains("broke") && !message.contains('\u{1b}'),
        "{message}"
    );
}

/// A call that is given up is told to the server; its late answer disturbs nobody.
async fn check_cancel(endpoint: &dyn Endpoint, heard: &Heard) {
    let begun = || heard.messages.lock().unwrap().iter().any(|message| message["params"]["name"] == "slow");
    tokio::select! {
        _ = endpoint.call(call("slow")) => panic!("it does not end"),
        () = wait_until_async("the call comes", PATIENCE, begun) => {}
    }
    let told = heard.until("notifications/cancelled").await;
    let messages = heard.messages.lock().unwrap().clone();
    let asked = messages.iter().find(|message| message["params"]["name"] == "slow").unwrap();
    assert_eq!(told["params"]["requestId"], asked["id"]);
    assert_eq!(endpoint.call(call("echo")).await.unwrap().text(), "one\ntwo");
}

/// Through the operator's gate, whose audit has each request.
#[tokio::test]
async fn net_38_every_request_can_go_through_the_gate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let options = dormouse_egress::Options {
        settings: dormouse_egress::Settings::default(),
        names: None,
        audit: dormouse_egress::Audit::file(&path).unwrap(),
        key: None,
        cassette: None,
        operator: None,
    };
    let gate = dormouse_egress::Gate::open(options).await.unwrap();
    let errands: Arc<dyn Errands> = Arc::new(dormouse_egress::Outside::new(gate));
    let outside = Outside { errands: Some(errands), ..Outside::default() };
    let requests = || {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        lines.filter(|line| line["event"] == "sent").collect::<Vec<_>>()
    };
    for (server, at) in [("new", "/mcp"), ("old", "/sse")] {
        let heard = Heard::default();
        let router = if at == "/sse" { legacy(heard.clone()) } else { streamable(heard.clone()) };
        let running = Server::start(router).await;
        let before = requests().len();
        let errand = Errand { server: server.into(), ..Errand::default() };
        let opened = open_url(&running.url(at), &BTreeMap::new(), &outside.with(errand)).await.unwrap();
        check_all(&*opened.endpoint).await;
        check_cancel(&*opened.endpoint, &heard).await;
        opened.endpoint.close().await.unwrap();
        let written = requests().split_off(before);
        assert!(written.len() >= 8, "{}", written.len());
        assert!(written.iter().all(|line| line["run"] == server && line["language"] == "connect"));
    }
    // What the gate says is told as a client would.
    let closed = Server::start(legacy(Heard::default())).await.url("/mcp");
    let error = open_url(&closed, &BTreeMap::new(), &outside).await.err().unwrap();
    assert!(error.message().contains("cannot be reached") && error.hint().is_some(), "{error}");
    let set = BTreeMap::from([("x-key".to_owned(), "{KEY}".to_owned())]);
    let errand = Errand { set, ..Errand::default() };
    let alone = Outside::default().with(errand);
    let error = open_url("https://a.invalid/", &BTreeMap::new(), &alone).await.err().unwrap();
    assert!(error.hint().unwrap().contains("--network"), "{error}");
}

#[tokio::test]
async fn a_legacy_server_is_reached_at_its_stream_and_by_an_entry_s_address() {
    for container in [true, false] {
        let heard = Heard::default();
        let server = Server::start(legacy(heard.clone())).await;
        let endpoint = match container {
            true => open_container(&server.url(""), true).await.unwrap(),
            false => {
                open_url(&server.url("/sse"), &BTreeMap::new(), &Outside::default()).await.unwrap().endpoint
            }
        };
        heard.until("notifications/initialized").await;
        let asked = heard.methods().into_iter().filter(|method| method != "server/discover");
        assert_eq!(asked.collect::<Vec<_>>(), ["initialize", "notifications/initialized"]);
        check_all(endpoint.as_ref()).await;
        check_cancel(endpoint.as_ref(), &heard).await;
        endpoint.close().await.unwrap();
        assert_eq!(code(endpoint.as_ref(), "echo").await.0, ErrorCode::ProviderUnavailable);
    }
}

#[tokio::test]
async fn a_streamable_server_of_the_older_era_has_its_session() {
    let heard = Heard::default();
    let server = Server::start(streamable(heard.clone())).await;
    let headers = BTreeMap::from([("x-key".to_owned(), "secret".to_owned())]);
    let opened = Opened::at(&server.url("/mcp"), &headers).await.unwrap();
    assert_eq!((&opened.url, &opened.headers), (&server.url("/mcp"), &headers));
    assert_eq!(heard.methods(), ["server/discover", "initialize", "notifications/initialized"]);
    check_all(opened.endpoint.as_ref()).await;
    check_cancel(opened.endpoint.as_ref(), &heard).await;
    opened.endpoint.close().await.unwrap();
    assert_eq!(heard.until("DELETE").await["session"], "s-1");
    for headers in heard.headers.lock().unwrap().iter().skip(2) {
        assert_eq!(
            (&headers["mcp-protocol-version"], &headers["x-key"]),
            (&"2025-11-25".parse().unwrap(), &"secret".parse().unwrap())
        );
    }
}

/// A source that starts its servers elsewhere, and has them ask for a key.
struct Elsewhere(String, BTreeMap<String, String>);

#[async_trait]
impl Source for Elsewhere {
    fn check(&self, _: &Map<String, Json>) -> Result<()> {
        Ok(())
    }

    async fn open(&self, _: Map<String, Json>) -> Result<Opened> {
        Opened::at(&self.0, &self.1).await
    }
}

/// S0-16: an address and headers, which go with every request and stand nowhere else.
#[tokio::test]
async fn what_a_source_opened_at_an_address_gets_its_headers_with_each_request_and_nobody_else_sees_them() {
    const SECRET: &str = "key-0123456789-word";
    let heard = Heard::default();
    let server = Server::start(streamable(heard.clone())).await;
    let headers = BTreeMap::from([("x-key".to_owned(), SECRET.to_owned())]);
    let scopes = |url: String, headers: &BTreeMap<String, String>| {
        let mut registry = Registry::default();
        registry.register("elsewhere", Arc::new(Elsewhere(url, headers.clone())));
        let entry = Entry::parse(json!({"name": "box", "source": "elsewhere", "scope": "run"})).unwrap();
        Scopes::new(registry, vec![entry]).unwrap()
    };
    let run = scopes(server.url("/mcp"), &headers).open_run().await.unwrap();
    let answer = run.tools().call("echo", call("echo").arguments, None).await.unwrap();
    assert_eq!(answer.text(), "one\ntwo");
    assert!(!format!("{:?}", run.connections()).contains(SECRET));
    run.close().await;
    heard.until("DELETE").await;
    let all = heard.headers.lock().unwrap().clone();
    assert!(all.len() > 4, "{all:?}");
    assert!(all.iter().all(|headers| headers["x-key"] == SECRET), "{all:?}");
    // Nor does what goes wrong tell them.
    let many: BTreeMap<String, String> = (0..65).map(|n| (format!("x-{n}"), SECRET.into())).collect();
    let long = BTreeMap::from([("x-key".to_owned(), SECRET.repeat(4_000))]);
    let bad = BTreeMap::from([("x-key".to_owned(), format!("{SECRET}\n"))]);
    for (url, headers) in [
        ("http://127.0.0.1:1/mcp".to_owned(), &headers),
        (server.url("/mcp"), &many),
        (server.url("/mcp"), &long),
        (server.url("/mcp"), &bad),
    ] {
        let error = scopes(url, headers).open_run().await.err().unwrap();
        assert!(!format!("{error:?} {error}").contains(SECRET), "{error}");
    }
}

#[tokio::test]
async fn a_container_without_a_stream_is_reached_at_mcp() {
    let server = Server::start(streamable(Heard::default())).await;
    let endpoint = open_container(&server.url(""), false).await.unwrap();
    check_all(endpoint.as_ref()).await;
}

/// A server of the official kit, which speaks both eras.
#[derive(Clone, Default)]
struct Kit {
    begun: Arc<tokio::sync::Notify>,
    cancelled: Arc<tokio::sync::Notify>,
    versions: Arc<Mutex<Vec<String>>>,
}

impl ServerHandler for Kit {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}});
        let Json::Object(schema) = schema else { return Err(ErrorData::internal_error("no schema", None)) };
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "It echoes.", Arc::new(schema))]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let version = context.protocol_version().map(|version| version.to_string());
        self.versions.lock().unwrap().push(version.unwrap_or_default());
        if request.name == "slow" {
            self.begun.notify_one();
            context.ct.cancelled().await;
            self.cancelled.notify_one();
            return Err(ErrorData::internal_error("too late", None));
        }
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, 1.0).with_message("half").with_total(2.0);
            let _ = context.peer.notify_progress(progress).await;
        }
        let mut result = CallToolResult::success(vec![ContentBlock::text("hello")]);
        result.structured_content = Some(json!({"n": request.arguments.unwrap_or_default()["n"]}));
        Ok(result.into())
    }
}

async fn kit(kit: &Kit) -> Server {
    let kit = kit.clone();
    let config = StreamableHttpServerConfig::default();
    let service =
        StreamableHttpService::new(move || Ok(kit.clone()), LocalSessionManager::default().into(), config);
    Server::start(axum::Router::new().nest_service("/mcp", service)).await
}

#[tokio::test]
async fn a_server_of_the_official_kit_is_reached_in_both_eras() {
    let of = Kit::default();
    let server = kit(&of).await;
    let place = Place::new(&server.url("/mcp"), &BTreeMap::new(), &Outside::default()).unwrap();
    let old = Arc::new(Streamable::new(place));
    let old: Arc<dyn Endpoint> = Arc::new(remote::initialize(old, Patience::default()).await.unwrap());
    let new = open_url(&server.url("/mcp"), &BTreeMap::new(), &Outside::default()).await.unwrap().endpoint;
    for endpoint in [old, new] {
        assert_eq!(endpoint.list().await.unwrap()[0].name, "echo");
        let steps = Arc::new(Steps::default());
        let answer = endpoint.call(Call { progress: Some(steps.clone()), ..call("echo") }).await.unwrap();
        assert_eq!((answer.text(), answer.structured), ("hello".into(), Some(json!({"n": 7}))));
        assert_eq!(*steps.0.lock().unwrap(), [("half".to_owned(), Some(1.0), Some(2.0))]);
        tokio::select! {
            _ = endpoint.call(call("slow")) => panic!("it does not end"),
            () = of.begun.notified() => {}
        }
        let cancelled = tokio::time::timeout(Duration::from_secs(20), of.cancelled.notified()).await;
        assert!(cancelled.is_ok(), "the server hears that the call is given up");
        endpoint.close().await.unwrap();
    }
    assert_eq!(*of.versions.lock().unwrap(), ["2025-11-25", "2025-11-25", "2026-07-28", "2026-07-28"]);
}

/// A server of the older era in the shell's language. It ends when it is asked what it does not know, if `strict` is set.
const SCRIPT: &str = r#"
echo "hello on the error output" >&2
echo "a greeting that is no message"
sleep 1000 & echo $! > "$PIDS"; echo $$ >> "$PIDS"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"server/discover"'*) [ -n "$STRICT" ] && exit 1
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}\n' "$id" ;;
    *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) say '{"tools":[{"name":"env","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) say "{\"content\":[{\"type\":\"text\",\"text\":\"$SECRET/$1/${CARGO_MANIFEST_DIR:-none}\"}]}" ;;
  esac
done
"#;

fn is_alive(pid: &str) -> bool {
    // A zombie of another parent counts as gone.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn until_gone(pids: &[String]) {
    let gone = || !pids.iter().any(|pid| is_alive(pid));
    wait_until_async("the whole group ends", PATIENCE, gone).await;
}

#[tokio::test]
async fn a_program_is_greeted_called_and_ended_with_all_that_it_started() {
    for (strict, dropped) in [("", false), ("1", false), ("", true)] {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let env = [("PIDS", pids.to_str().unwrap()), ("STRICT", strict), ("SECRET", "s")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let sh = Program { env, ..named("sh", &["-c", SCRIPT, "sh", "an argument"]) };
        let opened = open_command(&sh, &Local).await.unwrap();
        assert_eq!(opened.endpoint.list().await.unwrap()[0].name, "env");
        let answer = opened.endpoint.call(call("env")).await.unwrap();
        assert_eq!(answer.text(), "s/an argument/none", "only the environment that was given");
        let pids: Vec<String> = std::fs::read_to_string(pids).unwrap().lines().map(str::to_owned).collect();
        assert!(pids.len() == 2 && pids.iter().all(|pid| is_alive(pid)));
        match dropped {
            true => drop(opened),
            false => opened.endpoint.close().await.unwrap(),
        }
        until_gone(&pids).await;
    }
}

/// A server that says where it was started and which key a call has, and that its tools have changed.
const CHANGING: &str = concat!(
    r#"
tools='[{"name":"told","inputSchema":{"type":"object"}}]'
key() { printf '%s' "$line" | sed -n 's/.*"dormouse\/idempotencyKey":"\([^"]*\)".*/\1/p'; }
call() {
  printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
  say "{\"content\":[{\"type\":\"text\",\"text\":\"$(pwd) $(key)\"}]}"
}
"#,
    include_str!("../testing/server.sh")
);

#[tokio::test]
async fn a_program_starts_in_its_folder_hears_the_key_of_a_call_and_tells_of_changes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    let program = Program { cwd: Some(at.clone()), ..named("sh", &["-c", CHANGING]) };
    let endpoint = Opened::started(&program, &Outside::default()).await.unwrap().endpoint;
    assert!(endpoint.is_open() && !endpoint.has_changed());
    let answer = endpoint.call(Call { key: Some("k-1".into()), ..call("told") }).await.unwrap();
    assert_eq!(answer.text(), format!("{} k-1", at.display()));
    assert!(endpoint.has_changed() && !endpoint.has_changed(), "it is told once");
    let answer = endpoint.call(call("told")).await.unwrap();
    assert_eq!(answer.text(), format!("{} ", at.display()));
    endpoint.close().await.unwrap();
    assert!(!endpoint.is_open());
}

#[tokio::test]
async fn a_program_that_cannot_be_started_or_ends_at_once_is_an_error() {
    let error = open_command(&named("/no/such/program", &[]), &Local).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    let error = open_command(&named("true", &[]), &Local).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    assert_eq!(
        error.message(),
        "the MCP server has ended with exit status 0, and wrote nothing to its standard error"
    );
}

#[tokio::test]
async fn a_program_that_fails_is_told_with_how_it_ended_and_the_end_of_its_standard_error() {
    let greets =
        r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}'"#;
    for (script, wanted) in [
        (
            "echo; echo 'no such module:' >&2; printf ' \\033[31myaml' >&2; exit 3".to_owned(),
            "the MCP server has ended with exit status 3; its standard error: no such module: | [31myaml",
        ),
        (
            "echo bye >&2; kill -9 $$".to_owned(),
            "the MCP server has ended with signal 9; its standard error: bye",
        ),
        // Between the greeting and the list.
        (
            format!("{greets}; read -r line; echo bye >&2; exit 4"),
            "the MCP server has ended with exit status 4; its standard error: bye",
        ),
    ] {
        let opened = open_command(&named("sh", &["-c", &script]), &Local).await;
        let error = match opened {
            Ok(opened) => opened.endpoint.list().await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!((error.code(), error.message()), (ErrorCode::ProviderUnavailable, wanted));
    }
    let many = "for n in 1 2 3 4 5 6 7 8 9; do printf '%0500d\\n' $n >&2; done; echo the end >&2; exit 1";
    let error = open_command(&named("sh", &["-c", many]), &Local).await.err().unwrap();
    assert!(error.message().len() < 2_048, "{error}");
    assert!(error.message().contains("the end of its standard error: ... 0"), "{error}");
    assert!(error.message().ends_with("0009 | the end"), "{error}");
}

#[tokio::test]
async fn a_program_that_never_speaks_is_told_with_the_end_of_its_standard_error() {
    let short = Duration::from_secs(1);
    let patience = Patience { discover: short, answer: short, call: short };
    for (script, wanted) in [
        (
            "echo waiting >&2; cat > /dev/null",
            "the MCP server gave no answer for 1 s; its standard error: waiting",
        ),
        // What it has started holds its output open.
        (
            "echo bye >&2; sleep 1000 & exit 5",
            "the MCP server gave no answer for 1 s: its program has ended with exit status 5; its standard error: bye",
        ),
    ] {
        let error = greet_command(&named("sh", &["-c", script]), &Local, patience).await.err().unwrap();
        assert_eq!((error.code(), error.message()), (ErrorCode::ProviderUnavailable, wanted));
        assert!(error.hint().unwrap().contains("speaks MCP on its standard input and output"));
    }
}

#[tokio::test]
async fn an_address_where_nothing_listens_is_told_with_host_port_and_cause() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("http://127.0.0.1:{port}/mcp?key=word-0123");
    let error = open_url(&url, &BTreeMap::new(), &Outside::default()).await.err().unwrap();
    let wanted = format!("the MCP server at 127.0.0.1:{port} cannot be reached: connection refused");
    assert_eq!((error.code(), error.message()), (ErrorCode::ProviderUnavailable, wanted.as_str()));
    assert_eq!(error.hint(), Some("nothing listens there: start the server, and look at the port"));
    assert!(!format!("{error:?}").contains("word-0123"));
}

#[test]
fn addresses_and_headers_are_checked() {
    let with = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    check_url("http://localhost:1/x", &with("authorization", "Bearer x")).unwrap();
    for url in ["", "x", "ftp://x/", "http://", "file:///x", "http://a:b@x/", "/mcp"] {
        assert_eq!(check_url(url, &BTreeMap::new()).unwrap_err().code(), ErrorCode::ArgsInvalid, "{url}");
    }
    for (name, value) in
        [("host", "x"), ("Mcp-Session-Id", "x"), ("a b", "x"), ("x", "a\nb"), ("Accept", "x")]
    {
        let error = check_url("http://localhost:1/x", &with(name, value)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{name}");
    }
}
