//! A `/workspace` that outlives its container: when the files in it are taken for those of a saved state.
//!
//! Owns: that it is emptied unless it is certain that it holds the files which are to be there, and that such a certainty is noted only
//! when nothing runs any more that could change them. Does not own: where that is noted and by whom the folder is used, which is the
//! engine's.

use std::sync::Arc;

use dormouse_core::sandbox::ChunkId;
use dormouse_core::{Error, ErrorCode, Result};
use tokio::time::timeout;

use crate::exec;
use crate::listing::Listing;
use crate::merge::Known;
use crate::paths::WORKSPACE;
use crate::port::Container;
use crate::program::{Exec, Written};
use crate::pulse;
use crate::volume::{Content, Stage};

/// Empties the folder `$1`. Its status is whether it is empty then.
const EMPTY: &str = r#"find "$1" -mindepth 1 -type d ! -perm -700 -exec chmod u+rwx {} \;
find "$1" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +
[ -z "$(find "$1" -mindepth 1 -maxdepth 1 | head -n 1)" ]"#;
/// Has what is in the folder `$1` written to its disk, which a node could lose otherwise that goes down a moment later.
const FLUSH: &str = r#"sync -f "$1" 2>/dev/null || sync"#;
/// Bytes kept of what a program of ours says.
const SAID: u64 = 64 << 10;

/// Whether the `/workspace` of a container in which nothing has run yet has the files of the state with this chunk already. If not it is
/// empty.
///
/// # Errors
/// `provider_unavailable` when it cannot be emptied. It is of no use then.
pub(crate) async fn has(container: &dyn Container, root: Option<ChunkId>) -> Result<bool> {
    let Some(volume) = container.volume() else { return Ok(false) };
    let found = volume.rely();
    if root.is_some() && found == root {
        return Ok(true);
    }
    let emptied = empty(container).await;
    if emptied.is_err() {
        volume.note(Content::Useless);
    }
    emptied.map(|()| false)
}

async fn empty(container: &dyn Container) -> Result<()> {
    let what = "empty a volume";
    let argv = ["sh", "-c", EMPTY, "dormouse", WORKSPACE].map(str::to_owned).into();
    let (exec, mut written) = (Exec { argv, most: SAID, ..Exec::default() }, Written::default());
    let within = container.patience().transfer_within;
    let running = timeout(within, exec::run(container, exec, &mut written));
    pulse::excused(running).await.map_err(|_| container.patience().slow(what, within))??;
    if written.code == Some(0) {
        return Ok(());
    }
    let said: String = written.stderr.text().chars().filter(|c| !c.is_control()).take(200).collect();
    Err(Error::new(
        ErrorCode::ProviderUnavailable,
        format!("could not {what}: {said} (status {})", written.code.unwrap_or(-1)),
    )
    .with_hint("call again: the sandbox begins with another volume"))
}

/// No call comes to a container any more: ends all that runs in it, in the background, and notes what its volume holds if that is
/// certain. `saved`: the files as they were taken last, and the chunk that they were saved under.
pub(crate) fn let_go(container: &Arc<dyn Container>, saved: Option<(Known, ChunkId)>) {
    let Some(volume) = container.volume() else { return };
    volume.reach(Stage::LetGo);
    let Some((known, root)) = saved else { return };
    let own = container.clone();
    let _looking = container.background().spawn(async move {
        let within = own.patience().stall_within;
        let looked = timeout(within, is_still(own.as_ref(), &known)).await;
        if let (Ok(Ok(true)), Some(volume)) = (&looked, own.volume()) {
            volume.note(Content::Saved(root));
        } else {
            tracing::debug!(
                container = own.id(),
                ?looked,
                "a volume is not what was saved, as far as is known"
            );
        }
    });
}

/// Whether the files are as they were, for sure, and on their disk, and nothing is left that could change them.
async fn is_still(container: &dyn Container, known: &Known) -> Result<bool> {
    container.sweep(&[]).await?;
    let listing = Listing::of(container, &[], &[]).await?;
    if !listing.is_some_and(|listing| known.is_sure_of(&listing, WORKSPACE)) {
        return Ok(false);
    }
    let argv = ["sh", "-c", FLUSH, "dormouse", WORKSPACE].map(str::to_owned).into();
    Ok(exec::run_own(container, argv, Vec::new()).await?.code == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program is run on a folder of this machine.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the shell is what is tested")]
    fn a_folder_is_emptied_whatever_its_modes_and_names_are() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(other.path().join("stays"), "x").unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        for name in ["x", "-rf", "a\nb", ".hidden"] {
            std::fs::write(deep.join(name), "x").unwrap();
            std::fs::write(folder.path().join(format!("{name}.")), "x").unwrap();
        }
        symlink(other.path(), folder.path().join("link")).unwrap();
        std::fs::set_permissions(&deep, std::fs::Permissions::from_mode(0o000)).unwrap();
        let ran = std::process::Command::new("sh")
            .args(["-c", EMPTY, "dormouse"])
            .arg(folder.path())
            .output()
            .expect("a shell");
        assert!(ran.status.success(), "{ran:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(other.path().join("stays").exists());
    }
}
