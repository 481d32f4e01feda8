//! Source distributions: a wheel of one, built in a sandbox of its own (PEP 517). No code of it runs here.

use dormouse_core::packages::{Build, Built, PackageEvent, PackageFile, PackageManager};
use dormouse_core::{GuestPath, Outcome, Result, Status, Value};
use pep508_rs::PackageName;
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;

use super::Call;
use crate::archive;
use crate::digest::Digest;
use crate::source::blocking;

/// What runs in the sandbox.
const SCRIPT: &str = include_str!("build.py");
/// Where it looks for source, wishes and wheels.
const PLACE: &str = "/workspace";
/// Most source distributions that one call builds.
pub(super) const MAX_BUILDS: usize = 16;
/// Longest `pyproject.toml`, in bytes (1 MiB).
const MAX_PROJECT: usize = 1 << 20;
/// Longest reason that is told, in bytes.
const MAX_TOLD: usize = 300;
/// What a guest's Python says to who starts a program.
const NO_PROCESSES: &str = "no processes in this sandbox";
/// Back ends that compile, whatever else they find.
const COMPILERS: [&str; 6] =
    ["mesonpy", "maturin", "scikit_build_core", "py_build_cmake", "sipbuild", "setuptools_rust"];

/// A source distribution that may be built.
#[derive(Clone, Debug)]
pub(crate) struct Sdist {
    pub(crate) filename: String,
    pub(crate) url: Url,
    pub(crate) digest: Digest,
}

/// A wheel that was built, or why there is none.
pub(super) type Made = Result<(String, Vec<u8>), String>;

/// What builds it.
#[derive(Debug, PartialEq, Eq)]
struct BuildSystem {
    requires: Vec<String>,
    backend: String,
    backend_path: Vec<String>,
}

#[derive(Deserialize)]
struct Project {
    #[serde(rename = "build-system")]
    build_system: Option<Table>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Table {
    requires: Vec<String>,
    build_backend: Option<String>,
    #[serde(default)]
    backend_path: Vec<String>,
}

/// What the script answers.
#[derive(Deserialize)]
struct Answer {
    requires: Vec<String>,
}

impl BuildSystem {
    /// The one that the source names; else setuptools', as PEP 517 says.
    fn of(files: &[archive::Unpacked]) -> Result<Self, String> {
        let file = files.iter().find(|file| file.path == "pyproject.toml");
        let table = match file {
            Some(file) if file.bytes.len() > MAX_PROJECT => {
                return Err("its pyproject.toml is too long".into());
            }
            Some(file) => {
                let text = String::from_utf8_lossy(&file.bytes);
                let project: Project =
                    toml::from_str(&text).map_err(|_| "its pyproject.toml cannot be read".to_owned())?;
                project.build_system
            }
            None => None,
        };
        let legacy = || "setuptools.build_meta:__legacy__".to_owned();
        let Some(table) = table else {
            let requires = vec!["setuptools>=40.8.0".to_owned()];
            return Ok(Self { requires, backend: legacy(), backend_path: Vec::new() });
        };
        let backend = table.build_backend.unwrap_or_else(legacy);
        Ok(Self { requires: table.requires, backend, backend_path: table.backend_path })
    }

    /// The compiler that it cannot do without.
    fn compiler(&self) -> Option<&str> {
        let wanted = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
        let module = wanted(self.backend.split(':').next().unwrap_or_default().split('.').next()?);
        let names = self.requires.iter().map(|one| {
            wanted(
                one.split(|letter: char| !letter.is_alphanumeric() && !"-_.".contains(letter))
                    .next()
                    .unwrap_or(""),
            )
        });
        let mut all = std::iter::once(module).chain(names);
        all.find_map(|name| COMPILERS.into_iter().find(|compiler| *compiler == name))
    }
}

impl Call<'_> {
    /// A wheel of a source distribution. What is the source's own fault is no error: another version may do.
    ///
    /// # Errors
    /// What keeps it from being fetched; that no room was free to build it.
    pub(super) async fn wheel_of(&self, name: &PackageName, sdist: &Sdist) -> Result<Made> {
        let Some(machines) = self.machines else { return Ok(Err("nothing can be built here".into())) };
        if self.count_build() > MAX_BUILDS {
            return Ok(Err(format!("more than {MAX_BUILDS} packages had to be built from their source")));
        }
        let Sdist { filename, url, digest } = sdist;
        let packed = self.source.file(self.index, url, digest, filename, self.progress).await?;
        (self.progress)(PackageEvent::Building { name: name.to_string() });
        let (label, room) = (filename.clone(), self.settings.bounds.unpacked);
        let files = match blocking(move || archive::tarball(&label, &packed, room)).await? {
            Ok(files) => files,
            Err(error) => return Ok(Err(error.message().to_owned())),
        };
        let system = match BuildSystem::of(&files) {
            Ok(system) => system,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(compiler) = system.compiler() {
            return Ok(Err(format!("it is compiled ({compiler}), and a sandbox has no compiler")));
        }
        let mut requires = system.requires.clone();
        for settled in [false, true] {
            let mut all = match self.tools(&requires).await {
                Ok(tools) => tools,
                Err(error) => return Ok(Err(format!("what builds it cannot be had: {}", error.message()))),
            };
            for file in &files {
                all.push((below(&format!("source/{}", file.path))?, file.bytes.clone()));
            }
            let asked = json!({
                "backend": system.backend,
                "backend_path": system.backend_path,
                "settled": settled,
            });
            all.push((below("build.json")?, asked.to_string().into_bytes()));
            let most = self.settings.bounds.archive;
            let build = Build { files: all, code: SCRIPT.to_owned(), takes: below("wheels")?, most };
            let Built { outcome, file } = machines.build(&self.owner, build).await?;
            let Some(wanted) = answered(&outcome) else { return Ok(Err(failed(&outcome))) };
            match file {
                Some((name, bytes)) => return Ok(Ok((name, bytes))),
                None if wanted.is_empty() || settled => return Ok(Err("its build made no wheel".into())),
                None => requires.extend(wanted),
            }
        }
        Ok(Err("its build made no wheel".into()))
    }

    /// The files of packages that a build needs. They are wheels themselves.
    async fn tools(&self, requires: &[String]) -> Result<Vec<(GuestPath, Vec<u8>)>> {
        if requires.is_empty() {
            return Ok(Vec::new());
        }
        let fetched = Box::pin(self.isolated(requires)).await?;
        let root = PackageManager::Pip.root()?;
        let files = fetched.packages.into_iter().flat_map(|package| package.files);
        files
            .map(|PackageFile { path, bytes, .. }| Ok((GuestPath::parse(&format!("{root}/{path}"))?, bytes)))
            .collect()
    }
}

fn below(path: &str) -> Result<GuestPath> {
    GuestPath::parse(&format!("{PLACE}/{path}"))
}

/// What a build that ended well wants besides.
fn answered(outcome: &Outcome) -> Option<Vec<String>> {
    let Status::Returned(Value::String { value, .. }) = &outcome.status else { return None };
    serde_json::from_str::<Answer>(value).ok().map(|answer| answer.requires)
}

/// Why a build failed, in one line: that it asked for a compiler; else the last line that names an error, and how it ended.
fn failed(outcome: &Outcome) -> String {
    let ended = match &outcome.status {
        Status::Raised(exception) => format!("{}: {}", exception.class, exception.message),
        Status::Exited(status) => format!("it exited with {status}"),
        Status::Stopped(error) => error.message().to_owned(),
        Status::Returned(_) => "it answered something else".to_owned(),
    };
    let said = || [&outcome.stderr.text, &outcome.stdout.text].into_iter();
    if said().any(|text| text.contains(NO_PROCESSES)) || ended.contains(NO_PROCESSES) {
        return "its build asks for a compiler or another program, and a sandbox has none".into();
    }
    let last = said().filter_map(|text| text.lines().rev().find(|line| line.contains("rror"))).next();
    let told = match last {
        Some(line) => format!("its build failed: {} ({ended})", line.trim()),
        None => format!("its build failed: {ended}"),
    };
    told.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(MAX_TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(text: &str) -> Result<BuildSystem, String> {
        let bytes = text.as_bytes().to_vec();
        BuildSystem::of(&[archive::Unpacked { path: "pyproject.toml".into(), bytes, executable: false }])
    }

    #[test]
    fn the_build_system_is_the_sources_or_setuptools() {
        let legacy = "setuptools.build_meta:__legacy__";
        assert_eq!(BuildSystem::of(&[]).unwrap().backend, legacy);
        assert_eq!(system("[tool.x]\na = 1\n").unwrap().backend, legacy);
        let flit = system("[build-system]\nrequires = ['flit_core']\nbuild-backend = 'flit_core.buildapi'\n")
            .unwrap();
        assert_eq!(
            (flit.requires.as_slice(), flit.backend.as_str()),
            (&["flit_core".to_owned()][..], "flit_core.buildapi")
        );
        assert_eq!(flit.compiler(), None);
        assert!(system("[build-system\n").unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn what_has_to_be_compiled_is_known_before_it_is_tried() {
        for (requires, backend, compiler) in [
            ("maturin>=1.4,<2", "maturin", "maturin"),
            ("meson-python", "mesonpy", "mesonpy"),
            ("setuptools-rust>=1", "setuptools.build_meta", "setuptools_rust"),
            ("scikit-build-core", "scikit_build_core.build", "scikit_build_core"),
        ] {
            let text = format!(
                "[build-system]\nrequires = ['setuptools', '{requires}']\nbuild-backend = '{backend}'\n"
            );
            assert_eq!(system(&text).unwrap().compiler(), Some(compiler), "{requires}");
        }
    }
}
