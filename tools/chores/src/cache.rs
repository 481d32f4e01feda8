//! The cache folder: where sources, scratch files and built guests lie, and how they get there whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The folder that holds everything guests are made of. Each function that names a folder in it makes that folder, and fails if
/// that cannot be.
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$DORMOUSE_CACHE_DIR`, else `$XDG_CACHE_HOME/dormouse`, else `~/.cache/dormouse`. Only its owner may enter:
    /// compiled artifacts in it are trusted.
    ///
    /// # Errors
    ///
    /// There is no home folder, or the folder cannot be made.
    pub fn open() -> Result<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = match (set("DORMOUSE_CACHE_DIR"), set("XDG_CACHE_HOME"), set("HOME")) {
            (Some(own), _, _) => own,
            (None, Some(caches), _) => caches.join("dormouse"),
            (None, None, Some(home)) => home.join(".cache").join("dormouse"),
            (None, None, None) => bail!("no cache folder: set DORMOUSE_CACHE_DIR"),
        };
        create_private(&root)?;
        fs::set_permissions(&root, fs::Permissions::from_mode(0o700))
            .with_context(|| format!("cannot make `{}` private", root.display()))?;
        Ok(Self { root: root.canonicalize()? })
    }

    /// Downloaded files, each verified against its checksum before it gets its name.
    pub fn sources(&self) -> Result<PathBuf> {
        self.folder("sources")
    }

    /// Unpacked parts of the tool chain.
    pub fn toolchain(&self) -> Result<PathBuf> {
        self.folder("toolchain")
    }

    /// Scratch space of one language's build; it may be deleted at any time between builds.
    pub fn scratch(&self, language: &str) -> Result<PathBuf> {
        self.folder(&format!("build/{language}"))
    }

    /// What the suites of `cargo xtask suite` install.
    pub fn suites(&self) -> Result<PathBuf> {
        self.folder("suites")
    }

    /// The images of the tests of containers.
    pub fn images(&self) -> Result<PathBuf> {
        self.folder("images")
    }

    /// What the programs print that a chore runs.
    pub fn logs(&self, chore: &str) -> Result<PathBuf> {
        self.folder(&format!("logs/{chore}"))
    }

    /// The built guests of one language.
    pub fn guest(&self, language: &str) -> Result<GuestFolder> {
        Ok(GuestFolder { folder: self.folder(&format!("guests/{language}"))? })
    }

    fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        create_private(&path)?;
        Ok(path)
    }
}

/// `guests/<language>`: `<key>.wasm`, `<key>.json` and `current`, which names the key in use.
pub struct GuestFolder {
    folder: PathBuf,
}

impl GuestFolder {
    /// Waits for any other build of this language. The lock ends with the returned file.
    ///
    /// # Errors
    ///
    /// The file cannot be made or locked.
    pub fn lock(&self) -> Result<File> {
        let path = self.folder.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path)?;
        file.lock().with_context(|| format!("cannot lock `{}`", path.display()))?;
        Ok(file)
    }

    /// Where the guest of this key is, if it is built.
    #[must_use]
    pub fn component(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.wasm"))
    }

    /// Keeps a built guest, and what is known about its build.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn store(&self, key: &str, component: &[u8], about: &Value) -> Result<()> {
        let mut text = serde_json::to_string_pretty(about)?;
        text.push('\n');
        write_atomically(&self.folder.join(format!("{key}.json")), text.as_bytes())?;
        write_atomically(&self.component(key), component)
    }

    /// Makes `key` the guest that the runtime loads. Written last, so it never names what is not there.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn point_at(&self, key: &str) -> Result<()> {
        let path = self.folder.join("current");
        if fs::read_to_string(&path).is_ok_and(|named| named == key) {
            return Ok(());
        }
        write_atomically(&path, key.as_bytes())
    }
}

/// Writes a file so that a reader sees the old bytes or all the new ones.
fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().with_context(|| format!("`{}` has no folder", path.display()))?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(())
}

fn create_private(path: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create `{}`", path.display()))
}
