//! The tools: those of one verb each, those that belong together in one file, and profiles of the same work.

mod capabilities;
mod checks;
mod clone;
mod codegen;
mod create;
mod eval;
pub(crate) mod exec;
mod files;
mod folders;
mod framework_eval;
mod given;
mod install;
mod life;
mod look;
mod lost;
mod read;
mod rlm;
mod shown;
mod sprites;
mod states;
mod sub_agent;
mod transfer;
mod variables;
mod verb;

use std::sync::Arc;

pub(crate) use codegen::PROFILE as CODEGEN;
#[cfg(test)]
pub(crate) use eval::fields as eval_fields;
pub use files::MAX_CONTENT;
pub(crate) use rlm::PROFILE as RLM;
pub(crate) use verb::{Kept, mark_of};

use async_trait::async_trait;
use dormouse_core::sandboxes::Rules;
use dormouse_core::{Error, Grants, Manager};
use serde_json::{Map, Value as Json};

use crate::models::Models;
use crate::schema::{self, Object};
use crate::skills::Skills;
use crate::surface::{CallContext, Profile, Reply, ToolSpec};

/// One tool.
#[async_trait]
pub(crate) trait Tool: Send + Sync {
    /// How it is listed. Always the same.
    fn spec(&self) -> &ToolSpec;

    /// Decodes, runs, encodes. Dropping the future cancels the run.
    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply;

    /// The answer when something else kept it from running. Fulfils the output schema.
    fn refuse(&self, error: &Error) -> Reply;
}

/// The tools that are listed when nobody chooses: what it takes to run code, to keep it and its files, and to go back or
/// several ways. A list costs its readers attention, so what snippets can do themselves and what is rare is left out.
pub(crate) const USUAL: [&str; 14] = [
    "sandbox_capabilities",
    "sandbox_checkpoint",
    "sandbox_create",
    "sandbox_destroy",
    "sandbox_eval",
    "sandbox_exec",
    "sandbox_files",
    "sandbox_fork",
    "sandbox_job",
    "sandbox_list",
    "sandbox_read",
    "sandbox_remove_checkpoint",
    "sandbox_restore",
    "sandbox_write",
];

/// What the operator gives all tools.
pub(crate) struct Given<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) skills: &'a Skills,
    pub(crate) models: &'a Models,
    pub(crate) confinement: &'static str,
}

/// All tools of a profile, sorted by name. Without sandboxes that last there are only those that need none.
pub(crate) fn all(
    manager: &Manager,
    profile: Profile,
    kept: Option<&Kept>,
    given: &Given<'_>,
) -> Vec<Box<dyn Tool>> {
    let (manager, grants, skills) = (manager.clone(), given.grants.clone(), given.skills.clone());
    let models = given.models;
    let kept = kept.map(|kept| {
        let (granted, skills, models) = (grants.clone(), skills.clone(), models.clone());
        Arc::new(Kept { granted, skills, models, ..kept.clone() })
    });
    let mut tools: Vec<Box<dyn Tool>> = match (profile, &kept) {
        (Profile::Sandbox, kept) => {
            let sandboxes = kept.as_ref().map(|kept| kept.sandboxes.clone());
            let capabilities = capabilities::Capabilities::new(
                manager.clone(),
                grants.clone(),
                (skills, models.clone()),
                sandboxes,
                given.confinement,
            );
            let eval = eval::Eval::new(manager, grants, kept.clone(), models.clone());
            let mut tools: Vec<Box<dyn Tool>> = vec![Box::new(capabilities), Box::new(eval)];
            tools.extend(kept.iter().flat_map(verbs));
            tools
        }
        (Profile::Eval, _) => vec![Box::new(framework_eval::FrameworkEval::new(manager, grants))],
        (Profile::Sprites, Some(kept)) => sprites::all(kept),
        (Profile::Rlm, Some(kept)) => rlm::all(kept),
        (Profile::Codegen, Some(kept)) => codegen::all(kept),
        (Profile::Sprites | Profile::Rlm | Profile::Codegen, None) => Vec::new(),
    };
    tools.sort_by_key(|tool| tool.spec().name);
    tools
}

/// The canonical tools over sandboxes that last.
fn verbs(kept: &Arc<Kept>) -> Vec<Box<dyn Tool>> {
    let all = std::iter::once(create::create(&kept.sandboxes)).chain(others(kept.sandboxes.rules()));
    all.map(|verb| Box::new(verb::KeptTool::new(kept.clone(), verb)) as Box<dyn Tool>).collect()
}

/// The names of all of them.
pub(crate) fn lasting() -> Vec<&'static str> {
    let others = others(&Rules::default()).map(|verb| verb.name);
    std::iter::once("sandbox_create").chain(others).collect()
}

/// All but the one that makes a sandbox.
fn others(rules: &Rules) -> impl Iterator<Item = verb::Verb> + use<> {
    let all = [
        life::get(),
        life::list(),
        life::stop(rules),
        life::resume(),
        life::reset(),
        life::destroy(),
        exec::exec(),
        exec::job::job(),
        install::install(),
        read::read(),
        files::write(),
        files::edit(),
        files::files(),
        folders::remove_file(),
        folders::rename_file(),
        folders::make_folder(),
        transfer::upload(),
        transfer::download(),
        variables::load(),
        variables::get_var(),
        variables::vars(),
        states::checkpoint(),
        states::restore(),
        states::list_checkpoints(),
        states::describe_checkpoint(),
        states::remove_checkpoint(),
        states::history(),
        states::fork(),
        sub_agent::sub_agent(),
    ];
    all.into_iter().chain(checks::Check::ALL.map(checks::Check::verb))
}

/// The schema of the `warning` of a run.
fn warning_schema() -> Json {
    error_schema(
        "What to know besides; only when there is something: more is saved than may be, or the files are more than the disk \
         may hold, so that the run could change and remove files, and not add to them.",
    )
}

/// The schema of an answer's `error`: an object, or null.
fn error_schema(description: &'static str) -> Json {
    Object::new()
        .description(description)
        .required("code", schema::text("Stable name, such as limit_time, limit_memory, args_invalid, busy."))
        .required("message", schema::text("What happened, with the limit and the value."))
        .required("hint", schema::text("What to do about it."))
        .or_null()
}
