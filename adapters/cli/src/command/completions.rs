//! `dormouse completions`: a script that a shell loads.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::exit::Failure;
use crate::print;

/// Prints the script.
pub(crate) fn run(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "dormouse", &mut script);
    print::out(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
