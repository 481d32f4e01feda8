//! `cargo xtask book`: builds the book of `docs` with mdBook, and checks that every link in it leads somewhere.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::program::{NETWORK_TIMEOUT, on_path, run_for};
use dormouse_chores::progress::{Progress, complain};
use dormouse_chores::sources::mirrors;
use dormouse_chores::{Cache, workspace};

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
    let inside = replaced(&text, "<a href=\"", "\"", |address| match target(page, address) {
        Some((path, _)) if !path.starts_with(book) => Some("<a"),
        _ => None,
    });
    let missing = |address: &str| match target(page, address) {
        Some((path, _)) if !path.is_file() => Some(""),
        _ => None,
    };
    let changed = replaced(&inside, "<script src=\"", "\"></script>", missing);
    let changed = replaced(&changed, "<link rel=\"stylesheet\" href=\"", "\">", missing);
    if changed != text {
        fs::write(page, changed.as_bytes())?;
    }
    Ok(())
}

/// The text with each `begin`, address, `end` replaced by what `new` makes of the address, if anything.
fn replaced(text: &str, begin: &str, end: &str, new: impl Fn(&str) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(begin) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let address = found[begin.len()..].split('"').next().unwrap_or_default();
        let whole = begin.len() + address.len();
        let length = if found[whole..].starts_with(end) { whole + end.len() } else { whole };
        match new(address) {
            Some(new) if length > whole => out.push_str(new),
            _ => out.push_str(&found[..length]),
        }
        rest = &found[length..];
    }
    out + rest
}

/// What stands between quotation marks after `href=` and `src=`.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let after = |name| text.split(name).skip(1).filter_map(|rest| rest.split_once('"'));
    after("href=\"").chain(after("src=\"")).map(|(address, _)| address)
}

/// Addresses of pages that lead to no file, or to no section of one.
fn broken(pages: &[PathBuf]) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for page in pages {
        let text = fs::read_to_string(page)?;
        for address in addresses(&text) {
            let Some((path, section)) = target(page, address) else { continue };
            let fits = match fs::read(&path) {
                Ok(bytes) => {
                    section.is_empty()
                        || String::from_utf8_lossy(&bytes).contains(&format!("id=\"{section}\""))
                }
                Err(_) => false,
            };
            if !fits {
                broken.push(format!("{} -> {}", page.display(), address));
            }
        }
    }
    if pages.len() < 10 {
        bail!("the book has only {} pages", pages.len());
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_loses_its_address() {
        let text = "a <a href=\"x\" id=1>b</a> <a href=\"y\">c <a href=\"z";
        let new = replaced(text, "<a href=\"", "\"", |address| (address != "y").then_some("<a"));
        assert_eq!(new, "a <a id=1>b</a> <a href=\"y\">c <a href=\"z");
        let script =
            replaced("1<script src=\"s\"></script>2", "<script src=\"", "\"></script>", |_| Some(""));
        assert_eq!(script, "12");
    }

    #[test]
    fn addresses_are_what_links_and_parts_name() {
        let found: Vec<&str> = addresses("<a href=\"x#y\"><img src=\"z\">").collect();
        assert_eq!(found, ["x#y", "z"]);
    }
}
