//! `init` and `clone`.

use std::fs;
use std::path::Path;

use git2::build::{CheckoutBuilder, CloneLocal, RepoBuilder};
use git2::{Config, FetchOptions, Repository, RepositoryInitOptions};

use crate::context::{Done, Failure, Result, plain};
use crate::words::{Word, Words, number, unknown};

/// Set by `-c init.defaultBranch`.
pub(super) const DEFAULT_BRANCH: &str = "GIT_INIT_DEFAULT_BRANCH";

/// `git init`.
pub(super) fn init(words: Vec<String>) -> Done {
    let (mut bare, mut quiet, mut branch, mut folder) = (false, false, None, None);
    let mut words = Words::new(words, "b");
    while let Some(word) = words.next() {
        match word {
            Word::Plain(path) => folder = Some(path),
            Word::Option(option) => match option.as_str() {
                "--bare" => bare = true,
                "-q" | "--quiet" => quiet = true,
                "-b" | "--initial-branch" => branch = Some(words.value(&option)?),
                _ => return unknown("init", &option),
            },
        }
    }
    let path = plain(&std::env::current_dir()?.join(folder.unwrap_or_default()));
    let known = if bare { path.join("HEAD").is_file() } else { path.join(".git").exists() };
    let mut options = RepositoryInitOptions::new();
    options.bare(bare).mkdir(true).mkpath(true).external_template(false);
    options.initial_head(&branch.unwrap_or_else(default_branch));
    let repository = Repository::init_opts(&path, &options)?;
    if !quiet {
        let what = if known { "Reinitialized existing" } else { "Initialized empty" };
        println!("{what} Git repository in {}", repository.path().display());
    }
    Ok(0)
}

fn default_branch() -> String {
    let configured =
        || Config::open_default().and_then(|config| config.get_string("init.defaultBranch")).ok();
    std::env::var(DEFAULT_BRANCH).ok().or_else(configured).unwrap_or_else(|| "master".into())
}

/// What a clone is asked for.
#[derive(Default)]
struct Wanted {
    branch: Option<String>,
    depth: Option<usize>,
    origin: Option<String>,
    bare: bool,
    without_files: bool,
    quiet: bool,
    plain: Vec<String>,
}

impl Wanted {
    fn read(words: Vec<String>) -> Result<Self> {
        let mut wanted = Self::default();
        let mut words = Words::new(words, "bojc");
        while let Some(word) = words.next() {
            let option = match word {
                Word::Plain(word) => {
                    wanted.plain.push(word);
                    continue;
                }
                Word::Option(option) => option,
            };
            match option.as_str() {
                "-b" | "--branch" => wanted.branch = Some(words.value(&option)?),
                "--depth" => wanted.depth = Some(number("depth", &words.value(&option)?)?),
                "-o" | "--origin" => wanted.origin = Some(words.value(&option)?),
                "--bare" => wanted.bare = true,
                "-n" | "--no-checkout" => wanted.without_files = true,
                "-q" | "--quiet" => wanted.quiet = true,
                "-j" | "--jobs" => drop(words.value(&option)?),
                // What is so anyway.
                "--no-tags"
                | "--single-branch"
                | "--no-single-branch"
                | "--progress"
                | "-v"
                | "--verbose"
                | "-l"
                | "--local"
                | "--no-local"
                | "--no-hardlinks"
                | "--no-recurse-submodules" => {}
                _ => return unknown("clone", &option),
            }
        }
        Ok(wanted)
    }
}

/// `git clone`.
pub(super) fn clone(words: Vec<String>) -> Done {
    let wanted = Wanted::read(words)?;
    let (address, folder) = match wanted.plain.as_slice() {
        [address] => (address, folder_of(address, wanted.bare)?),
        [address, folder] => (address, folder.clone()),
        [] => return Err(Failure::fatal("You must specify a repository to clone.")),
        _ => return Err(Failure::fatal("Too many arguments.")),
    };
    let path = &plain(&std::env::current_dir()?.join(&folder));
    if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) || path.is_file() {
        return Err(Failure::fatal(format!(
            "destination path '{folder}' already exists and is not an empty directory."
        )));
    }
    let address = absolute(address)?;
    if !wanted.quiet {
        let bare = if wanted.bare { "bare repository " } else { "" };
        eprintln!("Cloning into {bare}'{folder}'...");
    }
    let existed = path.exists();
    let cloned = fetch_all(&wanted, &address, path);
    if cloned.is_err() && !existed {
        let _ = fs::remove_dir_all(path);
    }
    let repository = cloned?;
    if !wanted.quiet && repository.is_empty().unwrap_or(false) {
        eprintln!("warning: You appear to have cloned an empty repository.");
    }
    Ok(0)
}

fn fetch_all(wanted: &Wanted, address: &str, path: &Path) -> Result<Repository> {
    let mut options = FetchOptions::new();
    if let Some(depth) = wanted.depth {
        options.depth(i32::try_from(depth).unwrap_or(i32::MAX));
    }
    let mut checkout = CheckoutBuilder::new();
    if wanted.without_files {
        checkout.dry_run();
    }
    let mut builder = RepoBuilder::new();
    // Never by linking or copying another repository's files: what it names would be followed.
    builder.clone_local(CloneLocal::None).bare(wanted.bare).fetch_options(options).with_checkout(checkout);
    if let Some(branch) = &wanted.branch {
        builder.branch(branch);
    }
    if let Some(origin) = wanted.origin.clone() {
        builder.remote_create(move |repository, _, url| repository.remote(&origin, url));
    }
    builder.clone(address, path).map_err(|error| clone_failure(wanted, address, &error))
}

fn clone_failure(wanted: &Wanted, address: &str, error: &git2::Error) -> Failure {
    let message = error.message();
    if let Some(branch) = &wanted.branch
        && message.contains(&format!("refs/remotes/origin/{branch}"))
    {
        return Failure::fatal(format!("Remote branch {branch} not found in upstream origin"));
    }
    let missing = !address.contains("://") && !Path::new(address).exists();
    if missing {
        return Failure::fatal(format!("repository '{address}' does not exist"));
    }
    Failure::fatal(message)
}

/// An address of a folder as a whole path; other addresses as they are.
fn absolute(address: &str) -> Result<String> {
    if address.contains("://") {
        return Ok(address.to_owned());
    }
    if address.split_once(':').is_some_and(|(host, _)| !host.contains('/')) && !Path::new(address).exists() {
        return Err(Failure::fatal(format!("'{address}' would need ssh, which is not there; use https://")));
    }
    let path = plain(&std::env::current_dir()?.join(address));
    Ok(path.canonicalize().unwrap_or(path).to_string_lossy().into_owned())
}

/// The folder that an address suggests.
fn folder_of(address: &str, bare: bool) -> Result<String> {
    let trimmed = address.trim_end_matches('/').trim_end_matches("/.git");
    let name = trimmed.rsplit(['/', ':']).next().unwrap_or_default();
    let name = name.strip_suffix(".git").or_else(|| name.strip_suffix(".bundle")).unwrap_or(name);
    if name.is_empty() || name == "." || name == ".." {
        return Err(Failure::fatal(format!("could not guess a folder from '{address}'; name one")));
    }
    Ok(if bare { format!("{name}.git") } else { name.to_owned() })
}
