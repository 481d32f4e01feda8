//! A tool over sandboxes that last: arguments of one type, one function, an answer of one type. Everything else is here.

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::{Error, Result};
use futures::future::BoxFuture;
use serde_json::{Map, Value as Json, json};

use super::lost;
use crate::call::{Answer, CallContext, Caller, Reply, encode, fallback, unsaved};
use crate::services::Services;
use crate::spec::{Annotations, Answered, Field, Order, Table, Take, ToolSpec, error_schema, schema};
use crate::tool::Tool;

/// One such tool, by the types of its arguments and of its answer.
pub(crate) struct Verb<A, R> {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: Table<A>,
    pub(crate) annotations: Annotations,
    pub(crate) order: Order,
    pub(crate) run: Run<A, R>,
}

/// The work of a verb.
pub(crate) type Run<A, R> = for<'a> fn(&'a Services, &'a Caller, A) -> BoxFuture<'a, Result<Answer<R>>>;

impl<A: Take + Send + 'static, R: Answered + Send + 'static> Verb<A, R> {
    /// The tool. Its answer says `error: null` when nothing went wrong, and a hint stands in the text of an error.
    pub(crate) fn tool(self, services: &Arc<Services>) -> Box<dyn Tool> {
        Box::new(VerbTool::new(services.clone(), self))
    }

    /// The same, with something more in its description.
    pub(crate) fn tool_telling(self, services: &Arc<Services>, more: &str) -> Box<dyn Tool> {
        let mut tool = VerbTool::new(services.clone(), self);
        tool.spec.description += more;
        Box::new(tool)
    }

    /// The tool of a seed, whose schema of arguments and forms of answers are the seed's, to the letter.
    pub(crate) fn tool_of_seed(self, services: &Arc<Services>, input_schema: Json) -> Box<dyn Tool> {
        let mut tool = VerbTool::new(services.clone(), self);
        tool.spec.input_schema = input_schema;
        if let Some(required) = tool.spec.output_schema.get_mut("required").and_then(Json::as_array_mut) {
            required.retain(|name| name != "error");
        }
        Box::new(VerbTool { is_seed: true, ..tool })
    }
}

/// A verb that can be called.
struct VerbTool<A, R> {
    services: Arc<Services>,
    arguments: Table<A>,
    order: Order,
    run: Run<A, R>,
    spec: ToolSpec,
    /// Whether it answers as a seed does: no `error` beside an answer, no hint in a text.
    is_seed: bool,
}

impl<A: Take, R: Answered> VerbTool<A, R> {
    fn new(services: Arc<Services>, verb: Verb<A, R>) -> Self {
        let mut output = R::answer_schema();
        if !output.has(fallback::FIELD) {
            output = output.optional(fallback::FIELD, fallback::schema());
        }
        if !verb.annotations.read_only {
            output = output.optional(unsaved::FIELD, unsaved::schema());
        }
        let spec = ToolSpec {
            name: verb.name,
            title: verb.title,
            description: verb.description.into(),
            input_schema: schema::input(verb.arguments.fields()),
            output_schema: output
                .required("error", error_schema("Why the call was refused; null when it was not."))
                .build(),
            answered: R::always(),
            annotations: verb.annotations,
        };
        let (arguments, order, run) = (verb.arguments, verb.order, verb.run);
        Self { services, arguments, order, run, spec, is_seed: false }
    }

    async fn answer(&self, arguments: Map<String, Json>, context: CallContext) -> Result<Answer<R>> {
        let arguments = self.arguments.decode(arguments)?;
        let model = self.services.offered.models.of_call(&context);
        let CallContext { owner, output, approver, .. } = context;
        let caller = Caller { owner, output, model, approver };
        (self.run)(&self.services, &caller, arguments).await
    }
}

#[async_trait]
impl<A: Take + Send, R: Answered + Send> Tool for VerbTool<A, R> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn fields(&self) -> &[Field] {
        self.arguments.fields()
    }

    fn order(&self) -> Order {
        self.order
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        match self.answer(arguments, context).await {
            Ok(answer) => answer.reply(!self.is_seed),
            Err(error) => self.refuse(&lost::at_door(self.spec.name, error)),
        }
    }

    fn refuse(&self, error: &Error) -> Reply {
        let structured = json!({"error": encode::error(error)});
        let text = if self.is_seed { format!("Error: {error}") } else { encode::error_text(error) };
        Reply { structured, text, is_error: true }
    }
}
