//! The model that a client offers: the protocol's sampling, for where the operator has named no endpoint.
//!
//! Only what the client has declared is asked of it. A request goes from the server to the client in the middle of a call, which
//! the protocol allows up to revision 2025-11-25; in 2026-07-28 a server cannot ask that way, and the call is told so.

// Sampling is deprecated by the protocol (SEP-2577), and clients of the revisions that are served here have it.
#![allow(deprecated, reason = "the library marks what the protocol has deprecated")]

use async_trait::async_trait;
use dormouse_core::model::{Completion, Model, Prompt, Role};
use dormouse_core::{Error, ErrorCode, Result};
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ContextInclusion, CreateMessageRequest,
    CreateMessageRequestParams, CreateMessageResult, ProtocolVersion, RequestId, SamplingMessage,
    SamplingMessageContentBlock, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use rmcp::{RoleServer, ServiceError};
use std::sync::Arc;

/// The client's model.
struct ClientModel {
    peer: Peer<RoleServer>,
}

/// A client that declares a model and cannot be asked.
struct OutOfReach;

/// The model that comes with a request, if the client has declared one.
pub(crate) fn model(context: &RequestContext<RoleServer>) -> Option<Arc<dyn Model>> {
    context.client_capabilities()?.sampling?;
    let modern = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    Some(if modern { Arc::new(OutOfReach) } else { Arc::new(ClientModel { peer: context.peer.clone() }) })
}

#[async_trait]
impl Model for OutOfReach {
    fn name(&self) -> &str {
        "none"
    }

    async fn complete(&self, _: &Prompt, _: usize) -> Result<Completion> {
        let message = "no model reachable: a server does not ask clients of protocol 2026-07-28 in the middle of a call \
                       and no --llm-endpoint is set";
        Err(Error::new(ErrorCode::CapabilityUnavailable, message)
            .with_hint("have the operator set --llm-endpoint, or use a client of an earlier revision"))
    }
}

#[async_trait]
impl Model for ClientModel {
    fn name(&self) -> &str {
        "client"
    }

    async fn complete(&self, prompt: &Prompt, answer_bytes: usize) -> Result<Completion> {
        let messages = prompt.messages.iter().map(|message| match message.role {
            Role::User => SamplingMessage::user_text(message.text.as_str()),
            Role::Assistant => SamplingMessage::assistant_text(message.text.as_str()),
        });
        let mut params = CreateMessageRequestParams::new(messages.collect(), prompt.max_tokens)
            .with_include_context(ContextInclusion::None);
        if let Some(system) = &prompt.system {
            params = params.with_system_prompt(system.as_str());
        }
        let answer = self.ask(params).await?;
        let is_cut = answer.stop_reason.as_deref() == Some(CreateMessageResult::STOP_REASON_END_MAX_TOKEN);
        if let Some(text) = text(answer) {
            if text.len() <= answer_bytes {
                return Ok(Completion { text, tokens: None, is_cut });
            }
            let message = format!("the model's answer has more than {answer_bytes} bytes");
            return Err(Error::new(ErrorCode::TooLarge, message).with_hint("ask for a shorter answer"));
        }
        Err(unavailable("the client answered with something other than text"))
    }
}

impl ClientModel {
    async fn ask(&self, params: CreateMessageRequestParams) -> Result<CreateMessageResult> {
        let request = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params));
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| failed(&error))?;
        let mut pending = Pending::of(&self.peer, &handle.id);
        let answer = handle.await_response().await;
        pending.is_answered();
        match answer {
            Ok(ClientResult::CreateMessageResult(result)) => Ok(*result),
            Ok(_) => Err(unavailable("the client answered in another form than asked")),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// A question that the client has not answered. Dropped, it takes the question back.
pub(crate) struct Pending {
    peer: Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Pending {
    /// The question of this number.
    pub(crate) fn of(peer: &Peer<RoleServer>, id: &RequestId) -> Self {
        Self { peer: peer.clone(), id: Some(id.clone()) }
    }

    /// It is answered.
    pub(crate) fn is_answered(&mut self) {
        self.id = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let reason = Some("nobody waits for the answer any more".to_owned());
        runtime.spawn(async move {
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await;
        });
    }
}

/// The text of an answer, if it is nothing but text.
fn text(answer: CreateMessageResult) -> Option<String> {
    let mut whole = String::new();
    for block in answer.message.content.into_vec() {
        match block {
            SamplingMessageContentBlock::Text(text) => whole.push_str(&text.text),
            _ => return None,
        }
    }
    Some(whole)
}

fn failed(error: &ServiceError) -> Error {
    match error {
        // The client's own words, which are for its user.
        ServiceError::McpError(error) => {
            let said: String = error.message.escape_debug().take(200).collect();
            unavailable(format!("the client did not ask its model: {said}"))
        }
        _ => unavailable("the client cannot be asked for its model any more"),
    }
}

fn unavailable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ModelUnavailable, message)
        .with_hint("allow it in the client, or have the operator set --llm-endpoint")
}
