//! Paths in a container: the folders that are a sandbox's, and what lies below a place.

/// Who runs programs: the user that owns nothing.
pub const USER: &str = "65534:65534";
/// The folder of a sandbox's files.
pub const WORKSPACE: &str = "/workspace";
/// The folder of files that nobody misses.
pub const TMP: &str = "/tmp";

/// The folders that are moved.
pub const MOVED: [&str; 2] = [WORKSPACE, TMP];

/// The target of a link at `name`, relative: absolute ones only if they lead into a folder that is moved.
pub(crate) fn relative(name: &str, target: &str) -> Option<String> {
    let Some(absolute) = target.strip_prefix('/') else { return Some(target.to_owned()) };
    let first = absolute.split('/').next().unwrap_or_default();
    if !MOVED.iter().any(|folder| folder.trim_start_matches('/') == first) {
        return None;
    }
    Some(format!("{}{absolute}", "../".repeat(name.matches('/').count())))
}

/// Whether a path is one of these places, or below one.
pub(crate) fn is_below(path: &str, places: &[String]) -> bool {
    places.iter().any(|place| {
        path.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_links_into_the_sandbox_become_relative() {
        assert_eq!(relative("workspace/a/b", "/workspace/c").as_deref(), Some("../../workspace/c"));
        assert_eq!(relative("workspace/b", "../x").as_deref(), Some("../x"));
        assert_eq!(relative("workspace/b", "/usr/bin/python3"), None);
    }
}
