//! Folders of the host with file systems mounted below them.

use std::path::{Path, PathBuf};
use std::process::Command;

use dormouse_core::sandbox::{SandboxSpec, SpecMount};
use dormouse_core::{Access, ErrorCode, Provider as _};

use crate::list::{path, said, spec};
use crate::support::{Bench, skip};

/// A file system in memory, as long as this lives.
struct Mounted(PathBuf);

impl Mounted {
    fn at(folder: &Path) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        system("mount", &["-t", "tmpfs", "tmpfs"], folder)?;
        Ok(Self(folder.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        system("umount", &["--lazy"], &self.0).unwrap();
    }
}

fn system(program: &str, arguments: &[&str], folder: &Path) -> Result<(), String> {
    #[allow(clippy::disallowed_methods, reason = "what is mounted is to be seen by the engine")]
    let mut command = Command::new(program);
    let ended = command.args(arguments).arg(folder).output().map_err(|error| error.to_string())?;
    if ended.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ended.stderr).into_owned()) }
}

fn open_to_all(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

fn with(source: &Path, access: Access) -> SandboxSpec {
    SandboxSpec { mounts: vec![SpecMount { source: source.into(), target: path("/data"), access }], ..spec() }
}

/// CON-21: a file system below a read-only mount is not writable: read-only too, or the mount is refused.
#[tokio::test(flavor = "multi_thread")]
async fn con_21_what_is_mounted_below_a_read_only_mount_cannot_be_written() {
    let root = tempfile::tempdir().unwrap();
    let roots = vec![root.path().to_owned()];
    let Some(bench) = Bench::with("con_21", |settings| settings.roots = roots).await else { return };
    let (below, later) = (root.path().join("one/below disk"), root.path().join("two/later"));
    let mounted = match Mounted::at(&below) {
        Ok(mounted) => mounted,
        Err(why) => {
            skip("con_21", &format!("nothing can be mounted: {why}"));
            return bench.end().await;
        }
    };
    std::fs::write(below.join("a"), "kept").unwrap();
    // Only the mount keeps it from being written.
    open_to_all(&below, 0o777);
    open_to_all(&below.join("a"), 0o666);
    let one = root.path().join("one");
    match bench.provider.machine(&with(&one, Access::ReadOnly), None).await {
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::PathDenied, "{error}");
            assert!(error.message().contains("below"), "{error}");
        }
        Ok(mut machine) => {
            let (_, text, _) =
                said(&mut machine, "cd '/data/below disk'; cat a; echo x > a || echo no").await;
            assert_eq!(text, "keptno\n");
        }
    }
    assert_eq!(std::fs::read_to_string(below.join("a")).unwrap(), "kept");
    // What may be written may be written below as well.
    let mut machine = bench.provider.machine(&with(&one, Access::ReadWrite), None).await.unwrap();
    assert_eq!(said(&mut machine, "cat '/data/below disk/a'; echo x > '/data/below disk/b'").await.0, 0);
    assert_eq!(std::fs::read_to_string(below.join("b")).unwrap(), "x\n");
    drop(machine);
    drop(mounted);
    // One that is mounted while the container runs is not seen in it.
    let two = root.path().join("two");
    std::fs::create_dir_all(&later).unwrap();
    let mut machine = bench.provider.machine(&with(&two, Access::ReadOnly), None).await.unwrap();
    let mounted = Mounted::at(&later).unwrap();
    open_to_all(&later, 0o777);
    std::fs::write(later.join("a"), "x").unwrap();
    let (_, text, _) = said(&mut machine, "ls /data/later; touch /data/later/b 2>/dev/null || echo no").await;
    assert_eq!(text, "no\n");
    drop(machine);
    drop(mounted);
    bench.end().await;
}
