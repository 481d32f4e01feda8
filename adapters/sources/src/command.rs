//! A source that is a program of the operator's: it is started for each endpoint, speaks MCP on its standard input and
//! output, and ends with the endpoint.
//!
//! It finds the entry's arguments in the environment variable [`SOURCE_ARGS`], as a JSON object. Which there are, it alone
//! knows: what it cannot take, it says on its standard error, and ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json};

use crate::outside::{Program, Starter};
use crate::{Opened, Source, client};

/// The variable that holds the arguments.
pub const SOURCE_ARGS: &str = "DORMOUSE_SOURCE_ARGS";
/// Most bytes of all arguments (64 KiB): the kernel takes no much longer variable.
const MAX_ARGS: usize = 64 << 10;

/// The source.
pub struct CommandSource {
    program: Program,
    programs: Arc<dyn Starter>,
}

impl CommandSource {
    /// A program with its arguments, and who starts it.
    ///
    /// # Errors
    /// `args_invalid` for no program, or one whose name holds a NUL byte.
    pub fn new(words: Vec<String>, programs: Arc<dyn Starter>) -> Result<Self> {
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        match (program, words.collect::<Vec<String>>()) {
            (Some(program), args) if !args.iter().chain([&program]).any(|word| word.contains('\0')) => {
                Ok(Self { program: Program { program, args, env: BTreeMap::new(), cwd: None }, programs })
            }
            _ => Err(Error::args_invalid("a source's command is no program").with_hint("name a program")),
        }
    }

    /// The program as it is started for an entry with these arguments, templates filled in.
    ///
    /// # Errors
    /// `too_large` for arguments of more than 64 KiB.
    pub fn told(&self, args: &Map<String, Json>) -> Result<Program> {
        let mut program = self.program.clone();
        program.env.insert(SOURCE_ARGS.into(), told(args)?);
        Ok(program)
    }
}

/// The arguments as the program finds them.
fn told(args: &Map<String, Json>) -> Result<String> {
    let text = Json::Object(args.clone()).to_string();
    if text.len() > MAX_ARGS {
        let message = format!("source_args have more than {MAX_ARGS} bytes");
        return Err(Error::new(ErrorCode::TooLarge, message).with_hint("name a file that the program reads"));
    }
    Ok(text)
}

#[async_trait]
impl Source for CommandSource {
    fn check(&self, args: &Map<String, Json>) -> Result<()> {
        told(args).map(drop)
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        client::open_command(&self.told(&args)?, self.programs.as_ref()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Outside};

    /// A server of MCP in the shell's language, whose one tool tells the source's arguments.
    const SCRIPT: &str = concat!(
        r#"
tools='[{"name":"told","inputSchema":{"type":"object"}}]'
call() { say "{\"content\":[],\"structuredContent\":$DORMOUSE_SOURCE_ARGS}"; }
"#,
        include_str!("testing/server.sh")
    );

    fn source(words: &[&str]) -> Result<CommandSource> {
        CommandSource::new(words.iter().map(|word| (*word).to_owned()).collect(), Outside::default().programs)
    }

    #[tokio::test]
    async fn a_program_is_a_source_that_is_told_its_arguments() {
        let source = source(&["sh", "-c", SCRIPT]).unwrap();
        assert!(!source.takes_mounts());
        let args = Map::from_iter([("box".to_owned(), Json::from("it's \"quoted\""))]);
        source.check(&args).unwrap();
        let opened = source.open(args.clone()).await.unwrap();
        let names: Vec<String> =
            opened.endpoint.list().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["told"]);
        let call = Call { tool: "told".into(), arguments: Map::new(), progress: None, key: None };
        assert_eq!(opened.endpoint.call(call).await.unwrap().structured, Some(Json::Object(args)));
        opened.endpoint.close().await.unwrap();
    }

    #[tokio::test]
    async fn what_is_no_program_and_what_is_too_large_is_refused() {
        for words in [&[][..], &[""], &["a\0"], &["a", "\0"]] {
            assert!(source(words).is_err(), "{words:?}");
        }
        let big = Map::from_iter([("x".to_owned(), Json::from("x".repeat(MAX_ARGS)))]);
        let absent = source(&["/no/such/program"]).unwrap();
        assert_eq!(absent.check(&big).unwrap_err().code(), ErrorCode::TooLarge);
        let error = absent.open(Map::new()).await.err().unwrap();
        assert!(error.message().contains("/no/such/program"), "{error}");
    }
}
