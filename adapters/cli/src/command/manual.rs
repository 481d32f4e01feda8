//! `dormouse manual`: the pages that `man` shows, for who packs the program.

use std::path::Path;

use clap::CommandFactory as _;
use dormouse::Error;

use crate::args::Arguments;
use crate::exit::Failure;

/// Writes a page for each command, `dormouse.1`, `dormouse-eval.1` and so on, into a folder that is there.
pub(crate) fn run(folder: &Path) -> Result<u8, Failure> {
    clap_mangen::generate_to(Arguments::command(), folder).map_err(|error| {
        Error::args_invalid(format!("`{}` cannot be written: {error}", folder.display()))
            .with_hint("name a folder that is there")
    })?;
    Ok(0)
}
