//! Full text over the names and descriptions of tools: an index of SQLite's, in memory, for each set of lists.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, params};

use crate::tools::{Mark, Tools};

/// Indexes that are kept: owners have the same tools as a rule.
const KEPT: usize = 8;
/// Bytes of a description that are searched (4 KiB).
const MAX_DESCRIPTION: usize = 4 << 10;
/// Words of a query.
const MAX_WORDS: usize = 16;
/// Longest word, in characters.
const MAX_WORD: usize = 40;

/// The lists of tools of some servers.
pub(crate) type Lists = Vec<(usize, Arc<Tools>)>;

/// A tool that was found: its server, and its place in the list.
pub(crate) type Found = (usize, Arc<Tools>, usize);

/// The indexes that were used last.
#[derive(Default)]
pub(crate) struct Indexes(Mutex<VecDeque<Index>>);

struct Index {
    key: Vec<(usize, Mark)>,
    connection: Connection,
}

impl Indexes {
    /// The tools of these lists that fit a text best, at most `most`, the best first. Words are matched by their beginnings; a text
    /// without words finds the first tools.
    pub(crate) fn search(&self, lists: Lists, text: &str, most: usize) -> Vec<Found> {
        let Some(query) = query(text) else {
            let all = lists
                .into_iter()
                .flat_map(|(server, tools)| (0..tools.list.len()).map(move |at| (server, tools.clone(), at)));
            return all.take(most).collect();
        };
        match self.rows(&lists, &query, most) {
            Ok(rows) => {
                let found = rows.into_iter().filter_map(|(list, at)| {
                    let (server, tools) = lists.get(list)?;
                    (at < tools.list.len()).then(|| (*server, tools.clone(), at))
                });
                found.collect()
            }
            Err(error) => {
                tracing::warn!(%error, "tools cannot be searched");
                Vec::new()
            }
        }
    }

    fn rows(&self, lists: &Lists, query: &str, most: usize) -> rusqlite::Result<Vec<(usize, usize)>> {
        let key: Vec<(usize, Mark)> = lists.iter().map(|(server, tools)| (*server, tools.mark)).collect();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = match kept.iter().position(|index| index.key == key).and_then(|at| kept.remove(at)) {
            Some(index) => index,
            None => Index { key, connection: built(lists)? },
        };
        let found = index.find(query, most);
        kept.push_front(index);
        kept.truncate(KEPT);
        found
    }
}

impl Index {
    fn find(&self, query: &str, most: usize) -> rusqlite::Result<Vec<(usize, usize)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT list, at FROM tools WHERE tools MATCH ?1 ORDER BY bm25(tools, 8.0, 2.0, 1.0), list, at LIMIT ?2",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = statement
            .query_map(params![query, most], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
        rows.map(|row| row.map(|(list, at)| (unsigned(list), unsigned(at)))).collect()
    }
}

fn unsigned(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn built(lists: &Lists) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(
        "CREATE VIRTUAL TABLE tools USING fts5(name, arguments, description, list UNINDEXED, at UNINDEXED,
             tokenize='porter unicode61', prefix='2 3');
         BEGIN;",
    )?;
    {
        let mut insert = connection.prepare("INSERT INTO tools VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for (list, (_, tools)) in lists.iter().enumerate() {
            for (at, tool) in tools.list.iter().enumerate() {
                let description = &tool.listed.description;
                let end = description.floor_char_boundary(MAX_DESCRIPTION.min(description.len()));
                let properties = tool.listed.input_schema["properties"].as_object();
                let arguments: String = properties
                    .into_iter()
                    .flat_map(|properties| properties.keys().take(100))
                    .map(|name| format!("{} ", words(name).join(" ")))
                    .collect();
                let name = words(&tool.listed.name).join(" ");
                insert.execute(params![
                    name,
                    arguments,
                    words(&description[..end]).join(" "),
                    list as i64,
                    at as i64
                ])?;
            }
        }
    }
    connection.execute_batch("COMMIT")?;
    Ok(connection)
}

/// The query in SQLite's words: any of the words, each as a beginning. None: it has no words.
fn query(text: &str) -> Option<String> {
    // Words have letters and digits alone: nothing in them is the query language's.
    let words: Vec<String> =
        words(text).into_iter().take(MAX_WORDS).map(|word| format!("\"{word}\"*")).collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

/// The words of a text, small: split at all but letters and digits, and where a small letter is followed by a capital.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut was_small) = (Vec::new(), String::new(), false);
    for c in text.chars().chain([' ']) {
        let ends = !c.is_alphanumeric() || (was_small && c.is_uppercase());
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        was_small = c.is_lowercase() || c.is_numeric();
        if c.is_alphanumeric() && word.chars().count() < MAX_WORD {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use dormouse_sources::Listed;
    use serde_json::json;

    use super::*;

    fn listed(name: &str, description: &str) -> Listed {
        Listed {
            name: name.into(),
            description: description.into(),
            input_schema: json!({"type": "object", "properties": {"repoName": {}}}),
            output_schema: None,
            annotations: None,
        }
    }

    fn lists() -> Lists {
        let first =
            ["list_issues", "createIssue", "delete-repository"].map(|name| listed(name, "Works on GitHub."));
        let second =
            [listed("read_file", "Reads a file. Issues are not its concern."), listed("x", "ZÜRICH weather")];
        vec![(3, Arc::new(Tools::new(first.into()))), (5, Arc::new(Tools::new(second.into())))]
    }

    fn found(text: &str) -> Vec<String> {
        let indexes = Indexes::default();
        let found = indexes.search(lists(), text, 10);
        found
            .into_iter()
            .map(|(server, tools, at)| format!("{server}.{}", tools.list[at].listed.name))
            .collect()
    }

    #[test]
    fn tools_are_found_by_words_of_their_names_and_descriptions_and_names_count_more() {
        assert_eq!(found("create issue")[0], "3.createIssue");
        assert_eq!(found("issue"), ["3.list_issues", "3.createIssue", "5.read_file"]);
        assert_eq!(
            (found("delRepo")[0].as_str(), found("delRepo").len()),
            ("3.delete-repository", 5),
            "arguments count as well"
        );
        assert_eq!(found("zürich"), ["5.x"]);
        assert_eq!(found("nothing of that kind"), Vec::<String>::new());
        assert_eq!(found("").len(), 5);
    }

    /// A query is data: what it says in the query language's words is searched for, and a long one ends.
    #[test]
    fn run_22_a_hostile_query_is_data() {
        for text in [
            "\" OR 1=1 --",
            "NEAR(a b, 10)",
            "name:*",
            "*",
            "^",
            "a\0b",
            "'; DROP TABLE tools; --",
            "((((",
            "-issue",
            "\u{202e}",
        ] {
            found(text);
        }
        assert_eq!(found("NOT issue AND file")[0], "5.read_file");
        let long = "issue ".repeat(100_000);
        assert!(!found(&long[..1_024]).is_empty() && words(&"a".repeat(1 << 20)) == ["a".repeat(MAX_WORD)]);
    }

    /// Servers list a hundred thousand tools in all.
    #[test]
    fn run_23_a_hundred_thousand_tools_are_searched() {
        let servers = (0..100).map(|server| {
            let tools = (0..1_000)
                .map(|at| listed(&format!("tool_{server}_{at}"), "Does this and that with things."));
            (server, Arc::new(Tools::new(tools.collect())))
        });
        let (indexes, lists): (Indexes, Lists) = (Indexes::default(), servers.collect());
        let found = indexes.search(lists.clone(), "tool 77 999", 3);
        assert_eq!(found[0].1.list[found[0].2].listed.name, "tool_77_999");
        assert_eq!(indexes.search(lists, "tool thing", 10).len(), 10);
        assert_eq!(indexes.0.lock().unwrap().len(), 1, "the index is kept");
    }
}
