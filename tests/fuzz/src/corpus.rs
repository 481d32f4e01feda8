//! The kept inputs: files in `corpus/TARGET`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::Target;

/// The folder of a target's kept inputs.
pub fn folder(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// The kept inputs of a target by their names, in the order of these, and after them its seeds.
///
/// # Errors
/// When a file cannot be read.
pub fn inputs(target: &Target) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut inputs = Vec::new();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder(target))?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort_unstable();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        inputs.push((name, fs::read(&path)?));
    }
    let seeds = (target.seeds)().into_iter().enumerate();
    inputs.extend(seeds.map(|(number, seed)| (format!("seed {number}"), seed)));
    Ok(inputs)
}
