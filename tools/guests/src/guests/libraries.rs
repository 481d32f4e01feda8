//! The C libraries that Python and PHP both use, where a `configure` script finds them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::job::{Job, Unit, empty};
use super::key::sha256;
use super::source::DebianFile;
use super::tree::{Origin, Tree};

/// This file, which is a part of the text of each recipe that uses it.
pub(crate) const TEXT: &str = include_str!("libraries.rs");

pub(crate) const ZLIB: [DebianFile; 1] = [DebianFile {
    package: "zlib",
    file: "zlib_1.3.dfsg+really1.3.1.orig.tar.gz",
    sha256: "60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb",
}];

/// zlib's sources: a recipe that uses the libraries has this tree.
pub(crate) const ZLIB_TREE: Tree = Tree::new("zlib", Origin::Debian(&ZLIB));

/// The package that carries SQLite's sources.
pub(crate) const SQLITE: &str = "libsqlite3-sys";

/// With the functions for compressed files (`gz…`), which PHP opens as streams.
pub(crate) const ZLIB_FILES: &[&str] = &[
    "adler32", "compress", "crc32", "deflate", "gzclose", "gzlib", "gzread", "gzwrite", "infback", "inffast",
    "inflate", "inftrees", "trees", "uncompr", "zutil",
];

/// One process uses a database at a time, without threads, shared memory or loadable code.
const SQLITE_FLAGS: &[&str] = &[
    "-DSQLITE_THREADSAFE=0",
    "-DSQLITE_OMIT_LOAD_EXTENSION",
    "-DSQLITE_OMIT_WAL",
    "-DSQLITE_MAX_MMAP_SIZE=0",
    "-DSQLITE_TEMP_STORE=2",
    "-DSQLITE_ENABLE_FTS5",
    "-DSQLITE_ENABLE_RTREE",
    "-DSQLITE_ENABLE_MATH_FUNCTIONS",
    "-DSQLITE_ENABLE_COLUMN_METADATA",
];

/// A folder of libraries, as it would be installed.
pub(crate) struct Libraries {
    /// Holds `include` and `lib`.
    pub(crate) folder: PathBuf,
    /// Changes when what they were made of does.
    pub(crate) state: String,
}

impl Libraries {
    /// zlib and SQLite; `more` names the sources of what the recipe adds.
    pub(crate) fn build(job: &Job<'_>, more: &[&[DebianFile]]) -> Result<Self> {
        let folder = job.scratch.join("libraries");
        fs::create_dir_all(folder.join("include"))?;
        fs::create_dir_all(folder.join("lib"))?;
        let state = sha256(format!("{ZLIB:?} {more:?} {SQLITE_FLAGS:?}").as_bytes());
        let built = Self { folder, state };
        let zlib = job.prepare(ZLIB_TREE.name)?;
        built.archive(job, &zlib, "z", ZLIB_FILES, &["-O3", "-DHAVE_UNISTD_H"], &["zlib.h", "zconf.h"])?;
        let sqlite = job.crate_sources(SQLITE)?.join("sqlite3");
        let flags = [&["-O2"], SQLITE_FLAGS].concat();
        built.archive(job, &sqlite, "sqlite3", &["sqlite3"], &flags, &["sqlite3.h", "sqlite3ext.h"])?;
        Ok(built)
    }

    /// Compiles a library whose files need no configuration.
    pub(crate) fn archive(
        &self,
        job: &Job<'_>,
        source: &Path,
        name: &str,
        files: &[&str],
        flags: &[&str],
        headers: &[&str],
    ) -> Result<()> {
        let objects = job.scratch.join("objects").join(name);
        let unit = |file: &&str| Unit {
            source: source.join(format!("{file}.c")),
            object: objects.join(format!("{file}.o")),
            flags: Vec::new(),
        };
        let units: Vec<Unit> = files.iter().map(unit).collect();
        let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        job.compile(&format!("compile lib{name}"), &units, &flags)?;
        for header in headers {
            let (from, to) = (source.join(header), self.folder.join("include").join(header));
            // What `make` builds depends on the times of these files.
            if fs::read(&from).ok() != fs::read(&to).ok() {
                fs::copy(from, to)?;
            }
        }
        let library = self.folder.join(format!("lib/lib{name}.a"));
        let _ = fs::remove_file(&library);
        let mut archiver = Command::new(job.toolchain.tool("llvm-ar"));
        archiver.arg("rcs").arg(&library).args(units.iter().map(|unit| &unit.object));
        job.run(&format!("archive lib{name}"), &mut archiver)
    }

    /// Builds a library that has a configuration of its own, unless it is there: `build` gets an empty folder.
    pub(crate) fn configured(
        &self,
        job: &Job<'_>,
        name: &str,
        build: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let done = job.scratch.join(format!("{name}.done"));
        let state = format!("{} {}", self.state, job.toolchain.identity());
        if fs::read_to_string(&done).is_ok_and(|found| found == state) {
            return Ok(());
        }
        let folder = job.scratch.join(format!("{name}-build"));
        empty(&folder)?;
        build(&folder)?;
        Ok(fs::write(done, state)?)
    }
}
