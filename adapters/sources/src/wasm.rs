//! The source `wasm`: a fresh sandbox of this process for each endpoint, and one profile of tools over it.
//!
//! Its arguments are [`ARGUMENTS`].
//!
//! An endpoint has an owner of its own, so that its tools reach no other sandbox, and all that they made ends with it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::sandbox::{Handle, Owner, SandboxId, SessionKey};
use dormouse_core::{
    Access, Error, ErrorCode, Grants, GuestPath, Mount, OutputSink, Result, Sandboxes, Stream,
};
use dormouse_tools::{CallContext, Profile, Reply, Surface, ToolSpec, Toolset};
use serde_json::{Map, Value as Json, json};

use crate::args::{self, Args, Argument, ContainerMount, MOUNTS};
use crate::mountable::Mountable;
use crate::{Call, Endpoint, Listed, Opened, Progress, Source, ToolAnswer};

/// Its arguments.
pub const ARGUMENTS: [Argument; 7] = [
    Argument {
        name: "profile",
        what: "the set of tools: `sandbox`, `eval`, `sprites`, `rlm` or `codegen`; with `sprites` nothing is there before a tool makes it, so only `mounts` goes with it",
        default: "`codegen`",
    },
    Argument {
        name: "repo",
        what: "a repository that `/workspace` is cloned from, by the host, where the operator allows it (`--allow-git`)",
        default: "none",
    },
    Argument { name: "branch", what: "the branch of it", default: "the repository's own" },
    Argument {
        name: "files",
        what: "texts that the sandbox begins with, by absolute path; at most 256, 4 MiB together",
        default: "none",
    },
    Argument { name: "env", what: "environment variables, texts by name, at most 256", default: "none" },
    MOUNTS,
    Argument {
        name: "limits",
        what: "`memory_bytes` and `disk_bytes`, whole numbers up to the operator's",
        default: "the operator's",
    },
];
/// What a sandbox begins with: nothing for tools that make their sandboxes themselves.
const BEGINS_WITH: [&str; 5] = ["repo", "branch", "files", "env", "limits"];
const LIMITS: [&str; 2] = ["memory_bytes", "disk_bytes"];
/// The session key of an endpoint's sandbox.
const KEY: &str = "source";
/// Bytes of all files together (4 MiB).
const MAX_FILES: usize = 4 << 20;
/// What a process that was killed left is destroyed after a day: it cannot do it itself.
const RETENTION_MS: u64 = 24 * 3_600_000;
/// Time after which an endpoint that was given up while it opened is looked for again.
const LATER: Duration = Duration::from_secs(2);
/// Sandboxes that are looked for at a time.
const PAGE: usize = 100;

/// Makes a surface over the sandboxes, with what the operator gives every surface; grants come here.
pub type MakeSurface = dyn Fn() -> Surface + Send + Sync;

/// The source.
pub struct WasmSource {
    /// None: arguments are checked, and nothing can be opened.
    over: Option<Over>,
    grants: Grants,
    mountable: Mountable,
}

/// What it is over.
struct Over {
    make: Arc<MakeSurface>,
    sandboxes: Sandboxes,
}

impl WasmSource {
    /// The source over an installation's sandboxes. `make` gives a surface with them ([`Surface::with_sandboxes`]). No folder
    /// can be mounted.
    pub fn new(sandboxes: Sandboxes, make: Arc<MakeSurface>) -> Self {
        let over = Some(Over { make, sandboxes });
        Self { over, grants: Grants::default(), mountable: Mountable::default() }
    }

    /// A source that checks arguments and opens nothing.
    pub fn checking() -> Self {
        Self { over: None, grants: Grants::default(), mountable: Mountable::default() }
    }

    /// The same with what the operator grants every sandbox.
    #[must_use]
    pub fn with_grants(mut self, grants: &Grants) -> Self {
        self.grants = grants.clone();
        self
    }

    /// The same with folders of the host that `mounts` may name.
    #[must_use]
    pub fn with_mountable(mut self, mountable: Mountable) -> Self {
        self.mountable = mountable;
        self
    }

    /// What the sandboxes of an endpoint are granted, with these mounts.
    fn granted(&self, mounts: Vec<ContainerMount>) -> Result<Grants> {
        let mut grants = self.grants.clone();
        for ContainerMount { source, target, access } in self.mountable.all(mounts)? {
            // One of the operator's at the same place gives way, so that both can name a skill.
            grants.mounts.retain(|other| other.target != target);
            grants.mounts.push(Mount { source, target, access });
        }
        grants.check()?;
        Ok(grants)
    }
}

impl Over {
    /// Makes the sandbox. Whatever is made is the owner's.
    async fn fill(&self, asked: &Asked, grants: &Grants, owner: &Owner) -> Result<()> {
        let mut arguments = Map::new();
        arguments.insert("session_key".into(), KEY.into());
        arguments.insert("retention_ms".into(), RETENTION_MS.min(self.longest()).into());
        let texts = [("repo", &asked.repo), ("branch", &asked.branch)];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.clone()?.into())));
        arguments.extend(texts);
        arguments.extend(asked.limits.clone());
        let env: Vec<String> = asked.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        arguments.insert("env".into(), env.into());
        if grants.mounts.iter().any(|mount| mount.access == Access::ReadWrite) {
            arguments.insert("allow_writes".into(), true.into());
        }
        let setup =
            (self.make)().with_grants(grants).with_profile(Profile::Sandbox).with_tools(Toolset::All)?;
        let context = CallContext { owner: owner.as_str().into(), ..CallContext::default() };
        let reply = setup.call("sandbox_create", arguments, context).await?;
        if reply.is_error {
            return Err(refused(&reply));
        }
        let sandbox = Handle::SessionKey(KEY);
        for (path, text) in &asked.files {
            self.sandboxes.write(owner, &sandbox, path.clone(), text.clone().into_bytes()).await?;
        }
        Ok(())
    }

    fn longest(&self) -> u64 {
        u64::try_from(self.sandboxes.rules().ceiling.retention.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Arguments that were checked.
struct Asked {
    profile: Profile,
    repo: Option<String>,
    branch: Option<String>,
    env: Vec<(String, String)>,
    mounts: Vec<ContainerMount>,
    files: Vec<(GuestPath, String)>,
    limits: Map<String, Json>,
}

fn decode(map: &Map<String, Json>, templates: bool) -> Result<Asked> {
    let args = Args::new("wasm", &ARGUMENTS, map, templates)?;
    let word = |key: &str| Ok::<_, Error>(args.word(key)?.map(str::to_owned));
    let repo = word("repo")?;
    // A branch of nothing is ignored (S0-23).
    let branch = word("branch")?.filter(|_| repo.is_some());
    let (env, mounts) = (args.env()?, args.mounts()?);
    let (files, limits) = (files(&args)?, limits(&args)?);
    let profile = profile(&args)?;
    if let (Profile::Sprites, Some(key)) =
        (profile, BEGINS_WITH.into_iter().find(|key| map.contains_key(*key)))
    {
        let message = format!("the argument `{key}` does not go with the profile `sprites`");
        return Err(Error::args_invalid(message).with_hint("give it to the sprite that a turn makes"));
    }
    Ok(Asked { profile, repo, branch, env, mounts, files, limits })
}

fn profile(args: &Args<'_>) -> Result<Profile> {
    let Some(name) = args.text("profile")?.filter(|name| !args.is_open(name)) else {
        return Ok(Profile::Codegen);
    };
    let found = Profile::ALL.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, profile)| profile).ok_or_else(|| {
        let names: Vec<&str> = Profile::ALL.iter().map(|(name, _)| *name).collect();
        let shown: String = name.escape_debug().take(64).collect();
        Error::args_invalid(format!("there is no profile `{shown}`"))
            .with_hint(format!("the profiles are `{}`", names.join("`, `")))
    })
}

fn files(args: &Args<'_>) -> Result<Vec<(GuestPath, String)>> {
    let mut room = MAX_FILES;
    let files = args.map("files")?.into_iter().flatten().map(|(path, value)| {
        let text = args::text(&format!("files.{}", path.escape_debug()), value, MAX_FILES)?;
        room = room.checked_sub(text.len()).ok_or_else(|| {
            Error::new(ErrorCode::TooLarge, format!("the argument `files` has more than {MAX_FILES} bytes"))
        })?;
        Ok((GuestPath::parse(path)?, text.to_owned()))
    });
    files.collect()
}

fn limits(args: &Args<'_>) -> Result<Map<String, Json>> {
    let Some(limits) = args.map("limits")? else { return Ok(Map::new()) };
    for (key, value) in limits {
        if !LIMITS.contains(&key.as_str()) || !value.is_u64() {
            let shown: String = key.escape_debug().take(64).collect();
            return Err(Error::args_invalid(format!("the argument `limits.{shown}` cannot be taken"))
                .with_hint("limits are `memory_bytes` and `disk_bytes`, whole numbers"));
        }
    }
    Ok(limits.clone())
}

/// The error that an answer tells.
fn refused(reply: &Reply) -> Error {
    let told = &reply.structured["error"];
    let code = serde_json::from_value(told["code"].clone()).unwrap_or(ErrorCode::Internal);
    let error = Error::new(code, told["message"].as_str().unwrap_or("the sandbox was not made"));
    match told["hint"].as_str() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

#[async_trait]
impl Source for WasmSource {
    fn check(&self, args: &Map<String, Json>) -> Result<()> {
        self.granted(decode(args, true)?.mounts).map(drop)
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        let mut asked = decode(&args, false)?;
        let grants = self.granted(std::mem::take(&mut asked.mounts))?;
        let Some(over) = &self.over else {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "this source checks, and opens nothing"));
        };
        let owner = Owner::parse(&format!("source-{}", SandboxId::random()?))?;
        // From here on a dropped future takes with it what was made.
        let estate = Estate { sandboxes: over.sandboxes.clone(), owner: Some(owner.clone()) };
        let filled = match asked.profile {
            // These tools make their sandboxes themselves; one that is there already, nobody made.
            Profile::Sprites => Ok(()),
            _ => over.fill(&asked, &grants, &owner).await,
        };
        if let Err(error) = filled {
            if let Err(left) = estate.end().await {
                tracing::warn!(error = %left, "a sandbox of a source is left");
            }
            return Err(error);
        }
        let surface =
            (over.make)().with_grants(&grants).with_profile(asked.profile).with_tools(Toolset::All)?;
        let surface = surface.with_session_key(SessionKey::parse(KEY)?);
        let estate = tokio::sync::Mutex::new(Some(estate));
        Ok(Opened::new("wasm", Arc::new(Sandboxed { surface, owner, estate })))
    }

    fn takes_mounts(&self) -> bool {
        true
    }
}

/// All that an endpoint's tools made. Ended, or dropped, nothing of it is left.
struct Estate {
    sandboxes: Sandboxes,
    owner: Option<Owner>,
}

impl Estate {
    async fn end(mut self) -> Result<()> {
        let Some(owner) = self.owner.take() else { return Ok(()) };
        // Giving up the wait does not give up the work.
        let ending = tokio::spawn(destroy_all(self.sandboxes.clone(), owner));
        ending.await.unwrap_or_else(|error| Err(Error::internal("destroying a sandbox broke down", error)))
    }
}

impl Drop for Estate {
    fn drop(&mut self) {
        let Some(owner) = self.owner.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let sandboxes = self.sandboxes.clone();
                runtime.spawn(async move {
                    // What was being made when it was given up may be there only a moment later.
                    for wait in [Duration::ZERO, LATER] {
                        tokio::time::sleep(wait).await;
                        if let Err(error) = destroy_all(sandboxes.clone(), owner.clone()).await {
                            tracing::warn!(%error, "a sandbox of a source is left");
                        }
                    }
                });
            }
            Err(_) => tracing::warn!("a sandbox of a source is left: dropped outside a runtime"),
        }
    }
}

async fn destroy_all(sandboxes: Sandboxes, owner: Owner) -> Result<()> {
    loop {
        let all = sandboxes.list(&owner, None, None, PAGE).await?;
        if all.is_empty() {
            return Ok(());
        }
        for view in all {
            let destroyed = sandboxes.destroy(&owner, &Handle::IdOrName(view.sandbox.id.as_str())).await;
            match destroyed {
                Err(error) if error.code() != ErrorCode::UnknownSandbox => return Err(error),
                _ => {}
            }
        }
    }
}

/// An endpoint in this process.
struct Sandboxed {
    surface: Surface,
    owner: Owner,
    estate: tokio::sync::Mutex<Option<Estate>>,
}

/// Output of a run, as progress.
struct Told(Arc<dyn Progress>);

impl OutputSink for Told {
    fn write(&self, _: Stream, bytes: &[u8]) {
        self.0.progress(&String::from_utf8_lossy(bytes), None, None);
    }
}

fn listed(spec: ToolSpec) -> Listed {
    let is = spec.annotations;
    Listed {
        name: spec.name.into(),
        description: spec.description,
        input_schema: spec.input_schema,
        output_schema: Some(spec.output_schema),
        annotations: Some(json!({
            "title": spec.title, "readOnlyHint": is.read_only, "destructiveHint": is.destructive,
            "idempotentHint": is.idempotent, "openWorldHint": is.open_world,
        })),
    }
}

#[async_trait]
impl Endpoint for Sandboxed {
    async fn list(&self) -> Result<Vec<Listed>> {
        Ok(self.surface.list().into_iter().map(listed).collect())
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        if self.estate.lock().await.is_none() {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "the sandbox is closed"));
        }
        let output = call.progress.map(|progress| Arc::new(Told(progress)) as Arc<dyn OutputSink>);
        let context = CallContext { owner: self.owner.as_str().into(), output, ..CallContext::default() };
        let reply = self.surface.call(&call.tool, call.arguments, context).await?;
        let content = vec![json!({"type": "text", "text": reply.text})];
        Ok(ToolAnswer { content, structured: Some(reply.structured), is_error: reply.is_error })
    }

    async fn close(&self) -> Result<()> {
        let estate = self.estate.lock().await.take();
        match estate {
            Some(estate) => estate.end().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "wasm_tests.rs"]
mod tests;
