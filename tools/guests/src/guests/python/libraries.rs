//! The C libraries that CPython's modules use.

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

pub(super) const BZIP2: [DebianFile; 1] = [DebianFile {
    package: "bzip2",
    file: "bzip2_1.0.8.orig.tar.gz",
    sha256: "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269",
}];

pub(super) const XZ: [DebianFile; 1] = [DebianFile {
    package: "xz-utils",
    file: "xz-utils_5.8.1.orig.tar.xz",
    sha256: "0b54f79df85912504de0b14aec7971e3f964491af1812d83447005807513cd9e",
}];

/// The package that carries SQLite's sources.
pub(super) const SQLITE: &str = "libsqlite3-sys";

const ZLIB_FILES: &[&str] = &[
    "adler32", "compress", "crc32", "deflate", "infback", "inffast", "inflate", "inftrees", "trees",
    "uncompr", "zutil",
];

const BZIP2_FILES: &[&str] =
    &["blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib"];

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
        let built =
            Self { folder, state: sha256(format!("{ZLIB:?} {BZIP2:?} {XZ:?} {SQLITE_FLAGS:?}").as_bytes()) };
        let zlib = job.prepare("zlib")?;
        built.archive(job, &zlib, "z", ZLIB_FILES, &["-O3", "-DHAVE_UNISTD_H"], &["zlib.h", "zconf.h"])?;
        let bzip2 = job.prepare("bzip2")?;
        built.archive(job, &bzip2, "bz2", BZIP2_FILES, &["-O3"], &["bzlib.h"])?;
        let sqlite = job.crate_sources(SQLITE)?.join("sqlite3");
        let flags = [&["-O2"], SQLITE_FLAGS].concat();
        built.archive(job, &sqlite, "sqlite3", &["sqlite3"], &flags, &["sqlite3.h", "sqlite3ext.h"])?;
        built.xz(job)?;
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
            fs::copy(source.join(header), self.folder.join("include").join(header))?;
        }
        let library = self.folder.join(format!("lib/lib{name}.a"));
        let _ = fs::remove_file(&library);
        let mut archiver = Command::new(job.toolchain.tool("llvm-ar"));
        archiver.arg("rcs").arg(&library).args(units.iter().map(|unit| &unit.object));
        job.run(&format!("archive lib{name}"), &mut archiver)
    }

    /// liblzma, which has a configuration of its own.
    fn xz(&self, job: &Job<'_>) -> Result<()> {
        let source = job.prepare("xz")?;
        let done = job.scratch.join("xz.done");
        let state = format!("{} {}", self.state, job.toolchain.identity());
        if fs::read_to_string(&done).is_ok_and(|found| found == state) {
            return Ok(());
        }
        let build = job.scratch.join("xz-build");
        super::empty(&build)?;
        let mut configure = Command::new(source.join("configure"));
        configure.current_dir(&build).envs(job.toolchain.environment()).env("CFLAGS", "-O2");
        configure.arg("--host=wasm32-wasi").arg(format!("--prefix={}", self.folder.display()));
        configure.args(["--disable-shared", "--disable-nls", "--disable-doc", "--disable-scripts"]);
        let parts = ["threads", "xz", "xzdec", "lzmadec", "lzmainfo"];
        configure.args(parts.map(|part| format!("--disable-{part}")));
        job.run("configure liblzma", &mut configure)?;
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.current_dir(&build).arg(format!("-j{jobs}")).args(["-C", "src/liblzma", "install"]);
        job.run("make liblzma", &mut make)?;
        Ok(fs::write(done, state)?)
    }
}
