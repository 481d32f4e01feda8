//! The C libraries that only CPython's modules use.

use std::process::Command;

use anyhow::Result;

use crate::guests::job::Job;
use crate::guests::libraries::Libraries;
use crate::guests::source::DebianFile;
use crate::guests::zstd;

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

const BZIP2_FILES: &[&str] =
    &["blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib"];

pub(super) fn build(job: &Job<'_>) -> Result<Libraries> {
    let libraries = Libraries::build(job, &[&BZIP2, &XZ])?;
    let bzip2 = job.prepare("bzip2")?;
    libraries.archive(job, &bzip2, "bz2", BZIP2_FILES, &["-O3"], &["bzlib.h"])?;
    xz(job, &libraries)?;
    let zstd = zstd::sources(job)?;
    let files = [zstd::FILES, zstd::TRAINER].concat();
    libraries.archive(job, &zstd, "zstd", &files, zstd::FLAGS, &["zstd.h", "zstd_errors.h", "zdict.h"])?;
    Ok(libraries)
}

/// liblzma, which has a configuration of its own.
fn xz(job: &Job<'_>, libraries: &Libraries) -> Result<()> {
    let source = job.prepare("xz")?;
    libraries.configured(job, "xz", |folder| {
        let mut configure = Command::new(source.join("configure"));
        configure.current_dir(folder).envs(job.toolchain.environment()).env("CFLAGS", "-O2");
        configure.arg("--host=wasm32-wasi").arg(format!("--prefix={}", libraries.folder.display()));
        configure.args(["--disable-shared", "--disable-nls", "--disable-doc", "--disable-scripts"]);
        let parts = ["threads", "xz", "xzdec", "lzmadec", "lzmainfo"];
        configure.args(parts.map(|part| format!("--disable-{part}")));
        job.run("configure liblzma", &mut configure)?;
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.current_dir(folder).arg(format!("-j{jobs}")).args(["-C", "src/liblzma", "install"]);
        job.run("make liblzma", &mut make)
    })
}
