//! The helper that starts the programs which the operator's files name: by their place in a table that was fixed before the
//! server's wall, never by what anybody says. Each leads a process group, which ends with its channel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Child;

use dormouse_sources::{Ended, Program};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};

use super::serve;
use super::wire::{self, Request};

/// The work of the helper; at its end the folder goes.
pub(super) fn run(remove: Option<&Path>) -> io::Result<()> {
    let served = serve(io::stdin());
    if let Some(folder) = remove {
        // It may have been removed, or never been made.
        let _ = std::fs::remove_dir_all(folder);
    }
    served
}

/// Takes the table, then serves until the server has gone and what it had started has ended.
pub(super) fn serve(socket: impl AsFd) -> io::Result<()> {
    let table: Vec<Program> = wire::receive_table(&socket)?;
    serve::requests(socket, move |request, channel| {
        let program = match request {
            Request::Program(at) => table.get(at),
            _ => None,
        };
        match program.ok_or_else(|| io::ErrorKind::Unsupported.into()).and_then(Running::start) {
            Ok((running, streams)) => {
                wire::answer(channel, Ok((Vec::new(), streams)))?;
                running.until_closed(channel.as_fd())
            }
            Err(error) => wire::answer(channel, Err(error)),
        }
    })
}

/// A program that runs. Its status is taken last of all: until then its id is nobody else's.
struct Running {
    child: Child,
    group: Pid,
    /// Can be read when it has ended.
    end: OwnedFd,
}

impl Running {
    fn start(program: &Program) -> io::Result<(Self, Vec<OwnedFd>)> {
        let mut child = program.command().spawn()?;
        let streams = [
            child.stdin.take().map(OwnedFd::from),
            child.stdout.take().map(OwnedFd::from),
            child.stderr.take().map(OwnedFd::from),
        ];
        let group = Pid::from_child(&child);
        let opened = pidfd_open(group, PidfdFlags::empty());
        let end = opened.inspect_err(|_| {
            let _ = child.kill();
        })?;
        Ok((Self { child, group, end }, streams.into_iter().flatten().collect()))
    }

    /// Does what is said on the channel, and tells when the program has ended. Ends when the channel is closed.
    fn until_closed(&self, channel: BorrowedFd<'_>) -> io::Result<()> {
        let mut runs = true;
        loop {
            let said = PollFd::new(&channel, PollFlags::IN);
            let ended = PollFd::new(&self.end, PollFlags::IN);
            let mut both = [said, ended];
            match poll(&mut both[..if runs { 2 } else { 1 }], None) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            if runs && !both[1].revents().is_empty() {
                runs = false;
                wire::send(channel, &wire::ended(self.how()), &[], SendFlags::DONTWAIT)?;
            }
            if both[0].revents().is_empty() {
                continue;
            }
            match wire::receive(channel, RecvFlags::empty())?.0.first() {
                Some(&wire::ASK) => self.signal(Signal::TERM),
                Some(&wire::KILL) => {
                    self.signal(Signal::KILL);
                    self.wait_for_end()?;
                    wire::send(channel, &[wire::GONE], &[], SendFlags::DONTWAIT)?;
                    return Ok(());
                }
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    /// How it ended; its status stays to be taken.
    fn how(&self) -> Option<Ended> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ended::of(&waitid(WaitId::Pid(self.group), options).ok()??)
    }

    fn wait_for_end(&self) -> io::Result<()> {
        while let Err(rustix::io::Errno::INTR) = poll(&mut [PollFd::new(&self.end, PollFlags::IN)], None) {}
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        // Nobody is left to be told.
        let _ = kill_process_group(self.group, signal);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}
