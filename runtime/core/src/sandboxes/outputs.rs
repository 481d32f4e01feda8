//! The whole of long output, in files of the sandbox: the last few of them.
//!
//! Owns: what these files are called, how many are kept, and that they are written in the same turn as the command. Does not
//! own: what of the output is shown.

use super::call::Call;
use crate::sandbox::{EntryKind, Excess, Executed, Machine};
use crate::{Error, ErrorCode, GuestPath, Result, Stream};

/// Where they lie.
const FOLDER: &str = "/tmp";
/// What their names begin with; then comes a number, `.stdout` or `.stderr`.
const PREFIX: &str = "output-";
/// Files that are kept; the oldest goes first.
const MOST: usize = 8;
/// Bytes of them together (32 MiB).
const MOST_BYTES: u64 = 32 << 20;
/// Entries of the folder that are looked at.
const LOOKED_AT: usize = 10_000;

/// Where the whole of a stream is.
#[derive(Debug, Default)]
pub enum Whole {
    /// In the outcome.
    #[default]
    Here,
    /// In a file of the sandbox as well, until the next few of them are written.
    File(GuestPath),
    /// Nowhere: it could not be written.
    Lost(Error),
}

/// Where the whole of a command line's output is.
#[derive(Debug, Default)]
pub struct Outputs {
    /// Of standard output.
    pub stdout: Whole,
    /// Of standard error.
    pub stderr: Whole,
}

impl Outputs {
    /// Puts each stream that is longer than `past` bytes into a file.
    pub(super) async fn keep(call: &mut Call, executed: &Executed, past: usize) -> Self {
        let number = call.inner.clock.now().0;
        let outcome = &executed.outcome;
        let mut all = Self::default();
        for (stream, captured, place) in [
            (Stream::Stdout, &outcome.stdout, &mut all.stdout),
            (Stream::Stderr, &outcome.stderr, &mut all.stderr),
        ] {
            if captured.text.len() <= past && !captured.is_truncated() {
                continue;
            }
            let bytes = captured.text.clone().into_bytes();
            let kept = call.run(|machine| Box::pin(write(machine, stream, number, bytes))).await;
            *place = kept.map_or_else(Whole::Lost, Whole::File);
        }
        all
    }
}

/// Writes one, and removes those that are too many with it.
async fn write(machine: &mut dyn Machine, stream: Stream, at: u64, bytes: Vec<u8>) -> Result<GuestPath> {
    let mut others = Others::of(machine).await?;
    let number = others.0.last().map_or(at, |(last, ..)| at.max(last + 1));
    let path = GuestPath::parse(&format!("{FOLDER}/{PREFIX}{number}.{}", word(stream)))?;
    let size = bytes.len() as u64;
    while others.0.len() >= MOST || others.bytes() + size > MOST_BYTES {
        if !others.drop_oldest(machine).await? {
            break;
        }
    }
    loop {
        match machine.files().write(&path, &bytes).await {
            Err(error) if error.code() == ErrorCode::LimitDisk => {
                if !others.drop_oldest(machine).await? {
                    return Err(error);
                }
            }
            written => return written.map(|()| path),
        }
    }
}

/// Drops the oldest until the files are no more than they may be, or none of these is left. A container has room of its own for
/// `/tmp`; on wasm these files would leave none for the sandbox's own.
pub(super) async fn fit(machine: &mut dyn Machine) {
    let dropped = async {
        let mut others = Others::of(machine).await?;
        while machine.excess() != Excess::default() && others.drop_oldest(machine).await? {}
        Ok::<_, Error>(())
    };
    if let Err(error) = dropped.await {
        tracing::warn!(%error, "outputs that were kept in files take the room of a sandbox");
    }
}

fn word(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// Those that are there, the oldest first: number, name, bytes.
struct Others(Vec<(u64, String, u64)>);

impl Others {
    async fn of(machine: &mut dyn Machine) -> Result<Self> {
        let listed = machine.files().list(&GuestPath::parse(FOLDER)?, false, LOOKED_AT).await;
        let entries = match listed {
            Ok((entries, _)) => entries,
            Err(error) if error.code() == ErrorCode::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let files = entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
        let mut ours: Vec<_> =
            files.filter_map(|entry| Some((number(&entry.path)?, entry.path, entry.bytes))).collect();
        ours.sort();
        Ok(Self(ours))
    }

    fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, _, bytes)| bytes).sum()
    }

    /// False: there is none.
    async fn drop_oldest(&mut self, machine: &mut dyn Machine) -> Result<bool> {
        if self.0.is_empty() {
            return Ok(false);
        }
        let (_, name, _) = self.0.remove(0);
        machine.files().remove(&GuestPath::parse(&format!("{FOLDER}/{name}"))?, false).await?;
        Ok(true)
    }
}

/// The number of one of these files.
fn number(name: &str) -> Option<u64> {
    let (number, stream) = name.strip_prefix(PREFIX)?.split_once('.')?;
    let is_ours = matches!(stream, "stdout" | "stderr") && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_ours { number.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provider as _;
    use crate::sandbox::{Include, SandboxSpec};
    use crate::testing::FakeProvider;

    #[tokio::test]
    async fn the_oldest_goes_until_all_files_fit() {
        let spec = SandboxSpec::default();
        let mut machine = FakeProvider::containers().machine(&spec, None).await.unwrap();
        for (path, bytes) in [
            ("/tmp/output-1.stdout", 400),
            ("/tmp/output-2.stderr", 300),
            ("/tmp/mine", 50),
            ("/workspace/a", 100),
        ] {
            machine.files().write(&GuestPath::parse(path).unwrap(), &vec![b'x'; bytes]).await.unwrap();
        }
        let state = machine.snapshot(Include::Files).await.unwrap();
        for (disk, left) in [(900, 2), (850, 2), (849, 1), (450, 1), (449, 0), (1, 0)] {
            let spec = SandboxSpec { disk, ..spec.clone() };
            let mut machine = FakeProvider::default().machine(&spec, Some(state.clone())).await.unwrap();
            fit(machine.as_mut()).await;
            assert_eq!(Others::of(machine.as_mut()).await.unwrap().0.len(), left, "{disk}");
            let mine = GuestPath::parse("/tmp/mine").unwrap();
            assert_eq!(machine.files().stat(&mine).await.unwrap().bytes, 50);
        }
    }

    #[test]
    fn only_what_is_named_as_these_files_are_counts() {
        assert_eq!(number("output-17.stdout"), Some(17));
        assert_eq!(number("output-17.stderr"), Some(17));
        for other in ["output-17.txt", "output-.stdout", "output-+1.stdout", "output-1", "my-output-1.stdout"]
        {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
