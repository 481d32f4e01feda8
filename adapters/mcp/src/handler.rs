//! Answers the protocol's requests out of the surface.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Approver, Error, ErrorCode};
use dormouse_tools::resource::{Artifact, Resource, TEMPLATE};
use dormouse_tools::surface::ending;
use dormouse_tools::{CallContext, Reply, Surface, ToolSpec};
use rmcp::model::{
    Annotations, CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorData, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource as Link, ResourceContents, ResourceTemplate,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::asking::Asking;
use crate::long::Apart;
use crate::order::in_order;
use crate::progress::{self, Written};
use crate::{parse, roots, sampling};

/// How long a client may keep the list of tools, in milliseconds: it never changes while the process lives.
const LIST_TTL_MS: u64 = 300_000;
/// The methods that are served.
const SERVED: &[&str] = &["initialize", "ping", "server/discover", "tools/call", "tools/list"];
/// Those that are served besides where files are resources.
const RESOURCES: &[&str] = &["resources/list", "resources/read", "resources/templates/list"];

/// The server of one connection. It keeps nothing between requests.
#[derive(Clone)]
pub struct Handler {
    surface: Arc<Surface>,
    closing: CancellationToken,
}

impl Handler {
    /// A handler over the surface. Starts nothing.
    pub fn new(surface: Arc<Surface>) -> Self {
        Self { surface, closing: CancellationToken::new() }
    }

    /// Gives up every call in progress, each with an answer, when `closing` is cancelled.
    pub(crate) fn ending_with(mut self, closing: CancellationToken) -> Self {
        self.closing = closing;
        self
    }

    /// What work comes to, or that the server ends meanwhile.
    async fn unless_ending<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(ending()),
            done = work => done,
        }
    }

    async fn call(
        &self,
        name: &str,
        arguments: JsonObject,
        approver: Option<Arc<dyn Approver>>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Error> {
        let caller =
            CallContext { model: sampling::model(context), approver, ..CallContext::of(owner(context)) };
        let Some(token) = context.meta.get_progress_token() else {
            return in_order(context, self.surface.call(name, arguments, caller)).await;
        };
        let written = Arc::new(Written::default());
        let total = self.surface.time_limit(name, &arguments);
        let run = self.surface.call(name, arguments, CallContext { output: Some(written.clone()), ..caller });
        tokio::select! {
            reply = in_order(context, run) => reply,
            () = progress::notify(context.peer.clone(), token, total, written) => Err(cancelled()),
        }
    }
}

/// Who calls: whom the front door of the request found, or nobody in particular.
fn owner(context: &RequestContext<RoleServer>) -> Owner {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    parts.and_then(|parts| parts.extensions.get::<Owner>()).cloned().unwrap_or_else(Owner::local)
}

/// Arguments that were too long to stay in the request's body.
fn apart(context: &RequestContext<RoleServer>) -> Option<JsonObject> {
    context.extensions.get::<axum::http::request::Parts>()?.extensions.get::<Apart>()?.take()
}

fn cancelled() -> Error {
    Error::new(ErrorCode::Cancelled, "the call was cancelled")
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        capabilities.resources = self.surface.has_resources().then(Default::default);
        let (name, version) = self.surface.identity();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name, version).with_title("Dormouse sandbox"))
            .with_instructions(self.surface.instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        // Calls that come before the client has told its roots wait for them.
        roots::matter(&self.surface, &request.capabilities);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.on_roots_list_changed(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        let client = context.peer.peer_info();
        if client.is_some_and(|client| roots::matter(&self.surface, &client.capabilities)) {
            roots::ask(&self.surface, &context.peer).await;
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(self.surface.list().into_iter().map(tool).collect());
        Ok(if is_modern(&context) {
            list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public)
        } else {
            list
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = apart(&context).or(request.arguments).unwrap_or_default();
        let asking = Asking::of(&context, &request.name, request.input_responses);
        // Cancelling drops the call, and with it the sandbox.
        let reply = tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(cancelled()),
            () = self.closing.cancelled() => self.surface.refuse_at_end(&request.name),
            question = asking.question() => return Ok(question.into()),
            reply = self.call(&request.name, arguments, asking.approver(), &context) => reply,
        };
        match reply {
            Ok(reply) => Ok(result(reply).into()),
            Err(error) => Err(refusal(&error)),
        }
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut found = DiscoverResult::from_server_info(versions, self.get_info()).with_ttl_ms(LIST_TTL_MS);
        found.cache_scope = CacheScope::Public;
        Ok(found)
    }

    // The library answers these with empty lists. A server that does not declare a capability does not have its methods.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.surface.has_resources() {
            return Err(no_method("resources/list"));
        }
        let owner = owner(&context);
        let after = request.and_then(|page| page.cursor);
        let listing = self.surface.list_resources(&owner, after.as_deref());
        let page = self.unless_ending(in_order(&context, listing)).await.map_err(|error| refusal(&error))?;
        let mut list = ListResourcesResult::with_all_items(page.all.into_iter().map(artifact).collect());
        list.next_cursor = page.next;
        Ok(if is_modern(&context) { list.with_ttl_ms(0).with_cache_scope(CacheScope::Private) } else { list })
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if self.surface.has_resources() {
            let template = ResourceTemplate::new(TEMPLATE, "file of a sandbox");
            return Ok(ListResourceTemplatesResult::with_all_items(vec![template]));
        }
        Err(no_method("resources/templates/list"))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.surface.has_resources() {
            return Err(no_method("resources/read"));
        }
        let owner = owner(&context);
        let read = in_order(&context, self.surface.read_resource(&owner, &request.uri));
        let Resource { mime_type, bytes } =
            self.unless_ending(read).await.map_err(|error| about(&request.uri, refusal(&error)))?;
        let contents = match String::from_utf8(bytes) {
            Ok(text) => ResourceContents::text(text, request.uri),
            Err(error) => ResourceContents::blob(BASE64.encode(error.as_bytes()), request.uri),
        };
        Ok(ReadResourceResult::new(vec![contents.with_mime_type(mime_type)]).into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    /// What the library could not read as one of its requests: an unknown method, or a known one with parameters of
    /// another form.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let served =
            SERVED.contains(&method) || (self.surface.has_resources() && RESOURCES.contains(&method));
        Err(if served {
            let params = request.params.unwrap_or_default();
            ErrorData::invalid_params(format!("`{method}`: {}", parse::misshapen(&params)), None)
        } else {
            no_method(method)
        })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.surface.get(name).cloned().map(tool)
    }
}

fn no_method(method: &str) -> ErrorData {
    let shown: String = method.escape_debug().take(64).collect();
    let message = format!("there is no method `{shown}`");
    ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, message, None)
}

fn result(reply: Reply) -> CallToolResult {
    let mut content = vec![ContentBlock::text(reply.text)];
    content.extend(link(&reply.structured["resource"]).map(ContentBlock::resource_link));
    let mut result =
        if reply.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(reply.structured);
    result
}

/// Whether the client asks for what lists say since 2026: for how long, and for whom, they may be kept.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// A file of those that are listed.
fn artifact(of: Artifact) -> Link {
    let link =
        Link::new(of.uri, of.name).with_title(of.title).with_mime_type(of.mime_type).with_size(of.size);
    let mut about = Annotations::default();
    about.last_modified = Some(of.modified_at);
    link.with_annotations(about)
}

/// A file that an answer names.
fn link(told: &Json) -> Option<Link> {
    let link =
        Link::new(told["uri"].as_str()?, told["name"].as_str()?).with_mime_type(told["mime_type"].as_str()?);
    Some(link.with_size(told["size_bytes"].as_u64()?))
}

/// An error that says which resource it speaks of, as the protocol asks.
fn about(uri: &str, mut error: ErrorData) -> ErrorData {
    if let Some(Json::Object(data)) = &mut error.data {
        let shown: String = uri.chars().take(4_096).collect();
        data.insert("uri".into(), shown.into());
    }
    error
}

/// A request that names no tool and no file, that is not read, or that nobody waits for any more.
pub(crate) fn refusal(error: &Error) -> ErrorData {
    let message = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    let data = serde_json::to_value(error).ok();
    match error.code() {
        ErrorCode::NotFound
        | ErrorCode::UnknownSandbox
        | ErrorCode::InvalidState
        | ErrorCode::ArgsInvalid
        | ErrorCode::TooLarge => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

fn tool(spec: ToolSpec) -> Tool {
    let annotations = ToolAnnotations::with_title(spec.title)
        .read_only(spec.annotations.read_only)
        .destructive(spec.annotations.destructive)
        .idempotent(spec.annotations.idempotent)
        .open_world(spec.annotations.open_world);
    let mut tool = Tool::new(spec.name, spec.description, object(spec.input_schema));
    tool.title = Some(spec.title.to_owned());
    tool.output_schema = Some(object(spec.output_schema));
    tool.annotations = Some(annotations);
    tool
}

/// A schema is always an object.
fn object(schema: Json) -> Arc<JsonObject> {
    match schema {
        Json::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}
