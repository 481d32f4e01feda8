//! How the process ends: failures, their texts and the exit status.
//!
//! | status | meaning |
//! | --- | --- |
//! | 0 | a value, or an exit with 0 |
//! | 1 | an exception, or a failure of Dormouse |
//! | 2 | wrong usage |
//! | 124 | the time limit ended the run |
//! | 129, 130, 143 | SIGHUP, SIGINT (Ctrl-C) or SIGTERM came; what had changed was saved |
//! | 137 | another limit ended the run |
//! | 141 | the reader of our output went away |
//! | other | the exit status that the run chose |

use std::io::{self, Write as _};

use dormouse::Error;

use crate::{log, print};

/// After a broken pipe: what a shell shows for a process that SIGPIPE ended.
const PIPE: u8 = 141;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A failure with a code.
    Refused(Error),
    /// What was to be done is wrong in itself, whatever its code: wrong usage.
    Configuration(Error),
    /// Standard output or standard error cannot be written.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Says what went wrong, on standard error, and gives the exit status for it.
pub(crate) fn report(failure: &Failure) -> u8 {
    match failure {
        Failure::Refused(error) => {
            let _ = print::error(error);
            error.code().exit_status()
        }
        Failure::Configuration(error) => {
            let _ = print::error(error);
            2
        }
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => PIPE,
        Failure::Output(error) => {
            let _ =
                print::error(&Error::internal("the output cannot be written", io::Error::from(error.kind())));
            1
        }
    }
}

/// Prints clap's answer: help and version on standard output, else what is wrong on standard error.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    // What was given stands in the answer as it was given; without its own colours, where that could steer a terminal.
    let steers = |word: std::ffi::OsString| word.to_str().is_none_or(|word| print::visible(word) != word);
    let printed = if std::env::args_os().any(steers) {
        print::err(&print::visible(&error.render().to_string()))
    } else {
        error.print()
    };
    match printed {
        Err(broken) if broken.kind() == io::ErrorKind::BrokenPipe => PIPE,
        _ => u8::try_from(error.exit_code()).unwrap_or(2),
    }
}

/// Ends the process at once: what is still alive (threads that wait, mapped code) goes with it.
#[expect(
    clippy::exit,
    reason = "the only end of the process; everything of value has been dropped or flushed"
)]
pub(crate) fn end(status: u8) -> ! {
    let _ = io::stdout().flush();
    log::end();
    std::process::exit(i32::from(status))
}
