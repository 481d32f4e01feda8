//! Functions of the host that a snippet may call by name (`call_tool` in Python, `callTool` in JavaScript).

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value as Json;

use crate::places::Seat;
use crate::{Error, Language, Result};

/// How long a run keeps its place while it waits for a function.
const MOMENT: Duration = Duration::from_millis(20);

type Handler = dyn Fn(Json) -> BoxFuture<'static, std::result::Result<Json, String>> + Send + Sync;

/// One function: what it is for, what it takes, and its code.
#[derive(Clone)]
pub struct Callback {
    /// What it does, in one sentence.
    pub description: String,
    /// JSON Schema of its arguments object.
    pub schema: Json,
    /// Whether the run's wall clock stands still while it answers; then it must end by itself. Default false.
    pub stops_clock: bool,
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
        Self {
            description: description.into(),
            schema,
            stops_clock: false,
            blocks: false,
            bindings: BTreeMap::new(),
            withdrawals: BTreeMap::new(),
            handler: Arc::new(move |arguments| Box::pin(handler(arguments))),
        }
    }

    /// The same, and the run's wall clock stands still while it answers.
    #[must_use]
    pub fn stopping_clock(self) -> Self {
        Self { stops_clock: true, ..self }
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
        self.handler = Arc::new(move |arguments| {
            let at_once = blocks.then(|| seat.give_up());
            let work = handler(arguments);
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

    /// Calls it.
    ///
    /// # Errors
    /// The function's own text.
    pub async fn call(&self, arguments: Json) -> std::result::Result<Json, String> {
        (self.handler)(arguments).await
    }
}

/// The functions of one run, by name, and how often they may be called.
#[derive(Clone)]
pub struct Callbacks {
    by_name: BTreeMap<String, Callback>,
    /// Calls that one run may make. Default 1 000.
    pub max_calls: u32,
}

impl Default for Callbacks {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), max_calls: 1_000 }
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
        self.by_name.insert(name.into(), callback);
        Ok(())
    }

    /// The same, while whose answers are waited for the run gives its place up.
    pub(crate) fn giving_up(self, seat: &Arc<Seat>) -> Self {
        let each = |(name, callback): (String, Callback)| (name, callback.giving_up(seat.clone()));
        Self { by_name: self.by_name.into_iter().map(each).collect(), ..self }
    }

    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&Callback> {
        self.by_name.get(name)
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
