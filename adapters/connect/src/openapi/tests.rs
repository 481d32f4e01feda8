//! Documents as tools, and requests to a server of the test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use dormouse_core::ErrorCode;
use dormouse_core::errand::Errand;
use dormouse_sources::{Call, Endpoint, Outside, ToolAnswer};
use serde_json::{Map, Value as Json, json};

use super::Document;
use super::document::{base, parsed};
use super::operation;
use super::request::Asked;

/// A shop for pets, of our own making, with what documents have.
const PETS: &str = include_str!("pets.yaml");
/// What the operator's header says.
const SECRET: &str = "s3cr3t-t0ken";

/// What came to the server: method, address, headers, body.
type Seen = Arc<Mutex<Vec<(Method, String, HeaderMap, Vec<u8>)>>>;

async fn answer(
    State(seen): State<Seen>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    seen.lock().unwrap().push((method, uri.to_string(), headers.clone(), body.to_vec()));
    let json = |value: Json| ([("content-type", "application/json")], value.to_string()).into_response();
    match uri.path() {
        "/document.yaml" => PETS.into_response(),
        "/v1/pets" => json(json!([{"id": 1, "echo": headers.get("x-key").map(|key| key.to_str().unwrap())}])),
        "/v1/pets/404" => {
            (StatusCode::NOT_FOUND, format!("no such pet, {SECRET}, {}", "x".repeat(9_000))).into_response()
        }
        "/v1/pets/302" => (StatusCode::FOUND, [("location", "http://elsewhere.invalid/")]).into_response(),
        "/v1/pets/1/photo" => ([("content-type", "image/png")], vec![1_u8, 2, 3]).into_response(),
        "/v1/pets/1/file" => {
            ([("content-type", "application/octet-stream")], vec![0xff_u8, 2, 3]).into_response()
        }
        "/v1/pets/large" => ([("content-type", "text/plain")], vec![b'x'; (32 << 20) + 1]).into_response(),
        "/v1/feed" => ([("content-type", "text/csv")], format!("a,{SECRET}")).into_response(),
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}

struct Server {
    address: String,
    seen: Seen,
}

async fn server() -> Server {
    let seen = Seen::default();
    let router = Router::new().fallback(answer).with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Server { address, seen }
}

fn headers() -> BTreeMap<String, String> {
    BTreeMap::from([("X-Key".into(), format!("Bearer {SECRET}"))])
}

async fn api(server: &Server) -> Arc<dyn Endpoint> {
    let document = Document::Address(format!("{}/document.yaml", server.address));
    super::open(&document, Some(&format!("{}/v1", server.address)), &headers(), &Outside::default())
        .await
        .unwrap()
        .endpoint
}

async fn called(api: &Arc<dyn Endpoint>, tool: &str, arguments: Json) -> dormouse_core::Result<ToolAnswer> {
    let Json::Object(arguments) = arguments else { panic!("arguments") };
    api.call(Call { tool: tool.into(), arguments, progress: None, key: Some("k-1".into()) }).await
}

fn operations() -> BTreeMap<String, operation::Operation> {
    let all = operation::all(
        &parsed(PETS).unwrap(),
        &headers().into_keys().map(|name| name.to_ascii_lowercase()).collect(),
    )
    .unwrap();
    all.into_iter().map(|operation| (operation.tool.name.clone(), operation)).collect()
}

#[test]
fn each_operation_is_a_tool_whose_arguments_are_those_of_path_query_header_and_body() {
    let all = operations();
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "createPet",
            "deletePet",
            "get_feed",
            "listPets",
            "login",
            "pet",
            "petFile",
            "petPhoto",
            "search",
            "updatePet"
        ]
    );
    let schema = &all["createPet"].tool.input_schema;
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["properties"]["tag"]["type"], json!(["string", "null"]));
    assert_eq!(schema["properties"]["parent"], json!({"$ref": "#/$defs/Pet"}));
    assert!(schema["properties"].get("id").is_none(), "it is only read: {schema}");
    assert_eq!(schema["$defs"]["Pet"]["properties"]["friends"]["items"], json!({"$ref": "#/$defs/Pet"}));
    assert_eq!(all["updatePet"].tool.input_schema["required"], json!(["petId", "body"]));
    let list = &all["listPets"].tool;
    assert_eq!(list.input_schema["properties"]["limit"]["exclusiveMinimum"], 0);
    assert!(list.input_schema["properties"].get("X-Key").is_none(), "the operator gives it");
    assert_eq!(list.output_schema.as_ref().unwrap()["type"], "array");
    assert_eq!(
        (list.annotations.as_ref().unwrap()["readOnlyHint"].clone(), list.description.as_str()),
        (json!(true), "All pets")
    );
    assert_eq!(all["deletePet"].tool.annotations.as_ref().unwrap()["destructiveHint"], true);
    assert!(all["pet"].tool.description.starts_with("(deprecated)"));
}

fn asked(operation: &str, arguments: Json) -> Result<Asked, String> {
    let base = reqwest::Url::parse("https://api.example/v1/?k=1").unwrap();
    let Json::Object(arguments) = arguments else { panic!("arguments") };
    Asked::new(&base, &operations()[operation], arguments)
}

#[test]
fn an_argument_that_no_schema_has_refused_is_refused_before_the_request() {
    let error = asked("listPets", json!({"limit": 5, "filtr": "x"})).unwrap_err();
    assert_eq!(error, "there is no argument `filtr`");
}

#[test]
fn arguments_go_where_the_document_says() {
    let list = asked(
        "listPets",
        json!({"limit": 5, "tags": ["a b", "c&d"], "ids": [1, 2], "filter": {"kind": "dog", "age": [1, 2]}, "X-Trace": "t", "session": "s;1"}),
    );
    let list = list.unwrap();
    assert_eq!(
        list.url.as_str(),
        "https://api.example/v1/pets?k=1&limit=5&tags=a%20b&tags=c%26d&ids=1%2C2&filter%5Bkind%5D=dog&filter%5Bage%5D=1&filter%5Bage%5D=2"
    );
    assert_eq!(
        list.headers,
        [("X-Trace".to_owned(), "t".to_owned()), ("cookie".into(), "session=s%3B1".into())]
    );
    let create = asked("createPet", json!({"name": "Rex", "tag": null})).unwrap();
    assert_eq!(create.body, Some(("application/json".into(), br#"{"name":"Rex","tag":null}"#.to_vec())));
    let update = asked("updatePet", json!({"petId": "a/b?c#d", "body": {"x": [1]}})).unwrap();
    assert_eq!(
        (update.url.path(), update.body.unwrap().1),
        ("/v1/pets/a%2Fb%3Fc%23d", br#"{"x":[1]}"#.to_vec())
    );
    let login = asked("login", json!({"user": "a b", "scopes": ["x", "y"]})).unwrap();
    assert_eq!(
        login.body,
        Some(("application/x-www-form-urlencoded".into(), b"user=a%20b&scopes=x&scopes=y".to_vec()))
    );
    let search = asked("search", json!({"q": {"deep": [1]}, "body": "some text"})).unwrap();
    assert_eq!(search.url.query(), Some("k=1&q=%7B%22deep%22%3A%5B1%5D%7D"));
    assert_eq!(search.body, Some(("text/plain".into(), b"some text".to_vec())));
}

/// An argument leads to no other operation than the one that was called: rules are by operation.
#[test]
fn run_33_an_argument_does_not_lead_out_of_its_place_in_the_path() {
    for hostile in [
        "..",
        ".",
        "../admin",
        "..%2fadmin",
        "%2e%2e",
        "x/../../admin",
        "x?y",
        "x#y",
        "\\..\\",
        "//evil.example",
    ] {
        if let Ok(asked) = asked("pet", json!({ "petId": hostile })) {
            let (host, path) = (asked.url.host_str().unwrap(), asked.url.path());
            assert!(
                host == "api.example" && path.starts_with("/v1/pets/") && path.matches('/').count() == 3,
                "{hostile}: {}",
                asked.url
            );
            assert_eq!((asked.url.query(), asked.url.fragment()), (Some("k=1"), None));
        }
    }
    assert!(asked("pet", json!({"petId": ".."})).is_err() && asked("pet", json!({"petId": ""})).is_err());
    assert!(asked("pet", json!({})).unwrap_err().contains("`petId` is missing"));
}

#[tokio::test]
async fn an_api_is_called_with_the_operators_headers_and_the_key_of_the_call() {
    let server = server().await;
    let api = api(&server).await;
    assert_eq!(api.list().await.unwrap().len(), 10);
    let created = called(&api, "createPet", json!({"name": "Rex"})).await.unwrap();
    assert!(created.structured.is_some() && !created.is_error);
    let empty = called(&api, "deletePet", json!({"petId": 7})).await.unwrap();
    assert_eq!(empty, ToolAnswer::default());
    let photo = called(&api, "petPhoto", json!({"petId": 1})).await.unwrap();
    assert_eq!(photo.content, [json!({"type": "image", "data": "AQID", "mimeType": "image/png"})]);
    let file = called(&api, "petFile", json!({"petId": 1})).await.unwrap();
    assert_eq!(file.content[0]["resource"]["blob"], "/wID");
    let seen = server.seen.lock().unwrap();
    let (method, address, headers, body) = &seen[1];
    assert_eq!(
        (method.as_str(), address.as_str(), body.as_slice()),
        ("POST", "/v1/pets", &br#"{"name":"Rex"}"#[..])
    );
    assert_eq!(
        (headers["x-key"].to_str().unwrap(), headers["idempotency-key"].to_str().unwrap()),
        (format!("Bearer {SECRET}").as_str(), "k-1")
    );
    assert!(seen[3].2.get("idempotency-key").is_none(), "what only reads has none");
}

/// The operator's credential stands in no answer, although the API repeats it, and in no error.
#[tokio::test]
async fn run_34_credentials_are_in_no_answer_and_go_to_no_other_server() {
    let server = server().await;
    let api = api(&server).await;
    let list = called(&api, "listPets", json!({})).await.unwrap();
    assert_eq!(list.structured, Some(json!([{"id": 1, "echo": "***"}])));
    let feed = called(&api, "get_feed", json!({})).await.unwrap();
    assert_eq!(feed.text(), "a,***");
    let refused = called(&api, "pet", json!({"petId": 404})).await.unwrap();
    assert!(
        refused.is_error && refused.text().starts_with("HTTP status 404 Not Found: no such pet, ***"),
        "{}",
        refused.text()
    );
    assert!(refused.text().len() < 3_000);
    let redirected = called(&api, "pet", json!({"petId": 302})).await.unwrap();
    assert!(
        redirected.is_error && redirected.text().contains("redirects are not followed"),
        "{}",
        redirected.text()
    );
    let large = called(&api, "pet", json!({"petId": "large"})).await.unwrap_err();
    assert_eq!(large.code(), ErrorCode::TooLarge);
    // A document somewhere names another server: the operator has to say that it is the right one.
    let from = reqwest::Url::parse("https://documents.example/x.yaml").unwrap();
    let value = parsed(PETS).unwrap();
    assert!(base(&value, None, Some(&from), true).unwrap_err().hint().unwrap().contains("base_url"));
    assert_eq!(base(&value, None, Some(&from), false).unwrap().0.as_str(), "https://eu.pets.example/v1");
    assert_eq!(base(&value, None, None, true).unwrap().0.host_str(), Some("eu.pets.example"));
    let elsewhere = super::open(
        &Document::Address(format!("{}/document.yaml", server.address)),
        Some("https://api.example"),
        &headers(),
        &Outside::default(),
    )
    .await;
    assert!(elsewhere.is_ok());
    assert!(
        server.seen.lock().unwrap().last().unwrap().2.get("x-key").is_none(),
        "it does not serve the document"
    );
}

/// Through the operator's gate: the same answers, each request in its audit, and no other way inside.
#[tokio::test]
async fn net_38_an_api_is_asked_through_the_gate() {
    let server = server().await;
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
    let outside =
        Outside { errands: Some(Arc::new(dormouse_egress::Outside::new(gate))), ..Outside::default() };
    let outside = outside.with(Errand { server: "pets".into(), ..Errand::default() });
    let document = Document::Address(format!("{}/document.yaml", server.address));
    let base = format!("{}/v1", server.address);
    let api = super::open(&document, Some(&base), &headers(), &outside).await.unwrap().endpoint;
    let list = called(&api, "listPets", json!({})).await.unwrap();
    assert_eq!(list.structured, Some(json!([{"id": 1, "echo": "***"}])));
    let redirected = called(&api, "pet", json!({"petId": 302})).await.unwrap();
    assert!(redirected.is_error && redirected.text().contains("redirects are not followed"));
    let large = called(&api, "pet", json!({"petId": "large"})).await.unwrap_err();
    assert_eq!(large.code(), ErrorCode::TooLarge);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sent: Vec<_> = lines.iter().filter(|line| line["event"] == "sent").collect();
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().all(|line| line["rule"] == "connect.pets"));
    assert!(!text.contains(SECRET));
    // Whoever wrote a document leads nowhere inside, and says not where the secrets of the file go.
    let port = server.address.rsplit(':').next().unwrap();
    let named = Document::Text(
        PETS.replace("https://{region}.pets.example/v1", &format!("http://localhost:{port}/v1")),
    );
    let error = super::open(&named, None, &BTreeMap::new(), &outside).await.err().unwrap();
    assert!(error.message().contains("public internet"), "{error}");
    let set = BTreeMap::from([("x-key".to_owned(), "{KEY}".to_owned())]);
    let with_secret = outside.with(Errand { set, ..outside.errand.clone() });
    let error = super::open(&document, None, &BTreeMap::new(), &with_secret).await.err().unwrap();
    assert!(error.message().contains("https only") || error.message().contains("no secret"), "{error}");
}

/// What a document says of where its API is leads to the public internet alone; what the operator says leads there.
#[tokio::test]
async fn run_36_a_document_leads_nowhere_inside() {
    #[derive(Debug)]
    struct Inner;
    #[async_trait::async_trait]
    impl dormouse_core::Resolve for Inner {
        async fn resolve(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
            Ok(vec!["127.0.0.1".parse().unwrap()])
        }
    }
    let server = server().await;
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let outside = Outside { names: Some(Arc::new(Inner)), ..Outside::default() };
    let document = |at: &str| Document::Text(PETS.replace("https://{region}.pets.example/v1", at));
    let none = BTreeMap::new();
    for at in [
        server.address.as_str(),
        "http://169.254.169.254/latest",
        "http://[::1]/",
        "http://0x7f.1/",
        &format!("http://localhost:{port}/v1"),
    ] {
        let error = super::open(&document(at), None, &none, &outside).await.err().expect(at);
        assert!(error.message().contains("public internet"), "{at}: {error}");
        assert!(error.hint().unwrap().contains("base_url"), "{at}");
    }
    let named = format!("http://inner.example:{port}/v1");
    let api = super::open(&document(&named), None, &none, &outside).await.unwrap().endpoint;
    let error = called(&api, "listPets", json!({})).await.unwrap_err();
    assert!(error.message().contains("public internet") && !error.message().contains("127.0"), "{error}");
    assert!(server.seen.lock().unwrap().is_empty());
    let api =
        super::open(&document("https://x.example"), Some(&named), &none, &outside).await.unwrap().endpoint;
    assert!(called(&api, "listPets", json!({})).await.unwrap().structured.is_some());
    // The host of the document's own address is the operator's word.
    let own = Document::Address(format!("http://inner.example:{port}/document.yaml"));
    let error = super::open(&own, None, &none, &outside).await.err();
    assert!(error.is_none_or(|error| !error.message().contains("public internet")));
}

/// Documents that are none, of another version, too deep, or that repeat themselves without end are refused, and soon.
#[tokio::test]
async fn run_35_hostile_documents_are_refused() {
    let bomb = format!(
        "openapi: 3.0.0\na0: &a0 [x]\n{}",
        (1..40).map(|at| format!("a{at}: &a{at} [*a{p}, *a{p}]\n", p = at - 1)).collect::<String>()
    );
    let deep = format!("{{\"openapi\": \"3.1.0\", \"x\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let begun = std::time::Instant::now();
    for (text, wanted) in [
        ("", "none"),
        ("just text", "none"),
        ("[1]", "none"),
        ("swagger: '2.0'\npaths: {}", "version 2"),
        ("openapi: 4.0.0", "another version"),
        ("openapi: 3.0.0\nservers: [{url: 'https://x.example'}]\npaths: {}", "no operation"),
        ("openapi: 3.0.0\npaths: {}", "where the API is"),
        ("openapi: [", "cannot be read"),
        (bomb.as_str(), "cannot be read"),
        (deep.as_str(), "cannot be read"),
    ] {
        let document = Document::Text(text.to_owned());
        let error = super::open(&document, None, &headers(), &Outside::default()).await.err().unwrap();
        assert!(error.message().contains(wanted) && error.message().len() < 500, "{error} / {wanted}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn operations_that_cannot_be_called_are_left_out_and_the_others_stay() {
    let circle: Map<String, Json> = (0..500)
        .map(|at| (format!("S{at}"), json!({"properties": {"n": {"$ref": format!("#/components/schemas/S{}", (at + 1) % 500)}, "d": {"description": "x".repeat(200)}}})))
        .collect();
    let document = json!({
        "openapi": "3.1.0", "components": {"schemas": circle, "Loop": {"$ref": "#/components/Loop"}},
        "paths": {
            "no-slash": {"get": {}}, "/{missing}": {"get": {}}, "/upload": {"post": {"requestBody": {"required": true, "content": {"multipart/form-data": {}}}}},
            "/optional": {"post": {"requestBody": {"content": {"multipart/form-data": {}}}}}, "/odd": {"get": 7, "post": {"parameters": [{"in": "query"}]}},
            "/large": {"post": {"operationId": "large", "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}}},
            "/loop": {"$ref": "#/components/Loop"}, "/same": {"get": {"operationId": "large"}}, "/null": null,
        },
    });
    let all = operation::all(&document, &BTreeSet::new()).unwrap();
    let names: Vec<&str> = all.iter().map(|one| one.tool.name.as_str()).collect();
    assert_eq!(names, ["post_optional", "large", "get_same"]);
    assert!(
        all[1].tool.input_schema.to_string().len() < 33 << 10,
        "{}",
        all[1].tool.input_schema.to_string().len()
    );
    let many: Map<String, Json> = (0..2_001).map(|at| (format!("/{at}"), json!({"get": {}}))).collect();
    let error = operation::all(&json!({ "paths": many }), &BTreeSet::new()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
}
