//! Which folders of the host a container may be given.
//!
//! Owns: the operator's roots, that they are compared after links are resolved, and that a folder which is only to be read is
//! so with the file systems that are mounted below it. Does not own: the mount itself.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use dormouse_containers::relay::TOLD;
use dormouse_core::sandbox::SpecMount;
use dormouse_core::{Access, Error, ErrorCode, Result, keys};

use crate::config::{Below, Bind};
use crate::shared::Shared;

/// Folders of the host that no root makes mountable, nor what lies below them.
const NEVER: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/var/run"];

/// The file systems that this process sees.
const MOUNTS: &str = "/proc/self/mountinfo";
/// The first version of the engine's interface that makes all below a mount read-only, or refuses.
const RECURSIVE: (usize, usize) = (1, 44);

/// What the engine is asked to mount.
///
/// # Errors
/// As [`source`]; `path_denied` for a folder that is only to be read, with file systems mounted below it that the engine
/// would leave writable; `provider_unavailable`.
pub(crate) async fn binds(shared: &Shared, mounts: &[SpecMount]) -> Result<Vec<Bind>> {
    let mut binds = Vec::new();
    for mount in mounts {
        let source = source(mount, &shared.settings.roots)?;
        let below = match mount.access {
            Access::ReadWrite => Below::AsItIs,
            Access::ReadOnly if !has_mounts_below(&source, MOUNTS.as_ref()) => Below::Nothing,
            Access::ReadOnly => {
                let version = shared.engine.docker().await?.client_version();
                below((version.major_version, version.minor_version), mount)?
            }
        };
        binds.push(Bind { source, target: mount.target.as_str().to_owned(), access: mount.access, below });
    }
    Ok(binds)
}

/// What comes of the file systems below a folder that is only to be read, at an engine of a version.
fn below(version: (usize, usize), mount: &SpecMount) -> Result<Below> {
    if version >= RECURSIVE {
        return Ok(Below::ReadOnly);
    }
    let shown = mount.source.display();
    Err(Error::new(
        ErrorCode::PathDenied,
        format!(
            "`{shown}` cannot be mounted read-only: another file system is mounted below it, and this engine would leave \
             that writable"
        ),
    )
    .with_hint("mount folders without file systems below them, or use an engine of version 25 or later"))
}

/// Whether a file system is mounted below a folder. Where it cannot be told there is none to be seen.
fn has_mounts_below(folder: &Path, mounts: &Path) -> bool {
    let Ok(text) = std::fs::read(mounts) else { return false };
    text.split(|byte| *byte == b'\n').any(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4).map(unescaped);
        point.is_some_and(|point| {
            let point = Path::new(OsStr::from_bytes(&point));
            point != folder && point.starts_with(folder)
        })
    })
}

/// A path as the kernel lists it: space, tab, line break and backslash are three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (first, escaped) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// The folder on the host that a mount really means.
///
/// # Errors
/// `path_denied` when it does not lie below one of the operator's roots, or can never be mounted.
pub(crate) fn source(mount: &SpecMount, roots: &[PathBuf]) -> Result<PathBuf> {
    let shown = mount.source.display();
    let denied = |why: &str| {
        Error::new(ErrorCode::PathDenied, format!("`{shown}` cannot be mounted: {why}"))
            .with_hint("mount a folder below one that the operator allows")
    };
    let real =
        mount.source.canonicalize().map_err(|_| denied("it does not exist, or cannot be looked at"))?;
    if real == Path::new("/") || NEVER.iter().any(|never| real.starts_with(never)) {
        return Err(denied("it belongs to the host itself"));
    }
    keys::check_mount(&real)?;
    if !real.is_dir() {
        return Err(denied("it is no folder"));
    }
    let below = |root: &PathBuf| root.canonicalize().is_ok_and(|root| real.starts_with(root));
    if !roots.iter().any(below) {
        return Err(denied("it does not lie below a folder that the operator allows"));
    }
    if real.to_str().is_none() {
        return Err(denied("its path is not UTF-8"));
    }
    if below_target(mount) {
        return Err(denied("its place in the sandbox is one of the sandbox's own"));
    }
    Ok(real)
}

/// Whether it would hide what a container consists of.
fn below_target(mount: &SpecMount) -> bool {
    let target = Path::new(mount.target.as_str());
    let own = [
        "/",
        "/workspace",
        "/tmp",
        "/proc",
        "/sys",
        "/dev",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/usr",
        "/etc",
    ];
    own.iter().any(|own| target == Path::new(own))
        || ["/proc", "/sys", "/dev", TOLD].iter().any(|own| target.starts_with(own))
}

#[cfg(test)]
mod tests {
    use dormouse_core::{Access, GuestPath};

    use super::*;

    fn mount(source: &Path, target: &str) -> SpecMount {
        let target = GuestPath::parse(target).unwrap();
        SpecMount { source: source.into(), target, access: Access::ReadOnly }
    }

    /// CON-05: unless it lies below an allowed root, after resolution.
    #[test]
    fn con_05_only_what_really_lies_below_a_root_can_be_mounted() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let inside = root.path().join("data");
        std::fs::create_dir_all(root.path().join(".ssh")).unwrap();
        std::fs::create_dir(&inside).unwrap();
        std::os::unix::fs::symlink(other.path(), root.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/proc", root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("file"), "x").unwrap();
        let roots = [root.path().to_owned()];
        assert_eq!(source(&mount(&inside, "/data"), &roots).unwrap(), inside.canonicalize().unwrap());
        let refused = |path: &Path, target| source(&mount(path, target), &roots).unwrap_err().code();
        for bad in ["link", "proc", ".ssh", "file", "missing", "data/../../"] {
            assert_eq!(refused(&root.path().join(bad), "/data"), ErrorCode::PathDenied, "{bad}");
        }
        for bad in ["/", "/proc", "/sys", "/dev", "/var/run", "/etc"] {
            assert_eq!(refused(Path::new(bad), "/data"), ErrorCode::PathDenied, "{bad}");
        }
        for target in ["/", "/workspace", "/proc/1", "/etc"] {
            assert_eq!(refused(&inside, target), ErrorCode::PathDenied, "{target}");
        }
        assert_eq!(
            source(&mount(Path::new("/proc"), "/d"), &["/".into()]).unwrap_err().code(),
            ErrorCode::PathDenied
        );
    }

    #[test]
    fn a_file_system_below_a_folder_is_found_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("mountinfo");
        let line = |point: &str| format!("36 35 98:0 / {point} rw,noatime master:1 - ext4 /dev/root rw\n");
        std::fs::write(&list, line("/") + &line("/data") + &line("/data2") + &line(r"/a\040b/c\134d/e"))
            .unwrap();
        for (path, found) in [
            ("/data", false),
            ("/dat", false),
            ("/data/x", false),
            ("/a b", true),
            (r"/a b/c\d", true),
            (r"/a b/c\d/e", false),
            (r"/a b/c", false),
        ] {
            assert_eq!(has_mounts_below(Path::new(path), &list), found, "{path}");
        }
        assert!(has_mounts_below(Path::new("/"), Path::new(MOUNTS)));
    }

    #[test]
    fn con_21_an_old_engine_is_not_asked_to_mount_what_it_would_leave_writable() {
        let asked = mount(Path::new("/data"), "/data");
        assert_eq!(below((1, 43), &asked).unwrap_err().code(), ErrorCode::PathDenied);
        assert_eq!(below((1, 44), &asked).unwrap(), Below::ReadOnly);
        assert_eq!(below((2, 0), &asked).unwrap(), Below::ReadOnly);
    }
}
