//! Records of runs that outlive their call: how they lie in their rows, and how they are found.

use dormouse_core::connections::Decision;
use dormouse_core::sandbox::{Answer, Journal, Lease, Owner, Run, RunCall, RunId, SandboxId};
use dormouse_core::{Error, ErrorCode, Result};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, Transaction, params_from_iter};

use crate::fault::Answer as Answered;
use crate::lease::Held;
use crate::row::{Draft, Fields};
use crate::store::Store;

const RUNS: &str = "runs";
const CALLS: &str = "run_calls";
const ANSWERS: &str = "run_answers";

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id, owner, sandbox, open, created_at, record, source, seal FROM runs WHERE ", $rest)
    };
}

fn text(of: &impl serde::Serialize) -> Answered<String> {
    Ok(serde_json::to_string(of)
        .map_err(|error| Error::internal("a record of a run cannot be written", error))?)
}

fn draft(run: &Run, source: &str) -> Answered<Vec<Value>> {
    Ok(Draft::new(RUNS)
        .text(run.id.as_str())
        .text(run.owner.as_str())
        .text(run.sandbox.as_str())
        .number(run.state.is_open().into())
        .number(run.created_at.0)
        .text(text(run)?)
        .text(source)
        .sealed())
}

fn read(row: &Row<'_>) -> Answered<(Run, String)> {
    let mut fields = Fields::of(RUNS, row, 7)?;
    for _ in 0..3 {
        fields.text::<String>()?;
    }
    fields.number()?;
    fields.number()?;
    Ok((fields.json()?, fields.text()?))
}

/// Those that a selection gives, but for those that are damaged.
fn all(connection: &Connection, select: &str, with: impl Params, most: usize) -> Answered<Vec<Run>> {
    let mut statement = connection.prepare_cached(select)?;
    let mut rows = statement.query(with)?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        match read(row) {
            Ok((run, _)) => found.push(run),
            Err(fault) => {
                let error = Error::from(fault);
                if error.code() != ErrorCode::StateDamaged {
                    return Err(error.into());
                }
                tracing::warn!(%error, "a run is left out");
            }
        }
    }
    Ok(found)
}

fn one(connection: &Connection, id: &RunId) -> Answered<Option<(Run, String)>> {
    let mut statement = connection.prepare_cached(select!("id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    Ok(match rows.next()? {
        Some(row) => Some(read(row)?),
        None => None,
    })
}

fn unknown(id: &RunId) -> Error {
    Error::new(ErrorCode::NotFound, format!("there is no run `{id}`"))
        .with_hint("list the runs: each owner's are its own, and only the last ones are kept")
}

fn insert(connection: &Connection, run: &Run, source: &str) -> Answered<()> {
    let sql = "INSERT OR REPLACE INTO runs (id, owner, sandbox, open, created_at, record, source, seal) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(params_from_iter(draft(run, source)?))?;
    Ok(())
}

/// Replaces the record of a run, and adds or replaces calls.
pub(crate) fn change(transaction: &Transaction<'_>, run: &Run, calls: &[RunCall]) -> Answered<()> {
    let (_, source) = one(transaction, &run.id)?.ok_or_else(|| unknown(&run.id))?;
    let sql = "UPDATE runs SET (id, owner, sandbox, open, created_at, record, source, seal) = \
               (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute(params_from_iter(draft(run, &source)?))?;
    let sql = "INSERT OR REPLACE INTO run_calls (run, number, record, seal) VALUES (?1, ?2, ?3, ?4)";
    for call in calls {
        let row = Draft::new(CALLS).text(run.id.as_str()).number(call.number.into()).text(text(call)?);
        transaction.prepare_cached(sql)?.execute(params_from_iter(row.sealed()))?;
    }
    Ok(())
}

impl Journal for Store {
    fn add(&self, run: &Run, source: &str, most: u32) -> Result<()> {
        Ok(self.database.write(|transaction| {
            let sql = "SELECT count(*) FROM runs WHERE owner = ?1 AND open = 1";
            let open: u32 =
                transaction.prepare_cached(sql)?.query_row([run.owner.as_str()], |row| row.get(0))?;
            if open >= most {
                let message = format!("{open} runs go on, at most {most} of one owner may");
                return Err(Error::new(ErrorCode::QuotaExceeded, message)
                    .with_hint("wait until some have ended, or cancel those that are not needed")
                    .into());
            }
            insert(transaction, run, source)
        })?)
    }

    fn find(&self, owner: &Owner, id: &RunId) -> Result<Run> {
        let found = self.database.read(|reader| one(&reader.connection, id))?;
        found.map(|(run, _)| run).filter(|run| run.owner == *owner).ok_or_else(|| unknown(id))
    }

    fn source(&self, id: &RunId) -> Result<String> {
        let found = self.database.read(|reader| one(&reader.connection, id))?;
        found.map(|(_, source)| source).ok_or_else(|| unknown(id))
    }

    fn list(&self, owner: &Owner, most: usize) -> Result<Vec<Run>> {
        let select = select!("owner = ?1 ORDER BY created_at DESC, id DESC");
        Ok(self.database.read(|reader| all(&reader.connection, select, [owner.as_str()], most))?)
    }

    fn open(&self) -> Result<Vec<Run>> {
        let select = select!("open = 1 ORDER BY created_at, id");
        Ok(self.database.read(|reader| all(&reader.connection, select, (), usize::MAX))?)
    }

    fn open_in(&self, sandbox: &SandboxId) -> Result<Option<Run>> {
        let select = select!("sandbox = ?1 AND open = 1");
        Ok(self.database.read(|reader| all(&reader.connection, select, [sandbox.as_str()], 1))?.pop())
    }

    fn calls(&self, id: &RunId) -> Result<Vec<RunCall>> {
        Ok(self.database.read(|reader| {
            let sql = "SELECT run, number, record, seal FROM run_calls WHERE run = ?1 ORDER BY number";
            let mut statement = reader.connection.prepare_cached(sql)?;
            let mut rows = statement.query([id.as_str()])?;
            let mut calls = Vec::new();
            while let Some(row) = rows.next()? {
                let mut fields = Fields::of(CALLS, row, 3)?;
                fields.text::<String>()?;
                fields.number()?;
                calls.push(fields.json()?);
            }
            Ok(calls)
        })?)
    }

    fn change(&self, run: &Run, calls: &[RunCall]) -> Result<()> {
        Ok(self.database.write(|transaction| change(transaction, run, calls))?)
    }

    fn answer(&self, id: &RunId, answer: &Answer) -> Result<()> {
        Ok(self.database.write(|transaction| {
            let sql = "SELECT 1 FROM run_answers WHERE run = ?1 AND number = ?2";
            let known = (id.as_str(), answer.number);
            if transaction.prepare_cached(sql)?.query_row(known, |_| Ok(())).optional()?.is_some() {
                return Err(Error::new(ErrorCode::Conflict, "this has been answered already")
                    .with_hint("look at the run again: an answer counts once")
                    .into());
            }
            let row = Draft::new(ANSWERS).text(id.as_str()).number(answer.number.into());
            let row = row.text(text(&answer.decision)?).sealed();
            let sql = "INSERT INTO run_answers (run, number, decision, seal) VALUES (?1, ?2, ?3, ?4)";
            transaction.prepare_cached(sql)?.execute(params_from_iter(row))?;
            Ok(())
        })?)
    }

    fn answers(&self, id: &RunId) -> Result<Vec<Answer>> {
        Ok(self.database.read(|reader| {
            let sql = "SELECT run, number, decision, seal FROM run_answers WHERE run = ?1 ORDER BY number";
            let mut statement = reader.connection.prepare_cached(sql)?;
            let mut rows = statement.query([id.as_str()])?;
            let mut answers = Vec::new();
            while let Some(row) = rows.next()? {
                let mut fields = Fields::of(ANSWERS, row, 3)?;
                fields.text::<String>()?;
                let number = u32::try_from(fields.number()?).map_err(|_| fields.bad())?;
                answers.push(Answer { number, decision: fields.json::<Decision>()? });
            }
            Ok(answers)
        })?)
    }

    fn lease_run(&self, id: &RunId) -> Result<Option<Lease>> {
        if let Err(fault) = self.database.check_writable() {
            return if self.database.is_still() { Ok(None) } else { Err(fault.into()) };
        }
        Ok(Held::take(&self.folder.locks().join(id.as_str()))?.map(Held::boxed))
    }

    fn forget(&self, owner: &Owner, keep: usize) -> Result<()> {
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        Ok(self.database.write(|transaction| {
            let sql = "DELETE FROM runs WHERE owner = ?1 AND open = 0 AND id NOT IN \
                       (SELECT id FROM runs WHERE owner = ?1 AND open = 0 ORDER BY created_at DESC, id DESC LIMIT ?2)";
            transaction.prepare_cached(sql)?.execute((owner.as_str(), keep))?;
            Ok(())
        })?)
    }
}
