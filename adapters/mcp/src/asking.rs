//! Asking the person at the client whether a program may call a tool of another server: the protocol's elicitation.
//!
//! Up to revision 2025-11-25 the question goes from the server to the client in the middle of the call. Since 2026-07-28 the call
//! is answered with the question, and made again with the person's answer: that is done for `sandbox_run`, whose program waits
//! meanwhile. A program that another call runs would have to run anew, and cannot ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dormouse_core::connections::{ApprovalRequest, Approver, Decision};
use rmcp::RoleServer;
use rmcp::model::{
    BooleanSchema, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::handler::is_modern;
use crate::sampling::Pending;

/// The tool whose calls can be answered with a question.
const ANSWERED: &str = "sandbox_run";
/// Characters of the arguments that are shown.
const SHOWN: usize = 8_000;
/// The field of the form.
const ALLOW: &str = "allow";

/// How the person at the client can be asked in a call.
pub(crate) enum Asking {
    /// Not at all.
    Nobody,
    /// In the middle of it.
    Meanwhile(Arc<Meanwhile>),
    /// By its answer.
    InRounds(Arc<Rounds>),
}

impl Asking {
    /// Of this call; `answers`: what the person has said already.
    pub(crate) fn of(
        context: &RequestContext<RoleServer>,
        tool: &str,
        answers: Option<InputResponses>,
    ) -> Self {
        let elicits = context.client_capabilities().is_some_and(|client| client.elicitation.is_some());
        match (elicits, is_modern(context)) {
            (true, false) => Self::Meanwhile(Arc::new(Meanwhile { peer: context.peer.clone() })),
            (true, true) if tool == ANSWERED => Self::InRounds(Arc::new(Rounds {
                answers: answers.unwrap_or_default(),
                open: Mutex::default(),
                asked: Notify::new(),
            })),
            _ => Self::Nobody,
        }
    }

    /// Whom the call asks.
    pub(crate) fn approver(&self) -> Option<Arc<dyn Approver>> {
        match self {
            Self::Nobody => None,
            Self::Meanwhile(asks) => Some(asks.clone()),
            Self::InRounds(asks) => Some(asks.clone()),
        }
    }

    /// The question that the call is to be answered with. Never, where it asks in another way.
    pub(crate) async fn question(&self) -> InputRequiredResult {
        match self {
            Self::InRounds(asks) => asks.question().await,
            _ => std::future::pending().await,
        }
    }
}

/// Asks in the middle of a call.
pub(crate) struct Meanwhile {
    peer: Peer<RoleServer>,
}

#[async_trait]
impl Approver for Meanwhile {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(&request)));
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let Ok(handle) = sent else { return unanswered() };
        let mut pending = Pending::of(&self.peer, &handle.id);
        let answer = handle.await_response().await;
        pending.is_answered();
        match answer {
            Ok(ClientResult::ElicitResult(result)) => decision(&result),
            _ => unanswered(),
        }
    }
}

/// Asks by the answers of calls.
pub(crate) struct Rounds {
    answers: InputResponses,
    open: Mutex<BTreeMap<String, InputRequest>>,
    asked: Notify,
}

impl Rounds {
    async fn question(&self) -> InputRequiredResult {
        self.asked.notified().await;
        InputRequiredResult::from_input_requests(
            self.open.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        )
    }
}

#[async_trait]
impl Approver for Rounds {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let key = key(&request);
        if let Some(answer) = self.answers.get(&key) {
            return serde_json::from_value(answer.clone())
                .map_or_else(|_| unanswered(), |result| decision(&result));
        }
        let question = InputRequest::Elicitation(ElicitRequest::new(form(&request)));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(key, question);
        self.asked.notify_one();
        // The call is given up, and made again with the answer.
        std::future::pending().await
    }
}

/// What an answer is found by when the call is made again: the same for the same question.
fn key(request: &ApprovalRequest) -> String {
    let text = format!("{}\0{}\0{}", request.tool, request.arguments, request.reason);
    let hash = Sha256::digest(text.as_bytes());
    format!("allow-{}", hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The question, with the call as data: control characters are shown and do nothing.
fn form(request: &ApprovalRequest) -> ElicitRequestParams {
    let whole = request.arguments.to_string();
    let arguments = match whole.char_indices().nth(SHOWN) {
        None => whole,
        Some((cut, _)) => format!(
            "{}… (cut: {} bytes in all, and what is cut is not shown here)",
            &whole[..cut],
            whole.len()
        ),
    };
    let message = format!(
        "A program in a sandbox wants to call the tool `{}` with the arguments {}. {}",
        request.tool.escape_debug(),
        plain(&arguments),
        plain(&request.reason),
    );
    let allow = |schema: BooleanSchema| {
        schema.title("Allow this call").description("Whether the program may make this call, this once.")
    };
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::builder().required_bool_with(ALLOW, allow).build_unchecked(),
    }
}

fn plain(text: &str) -> String {
    let shown = |c: char| -> String {
        if c.is_control() || dormouse_core::sandbox::hides_text(c) {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(shown).collect()
}

fn decision(result: &ElicitResult) -> Decision {
    let allows = result.content.as_ref().is_some_and(|content| content[ALLOW] == true);
    match result.action {
        ElicitationAction::Accept if allows => Decision::Approved,
        ElicitationAction::Accept | ElicitationAction::Decline => {
            Decision::Denied("the person asked has denied it".into())
        }
        _ => Decision::Denied("the person asked has not decided".into()),
    }
}

fn unanswered() -> Decision {
    Decision::Denied("the client did not answer whether it may be made".into())
}
