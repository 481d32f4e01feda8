//! The helper that opens the files which the operator's rules of the network name: by their place in a table that was fixed before the
//! server's wall. What lies at a path by then is what is opened, also where another file was put in the place of the first.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use super::serve;
use super::wire::{self, Request};
use crate::wall;

/// Do not wait for whoever writes to a pipe.
const NON_BLOCK: i32 = 0o4000;

/// The work of the helper.
pub(super) fn run() -> io::Result<()> {
    serve::end_with_parent()?;
    wall::raise_for_files();
    serve(io::stdin())
}

/// Takes the table, then serves until the server has gone.
pub(super) fn serve(socket: impl AsFd) -> io::Result<()> {
    let table: Vec<PathBuf> = wire::receive_table(&socket)?;
    serve::requests(socket, move |request, channel| {
        let path = match request {
            Request::File(at) => table.get(at),
            _ => None,
        };
        let opened = path.ok_or_else(|| io::ErrorKind::Unsupported.into()).and_then(|path| {
            let file = OpenOptions::new().read(true).custom_flags(NON_BLOCK).open(path)?;
            Ok((Vec::new(), vec![OwnedFd::from(file)]))
        });
        wire::answer(channel, opened)
    })
}
