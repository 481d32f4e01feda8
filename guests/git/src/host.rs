//! git starts one program of the host's, the one that speaks HTTP.

use dormouse_contract::programs::{Answer, Call, Destination};

/// Its name, as git's own helper is called.
const PROGRAM: &str = "git-remote-http";

/// Starts the host's program. None: the host has none, so remote repositories are out of reach.
pub(crate) fn run(arguments: &[&str], input: &[u8]) -> Option<Answer> {
    let call = Call {
        program: PROGRAM,
        arguments,
        environment: Vec::new(),
        directory: "/",
        input,
        milliseconds: None,
        output: Destination::Answer,
        errors: Destination::Answer,
    };
    call.run()
}
