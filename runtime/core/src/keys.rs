//! Where keys lie on a host: what no tool loads and no sandbox has mounted.
//!
//! The one list, for files below the operator's roots and for folders that are mounted. It goes by names alone: it keeps
//! accidents away, such as a home folder named as a root, and does not know keys by their content.

use std::path::{Path, PathBuf};

use crate::{Error, ErrorCode, Result};

/// Folders of keys: a run of these components in a path.
const FOLDERS: [&[&str]; 20] = [
    &[".ssh"],
    &[".aws"],
    &[".azure"],
    &[".gnupg"],
    &[".kube"],
    &[".docker"],
    &[".password-store"],
    &[".oci"],
    &[".terraform.d"],
    &[".config", "gcloud"],
    &[".config", "gh"],
    &[".config", "glab-cli"],
    &[".config", "op"],
    &[".config", "hub"],
    &[".config", "doctl"],
    &[".config", "rclone"],
    &[".config", "sops"],
    &[".config", "containers"],
    &[".local", "share", "keyrings"],
    &["library", "keychains"],
];

/// Files of keys, by the last components of their path.
const FILES: [&[&str]; 21] = [
    &[".netrc"],
    &["_netrc"],
    &[".git-credentials"],
    &[".pgpass"],
    &[".my.cnf"],
    &[".npmrc"],
    &[".pypirc"],
    &[".vault-token"],
    &[".htpasswd"],
    &[".s3cfg"],
    &[".boto"],
    &[".dockercfg"],
    &[".terraformrc"],
    &[".env"],
    &[".envrc"],
    &["kubeconfig"],
    &["application_default_credentials.json"],
    &[".cargo", "credentials"],
    &[".cargo", "credentials.toml"],
    &[".gem", "credentials"],
    &[".m2", "settings.xml"],
];

/// Endings of files of keys.
const ENDINGS: [&str; 8] = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"];

/// Endings of files that show which settings there are, without values.
const EXAMPLES: [&str; 4] = [".example", ".sample", ".template", ".dist"];

/// Whether a path is a folder of keys or leads through one. Names are compared without regard to case.
pub fn in_folder(path: &Path) -> bool {
    let parts = parts(path);
    FOLDERS.iter().any(|folder| parts.windows(folder.len()).any(|run| run == *folder))
}

/// Whether a path is that of a file of keys, or leads through a folder of keys.
pub fn is_key(path: &Path) -> bool {
    let parts = parts(path);
    let Some(name) = parts.last() else { return false };
    let example = EXAMPLES.iter().any(|ending| name.ends_with(ending));
    let ends = |file: &&[&str]| parts.len() >= file.len() && parts[parts.len() - file.len()..] == **file;
    in_folder(path)
        || FILES.iter().any(ends)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (name.starts_with(".env.") && !example)
        // `id_rsa`, `id_ed25519_work`; not `id_rsa.pub`.
        || (name.starts_with("id_") && !name.contains('.'))
}

fn parts(path: &Path) -> Vec<String> {
    path.components().map(|part| part.as_os_str().to_string_lossy().to_ascii_lowercase()).collect()
}

/// Refuses to mount a folder of keys, or what lies in one.
///
/// # Errors
/// `path_denied`.
pub fn check_mount(source: &Path) -> Result<()> {
    if !in_folder(source) {
        return Ok(());
    }
    let shown = source.display().to_string();
    let message =
        format!("`{}` cannot be mounted: it is a folder of keys or inside one", shown.escape_debug());
    Err(Error::new(ErrorCode::PathDenied, message)
        .with_hint("copy what is needed into a folder of its own, and mount that"))
}

/// The folders of keys as relative paths: where they lie in a home folder.
pub fn folders() -> impl Iterator<Item = PathBuf> {
    FOLDERS.iter().map(|parts| parts.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_their_place_and_their_name() {
        for key in [
            "/home/a/.ssh/config",
            ".SSH/id",
            "x/.aws/credentials",
            ".config/op/config",
            ".config/gh/hosts.yml",
            "a/.docker/config.json",
            ".kube/config",
            "deep/er/.env",
            ".env.production",
            ".env.local",
            "id_rsa",
            "keys/id_ed25519_work",
            "server.pem",
            "SERVER.PEM",
            "tls.key",
            "kubeconfig",
            ".cargo/credentials",
            "home/.cargo/credentials.toml",
            ".vault-token",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
        ] {
            assert!(is_key(Path::new(key)), "{key}");
        }
        for plain in [
            "",
            "/",
            "a.txt",
            "id_rsa.pub",
            "id_mapping.csv",
            ".env.example",
            "environment",
            ".config/nvim/init.lua",
            ".cargo/config.toml",
            "credentials.toml",
            "keyboard",
            "pem",
            ".sshrc/x",
        ] {
            assert!(!is_key(Path::new(plain)), "{plain}");
        }
    }

    #[test]
    fn con_05_a_folder_of_keys_is_not_mounted() {
        for folder in ["/home/a/.ssh", "/home/a/.ssh/deeper", "/home/.config/op", "/x/.Docker"] {
            let error = check_mount(Path::new(folder)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::PathDenied, "{folder}");
        }
        for folder in ["/home/a", "/home/a/.config", "/srv/data.key", "/home/a/project"] {
            assert!(check_mount(Path::new(folder)).is_ok(), "{folder}");
        }
    }
}
