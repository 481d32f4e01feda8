//! Which folders of the host a container may be given.
//!
//! Owns: the operator's roots, and that they are compared after links are resolved. Does not own: the mount itself.

use std::path::{Path, PathBuf};

use dormouse_core::sandbox::SpecMount;
use dormouse_core::{Error, ErrorCode, Result, keys};

/// Folders of the host that no root makes mountable, nor what lies below them.
const NEVER: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/var/run"];

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
        || ["/proc", "/sys", "/dev"].iter().any(|own| target.starts_with(own))
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
}
