//! `config`.

use git2::{Config, ConfigLevel, ErrorCode};

use crate::context::{Done, Failure, Git, Result};
use crate::usage;
use crate::words::{Word, Words, unknown};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Get with one plain word, set with two.
    Guess,
    Get,
    All,
    Set,
    Add,
    Unset,
    List,
}

/// `git config`.
pub(super) fn run(words: Vec<String>) -> Done {
    let (mut action, mut level, mut file, mut plain) = (Action::Guess, None, None, Vec::new());
    let mut words = Words::new(words, "f");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Option(option) => match option.as_str() {
                "--global" => level = Some(ConfigLevel::Global),
                "--local" => level = Some(ConfigLevel::Local),
                "-f" | "--file" => file = Some(words.value(&option)?),
                "--get" => action = Action::Get,
                "--get-all" => action = Action::All,
                "--add" => action = Action::Add,
                "--unset" | "--unset-all" => action = Action::Unset,
                "-l" | "--list" => action = Action::List,
                "--bool" | "--int" | "--type" => drop(words.inline()),
                _ => return unknown("config", &option),
            },
        }
    }
    // The newer form names what is to be done.
    if action == Action::Guess {
        let named = match plain.first().map(String::as_str) {
            Some("get") => Some(Action::Get),
            Some("set") => Some(Action::Set),
            Some("unset") => Some(Action::Unset),
            Some("list") => Some(Action::List),
            _ => None,
        };
        if let Some(named) = named {
            action = named;
            plain.remove(0);
        }
    }
    let place = Place { git: Git::find().ok(), level, file };
    act(action, &place, &plain)
}

/// Where settings are.
struct Place {
    git: Option<Git>,
    level: Option<ConfigLevel>,
    file: Option<String>,
}

impl Place {
    fn whole(&self) -> Result<Config> {
        Ok(match (&self.git, &self.file) {
            (_, Some(file)) => Config::open(file.as_ref())?,
            (Some(git), None) => git.repository.config()?,
            (None, None) => Config::open_default()?,
        })
    }

    fn reading(&self) -> Result<Config> {
        match self.level {
            Some(level) => Ok(self.whole()?.open_level(level).or_else(|_| Config::new())?),
            None => self.whole(),
        }
    }

    /// The file that is written to: the repository's, unless another is named.
    fn writing(&self) -> Result<Config> {
        match self.level {
            _ if self.file.is_some() => self.whole(),
            Some(ConfigLevel::Global) => {
                let home = std::env::var("HOME").map_err(|_| Failure::fatal("$HOME not set"))?;
                Ok(Config::open(&std::path::Path::new(&home).join(".gitconfig"))?)
            }
            _ => self
                .whole()?
                .open_level(ConfigLevel::Local)
                .map_err(|_| Failure::fatal("not in a git directory")),
        }
    }
}

fn act(action: Action, place: &Place, plain: &[String]) -> Done {
    match (action, plain) {
        (Action::List, []) => {
            place.reading()?.entries(None)?.for_each(|entry| {
                println!("{}={}", entry.name().unwrap_or_default(), entry.value().unwrap_or_default());
            })?;
            Ok(0)
        }
        (Action::Guess | Action::Get, [name]) => get(&place.reading()?, name),
        (Action::All, [name]) => {
            let mut any = false;
            place.reading()?.multivar(name, None)?.for_each(|entry| {
                any = true;
                println!("{}", entry.value().unwrap_or_default());
            })?;
            Ok(i32::from(!any))
        }
        (Action::Guess | Action::Set, [name, value]) => {
            place.writing()?.set_str(name, value).map_err(|error| named(&error, name))?;
            Ok(0)
        }
        (Action::Add, [name, value]) => {
            // A pattern that no value fits.
            place.writing()?.set_multivar(name, "^$.", value)?;
            Ok(0)
        }
        (Action::Unset, [name]) => match place.writing()?.remove_multivar(name, ".*") {
            Err(error) if error.code() == ErrorCode::NotFound => Ok(5),
            done => Ok(done.map(|()| 0)?),
        },
        _ => Err(Failure::new(129, format!("usage here: git {}\n", usage::of("config")))),
    }
}

fn get(config: &Config, name: &str) -> Done {
    match config.get_entry(name) {
        Ok(entry) => {
            println!("{}", entry.value().unwrap_or_default());
            Ok(0)
        }
        Err(error) if error.code() == ErrorCode::NotFound => Ok(1),
        Err(error) => Err(named(&error, name)),
    }
}

fn named(error: &git2::Error, name: &str) -> Failure {
    if name.contains('.') {
        return Failure::error(error.message());
    }
    Failure::error(format!("key does not contain a section: {name}"))
}
