//! Which tools there are: those of each profile, the usual ones, and a choice of them.

mod toolset;

use std::sync::Arc;

use dormouse_core::sandboxes::Rules;
use dormouse_core::{Grants, Runtime};

pub use self::toolset::Toolset;
pub(crate) use self::toolset::WITH_STATE;
use crate::agents;
use crate::checks;
use crate::offered::Offered;
use crate::profile::Profile;
use crate::profiles::{code, codegen, eval as framework_eval, rlm, sprites};
use crate::services::Services;
use crate::skills::Skills;
use crate::tool::Tool;
use crate::verbs::{
    capabilities, create, eval, exec, files, folders, install, job, life, read, run, states, transfer,
    variables, write,
};

/// The tools that are listed when nobody chooses: what it takes to run code, to keep it and its files, and to go back or
/// several ways. A list costs its readers attention, so what snippets can do themselves and what is rare is left out.
pub(crate) const USUAL: [&str; 15] = [
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
    "sandbox_run",
    "sandbox_write",
];

/// The tools over sandboxes that last, which are not there without them.
pub(crate) const LASTING: [&str; 34] = [
    "run_lint",
    "run_tests",
    "run_typecheck",
    "sandbox_checkpoint",
    "sandbox_create",
    "sandbox_describe_checkpoint",
    "sandbox_destroy",
    "sandbox_download",
    "sandbox_edit",
    "sandbox_exec",
    "sandbox_files",
    "sandbox_fork",
    "sandbox_get",
    "sandbox_get_var",
    "sandbox_history",
    "sandbox_install",
    "sandbox_job",
    "sandbox_list",
    "sandbox_list_checkpoints",
    "sandbox_load",
    "sandbox_make_folder",
    "sandbox_read",
    "sandbox_remove_checkpoint",
    "sandbox_remove_file",
    "sandbox_rename_file",
    "sandbox_reset",
    "sandbox_restore",
    "sandbox_resume",
    "sandbox_run",
    "sandbox_stop",
    "sandbox_sub_agent",
    "sandbox_upload",
    "sandbox_vars",
    "sandbox_write",
];

/// What the operator gives all tools.
pub(crate) struct Given<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) skills: &'a Skills,
    pub(crate) offered: &'a Offered,
    pub(crate) confinement: &'static str,
}

/// All tools of a profile, sorted by name. Without sandboxes that last there are only those that need none.
pub(crate) fn all(
    runtime: &Runtime,
    profile: Profile,
    services: Option<&Services>,
    given: &Given<'_>,
) -> Vec<Box<dyn Tool>> {
    let (runtime, grants, skills) = (runtime.clone(), given.grants.clone(), given.skills.clone());
    let (offered, models) = (given.offered, &given.offered.models);
    let services = services.map(|services| {
        let (granted, skills, offered) = (grants.clone(), skills.clone(), offered.clone());
        Arc::new(Services { granted, skills, offered, ..services.clone() })
    });
    let mut tools: Vec<Box<dyn Tool>> = match (profile, &services) {
        (Profile::Sandbox, services) => {
            let capabilities = capabilities::Capabilities::new(
                runtime.clone(),
                grants.clone(),
                (skills, models.clone()),
                given.confinement,
            );
            let mut tools: Vec<Box<dyn Tool>> =
                vec![Box::new(capabilities), eval::tool(runtime, grants, services.as_ref(), offered)];
            tools.extend(services.iter().flat_map(verbs));
            tools
        }
        (Profile::Eval, _) => vec![Box::new(framework_eval::FrameworkEval::new(runtime, grants))],
        (Profile::Sprites, Some(services)) => sprites::all(services),
        (Profile::Rlm, Some(services)) => rlm::all(services),
        (Profile::Codegen, Some(services)) => codegen::all(services),
        (Profile::Code, Some(services)) => code::all(services),
        (Profile::Sprites | Profile::Rlm | Profile::Codegen | Profile::Code, None) => Vec::new(),
    };
    tools.sort_by_key(|tool| tool.spec().name);
    tools
}

/// The canonical tools over sandboxes that last.
fn verbs(services: &Arc<Services>) -> Vec<Box<dyn Tool>> {
    let rules: &Rules = services.sandboxes.rules();
    vec![
        create::create(&services.sandboxes).tool(services),
        life::get().tool(services),
        life::list().tool(services),
        life::stop(rules).tool(services),
        life::resume().tool(services),
        life::reset().tool(services),
        life::destroy().tool(services),
        exec::exec().tool(services),
        job::job().tool(services),
        run::run().tool(services),
        install::install().tool(services),
        read::read().tool(services),
        write::write().tool(services),
        write::edit().tool(services),
        files::files().tool(services),
        folders::remove_file().tool(services),
        folders::rename_file().tool(services),
        folders::make_folder().tool(services),
        transfer::upload().tool(services),
        transfer::download().tool(services),
        variables::load().tool(services),
        variables::get_var().tool(services),
        variables::vars().tool(services),
        states::checkpoint().tool(services),
        states::restore().tool(services),
        states::list_checkpoints().tool(services),
        states::describe_checkpoint().tool(services),
        states::remove_checkpoint().tool(services),
        states::history().tool(services),
        states::fork().tool(services),
        agents::sub_agent().tool(services),
        checks::tests().tool(services),
        checks::lint().tool(services),
        checks::types().tool(services),
    ]
}
