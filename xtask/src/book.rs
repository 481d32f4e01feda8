//! `cargo xtask book`: builds the book of `docs` with mdBook, and checks that every link in it leads somewhere.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use regex::{Captures, Regex};

use crate::guests::{Cache, NETWORK_TIMEOUT, mirrors, on_path, run_for, workspace};
use crate::progress::{Progress, complain};

/// The release of Debian whose mdBook is taken where none is installed.
const SUITE: &str = "trixie";
/// mdBook, and the C library that it is linked with, because this machine's may be older.
const PACKAGES: [&str; 3] = ["mdbook", "libc6", "libgcc-s1"];
/// Who signs Debian's lists of packages.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Builds the book into `target/book`.
pub(crate) fn run() -> Result<()> {
    let docs = workspace().join("docs");
    let book = workspace().join("target/book");
    let mut command = mdbook()?;
    command.arg("build").arg(&docs);
    run_for(&mut command, NETWORK_TIMEOUT).context("mdbook build")?;
    let mut pages = Vec::new();
    walk(&book, &mut pages)?;
    // Its addresses are those of a server's root.
    pages.retain(|page| page.file_name().is_none_or(|name| name != "404.html"));
    for page in &pages {
        settle(&book, page)?;
    }
    let broken = broken(&pages)?;
    ensure!(broken.is_empty(), "links of the book lead nowhere:\n  {}", broken.join("\n  "));
    complain(&format!("{} pages: {}", pages.len(), book.join("index.html").display()));
    Ok(())
}

/// The program: one that is installed, else Debian's, unpacked into the cache on first use.
fn mdbook() -> Result<Command> {
    if let Some(path) = on_path("mdbook") {
        return Ok(Command::new(path));
    }
    let folder = Cache::open()?.toolchain()?.join(format!("mdbook-{SUITE}"));
    if !folder.is_dir() {
        let fresh = tempfile::tempdir_in(folder.parent().context("a folder of the cache")?)?;
        unpack(fresh.path()).context(
            "no mdBook: install it (with your system's packages, or `cargo install mdbook`), or run this where apt-get \
             reaches Debian's archive",
        )?;
        fs::rename(fresh.keep(), &folder)?;
    }
    // It is started by the loader of its own C library.
    let libraries = fs::read_dir(folder.join("usr/lib"))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("libc.so.6").is_file())
        .context("the unpacked C library is not there")?;
    let loader = fs::read_dir(&libraries)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")))
        .context("the unpacked C library has no loader")?;
    let mut command = Command::new(loader);
    command.arg("--library-path").arg(libraries).arg(folder.join("usr/bin/mdbook"));
    Ok(command)
}

/// Fetches the packages through apt, which checks Debian's signature, and unpacks them.
fn unpack(into: &Path) -> Result<()> {
    let progress = Progress::new("book");
    let _step = progress.step(&format!("fetching mdBook from Debian {SUITE} (apt-get)"));
    let mirror = mirrors().into_iter().next().context("this machine's apt names no Debian mirror")?;
    let scratch = tempfile::tempdir()?;
    let (lists, cache) = (scratch.path().join("lists"), scratch.path().join("cache"));
    fs::create_dir_all(lists.join("partial"))?;
    fs::create_dir_all(cache.join("archives/partial"))?;
    let sources = scratch.path().join("sources.list");
    fs::write(&sources, format!("deb [signed-by={KEYRING}] {mirror} {SUITE} main\n"))?;
    let option = |name: &str, value: &Path| {
        let mut text = OsString::from(format!("{name}="));
        text.push(value);
        [OsString::from("-o"), text]
    };
    let apt = || {
        let mut command = Command::new("apt-get");
        command.args(option("Dir::Etc::sourcelist", &sources)).args(option("Dir::State::lists", &lists));
        command.args(option("Dir::Cache", &cache)).current_dir(scratch.path());
        command.args(["-o", "Dir::Etc::sourceparts=-", "-o", "Acquire::Languages=none"]);
        command.args(["-o", "APT::Sandbox::User=root"]);
        command
    };
    run_for(apt().arg("update"), NETWORK_TIMEOUT)?;
    // What is installed here must not decide the version.
    run_for(apt().arg("download").args(PACKAGES.map(|name| format!("{name}/{SUITE}"))), NETWORK_TIMEOUT)?;
    for entry in fs::read_dir(scratch.path())?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "deb") {
            run_for(Command::new("dpkg-deb").arg("-x").arg(entry.path()).arg(into), NETWORK_TIMEOUT)?;
        }
    }
    ensure!(into.join("usr/bin/mdbook").is_file(), "the package has no program `mdbook`");
    Ok(())
}

fn walk(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(path);
        }
    }
    Ok(())
}

/// Where a relative address of a page leads, and the section.
fn target(page: &Path, address: &str) -> Option<(PathBuf, String)> {
    if address.contains(':') || address.starts_with("//") {
        return None;
    }
    let (path, section) = address.split_once('#').unwrap_or((address, ""));
    let mut whole = page.to_owned();
    if !path.is_empty() {
        whole.pop();
    }
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::Normal(name) => whole.push(name),
            _ => {}
        }
    }
    Some((whole, section.to_owned()))
}

/// A link to a file of the repository that is not in the book becomes text. What this mdBook does not bring is not asked
/// for: Debian leaves out fonts, and the script of the theme menu.
fn settle(book: &Path, page: &Path) -> Result<()> {
    let text = fs::read_to_string(page)?;
    let links = Regex::new(r#"<a href="([^"]*)""#)?;
    let inside = links.replace_all(&text, |link: &Captures<'_>| match target(page, &link[1]) {
        Some((path, _)) if !path.starts_with(book) => "<a".to_owned(),
        _ => link[0].to_owned(),
    });
    let parts = Regex::new(r#"<script src="([^"]*)"></script>|<link rel="stylesheet" href="([^"]*)">"#)?;
    let changed = parts.replace_all(&inside, |part: &Captures<'_>| {
        let address = part.get(1).or(part.get(2)).map_or("", |address| address.as_str());
        match target(page, address) {
            Some((path, _)) if !path.is_file() => String::new(),
            _ => part[0].to_owned(),
        }
    });
    if changed != text {
        fs::write(page, changed.as_bytes())?;
    }
    Ok(())
}

/// Addresses of pages that lead to no file, or to no section of one.
fn broken(pages: &[PathBuf]) -> Result<Vec<String>> {
    let addresses = Regex::new(r#"(?:href|src)="([^"]*)""#)?;
    let mut broken = Vec::new();
    for page in pages {
        let text = fs::read_to_string(page)?;
        for address in addresses.captures_iter(&text) {
            let Some((path, section)) = target(page, &address[1]) else { continue };
            let fits = match fs::read(&path) {
                Ok(bytes) => {
                    section.is_empty()
                        || String::from_utf8_lossy(&bytes).contains(&format!("id=\"{section}\""))
                }
                Err(_) => false,
            };
            if !fits {
                broken.push(format!("{} -> {}", page.display(), &address[1]));
            }
        }
    }
    if pages.len() < 10 {
        bail!("the book has only {} pages", pages.len());
    }
    Ok(broken)
}
