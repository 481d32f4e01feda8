//! The folder that `mcp` was started in: whose the sandbox of some profiles is, and what a client's roots can open.

use std::path::{Path, PathBuf};

use dormouse_tools::HostFolders;

use super::Mcp;

/// Lets the folder count: the one sandbox of `rlm` and `codegen` is the folder's own, and tools read below it once the client has
/// named it as a root. A home folder, and what holds one, is never read so.
pub(super) fn in_folder(mut meant: Mcp) -> Mcp {
    let Ok(folder) = std::env::current_dir() else { return meant };
    let home = directories::BaseDirs::new().map(|folders| folders.home_dir().to_path_buf());
    if meant.state.is_some() && is_narrow(&folder, home.as_deref()) {
        // One that cannot be opened, or that holds keys, is not offered.
        if let Ok(host) = offered(&meant.host, &folder) {
            meant.host = host;
            meant.confined.reach.read.push(folder.clone());
        }
    }
    meant.started_in = Some(folder);
    meant
}

/// Under the name by which the user came to it, as clients give it, where that is another.
fn offered(host: &HostFolders, folder: &Path) -> dormouse::Result<HostFolders> {
    let named = std::env::var_os("PWD").map(PathBuf::from);
    let named =
        named.filter(|named| named.is_absolute() && named.canonicalize().is_ok_and(|real| real == folder));
    host.clone().offered(named.as_deref().unwrap_or(folder))
}

fn is_narrow(folder: &Path, home: Option<&Path>) -> bool {
    folder.parent().is_some() && !home.is_some_and(|home| home.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_and_what_holds_it_are_too_wide() {
        let home = Some(Path::new("/home/me"));
        for (folder, narrow) in
            [("/", false), ("/home", false), ("/home/me", false), ("/home/me/project", true), ("/srv", true)]
        {
            assert_eq!(is_narrow(Path::new(folder), home), narrow, "{folder}");
        }
        assert!(!is_narrow(Path::new("/"), None));
    }
}
