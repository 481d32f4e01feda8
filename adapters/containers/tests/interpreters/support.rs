//! Starting interpreters, and what is missing here.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use dormouse_containers::interpreter::{self, Interpreter, Reply};
use dormouse_core::{Callback, EvalRequest, Language, Status};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use tokio::process::{Child, Command};

/// An interpreter and its process, which is killed when this is dropped, with the interpreter below it: that has a session of its
/// own, and in a container it is the sweep that ends it.
pub(crate) struct Running {
    pub(crate) interpreter: Interpreter,
    pub(crate) child: Child,
    below: Vec<i32>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let now = self.child.id().map(children).unwrap_or_default();
        for process in self.below.iter().chain(&now).filter_map(|id| Pid::from_raw(*id)) {
            // It may have ended by itself.
            let _gone = kill_process(process, Signal::KILL);
        }
    }
}

/// The processes that a process has started.
fn children(of: u32) -> Vec<i32> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |id: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        after_name.split_whitespace().nth(1).and_then(|parent| parent.parse().ok()) == Some(of)
    };
    ids.filter(is_child).collect()
}

/// The languages that interpreters serve and this machine has.
pub(crate) fn languages() -> Vec<Language> {
    [Language::python(), Language::javascript(), Language::php()].into_iter().filter(is_here).collect()
}

/// Whether its interpreter is installed; if not, says so. `cargo xtask test` says with `DORMOUSE_REQUIRE_PROGRAMS=1` that it
/// has seen to it.
#[allow(clippy::print_stderr, reason = "a test that was skipped must be seen")]
pub(crate) fn is_here(language: &Language) -> bool {
    let argv = interpreter::argv(language).expect("an interpreter serves the language");
    let found = find(&argv[0]).is_some();
    if !found {
        let required = std::env::var_os("DORMOUSE_REQUIRE_PROGRAMS").is_some_and(|value| value == "1");
        assert!(!required, "{} is not installed, and is required", argv[0]);
        eprintln!("skipped: the interpreter of {language}, because {} is not installed", argv[0]);
    }
    found
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

pub(crate) async fn start(language: &Language) -> Running {
    start_in(language, Path::new("/")).await
}

/// Starts it in a folder, with an empty environment.
pub(crate) async fn start_in(language: &Language, folder: &Path) -> Running {
    let argv = interpreter::argv(language).expect("an interpreter serves the language");
    #[allow(clippy::disallowed_methods, reason = "the interpreter stands for the container's")]
    let mut command = Command::new(program(&argv[0]));
    command.args(&argv[1..]).env_clear().current_dir(folder).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("the interpreter starts");
    let input = Box::pin(child.stdin.take().expect("a pipe"));
    let output = Box::pin(child.stdout.take().expect("a pipe"));
    let interpreter = Interpreter::start(language, input, output).await.expect("the interpreter says hello");
    let below = child.id().map(children).unwrap_or_default();
    Running { interpreter, child, below }
}

/// The interpreter itself: a shim of a version manager needs an environment.
fn program(name: &str) -> PathBuf {
    let found = find(name).expect("it is installed");
    let plain = Path::new("/usr/bin").join(name);
    if plain.is_file() && found.components().any(|part| part.as_os_str() == "shims") { plain } else { found }
}

impl Running {
    pub(crate) async fn eval(&mut self, code: &str) -> Reply {
        self.request(self.snippet(code)).await
    }

    pub(crate) fn snippet(&self, code: &str) -> EvalRequest {
        let mut request = EvalRequest::new(self.interpreter.language().clone(), code);
        request.context.limits.wall = std::time::Duration::from_secs(30);
        request
    }

    pub(crate) async fn request(&mut self, request: EvalRequest) -> Reply {
        self.interpreter.eval(&request).await.expect("the call is taken")
    }

    /// The value of a snippet, as JSON.
    pub(crate) async fn value(&mut self, code: &str) -> Json {
        let reply = self.eval(code).await;
        value(&reply)
    }
}

/// The value that came back, as JSON.
pub(crate) fn value(reply: &Reply) -> Json {
    match &reply.status {
        Status::Returned(value) => serde_json::to_value(value).expect("a value is JSON"),
        other => panic!("no value: {other:?}, standard error: {}", reply.stderr.text),
    }
}

/// The exception that was raised, as JSON.
pub(crate) fn exception(reply: &Reply) -> Json {
    match &reply.status {
        Status::Raised(exception) => serde_json::to_value(exception).expect("an exception is JSON"),
        other => panic!("no exception: {other:?}"),
    }
}

/// Of three texts, that of the language.
pub(crate) fn in_language<'a>(language: &Language, [python, javascript, php]: [&'a str; 3]) -> &'a str {
    match language.as_str() {
        "python" => python,
        "javascript" => javascript,
        _ => php,
    }
}

/// Offers `echo`, which gives its arguments back, and `fail`, which fails with their `why`.
pub(crate) fn offer_tools(request: &mut EvalRequest) {
    let any = json!({"type": "object"});
    let echo =
        Callback::new("Gives its arguments back.", any.clone(), |arguments| async move { Ok(arguments) });
    let fail = Callback::new("Fails.", any, |arguments| async move {
        Err(arguments["why"].as_str().unwrap_or("no reason").to_owned())
    });
    request.context.callbacks.insert("echo", echo).expect("a name");
    request.context.callbacks.insert("fail", fail).expect("a name");
}
