//! Connections that are open: reached at the first use, kept by owner or shared, ended when nobody uses them, reached again when
//! they broke.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{Endpoint, Outside};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::tools::{Known, Tool, Tools};

/// A list of tools that is older is asked for again where somebody misses a tool, searches, or is to be asked about a call.
const FRESH: Duration = Duration::from_secs(60);
/// Wait after a first failure; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long the end of the pool waits for a connection that is being opened.
const LAST: Duration = Duration::from_millis(500);

/// How many connections there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Open for one owner.
    pub(crate) per_owner: usize,
    /// Open in all.
    pub(crate) whole: usize,
    /// An unused one is ended after this.
    pub(crate) idle: Duration,
    /// Time until one is open and has listed its tools.
    pub(crate) open: Duration,
}

/// How old a list of tools may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh<'a> {
    /// Of any age, if it has this tool.
    With(&'a str),
    /// At most [`FRESH`].
    Recent,
}

/// All connections of a process.
pub(crate) struct Pool {
    connections: Arc<[Connection]>,
    bounds: Bounds,
    outside: Outside,
    known: Known,
    lines: Mutex<HashMap<Key, Arc<Line>>>,
    /// How many tools each server had last, and one more; 0: nobody has asked.
    counts: Vec<AtomicUsize>,
    closed: AtomicBool,
    sweeps: AtomicBool,
}

/// Which server, and whose connection. None: everybody's.
type Key = (usize, Option<Owner>);

/// One server for one owner, whether it is open or not.
struct Line {
    state: tokio::sync::Mutex<State>,
    /// Who uses it now, or waits for it.
    users: AtomicUsize,
    /// Whether it counts as open.
    open: AtomicBool,
    used: Mutex<Instant>,
}

#[derive(Default)]
struct State {
    live: Option<Live>,
    failures: u32,
    failed: Option<(Instant, Error)>,
}

struct Live {
    endpoint: Arc<dyn Endpoint>,
    tools: Arc<Tools>,
    listed: Instant,
}

/// A connection that is in use. It is not ended meanwhile.
pub(crate) struct Held {
    line: Arc<Line>,
    pub(crate) endpoint: Arc<dyn Endpoint>,
    pub(crate) tools: Arc<Tools>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.line.leave();
    }
}

impl Line {
    fn new() -> Self {
        Self {
            state: tokio::sync::Mutex::default(),
            users: AtomicUsize::new(0),
            open: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
        }
    }

    fn leave(&self) {
        *self.used() = Instant::now();
        self.users.fetch_sub(1, Ordering::AcqRel);
    }

    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        self.users.load(Ordering::Acquire) == 0
    }

    /// Takes what is open, if nobody uses it.
    fn take(&self) -> Option<Live> {
        let mut state = self.state.try_lock().ok()?;
        self.open.store(false, Ordering::Release);
        state.live.take()
    }
}

/// Counts a user, and stops counting when it is dropped.
struct Use(Arc<Line>);

impl Drop for Use {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Use {
    fn held(self, live: &Live) -> Held {
        self.0.users.fetch_add(1, Ordering::AcqRel);
        Held { line: self.0.clone(), endpoint: live.endpoint.clone(), tools: live.tools.clone() }
    }
}

impl Pool {
    pub(crate) fn new(connections: Arc<[Connection]>, bounds: Bounds, outside: Outside) -> Arc<Self> {
        let counts = connections.iter().map(|_| AtomicUsize::new(0)).collect();
        Arc::new(Self {
            connections,
            bounds,
            outside,
            known: Known::default(),
            lines: Mutex::default(),
            counts,
            closed: AtomicBool::new(false),
            sweeps: AtomicBool::new(false),
        })
    }

    /// How many tools a server has, as far as somebody has asked it.
    pub(crate) fn count(&self, server: usize) -> Option<usize> {
        self.counts[server].load(Ordering::Relaxed).checked_sub(1)
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<Key, Arc<Line>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server for an owner, reached if it is not yet, with its tools.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be reached, or could not a moment ago; `busy` when there are as many connections as there
    /// may be and all are in use; what stands against its list of tools.
    pub(crate) async fn reach(
        self: &Arc<Self>,
        server: usize,
        owner: &Owner,
        fresh: Fresh<'_>,
    ) -> Result<Held> {
        self.sweep_from_now_on();
        let owner = (!self.connections[server].shared).then(|| owner.clone());
        let key = (server, owner);
        let using = {
            let mut lines = self.lines();
            let line = lines.entry(key.clone()).or_insert_with(|| Arc::new(Line::new())).clone();
            line.users.fetch_add(1, Ordering::AcqRel);
            Use(line)
        };
        let line = using.0.clone();
        let mut state = line.state.lock().await;
        if let Some(broken) = state.live.take_if(|live| !live.endpoint.is_open()) {
            line.open.store(false, Ordering::Release);
            state.failures += 1;
            let why = unavailable("its connection has ended");
            state.failed = Some((Instant::now() + wait(state.failures.saturating_sub(1)), why));
            tracing::info!(server = self.connections[server].name, "the connection of a server has ended");
            end(vec![broken]).await;
        }
        match &mut state.live {
            Some(live) => self.refresh(server, live, fresh).await?,
            None => {
                let live = self.opened(&key, &line, &mut state).await?;
                state.live = Some(live);
            }
        }
        match &state.live {
            Some(live) => Ok(using.held(live)),
            None => Err(unavailable("it is not connected")),
        }
    }

    /// Asks for the list of tools again, if it is too old.
    async fn refresh(&self, server: usize, live: &mut Live, fresh: Fresh<'_>) -> Result<()> {
        let is_stale = live.endpoint.has_changed()
            || live.listed.elapsed() > FRESH
                && match fresh {
                    Fresh::With(tool) => live.tools.get(tool).is_none(),
                    Fresh::Recent => true,
                };
        if is_stale {
            let listed =
                tokio::time::timeout(self.start_timeout(server), self.list(server, &live.endpoint)).await;
            (live.tools, live.listed) = (listed.map_err(|_| self.late(server))??, Instant::now());
        }
        Ok(())
    }

    /// Opens a server, unless it failed just now.
    async fn opened(self: &Arc<Self>, key: &Key, line: &Line, state: &mut State) -> Result<Live> {
        if let Some((until, why)) = &state.failed {
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                let told = format!("{}; it is tried again in {:.1} s", why.message(), left.as_secs_f64());
                let told = Error::new(why.code(), told);
                return Err(match why.hint() {
                    Some(hint) => told.with_hint(hint),
                    None => told,
                });
            }
        }
        let ended = self.room(key, line)?;
        let mut opening = Opening(Some(line));
        end(ended).await;
        let opened = tokio::time::timeout(self.start_timeout(key.0), self.open(key)).await;
        match opened.map_err(|_| self.late(key.0)).flatten() {
            Ok(live) => {
                opening.0 = None;
                state.failed = None;
                Ok(live)
            }
            Err(error) => {
                state.failures += 1;
                let kept = Error::new(error.code(), error.message());
                let kept = match error.hint() {
                    Some(hint) => kept.with_hint(hint),
                    None => kept,
                };
                state.failed = Some((Instant::now() + wait(state.failures), kept));
                Err(error)
            }
        }
    }

    async fn open(&self, (server, owner): &Key) -> Result<Live> {
        let connection = &self.connections[*server];
        let outside = self.outside.with(connection.errand(owner.clone()));
        let endpoint = connection.reach.open(&outside).await?.endpoint;
        match self.list(*server, &endpoint).await {
            Ok(tools) => {
                tracing::info!(server = connection.name, tools = tools.list.len(), "connected");
                Ok(Live { endpoint, tools, listed: Instant::now() })
            }
            Err(error) => {
                let _ = endpoint.close().await;
                Err(error)
            }
        }
    }

    async fn list(&self, server: usize, endpoint: &Arc<dyn Endpoint>) -> Result<Arc<Tools>> {
        let tools = self.known.keep(Tools::new(endpoint.list().await?));
        self.counts[server].store(tools.list.len() + 1, Ordering::Relaxed);
        let connection = &self.connections[server];
        for name in connection.rules.keys().chain(&connection.idempotent).filter(|name| !name.contains('*')) {
            let is_meant = |tool: &Tool| tool.listed.name == *name || tool.identifier == *name;
            if !tools.list.iter().any(is_meant) {
                tracing::warn!(
                    server = connection.name,
                    name,
                    "the operator's file names a tool that its server does not have"
                );
            }
        }
        Ok(tools)
    }

    /// Time until a server is there and has listed its tools.
    fn start_timeout(&self, server: usize) -> Duration {
        self.connections[server].start_timeout.unwrap_or(self.bounds.open)
    }

    fn late(&self, server: usize) -> Error {
        unavailable(format!("it was not there within {:.0} s", self.start_timeout(server).as_secs_f64()))
            .with_hint(
                "start it once by hand, since programs that are downloaded at their first start take long, or give it a longer \
                 `start_timeout_ms`",
            )
    }

    /// Counts a line as open, and takes out what has to be ended for it: what nobody uses, that first which was used longest ago.
    fn room(&self, key: &Key, line: &Line) -> Result<Vec<Live>> {
        let lines = self.lines();
        if self.closed.load(Ordering::Acquire) {
            return Err(unavailable("the host ends"));
        }
        let mut ended = Vec::new();
        if key.1.is_some() {
            let of_owner = lines.iter().filter(|(one, _)| one.1 == key.1).map(|(_, line)| line);
            ended.extend(ended_for_one(of_owner, self.bounds.per_owner)?);
        }
        ended.extend(ended_for_one(lines.values(), self.bounds.whole)?);
        line.open.store(true, Ordering::Release);
        Ok(ended)
    }

    /// Ends what was not used for long, from time to time, as long as there is the pool.
    fn sweep_from_now_on(self: &Arc<Self>) {
        if self.sweeps.swap(true, Ordering::AcqRel) {
            return;
        }
        let (pool, pause) = (Arc::downgrade(self), self.bounds.idle / 4);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause.clamp(Duration::from_millis(10), FRESH)).await;
                let Some(pool) = Weak::upgrade(&pool) else { return };
                let ended = pool.swept();
                end(ended).await;
            }
        });
    }

    /// Takes out what was not used for long.
    fn swept(&self) -> Vec<Live> {
        let mut ended = Vec::new();
        let idle = |line: &Line| line.is_idle() && line.used().elapsed() > self.bounds.idle;
        self.lines().retain(|_, line| {
            if idle(line) {
                ended.extend(line.take());
                return false;
            }
            true
        });
        ended
    }

    /// A call has come to an end that its server answered: failures before it are forgotten.
    pub(crate) fn answered(held: &Held) {
        // Who else holds it sees to itself.
        if let Ok(mut state) = held.line.state.try_lock() {
            state.failures = 0;
        }
    }

    /// Ends everything, in use or not, and opens nothing any more.
    pub(crate) async fn close(&self) {
        let lines: Vec<Arc<Line>> = {
            let mut lines = self.lines();
            self.closed.store(true, Ordering::Release);
            lines.drain().map(|(_, line)| line).collect()
        };
        let mut ended = Vec::new();
        for line in lines {
            // What is being opened ends with whoever waits for it.
            if let Ok(mut state) = tokio::time::timeout(LAST, line.state.lock()).await {
                ended.extend(state.live.take());
            }
        }
        end(ended).await;
    }
}

/// Stops counting a connection as open that could not be opened.
struct Opening<'a>(Option<&'a Line>);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.0 {
            line.open.store(false, Ordering::Release);
        }
    }
}

/// Takes out of the lines what has to be ended so that one more may be open.
fn ended_for_one<'a>(lines: impl Iterator<Item = &'a Arc<Line>>, most: usize) -> Result<Vec<Live>> {
    let mut open: Vec<&Arc<Line>> = lines.filter(|line| line.open.load(Ordering::Acquire)).collect();
    let excess = (open.len() + 1).saturating_sub(most);
    open.sort_by_key(|line| *line.used());
    let idle = open.into_iter().filter(|line| line.is_idle());
    let ended: Vec<Live> = idle.filter_map(|line| line.take()).take(excess).collect();
    match ended.len() == excess {
        true => Ok(ended),
        false => Err(Error::new(ErrorCode::Busy, format!("{most} connections are open, and all are in use"))
            .with_hint("try again when calls have ended")),
    }
}

async fn end(lives: Vec<Live>) {
    let closing = lives.into_iter().map(|live| async move {
        if let Err(error) = live.endpoint.close().await {
            tracing::warn!(error = %error, "a server's connection could not be ended");
        }
    });
    futures::future::join_all(closing).await;
}

fn wait(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doubled) => (FIRST_WAIT * 2_u32.pow(doubled.min(10))).min(LONGEST_WAIT),
    }
}

fn unavailable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::ProviderUnavailable, message)
}
