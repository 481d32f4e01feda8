//! Where the tests come from: the sources that the guest was built from, so that tests and interpreter fit together.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use dormouse_chores::Cache;
use dormouse_chores::progress::Progress;
use dormouse_chores::sources::debian;
use dormouse_chores::{folder, program};
use dormouse_guests::debian_sources;

/// Folders of tests: the language's own and those of the extensions that the guest has.
const FOLDERS: [&str; 45] = [
    "Zend/tests",
    "tests/basic",
    "tests/classes",
    "tests/func",
    "tests/lang",
    "tests/output",
    "tests/security",
    "tests/strings",
    "ext/bcmath/tests",
    "ext/calendar/tests",
    "ext/ctype/tests",
    "ext/curl/tests",
    "ext/date/tests",
    "ext/dom/tests",
    "ext/exif/tests",
    "ext/fileinfo/tests",
    "ext/filter/tests",
    "ext/gd/tests",
    "ext/gmp/tests",
    "ext/hash/tests",
    "ext/iconv/tests",
    "ext/intl/tests",
    "ext/json/tests",
    "ext/libxml/tests",
    "ext/mbstring/tests",
    "ext/openssl/tests",
    "ext/pcre/tests",
    "ext/pdo/tests",
    "ext/pdo_sqlite/tests",
    "ext/phar/tests",
    "ext/posix/tests",
    "ext/random/tests",
    "ext/reflection/tests",
    "ext/session/tests",
    "ext/simplexml/tests",
    "ext/sodium/tests",
    "ext/spl/tests",
    "ext/sqlite3/tests",
    "ext/standard/tests",
    "ext/tokenizer/tests",
    "ext/xml/tests",
    "ext/xmlreader/tests",
    "ext/xmlwriter/tests",
    "ext/zip/tests",
    "ext/zlib/tests",
];

/// The folder of PHP's sources, with nothing but tests in it.
pub(super) fn provide() -> Result<PathBuf> {
    let archives = debian_sources("php8.4");
    let archive = archives.first().context("the PHP guest pins no sources")?;
    let key = format!("{} {}", archive.sha256, FOLDERS.join(" "));
    folder::provide("phpt", &key, |into: &Path| {
        let progress = Progress::new("phpt");
        let archive = debian(&Cache::open()?, &progress, archives)?;
        let _step = progress.step("unpacking the tests");
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(&archive).args(["--no-same-owner", "--strip-components=1", "--wildcards"]);
        tar.arg("--no-wildcards-match-slash").arg("-C").arg(into);
        program::install(tar.args(FOLDERS.map(|folder| format!("*/{folder}")))).map(drop)
    })
}
