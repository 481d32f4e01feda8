//! A program of the user's own, under the same limits and grants as a snippet.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::{CommandRequest, Error, ErrorCode, Outcome, Result, Status, Stream, Usage};
use sha2::{Digest as _, Sha256};
use wasmparser::{Encoding, Parser, Payload};
use wasmtime::component::Component;
use wasmtime::{PoolConcurrencyLimitError, Store};
use wasmtime_wasi::p2::bindings::{Command, CommandPre};

use crate::artifact::Artifacts;
use crate::disk::{DiskLimits, OwnFiles};
use crate::engine::EngineSlot;
use crate::entry::{Allowance, Call, Entry, Left};
use crate::grants::Missing;
use crate::hex::hex;
use crate::loaded::full;
use crate::state::Host;
use crate::stdio::{Input, Output};
use crate::{grants, http, linker, preview1, trap};

/// Functions of one program. Compiling takes time by the function, and cannot be interrupted.
const MAX_FUNCTIONS: u64 = 250_000;
/// Bytes of one function's body: compile time grows faster than this.
const MAX_BODY: usize = 1 << 20;
/// Characters of the engine's reason that are passed on.
const MAX_REASON: usize = 400;
/// The first bytes of every program.
const MAGIC: &[u8] = b"\0asm";

/// Compiles a program, unless it is in the cache, and runs it.
pub(crate) async fn run(
    request: CommandRequest,
    slot: Arc<EngineSlot>,
    artifacts: Arc<Artifacts>,
) -> Result<Outcome> {
    let (wasm, compiler) = (request.wasm.clone(), slot.clone());
    let component = tokio::task::spawn_blocking(move || compile(&wasm, &compiler, &artifacts))
        .await
        .map_err(|error| Error::internal("the compilation did not end", error))??;
    let with_http = linker::imports_http(&component);
    let pre = slot
        .linker_with(with_http)?
        .instantiate_pre(&component)
        .and_then(CommandPre::new)
        .map_err(|error| bad(&error))?;

    let begin = Instant::now();
    let limits = &request.limits;
    let (stdout, stderr) = (Output::new(Stream::Stdout), Output::new(Stream::Stderr));
    stdout.begin(limits.output, request.output.clone());
    stderr.begin(limits.output, request.output.clone());
    let mut host = Host::idle(usize::try_from(limits.memory).unwrap_or(usize::MAX));
    let stdin = Input::default();
    stdin.begin(&request.grants.stdin);
    host.wasi =
        grants::context(&request.grants, &request.name, &stdin, (&stdout, &stderr), Missing::Refused, None)?;
    host.files.give(&OwnFiles::Fresh, &request.grants);
    host.files.root_first = true;
    host.files.arm(DiskLimits { bytes: limits.disk, files: u64::from(limits.files) });
    host.net.begin(request.network.clone());
    if with_http {
        host.table.set_max_capacity(http::MAX_RESOURCES);
    }
    let allowance = Allowance::run(begin + limits.wall);
    let mut entry = Entry::prepare(slot, host);
    entry.set_fuel(limits.fuel);
    let status = match entry.call(&allowance, Main(pre)).await {
        Ok(result) => Status::Exited(i32::from(result.is_err())),
        Err(Left::Failed(error)) if error.is::<PoolConcurrencyLimitError>() => return Err(full()),
        Err(left) => trap::left(left, entry.host(), limits),
    };
    let usage = Usage {
        wall: begin.elapsed(),
        memory_peak: entry.host().limiter.peak() as u64,
        fuel: limits.fuel.map(|budget| budget.saturating_sub(entry.fuel())),
        disk_written: entry.host().files.budget.written(),
    };
    Ok(Outcome {
        status,
        stdout: stdout.captured(),
        stderr: stderr.captured(),
        usage,
        provider: crate::PROVIDER,
        fallback_from: None,
        recovery: None,
        warning: missed(entry.host()),
        closed_files: Vec::new(),
        recovery_reason: None,
        network: entry.host().net.used(),
    })
}

/// What the caller is told when the program's requests were denied for want of a network: `wasi:http` has no words for it.
fn missed(host: &Host) -> Option<Error> {
    let is_missed = host.http.as_ref().is_some_and(|http| http.sender.is_missed);
    is_missed.then(|| {
        Error::new(ErrorCode::NetworkDenied, "the program asked for the network, and has none")
            .with_hint("allow what it needs with --allow-net HOST or --network FILE (docs/guides/network.md)")
    })
}

/// A program's start and its main function: both are its own code, under one deadline.
struct Main(CommandPre<Host>);

impl Call<()> for Main {
    type Answer = Result<(), ()>;

    fn most(&self) -> usize {
        0
    }

    fn size(_: &Self::Answer) -> usize {
        0
    }

    async fn call(self, store: &mut Store<Host>, (): &()) -> wasmtime::Result<Self::Answer> {
        let command: Command = self.0.instantiate_async(&mut *store).await?;
        command.wasi_cli_run().call_run(store).await
    }
}

fn compile(wasm: &[u8], slot: &EngineSlot, artifacts: &Artifacts) -> Result<Component> {
    let hash = hex(&Sha256::digest(wasm));
    if let Some(component) = artifacts.load(&slot.engine, &hash)? {
        return Ok(component);
    }
    let component = match examine(wasm)? {
        Encoding::Component => wasm.to_vec(),
        Encoding::Module => adapt(wasm)?,
    };
    artifacts.make(&slot.engine, &hash, &component).map_err(|error| match error.code() {
        ErrorCode::BadComponent => {
            bad(&std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string))
        }
        _ => error,
    })
}

/// Refuses what is no WebAssembly, and what would take too long to compile.
fn examine(wasm: &[u8]) -> Result<Encoding> {
    if !wasm.starts_with(MAGIC) {
        return Err(no_program(wasm));
    }
    let mut encoding = None;
    let mut functions = 0u64;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|error| bad(&error))? {
            Payload::Version { encoding: found, .. } => encoding = encoding.or(Some(found)),
            Payload::CodeSectionStart { count, .. } => functions += u64::from(count),
            Payload::CodeSectionEntry(body) if body.range().len() > MAX_BODY => {
                return Err(too_complex(&format!(
                    "a function has {} bytes, at most {MAX_BODY}",
                    body.range().len()
                )));
            }
            _ => {}
        }
        if functions > MAX_FUNCTIONS {
            return Err(too_complex(&format!("it has {functions} functions, at most {MAX_FUNCTIONS}")));
        }
    }
    encoding.ok_or_else(|| no_program(&[]))
}

fn adapt(module: &[u8]) -> Result<Vec<u8>> {
    preview1::adapt(module).map_err(|error| {
        Error::new(ErrorCode::BadComponent, format!("the module is no preview1 command: {error}")).with_hint(
            "a core module must import only wasi_snapshot_preview1 and export `_start` and `memory`",
        )
    })
}

fn bad(error: &impl std::fmt::Display) -> Error {
    let text = format!("{error:#}");
    let text: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_REASON).collect();
    Error::new(ErrorCode::BadComponent, format!("the program cannot be run: {text}"))
        .with_hint("programs are wasi:cli commands or preview1 modules; what they may import besides WASI 0.2 is wasi:http")
}

fn no_program(wasm: &[u8]) -> Error {
    let text = wasm.trim_ascii_start().starts_with(b"(");
    let (what, hint) = match wasm {
        [] => ("the program is empty", "give the path of a compiled program, such as `app.wasm`"),
        _ if text => {
            ("the program is WebAssembly text", "compile it first, with wat2wasm or `wasm-tools parse`")
        }
        _ => (
            "the program is not WebAssembly",
            "its first bytes must be `\\0asm`, as in every compiled program",
        ),
    };
    Error::new(ErrorCode::BadComponent, what).with_hint(hint)
}

fn too_complex(why: &str) -> Error {
    Error::new(ErrorCode::BadComponent, format!("the program is too complex to compile: {why}"))
        .with_hint("compile it with optimisation, or split it")
}
