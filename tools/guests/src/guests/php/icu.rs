//! ICU, which PHP's extension `intl` stands on, and the C++ library that ICU stands on.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::locales;
use crate::guests::job::{Job, NETWORK_TIMEOUT, Unit, include, run_for};
use crate::guests::libraries::Libraries;
use crate::guests::source::DebianFile;
use crate::guests::tree::{self, Origin, Tree};

/// The second is that of Debian stable, for the time when the first has left the archive. Its data are older.
pub(super) const ICU: [DebianFile; 2] = [
    DebianFile {
        package: "icu",
        file: "icu_78.3.orig.tar.gz",
        sha256: "3a2e7a47604ba702f345878308e6fefeca612ee895cf4a5f222e7955fabfe0c0",
    },
    DebianFile {
        package: "icu",
        file: "icu_76.1.orig.tar.gz",
        sha256: "dfacb46bfe4747410472ce3e1144bf28a102feeaa4e3875bac9b4c6cf30f4f3e",
    },
];

pub(super) const ICU_TREE: Tree = Tree::new("icu", Origin::Debian(&ICU));

/// Headers and code of the C++ library, without threads: those of Debian stable, else of its newest suite.
pub(super) const CXX: [DebianFile; 2] = [
    DebianFile {
        package: "llvm-toolchain-22",
        file: "libc++-22-dev-wasm32_22.1.8-1~deb13u5_all.deb",
        sha256: "be595d121ca9c5df42ab0c9b719c3a986abfadf40cac8a2db4b228cdb423052c",
    },
    DebianFile {
        package: "llvm-toolchain-22",
        file: "libc++-22-dev-wasm32_22.1.8-3_all.deb",
        sha256: "c315b097f34dc0e3bc418d866ef373a879b4df70266fcf07f17022b0b37d6dc9",
    },
];

/// What is below it: types at run time, virtual functions.
pub(super) const CXX_ABI: [DebianFile; 2] = [
    DebianFile {
        package: "llvm-toolchain-22",
        file: "libc++abi-22-dev-wasm32_22.1.8-1~deb13u5_all.deb",
        sha256: "a89642558578276d48a78dd3a54a7ce52be3fb8987c63386396355231ad42be2",
    },
    DebianFile {
        package: "llvm-toolchain-22",
        file: "libc++abi-22-dev-wasm32_22.1.8-3_all.deb",
        sha256: "56705a1538c59ac4134d94f88f8f25f567f3a6b0bda7a1ea019fb1865213bc87",
    },
];

/// Their names for the linker, ICU's first.
pub(super) const NAMES: [&str; 3] = ["icu", "c++", "c++abi"];

/// Where the parts of the C++ library lie in Debian's packages.
const PREFIX: &str = "usr/lib/llvm-22";

/// The folders of ICU's sources that are compiled, and the macro with which each is.
const PARTS: [(&str, &str); 3] = [
    ("common", "-DU_COMMON_IMPLEMENTATION"),
    ("i18n", "-DU_I18N_IMPLEMENTATION"),
    ("io", "-DU_IO_IMPLEMENTATION"),
];

/// What files are called that nothing of `intl` needs: other interfaces, other systems, tools.
const LEFT_OUT: &[&str] = &[
    "alphaindex",
    "csdetect",
    "csmatch",
    "csr",
    "dtintrv",
    "dtitv",
    "gender",
    "icuplug",
    "inputext",
    "measfmt",
    "messageformat2",
    "numrange",
    "regex",
    "reldatefmt",
    "rematch",
    "repattrn",
    "scientificnumber",
    "tmu",
    "ubiditransform",
    "ucsdet",
    "udateinterval",
    "uregex",
    "uregion",
    "ushape",
    "ustream",
    "uspoof_build",
    "uspoof_conf",
    "utmscale",
    "vzone",
    "win",
    "zrule",
    "ztrans",
];

/// It is compiled for its size.
const FLAGS: &[&str] =
    &["-Os", "-DNDEBUG", "-std=c++17", "-w", "-DU_ENABLE_DYLOAD=0", "-D_WASI_EMULATED_SIGNAL"];

/// Adds ICU with its data and the C++ library to the others.
pub(super) fn build(job: &Job<'_>, libraries: &Libraries) -> Result<()> {
    let source = job.prepare(ICU_TREE.name)?.join("source");
    // The one header of its third part that PHP names.
    fs::copy(source.join("io/unicode/ustdio.h"), source.join("common/unicode/ustdio.h"))?;
    cxx(job, libraries)?;
    let wasi = job.guest.join("libraries/icu/icu_wasi.h");
    let mut flags: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    flags.extend(cxx_flags(libraries).map(OsString::from));
    flags.push(format!("-ffile-prefix-map={}=/usr/src", job.scratch.display()).into());
    flags.extend(["-include".into(), wasi.into_os_string()]);
    flags.extend(headers(job).map(OsString::from));
    let mut units = vec![data(job, &source)?];
    for (folder, own) in PARTS {
        for file in tree::files(&source.join(folder))? {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_code = file.extension().is_some_and(|ending| ending == "cpp");
            if is_code && !LEFT_OUT.iter().any(|part| name.starts_with(part)) {
                units.push(job.unit(file, &format!("icu/{folder}/{name}"), &[own]));
            }
        }
    }
    job.compile("compile ICU", &units[1..], &flags)?;
    let library = library(libraries, NAMES[0]);
    let _ = fs::remove_file(&library);
    let mut archiver = Command::new(job.toolchain.tool("llvm-ar"));
    archiver.arg("rcs").arg(&library).args(units.iter().map(|unit| &unit.object));
    job.run("archive ICU", &mut archiver)
}

/// What C++ code is compiled with. Nothing of it throws: where memory ends, the program does.
pub(super) fn cxx_flags(libraries: &Libraries) -> [String; 4] {
    let headers = libraries.folder.join("c++").join(PREFIX).join("include/wasm32-wasi/c++/v1");
    ["-nostdinc++".into(), "-isystem".into(), headers.display().to_string(), "-fno-exceptions".into()]
}

/// The flags with which its headers are found.
pub(super) fn headers(job: &Job<'_>) -> [String; 3] {
    let source = job.scratch.join(ICU_TREE.name).join("source");
    let [common, i18n] =
        ["common", "i18n"].map(|name| include(&source.join(name)).to_string_lossy().into_owned());
    [common, i18n, "-DU_STATIC_IMPLEMENTATION".into()]
}

fn library(libraries: &Libraries, name: &str) -> PathBuf {
    libraries.folder.join(format!("lib/lib{name}.a"))
}

/// The C++ library among the others. PHP's `configure` calls it by the name of another one, under which it is empty.
fn cxx(job: &Job<'_>, libraries: &Libraries) -> Result<()> {
    let folder = libraries.folder.join("c++");
    for package in [&CXX, &CXX_ABI] {
        let file = job.debian(package)?;
        run_for(Command::new("dpkg-deb").arg("-x").arg(file).arg(&folder), NETWORK_TIMEOUT)?;
    }
    for name in &NAMES[1..] {
        let from = folder.join(PREFIX).join(format!("lib/wasm32-wasi/lib{name}.a"));
        fs::copy(&from, library(libraries, name)).with_context(|| format!("no `{}`", from.display()))?;
    }
    Ok(fs::write(library(libraries, "stdc++"), "!<arch>\n")?)
}

/// The object with ICU's data: the package that lies in its sources, reduced.
fn data(job: &Job<'_>, source: &Path) -> Result<Unit> {
    let is_package = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "dat");
    let package =
        tree::files(&source.join("data/in"))?.into_iter().find(is_package).context("no data of ICU")?;
    let folder = job.scratch.join("embedded");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("icu.dat"), locales::reduced(&fs::read(package)?)?)?;
    let unit = job.unit(job.guest.join("libraries/icu/data.c"), "icu/data", &[]);
    let mut flags: Vec<OsString> = headers(job).map(OsString::from).into();
    flags.extend(["-std=gnu23".into(), format!("--embed-dir={}", folder.display()).into()]);
    job.compile("compile ICU's data", std::slice::from_ref(&unit), &flags)?;
    Ok(unit)
}
