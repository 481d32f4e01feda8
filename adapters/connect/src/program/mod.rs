//! The program `tool` of command lines: it lists servers and tools, and calls them.
//!
//! | step | module |
//! | --- | --- |
//! | options as the arguments of a call | `options` |
//! | what is printed | here |

mod options;

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::callback::CallbackCall;
use dormouse_core::connections::Caller;
use dormouse_core::sandbox::Files;
use dormouse_core::{ProgramCall, ProgramEnd, Programs};
use serde_json::Value as Json;

use self::options::Given;
use crate::Connectors;
use crate::pool::Fresh;
use crate::run::Run;
use crate::stub;

/// The program's name.
const NAME: &str = "tool";
/// Tools that a search tells.
const FOUND: usize = 10;
/// Exit statuses: the call failed, and it was not understood.
const FAILED: u8 = 1;
const MISUSED: u8 = 2;

const USAGE: &str = "\
usage: tool                                     the servers
       tool SERVER                              the tools of a server
       tool search WORDS...                     tools that fit some words
       tool SERVER TOOL --help                  what a tool takes
       tool SERVER TOOL [-r] [--NAME VALUE]... [--json OBJECT]

Calls a tool and prints its answer as JSON. With -r a text is printed without quotes. A flag takes no value; a list is given by the
same option several times; the value `-` is the standard input.
";

/// Calls tools from a command line: `tool SERVER TOOL --argument value`.
pub struct ToolProgram(Arc<Run>);

impl ToolProgram {
    /// The program for one run of a caller. Starts and reaches nothing.
    pub fn new(connectors: &Connectors, caller: &Caller) -> Self {
        Self(connectors.run(caller))
    }

    async fn end(&self, call: &ProgramCall, files: &mut dyn Files) -> ProgramEnd {
        let words: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
        let told = match words.as_slice() {
            [] => Ok(self.0.servers()),
            ["--help" | "-h", ..] => Ok(USAGE.into()),
            ["search", words @ ..] => self.search(&words.join(" ")).await,
            [server] | [server, "--help" | "-h"] => self.describe(server).await,
            [server, tool, rest @ ..] if rest.iter().any(|word| matches!(*word, "--help" | "-h")) => {
                self.help(server, tool).await
            }
            [server, tool, rest @ ..] => return self.call((server, tool), (rest, &call.input), files).await,
        };
        match told {
            Ok(text) => ProgramEnd::said(text.trim_end().to_owned() + "\n"),
            Err(why) => failed(FAILED, &why),
        }
    }

    async fn search(&self, words: &str) -> Result<String, String> {
        let found = self.0.search(words, FOUND, None).await.map_err(|error| error.to_string())?;
        let lines: Vec<String> = found
            .into_iter()
            .map(|found| format!("{}\n    {}\n", found.signature, found.description))
            .collect();
        Ok(if lines.is_empty() { "no tool fits".into() } else { lines.concat() })
    }

    async fn describe(&self, server: &str) -> Result<String, String> {
        if server.contains('.') {
            return Err(format!("no server `{}`; write `tool SERVER TOOL`", server.escape_debug()));
        }
        // The words of a command line, whichever language the run has.
        let at = self.server(server)?;
        let held = self.0.reach(at, Fresh::Recent).await?;
        Ok(stub::all(&self.0.shared.identifiers[at], &held.tools.list, None))
    }

    async fn help(&self, server: &str, tool: &str) -> Result<String, String> {
        let at = self.server(server)?;
        let held = self.0.reach(at, Fresh::With(tool)).await?;
        match held.tools.get(tool) {
            Some(tool) => Ok(stub::shell::help_of(&self.0.shared.identifiers[at], tool)),
            None => Err(self.0.shared.no_tool(at, &held, tool)),
        }
    }

    fn server(&self, name: &str) -> Result<usize, String> {
        let shared = &self.0.shared;
        shared.server(name).ok_or_else(|| {
            let shown: String = name.escape_debug().take(64).collect();
            format!("no server `{shown}`; {}", shared.no_server(name))
        })
    }

    async fn call(
        &self,
        (server, tool): (&str, &str),
        (words, input): (&[&str], &[u8]),
        files: &mut dyn Files,
    ) -> ProgramEnd {
        let given = match self.given(server, tool, words, input).await {
            Ok(given) => given,
            Err(ended) => return ended,
        };
        let call = CallbackCall { arguments: Json::Object(given.arguments), ..CallbackCall::default() };
        let called = match self.server(server) {
            Ok(at) => self.0.call(at, tool, call).await,
            Err(why) => Err(why),
        };
        let answer = match called {
            Ok(answer) => answer,
            Err(why) => return failed(FAILED, &why),
        };
        for file in &answer.files {
            if let Err(error) = files.write(&file.path, &file.bytes).await {
                return failed(FAILED, &format!("the file `{}` cannot be written: {error}", file.path));
            }
        }
        match answer.value {
            Json::String(text) if given.raw => ProgramEnd::said(text + "\n"),
            value => ProgramEnd::said(value.to_string() + "\n"),
        }
    }

    async fn given(
        &self,
        server: &str,
        tool: &str,
        words: &[&str],
        input: &[u8],
    ) -> Result<Given, ProgramEnd> {
        let at = self.server(server).map_err(|why| failed(FAILED, &why))?;
        let held = self.0.reach(at, Fresh::With(tool)).await.map_err(|why| failed(FAILED, &why))?;
        let Some(found) = held.tools.get(tool) else {
            return Err(failed(FAILED, &self.0.shared.no_tool(at, &held, tool)));
        };
        let fields = stub::fields(&found.listed.input_schema);
        Given::read(words, input, &fields).map_err(|why| {
            failed(MISUSED, &format!("{why}; `tool {server} {tool} --help` tells what it takes"))
        })
    }
}

fn failed(status: u8, why: &str) -> ProgramEnd {
    ProgramEnd::failed(status, format!("tool: {why}\n"))
}

#[async_trait]
impl Programs for ToolProgram {
    async fn run(&self, call: &ProgramCall, files: &mut dyn Files) -> Option<ProgramEnd> {
        if call.name != NAME {
            return None;
        }
        Some(self.end(call, files).await)
    }
}
