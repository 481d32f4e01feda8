//! Files that a run of JavaScript imports and that are TypeScript. Its guest asks for each by the contract's import for programs:
//! the program [`PROGRAM`] with the file's path as its argument and the text as its input gives JavaScript.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use dormouse_core::sandbox::SpecMount;
use dormouse_core::{Error, Limits, Result, Status};
use dormouse_files::{Files, Quota, Tree};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use super::{Failed, Transpilers, Work, is_configured};
use crate::bindings::dormouse::sandbox::programs as contract;
use crate::engine::Metering;
use crate::entry::Allowance;
use crate::instance::Spent;
use crate::pauses::Pauses;
use crate::reach::Reach;
use crate::state::Compile;

/// The name under which the guest asks.
const PROGRAM: &str = "typescript";
/// Files that one run may have compiled.
const MAX_FILES: u32 = 4_096;
/// What is kept of all runs' files: how many, and bytes of their JavaScript.
const MAX_KEPT: usize = 1_024;
const MAX_KEPT_BYTES: usize = 32 << 20;

/// What a run may have compiled.
pub(crate) struct Compiler {
    transpilers: Arc<Transpilers>,
    metering: Metering,
    limits: Limits,
    /// Where configurations lie: the sandbox's own files, if it has some, and the host's that it sees.
    tree: Option<Files>,
    mounts: Vec<SpecMount>,
    count: AtomicU32,
}

impl Compiler {
    pub(crate) fn new(
        transpilers: &Arc<Transpilers>,
        metering: Metering,
        limits: &Limits,
        tree: Option<Files>,
        mounts: Vec<SpecMount>,
    ) -> Arc<Self> {
        let (transpilers, limits) = (transpilers.clone(), limits.clone());
        Arc::new(Self { transpilers, metering, limits, tree, mounts, count: AtomicU32::new(0) })
    }

    /// Compiles a file within what is left of the run. Answers what it cost in fuel as well.
    async fn run(
        &self,
        command: &contract::Command,
        allowance: Allowance,
        fuel: Option<u64>,
    ) -> (contract::Ended, u64) {
        let limits = Limits { fuel, ..self.limits.clone() };
        let mut spent = Spent::default();
        let ended = match self.compiled(command, allowance, &limits, &mut spent).await {
            Ok(Ok(code)) => {
                contract::Ended { status: 0, output: code.as_bytes().to_vec(), errors: Vec::new() }
            }
            Ok(Err(failed)) => told(&failed),
            Err(error) => told(&Failed::Ended(Status::Stopped(error))),
        };
        (ended, spent.fuel)
    }

    async fn compiled(
        &self,
        command: &contract::Command,
        allowance: Allowance,
        limits: &Limits,
        spent: &mut Spent,
    ) -> Result<std::result::Result<Arc<str>, Failed>> {
        let path = command.arguments.first().map_or("", String::as_str);
        let Ok(source) = std::str::from_utf8(&command.input) else {
            return Err(Error::args_invalid(format!("`{path}` is not UTF-8")));
        };
        super::check_size(source)?;
        if self.count.fetch_add(1, Ordering::Relaxed) >= MAX_FILES {
            return Err(Error::args_invalid(format!(
                "the run has compiled its {MAX_FILES} files of TypeScript"
            )));
        }
        let mut work = Work::new(self.transpilers.get(self.metering).await?, limits, allowance);
        let configuration = match is_configured(source) {
            true => {
                work.configuration(&mut self.reach(), path.rsplit_once('/').map_or("", |(at, _)| at)).await?
            }
            false => None,
        };
        let key = key(path, source, configuration.as_deref(), self.metering);
        let kept = self.transpilers.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key);
        let done = match kept {
            Some(Kept { code, fuel }) if limits.fuel.is_none_or(|most| work.spent.fuel + fuel <= most) => {
                work.spent.fuel += fuel;
                Ok(code)
            }
            _ => {
                let before = work.spent.fuel;
                let made = work.run(source, path, configuration).await?;
                made.map(|code| {
                    let code: Arc<str> = code.into();
                    let kept = Kept { code: code.clone(), fuel: work.spent.fuel - before };
                    self.transpilers.kept.lock().unwrap_or_else(PoisonError::into_inner).put(key, kept);
                    code
                })
            }
        };
        *spent = work.spent;
        Ok(done)
    }

    fn reach(&self) -> Reach {
        let tree = self.tree.clone().unwrap_or_else(|| Files::new(Tree::new(Quota::default())));
        Reach::new(tree, &self.mounts)
    }
}

impl Compile for Compiler {
    fn program(&self) -> &'static str {
        PROGRAM
    }

    fn compile(
        self: Arc<Self>,
        command: contract::Command,
        until: (Instant, Pauses),
        fuel: Option<u64>,
    ) -> BoxFuture<'static, (contract::Ended, u64)> {
        async move { self.run(&command, Allowance::within(until), fuel).await }.boxed()
    }
}

/// What the guest makes an exception of.
fn told(failed: &Failed) -> contract::Ended {
    let said = match failed {
        Failed::Refused(refusal) => {
            let place = refusal.place.as_ref();
            json!({
                "message": super::cut(&refusal.message, super::MAX_MESSAGE),
                "line": place.map(|place| place.line),
                "column": place.map(|place| place.column),
            })
        }
        Failed::Ended(Status::Stopped(error)) => {
            json!({ "message": error.to_string(), "code": error.code().as_str() })
        }
        Failed::Ended(_) => json!({ "message": "the TypeScript compiler ended" }),
    };
    contract::Ended { status: 1, output: Vec::new(), errors: said.to_string().into_bytes() }
}

type Key = [u8; 32];

/// What the JavaScript of a file depends on.
fn key(path: &str, source: &str, configuration: Option<&str>, metering: Metering) -> Key {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let mut hash = blake3::Hasher::new();
    for part in [ending, configuration.unwrap_or_default(), source] {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hash.update(&[u8::from(configuration.is_some()), u8::from(metering == Metering::Fuel)]);
    *hash.finalize().as_bytes()
}

/// JavaScript, and what it cost to make.
#[derive(Clone)]
struct Kept {
    code: Arc<str>,
    fuel: u64,
}

/// The JavaScript of files that were compiled, by what it was made of; the oldest goes first.
#[derive(Default)]
pub(super) struct Store {
    entries: HashMap<Key, Kept>,
    order: VecDeque<Key>,
    bytes: usize,
}

impl Store {
    fn get(&self, key: &Key) -> Option<Kept> {
        self.entries.get(key).cloned()
    }

    fn put(&mut self, key: Key, kept: Kept) {
        let more = kept.code.len();
        if more > MAX_KEPT_BYTES || self.entries.contains_key(&key) {
            return;
        }
        while self.entries.len() >= MAX_KEPT || self.bytes + more > MAX_KEPT_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.entries.remove(&oldest).map_or(0, |kept| kept.code.len());
        }
        self.bytes += more;
        self.order.push_back(key);
        self.entries.insert(key, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_belongs_to_what_it_was_made_of() {
        let mut store = Store::default();
        let kept = |bytes: usize| Kept { code: "x".repeat(bytes).into(), fuel: 0 };
        let number = |n: usize| key("/a.ts", &n.to_string(), None, Metering::Epoch);
        for n in 0..2 * MAX_KEPT {
            store.put(number(n), kept(1));
        }
        assert_eq!((store.entries.len(), store.order.len(), store.bytes), (MAX_KEPT, MAX_KEPT, MAX_KEPT));
        assert!(store.get(&number(0)).is_none() && store.get(&number(2 * MAX_KEPT - 1)).is_some());
        store.put(number(0), kept(MAX_KEPT_BYTES));
        assert_eq!((store.entries.len(), store.bytes), (1, MAX_KEPT_BYTES));
        store.put(number(1), kept(MAX_KEPT_BYTES + 1));
        assert_eq!(store.entries.len(), 1);
        let keys = [
            number(1),
            key("/b/c.ts", "2", None, Metering::Epoch),
            key("/a.tsx", "1", None, Metering::Epoch),
            key("/a.ts", "1", Some(""), Metering::Epoch),
            key("/a.ts", "1", None, Metering::Fuel),
        ];
        assert!((0..keys.len()).all(|n| !keys[..n].contains(&keys[n])));
        assert_eq!(number(1), key("/other.ts", "1", None, Metering::Epoch));
    }
}
