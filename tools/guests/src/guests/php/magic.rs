//! The database of kinds of files that comes with PHP's `fileinfo`: 8.5 MB, most of them zeros. In the guest it lies compressed, and
//! `magic.c` unpacks it when a program first asks for the kind of a file.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use wasmparser::{Parser, Payload};

use crate::guests::job::Job;

/// Writes the compressed database where `#embed` finds it; the flag for that.
pub(super) fn embedded(job: &Job<'_>, php: &Path) -> Result<OsString> {
    // Its text is C, so the compiler reads it.
    let unit = job.unit(php.join("ext/fileinfo/data_file.c"), "magic", &["-DZEND_NONSTRING="]);
    job.compile("compile the kinds of files", std::slice::from_ref(&unit), &[])?;
    let object = fs::read(&unit.object)?;
    let mut bytes = Vec::new();
    for payload in Parser::new(0).parse_all(&object) {
        if let Payload::DataSection(segments) = payload? {
            for segment in segments {
                bytes.extend_from_slice(segment?.data);
            }
        }
    }
    let size = u32::try_from(bytes.len())?;
    ensure!(size > 0, "there are no kinds of files");
    // First its size, for whoever unpacks it.
    let mut packer = ZlibEncoder::new(size.to_le_bytes().to_vec(), Compression::best());
    packer.write_all(&bytes)?;
    let packed = packer.finish()?;
    let folder = job.scratch.join("embedded");
    fs::create_dir_all(&folder)?;
    let file = folder.join("magic.z");
    fs::write(&file, packed).with_context(|| format!("cannot write `{}`", file.display()))?;
    let mut flag = OsString::from("--embed-dir=");
    flag.push(&folder);
    Ok(flag)
}
