//! The source `wasm`: a fresh sandbox of this process for each endpoint, and one profile of tools over it.
//!
//! Its arguments are [`ARGUMENTS`].
//!
//! An endpoint has an owner of its own, so that its tools reach no other sandbox, and all that they made ends with it.

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::sandbox::{Handle, Owner, SessionKey};
use dormouse_core::sandboxes::Rules;
use dormouse_core::{Error, ErrorCode, Grants, GuestPath, Mount, OutputSink, Result, Sandboxes, Stream};
use dormouse_tools::{CallContext, Profile, Surface, ToolSpec, Toolset};
use serde_json::{Map, Value as Json, json};

use crate::args::{self, Args, Argument, ContainerMount, MOUNTS};
use crate::begin;
use crate::estate::{Estate, Installation, KEY, MakeSurface};
use crate::mountable::Mountable;
use crate::repository::MayClone;
use crate::{Call, Endpoint, Listed, Opened, Progress, Source, ToolAnswer, template};

/// Its arguments.
pub const ARGUMENTS: [Argument; 7] = [
    Argument {
        name: "profile",
        what: "the set of tools: `sandbox`, `eval`, `sprites`, `rlm`, `codegen` or `code`; with `sprites` nothing is there before a tool makes it, so only `mounts` goes with it",
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
const LIMITS: [&str; 2] = [begin::MEMORY, begin::DISK];
/// Bytes of all files together (4 MiB).
const MAX_FILES: usize = 4 << 20;

/// The source.
pub struct WasmSource {
    /// None: arguments are checked, and nothing can be opened.
    over: Option<Installation>,
    grants: Grants,
    mountable: Mountable,
    /// Whether an address can be cloned; none: that is seen when it is opened.
    may: Option<Arc<MayClone>>,
    /// The numbers that limits are held to; none: those of the sandboxes, or that is seen when it is opened.
    rules: Option<Rules>,
}

impl WasmSource {
    /// The source over an installation's sandboxes. `make` gives a surface with them ([`Surface::new`]). No folder
    /// can be mounted.
    pub fn new(sandboxes: Sandboxes, make: Arc<MakeSurface>) -> Self {
        Self { over: Some(Installation { make, sandboxes }), ..Self::checking() }
    }

    /// A source that checks arguments and opens nothing.
    pub fn checking() -> Self {
        let (grants, mountable) = (Grants::default(), Mountable::default());
        Self { over: None, grants, mountable, may: None, rules: None }
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

    /// The same with addresses of repositories that are refused before anything is opened. Folders of a sandbox are none.
    #[must_use]
    pub fn with_repositories(mut self, may: Arc<MayClone>) -> Self {
        self.may = Some(may);
        self
    }

    /// The same, refusing limits outside these numbers before anything is opened. A source with sandboxes has theirs.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// All that can be told of the arguments before anything is opened: the grants of the sandboxes. Where templates are still in place
    /// (`is_open`), it is not known yet where things go.
    fn checked(&self, asked: &mut Asked, is_open: bool) -> Result<Grants> {
        let grants = self.granted(std::mem::take(&mut asked.mounts))?;
        let sandboxes = self.over.as_ref().map(|over| over.sandboxes.rules());
        if let Some(rules) = self.rules.as_ref().or(sandboxes) {
            begin::limits(&asked.limits, rules)?;
        }
        let mut environment = grants.environment.clone();
        environment.extend(asked.env.iter().cloned());
        Grants { environment, ..Grants::default() }.check()?;
        if is_open {
            return Ok(grants);
        }
        if let Some(repo) = &asked.repo {
            begin::repository(repo, self.may.as_deref(), &grants.mounts)?;
        }
        begin::files(asked.files.iter().map(|(path, _)| path), &grants.mounts)?;
        Ok(grants)
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

/// Makes the sandbox of an endpoint. Whatever is made is the owner's.
async fn fill(over: &Installation, asked: &Asked, grants: &Grants, owner: &Owner) -> Result<()> {
    let texts = [("repo", &asked.repo), ("branch", &asked.branch)];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.clone()?.into())));
    let mut arguments: Map<String, Json> = texts.chain(asked.limits.clone()).collect();
    let env: Vec<String> = asked.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    arguments.insert("env".into(), env.into());
    over.create(arguments, grants, owner).await?;
    for (path, text) in &asked.files {
        let sandbox = Handle::SessionKey(KEY);
        over.sandboxes.write(owner, &sandbox, path.clone(), text.clone().into_bytes()).await?;
    }
    Ok(())
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

#[async_trait]
impl Source for WasmSource {
    fn check(&self, args: &Map<String, Json>) -> Result<()> {
        let is_open = template::keys(args).map_or(true, |keys| !keys.is_empty());
        self.checked(&mut decode(args, true)?, is_open).map(drop)
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        let mut asked = decode(&args, false)?;
        let grants = self.checked(&mut asked, false)?;
        let Some(over) = &self.over else {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "this source checks, and opens nothing"));
        };
        // From here on a dropped future takes with it what was made.
        let (owner, estate) = over.estate()?;
        let filled = match asked.profile {
            // These tools make their sandboxes themselves; one that is there already, nobody made.
            Profile::Sprites => Ok(()),
            _ => fill(over, &asked, &grants, &owner).await,
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
        let context = CallContext { output, ..CallContext::of(self.owner.clone()) };
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
