//! The C libraries that only PHP's extensions use.

use std::process::Command;

use anyhow::Result;

use crate::guests::job::Job;
use crate::guests::libraries::Libraries;
use crate::guests::source::DebianFile;

pub(super) const XML: [DebianFile; 1] = [DebianFile {
    package: "libxml2",
    file: "libxml2_2.9.14+dfsg.orig.tar.xz",
    sha256: "4fe913dec8b1ab89d13b489b419a8203176ea39e931eaa0d25b17eafb9c279e9",
}];

pub(super) fn build(job: &Job<'_>) -> Result<Libraries> {
    let libraries = Libraries::build(job, &[&XML])?;
    xml(job, &libraries)?;
    Ok(libraries)
}

/// libxml2, which has a configuration of its own.
fn xml(job: &Job<'_>, libraries: &Libraries) -> Result<()> {
    let source = job.prepare("libxml2")?;
    libraries.configured(job, "libxml2", |folder| {
        let mut configure = Command::new("sh");
        configure.arg(source.join("configure")).current_dir(folder).envs(job.toolchain.environment());
        let paths = format!("-ffile-prefix-map={}=/usr/src", job.scratch.display());
        configure.env("CFLAGS", format!("-O2 -D_WASI_EMULATED_PROCESS_CLOCKS {paths}"));
        // Its script is older than WASI and knows no such system; that the two differ is all it needs to know.
        configure.args(["--build=x86_64-linux-gnu", "--host=i686-linux-gnu", "--disable-shared"]);
        configure.arg(format!("--prefix={}", libraries.folder.display())).arg("--with-iconv");
        let parts = ["threads", "python", "zlib", "lzma", "http", "ftp", "modules", "debug", "legacy"];
        configure.args(parts.map(|part| format!("--without-{part}")));
        job.run("configure libxml2", &mut configure)?;
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.current_dir(folder).arg(format!("-j{jobs}"));
        job.run("make libxml2", make.arg("install-libLTLIBRARIES"))?;
        let mut headers = Command::new("make");
        job.run("install libxml2's headers", headers.current_dir(folder.join("include")).arg("install"))
    })
}
