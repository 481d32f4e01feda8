//! How each command is called.

/// The commands with their words, by name.
const USAGES: [&str; 25] = [
    "add [-A | -u] [-f] [-n] [-v] [--] [PATH...]",
    "branch [-a | -r] [-v] [--show-current] | [-f] NAME [START] | -d|-D NAME... | -m [OLD] NEW | -u UPSTREAM",
    "cat-file -t|-s|-p|-e OBJECT",
    "checkout [-f] [-b|-B] NAME [START] | [REV] -- PATH...",
    "clone [-b BRANCH] [--depth N] [--bare] [-n] [-o NAME] [-q] ADDRESS [FOLDER]",
    "commit [-a] [-m TEXT]... [-F FILE] [--amend] [--no-edit] [--allow-empty] [--author=NAME] [--date=DATE] [-q]",
    "config [--global | --local] [--get | --get-all | --unset | --add] NAME [VALUE] | -l",
    "diff [--cached] [--stat | --numstat | --shortstat | --name-only | --name-status] [-U N] [-w] [--quiet] \
         [--exit-code] [REV [REV]] [--] [PATH...]",
    "fetch [--all] [-p] [--depth N] [-t] [-q] [REMOTE [REFSPEC...]]",
    "init [--bare] [-b BRANCH] [-q] [FOLDER]",
    "log [-n N | -N] [--skip=N] [--oneline] [--format=FORMAT] [--date=FORM] [--reverse] [--all] \
[--author=TEXT] [--grep=TEXT] [--no-merges] [--decorate] [-p | --stat | --name-only | ...] [REV | A..B]... [--] [PATH...]",
    "ls-files [-c] [-d] [-m] [-o] [-s] [-z] [--exclude-standard] [PATH...]",
    "merge [--ff-only] [-m TEXT] [-q] REV | --abort",
    "mv [-f] FROM... TO",
    "pull [--ff-only] [-p] [-q] [REMOTE [BRANCH]]",
    "push [-u] [-f] [--tags] [-d] [REMOTE [REFSPEC...]]",
    "remote [-v] | add NAME ADDRESS | remove NAME | get-url NAME | set-url NAME ADDRESS",
    "reset [--soft | --mixed | --hard] [-q] [REV] | [REV] [--] PATH...",
    "restore [--staged] [--worktree] [-s REV] [--] PATH...",
    "rev-parse [--short[=N]] [--abbrev-ref] [--verify] [-q] [--show-toplevel | --git-dir | --is-inside-work-tree | ...] \
         [REV...]",
    "rm [--cached] [-f] [-r] [-q] [--] PATH...",
    "show [OPTIONS OF log AND diff] [REV | REV:PATH]...",
    "status [-s | --porcelain] [-b] [-u no|normal|all] [--ignored] [-z] [--] [PATH...]",
    "switch [-c|-C] NAME [START] | --detach REV | -",
    "tag [-l [PATTERN]] | [-a -m TEXT] [-f] NAME [REV] | -d NAME...",
];

/// How a command is called; empty: there is no such command.
pub(crate) fn of(name: &str) -> &'static str {
    USAGES.into_iter().find(|usage| first_word(usage) == name).unwrap_or_default()
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    USAGES.into_iter()
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(first_word)
}

fn first_word(usage: &'static str) -> &'static str {
    usage.split(' ').next().unwrap_or_default()
}
