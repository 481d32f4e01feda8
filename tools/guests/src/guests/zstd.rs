//! Zstandard's C library, which guests compile as it is.

use std::path::PathBuf;

use anyhow::Result;

use super::job::Job;

/// This file, which is a part of the text of each recipe that uses it.
pub(crate) const TEXT: &str = include_str!("zstd.rs");

/// The package that carries its sources.
pub(crate) const PACKAGE: &str = "zstd-sys";

/// What compresses and unpacks.
pub(crate) const FILES: &[&str] = &[
    "common/debug",
    "common/entropy_common",
    "common/error_private",
    "common/fse_decompress",
    "common/pool",
    "common/xxhash",
    "common/zstd_common",
    "compress/fse_compress",
    "compress/hist",
    "compress/huf_compress",
    "compress/zstd_compress",
    "compress/zstd_compress_literals",
    "compress/zstd_compress_sequences",
    "compress/zstd_compress_superblock",
    "compress/zstd_double_fast",
    "compress/zstd_fast",
    "compress/zstd_lazy",
    "compress/zstd_ldm",
    "compress/zstd_opt",
    "compress/zstd_preSplit",
    "decompress/huf_decompress",
    "decompress/zstd_ddict",
    "decompress/zstd_decompress",
    "decompress/zstd_decompress_block",
];

/// What makes dictionaries of samples. It looks at a clock.
pub(crate) const TRAINER: &[&str] =
    &["dictBuilder/cover", "dictBuilder/divsufsort", "dictBuilder/fastcover", "dictBuilder/zdict"];

/// Without threads and machine code.
pub(crate) const FLAGS: &[&str] =
    &["-O2", "-DNDEBUG", "-DZSTD_LEGACY_SUPPORT=0", "-DZSTD_DISABLE_ASM", "-D_WASI_EMULATED_PROCESS_CLOCKS"];

/// The folder that the names of files and headers begin in.
pub(crate) fn sources(job: &Job<'_>) -> Result<PathBuf> {
    Ok(job.crate_sources(PACKAGE)?.join("zstd/lib"))
}
