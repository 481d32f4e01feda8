//! How a record's row is written and read: its columns in order, then a seal over them.
//!
//! SQLite does not notice when a byte of a value has changed on the disk. The seal does: it is the BLAKE3 hash of the
//! table's name and of all other columns. It is no protection against a person who can write the folder.

use dormouse_core::Error;
use dormouse_core::sandbox::{ChunkId, SavedState, Timestamp};
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};
use serde::Serialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{Deserialize, IntoDeserializer as _};

use crate::fault::{Answer, broken};

/// A row on its way in.
pub(crate) struct Draft {
    table: &'static str,
    values: Vec<Value>,
}

impl Draft {
    pub(crate) fn new(table: &'static str) -> Self {
        Self { table, values: Vec::new() }
    }

    pub(crate) fn text(mut self, text: impl AsRef<str>) -> Self {
        self.values.push(Value::Text(text.as_ref().into()));
        self
    }

    pub(crate) fn option(mut self, text: Option<&str>) -> Self {
        self.values.push(text.map_or(Value::Null, |text| Value::Text(text.into())));
        self
    }

    /// Numbers beyond `i64` are kept as the largest; times and counters never come there.
    pub(crate) fn number(mut self, number: u64) -> Self {
        self.values.push(Value::Integer(integer(number)));
        self
    }

    pub(crate) fn time(mut self, time: Option<Timestamp>) -> Self {
        self.values.push(time.map_or(Value::Null, |time| Value::Integer(integer(time.0))));
        self
    }

    pub(crate) fn state(mut self, state: Option<SavedState>) -> Self {
        self.values.push(state.map_or(Value::Null, |state| Value::Blob(state.root.as_bytes().to_vec())));
        self.values.push(state.map_or(Value::Null, |state| Value::Integer(integer(state.bytes))));
        self
    }

    /// All columns, the seal being the last.
    pub(crate) fn sealed(mut self) -> Vec<Value> {
        let seal = seal(self.table, self.values.iter().map(ValueRef::from));
        self.values.push(Value::Blob(seal.to_vec()));
        self.values
    }
}

/// A row on its way out, whose seal was found whole.
pub(crate) struct Fields<'a> {
    row: &'a Row<'a>,
    table: &'static str,
    at: usize,
}

impl<'a> Fields<'a> {
    /// Takes a row of `count` columns and a seal.
    ///
    /// # Errors
    /// `state_damaged` when the seal is not that of the columns.
    pub(crate) fn of(table: &'static str, row: &'a Row<'a>, count: usize) -> Answer<Self> {
        let values = (0..count).map(|at| row.get_ref(at)).collect::<rusqlite::Result<Vec<_>>>()?;
        let fields = Self { row, table, at: 0 };
        let kept =
            matches!(row.get_ref(count)?, ValueRef::Blob(kept) if kept == seal(table, values.into_iter()));
        if kept { Ok(fields) } else { Err(fields.bad().into()) }
    }

    fn next<T: rusqlite::types::FromSql>(&mut self) -> Answer<T> {
        let value = self.row.get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    /// A text of a type that checks it.
    pub(crate) fn text<T: TryFrom<String>>(&mut self) -> Answer<T> {
        self.option()?.ok_or_else(|| self.bad().into())
    }

    pub(crate) fn option<T: TryFrom<String>>(&mut self) -> Answer<Option<T>> {
        let text: Option<String> = self.next()?;
        Ok(text.map(T::try_from).transpose().map_err(|_| self.bad())?)
    }

    /// One of a set of words.
    pub(crate) fn word<T: for<'d> Deserialize<'d>>(&mut self) -> Answer<T> {
        self.word_option()?.ok_or_else(|| self.bad().into())
    }

    pub(crate) fn word_option<T: for<'d> Deserialize<'d>>(&mut self) -> Answer<Option<T>> {
        let text: Option<String> = self.next()?;
        let read = |text: String| -> Result<T, WordError> {
            let words: StrDeserializer<'_, WordError> = text.as_str().into_deserializer();
            T::deserialize(words)
        };
        Ok(text.map(read).transpose().map_err(|error| self.bad().with_source(error))?)
    }

    /// Anything as JSON.
    pub(crate) fn json<T: for<'d> Deserialize<'d>>(&mut self) -> Answer<T> {
        let text: String = self.next()?;
        Ok(serde_json::from_str(&text).map_err(|error| self.bad().with_source(error))?)
    }

    pub(crate) fn number(&mut self) -> Answer<u64> {
        let number: i64 = self.next()?;
        Ok(u64::try_from(number).map_err(|_| self.bad())?)
    }

    pub(crate) fn time(&mut self) -> Answer<Option<Timestamp>> {
        let number: Option<i64> = self.next()?;
        Ok(number.map(u64::try_from).transpose().map_err(|_| self.bad())?.map(Timestamp))
    }

    pub(crate) fn state(&mut self) -> Answer<Option<SavedState>> {
        let root: Option<[u8; 32]> = self.next()?;
        let bytes: Option<i64> = self.next()?;
        Ok(match (root, bytes.map(u64::try_from)) {
            (Some(root), Some(Ok(bytes))) => Some(SavedState { root: ChunkId::from_bytes(root), bytes }),
            (None, None) => None,
            _ => return Err(self.bad().into()),
        })
    }

    /// The error for a row that is not what was written. Names it, as far as its first column can be read.
    pub(crate) fn bad(&self) -> Error {
        let id = self.row.get_ref(0).ok().and_then(|value| value.as_str().ok()).unwrap_or_default();
        let id: String = id.escape_debug().take(64).collect();
        broken(&format!("`{id}` of its {} is not what was written", self.table)).with_hint(match self.table {
            "checkpoints" => "the others are intact; sandbox_remove_checkpoint removes this one",
            _ => "the others are intact; sandbox_destroy removes this one with its checkpoints",
        })
    }
}

/// The word of a value that is one of a set.
pub(crate) fn word(value: impl Serialize) -> Answer<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        other => Err(Error::internal("a value has no word", format!("{other:?}")).into()),
    }
}

pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn seal<'a>(table: &str, values: impl Iterator<Item = ValueRef<'a>>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut add = |tag: u8, bytes: &[u8]| {
        hasher.update(&[tag]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(0, table.as_bytes());
    for value in values {
        match value {
            ValueRef::Null => add(1, &[]),
            ValueRef::Integer(number) => add(2, &number.to_le_bytes()),
            ValueRef::Real(number) => add(3, &number.to_le_bytes()),
            ValueRef::Text(text) => add(4, text),
            ValueRef::Blob(bytes) => add(5, bytes),
        }
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use dormouse_core::ErrorCode;
    use rusqlite::{Connection, params_from_iter};

    use super::*;

    fn read(connection: &Connection) -> Answer<(String, Option<String>, u64, Option<SavedState>)> {
        let mut statement = connection.prepare("SELECT * FROM t")?;
        let mut rows = statement.query(())?;
        let mut fields = Fields::of("t", rows.next()?.unwrap(), 5)?;
        Ok((fields.text()?, fields.option()?, fields.number()?, fields.state()?))
    }

    #[test]
    fn a_change_of_any_column_is_seen() {
        let state = Some(SavedState { root: ChunkId::from_bytes([7; 32]), bytes: 9 });
        let row = || Draft::new("t").text("ä").option(None).number(3).state(state);
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a, b, c, d, e, seal)").unwrap();
        let insert = |values: Vec<Value>| {
            connection.execute("DELETE FROM t", ()).unwrap();
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", params_from_iter(values)).unwrap();
        };
        insert(row().sealed());
        assert_eq!(read(&connection).unwrap(), ("ä".into(), None, 3, state));
        for change in [
            "a = 'b'",
            "a = CAST(x'ff' AS TEXT)",
            "a = x'c3a4'",
            "a = 1",
            "b = ''",
            "c = 4",
            "c = NULL",
            "c = 3.0",
            "d = zeroblob(32)",
            "d = x'07'",
            "e = -9",
            "seal = NULL",
            "seal = zeroblob(32)",
        ] {
            insert(row().sealed());
            connection.execute(&format!("UPDATE t SET {change}"), ()).unwrap();
            let error = Error::from(read(&connection).unwrap_err());
            assert_eq!(error.code(), ErrorCode::StateDamaged, "{change}");
        }
        // The same columns in another table are another row.
        insert(Draft { table: "u", ..row() }.sealed());
        assert!(read(&connection).is_err());
    }
}
