//! One build of one guest: its folders, and the steps that recipes are made of.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use dormouse_chores::Cache;
use dormouse_chores::program::tail;
pub(crate) use dormouse_chores::program::{NETWORK_TIMEOUT, run_for};
use dormouse_chores::progress::Progress;

use super::key::sha256;
use super::recipe::Recipe;
use super::series::Series;
use super::source::{self, DebianFile};
use super::toolchain::Toolchain;
use super::tree::Tree;

/// The files of `guests/driver` that [`Job::link`] adds to every guest.
const SHARED: [&str; 6] = ["adapter", "descriptors", "files", "paths", "utf8", "written"];

/// The functions of wasi-libc (after `__wasi_`) that `descriptors.c`, `files.c` and `paths.c` of `guests/driver` stand in for.
const WRAPPED: [&str; 15] = [
    "fd_close",
    "fd_fdstat_set_flags",
    "fd_read",
    "fd_readdir",
    "fd_renumber",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
];

/// A running build.
pub(crate) struct Job<'a> {
    /// The workspace's root.
    pub(crate) workspace: PathBuf,
    /// `guests/<language>`.
    pub(crate) guest: PathBuf,
    /// `guests/driver`, the C code that all guests share.
    pub(crate) driver: PathBuf,
    /// A folder that outlives builds and may be deleted at any time.
    pub(crate) scratch: PathBuf,
    pub(crate) toolchain: &'a Toolchain,
    pub(crate) progress: Progress,
    pub(crate) cache: &'a Cache,
    /// Whether the guest's programs can wait.
    pub(crate) waits: bool,
    /// The recipe's source trees.
    pub(crate) trees: &'static [Tree],
    /// The guest's patches.
    pub(crate) series: Series,
    /// Whether the build ends with the linked module.
    pub(crate) compile_only: bool,
    sources: RefCell<Vec<String>>,
}

/// One C file to compile.
pub(crate) struct Unit {
    pub(crate) source: PathBuf,
    pub(crate) object: PathBuf,
    /// Flags for this file, besides those of [`Job::compile`].
    pub(crate) flags: Vec<OsString>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(
        recipe: &'static Recipe,
        workspace: PathBuf,
        cache: &'a Cache,
        toolchain: &'a Toolchain,
        progress: Progress,
    ) -> Result<Self> {
        let guests = workspace.join("guests");
        let guest = guests.join(recipe.language);
        Ok(Self {
            waits: recipe.waits,
            trees: recipe.trees,
            series: Series::read(&guest, recipe.trees)?,
            compile_only: false,
            guest,
            driver: guests.join("driver"),
            scratch: cache.scratch(recipe.language)?,
            workspace,
            toolchain,
            progress,
            cache,
            sources: RefCell::default(),
        })
    }

    /// A file of Debian's archive (see [`source::debian`]).
    pub(crate) fn debian(&self, candidates: &[DebianFile]) -> Result<PathBuf> {
        let path = source::debian(self.cache, &self.progress, candidates)?;
        self.used(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        Ok(path)
    }

    /// The folder of a Rust package whose C sources are wanted.
    pub(crate) fn crate_sources(&self, name: &str) -> Result<PathBuf> {
        self.package("sources/Cargo.toml", name)
    }

    /// The folder of a Rust package that a manifest below `guests` depends on.
    pub(crate) fn package(&self, manifest: &str, name: &str) -> Result<PathBuf> {
        let folder = source::crate_sources(&self.workspace, &self.progress, manifest, name)?;
        self.used(folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
        Ok(folder)
    }

    /// Names and versions of what was fetched.
    pub(crate) fn used_sources(&self) -> Vec<String> {
        self.sources.borrow().clone()
    }

    /// Notes what was fetched.
    pub(crate) fn used(&self, name: String) {
        let mut sources = self.sources.borrow_mut();
        if !sources.contains(&name) {
            sources.push(name);
        }
    }

    /// A C file to compile, whose object is named `name` in the scratch folder.
    pub(crate) fn unit(&self, source: PathBuf, name: &str, flags: &[&str]) -> Unit {
        Unit {
            source,
            object: self.scratch.join("objects").join(format!("{name}.o")),
            flags: flags.iter().map(OsString::from).collect(),
        }
    }

    /// Runs a program as one step. Its output goes to a log in the scratch folder and is shown when it fails.
    pub(crate) fn run(&self, step: &str, command: &mut Command) -> Result<()> {
        let _step = self.progress.step(step);
        let name: String = step.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let log = self.scratch.join(format!("{name}.log"));
        let file = fs::File::create(&log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
        if !status.success() {
            let output = fs::read(&log).unwrap_or_default();
            bail!("{step}: {status}\n{}\n{command:?}", tail(&output));
        }
        Ok(())
    }

    /// Compiles C files in parallel, with `flags` for all of them. A file whose command, source and headers are
    /// those of its last compilation is left alone.
    pub(crate) fn compile(&self, step: &str, units: &[Unit], flags: &[OsString]) -> Result<()> {
        let shown = self.progress.counted(&format!("{step} ({} files)", units.len()), units.len());
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(units.len());
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(error) = compile_one(self.toolchain, unit, flags) {
                            failure
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner)
                                .get_or_insert(error);
                            // The others find the list used up.
                            next.store(units.len(), Ordering::Relaxed);
                        }
                        shown.advance();
                    }
                });
            }
        });
        match failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(error) => Err(error.context(step.to_owned())),
            None => Ok(()),
        }
    }

    /// Links a reactor (a module with exports and no `main`) as `<name>.wasm` in the scratch folder.
    ///
    /// The stack lies first, so that its overflow traps instead of overwriting data.
    pub(crate) fn link(&self, name: &str, stack: u32, inputs: &[OsString]) -> Result<PathBuf> {
        let module = self.scratch.join(format!("{name}.wasm"));
        let mut clang = Command::new(self.toolchain.clang());
        clang.args(self.toolchain.target_arguments()).arg("-mexec-model=reactor");
        clang.args(["-Wl,--stack-first", "-Wl,--strip-all"]).arg(format!("-Wl,-z,stack-size={stack}"));
        for function in WRAPPED {
            clang.arg(format!("-Wl,--wrap=__wasi_{function}"));
        }
        clang.args(inputs).args(self.shared()?).arg("-o").arg(&module);
        self.run(&format!("link {name}"), &mut clang)?;
        Ok(module)
    }
}

impl Job<'_> {
    /// The objects of the driver's files that need nothing of a language or of the contract.
    fn shared(&self) -> Result<Vec<PathBuf>> {
        let unit = |name: &str| Unit {
            source: self.driver.join(format!("{name}.c")),
            object: self.scratch.join(format!("objects/shared/{name}.o")),
            flags: Vec::new(),
        };
        let units = SHARED.map(unit);
        let flags = ["-std=gnu23", "-O2", "-Wall", "-Wextra"].map(OsString::from);
        self.compile("compile the shared driver", &units, &flags)?;
        Ok(units.into_iter().map(|unit| unit.object).collect())
    }
}

/// The argument that has headers looked for in a folder.
pub(crate) fn include(folder: &Path) -> OsString {
    let mut flag = OsString::from("-I");
    flag.push(folder);
    flag
}

/// Makes a folder that holds nothing.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

fn compile_one(toolchain: &Toolchain, unit: &Unit, flags: &[OsString]) -> Result<()> {
    let dependencies = unit.object.with_extension("d");
    let stamp = unit.object.with_extension("stamp");
    let mut clang = Command::new(toolchain.clang());
    clang.args(toolchain.target_arguments()).args(flags).args(&unit.flags);
    clang.arg("-MD").arg("-MF").arg(&dependencies).arg("-c").arg(&unit.source).arg("-o").arg(&unit.object);
    let command = format!("{} {clang:?}", toolchain.identity());
    let state = || inputs_hash(&command, &dependencies);
    if unit.object.is_file() && fs::read_to_string(&stamp).is_ok_and(|old| Some(old) == state()) {
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    if let Some(folder) = unit.object.parent() {
        fs::create_dir_all(folder)?;
    }
    let told = clang.output().with_context(|| format!("cannot run {clang:?}"))?;
    if !told.status.success() {
        bail!("{}\n{}\n{clang:?}", told.status, tail(&told.stderr));
    }
    if let Some(state) = state() {
        fs::write(&stamp, state)?;
    }
    Ok(())
}

/// A hash over a compile command and all files that its last run read.
fn inputs_hash(command: &str, dependencies: &Path) -> Option<String> {
    let list = fs::read_to_string(dependencies).ok()?;
    let (_, files) = list.split_once(": ")?;
    let mut parts = command.to_owned();
    for file in files.replace("\\\n", " ").split_whitespace() {
        parts.push(' ');
        parts.push_str(&sha256(&fs::read(file).ok()?));
    }
    Some(sha256(parts.as_bytes()))
}
