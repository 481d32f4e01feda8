//! Which commands there are.

mod add;
mod branch;
mod checkout;
mod commit;
mod config;
mod create;
mod diff;
mod files;
mod log;
mod merge;
mod remote;
mod reset;
mod revision;
mod status;
mod tag;

use dormouse_contract::system;

use crate::context::{Done, Failure, Result, plain};
use crate::usage;

/// What runs the command of this name.
fn command(name: &str) -> Option<fn(Vec<String>) -> Done> {
    Some(match name {
        "add" => add::run,
        "branch" => branch::run,
        "cat-file" => revision::cat_file,
        "checkout" => checkout::checkout,
        "clone" => create::clone,
        "commit" => commit::run,
        "config" => config::run,
        "diff" => diff::run,
        "fetch" => remote::fetch,
        "init" => create::init,
        "log" => log::log,
        "ls-files" => files::list,
        "merge" => merge::run,
        "mv" => files::rename,
        "pull" => remote::pull,
        "push" => remote::push,
        "remote" => remote::run,
        "reset" => reset::run,
        "restore" => checkout::restore,
        "rev-parse" => revision::run,
        "rm" => files::remove,
        "show" => log::show,
        "status" => status::run,
        "switch" => checkout::switch,
        "tag" => tag::run,
        _ => return None,
    })
}

/// Runs a command and answers its exit status.
pub(crate) fn run(words: Vec<String>) -> i32 {
    match dispatch(words) {
        Ok(status) => status,
        Err(Failure { status, text }) => {
            eprint!("{text}");
            status
        }
    }
}

fn dispatch(words: Vec<String>) -> Done {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" => {
                let folder = value(&word, words.next())?;
                std::env::current_dir()
                    .and_then(|here| std::env::set_current_dir(plain(&here.join(&folder))))
                    .map_err(|error| Failure::fatal(format!("cannot change to '{folder}': {error}")))?;
            }
            "-c" => override_setting(&value(&word, words.next())?),
            "--no-pager" | "-P" | "-p" | "--paginate" | "--no-optional-locks" | "--literal-pathspecs" => {}
            "--version" | "version" | "-v" => {
                println!("git version 2.47.0 (libgit2 {})", libgit2());
                return Ok(0);
            }
            "help" | "--help" | "-h" => {
                print!("{}", list());
                return Ok(0);
            }
            option if option.starts_with('-') => {
                return Err(Failure::new(129, format!("unknown option: {option}\n{}", list())));
            }
            name => {
                return match command(name) {
                    Some(run) => run(words.collect()),
                    None => Err(Failure::new(1, unknown(name))),
                };
            }
        }
    }
    Err(Failure::new(1, list()))
}

fn value(option: &str, next: Option<String>) -> Result<String> {
    next.ok_or_else(|| Failure::new(129, format!("no value given for {option}\n")))
}

fn libgit2() -> String {
    let (major, minor, patch) = git2::Version::get().libgit2_version();
    format!("{major}.{minor}.{patch}")
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = usage::names().collect();
    format!(
        "git: '{name}' is not a git command here. These are: {}. `git help` shows how each is called.\n",
        names.join(", ")
    )
}

fn list() -> String {
    let lines: String = usage::all().map(|usage| format!("  git {usage}\n")).collect();
    format!("usage: git [-C FOLDER] [-c NAME=VALUE] COMMAND\n{lines}")
}

/// `-c`: of the settings only those of the author and of new repositories can be overridden, by way of the environment.
fn override_setting(setting: &str) {
    let (name, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let variables: &[&str] = match name.to_ascii_lowercase().as_str() {
        "user.name" => &["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"],
        "user.email" => &["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"],
        "init.defaultbranch" => &[create::DEFAULT_BRANCH],
        _ => &[],
    };
    for variable in variables {
        if std::env::var_os(variable).is_none() {
            system::set_variable(variable, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_listed_can_be_run() {
        let lost: Vec<&str> = usage::names().filter(|name| command(name).is_none()).collect();
        assert!(lost.is_empty(), "{lost:?}");
        assert!(usage::names().is_sorted());
        assert!(command("rebase").is_none());
    }
}
