//! Command lines of guests: what `python3 -c CODE`, `node FILE`, `php -r CODE` or `git COMMAND` are to run.

use dormouse_core::{GuestName, ProgramCall, ProgramEnd};

/// Starts what Python's own command line says; its reading is the guest's (`guests/python/boot/_dormouse/program.py`).
const PYTHON: &str = "__import__('_dormouse.program', fromlist=['main']).main()";
/// Runs the file that is argument 1, as a module of the kind that it is.
const NODE_FILE: &str = "await require('module').runMain(process.argv[1])";
/// Shows the value of the code that is argument 1.
const NODE_PRINT: &str = "{ const [code] = process.argv.splice(1, 1); console.log(await (0, eval)(code)); }";
/// Runs the tests of the files that are named, or of all that are named like tests.
const NODE_TEST: &str = "await require('node:test')[Symbol.for('dormouse.runFiles')](process.argv.slice(1).filter((word) => word !== 'node')); undefined";
/// Parses the file that is argument 1.
const NODE_CHECK: &str = "require('module').checkSyntax(process.argv[1])";
/// Says which version of Node.js the module system follows.
const NODE_VERSION: &str = "console.log(process.version)";
/// Runs the file that is argument 0.
const PHP_FILE: &str = "require $_SERVER['argv'][0];";
/// Runs a program text, tags and all, that is standard input.
const PHP_INPUT: &str = "eval('?>' . stream_get_contents(STDIN));";
/// Parses the file that is argument 1.
const PHP_LINT: &str = "try { token_get_all(file_get_contents($_SERVER['argv'][1]), TOKEN_PARSE); } \
catch (ParseError $error) { echo 'PHP Parse error:  ', $error->getMessage(), ' in ', $_SERVER['argv'][1], ' on line ', \
$error->getLine(), \"\\n\\nErrors parsing \", $_SERVER['argv'][1], \"\\n\"; exit(255); } \
echo 'No syntax errors detected in ', $_SERVER['argv'][1], \"\\n\";";
/// Says what this is.
const PHP_VERSION_TEXT: &str = "echo 'PHP ', PHP_VERSION, \" (wasi)\\n\";";

/// What an interpreter is to run.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) language: GuestName,
    /// A snippet: the user's own, or one of the constants here.
    pub(super) code: String,
    /// The name that traces show for it.
    pub(super) name: String,
    /// Argument 0.
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) stdin: Vec<u8>,
}

/// What a command line starts; none: its program is no interpreter. The error is a usage that is not understood.
pub(super) fn of(call: &ProgramCall) -> Option<Result<Launch, ProgramEnd>> {
    match call.name.as_str() {
        "python" | "python3" => Some(Ok(python(call))),
        "node" | "js" => Some(node(call)),
        "php" => Some(php(call)),
        "git" => Some(Ok(git(call))),
        _ => None,
    }
}

/// `python3 -m pip ARGUMENT...` is the operator's `pip ARGUMENT...`: none of it lies in the sandbox.
pub(super) fn of_operators(call: &ProgramCall) -> Option<ProgramCall> {
    if !matches!(call.name.as_str(), "python" | "python3") {
        return None;
    }
    let changes_nothing = |word: &String| {
        word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "bBdEiIOPqRsSuv".contains(c))
    };
    let at = call.arguments.iter().position(|word| !changes_nothing(word))?;
    let rest = match call.arguments[at..].split_first()? {
        (first, rest) if first == "-mpip" => rest,
        (first, rest) if first == "-m" => rest.split_first().filter(|(module, _)| *module == "pip")?.1,
        _ => return None,
    };
    Some(ProgramCall { name: "pip".into(), arguments: rest.to_vec(), ..call.clone() })
}

fn launch(call: &ProgramCall, language: GuestName, code: impl Into<String>, name: &str) -> Launch {
    Launch {
        language,
        code: code.into(),
        name: name.into(),
        program: call.name.clone(),
        arguments: Vec::new(),
        stdin: call.input.clone(),
    }
}

fn usage(call: &ProgramCall, status: u8, why: &str) -> ProgramEnd {
    ProgramEnd::failed(status, format!("{}: {why}\n", call.name))
}

fn python(call: &ProgramCall) -> Launch {
    Launch {
        arguments: call.arguments.clone(),
        ..launch(call, GuestName::python(), PYTHON, "<command line>")
    }
}

/// The words are all there is to run.
fn git(call: &ProgramCall) -> Launch {
    Launch { arguments: call.arguments.clone(), ..launch(call, GuestName::Git, "", "git") }
}

fn node(call: &ProgramCall) -> Result<Launch, ProgramEnd> {
    let start = |code: &str, name: &str, arguments: &[String]| {
        with_words(launch(call, GuestName::javascript(), code, name), arguments)
    };
    let mut rest = call.arguments.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let value = after.first();
        match (first.as_str(), value) {
            ("-e" | "--eval", Some(code)) => return Ok(start(code, "[eval]", past_marks(&after[1..]))),
            ("-p" | "--print" | "-pe", Some(_)) => return Ok(start(NODE_PRINT, "[eval]", after)),
            ("-v" | "--version", _) => return Ok(start(NODE_VERSION, "[eval]", &[])),
            ("--test", _) => {
                let files: Vec<String> =
                    after.iter().filter(|word| !word.starts_with('-')).cloned().collect();
                return Ok(start(NODE_TEST, "[test]", &files));
            }
            ("-c" | "--check", Some(file)) => {
                return Ok(start(NODE_CHECK, "[check]", &[absolute(call, file)]));
            }
            ("-", _) => return node_input(call, after),
            ("-e" | "--eval" | "-p" | "--print" | "-pe", None) => {
                return Err(usage(call, 9, &format!("{first} requires an argument")));
            }
            ("-r" | "--require", Some(_)) => rest = &after[1..],
            (option, _) if option.starts_with('-') => rest = after,
            _ => {
                let mut arguments = rest.to_vec();
                arguments[0] = absolute(call, first);
                return Ok(start(NODE_FILE, "[main]", &arguments));
            }
        }
    }
    node_input(call, rest)
}

fn node_input(call: &ProgramCall, arguments: &[String]) -> Result<Launch, ProgramEnd> {
    let code = text(call)?;
    let start = launch(call, GuestName::javascript(), code, "[stdin]");
    Ok(Launch { stdin: Vec::new(), ..with_words(start, arguments) })
}

/// Lets `process.argv` be the interpreter and then these words: the guest puts the interpreter before argument 0.
fn with_words(launch: Launch, words: &[String]) -> Launch {
    match words.split_first() {
        Some((first, rest)) => Launch { program: first.clone(), arguments: rest.to_vec(), ..launch },
        None => launch,
    }
}

fn php(call: &ProgramCall) -> Result<Launch, ProgramEnd> {
    let start = |code: &str, name: &str| launch(call, GuestName::php(), code, name);
    let mut rest = call.arguments.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let value = after.first();
        match (first.as_str(), value) {
            ("-r" | "--run", Some(code)) => {
                let arguments = past_marks(&after[1..]).to_vec();
                return Ok(Launch { arguments, ..start(code, "Command line code") });
            }
            ("-v" | "--version", _) => return Ok(start(PHP_VERSION_TEXT, "<command line>")),
            ("-l" | "--syntax-check", Some(file)) => {
                return Ok(Launch {
                    arguments: vec![absolute(call, file)],
                    ..start(PHP_LINT, "<command line>")
                });
            }
            ("-f" | "--file", Some(_)) => {
                rest = after;
                break;
            }
            ("-d" | "--define" | "-c", Some(_)) => rest = &after[1..],
            ("--", _) => {
                rest = after;
                break;
            }
            ("-", _) => {
                return Ok(Launch { arguments: after.to_vec(), ..start(PHP_INPUT, "Standard input code") });
            }
            (option, _) if option.starts_with("-d") || matches!(option, "-n" | "-q") => rest = after,
            (option, _) if option.starts_with('-') => {
                return Err(usage(call, 1, &format!("the option `{option}` is not known here")));
            }
            _ => break,
        }
    }
    let Some((file, arguments)) = rest.split_first() else {
        return Ok(start(PHP_INPUT, "Standard input code"));
    };
    Ok(Launch {
        program: absolute(call, file),
        arguments: arguments.to_vec(),
        ..start(PHP_FILE, "<command line>")
    })
}

/// Arguments after `--`, which ends options.
fn past_marks(arguments: &[String]) -> &[String] {
    match arguments.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => arguments,
    }
}

/// A path as seen from the folder that the program starts in.
fn absolute(call: &ProgramCall, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    format!("{}/{path}", call.directory.trim_end_matches('/'))
}

/// Standard input as a program text.
fn text(call: &ProgramCall) -> Result<String, ProgramEnd> {
    String::from_utf8(call.input.clone())
        .map_err(|_| usage(call, 1, "the program on standard input is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(line: &[&str]) -> Option<Result<Launch, ProgramEnd>> {
        let arguments = line[1..].iter().map(|word| (*word).to_owned()).collect();
        let call = ProgramCall {
            name: line[0].into(),
            arguments,
            directory: "/workspace".into(),
            input: b"1 + 1".to_vec(),
            ..ProgramCall::default()
        };
        of(&call)
    }

    #[test]
    fn a_command_line_of_node_says_what_to_run() {
        let code = |line: &[&str]| {
            let launch = start(line).unwrap().unwrap();
            let words = [vec![launch.program], launch.arguments].concat();
            (launch.code, words)
        };
        assert_eq!(code(&["node", "-e", "f()", "a"]), ("f()".into(), vec!["a".into()]));
        assert_eq!(code(&["node", "--no-warnings", "x.js", "-e"]).1, ["/workspace/x.js", "-e"]);
        assert_eq!(code(&["node"]), ("1 + 1".into(), vec!["node".into()]));
        assert_eq!(code(&["node", "--test", "--test-only", "a.test.js"]).1, ["a.test.js"]);
        assert_eq!(code(&["node", "--check", "a.js"]).1, ["/workspace/a.js"]);
        assert_eq!(start(&["node", "-e"]).unwrap().unwrap_err().status, 9);
    }

    #[test]
    fn pip_as_a_module_is_the_operators() {
        let operators = |line: &str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let name = words.next().unwrap();
            let call = ProgramCall { name, arguments: words.collect(), ..ProgramCall::default() };
            of_operators(&call).map(|found| (found.name, found.arguments.join(" ")))
        };
        let pip = |words: &str| Some(("pip".to_owned(), words.to_owned()));
        assert_eq!(operators("python3 -m pip install -q x"), pip("install -q x"));
        assert_eq!(operators("python -I -uB -mpip list"), pip("list"));
        for line in [
            "python3 -m pytest",
            "python3 -m",
            "python3 x.py -m pip",
            "python3 -c -m pip",
            "python3",
            "node -m pip",
        ] {
            assert_eq!(operators(line), None, "{line}");
        }
    }

    #[test]
    fn a_command_line_of_php_says_what_to_run() {
        let launch = start(&["php", "-d", "x=1", "a.php", "b"]).unwrap().unwrap();
        assert_eq!((launch.program.as_str(), launch.arguments.len()), ("/workspace/a.php", 1));
        assert!(start(&["php", "--strange"]).unwrap().is_err());
        assert!(start(&["gcc"]).is_none());
    }
}
