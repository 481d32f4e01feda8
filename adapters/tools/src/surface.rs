//! Which tools there are, and how one is called.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use dormouse_core::fair::Fair;
use dormouse_core::sandbox::{Owner, SessionKey};
use dormouse_core::{Error, ErrorCode, Grants, Manager, Model, ModelBudget, OutputSink, Result, Sandboxes};
use futures::FutureExt;
use serde_json::{Map, Value as Json};

use crate::decode::nearest;
use crate::fallback;
use crate::host::HostFolders;
use crate::instructions;
use crate::models::Models;
use crate::resource::{self, Artifacts, Resource};
use crate::skills::Skills;
use crate::tool::{self, Kept, Tool};
use crate::toolset::{Toolset, WITH_STATE};
use crate::unsaved;
use crate::words;

/// Archives that may wait to be unpacked.
const ARCHIVES_WAITING: usize = 128;

/// What a client may assume about a tool, decided once at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing outside the sandbox.
    pub read_only: bool,
    /// It can remove or overwrite something outside the sandbox, or takes away a sandbox's state for good.
    pub destructive: bool,
    /// Calling it twice is as calling it once.
    pub idempotent: bool,
    /// It reaches the network.
    pub open_world: bool,
}

/// One tool, as it is listed. It never changes while the process lives.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name: `[a-z][a-z0-9_]*`, at most 32 characters; in the profile `codegen` the seed's own, such as `Read`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it, for a model.
    pub description: String,
    /// JSON Schema of its arguments object (see [`schema`](crate::schema)).
    pub input_schema: Json,
    /// JSON Schema that every answer's `structured` fulfils, errors too.
    pub output_schema: Json,
    /// What a client may assume.
    pub annotations: Annotations,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// One JSON object that fulfils the tool's output schema.
    pub structured: Json,
    /// The same for readers of text: the JSON, or `Error: <message>` with a hint. At most 256 KiB.
    pub text: String,
    /// Whether the call was refused, or its run ended by a limit or a crash. An exception or an exit is no error.
    pub is_error: bool,
}

/// A set of tool names over the same work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// `sandbox_eval` and its siblings.
    #[default]
    Sandbox,
    /// `framework__eval`: PHP in the operator's project, in the form of requirements S1.
    Eval,
    /// `sprite_create` and its siblings, in the form of requirements S4. Needs sandboxes that last.
    Sprites,
    /// `rlm_exec` and its siblings, in the form of requirements S3. Needs sandboxes that last.
    Rlm,
    /// `Read`, `Edit`, `Bash`, `run_tests` and its siblings, in the form of requirements S0. Needs sandboxes that last.
    Codegen,
}

impl Profile {
    /// Every profile by its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("sandbox", Self::Sandbox),
        ("eval", Self::Eval),
        ("sprites", Self::Sprites),
        ("rlm", Self::Rlm),
        ("codegen", Self::Codegen),
    ];

    /// Whether it has no tools without sandboxes that last.
    pub fn needs_sandboxes(self) -> bool {
        matches!(self, Self::Sprites | Self::Rlm | Self::Codegen)
    }
}

/// Who calls, and where output goes meanwhile.
#[derive(Clone, Default)]
pub struct CallContext {
    /// Whose sandboxes are meant, and who pays; goes to the log. Default the local owner.
    pub owner: String,
    /// Receives output while the call runs. Default none.
    pub output: Option<Arc<dyn OutputSink>>,
    /// The model that the caller offers, for where the operator has named none. Default none.
    pub model: Option<Arc<dyn Model>>,
}

/// The tools over one manager. Making one starts nothing.
pub struct Surface {
    manager: Manager,
    /// Whose tools there are. Of two that have a tool of one name, the first has it.
    profiles: Vec<Profile>,
    grants: Grants,
    kept: Option<Kept>,
    skills: Skills,
    models: Models,
    confinement: &'static str,
    toolset: Toolset,
    /// Sorted by name, each with the profile that has it.
    tools: Vec<(Profile, Box<dyn Tool>)>,
    /// The tools that the operator has not chosen.
    left_out: Vec<&'static str>,
}

impl Surface {
    /// The default profile's tools, without grants and without sandboxes that last.
    pub fn new(manager: Manager) -> Self {
        let (profiles, grants, toolset) = (vec![Profile::default()], Grants::default(), Toolset::default());
        let (skills, models) = (Skills::default(), Models::default());
        let confinement = "off";
        let (kept, tools, left_out) = (None, Vec::new(), Vec::new());
        Self { manager, profiles, grants, kept, skills, models, confinement, toolset, tools, left_out }
            .remade()
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
        self.remade()
    }

    /// The same with what the operator grants every run and every new sandbox. Folders and the project are read-only,
    /// unless they are granted for writing, the operator allows writes, and the call asks for them (S1-22). Standard
    /// input and the seed are each call's own.
    #[must_use]
    pub fn with_grants(mut self, grants: &Grants) -> Self {
        self.grants = grants.clone();
        self.remade()
    }

    /// The same with sandboxes that last, and what tools may read and write on the host for them. The manager of the
    /// sandboxes is to be the surface's own.
    #[must_use]
    pub fn with_sandboxes(mut self, sandboxes: Sandboxes, host: HostFolders) -> Self {
        let (granted, models) = (Grants::default(), self.models.clone());
        let skills = Skills::default();
        let (session, started_in) = (None, None);
        let archives = Fair::new(1, true, ARCHIVES_WAITING);
        self.kept = Some(Kept { sandboxes, granted, host, session, started_in, skills, models, archives });
        self.remade()
    }

    /// The same with skills, which every new sandbox and every run without one sees. Their mounts are to be among the
    /// grants: see [`Skills::granted`].
    #[must_use]
    pub fn with_skills(mut self, skills: Skills) -> Self {
        self.skills = skills;
        self.remade()
    }

    /// The same with another key than the profile's name for the one sandbox of the profiles `rlm` and `codegen`, such as
    /// one for each working folder. Comes after [`Surface::with_sandboxes`].
    #[must_use]
    pub fn with_session_key(mut self, key: SessionKey) -> Self {
        if let Some(kept) = &mut self.kept {
            kept.session = Some(key);
        }
        self.remade()
    }

    /// The same for a server that was started in this folder: the one sandbox of the profiles `rlm` and `codegen` is the folder's own,
    /// unless a key was chosen for it. Comes after [`Surface::with_sandboxes`].
    #[must_use]
    pub fn with_working_folder(mut self, folder: &Path) -> Self {
        if let Some(kept) = &mut self.kept {
            kept.started_in = Some(tool::mark_of(folder));
        }
        self.remade()
    }

    /// Whether it matters which folders the client has as its roots: the caller asks it then, and [`Surface::take_roots`] with what it
    /// answers.
    pub fn ask_for_roots(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.host.ask_for_roots())
    }

    /// The client's roots, as addresses `file:///…`.
    pub fn take_roots(&self, addresses: &[String]) {
        if let Some(kept) = &self.kept {
            kept.host.take_roots(addresses);
        }
    }

    /// The same with a language model for snippets and sub-agents, if the operator has named one, and what each call may
    /// spend on it or on the caller's. Default: the caller's, with the default budget.
    #[must_use]
    pub fn with_model(mut self, model: Option<Arc<dyn Model>>, budget: ModelBudget) -> Self {
        self.models = Models::new(model, budget);
        self.remade()
    }

    /// The same, telling callers how much of what it does not need the kernel refuses this process: `full`, `partial` or
    /// `off`, which is the default.
    #[must_use]
    pub fn with_confinement(mut self, word: &'static str) -> Self {
        self.confinement = word;
        self.remade()
    }

    /// The same with a choice of its profiles' tools.
    ///
    /// # Errors
    /// `args_invalid` for a name that no profile has.
    pub fn with_tools(mut self, toolset: Toolset) -> Result<Self> {
        self.toolset = Toolset::All;
        self = self.remade();
        toolset.check(&self.specs().map(|spec| spec.name).collect::<Vec<_>>(), &self.lacking())?;
        self.toolset = toolset;
        Ok(self.remade())
    }

    fn remade(mut self) -> Self {
        let (grants, skills, models) = (&self.grants, &self.skills, &self.models);
        let given = tool::Given { grants, skills, models, confinement: self.confinement };
        let mut all: Vec<(Profile, Box<dyn Tool>)> = Vec::new();
        for profile in &self.profiles {
            for tool in tool::all(&self.manager, *profile, self.kept.as_ref(), &given) {
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
    fn lacking(&self) -> Vec<&'static str> {
        match self.kept.is_none() && self.profiles.contains(&Profile::Sandbox) {
            true => tool::lasting(),
            false => Vec::new(),
        }
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
        instructions::of(&self.profiles, self.kept.is_some(), self.grants.project.is_some())
    }

    /// The name and version under which they are offered.
    pub fn identity(&self) -> (&'static str, &'static str) {
        instructions::identity(&self.profiles)
    }

    /// Whether files of sandboxes are resources: artifacts are listed, and any file is read by its address.
    pub fn has_resources(&self) -> bool {
        let with = [Profile::Sandbox, Profile::Codegen];
        self.kept.is_some() && self.profiles.iter().any(|profile| with.contains(profile))
    }

    /// Why what calls do can not be saved just now, if that is known; none where no sandboxes last. Names no folder.
    pub fn trouble(&self) -> Option<Error> {
        self.kept.as_ref()?.sandboxes.trouble()
    }

    /// The files below `/workspace/outputs` of the owner's sandboxes; `after` is where the page before ended.
    ///
    /// # Errors
    /// `not_found` when there are no resources; `args_invalid` for an `after` that is no end of a page; what keeps the sandboxes from
    /// being listed.
    pub async fn list_resources(&self, owner: &Owner, after: Option<&str>) -> Result<Artifacts> {
        match &self.kept {
            Some(kept) if self.has_resources() => resource::list(&kept.sandboxes, owner, after).await,
            _ => Err(Error::new(ErrorCode::NotFound, "there are no resources here").with_hint(WITH_STATE)),
        }
    }

    /// Reads a file by its address.
    ///
    /// # Errors
    /// `not_found` for what is no address of a file, or when there are none; `unknown_sandbox`, `too_large` past 8 MiB.
    pub async fn read_resource(&self, owner: &Owner, uri: &str) -> Result<Resource> {
        match &self.kept {
            Some(kept) if self.has_resources() => resource::read(&kept.sandboxes, owner, uri).await,
            _ => Err(Error::new(ErrorCode::NotFound, "there are no resources here").with_hint(WITH_STATE)),
        }
    }

    /// Calls a tool. Dropping the future cancels what it runs. Arguments that do not fit are an answer with `is_error`.
    ///
    /// # Errors
    /// `not_found` when there is no such tool, and nothing else.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Json>,
        context: CallContext,
    ) -> Result<Reply> {
        let (profile, tool) = self.tool(name)?;
        let begin = Instant::now();
        let owner = context.owner.clone();
        // A panic below must not take the answer with it: the caller would wait for ever.
        let call = AssertUnwindSafe(tool.call(arguments, context)).catch_unwind();
        let (called, told) = dormouse_core::sandboxes::telling(call).await;
        let reply = match called {
            Ok(reply) => unsaved::told(fallback::told(reply, told.fallback_from), told.unsaved),
            Err(_) => tool.refuse(&Error::new(ErrorCode::Internal, format!("the tool `{name}` crashed"))),
        };
        let ms = begin.elapsed().as_millis();
        let reply = words::of_here(reply, profile, &self.left_out);
        tracing::info!(tool = name, owner, is_error = reply.is_error, code = code(&reply), ms, "called");
        Ok(reply)
    }

    /// The answer of a tool that is not even tried, such as `busy`.
    ///
    /// # Errors
    /// `not_found` when there is no such tool.
    pub fn refuse(&self, name: &str, error: &Error) -> Result<Reply> {
        let (profile, tool) = self.tool(name)?;
        Ok(words::of_here(tool.refuse(error), profile, &self.left_out))
    }

    /// The answer of a tool whose call is given up because the server ends: the same at every door.
    ///
    /// # Errors
    /// `not_found`, as for a call.
    pub fn refuse_at_end(&self, name: &str) -> Result<Reply> {
        self.refuse(name, &ending())
    }

    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// The profile that has the tool of that name, if there is one.
    pub(crate) fn profile_of(&self, name: &str) -> Option<Profile> {
        self.tools.iter().find(|(_, tool)| tool.spec().name == name).map(|(profile, _)| *profile)
    }

    fn tool(&self, name: &str) -> Result<(Profile, &dyn Tool)> {
        if let Some((profile, tool)) = self.tools.iter().find(|(_, tool)| tool.spec().name == name) {
            return Ok((*profile, tool.as_ref()));
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
    Error::new(ErrorCode::Cancelled, "the server is ending, and the call was given up").with_hint(
        "send it again when the server runs; what it wrote to files of a sandbox is kept, so look there before",
    )
}

/// The stable code of an answer, for the log.
fn code(reply: &Reply) -> &str {
    reply.structured["error"]["code"].as_str().unwrap_or("ok")
}

#[cfg(test)]
#[path = "surface_tests.rs"]
mod tests;
