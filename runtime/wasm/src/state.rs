//! What a store holds on the host's side: the WASI context, the limits and the callbacks of one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dormouse_core::Callbacks;
use dormouse_core::callback::{CallbackCall, RunClock};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use crate::bindings::dormouse::sandbox::host::{Answer, Call, Wanted};
use crate::bindings::dormouse::sandbox::programs as contract;
use crate::disk::{DiskLimits, Files, FilesView};
use crate::http::Http;
use crate::limiter::Limiter;
use crate::net::Net;
use crate::pauses::Pauses;
use crate::under_way::{self, Answered, MOST, MOST_TOLD, UnderWay};

/// Host-side resources (open files, streams, pollables) that a run may hold at one time.
const MAX_RESOURCES: usize = 4_096;

/// Starts the programs that a command line names ([`crate::programs`]).
pub(crate) trait Launcher: Send + Sync {
    /// Runs a program to its end, at most until `deadline`. None: there is none of that name.
    fn launch(
        &self,
        command: contract::Command,
        deadline: Instant,
    ) -> BoxFuture<'static, Option<contract::Ended>>;
}

/// Makes JavaScript of the files of TypeScript that a run imports.
pub(crate) trait Compile: Send + Sync {
    /// The program's name that a guest asks by.
    fn program(&self) -> &'static str;

    /// Compiles a file, at most until the deadline, the pauses not counted. Answers what it cost in fuel as well.
    fn compile(
        self: Arc<Self>,
        command: contract::Command,
        until: (Instant, Pauses),
        fuel: Option<u64>,
    ) -> BoxFuture<'static, (contract::Ended, u64)>;
}

/// The data of a store.
pub(crate) struct Host {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) files: Files,
    /// When the run is to end; its pauses come on top.
    pub(crate) deadline: Instant,
    pub(crate) pauses: Pauses,
    pub(crate) callbacks: Callbacks,
    pub(crate) net: Net,
    /// What its `wasi:http` has; none until it uses some of it.
    pub(crate) http: Option<Box<Http>>,
    /// Those that it has called and that have not answered.
    pub(crate) under_way: UnderWay,
    /// Callbacks that the run has called; the programs that it starts count here too.
    pub(crate) calls: Arc<AtomicU32>,
    /// What a command line can start; none outside of command lines.
    pub(crate) programs: Option<Arc<dyn Launcher>>,
    /// What makes JavaScript of the files that it imports; none outside of JavaScript.
    pub(crate) compiler: Option<Arc<dyn Compile>>,
}

impl Host {
    /// A host that grants nothing: for an instance that waits for its run.
    pub(crate) fn idle(memory: usize) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        Self {
            wasi: WasiCtx::builder().build(),
            table,
            limiter: Limiter::new(memory),
            files: Files::new(DiskLimits::default(), true),
            deadline: Instant::now() + Duration::from_secs(60),
            pauses: Pauses::default(),
            callbacks: Callbacks::default(),
            net: Net::default(),
            http: None,
            under_way: UnderWay::default(),
            calls: Arc::default(),
            programs: None,
            compiler: None,
        }
    }
}

impl Host {
    /// Takes from the guest what its last run could call: nothing that runs later does so in that run's name.
    pub(crate) fn disarm(&mut self) {
        (self.callbacks, self.programs, self.compiler) = (Callbacks::default(), None, None);
        self.under_way = UnderWay::default();
        self.net.end();
        self.http = None;
    }

    /// What `wasi:filesystem` works on.
    pub(crate) fn files(&mut self) -> FilesView<'_> {
        FilesView {
            wasi: WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table },
            files: &mut self.files,
        }
    }
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Host {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let http = self.http.get_or_insert_with(|| Box::new(Http::new(self.net.given())));
        let Http { context, sender } = &mut **http;
        WasiHttpCtxView { hooks: sender, table: &mut self.table, ctx: context }
    }
}

impl Host {
    /// Makes the calls that a program wants made, and waits for what it waits for.
    ///
    /// # Errors
    /// It wants more than any guest of ours would.
    pub(crate) async fn wait(&mut self, wanted: Wanted) -> wasmtime::Result<Vec<Answer>> {
        let until = self.begin_calls(wanted).await?;
        let answers = self.callbacks.away(self.under_way.next(until)).await;
        Ok(self.given(answers))
    }

    /// Makes the calls that a program wants made. Answers until when it waits.
    ///
    /// # Errors
    /// It wants more than any guest of ours would.
    pub(crate) async fn begin_calls(&mut self, wanted: Wanted) -> wasmtime::Result<Option<Instant>> {
        wasmtime::ensure!(
            wanted.calls.len() <= MOST_TOLD,
            "a program made {} calls at once",
            wanted.calls.len()
        );
        // Who never has to wait lets others go on all the same.
        tokio::task::consume_budget().await;
        let until = wanted
            .nanoseconds
            .map(|nanoseconds| Instant::now().checked_add(Duration::from_nanos(nanoseconds)))
            .map(|until| until.unwrap_or(self.deadline));
        self.under_way.cancel(&wanted.cancelled);
        for Call { id, name, arguments } in wanted.calls {
            match self.prepare(&name, &arguments) {
                Ok(call) => self.under_way.begin(id, call),
                Err(why) => self.under_way.answer(under_way::Answer { id, answered: Err(why) }),
            }
        }
        Ok(until)
    }

    /// Answers as the program gets them.
    pub(crate) fn given(&mut self, answers: Vec<under_way::Answer>) -> Vec<Answer> {
        answers
            .into_iter()
            .map(|answer| Answer { id: answer.id, outcome: self.take(answer.answered) })
            .collect()
    }

    /// An answer as the program gets it: its files are put where they belong.
    pub(crate) fn take(&mut self, answered: Answered) -> Result<String, String> {
        let (text, files) = answered?;
        for file in files {
            self.files.put(&file.path, &file.bytes).map_err(|error| {
                format!("the tool has answered, and its file `{}` cannot be kept: {error}", file.path)
            })?;
        }
        Ok(text)
    }

    /// One call, ready to be made: counted, and its arguments read.
    ///
    /// # Errors
    /// What the snippet is told.
    pub(crate) fn prepare(
        &mut self,
        name: &str,
        arguments: &str,
    ) -> Result<BoxFuture<'static, Answered>, String> {
        let most = Callbacks::MAX_BYTES;
        if arguments.len() > most {
            return Err(format!("the arguments have {} bytes, at most {most} are taken", arguments.len()));
        }
        if self.under_way.is_full() {
            return Err(format!("{MOST} tool calls are under way, as many as may"));
        }
        let Some(callback) = self.callbacks.get(name) else {
            return Err(self.callbacks.missing(name));
        };
        if self.calls.fetch_add(1, Ordering::Relaxed) >= self.callbacks.max_calls {
            return Err(format!("the run has made its {} tool calls", self.callbacks.max_calls));
        }
        let arguments = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let pauses = self.pauses.clone();
        Ok(async move {
            let _pause = callback.stops_clock.then(|| pauses.begin());
            let clock = RunClock::new(move || Box::new(pauses.begin()));
            let answer = callback.call(CallbackCall { arguments, key: None, clock }).await?;
            let result = answer.value.to_string();
            if result.len() > most {
                return Err(format!("the result has {} bytes, at most {most} are passed on", result.len()));
            }
            Ok((result, answer.files))
        }
        .boxed())
    }
}
