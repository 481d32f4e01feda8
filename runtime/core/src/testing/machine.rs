//! A sandbox that is a few words, some variables and a map of files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::provider::{FakeProvider, Shared};
use crate::sandbox::{
    Beside, ChunkId, ChunkSink, Entry, EntryKind, Excess, Executed, Files, Include, Job, Machine, Piece,
    SandboxSpec, SavedState, Snapshot, SpecMount, Variable,
};
use crate::{
    Access, Bounds, Captured, Error, ErrorCode, EvalRequest, GuestName, GuestPath, Language, Limits,
    LineRequest, Outcome, Programs, Recovery, Result, Status, Usage, Value,
};

/// What is saved; a half that is none stays as it is when this is restored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// Whose it is; the mark of what is saved.
    pub(super) provider: String,
    variables: Option<BTreeMap<String, String>>,
    files: Option<BTreeMap<String, Vec<u8>>>,
    /// The languages that had run where variables are not saved.
    guests: BTreeSet<GuestName>,
}

impl Snapshot for State {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal("not saved", error))?;
        let root = ChunkId::of(&bytes);
        if !sink.has(&root)? {
            sink.put(&root, &bytes)?;
        }
        Ok(SavedState { root, bytes: bytes.len() as u64 })
    }

    fn bytes(&self) -> u64 {
        let words = self.variables.iter().flatten().map(|(name, value)| name.len() + value.len());
        let files = self.files.iter().flatten().map(|(name, bytes)| name.len() + bytes.len());
        words.chain(files).sum::<usize>() as u64
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }

    fn guests(&self) -> Vec<GuestName> {
        self.guests.iter().cloned().collect()
    }
}

impl Beside for State {
    fn snapshot(&self, include: Include) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(Self {
            provider: self.provider.clone(),
            variables: self.variables.clone().filter(|_| include != Include::Files),
            files: self.files.clone().filter(|_| include != Include::Memory),
            guests: self.guests.clone(),
        }))
    }
}

pub(super) struct FakeMachine {
    shared: Arc<Shared>,
    spec: SandboxSpec,
    variables: BTreeMap<String, String>,
    files: BTreeMap<String, Vec<u8>>,
    provider: &'static str,
    /// The languages that ran.
    used: BTreeSet<GuestName>,
    /// Those whose variables are gone, and no answer has said so.
    lost: BTreeSet<GuestName>,
    /// Snapshots that were taken of it.
    taken: u32,
}

impl FakeMachine {
    pub(super) fn new(shared: Arc<Shared>, spec: SandboxSpec, provider: &'static str) -> Self {
        shared.machines.fetch_add(1, Ordering::SeqCst);
        let (variables, files, used) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { shared, spec, variables, files, provider, used, lost: BTreeSet::new(), taken: 0 }
    }
}

impl Drop for FakeMachine {
    fn drop(&mut self) {
        self.shared.machines.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts a run that waits, also one that is cancelled.
struct Waiting<'a>(&'a Shared);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

fn outcome(status: Status, stdout: &str) -> Outcome {
    Outcome {
        status,
        stdout: Captured::from_bytes(stdout.as_bytes(), stdout.len() as u64),
        stderr: Captured::default(),
        usage: Usage::default(),
        provider: "fake",
        fallback_from: None,
        recovery: None,
        warning: None,
        closed_files: Vec::new(),
        recovery_reason: None,
        network: None,
    }
}

fn text(value: &str) -> Status {
    Status::Returned(Value::String { value: value.into(), truncated: false, length: None })
}

fn missing(what: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("there is no `{what}`"))
}

impl FakeMachine {
    /// Does what the words say.
    async fn words(&mut self, request: EvalRequest) -> Result<Outcome> {
        let words: Vec<&str> = request.code.splitn(3, ' ').collect();
        match words.as_slice() {
            ["set", name, value] => {
                self.variables.insert((*name).into(), (*value).into());
                Ok(outcome(Status::Returned(Value::null()), ""))
            }
            ["get", name] => Ok(outcome(text(self.variables.get(*name).map_or("", String::as_str)), "")),
            ["write", path, content] => {
                self.write(&GuestPath::parse(path)?, content.as_bytes()).await?;
                Ok(outcome(Status::Returned(Value::null()), ""))
            }
            ["spec"] => {
                let SandboxSpec { memory, mounts, .. } = &self.spec;
                let mount = |mount: &SpecMount| {
                    let writes = if mount.access == Access::ReadWrite { "rw" } else { "ro" };
                    format!(" {}:{}:{writes}", mount.source.display(), mount.target)
                };
                let mounts: String = mounts.iter().map(mount).collect();
                Ok(outcome(text(&format!("{memory}{mounts}")), ""))
            }
            ["wait"] => {
                self.shared.waiting.fetch_add(1, Ordering::SeqCst);
                let _waiting = Waiting(&self.shared);
                if let Ok(permit) = self.shared.gate.0.acquire().await {
                    permit.forget();
                }
                Ok(outcome(Status::Returned(Value::null()), ""))
            }
            ["panic"] => std::panic::panic_any("a fault of the machine"),
            ["stop"] => {
                let cause = Error::new(ErrorCode::LimitTime, "the wall-clock limit was reached");
                let recovery = Some(Recovery::BeforeRun);
                Ok(Outcome { recovery, ..outcome(Status::Stopped(cause), "") })
            }
            _ => Ok(outcome(Status::Returned(Value::null()), &request.code)),
        }
    }

    /// Copies `/answer` to where a job wants its result.
    async fn checked(&mut self, job: &str) -> Result<()> {
        let bytes = self.read(&GuestPath::parse(job)?, 0, u64::MAX).await?.bytes;
        let asked: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| Error::internal("no job", error))?;
        let result = GuestPath::parse(asked["result"].as_str().unwrap_or_default())?;
        match self.files.get("/answer").cloned() {
            Some(answer) => self.write(&result, &answer).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Machine for FakeMachine {
    async fn eval(&mut self, request: EvalRequest) -> Result<Outcome> {
        let provider = self.provider;
        let guest = GuestName::from(&request.language);
        let lost = self.lost.remove(&guest).then_some(Recovery::Fresh);
        self.used.insert(guest);
        let done = self.words(request).await;
        done.map(|outcome| Outcome { provider, recovery: outcome.recovery.or(lost), ..outcome })
    }
    /// `echo TEXT`, `flood BYTES`, `exit STATUS`, `python3 - JOB < SCRIPT`, and the words of [`FakeMachine::eval`].
    async fn exec(&mut self, request: LineRequest, _: Arc<dyn Programs>) -> Result<Executed> {
        let line = request.text.clone();
        self.used.insert(GuestName::Shell);
        let outcome = match line.split_once(' ') {
            Some(("echo", text)) => {
                let text = format!("{text}\n");
                if let Some(sink) = &request.context.output {
                    sink.write(crate::Stream::Stdout, text.as_bytes());
                }
                outcome(Status::Exited(0), &text)
            }
            Some(("python3", job)) => {
                self.checked(job.split(' ').nth(1).unwrap_or_default()).await?;
                outcome(Status::Exited(0), "noise\n")
            }
            Some(("flood", bytes)) => outcome(Status::Exited(0), &"x".repeat(bytes.parse().unwrap_or(0))),
            Some(("exit", status)) => outcome(Status::Exited(status.parse().unwrap_or(2)), ""),
            _ => {
                let (language, LineRequest { text: code, context }) = (Language::python(), request);
                self.eval(EvalRequest { context, ..EvalRequest::new(language, code) }).await?
            }
        };
        let missing = if line == "gcc" { vec![line] } else { Vec::new() };
        Ok(Executed { outcome, missing, elsewhere: Vec::new() })
    }

    /// A line that is `never starts` does not.
    async fn job(&mut self, request: LineRequest, programs: Arc<dyn Programs>) -> Result<Job> {
        if request.text == "never starts" {
            self.shared.waiting.fetch_add(1, Ordering::SeqCst);
            let _waiting = Waiting(&self.shared);
            std::future::pending::<()>().await;
        }
        let mut beside = Self::new(self.shared.clone(), self.spec.clone(), self.provider);
        beside.variables = self.variables.clone();
        Ok(Box::pin(async move { beside.exec(request, programs).await }))
    }

    async fn get(
        &mut self,
        _: &Language,
        name: &str,
        query: Option<&str>,
        _: (&Limits, &Bounds),
    ) -> Result<Outcome> {
        let value = self.variables.get(name).ok_or_else(|| missing(name))?;
        Ok(outcome(text(&query.map_or(value.clone(), |query| format!("{query}: {value}"))), ""))
    }

    async fn set(&mut self, _: &Language, name: &str, json: &str, _: &Limits) -> Result<()> {
        self.variables.insert(name.into(), json.into());
        Ok(())
    }

    async fn variables(&mut self, _: &Language, _: &Limits) -> Result<Vec<Variable>> {
        let shown = |(name, value): (&String, &String)| Variable {
            name: name.clone(),
            kind: "str".into(),
            summary: value.chars().take(100).collect(),
        };
        Ok(self.variables.iter().map(shown).collect())
    }

    async fn reset(&mut self) -> Result<()> {
        self.variables.clear();
        Ok(())
    }

    fn files(&mut self) -> &mut dyn Files {
        self
    }

    /// With a variable `hangs` it never comes to a state. With a variable `works` something works on in it: the file `/works` has
    /// how many snapshots were taken.
    async fn snapshot(&mut self, include: Include) -> Result<Arc<dyn Snapshot>> {
        if self.variables.contains_key("hangs") {
            std::future::pending::<()>().await;
        }
        self.taken += 1;
        if self.works_on() {
            self.files.insert("/works".into(), self.taken.to_string().into_bytes());
        }
        Ok(Arc::new(State {
            guests: if self.forgets() {
                self.used.union(&self.lost).cloned().collect()
            } else {
                BTreeSet::new()
            },
            provider: self.provider.into(),
            variables: (include != Include::Files && !self.forgets()).then(|| self.variables.clone()),
            files: (include != Include::Memory).then(|| self.files.clone()),
        }))
    }

    async fn restore(&mut self, snapshot: &dyn Snapshot) -> Result<()> {
        let state: &State = snapshot.of().ok_or_else(|| missing("state"))?;
        let ours = state.variables.as_ref().filter(|_| state.provider == self.provider);
        self.variables = ours.unwrap_or(&self.variables).clone();
        self.files = state.files.clone().unwrap_or_else(|| self.files.clone());
        self.lose(&state.guests());
        Ok(())
    }

    /// Its state at this moment, whatever the call does.
    fn beside(&self) -> Option<Arc<dyn Beside>> {
        let state = State {
            provider: self.provider.into(),
            variables: Some(self.variables.clone()),
            files: Some(self.files.clone()),
            guests: BTreeSet::new(),
        };
        (!self.forgets()).then(|| Arc::new(state) as Arc<dyn Beside>)
    }

    fn awake(&self) -> Vec<GuestName> {
        if self.forgets() { self.used.iter().cloned().collect() } else { vec![Language::python().into()] }
    }

    fn instances(&self, with: Option<&GuestName>) -> usize {
        let more = with.is_some_and(|guest| !self.used.contains(guest));
        if self.forgets() { 0 } else { self.used.len() + usize::from(more) }
    }

    /// What its variables and files hold.
    fn memory(&self) -> u64 {
        let variables = self.variables.values().map(String::len);
        variables.chain(self.files.values().map(Vec::len)).sum::<usize>() as u64
    }

    /// A container has room for files besides.
    fn excess(&self) -> Excess {
        let held = self.files.values().map(Vec::len).sum::<usize>() as u64;
        let room = if self.forgets() { u64::MAX } else { self.spec.disk };
        Excess { bytes: held.saturating_sub(room), names: 0 }
    }

    fn is_gone(&self) -> bool {
        self.forgets() && self.shared.down.load(Ordering::SeqCst)
    }

    fn forgets(&self) -> bool {
        self.provider == FakeProvider::CONTAINERS
    }

    fn works_on(&self) -> bool {
        self.variables.contains_key("works")
    }

    fn lose(&mut self, guests: &[GuestName]) {
        self.lost.extend(guests.iter().cloned());
    }
}

#[async_trait]
impl Files for FakeMachine {
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<Piece> {
        let file = self.files.get(path.as_str()).ok_or_else(|| missing(path.as_str()))?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(file.len());
        // As the real tree: a bounded piece at a time.
        let most = usize::try_from(most.min(1 << 20)).unwrap_or(usize::MAX);
        let end = start.saturating_add(most).min(file.len());
        Ok(Piece { bytes: file[start..end].to_vec(), size: file.len() as u64, modified_ms: 0 })
    }

    async fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        let of_others =
            |name: &String| *name != path.as_str() && !(self.forgets() && name.starts_with("/tmp/"));
        let others = self.files.iter().filter(|(name, _)| of_others(name));
        let used: u64 = others.map(|(_, bytes)| bytes.len() as u64).sum();
        let is_tmp = self.forgets() && path.as_str().starts_with("/tmp/");
        if !is_tmp && used + bytes.len() as u64 > self.spec.disk {
            return Err(Error::new(ErrorCode::LimitDisk, "the sandbox's files are full"));
        }
        self.files.insert(path.as_str().into(), bytes.to_vec());
        Ok(())
    }

    async fn append(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<u64> {
        let mut whole = self.files.get(path.as_str()).cloned().unwrap_or_default();
        whole.extend_from_slice(bytes);
        self.write(path, &whole).await?;
        Ok(whole.len() as u64)
    }

    async fn edit(&mut self, path: &GuestPath, old: &str, new: &str, all: bool) -> Result<usize> {
        let bytes = self.read(path, 0, u64::MAX).await?.bytes;
        let content = String::from_utf8_lossy(&bytes).into_owned();
        match content.matches(old).count() {
            0 => Err(Error::args_invalid("`old` stands nowhere in the file")),
            count if count > 1 && !all => Err(Error::args_invalid(format!("`old` stands in {count} places"))),
            count => {
                self.write(path, content.replace(old, new).as_bytes()).await?;
                Ok(count)
            }
        }
    }

    async fn list(&mut self, path: &GuestPath, recursive: bool, most: usize) -> Result<(Vec<Entry>, u64)> {
        let folder = format!("{}/", path.as_str().trim_end_matches('/'));
        let mut found = Vec::new();
        let mut folders = BTreeSet::new();
        for (name, bytes) in &self.files {
            let Some(below) = name.strip_prefix(&folder) else { continue };
            match below.split_once('/') {
                Some((first, _)) if !recursive => {
                    folders.insert(first.to_owned());
                }
                _ => found.push(entry(below, EntryKind::File, bytes.len() as u64)),
            }
        }
        found.extend(folders.iter().map(|name| entry(name, EntryKind::Folder, 0)));
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let count = found.len() as u64;
        found.truncate(most);
        Ok((found, count))
    }

    async fn remove(&mut self, path: &GuestPath, all: bool) -> Result<()> {
        let below = format!("{path}/");
        if !all && self.files.keys().any(|name| name.starts_with(&below)) {
            return Err(Error::args_invalid("the folder is not empty"));
        }
        let before = self.files.len();
        self.files.retain(|name, _| name != path.as_str() && !name.starts_with(&below));
        if self.files.len() < before { Ok(()) } else { Err(missing(path.as_str())) }
    }

    async fn rename(&mut self, path: &GuestPath, to: &GuestPath, replace: bool) -> Result<()> {
        if !replace && self.files.contains_key(to.as_str()) {
            return Err(Error::args_invalid("the name is taken"));
        }
        let file = self.files.remove(path.as_str()).ok_or_else(|| missing(path.as_str()))?;
        self.files.insert(to.to_string(), file);
        Ok(())
    }

    async fn make_folder(&mut self, _: &GuestPath) -> Result<()> {
        Ok(())
    }

    async fn stat(&mut self, path: &GuestPath) -> Result<Entry> {
        let file = self.files.get(path.as_str()).ok_or_else(|| missing(path.as_str()))?;
        Ok(entry(path.as_str(), EntryKind::File, file.len() as u64))
    }
}

fn entry(path: &str, kind: EntryKind, bytes: u64) -> Entry {
    Entry { path: path.into(), kind, bytes, modified_ms: 0, target: None }
}
