//! Programs as children of this process.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use crate::outside::{Ended, Process, Program, Started, Starter};

/// Time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// This process starts programs itself.
#[derive(Debug)]
pub(crate) struct Local;

#[async_trait]
impl Starter for Local {
    async fn start(&self, program: &Program) -> io::Result<Started> {
        let mut command = Command::from(program.command());
        let mut child = command.kill_on_drop(true).spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            return Err(io::Error::other("a process has no streams"));
        };
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let process = Box::new(Running { group, child: Mutex::new(child) });
        Ok(Started { input: Box::new(input), output: Box::new(output), errors: Box::new(errors), process })
    }
}

struct Running {
    group: Option<Pid>,
    /// Waited for once, when all is over: before that the id cannot be another's.
    child: Mutex<Child>,
}

impl Running {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group
            && self.is_held()
        {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Whether its status was not taken yet.
    fn is_held(&self) -> bool {
        self.child.try_lock().is_ok_and(|child| child.id().is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[async_trait]
impl Process for Running {
    fn ask(&self) {
        self.signal(Signal::TERM);
    }

    async fn ended(&self) -> Option<Ended> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            let looked = waitid(WaitId::Pid(self.group?), options);
            match looked.map(|status| status.map(|status| Ended::of(&status))) {
                Ok(None) => tokio::time::sleep(LOOK).await,
                Ok(Some(how)) => return how,
                Err(_) => return None,
            }
        }
    }

    async fn kill(&self) -> io::Result<()> {
        self.signal(Signal::KILL);
        self.child.lock().await.wait().await.map(drop)
    }
}
