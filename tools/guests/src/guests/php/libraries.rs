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

pub(super) const XML: [DebianFile; 1] = [DebianFile {
    package: "libxml2",
    file: "libxml2_2.9.14+dfsg.orig.tar.xz",
    sha256: "4fe913dec8b1ab89d13b489b419a8203176ea39e931eaa0d25b17eafb9c279e9",
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
        let state = sha256(format!("{ZLIB:?} {XML:?} {SQLITE_FLAGS:?}").as_bytes());
        let built = Self { folder, state };
        let zlib = job.prepare("zlib")?;
        built.archive(job, &zlib, "z", ZLIB_FILES, &["-O3", "-DHAVE_UNISTD_H"], &["zlib.h", "zconf.h"])?;
        let sqlite = job.crate_sources(SQLITE)?.join("sqlite3");
        let flags = [&["-O2"], SQLITE_FLAGS].concat();
        built.archive(job, &sqlite, "sqlite3", &["sqlite3"], &flags, &["sqlite3.h", "sqlite3ext.h"])?;
        built.xml(job)?;
        Ok(built)
    }

    /// libxml2, which has a configuration of its own.
    fn xml(&self, job: &Job<'_>) -> Result<()> {
        let source = job.prepare("libxml2")?;
        let done = job.scratch.join("libxml2.done");
        let state = format!("{} {}", self.state, job.toolchain.identity());
        if fs::read_to_string(&done).is_ok_and(|found| found == state) {
            return Ok(());
        }
        let build = job.scratch.join("libxml2-build");
        if build.exists() {
            fs::remove_dir_all(&build)?;
        }
        fs::create_dir_all(&build)?;
        let mut configure = Command::new("sh");
        configure.arg(source.join("configure")).current_dir(&build).envs(job.toolchain.environment());
        let paths = format!("-ffile-prefix-map={}=/usr/src", job.scratch.display());
        configure.env("CFLAGS", format!("-O2 -D_WASI_EMULATED_PROCESS_CLOCKS {paths}"));
        // Its script is older than WASI and knows no such system; that the two differ is all it needs to know.
        configure.args(["--build=x86_64-linux-gnu", "--host=i686-linux-gnu", "--disable-shared"]);
        configure.arg(format!("--prefix={}", self.folder.display())).arg("--with-iconv");
        let parts = ["threads", "python", "zlib", "lzma", "http", "ftp", "modules", "debug", "legacy"];
        configure.args(parts.map(|part| format!("--without-{part}")));
        job.run("configure libxml2", &mut configure)?;
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.current_dir(&build).arg(format!("-j{jobs}"));
        job.run("make libxml2", make.arg("install-libLTLIBRARIES"))?;
        let mut headers = Command::new("make");
        job.run("install libxml2's headers", headers.current_dir(build.join("include")).arg("install"))?;
        Ok(fs::write(done, state)?)
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
