//! The recipe of the Python guest: CPython, linked statically with our driver.
//!
//! CPython is built twice: for this machine, because its cross build runs itself, and for the sandbox.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::job::{Job, NETWORK_TIMEOUT, Unit, empty, include, run_for};
use super::key::sha256;
use super::libraries::{self as shared, Libraries};
use super::recipe::{Pin, Recipe};
use super::source::DebianFile;
use super::tree::{self, Origin, Tree};
use super::wizer::{World, argument};
use super::zstd;

mod libraries;
mod native;

pub(crate) const RECIPE: Recipe = Recipe {
    language: "python",
    waits: true,
    interpreter: "CPython 3.14.7",
    version: 1,
    text: &[
        include_str!("mod.rs"),
        include_str!("libraries.rs"),
        include_str!("native.rs"),
        shared::TEXT,
        zstd::TEXT,
    ],
    pins: &[
        Pin::Debian(&CPYTHON),
        Pin::Debian(&shared::ZLIB),
        Pin::Debian(&libraries::BZIP2),
        Pin::Debian(&libraries::XZ),
        Pin::Debian(&ZONES),
        Pin::Debian(&OLD_ZONES),
        Pin::Crate(shared::SQLITE),
        Pin::Crate(zstd::PACKAGE),
        Pin::Python(&native::PYDANTIC_CORE),
        Pin::Python(&native::JITER),
        Pin::Python(&native::RPDS),
        Pin::Python(&native::REGEX),
    ],
    trees: &[
        Tree::new("cpython", Origin::Debian(&CPYTHON)),
        shared::ZLIB_TREE,
        Tree::new("bzip2", Origin::Debian(&libraries::BZIP2)),
        Tree::new("xz", Origin::Debian(&libraries::XZ)),
        Tree::new("pydantic_core", Origin::Python(&native::PYDANTIC_CORE)),
        Tree::new("jiter", Origin::Python(&native::JITER)),
        Tree::new("rpds_py", Origin::Python(&native::RPDS)),
        Tree::new("regex", Origin::Python(&native::REGEX)),
    ],
    build,
};

const CPYTHON: [DebianFile; 1] = [DebianFile {
    package: "python3.14",
    file: "python3.14_3.14.7.orig.tar.xz",
    sha256: "3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81",
}];

const ZONES: [DebianFile; 1] = [DebianFile {
    package: "tzdata",
    file: "tzdata_2026f-1_all.deb",
    sha256: "7ef210d4dfaca780b16cfbd307c4a38d0408b24e6774bde541a45b8ffe742b9f",
}];

/// Names such as `US/Eastern`, which Debian keeps apart.
const OLD_ZONES: [DebianFile; 1] = [DebianFile {
    package: "tzdata",
    file: "tzdata-legacy_2026f-1_all.deb",
    sha256: "2b9bd58b650d46ba501cc89b5ca3b1bc80ffbf594dfc98975475be2416760704",
}];

/// The C stack. Deep recursion must be an error of Python's, and its JSON parser alone wants megabytes for that.
const STACK: u32 = 8 << 20;

/// The module `_ctypes`, which CPython leaves out where there is no libffi; `ffi` in the guest's folder stands for it.
const CTYPES: [&str; 5] = ["_ctypes.c", "callbacks.c", "callproc.c", "cfield.c", "stgdict.c"];
const CTYPES_FLAGS: &[&str] = &[
    "-DPy_BUILD_CORE_BUILTIN",
    "-DHAVE_FFI_PREP_CLOSURE_LOC",
    "-DPy_ffi_closure_alloc=ffi_closure_alloc",
    "-DPy_ffi_closure_free=ffi_closure_free",
    "-Ddlopen=driver_dlopen",
    "-Ddlsym=driver_dlsym",
    "-Ddlclose=driver_dlclose",
    "-Ddlerror=driver_dlerror",
];

/// The module `_zstd`, linked beside the interpreter: the library is no hot path of it, and a change takes seconds.
const ZSTD: [&str; 4] = ["_zstdmodule.c", "compressor.c", "decompressor.c", "zstddict.c"];

/// The functions of wasi-libc that `streams.c`, `devices.c` and `timers.c` stand in for.
const WRAPPED: [&str; 18] = [
    "__wasilibc_tell",
    "clock_nanosleep",
    "close",
    "closedir",
    "fcntl",
    "fstat",
    "ioctl",
    "lseek",
    "lstat",
    "open",
    "opendir",
    "pread",
    "pwrite",
    "read",
    "readdir",
    "rewinddir",
    "stat",
    "write",
];

const OPTIMISED: &str = "OPT=-DNDEBUG -O3 -flto";

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let source = job.prepare("cpython")?;
    let parts = Parts { job, native: job.scratch.join("native"), cross: job.scratch.join("cross"), source };
    // A configure script uses one processor; the libraries are compiled beside it.
    let configuring = parts.configure_native()?;
    let libraries = libraries::build(job)?;
    parts.make_native(configuring)?;
    parts.configure_cross(&libraries)?;
    let interpreter = parts.interpreter()?;
    let native = native::build(job)?;
    let core = parts.driver(&interpreter, &libraries, &native.library)?;
    job.initialise(
        &core,
        &World {
            environment: Vec::new(),
            folders: vec![
                (parts.source.join("Lib"), "/usr/lib/python3.14".to_owned()),
                (job.guest.join("boot"), "/<dormouse>".to_owned()),
                (native.packages, "/packages".to_owned()),
                (parts.zones()?, "/zoneinfo".to_owned()),
            ],
        },
    )
}

/// The folders of one build.
struct Parts<'a> {
    job: &'a Job<'a>,
    /// CPython's sources, patched.
    source: PathBuf,
    /// CPython for this machine.
    native: PathBuf,
    /// CPython for the sandbox.
    cross: PathBuf,
}

impl Parts<'_> {
    /// Starts `configure` for this machine, unless the interpreter is there.
    fn configure_native(&self) -> Result<Option<Child>> {
        if self.is_done("native", &self.native_state()?) {
            return Ok(None);
        }
        let log = fs::File::create(self.job.scratch.join("configure-native.log"))?;
        empty(&self.native)?;
        let mut configure = self.configure(&self.native);
        configure.args(["--disable-test-modules", "--without-ensurepip"]);
        configure.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Some(configure.spawn().context("cannot run CPython's configure")?))
    }

    fn make_native(&self, configuring: Option<Child>) -> Result<()> {
        let Some(mut configuring) = configuring else { return Ok(()) };
        {
            let _step = self.job.progress.step("configure the native interpreter");
            let status = configuring.wait()?;
            let log = self.job.scratch.join("configure-native.log");
            ensure!(status.success(), "CPython's configure: {status}, see `{}`", log.display());
        }
        // It only runs a few scripts, so compiling it fast matters more than its speed.
        let mut make = self.make(&self.native);
        make.args(["OPT=-O1", "python"]);
        self.job.run("make the native interpreter", &mut make)?;
        self.done("native", &self.native_state()?)
    }

    fn native_state(&self) -> Result<String> {
        Ok(sha256(&fs::read(self.job.scratch.join("cpython.stamp"))?))
    }

    fn configure_cross(&self, libraries: &Libraries) -> Result<()> {
        let mut configure = self.configure(&self.cross);
        configure.envs(self.job.toolchain.environment());
        configure.env("CONFIG_SITE", self.source.join("Tools/wasm/wasi/config.site-wasm32-wasi"));
        // Else it would find the libraries of this machine.
        configure.env("PKG_CONFIG", "false");
        for (variable, library) in
            [("ZLIB", "z"), ("BZIP2", "bz2"), ("LIBLZMA", "lzma"), ("LIBSQLITE3", "sqlite3")]
        {
            let folder = libraries.folder.display();
            configure.env(format!("{variable}_CFLAGS"), format!("-I{folder}/include"));
            configure.env(format!("{variable}_LIBS"), format!("-L{folder}/lib -l{library}"));
        }
        // The guest has its own: `boot/library` beside the driver.
        for module in ["_socket", "select"] {
            configure.env(format!("py_cv_module_{module}"), "n/a");
        }
        configure.args(["--host=wasm32-wasip1", "--build=x86_64-linux-gnu", "--prefix=/usr"]);
        configure.arg(format!("--with-build-python={}", self.native.join("python").display()));
        configure.args([
            "--disable-test-modules",
            "--without-ensurepip",
            "--with-pymalloc",
            "--without-pydebug",
        ]);
        let (native, tools) = (self.native_state()?, self.job.toolchain.identity());
        let state = sha256(format!("{native} {tools} {} {configure:?}", libraries.state).as_bytes());
        if self.is_done("cross", &state) {
            return Ok(());
        }
        empty(&self.cross)?;
        self.job.run("configure CPython", &mut configure)?;
        self.done("cross", &state)
    }

    /// All of CPython and its libraries as one object, optimised as a whole. Slow to make, and apart from the driver
    /// so that a change there costs seconds.
    fn interpreter(&self) -> Result<PathBuf> {
        let object = self.job.scratch.join("interpreter.o");
        let state = fs::read_to_string(self.job.scratch.join("cross.done"))?;
        if object.is_file() && self.is_done("interpreter", &state) {
            return Ok(object);
        }
        let mut make = self.make(&self.cross);
        self.job.run("compile CPython", make.args([OPTIMISED, "libpython3.14.a", "Programs/python.o"]))?;
        let mut asked = self.make(&self.cross);
        asked.args(["-n", OPTIMISED, "python.wasm"]);
        let told = asked.output().context("cannot run make")?;
        let mut linker = Command::new(self.job.toolchain.tool("wasm-ld"));
        linker.current_dir(&self.cross).args(["-r", "--lto-O3", "-o"]).arg(&object);
        linker.args(link_inputs(&String::from_utf8_lossy(&told.stdout))?);
        self.job.run("optimise CPython", &mut linker)?;
        self.done("interpreter", &state)?;
        Ok(object)
    }

    fn driver(&self, interpreter: &Path, libraries: &Libraries, native: &Path) -> Result<PathBuf> {
        let bindings = self.job.bindings()?;
        let mut flags: Vec<OsString> =
            ["-std=gnu23", "-O2", "-DNDEBUG", "-D_GNU_SOURCE"].map(Into::into).into();
        flags.extend([
            include(&bindings.headers),
            include(&self.job.driver),
            include(&self.job.guest.join("ffi")),
            include(&self.cross),
            include(&libraries.folder.join("include")),
            include(&self.source.join("Include")),
            include(&self.source.join("Include/internal")),
        ]);
        let mut sources = c_files(&self.job.guest)?;
        sources.extend(["state.c", "sqlite.c"].map(|name| self.job.driver.join(name)));
        let objects = self.job.scratch.join("objects/driver");
        let unit = |file: &PathBuf, own: &[&str]| Unit {
            source: file.clone(),
            object: objects.join(file.file_name().unwrap_or_default()).with_extension("o"),
            flags: own.iter().map(OsString::from).collect(),
        };
        let mut units: Vec<Unit> = sources.iter().map(|file| unit(file, &["-Wall", "-Wextra"])).collect();
        units.push(unit(&bindings.source, &[]));
        let ctypes = self.source.join("Modules/_ctypes");
        units.extend(CTYPES.map(|name| unit(&ctypes.join(name), CTYPES_FLAGS)));
        let zstd = self.source.join("Modules/_zstd");
        units.extend(ZSTD.map(|name| unit(&zstd.join(name), &["-DPy_BUILD_CORE_BUILTIN"])));
        let regex = self.job.prepare("regex")?.join("src");
        units.extend(native::REGEX_C.map(|name| unit(&regex.join(name), &[])));
        self.job.compile("compile the driver", &units, &flags)?;
        let mut inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
        inputs.extend([
            argument(&bindings.object),
            argument(interpreter),
            argument(&libraries.folder.join("lib/libzstd.a")),
            argument(native),
            "-ldl".into(),
        ]);
        inputs.extend(WRAPPED.map(|function| format!("-Wl,--wrap={function}").into()));
        inputs.extend(
            ["signal", "getpid", "process-clocks"].map(|part| format!("-lwasi-emulated-{part}").into()),
        );
        self.job.link("python", STACK, &inputs)
    }

    /// The folder of zone files.
    fn zones(&self) -> Result<PathBuf> {
        let folder = self.job.scratch.join("zones");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        for package in [&ZONES[..], &OLD_ZONES[..]] {
            let file = self.job.debian(package)?;
            run_for(Command::new("dpkg-deb").arg("-x").arg(file).arg(&folder), NETWORK_TIMEOUT)?;
        }
        Ok(folder.join("usr/share/zoneinfo"))
    }

    fn configure(&self, folder: &Path) -> Command {
        // By a relative path, since it is compiled in.
        let mut configure = Command::new("sh");
        configure.arg("../cpython/configure").current_dir(folder);
        configure
    }

    fn make(&self, folder: &Path) -> Command {
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.current_dir(folder).arg(format!("-j{jobs}"));
        make
    }

    fn is_done(&self, name: &str, state: &str) -> bool {
        fs::read_to_string(self.job.scratch.join(format!("{name}.done"))).is_ok_and(|found| found == state)
    }

    fn done(&self, name: &str, state: &str) -> Result<()> {
        Ok(fs::write(self.job.scratch.join(format!("{name}.done")), state)?)
    }
}

/// The objects and libraries that CPython's own build links, out of the commands that it would run, without its
/// `main` and without what belongs to libc.
fn link_inputs(commands: &str) -> Result<Vec<String>> {
    let line = commands
        .lines()
        .rfind(|line| line.contains("-o python.wasm"))
        .context("make names no link command")?;
    let (_, inputs) =
        line.split_once("Programs/python.o").context("the link command names no main program")?;
    let of_libc =
        |input: &str| matches!(input, "-ldl" | "-lm" | "-lpthread") || input.starts_with("-lwasi-emulated-");
    Ok(inputs.split_whitespace().filter(|input| !of_libc(input)).map(str::to_owned).collect())
}

fn c_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = tree::files(folder)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    Ok(files)
}
