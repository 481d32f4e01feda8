//! Archives into a pod and out of it, by the image's own `tar`.

use std::io;

use bytes::Bytes;
use dormouse_containers::program::{Exec, Program};
use dormouse_containers::{Archive, BrokenOff, pulse};
use dormouse_core::{Error, ErrorCode, Result, Stream};
use futures::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::fault::{shown, unavailable};
use crate::pod::RunningPod;

/// Bytes kept of what `tar` complains of.
const SAID: usize = 64 << 10;

/// What came of a `tar`, by its status and what it says.
fn ended(what: &str, code: i64, said: &str) -> Result<()> {
    let full =
        ["No space left", "Disk quota exceeded", "File too large"].iter().any(|text| said.contains(text));
    match code {
        0 => Ok(()),
        _ if full => Err(Error::new(ErrorCode::LimitDisk, "the sandbox's files have no space left")
            .with_hint("remove files, or make a sandbox with more disk, and memory for it")),
        126 | 127 => Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("could not {what}: the image has no `tar`"),
        )
        .with_hint("use an image with sh, tar, cat, find, head, mkdir, mv, rm, stat and tail")),
        code => Err(unavailable(format!("could not {what}: `tar` failed ({code}): {}", shown(said)))),
    }
}

/// Unpacks an archive in a folder.
///
/// # Errors
/// `limit_disk` when it does not fit; `provider_unavailable`.
pub(crate) async fn put(pod: &RunningPod, folder: &str, mut archive: Archive) -> Result<()> {
    let what = "put files into a pod";
    let argv = ["tar", "-x", "-p", "-f", "-", "-C", folder].map(str::to_owned).into();
    let exec = Exec { argv, ..Exec::default() };
    let sending = async {
        let Program { mut output, mut input, status } = pod.start(exec, true).await?;
        let feed = async {
            while let Some(piece) = archive.next().await {
                // One that breaks off is never ended: `tar` is not told that it has all.
                let piece =
                    piece.map_err(|error| unavailable("an archive was not written").with_source(error))?;
                if input.write_all(&piece).await.is_err() {
                    break;
                }
                pulse::beat();
            }
            let _ended = input.shutdown().await;
            Ok(())
        };
        let hear = async {
            let mut said = Vec::new();
            while let Some(piece) = output.next().await {
                let (_, piece) = piece?;
                let room = SAID.saturating_sub(said.len()).min(piece.len());
                said.extend_from_slice(piece.get(..room).unwrap_or_default());
            }
            Ok::<_, Error>(String::from_utf8_lossy(&said).into_owned())
        };
        let ((), said) = tokio::try_join!(feed, hear)?;
        ended(what, status.await?, &said)
    };
    let within = pod.patience().transfer_within;
    timeout(within, sending).await.map_err(|_| pod.patience().slow(what, within))?
}

/// `$1` a folder below the root. What the sandbox's user has made unreadable for himself is made readable for him: `tar` runs as
/// this user as well, and would leave it out.
const TAKE: &str = r#"
find "/$1" -type d ! -perm -500 -exec chmod u+rx {} \; 2>/dev/null
find "/$1" -type f ! -perm -400 -exec chmod u+r {} \; 2>/dev/null
exec tar -c -f - -C / "$1"
"#;

/// An archive of a folder below the root, whose entries begin with the folder's own name.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn get(pod: &RunningPod, folder: &str) -> Result<Archive> {
    let argv = ["sh", "-c", TAKE, "dormouse", folder.trim_start_matches('/')].map(str::to_owned).into();
    let Program { output, status, .. } = pod.start(Exec { argv, ..Exec::default() }, false).await?;
    let broken = |error: Error| io::Error::other(BrokenOff(Box::new(error)));
    let pieces = output.scan(Vec::new(), |said: &mut Vec<u8>, piece| {
        let piece: Option<io::Result<Bytes>> = match piece {
            Ok((Stream::Stdout, piece)) => Some(Ok(piece)),
            Ok((Stream::Stderr, piece)) => {
                let room = SAID.saturating_sub(said.len()).min(piece.len());
                said.extend_from_slice(piece.get(..room).unwrap_or_default());
                None
            }
            Err(error) => Some(Err(io::Error::other(BrokenOff(Box::new(error))))),
        };
        std::future::ready(Some(piece))
    });
    let pieces = pieces.filter_map(std::future::ready);
    // What changes while it is read is 1.
    let end = futures::stream::once(async move {
        match status.await {
            Ok(0 | 1) => None,
            Ok(code) => Some(Err(broken(unavailable(format!("`tar` failed ({code})"))))),
            Err(error) => Some(Err(broken(error))),
        }
    });
    Ok(Box::pin(pieces.chain(end.filter_map(std::future::ready))))
}
