//! `wit/programs.wit`: programs that the host runs for a guest.

#![allow(unsafe_code, reason = "the border to C")]

use crate::abi::{List, Text};

/// Where an output stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'a> {
    /// Into the answer, when the program has ended.
    Answer,
    /// To the guest's own standard output, as it is written.
    Output,
    /// To the guest's own standard error, as it is written.
    Errors,
    /// To the end of this file, as it is written.
    File(&'a str),
}

/// What a program is told.
pub struct Call<'a, Argument> {
    /// Its name, without a folder.
    pub program: &'a str,
    /// Its arguments, without argument 0.
    pub arguments: &'a [Argument],
    /// Its environment: names and values.
    pub environment: Vec<(&'a str, &'a str)>,
    /// The folder it starts in.
    pub directory: &'a str,
    /// All of its standard input.
    pub input: &'a [u8],
    /// The most milliseconds it may take; none: what is left of the run's limits.
    pub milliseconds: Option<u32>,
    /// Where its standard output goes.
    pub output: Destination<'a>,
    /// Where its standard error goes.
    pub errors: Destination<'a>,
}

/// What came of it; of its streams what went nowhere else.
pub struct Answer {
    /// Its exit status.
    pub status: u8,
    /// Of its standard output.
    pub output: Vec<u8>,
    /// Of its standard error.
    pub errors: Vec<u8>,
}

/// The most bytes that a program can be told: `HANDED` in `runtime/wasm/src/entry.rs`. The host ends the guest at more.
const MOST: usize = 32 << 20;
/// What the host counts for an argument besides its text.
const ARGUMENT: usize = 24;
/// What it counts for a variable besides name and value.
const VARIABLE: usize = 48;

impl<Argument: AsRef<str>> Call<'_, Argument> {
    /// Why the host would not take it, if it is too large.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let sum = |all: usize, next: usize| all.saturating_add(next);
        let arguments = self.arguments.iter().map(|argument| argument.as_ref().len() + ARGUMENT);
        let variables = self.environment.iter().map(|(name, value)| name.len() + value.len() + VARIABLE);
        let words = arguments.chain(variables).fold(self.program.len() + self.directory.len(), sum);
        let input = self.input.len();
        let (what, bytes) = if input > MOST {
            ("input of", input)
        } else if words > MOST {
            ("arguments and environment of", words)
        } else if sum(input, words) > MOST {
            ("input, arguments and environment of", sum(input, words))
        } else {
            return None;
        };
        let verb = if input > MOST { "is" } else { "are" };
        Some(format!("{what} {bytes} bytes {verb} more than the {MOST} that one program can be given"))
    }

    /// Runs the program to its end. None: the host has none of that name.
    #[must_use]
    pub fn run(&self) -> Option<Answer> {
        let arguments: Vec<Text> =
            self.arguments.iter().map(|argument| Text::lend(argument.as_ref().as_bytes())).collect();
        let pair = |(name, value): &(&str, &str)| [Text::lend(name.as_bytes()), Text::lend(value.as_bytes())];
        let environment: Vec<[Text; 2]> = self.environment.iter().map(pair).collect();
        let command = Command {
            program: Text::lend(self.program.as_bytes()),
            arguments: List::lend(&arguments),
            environment: List::lend(&environment),
            directory: Text::lend(self.directory.as_bytes()),
            input: Text::lend(self.input),
            milliseconds: Milliseconds {
                is_some: self.milliseconds.is_some(),
                value: self.milliseconds.unwrap_or_default(),
            },
            output: Stream::to(self.output),
            errors: Stream::to(self.errors),
        };
        let mut ended = Ended { status: 0, output: Text::none(), errors: Text::none() };
        // SAFETY: the generated function reads the command, which outlives the call, and fills `ended` when it says so.
        let ran = unsafe { dormouse_sandbox_programs_run(&command, &mut ended) };
        // SAFETY: the generated code allocates what it gives with `cabi_realloc`, and leaves it to the caller.
        ran.then(|| unsafe {
            Answer { status: ended.status, output: ended.output.own(), errors: ended.errors.own() }
        })
    }
}

#[repr(C)]
struct Command {
    program: Text,
    arguments: List<Text>,
    environment: List<[Text; 2]>,
    directory: Text,
    input: Text,
    milliseconds: Milliseconds,
    output: Stream,
    errors: Stream,
}

/// A [`Destination`]: a number for the case, and the file where it is one.
#[repr(C)]
struct Stream {
    case: u8,
    file: Text,
}

impl Stream {
    const fn to(destination: Destination<'_>) -> Self {
        match destination {
            Destination::Answer => Self { case: 0, file: Text::none() },
            Destination::Output => Self { case: 1, file: Text::none() },
            Destination::Errors => Self { case: 2, file: Text::none() },
            Destination::File(path) => Self { case: 3, file: Text::lend(path.as_bytes()) },
        }
    }
}

/// An optional number.
#[repr(C)]
struct Milliseconds {
    is_some: bool,
    value: u32,
}

#[repr(C)]
struct Ended {
    status: u8,
    output: Text,
    errors: Text,
}

#[cfg(target_family = "wasm")]
unsafe extern "C" {
    /// Generated from the contract; false: there is no such program.
    fn dormouse_sandbox_programs_run(command: *const Command, ended: *mut Ended) -> bool;
}

/// Where there is no host, no program is known.
///
/// # Safety
///
/// None is needed; the generated function has the same form.
#[cfg(not(target_family = "wasm"))]
unsafe fn dormouse_sandbox_programs_run(_: *const Command, _: *mut Ended) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(arguments: &'a [String], input: &'a [u8]) -> Call<'a, String> {
        Call {
            program: "tool",
            arguments,
            environment: vec![("HOME", "/workspace")],
            directory: "/",
            input,
            milliseconds: None,
            output: Destination::Answer,
            errors: Destination::Answer,
        }
    }

    #[test]
    fn a_call_is_refused_by_what_is_too_large_in_it() {
        let (short, long) = (vec!["a".to_owned()], vec!["a".repeat(MOST)]);
        let (little, much) = (vec![0; MOST / 2], vec![0; MOST + 1]);
        assert_eq!(call(&short, &little).refusal(), None);
        let refusal = |arguments, input| call(arguments, input).refusal().unwrap_or_default();
        assert!(refusal(&short, &much).starts_with("input of 33554433 bytes is more than the 33554432 "));
        assert!(refusal(&long, b"").starts_with("arguments and environment of 33554523 bytes are more"));
        let both = refusal(&["a".repeat(MOST / 2)], &little);
        assert!(both.starts_with("input, arguments and environment of 33554523 bytes are more"), "{both}");
    }

    #[test]
    fn without_a_host_there_is_no_program() {
        assert!(call(&[], b"").run().is_none());
    }

    #[test]
    fn a_stream_has_the_number_of_its_case_in_the_contract() {
        let all =
            [Destination::Answer, Destination::Output, Destination::Errors, Destination::File("/tmp/a")];
        let streams = all.map(Stream::to);
        assert_eq!(streams.each_ref().map(|stream| stream.case), [0, 1, 2, 3]);
        assert_eq!(streams.map(|stream| stream.file.count), [0, 0, 0, 6]);
    }
}
