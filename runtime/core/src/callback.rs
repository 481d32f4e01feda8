//! Functions of the host that a snippet may call by name (`call_tool` in Python, `callTool` in JavaScript).

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::places::Seat;
use crate::plain::PlainCall;
use crate::{Error, GuestPath, Language, Result};

/// How long a run keeps its place while it waits for a function.
const MOMENT: Duration = Duration::from_millis(20);

pub(crate) type Answered = std::result::Result<CallbackAnswer, String>;
/// A function's code.
pub(crate) type Handler = dyn Fn(CallbackCall) -> BoxFuture<'static, Answered> + Send + Sync;
/// What is done around each call of functions: it makes the call by the code that it is given.
pub(crate) type Around = dyn Fn(CallbackCall, Arc<Handler>) -> BoxFuture<'static, Answered> + Send + Sync;
/// What makes that for a function's name.
pub(crate) type Wrap = dyn Fn(&str) -> Arc<Around> + Send + Sync;

/// One call of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallbackCall {
    /// Its arguments, an object.
    pub arguments: Json,
    /// The same for each repetition of this call, and of no other one: who acts only once for each key is safe from repetitions.
    /// None: the call is never repeated.
    pub key: Option<String>,
    /// The clock of the run that waits for the call.
    pub clock: RunClock,
}

/// The wall clock of a run, which can stand still while a call waits for what is not the run's own: a person, a server that starts.
/// Default: there is none.
#[derive(Clone, Default)]
pub struct RunClock(Option<Arc<dyn Fn() -> Box<dyn Send> + Send + Sync>>);

impl RunClock {
    /// A clock that stands still for as long as what `pause` answers lives.
    pub fn new(pause: impl Fn() -> Box<dyn Send> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(pause)))
    }

    /// Stands still for as long as the answer lives. The run must not wait for ever then.
    #[must_use]
    pub fn pause(&self) -> Option<Box<dyn Send>> {
        self.0.as_ref().map(|pause| pause())
    }
}

impl std::fmt::Debug for RunClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunClock")
    }
}

impl PartialEq for RunClock {
    /// Clocks say nothing of a call.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What a function answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallbackAnswer {
    /// What the program gets.
    pub value: Json,
    /// Files that are put into the sandbox before the program gets the value, which should name them.
    pub files: Vec<AnswerFile>,
}

/// A file that comes with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFile {
    /// Where it is put. Folders above it are made, and a file that is there is replaced. It should lie below `/tmp`, which every
    /// sandbox has.
    pub path: GuestPath,
    /// Its content; Base64 where it is written down.
    #[serde(with = "in_base64")]
    pub bytes: Vec<u8>,
}

/// Bytes as a text of Base64.
mod in_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl From<Json> for CallbackAnswer {
    fn from(value: Json) -> Self {
        Self { value, files: Vec::new() }
    }
}

/// Functions that are found by name when they are called, where they are too many to be offered one by one.
pub trait Catalog: Send + Sync {
    /// The function of that name. Quick: nobody else runs meanwhile. None: there is none.
    fn find(&self, name: &str) -> Option<Callback>;

    /// What a program is told that called a name that is not there: which are like it, in one sentence.
    fn missing(&self, name: &str) -> String;

    /// Whether calls that a program's text shows are looked at before it runs. Default: no.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// What is wrong with calls of a program that is about to run; none: nothing that is known. Default: none.
    fn look_ahead(&self, _calls: Vec<PlainCall>) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// One function: what it is for, what it takes, and its code.
#[derive(Clone)]
pub struct Callback {
    /// What it does, in one sentence.
    pub description: String,
    /// JSON Schema of its arguments object.
    pub schema: Json,
    /// Whether the run's wall clock stands still while it answers; then it must end by itself. Default false.
    pub stops_clock: bool,
    /// Whether a call may be made again when it is not known whether it has happened. Default false.
    pub repeats: bool,
    /// Whether it keeps the thread that calls it until it answers. Default false.
    blocks: bool,
    bindings: BTreeMap<Language, &'static str>,
    /// What takes a name away again after each run that had it.
    withdrawals: BTreeMap<Language, &'static str>,
    handler: Arc<Handler>,
}

impl Callback {
    /// A function from an arguments object to a JSON value. The error text is what the snippet's exception says.
    pub fn new<F, Fut>(description: impl Into<String>, schema: Json, handler: F) -> Self
    where
        F: Fn(Json) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<Json, String>> + Send + 'static,
    {
        let answer = move |call: CallbackCall| {
            let work = handler(call.arguments);
            async move { work.await.map(CallbackAnswer::from) }
        };
        Self::answering(description, schema, answer)
    }

    /// A function that gets the whole call, and may answer with files.
    pub fn answering<F, Fut>(description: impl Into<String>, schema: Json, handler: F) -> Self
    where
        F: Fn(CallbackCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<CallbackAnswer, String>> + Send + 'static,
    {
        Self {
            description: description.into(),
            schema,
            stops_clock: false,
            repeats: false,
            blocks: false,
            bindings: BTreeMap::new(),
            withdrawals: BTreeMap::new(),
            handler: Arc::new(move |call| Box::pin(handler(call))),
        }
    }

    /// The same, and the run's wall clock stands still while it answers.
    #[must_use]
    pub fn stopping_clock(self) -> Self {
        Self { stops_clock: true, ..self }
    }

    /// The same, whose calls may be made again when it is not known whether they have happened.
    #[must_use]
    pub fn repeating(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// The same, which keeps the thread that calls it until it answers. Its run counts as one that waits at once, and not only
    /// when it has waited for a moment.
    #[must_use]
    pub fn blocking(self) -> Self {
        Self { blocks: true, ..self }
    }

    /// The same, whose run gives its place up while it waits for the answer.
    fn giving_up(mut self, seat: Arc<Seat>) -> Self {
        let (handler, blocks) = (self.handler, self.blocks);
        self.handler = Arc::new(move |call| {
            let at_once = blocks.then(|| seat.give_up());
            let work = handler(call);
            let seat = seat.clone();
            Box::pin(async move {
                let mut work = work;
                if at_once.is_none()
                    && let Ok(answer) = tokio::time::timeout(MOMENT, &mut work).await
                {
                    return answer;
                }
                let _given_up = at_once.unwrap_or_else(|| seat.give_up());
                work.await
            })
        });
        self
    }

    /// The same with a name of its own in a language: `source` is run once in each interpreter before the first snippet that
    /// has the callback, and again after it was reset or woken. It must leave no variables of the user's.
    #[must_use]
    pub fn bound(mut self, language: Language, source: &'static str) -> Self {
        self.bindings.insert(language, source);
        self
    }

    /// The same with a name that is there for its run alone: `withdraw` is run after it, and takes the name away.
    #[must_use]
    pub fn bound_for_a_run(
        mut self,
        language: Language,
        source: &'static str,
        withdraw: &'static str,
    ) -> Self {
        self.withdrawals.insert(language.clone(), withdraw);
        self.bound(language, source)
    }

    /// The same, whose calls go through `around`, which makes them by the function that it is given.
    fn around(mut self, around: &Arc<Around>) -> Self {
        let (handler, around) = (self.handler, around.clone());
        self.handler = Arc::new(move |call| around(call, handler.clone()));
        self
    }

    /// Calls it.
    ///
    /// # Errors
    /// The function's own text.
    pub async fn call(&self, call: CallbackCall) -> std::result::Result<CallbackAnswer, String> {
        (self.handler)(call).await
    }
}

/// A catalog whose functions' calls go through something.
struct Through {
    catalog: Arc<dyn Catalog>,
    wrap: Arc<Wrap>,
}

impl Catalog for Through {
    fn find(&self, name: &str) -> Option<Callback> {
        let found = self.catalog.find(name)?;
        Some(found.around(&(self.wrap)(name)))
    }

    fn missing(&self, name: &str) -> String {
        self.catalog.missing(name)
    }

    fn looks_ahead(&self) -> bool {
        self.catalog.looks_ahead()
    }

    fn look_ahead(&self, calls: Vec<PlainCall>) -> BoxFuture<'_, Option<String>> {
        self.catalog.look_ahead(calls)
    }
}

/// The functions of one run, by name, and how often they may be called.
#[derive(Clone)]
pub struct Callbacks {
    by_name: BTreeMap<String, Arc<Callback>>,
    /// Where further functions are found.
    catalog: Option<Arc<dyn Catalog>>,
    /// The place that a run gives up while it waits for one of those.
    seat: Option<Arc<Seat>>,
    /// Calls that one run may make. Default 1 000.
    pub max_calls: u32,
}

impl Default for Callbacks {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), catalog: None, seat: None, max_calls: 1_000 }
    }
}

impl Callbacks {
    /// Largest arguments or result text of one call, in bytes (1 MiB).
    pub const MAX_BYTES: usize = 1 << 20;
    /// Longest name, in bytes.
    pub const MAX_NAME: usize = 64;

    /// Adds a function; a later one of the same name replaces it.
    ///
    /// # Errors
    /// `args_invalid` when the name is not 1 to 64 characters of `[A-Za-z0-9_.-]`.
    pub fn insert(&mut self, name: &str, callback: Callback) -> Result<()> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        if name.is_empty() || name.len() > Self::MAX_NAME || !name.bytes().all(fits) {
            return Err(Error::args_invalid(format!("`{}` is not a callback name", name.escape_debug()))
                .with_hint("use 1 to 64 characters of A-Z, a-z, 0-9, `_`, `-` and `.`"));
        }
        self.by_name.insert(name.into(), Arc::new(callback));
        Ok(())
    }

    /// Names that are not there are looked for in this catalog from now on.
    pub fn set_catalog(&mut self, catalog: Arc<dyn Catalog>) {
        self.catalog = Some(catalog);
    }

    /// The same, while whose answers are waited for the run gives its place up.
    pub(crate) fn giving_up(self, seat: &Arc<Seat>) -> Self {
        let each = |(name, callback): (String, Arc<Callback>)| {
            (name, Arc::new(Arc::unwrap_or_clone(callback).giving_up(seat.clone())))
        };
        let by_name = self.by_name.into_iter().map(each).collect();
        Self { by_name, seat: Some(seat.clone()), ..self }
    }

    /// Does what a program waits for, such as its next timer. If it takes longer than a moment, the run gives its place up for it.
    pub async fn away<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(seat) = &self.seat else { return work.await };
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(MOMENT, &mut work).await {
            return done;
        }
        let _given_up = seat.give_up();
        work.await
    }

    /// The same, each of whose calls goes through what `wrap` makes for a function's name.
    pub(crate) fn wrapped(self, wrap: &Arc<Wrap>) -> Self {
        let each = |(name, callback): (String, Arc<Callback>)| {
            let through = wrap(&name);
            (name, Arc::new(Arc::unwrap_or_clone(callback).around(&through)))
        };
        let by_name = self.by_name.into_iter().map(each).collect();
        let through = |catalog| -> Arc<dyn Catalog> { Arc::new(Through { catalog, wrap: wrap.clone() }) };
        Self { by_name, catalog: self.catalog.map(through), ..self }
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Callback>> {
        if let Some(callback) = self.by_name.get(name) {
            return Some(callback.clone());
        }
        let found = self.catalog.as_ref()?.find(name)?;
        Some(Arc::new(match &self.seat {
            Some(seat) => found.giving_up(seat.clone()),
            None => found,
        }))
    }

    /// What a program is told that called a name that is not there.
    pub fn missing(&self, name: &str) -> String {
        let shown: String = name.chars().take(Self::MAX_NAME).collect();
        let known = match (&self.catalog, self.names().collect::<Vec<_>>().join(", ")) {
            (Some(catalog), _) => catalog.missing(name),
            (None, names) if names.is_empty() => "this run has none".into(),
            (None, names) => format!("there are: {names}"),
        };
        format!("no tool `{}`; {known}", shown.escape_debug())
    }

    /// Whether calls that a program's text shows are looked at before it runs.
    pub fn looks_ahead(&self) -> bool {
        self.catalog.as_ref().is_some_and(|catalog| catalog.looks_ahead())
    }

    /// What is wrong with calls of a program that is about to run; none: nothing that is known. The run gives its place up while
    /// it waits.
    pub async fn look_ahead(&self, mut calls: Vec<PlainCall>) -> Option<String> {
        let catalog = self.catalog.as_ref()?;
        calls.retain(|call| !self.by_name.contains_key(&call.name));
        if calls.is_empty() {
            return None;
        }
        self.away(catalog.look_ahead(calls)).await
    }

    /// Those that have a name of their own in a language: their names, and what binds them.
    pub fn bindings(&self, language: &Language) -> impl Iterator<Item = (&str, &'static str)> {
        self.by_name
            .iter()
            .filter_map(move |(name, callback)| Some((name.as_str(), *callback.bindings.get(language)?)))
    }

    /// Those that have a name in a language for their run alone: their names, and what takes those away.
    pub fn withdrawals(&self, language: &Language) -> impl Iterator<Item = (&str, &'static str)> {
        self.by_name
            .iter()
            .filter_map(move |(name, callback)| Some((name.as_str(), *callback.withdrawals.get(language)?)))
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}
