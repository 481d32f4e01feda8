//! An interpreter goes from the guest that its memory belongs to to the current one: its variables are exported by the old guest into
//! a file of the sandbox, and bound by the new one from there.
//!
//! What can be carried is what the language's own form of saving takes: pickles of Python without what snippets define, `serialize` of
//! PHP, in JavaScript what `structuredClone` would take and a few more, in the shell what `declare` and `alias` print.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Files as _, Migrated};
use dormouse_core::{
    Bounds, Error, ErrorCode, EvalRequest, GuestName, GuestPath, Language, Limits, LineRequest, Outcome,
    Result, Status,
};
use serde::Deserialize;

use super::WasmMachine;
use super::interpreter::Interpreter;

/// Where the variables are meanwhile: the beginning of a name that nobody can know.
const FILE: &str = "/tmp/.dormouse-variables-";
/// What snippets in Python are carried by, in a namespace of their own: a program can have variables called `len` or `open`.
const PYTHON: &str = "\
__dormouse_carry = {'here': __import__('builtins').globals(), 'path': PATH, 'most': MOST}
__import__('builtins').exec(SOURCE, __dormouse_carry)
__import__('builtins').globals().pop('__dormouse_carry')['told']";
/// Variables, functions and classes of one language that are carried at most: a longer list of them is cut.
const MOST_VARIABLES: usize = 2_000;
/// Words that no variable of JavaScript can be called, although a property of the global object can.
const RESERVED: &str = " await break case catch class const continue debugger default delete do else enum export extends false \
    finally for function if import in instanceof let new null return static super switch this throw true try typeof var void \
    while with yield ";

/// What a side of the way says.
#[derive(Default, Deserialize)]
struct Told {
    carried: Vec<String>,
    left: Vec<(String, String)>,
}

impl WasmMachine {
    /// See [`dormouse_core::sandbox::Machine::migrate`].
    pub(super) async fn carry(&mut self, limits: &Limits, memory: Option<&str>) -> Result<Vec<Migrated>> {
        let (mut done, mut chosen) = (Vec::new(), None);
        if let Some(memory) = memory {
            let (guest, migrated) = self.choose(memory, limits).await?;
            chosen = Some(guest);
            done.extend(migrated);
        }
        let guests: Vec<GuestName> = match &chosen {
            // Whoever names a memory means its language.
            Some(guest) => vec![guest.clone()],
            None => self.interpreters.keys().cloned().collect(),
        };
        for guest in guests {
            let Some(from) = self.belongs_to(&guest)? else { continue };
            done.push(self.carry_one(guest, from, limits).await?);
        }
        Ok(done)
    }

    /// Has an interpreter go on from one of its older memories. Answers whose it is, and what came of that where it belongs to the
    /// current guest, so that nothing has to be carried.
    ///
    /// # Errors
    /// `not_found`; `guest_missing`, `guest_mismatch` where its guest cannot be had.
    async fn choose(&mut self, memory: &str, limits: &Limits) -> Result<(GuestName, Option<Migrated>)> {
        let all = self.interpreters.values().flat_map(Interpreter::memories);
        let Some(chosen) = all.into_iter().find(|stored| stored.guest().starts_with(memory)) else {
            let message = format!("no memory of the sandbox belongs to a guest `{}`", memory.escape_debug());
            return Err(Error::new(ErrorCode::NotFound, message)
                .with_hint("`dormouse state doctor` lists the memories that are kept, each with its guest"));
        };
        let guest = chosen.language().clone();
        self.loader.wake(&guest, chosen.guest())?;
        self.interpreters.insert(guest.clone(), Interpreter::of(&chosen, &self.files.0));
        if self.belongs_to(&guest)?.is_some() {
            return Ok((guest, None));
        }
        let mut carried = Vec::new();
        if let Some(language) = guest.language() {
            let variables = dormouse_core::sandbox::Machine::variables(self, language, limits).await?;
            carried.extend(variables.into_iter().map(|variable| variable.name));
        }
        let (from, left) = (chosen.guest().to_owned(), Vec::new());
        Ok((guest.clone(), Some(Migrated { guest, from, why: None, carried, left })))
    }

    /// The SHA-256 of the guest that the latest memory of an interpreter belongs to, where that is not the current one.
    fn belongs_to(&self, guest: &GuestName) -> Result<Option<String>> {
        let memories = self.interpreters.get(guest).map(Interpreter::memories).unwrap_or_default();
        let Some(latest) = memories.first() else { return Ok(None) };
        match self.loader.current(guest) {
            Ok(current) => Ok((latest.guest() != current).then(|| latest.guest().to_owned())),
            // There is nothing to go to.
            Err(error) => Err(error),
        }
    }

    async fn carry_one(&mut self, guest: GuestName, from: String, limits: &Limits) -> Result<Migrated> {
        let runs = self.interpreters.get(&guest).is_some_and(|one| one.runs_with(&from));
        let file = file()?;
        let exported = match runs {
            // What can be had is not to be dropped because it takes too long, or is too much.
            true => self
                .export(&guest, &file, limits)
                .await?
                .ok_or("its language has no form of saving variables"),
            false => Err("its guest is not on this machine"),
        };
        let others = self.interpreters.get(&guest).map(Interpreter::memories).unwrap_or_default();
        self.interpreters.insert(guest.clone(), Interpreter::default());
        let mut migrated = Migrated { guest, from, why: None, carried: Vec::new(), left: Vec::new() };
        match exported {
            Err(why) => migrated.why = Some(why.to_owned()),
            Ok(out) => {
                let bound = self.import(&migrated.guest, &file, &out, limits).await?;
                migrated.carried = bound.carried;
                migrated.left = [out.left, bound.left].concat();
                migrated.carried.sort();
                migrated.left.sort();
            }
        }
        // Beside the new memory they would count as saved bytes, and nobody could reach them.
        for other in others.iter().skip(1) {
            let memory = format!("the older memory of guest {:.12}", other.guest());
            migrated.left.push((memory, "it stays in the checkpoint `before-migration`".to_owned()));
        }
        // Where there is none, nothing was exported.
        let _ = self.files.remove(&GuestPath::parse(&file)?, false).await;
        Ok(migrated)
    }

    /// Has the old guest write its variables to the file. None: its language has no form of saving.
    ///
    /// # Errors
    /// `invalid_state` when there are too many, or they cannot be read in time.
    async fn export(&mut self, guest: &GuestName, file: &str, limits: &Limits) -> Result<Option<Told>> {
        if *guest == GuestName::Shell {
            let line = include_str!("carry/shell_out.sh").replace("PATH_OF_FILE", file);
            let outcome = self.line_of(line, limits).await?;
            ended(guest, &outcome)?;
            let carried = outcome.stdout.text.lines().map(str::to_owned).collect();
            return Ok(Some(Told { carried, left: Vec::new() }));
        }
        let Some(language) = guest.language() else { return Ok(Some(Told::default())) };
        if language.as_str() == "python" {
            // It lists them itself: what is listed for people leaves out names that begin with `_`.
            let code = python(include_str!("carry/python_out.py"), file);
            return self.told(guest, code, limits).await.map(Some);
        }
        let variables = dormouse_core::sandbox::Machine::variables(self, language, limits).await?;
        if variables.len() > MOST_VARIABLES {
            return Err(not_carried(guest, &format!("there are more than {MOST_VARIABLES}")));
        }
        let names: Vec<String> = variables.into_iter().map(|variable| variable.name).collect();
        match exporting(language, &names, file) {
            Some(code) => self.told(guest, code, limits).await.map(Some),
            None => Ok(None),
        }
    }

    /// Has the current guest bind the variables of the file.
    ///
    /// # Errors
    /// As [`WasmMachine::export`].
    async fn import(&mut self, guest: &GuestName, file: &str, out: &Told, limits: &Limits) -> Result<Told> {
        if *guest == GuestName::Shell {
            let outcome = self.line_of(format!(". {file}"), limits).await?;
            ended(guest, &outcome)?;
            return Ok(Told { carried: out.carried.clone(), left: Vec::new() });
        }
        match guest.language().and_then(|language| importing(language, file)) {
            Some(code) => self.told(guest, code, limits).await,
            None => Ok(Told::default()),
        }
    }

    /// What a snippet says as its value, which is JSON.
    async fn told(&mut self, guest: &GuestName, code: String, limits: &Limits) -> Result<Told> {
        let Some(language) = guest.language() else { return Ok(Told::default()) };
        let mut request = EvalRequest::new(language.clone(), code);
        request.context.limits = limits.clone();
        request.context.bounds = Bounds::MAX;
        let outcome = dormouse_core::sandbox::Machine::eval(self, request).await?;
        ended(guest, &outcome)?;
        let text = outcome.value().and_then(|value| value.as_str());
        let told = text.and_then(|text| serde_json::from_str(text).ok());
        told.ok_or_else(|| not_carried(guest, "their list is too long"))
    }

    async fn line_of(&mut self, line: String, limits: &Limits) -> Result<Outcome> {
        let mut request = LineRequest::new(line);
        request.context.limits = limits.clone();
        Ok(self.run_line(request, Arc::new(NoPrograms)).await?.outcome)
    }
}

/// Why a sandbox is not migrated, although its guest is there.
fn not_carried(guest: &GuestName, why: &str) -> Error {
    Error::new(ErrorCode::InvalidState, format!("the variables of {guest} cannot be carried: {why}")).with_hint(
        "the sandbox is as it was, and wakes with its own guest: remove there what keeps it (a variable, or files where its disk is full), or give it more time (`--timeout`)",
    )
}

/// Whether a run has come to its end.
fn ended(guest: &GuestName, outcome: &Outcome) -> Result<()> {
    if let Some(error) = outcome.stopped() {
        return Err(not_carried(guest, error.message()));
    }
    match &outcome.status {
        Status::Raised(exception) => {
            Err(not_carried(guest, &format!("{}: {}", exception.class, exception.message)))
        }
        Status::Exited(status) if *status != 0 => Err(not_carried(
            guest,
            &format!("reading one of them ended the interpreter with status {status}"),
        )),
        _ => Ok(()),
    }
}

/// A name of the file that no file of the sandbox has.
fn file() -> Result<String> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(|error| Error::internal("no random numbers", error))?;
    Ok(format!("{FILE}{:016x}", u64::from_le_bytes(number)))
}

/// A snippet that runs a source of ours beside the program's own names. Escapes of JSON are escapes of Python.
fn python(source: &str, file: &str) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    PYTHON
        .replace("MOST", &MOST_VARIABLES.to_string())
        .replace("PATH", &text(file))
        .replace("SOURCE", &text(source))
}

/// The snippet that exports variables. None: there is none for this language.
fn exporting(language: &Language, names: &[String], file: &str) -> Option<String> {
    Some(match language.as_str() {
        "php" => {
            // Single quotes have no variables in them.
            let list: Vec<String> = names.iter().map(|name| php_text(name)).collect();
            format!("{}([{}], '{file}')", include_str!("carry/php_out.php"), list.join(", "))
        }
        "javascript" => {
            let read: BTreeMap<&str, String> =
                names.iter().map(|name| (name.as_str(), javascript_value(name))).collect();
            let read: Vec<String> = read
                .into_iter()
                .map(|(name, value)| format!("[{}]: () => {value}", serde_json::Value::from(name)))
                .collect();
            format!("{}({{ {} }}, '{file}')", include_str!("carry/javascript_out.js"), read.join(", "))
        }
        _ => return None,
    })
}

/// The snippet that binds them.
fn importing(language: &Language, file: &str) -> Option<String> {
    Some(match language.as_str() {
        "python" => python(include_str!("carry/python_in.py"), file),
        "php" => format!("{}('{file}')", include_str!("carry/php_in.php")),
        "javascript" => format!("{}('{file}')", include_str!("carry/javascript_in.js")),
        _ => return None,
    })
}

fn php_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A variable by its name, where that can be a name, else by the global object.
fn javascript_value(name: &str) -> String {
    let can_begin = |first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '$');
    let is_name = name.starts_with(can_begin)
        && name.chars().all(|letter| can_begin(letter) || letter.is_ascii_digit())
        && !RESERVED.contains(&format!(" {name} "));
    if is_name { name.to_owned() } else { format!("globalThis[{}]", serde_json::Value::from(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_names_are_read_from_the_global_object() {
        assert_eq!(javascript_value("x_1$"), "x_1$");
        assert_eq!(javascript_value("class"), "globalThis[\"class\"]");
        assert_eq!(javascript_value("1x"), "globalThis[\"1x\"]");
        assert_eq!(javascript_value("ü"), "globalThis[\"ü\"]");
        assert_eq!(javascript_value("a\"b"), "globalThis[\"a\\\"b\"]");
        assert_eq!(php_text("a'b\\"), "'a\\'b\\\\'");
    }
}
