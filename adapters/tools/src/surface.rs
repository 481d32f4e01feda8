//! Which tools there are, and how one is called.

mod order;

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use dormouse_core::connections::Decision;
use dormouse_core::fair::Fair;
use dormouse_core::sandbox::{Owner, SessionKey};
use dormouse_core::{Connections, Error, ErrorCode, Grants, Model, ModelBudget, Result, Runtime};
use futures::FutureExt;
use serde_json::{Map, Value as Json};

use crate::call::places::{Owners, Place};
use crate::call::{CallContext, Reply, fallback, hints, unsaved};
use crate::catalog::{self, LASTING, Toolset, WITH_STATE};
use crate::host::HostFolders;
use crate::instructions;
use crate::models::Models;
use crate::offered::Offered;
use crate::profile::Profile;
use crate::resource::{self, Artifacts, Resource};
use crate::services::{self, Services};
use crate::skills::Skills;
use crate::spec::{ToolSpec, nearest};
use crate::tool::Tool;
use crate::verbs;

/// Archives that may wait to be unpacked.
const ARCHIVES_WAITING: usize = 128;

/// The tools over one runtime. Making one starts nothing.
pub struct Surface {
    runtime: Runtime,
    /// Whose tools there are. Of two that have a tool of one name, the first has it.
    profiles: Vec<Profile>,
    grants: Grants,
    services: Option<Services>,
    owners: Arc<Owners>,
    skills: Skills,
    offered: Offered,
    confinement: &'static str,
    toolset: Toolset,
    /// Sorted by name, each with the profile that has it.
    tools: Vec<(Profile, Box<dyn Tool>)>,
    /// The tools that the operator has not chosen.
    left_out: Vec<&'static str>,
}

impl Surface {
    /// The default profile's tools, without grants, and over the runtime's persistent sandboxes where it has them.
    pub fn new(runtime: Runtime) -> Self {
        let (profiles, grants, toolset) = (vec![Profile::default()], Grants::default(), Toolset::default());
        let (skills, offered) = (Skills::default(), Offered::default());
        let confinement = "off";
        let services = runtime.sandboxes().map(|sandboxes| Services {
            sandboxes: sandboxes.clone(),
            granted: Grants::default(),
            host: HostFolders::default(),
            session: None,
            started_in: None,
            skills: Skills::default(),
            offered: offered.clone(),
            archives: Fair::new(1, true, ARCHIVES_WAITING),
        });
        let (tools, left_out) = (Vec::new(), Vec::new());
        let owners = Arc::default();
        Self {
            runtime,
            profiles,
            grants,
            services,
            owners,
            skills,
            offered,
            confinement,
            toolset,
            tools,
            left_out,
        }
        .rebuilt()
    }

    /// The tools of another profile.
    #[must_use]
    pub fn with_profile(self, profile: Profile) -> Self {
        self.with_profiles(&[profile])
    }

    /// The tools of several profiles. Where two have a tool of one name, it is that of the profile that is named first.
    #[must_use]
    pub fn with_profiles(mut self, profiles: &[Profile]) -> Self {
        self.profiles = profiles.to_vec();
        self.rebuilt()
    }

    /// The same with what the operator grants every run and every new sandbox. Folders and the project are read-only,
    /// unless they are granted for writing, the operator allows writes, and the call asks for them (S1-22). Standard
    /// input and the seed are each call's own.
    #[must_use]
    pub fn with_grants(mut self, grants: &Grants) -> Self {
        self.grants = grants.clone();
        self.rebuilt()
    }

    /// The same with what tools may read and write on the host for persistent sandboxes. Default: nothing.
    #[must_use]
    pub fn with_host(mut self, host: HostFolders) -> Self {
        if let Some(services) = &mut self.services {
            services.host = host;
        }
        self.rebuilt()
    }

    /// The same with skills, which every new sandbox and every run without one sees. Their mounts are to be among the
    /// grants: see [`Skills::granted`].
    #[must_use]
    pub fn with_skills(mut self, skills: Skills) -> Self {
        self.skills = skills;
        self.rebuilt()
    }

    /// The same with another key than the profile's name for the one sandbox of the profiles `rlm` and `codegen`, such as
    /// one for each working folder.
    #[must_use]
    pub fn with_session_key(mut self, key: SessionKey) -> Self {
        if let Some(services) = &mut self.services {
            services.session = Some(key);
        }
        self.rebuilt()
    }

    /// The same for a server that was started in this folder: the one sandbox of the profiles `rlm` and `codegen` is the folder's own,
    /// unless a key was chosen for it.
    #[must_use]
    pub fn with_working_folder(mut self, folder: &Path) -> Self {
        if let Some(services) = &mut self.services {
            services.started_in = Some(services::mark_of(folder));
        }
        self.rebuilt()
    }

    /// Whether it matters which folders the client has as its roots: the caller asks it then, and [`Surface::take_roots`] with what it
    /// answers.
    pub fn ask_for_roots(&self) -> bool {
        self.services.as_ref().is_some_and(|services| services.host.ask_for_roots())
    }

    /// The client's roots, as addresses `file:///…`.
    pub fn take_roots(&self, addresses: &[String]) {
        if let Some(services) = &self.services {
            services.host.take_roots(addresses);
        }
    }

    /// The same with a language model for snippets and sub-agents, if the operator has named one, and what each call may
    /// spend on it or on the caller's. Default: the caller's, with the default budget.
    #[must_use]
    pub fn with_model(mut self, model: Option<Arc<dyn Model>>, budget: ModelBudget) -> Self {
        self.offered.models = Models::new(model, budget);
        self.served()
    }

    /// The same with tools of other servers, which programs in sandboxes can call. Default: there are none.
    #[must_use]
    pub fn with_connections(mut self, connections: Arc<dyn Connections>) -> Self {
        self.offered.connections = Some(connections);
        self.served()
    }

    /// Lets runs that outlive their call have what is offered now.
    fn served(self) -> Self {
        if let Some(services) = &self.services {
            services.sandboxes.serve_runs(Arc::new(self.offered.clone()));
        }
        self.rebuilt()
    }

    /// The same, telling callers how much of what it does not need the kernel refuses this process: `full`, `partial` or
    /// `off`, which is the default.
    #[must_use]
    pub fn with_confinement(mut self, word: &'static str) -> Self {
        self.confinement = word;
        self.rebuilt()
    }

    /// The same with the places of owners that other surfaces and doors share: what one owner may have in progress is counted
    /// over all of them. Default: places of its own.
    #[must_use]
    pub fn with_owners(self, owners: Arc<Owners>) -> Self {
        Self { owners, ..self }
    }

    /// The places in which calls are worked on.
    pub fn owners(&self) -> &Arc<Owners> {
        &self.owners
    }

    /// The same with a choice of its profiles' tools.
    ///
    /// # Errors
    /// `args_invalid` for a name that no profile has.
    pub fn with_tools(mut self, toolset: Toolset) -> Result<Self> {
        self.toolset = Toolset::All;
        self = self.rebuilt();
        toolset.check(&self.specs().map(|spec| spec.name).collect::<Vec<_>>(), self.lacking())?;
        self.toolset = toolset;
        Ok(self.rebuilt())
    }

    fn rebuilt(mut self) -> Self {
        let (grants, skills, offered) = (&self.grants, &self.skills, &self.offered);
        let given = catalog::Given { grants, skills, offered, confinement: self.confinement };
        let mut all: Vec<(Profile, Box<dyn Tool>)> = Vec::new();
        for profile in &self.profiles {
            for tool in catalog::all(&self.runtime, *profile, self.services.as_ref(), &given) {
                if all.iter().all(|(_, other)| other.spec().name != tool.spec().name) {
                    all.push((*profile, tool));
                }
            }
        }
        all.sort_by_key(|(_, tool)| tool.spec().name);
        let is_chosen =
            |(profile, tool): &(Profile, Box<dyn Tool>)| self.toolset.has(*profile, tool.spec().name);
        let (tools, left_out): (Vec<_>, Vec<_>) = all.into_iter().partition(is_chosen);
        self.left_out = left_out.iter().map(|(_, tool)| tool.spec().name).collect();
        self.tools = tools;
        self
    }

    /// The tools that would be there with sandboxes that last.
    fn lacking(&self) -> &'static [&'static str] {
        match self.services.is_none() && self.profiles.contains(&Profile::Sandbox) {
            true => &LASTING,
            false => &[],
        }
    }

    /// Answers whether a call of a run may be made: for the doors of people, and for no model. The run as it is then, as
    /// `sandbox_run` shows it.
    ///
    /// # Errors
    /// As [`Sandboxes::decide`](dormouse_core::Sandboxes::decide); `capability_unavailable` without sandboxes that last.
    pub fn decide(&self, owner: &Owner, (run, call): (&str, u32), decision: Decision) -> Result<Json> {
        let services = self.services.as_ref().ok_or_else(|| {
            Error::new(
                ErrorCode::CapabilityUnavailable,
                "this server has no persistent sandboxes, and so no runs",
            )
            .with_hint("have the operator start it with `--state-dir DIR`")
        })?;
        verbs::run::decide(&services.sandboxes, owner, (run, call), decision)
    }

    fn specs(&self) -> impl Iterator<Item = &ToolSpec> + Clone {
        self.tools.iter().map(|(_, tool)| tool.spec())
    }

    /// The tools, sorted by name; the same at every call. Starts nothing (S3-02).
    pub fn list(&self) -> Vec<ToolSpec> {
        self.specs().cloned().collect()
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.specs().find(|spec| spec.name == name)
    }

    /// What a model is told once about the tools as a whole.
    pub fn instructions(&self) -> String {
        instructions::of(&self.profiles, self.services.is_some(), self.grants.project.is_some())
    }

    /// The name and version under which they are offered.
    pub fn identity(&self) -> (&'static str, &'static str) {
        instructions::identity(&self.profiles)
    }

    /// Whether files of sandboxes are resources: artifacts are listed, and any file is read by its address.
    pub fn has_resources(&self) -> bool {
        let with = [Profile::Sandbox, Profile::Codegen];
        self.services.is_some() && self.profiles.iter().any(|profile| with.contains(profile))
    }

    /// Why what calls do can not be saved just now, if that is known; none where no sandboxes last. Names no folder.
    pub fn trouble(&self) -> Option<Error> {
        self.services.as_ref()?.sandboxes.trouble()
    }

    /// The files below `/workspace/outputs` of the owner's sandboxes; `after` is where the page before ended. It takes one of the
    /// owner's places, as a call does.
    ///
    /// # Errors
    /// `not_found` when there are no resources; `args_invalid` for an `after` that is no end of a page; `busy`; what keeps the
    /// sandboxes from being listed.
    pub fn list_resources<'a>(
        &'a self,
        owner: &'a Owner,
        after: Option<&'a str>,
    ) -> impl Future<Output = Result<Artifacts>> + Send + 'a {
        let place = self.owners.of(owner).enter(&Map::new());
        async move {
            let _place = place?;
            resource::list(&self.with_resources()?.sandboxes, owner, after).await
        }
    }

    /// Reads a file by its address, in one of the owner's places.
    ///
    /// # Errors
    /// `not_found` for what is no address of a file, or when there are none; `unknown_sandbox`, `busy`, `too_large` past 8 MiB.
    pub fn read_resource<'a>(
        &'a self,
        owner: &'a Owner,
        uri: &'a str,
    ) -> impl Future<Output = Result<Resource>> + Send + 'a {
        let place = self.owners.of(owner).enter(&Map::new());
        async move {
            let _place = place?;
            resource::read(&self.with_resources()?.sandboxes, owner, uri).await
        }
    }

    fn with_resources(&self) -> Result<&Services> {
        self.services.as_ref().filter(|_| self.has_resources()).ok_or_else(|| {
            Error::new(ErrorCode::NotFound, "there are no resources here").with_hint(WITH_STATE)
        })
    }

    /// Calls a tool in one of its owner's places, which is taken before the future is polled first: a call that waits for its turn
    /// counts. Dropping the future cancels what it runs. Arguments that do not fit are an answer with `is_error`, and so is `busy`,
    /// when the owner has no place free.
    ///
    /// # Errors
    /// `not_found` when there is no such tool, and nothing else.
    pub fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Json>,
        context: CallContext,
    ) -> impl Future<Output = Result<Reply>> + Send + 'a {
        let place = self.owners.of(&context.owner).enter(&arguments);
        async move {
            match place {
                Ok(place) => self.call_in(place, name, arguments, context).await,
                Err(busy) => self.refuse(name, &busy),
            }
        }
    }

    async fn call_in(
        &self,
        _: Place,
        name: &str,
        arguments: Map<String, Json>,
        context: CallContext,
    ) -> Result<Reply> {
        let (profile, tool) = self.tool(name)?;
        let (begin, owner) = (Instant::now(), context.owner.clone());
        // A panic below must not take the answer with it: the caller would wait for ever.
        let call = AssertUnwindSafe(tool.call(arguments, context)).catch_unwind();
        let (called, told) = dormouse_core::sandboxes::telling(call).await;
        let reply = match called {
            Ok(reply) => unsaved::told(fallback::told(reply, told.fallback_from), told.unsaved),
            Err(_) => tool.refuse(&Error::new(ErrorCode::Internal, format!("the tool `{name}` crashed"))),
        };
        let ms = begin.elapsed().as_millis();
        let reply = hints::of_here(reply, profile, &self.left_out);
        tracing::info!(tool = name, %owner, is_error = reply.is_error, code = code(&reply), ms, "called");
        Ok(reply)
    }

    /// The answer of a tool that is not even tried, such as `busy`.
    ///
    /// # Errors
    /// `not_found` when there is no such tool.
    pub fn refuse(&self, name: &str, error: &Error) -> Result<Reply> {
        let (profile, tool) = self.tool(name)?;
        Ok(hints::of_here(tool.refuse(error), profile, &self.left_out))
    }

    /// The answer of a tool whose call is given up because the server ends: the same at every door.
    ///
    /// # Errors
    /// `not_found`, as for a call.
    pub fn refuse_at_end(&self, name: &str) -> Result<Reply> {
        self.refuse(name, &ending())
    }

    pub(crate) fn services(&self) -> Option<&Services> {
        self.services.as_ref()
    }

    /// The tool of that name and the profile that has it, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<(Profile, &dyn Tool)> {
        let found = self.tools.iter().find(|(_, tool)| tool.spec().name == name);
        found.map(|(profile, tool)| (*profile, tool.as_ref()))
    }

    fn tool(&self, name: &str) -> Result<(Profile, &dyn Tool)> {
        if let Some(found) = self.find(name) {
            return Ok(found);
        }
        let names = self.specs().map(|spec| spec.name);
        let hint = match nearest(name, names.clone()) {
            _ if self.left_out.contains(&name) => {
                "the operator adds it with `--tools all`, or by name".into()
            }
            _ if self.lacking().contains(&name) => WITH_STATE.into(),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the tools are `{}`", names.collect::<Vec<_>>().join("`, `")),
        };
        let shown: String = name.escape_debug().take(64).collect();
        Err(Error::new(ErrorCode::NotFound, format!("there is no tool `{shown}`")).with_hint(hint))
    }
}

/// That a call is given up because the server ends.
pub fn ending() -> Error {
    Error::new(ErrorCode::Cancelled, "the server is shutting down, and the call was cancelled").with_hint(
        "send it again when the server runs; what it wrote to the sandbox's files is kept, so check them first",
    )
}

/// The stable code of an answer, for the log.
fn code(reply: &Reply) -> &str {
    reply.structured["error"]["code"].as_str().unwrap_or("ok")
}

#[cfg(test)]
#[path = "surface_tests.rs"]
mod tests;
