//! The C libraries that PHP's extensions use.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::guests::job::{Job, Unit};
use crate::guests::key::sha256;
use crate::guests::source::DebianFile;

pub(super) const ZLIB: [DebianFile; 1] = [DebianFile {
    package: "zlib",
    file: "zlib_1.3.dfsg+really1.3.1.orig.tar.gz",
    sha256: "60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb",
}];

/// The package that carries SQLite's sources.
pub(super) const SQLITE: &str = "libsqlite3-sys";

/// With the functions for compressed files, which PHP opens as streams.
const ZLIB_FILES: &[&str] = &[
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

/// The libraries, where a `configure` script can be pointed at them.
pub(super) struct Libraries {
    /// Holds `include` and `lib`.
    pub(super) folder: PathBuf,
    /// Changes when what they were made of does.
    pub(super) state: String,
}

impl Libraries {
    pub(super) fn build(job: &Job<'_>) -> Result<Self> {
        let folder = job.scratch.join("libraries");
        fs::create_dir_all(folder.join("include"))?;
        fs::create_dir_all(folder.join("lib"))?;
        let built = Self { folder, state: sha256(format!("{ZLIB:?} {SQLITE_FLAGS:?}").as_bytes()) };
        let zlib = job.unpack(&job.debian(&ZLIB)?, "zlib", &[])?;
        built.archive(job, &zlib, "z", ZLIB_FILES, &["-O3", "-DHAVE_UNISTD_H"], &["zlib.h", "zconf.h"])?;
        let sqlite = job.crate_sources(SQLITE)?.join("sqlite3");
        let flags = [&["-O2"], SQLITE_FLAGS].concat();
        built.archive(job, &sqlite, "sqlite3", &["sqlite3"], &flags, &["sqlite3.h", "sqlite3ext.h"])?;
        Ok(built)
    }

    /// Compiles a library whose files need no configuration.
    fn archive(
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
            // PHP's objects depend on the time of these files.
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
}
