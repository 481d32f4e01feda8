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

use crate::context::{Done, Failure, Result, plain};

/// A command: its name, how it is called, and what runs it.
struct Command {
    name: &'static str,
    usage: &'static str,
    run: fn(Vec<String>) -> Done,
}

const fn command(name: &'static str, usage: &'static str, run: fn(Vec<String>) -> Done) -> Command {
    Command { name, usage, run }
}

/// All of them, by name.
const COMMANDS: [Command; 24] = [
    command("add", "add [-A | -u] [-f] [-n] [-v] [--] [PATH...]", add::run),
    command(
        "branch",
        "branch [-a | -r] [-v] [--show-current] | [-f] NAME [START] | -d|-D NAME... | -m [OLD] NEW | -u UPSTREAM",
        branch::run,
    ),
    command("cat-file", "cat-file -t|-s|-p|-e OBJECT", revision::cat_file),
    command("checkout", "checkout [-f] [-b|-B] NAME [START] | [REV] -- PATH...", checkout::checkout),
    command(
        "clone",
        "clone [-b BRANCH] [--depth N] [--bare] [-n] [-o NAME] [-q] ADDRESS [FOLDER]",
        create::clone,
    ),
    command(
        "commit",
        "commit [-a] [-m TEXT]... [-F FILE] [--amend] [--no-edit] [--allow-empty] [--author=NAME] [--date=DATE] [-q]",
        commit::run,
    ),
    command(
        "config",
        "config [--global | --local] [--get | --get-all | --unset | --add] NAME [VALUE] | -l",
        config::run,
    ),
    command(
        "diff",
        "diff [--cached] [--stat | --numstat | --shortstat | --name-only | --name-status] [-U N] [-w] [--quiet] \
         [--exit-code] [REV [REV]] [--] [PATH...]",
        diff::run,
    ),
    command("fetch", "fetch [--all] [-p] [--depth N] [-t] [-q] [REMOTE [REFSPEC...]]", remote::fetch),
    command("init", "init [--bare] [-b BRANCH] [-q] [FOLDER]", create::init),
    command("log", log::USAGE, log::log),
    command("ls-files", "ls-files [-c] [-d] [-m] [-o] [-s] [-z] [--exclude-standard] [PATH...]", files::list),
    command("merge", "merge [--ff-only] REV", merge::run),
    command("mv", "mv [-f] FROM... TO", files::rename),
    command("pull", "pull [--ff-only] [REMOTE [BRANCH]]", remote::pull),
    command("push", "push [-u] [-f] [--tags] [-d] [REMOTE [REFSPEC...]]", remote::push),
    command(
        "remote",
        "remote [-v] | add NAME ADDRESS | remove NAME | get-url NAME | set-url NAME ADDRESS",
        remote::run,
    ),
    command("reset", "reset [--soft | --mixed | --hard] [-q] [REV] | [REV] [--] PATH...", reset::run),
    command("restore", "restore [--staged] [--worktree] [-s REV] [--] PATH...", checkout::restore),
    command(
        "rev-parse",
        "rev-parse [--short[=N]] [--abbrev-ref] [--verify] [-q] [--show-toplevel | --git-dir | --is-inside-work-tree | ...] \
         [REV...]",
        revision::run,
    ),
    command("rm", "rm [--cached] [-f] [-r] [-q] [--] PATH...", files::remove),
    command("show", "show [OPTIONS OF log AND diff] [REV | REV:PATH]...", log::show),
    command(
        "status",
        "status [-s | --porcelain] [-b] [-u no|normal|all] [--ignored] [-z] [--] [PATH...]",
        status::run,
    ),
    command("switch", "switch [-c|-C] NAME [START] | --detach REV | -", checkout::switch),
];

/// Also there, as it has a name that sorts last.
const TAG: Command =
    command("tag", "tag [-l [PATTERN]] | [-a -m TEXT] [-f] NAME [REV] | -d NAME...", tag::run);

fn all() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().chain(std::iter::once(&TAG))
}

/// How a command is called.
pub(crate) fn usage(name: &str) -> &'static str {
    all().find(|command| command.name == name).map_or("", |command| command.usage)
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
                return match all().find(|command| command.name == name) {
                    Some(command) => (command.run)(words.collect()),
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
    let names: Vec<&str> = all().map(|command| command.name).collect();
    format!(
        "git: '{name}' is not a git command here. These are: {}. `git help` shows how each is called.\n",
        names.join(", ")
    )
}

fn list() -> String {
    let lines: String = all().map(|command| format!("  git {}\n", command.usage)).collect();
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
            // SAFETY: there is one thread.
            unsafe { std::env::set_var(variable, value) };
        }
    }
}
