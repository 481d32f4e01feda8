//! The recipe of the PHP guest: php-src with the command line's habits, linked statically with our driver.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::job::{Job, Unit, empty, include};
use super::key::sha256;
use super::libraries::{self as shared, Libraries};
use super::recipe::{Pin, Recipe};
use super::source::DebianFile;
use super::tree::{self, Origin, Tree};
use super::wizer::{World, argument};

mod icu;
mod libraries;
mod locales;
mod magic;

pub(crate) const RECIPE: Recipe = Recipe {
    language: "php",
    waits: false,
    interpreter: "PHP 8.4.24",
    version: 1,
    text: &[
        include_str!("mod.rs"),
        include_str!("icu.rs"),
        include_str!("libraries.rs"),
        include_str!("locales.rs"),
        include_str!("magic.rs"),
        shared::TEXT,
    ],
    pins: &[
        Pin::Debian(&PHP),
        Pin::Debian(&shared::ZLIB),
        Pin::Crate(shared::SQLITE),
        Pin::Debian(&libraries::XML),
        Pin::Debian(&libraries::GMP),
        Pin::Debian(&libraries::ZIP),
        Pin::Debian(&libraries::PNG),
        Pin::Debian(&libraries::JPEG),
        Pin::Debian(&libraries::SODIUM),
        Pin::Debian(&libraries::CURL),
        Pin::Debian(&libraries::MBEDTLS),
        Pin::Crate(libraries::ONIGURUMA),
        Pin::Debian(&icu::ICU),
        Pin::Debian(&icu::CXX),
        Pin::Debian(&icu::CXX_ABI),
    ],
    trees: &[
        Tree::new("php", Origin::Debian(&PHP)),
        shared::ZLIB_TREE,
        libraries::XML_TREE,
        libraries::GMP_TREE,
        libraries::ZIP_TREE,
        libraries::PNG_TREE,
        libraries::JPEG_TREE,
        libraries::SODIUM_TREE,
        libraries::CURL_TREE,
        libraries::MBEDTLS_TREE,
        icu::ICU_TREE,
    ],
    build,
};

const PHP: [DebianFile; 1] = [DebianFile {
    package: "php8.4",
    file: "php8.4_8.4.24.orig.tar.xz",
    sha256: "e127be09a8506f4327c5cfa78a614b00d210714484ec215ce0011b4a03c00731",
}];

/// The C stack. PHP throws an error of its own before it ends.
const STACK: u32 = 4 << 20;

/// PHP unwinds the C stack after a fatal error (`longjmp`), which takes the standard encoding of exceptions.
const UNWINDING: [&str; 4] = ["-mllvm", "-wasm-enable-sjlj", "-mllvm", "-wasm-use-legacy-eh=false"];

/// Parts of libc that stand for what WASI lacks.
const EMULATED: [&str; 3] = ["signal", "getpid", "process-clocks"];

/// The extensions that PHP's `configure` leaves out when nothing is named.
const EXTENSIONS: &[&str] = &[
    "--enable-bcmath",
    "--enable-calendar",
    "--enable-ctype",
    "--enable-dom",
    "--enable-exif",
    "--enable-fileinfo",
    "--enable-filter",
    "--enable-gd",
    "--enable-intl",
    "--enable-mbstring",
    "--enable-pdo",
    "--enable-phar",
    "--enable-posix",
    "--enable-session",
    "--enable-simplexml",
    "--enable-tokenizer",
    "--enable-xml",
    "--enable-xmlreader",
    "--enable-xmlwriter",
    "--with-curl",
    "--with-gmp",
    "--with-iconv",
    "--with-jpeg",
    "--with-libxml",
    "--with-pdo-sqlite",
    "--with-sodium",
    "--with-sqlite3",
    "--with-zip",
    "--with-zlib",
];

/// What the guest does not have: other interfaces than ours, machine code at run time, signals, further stacks.
const LEFT_OUT: &[&str] = &[
    "--disable-all",
    "--disable-cgi",
    "--disable-cli",
    "--disable-fiber-asm",
    "--disable-ipv6",
    "--disable-phpdbg",
    "--disable-rpath",
    "--disable-zend-signals",
    "--without-pcre-jit",
    "--without-pear",
];

/// Answers to the questions that `configure` can only settle by running a program, and to those that it gets wrong
/// because `wasi_system.h` has declared the function already.
const ANSWERS: &[(&str, &str)] = &[
    ("ac_cv_func_arc4random", "yes"),
    ("ac_cv_func_asprintf", "yes"),
    ("ac_cv_func_ctermid", "yes"),
    ("ac_cv_func_eaccess", "no"),
    ("ac_cv_func_flock", "yes"),
    ("ac_cv_func_fnmatch_works", "yes"),
    ("ac_cv_func_fork", "no"),
    ("ac_cv_func_getgroups", "yes"),
    ("ac_cv_func_getlogin", "yes"),
    ("ac_cv_func_getpgid", "yes"),
    ("ac_cv_func_getpid", "yes"),
    ("ac_cv_func_getrandom", "yes"),
    ("ac_cv_func_getrlimit", "no"),
    ("ac_cv_func_getrusage", "no"),
    ("ac_cv_func_getsid", "yes"),
    ("ac_cv_func_initgroups", "yes"),
    ("ac_cv_func_lchown", "yes"),
    ("ac_cv_func_mkfifo", "yes"),
    ("ac_cv_func_mknod", "yes"),
    ("ac_cv_func_mkstemp", "yes"),
    ("ac_cv_func_setegid", "yes"),
    ("ac_cv_func_seteuid", "yes"),
    ("ac_cv_func_setrlimit", "no"),
    ("ac_cv_func_setsid", "yes"),
    ("ac_cv_func_shutdown", "yes"),
    ("ac_cv_func_vasprintf", "yes"),
    ("ac_cv_func_vfork", "no"),
    // It needs the driver's sockets, which come later.
    ("ac_cv_lib_curl_curl_easy_perform", "yes"),
    ("php_cv_func_pread", "yes"),
    ("php_cv_func_pwrite", "yes"),
    ("php_cv_have_stack_limit", "yes"),
    ("php_cv_sizeof_intmax_t", "8"),
    ("php_cv_sizeof_ptrdiff_t", "4"),
    ("php_cv_sizeof_ssize_t", "4"),
    ("php_cv_time_r_type", "POSIX"),
];

/// Functions of libraries that the driver's stand in for.
const WRAPPED: [&str; 15] = [
    "access",
    "chdir",
    "close",
    "fcntl",
    "getsockopt",
    "iconv",
    "iconv_close",
    "iconv_open",
    "poll",
    "recv",
    "rmdir",
    "select",
    "send",
    "shutdown",
    "__gmpz_n_pow_ui",
];

/// What `configure` calls the libraries, and what the linker calls them.
const LIBRARIES: [(&str, &str); 11] = [
    ("CURL", "curl -lz"),
    ("GMP", "gmp"),
    ("ICU", "icu -lc++ -lc++abi"),
    ("JPEG", "jpeg"),
    ("LIBSODIUM", "sodium"),
    ("LIBXML", "xml2"),
    ("LIBZIP", "zip -lz"),
    ("ONIG", "onig"),
    ("PNG", "png -lz"),
    ("SQLITE", "sqlite3"),
    ("ZLIB", "z"),
];

/// Makes every object of PHP's own build, and nothing of its linking, which is ours.
const OBJECTS: &str = "include Makefile\n\
    objects: $(PHP_GLOBAL_OBJS) main/internal_functions.lo\n\
    list:\n\t@echo $(PHP_GLOBAL_OBJS) main/internal_functions.lo\n";

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let source = job.prepare("php")?;
    let libraries = libraries::build(job)?;
    let parts = Parts { job, source, cross: job.scratch.join("cross") };
    parts.configure(&libraries)?;
    let objects = parts.interpreter()?;
    let core = parts.driver(&objects, &libraries)?;
    job.initialise(&core, &World::default())
}

/// The folders of one build.
struct Parts<'a> {
    job: &'a Job<'a>,
    /// PHP's sources, patched.
    source: PathBuf,
    /// Where PHP's own build works.
    cross: PathBuf,
}

impl Parts<'_> {
    /// Flags for PHP and for the driver alike.
    fn flags(&self) -> Vec<OsString> {
        let system = self.job.guest.join("system/include");
        let mut flags: Vec<OsString> = ["-O2", "-DNDEBUG", "-D_GNU_SOURCE"].map(Into::into).into();
        // Its allocator would print what it then reports as an error anyway.
        flags.push("-DZEND_MM_ERROR=0".into());
        flags.extend(UNWINDING.map(Into::into));
        for part in ["SIGNAL", "PROCESS_CLOCKS", "GETPID", "MMAN"] {
            flags.push(format!("-D_WASI_EMULATED_{part}").into());
        }
        // Paths of this machine do not get into the guest.
        flags.push(format!("-ffile-prefix-map={}=/usr/src", self.job.scratch.display()).into());
        flags.extend(["-isystem".into(), argument(&system), "-include".into()]);
        flags.push(argument(&system.join("wasi_system.h")));
        flags
    }

    fn configure(&self, libraries: &Libraries) -> Result<()> {
        let system = self.system()?;
        let folder = libraries.folder.display();
        // By a relative path, since it is compiled in.
        let mut configure = Command::new("sh");
        configure.arg("../php/configure").current_dir(&self.cross);
        configure.envs(self.job.toolchain.environment()).envs(ANSWERS.iter().copied());
        configure.env("CFLAGS", joined(&self.flags())).env("PKG_CONFIG", "false");
        configure.env("LIBS", joined(&self.libraries(&system)));
        for (variable, library) in LIBRARIES {
            configure.env(format!("{variable}_CFLAGS"), format!("-I{folder}/include"));
            configure.env(format!("{variable}_LIBS"), format!("-L{folder}/lib -l{library}"));
        }
        configure.env("LIBXML_CFLAGS", format!("-I{folder}/include/libxml2"));
        let tree = |tree: Tree| self.job.scratch.join(tree.name);
        configure.env("LIBSODIUM_CFLAGS", include(&libraries::sodium_headers(&tree(libraries::SODIUM_TREE))));
        configure.env("CURL_CFLAGS", include(&libraries::curl_headers(&tree(libraries::CURL_TREE))));
        configure.env("CURL_FEATURES", "");
        let cxx: Vec<OsString> = icu::cxx_flags(libraries).map(OsString::from).into();
        configure.env("CXXFLAGS", joined(&[self.flags(), cxx].concat()));
        // PHP's script would ask pkg-config which C++ its headers take.
        configure.env("ICU_CFLAGS", icu::headers(self.job).join(" ")).env("ICU_CXXFLAGS", "-std=gnu++17");
        configure.args(["--host=wasm32-wasi", "--prefix=/usr", "--enable-embed=static"]);
        configure.args(LEFT_OUT).args(EXTENSIONS);
        let sources = fs::read(self.job.scratch.join("php.stamp"))?;
        let state = format!("{} {} {configure:?}", self.job.toolchain.identity(), libraries.state);
        let state = sha256(&[state.as_bytes(), &sources, &self.headers()?].concat());
        if self.is_done("cross", &state) {
            return Ok(());
        }
        empty(&self.cross)?;
        self.job.run("configure PHP", &mut configure)?;
        fs::write(self.cross.join("objects.mk"), OBJECTS)?;
        self.done("cross", &state)
    }

    /// The headers that stand for what libc lacks: PHP is compiled anew when they change.
    fn headers(&self) -> Result<Vec<u8>> {
        let files = tree::files(&self.job.guest.join("system/include"))?;
        let texts: std::io::Result<Vec<Vec<u8>>> = files.iter().map(fs::read).collect();
        Ok(texts?.concat())
    }

    /// PHP's own objects.
    fn interpreter(&self) -> Result<Vec<PathBuf>> {
        let state = fs::read_to_string(self.job.scratch.join("cross.done"))?;
        if !self.is_done("interpreter", &state) {
            let mut make = self.make();
            let jobs = std::thread::available_parallelism().map_or(1, usize::from);
            self.job.run("compile PHP", make.arg(format!("-j{jobs}")).arg("objects"))?;
            self.done("interpreter", &state)?;
        }
        let told = self.make().args(["-s", "list"]).output().context("cannot run make")?;
        let names = String::from_utf8_lossy(&told.stdout).into_owned();
        Ok(names.split_whitespace().map(|name| self.cross.join(name).with_extension("o")).collect())
    }

    fn make(&self) -> Command {
        let mut make = Command::new("make");
        make.current_dir(&self.cross).args(["-f", "objects.mk"]);
        make
    }

    /// What stands for the system: compiled before `configure`, which looks for its functions.
    fn system(&self) -> Result<Vec<PathBuf>> {
        let units = self.units(&self.job.guest.join("system"), "objects/system", &["-Wall", "-Wextra"])?;
        let mut flags = self.flags();
        flags.extend(["-std=gnu23".into(), "-Wno-unused-parameter".into()]);
        self.job.compile("compile the system", &units, &flags)?;
        Ok(units.into_iter().map(|unit| unit.object).collect())
    }

    fn libraries(&self, system: &[PathBuf]) -> Vec<OsString> {
        let mut inputs: Vec<OsString> = system.iter().map(|object| argument(object)).collect();
        inputs.extend(["-lsetjmp".into(), "-ldl".into()]);
        inputs.extend(EMULATED.map(|part| format!("-lwasi-emulated-{part}").into()));
        inputs
    }

    fn driver(&self, objects: &[PathBuf], libraries: &Libraries) -> Result<PathBuf> {
        let bindings = self.job.bindings()?;
        let mut flags = self.flags();
        flags.push("-std=gnu23".into());
        flags.push(magic::embedded(self.job, &self.source)?);
        flags.push("-DZEND_ENABLE_STATIC_TSRMLS_CACHE=1".into());
        flags.extend([&bindings.headers, &self.job.driver, &self.job.guest].map(|folder| include(folder)));
        flags.push(include(&libraries.folder.join("include")));
        flags.extend(icu::headers(self.job).map(OsString::from));
        for tree in [&self.cross, &self.source] {
            flags.push(include(tree));
            flags.extend(["main", "Zend", "TSRM"].map(|part| include(&tree.join(part))));
        }
        let warnings = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-sign-compare"];
        let mut units = self.units(&self.job.guest, "objects/driver", &warnings)?;
        units.extend(self.units(&self.job.guest.join("net"), "objects/net", &warnings)?);
        let mbedtls = self.job.scratch.join(libraries::MBEDTLS_TREE.name);
        let parts = libraries::mbedtls_flags(self.job, &mbedtls);
        let openssl: Vec<&str> = warnings.into_iter().chain(parts.iter().map(String::as_str)).collect();
        units.extend(self.units(&self.job.guest.join("openssl"), "objects/openssl", &openssl)?);
        let object = |name: &str| self.job.scratch.join("objects/driver").join(name);
        for name in ["state", "sqlite"] {
            units.push(Unit {
                source: self.job.driver.join(format!("{name}.c")),
                object: object(&format!("{name}.o")),
                flags: Vec::new(),
            });
        }
        units.push(Unit { source: bindings.source.clone(), object: object("guest.o"), flags: Vec::new() });
        self.job.compile("compile the driver", &units, &flags)?;
        let mut inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
        inputs.push(argument(&bindings.object));
        inputs.extend(objects.iter().map(|object| argument(object)));
        let archives = libraries::NAMES.into_iter().chain(icu::NAMES).chain(["sqlite3", "z"]);
        inputs.extend(archives.map(|name| argument(&libraries.folder.join(format!("lib/lib{name}.a")))));
        inputs.extend(self.libraries(&self.system()?));
        inputs.extend(WRAPPED.map(|name| format!("-Wl,--wrap={name}").into()));
        self.job.link("php", STACK, &inputs)
    }

    /// The C files right in a folder.
    fn units(&self, folder: &Path, objects: &str, own: &[&str]) -> Result<Vec<Unit>> {
        let mut files = tree::files(folder)?;
        files.retain(|file| {
            file.parent() == Some(folder) && file.extension().is_some_and(|extension| extension == "c")
        });
        let objects = self.job.scratch.join(objects);
        let unit = |file: PathBuf| Unit {
            object: objects.join(file.file_name().unwrap_or_default()).with_extension("o"),
            source: file,
            flags: own.iter().map(OsString::from).collect(),
        };
        Ok(files.into_iter().map(unit).collect())
    }

    fn is_done(&self, name: &str, state: &str) -> bool {
        fs::read_to_string(self.job.scratch.join(format!("{name}.done"))).is_ok_and(|found| found == state)
    }

    fn done(&self, name: &str, state: &str) -> Result<()> {
        Ok(fs::write(self.job.scratch.join(format!("{name}.done")), state)?)
    }
}

/// One line of arguments for a `configure` script.
fn joined(arguments: &[OsString]) -> OsString {
    arguments.join(std::ffi::OsStr::new(" "))
}
