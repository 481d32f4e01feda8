//! Archives of what is staged, the same bytes from the same files: sorted names, one time, root as owner.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Release, done};

/// Packs a prefix as a tarball with one folder in it, compressed by zstd.
pub(super) fn tar(release: &Release, prefix: &Path, archive: &Path) -> Result<()> {
    open_to_all(prefix)?;
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
    tar.arg(format!("--mtime=@{}", release.time)).arg(format!("--transform=s,^\\.,{},", release.name()));
    tar.arg("--use-compress-program").arg(format!("zstd -{} -T2 -q", release.level));
    done(tar.arg("--file").arg(archive).arg("--directory").arg(prefix).arg("."))
}

/// Packs a prefix as a Debian package that has it as `/usr`. `root`: a folder for its files.
pub(super) fn debian(release: &Release, prefix: &Path, root: &Path, package: &Path) -> Result<()> {
    let (usr, about) = (root.join("usr"), root.join("DEBIAN"));
    fs::create_dir_all(root)?;
    done(Command::new("cp").args(["--archive", "--link"]).arg(prefix).arg(&usr))?;
    fs::create_dir_all(&about)?;
    let needed =
        glibc(&fs::read(prefix.join("bin/dormouse"))?).context("the program names no version of glibc")?;
    let needed = format!("2.{needed}");
    let kilobytes = size(&usr)?;
    let control = format!(
        "Package: dormouse-sandbox\nVersion: {}\nArchitecture: amd64\nMaintainer: The Dormouse developers <dormouse@dormouse.invalid>\n\
         Section: utils\nPriority: optional\nInstalled-Size: {kilobytes}\nDepends: libc6 (>= {needed}), libgcc-s1\n\
         Recommends: bash-completion, man-db\nDescription: sandboxes for code of AI agents\n \
         Runs Python, JavaScript, TypeScript, PHP and shell lines as WebAssembly, under limits of time, memory,\n \
         output and disk, with capabilities that are granted one by one. It is a command line, an MCP server and\n \
         an HTTP server.\n",
        release.version
    );
    fs::write(about.join("control"), control)?;
    open_to_all(root)?;
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "-Zzstd", &format!("-z{}", release.level), "--build"])
        .arg(root)
        .arg(package);
    deb.env("SOURCE_DATE_EPOCH", &release.time).stdout(std::process::Stdio::null());
    done(&mut deb)
}

/// Everybody may read what is installed, and its owner alone may write it.
pub(super) fn open_to_all(folder: &Path) -> Result<()> {
    done(Command::new("chmod").args(["--recursive", "u=rwX,go=rX"]).arg(folder))
}

/// Kilobytes of all files below a folder.
fn size(folder: &Path) -> Result<u64> {
    let said = Command::new("du")
        .args(["--summarize", "--apparent-size", "--block-size=1024"])
        .arg(folder)
        .output()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    said.split_whitespace().next().and_then(|size| size.parse().ok()).context("`du` tells no size")
}

/// The newest version of glibc whose symbols a program names: the number after `2.`.
pub(super) fn glibc(program: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b"GLIBC_2.";
    let minors = program.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    let minors = minors.filter_map(|(at, _)| {
        let digits = program[at + MARK.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        String::from_utf8(digits.copied().collect()).ok()?.parse::<u32>().ok()
    });
    minors.max()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_newest_glibc_is_needed() {
        assert_eq!(glibc(b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.\0GLIBC_2.17\0"), Some(34));
        assert_eq!(glibc(b"GLIBC_2"), None);
    }

    #[test]
    fn a_tarball_is_the_same_whenever_and_by_whom_it_was_staged() {
        let release = Release { version: "1.2.3".into(), time: "1000000000".into(), level: 3 };
        let place = tempfile::tempdir().unwrap();
        let packed = |name: &str, mode: u32| {
            let prefix = place.path().join(name);
            fs::create_dir_all(prefix.join("lib")).unwrap();
            for file in ["lib/b", "lib/a"] {
                fs::write(prefix.join(file), file).unwrap();
                fs::set_permissions(prefix.join(file), fs::Permissions::from_mode(mode)).unwrap();
            }
            let archive = place.path().join(format!("{name}.tar.zst"));
            tar(&release, &prefix, &archive).unwrap();
            fs::read(archive).unwrap()
        };
        let first = packed("one", 0o600);
        assert!(!first.is_empty());
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(packed("two", 0o664), first);
        ensure_listed(&place.path().join("one.tar.zst"), "dormouse-1.2.3-x86_64-linux/lib/a");
    }

    fn ensure_listed(archive: &Path, name: &str) {
        let listed = Command::new("tar").arg("--zstd").arg("-tf").arg(archive).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.lines().any(|line| line == name), "{listed}");
    }
}
