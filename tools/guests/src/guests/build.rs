//! The order of the work on a guest.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use dormouse_chores::arguments::{Guests, GuestsChore};
use dormouse_chores::progress::Progress;
use dormouse_chores::{Cache, workspace};
use serde_json::json;

use super::job::Job;
use super::recipe::{Pin, Recipe};
use super::source::{self, DebianFile};
use super::toolchain::{Toolchain, WASI_LIBC};
use super::wizer::precompile;
use super::{RECIPES, component, host, key, refresh, tidy};

/// Builds the named guests, one after the other, and points the cache at them.
///
/// # Errors
///
/// An unknown language, a tool that is missing and cannot be installed, or a step that failed.
pub fn run(arguments: &Guests) -> Result<()> {
    let toolchain = |cache: &Cache| Toolchain::find(cache, &Progress::new("toolchain"));
    match &arguments.chore {
        Some(GuestsChore::Refresh(arguments)) => return refresh::run(arguments, named(&arguments.language)?),
        Some(GuestsChore::Check(arguments)) => return host::check(arguments),
        Some(GuestsChore::Keys) => return keys(&toolchain(&Cache::open()?)?),
        Some(GuestsChore::Sources) => return sources(),
        Some(GuestsChore::Toolchain) => return toolchain(&Cache::open()?).map(drop),
        Some(GuestsChore::Tidy) => return tidy::run(&Cache::open()?),
        None => {}
    }
    let recipes = chosen(&arguments.languages)?;
    let cache = Cache::open()?;
    let toolchain = toolchain(&cache)?;
    for recipe in recipes {
        if arguments.compile_only {
            compile(recipe, &cache, &toolchain, arguments.force)?;
            continue;
        }
        let path = provide(recipe, &cache, &toolchain, arguments.force)?;
        if arguments.check_reproducible {
            check_reproducible(recipe, &cache, &toolchain, &path)?;
        }
        if arguments.print_path {
            writeln!(std::io::stdout().lock(), "{}", path.display())?;
        }
    }
    Ok(())
}

/// Prints what guests in C are made of, the C library included: each pin with its checksum. Crates of guests in Rust are in lock
/// files.
fn sources() -> Result<()> {
    let mut pins = std::collections::BTreeSet::new();
    let of = |file: &DebianFile| format!("{}\t{}\t{}", file.package, file.file, file.sha256);
    pins.extend(WASI_LIBC.iter().map(of));
    for pin in RECIPES.iter().flat_map(|recipe| recipe.pins) {
        match pin {
            Pin::Debian(candidates) => pins.extend(candidates.iter().map(of)),
            Pin::Python(file) => {
                pins.insert(format!("pypi:{}\t{}\t{}", file.project, file.file, file.sha256));
            }
            Pin::Crate(name) => {
                pins.insert(format!("{name}\t-\t{}", source::crate_checksum(&workspace(), name)?));
            }
        }
    }
    let mut output = std::io::stdout().lock();
    for pin in pins {
        writeln!(output, "{pin}")?;
    }
    Ok(())
}

/// Prints the key of each guest.
fn keys(toolchain: &Toolchain) -> Result<()> {
    let mut output = std::io::stdout().lock();
    for recipe in RECIPES {
        writeln!(output, "{} {}", recipe.language, key::of(recipe, &workspace(), toolchain)?)?;
    }
    Ok(())
}

/// Makes the guest once more, of the objects that are there, and compares it with the one in the cache.
fn check_reproducible(
    recipe: &'static Recipe,
    cache: &Cache,
    toolchain: &Toolchain,
    path: &Path,
) -> Result<()> {
    let guest = cache.guest(recipe.language)?;
    let _lock = guest.lock()?;
    let job = Job::new(recipe, workspace(), cache, toolchain, Progress::new(recipe.language))?;
    let again = component::encode(&job, &(recipe.build)(&job)?)?;
    let (first, second) = (key::sha256(&std::fs::read(path)?), key::sha256(&again));
    ensure!(first == second, "the {} guest is not reproducible: {first}, then {second}", recipe.language);
    job.progress.say(&format!("reproducible: sha256 {first}"));
    Ok(())
}

fn chosen(languages: &[String]) -> Result<Vec<&'static Recipe>> {
    if languages.is_empty() {
        return Ok(RECIPES.to_vec());
    }
    languages.iter().map(|name| named(name)).collect()
}

fn named(name: &str) -> Result<&'static Recipe> {
    let known = RECIPES.map(|recipe| recipe.language);
    match RECIPES.iter().find(|recipe| recipe.language == name) {
        Some(recipe) => Ok(*recipe),
        None => bail!("no guest `{name}`; there are {}", known.join(", ")),
    }
}

/// Makes the guest's linked module, unless the cache has the guest; [`provide`] goes on there.
fn compile(recipe: &'static Recipe, cache: &Cache, toolchain: &Toolchain, force: bool) -> Result<()> {
    let key = key::of(recipe, &workspace(), toolchain)?;
    let guest = cache.guest(recipe.language)?;
    let _lock = guest.lock()?;
    if !force && guest.component(&key).is_file() {
        return Ok(());
    }
    let mut job = Job::new(recipe, workspace(), cache, toolchain, Progress::new(recipe.language))?;
    job.compile_only = true;
    (recipe.build)(&job).map(drop)
}

/// The path of the guest's component: out of the cache, or built now.
fn provide(recipe: &'static Recipe, cache: &Cache, toolchain: &Toolchain, force: bool) -> Result<PathBuf> {
    let progress = Progress::new(recipe.language);
    let workspace = workspace();
    let key = key::of(recipe, &workspace, toolchain)?;
    let guest = cache.guest(recipe.language)?;
    let _lock = guest.lock()?;
    let path = guest.component(&key);
    if !force && path.is_file() {
        guest.point_at(&key)?;
        precompile(recipe.language)?;
        progress.say(&format!("up to date ({})", path.display()));
        return Ok(path);
    }
    let started = Instant::now();
    let job = Job::new(recipe, workspace, cache, toolchain, progress)?;
    let core = (recipe.build)(&job)?;
    let bytes = component::encode(&job, &core)?;
    let seconds = started.elapsed().as_secs();
    let about = json!({
        "language": recipe.language,
        "key": key,
        "interpreter": recipe.interpreter,
        "package": job.contract()?,
        "sha256": key::sha256(&bytes),
        "size": bytes.len(),
        "built_seconds": seconds,
        "tools": toolchain.identity(),
        "sources": job.used_sources(),
    });
    guest.store(&key, &bytes, &about)?;
    guest.point_at(&key)?;
    precompile(recipe.language)?;
    #[expect(clippy::cast_precision_loss, reason = "a size for people to read")]
    let megabytes = bytes.len() as f64 / 1e6;
    job.progress.say(&format!("built in {seconds} s -> {} ({megabytes:.1} MB)", path.display()));
    Ok(path)
}
