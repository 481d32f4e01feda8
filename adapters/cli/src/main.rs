//! The binary `dormouse`. The way of a call:
//!
//! | step | module |
//! | --- | --- |
//! | words → raw arguments | [`args`] |
//! | raw arguments → checked meaning, defaults | [`settings`] |
//! | the work of each subcommand | `command/<name>.rs` |
//! | the second wall of servers | [`wall`] |
//! | what is done for them beyond it | [`broker`] |
//! | open files and connections of servers | [`descriptors`] |
//! | the record of what goes beyond the rules | [`audit`] |
//! | what the reader sees; hints in the words of commands | [`print`](mod@print), [`words`] |
//! | what asks a command to end | [`signals`] |
//! | the exit status | [`exit`] |
//! | what goes wrong beside it | [`log`] |

mod args;
mod audit;
mod broker;
mod command;
mod descriptors;
mod exit;
mod log;
mod print;
mod settings;
mod signals;
mod wall;
mod words;

fn main() {
    let status = match args::Arguments::read(std::env::args_os()) {
        Ok(arguments) => signals::status(command::run(arguments)),
        Err(error) => exit::usage(&error),
    };
    exit::end(status)
}
