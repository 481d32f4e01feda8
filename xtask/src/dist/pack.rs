//! Archives of what is staged, the same bytes from the same files: sorted names, one time, root as owner.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Release, done};

/// Packs a prefix as a tarball with one folder in it, compressed by xz.
pub(super) fn tar(release: &Release, prefix: &Path, archive: &Path) -> Result<()> {
    open_to_all(prefix)?;
    tarball(release, prefix, (&release.name(), &format!("xz {}", release.squeeze())), archive)
}

/// Packs the files of an npm package.
pub(super) fn tgz(release: &Release, folder: &Path, archive: &Path) -> Result<()> {
    open_to_all(folder)?;
    let level = if release.quick { "1" } else { "9" };
    tarball(release, folder, ("package", &format!("gzip -n -{level}")), archive)
}

/// Packs a folder under another name, compressed by a program.
fn tarball(release: &Release, folder: &Path, (name, squeeze): (&str, &str), archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
    tar.arg(format!("--mtime=@{}", release.time)).arg(format!("--transform=s,^\\.,{name},"));
    tar.arg("--use-compress-program").arg(squeeze);
    done(tar.arg("--file").arg(archive).arg("--directory").arg(folder).arg("."))
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
        "Package: dormouse-sandbox\nVersion: {}\nArchitecture: {}\nMaintainer: The Dormouse developers <dormouse@dormouse.invalid>\n\
         Section: utils\nPriority: optional\nInstalled-Size: {kilobytes}\nDepends: libc6 (>= {needed}), libgcc-s1\n\
         Recommends: bash-completion, man-db\nDescription: sandboxes for code of AI agents\n \
         Runs Python, JavaScript, TypeScript, PHP and shell lines as WebAssembly, under limits of time, memory,\n \
         output and disk, with capabilities that are granted one by one. It is a command line, an MCP server and\n \
         an HTTP server.\n",
        release.version,
        release.machine.debian()
    );
    fs::write(about.join("control"), control)?;
    open_to_all(root)?;
    // What dpkg-deb compresses by itself does not know that most of it is machine code.
    let plain = package.with_extension("plain");
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "-Znone", "--build"]).arg(root).arg(&plain);
    deb.env("SOURCE_DATE_EPOCH", &release.time).stdout(std::process::Stdio::null());
    done(&mut deb)?;
    let parts = root.with_extension("parts");
    fs::create_dir_all(&parts)?;
    let script = r#"ar x "$1" && xz $3 control.tar && xz $3 data.tar && rm -f "$2" && ar rcD "$2" debian-binary control.tar.xz data.tar.xz"#;
    let mut again = Command::new("sh");
    again.args(["-c", script, "deb"]).arg(&plain).arg(package).arg(release.squeeze()).current_dir(&parts);
    done(&mut again)?;
    fs::remove_file(plain)?;
    Ok(fs::remove_dir_all(parts)?)
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

    use super::super::Machine;
    use super::*;

    #[test]
    fn the_newest_glibc_is_needed() {
        assert_eq!(glibc(b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.\0GLIBC_2.17\0"), Some(34));
        assert_eq!(glibc(b"GLIBC_2"), None);
    }

    #[test]
    fn a_tarball_is_the_same_whenever_and_by_whom_it_was_staged() {
        let release = Release {
            version: "1.2.3".into(),
            machine: Machine::X86_64,
            time: "1000000000".into(),
            quick: true,
        };
        let place = tempfile::tempdir().unwrap();
        let packed = |name: &str, mode: u32| {
            let prefix = place.path().join(name);
            fs::create_dir_all(prefix.join("lib")).unwrap();
            for file in ["lib/b", "lib/a"] {
                fs::write(prefix.join(file), file).unwrap();
                fs::set_permissions(prefix.join(file), fs::Permissions::from_mode(mode)).unwrap();
            }
            let archive = place.path().join(format!("{name}.tar.xz"));
            tar(&release, &prefix, &archive).unwrap();
            fs::read(archive).unwrap()
        };
        let first = packed("one", 0o600);
        assert!(!first.is_empty());
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(packed("two", 0o664), first);
        ensure_listed(&place.path().join("one.tar.xz"), "dormouse-1.2.3-x86_64-linux/lib/a");
    }

    fn ensure_listed(archive: &Path, name: &str) {
        let listed = Command::new("tar").arg("--xz").arg("-tf").arg(archive).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.lines().any(|line| line == name), "{listed}");
    }
}
