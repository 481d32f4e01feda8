//! Commands of notebooks (IPython's) in a snippet of Python: what to write in their place. A hint and nothing more, and no
//! word of the snippet is repeated in it.

use crate::{Exception, Language};

/// Names of commands after a percent sign, and what to write instead. Doors have words of their own for tools that stand without quotes.
const INSTEAD: [(&str, &str); 14] = [
    ("pip", PACKAGES),
    ("conda", PACKAGES),
    ("mamba", PACKAGES),
    ("uv", PACKAGES),
    ("bash", SHELL),
    ("sh", SHELL),
    (
        "timeit",
        "write `import timeit; timeit.timeit(lambda: f(1), number=1000)`, which are the seconds of 1000 calls",
    ),
    (
        "time",
        "write `import time; start = time.perf_counter()` before it, and `time.perf_counter() - start` after it",
    ),
    ("run", "write `import runpy; runpy.run_path(\"FILE.py\", run_name=\"__main__\")`"),
    ("cd", "write `import os; os.chdir(\"FOLDER\")`"),
    ("env", "read and set `os.environ` after `import os`"),
    ("writefile", "write `open(\"FILE\", \"w\").write(TEXT)`"),
    ("matplotlib", "leave it out"),
    ("load_ext", "leave it out"),
];
const PACKAGES: &str =
    "install packages with sandbox_install, or with `pip install` in the shell (sandbox_exec)";
const SHELL: &str = "run a command of the shell with sandbox_exec";

/// The hint for the line that a syntax error of Python's names, where that line is such a command.
pub(crate) fn hint(read: &Language, exception: &Exception) -> Option<String> {
    if *read != Language::python() || exception.class != "SyntaxError" {
        return None;
    }
    let line = exception.excerpt.as_deref()?.trim();
    // The output of a command can be bound to a name.
    let value = line.split_once('=').filter(|(name, _)| is_name(name.trim())).map(|(_, value)| value.trim());
    let command = [Some(line), value].into_iter().flatten().find_map(|text| text.strip_prefix('!'));
    if let Some(command) = command.filter(|command| !command.starts_with('=')) {
        return Some(told("!", if installs(command) { PACKAGES } else { SHELL }));
    }
    if let Some(command) = line.strip_prefix('%') {
        return percent(command.strip_prefix('%').unwrap_or(command));
    }
    let asked = line.strip_prefix('?').or_else(|| line.strip_suffix('?'))?;
    is_name(asked.trim_matches('?')).then(|| told("?", "write `help(NAME)`"))
}

fn told(sign: &str, instead: &str) -> String {
    format!("`{sign}` begins a command of notebooks, which is not Python: {instead}")
}

/// A name, or several with dots between them.
fn is_name(text: &str) -> bool {
    text.split('.').all(|part| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether a command of the shell installs packages of Python.
fn installs(command: &str) -> bool {
    let mut words =
        command.split_whitespace().filter(|word| !["python", "python3", "-m", "uv"].contains(word));
    matches!(words.next(), Some("pip" | "pip3" | "conda" | "mamba"))
        && words.any(|word| word == "install" || word == "add")
}

/// What stands for a command with a percent sign; none if it can be none.
fn percent(command: &str) -> Option<String> {
    let name = command.split(char::is_whitespace).next()?;
    let known = INSTEAD.iter().find(|(known, _)| *known == name);
    match known {
        Some((name, instead)) => Some(told(&format!("%{name}"), instead)),
        None => is_name(name).then(|| told("%", "write what it does in Python, or leave it out")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hinted(class: &str, excerpt: &str) -> Option<String> {
        let exception = serde_json::json!({"class": class, "message": "invalid syntax", "excerpt": excerpt});
        hint(&Language::python(), &serde_json::from_value(exception).unwrap())
    }

    #[test]
    fn a_command_of_a_notebook_is_told_what_to_write_instead() {
        for (line, told) in [
            ("%timeit g(2)", "timeit.timeit(lambda: f(1), number=1000)"),
            ("%%timeit -n 10", "timeit.timeit(lambda: f(1), number=1000)"),
            ("%%time", "time.perf_counter() - start"),
            ("%pip install requests", "sandbox_install"),
            ("!pip install -q requests", "sandbox_install"),
            ("!python3 -m pip install x", "sandbox_install"),
            ("!uv pip install x", "sandbox_install"),
            ("  !ls -l", "sandbox_exec"),
            ("files = !ls", "sandbox_exec"),
            ("%%bash", "sandbox_exec"),
            ("%matplotlib inline", "leave it out"),
            ("%run a.py", "runpy.run_path(\"FILE.py\", run_name=\"__main__\")"),
            ("%cd /tmp", "os.chdir(\"FOLDER\")"),
            ("%unknown a b", "in Python"),
            ("os.path?", "help(NAME)"),
            ("?print", "help(NAME)"),
            ("print??", "help(NAME)"),
        ] {
            let hint = hinted("SyntaxError", line).unwrap_or_default();
            assert!(hint.contains(told) && hint.contains("notebooks, which is not Python"), "{line}: {hint}");
        }
    }

    #[test]
    fn other_lines_are_not_taken_for_commands() {
        for line in ["!= 3)", "% 3 4", "%", "!=", "x = = 1", "x != = 1", "what is this?", "a ? b : c", ""] {
            assert_eq!(hinted("SyntaxError", line), None, "{line}");
        }
        assert_eq!(hinted("ValueError", "%timeit f(1)"), None);
        let exception = serde_json::json!({"class": "SyntaxError", "message": "", "excerpt": "!ls"});
        assert_eq!(hint(&Language::php(), &serde_json::from_value(exception).unwrap()), None);
    }
}
