//! Source distributions: a wheel of one, built in a sandbox of its own (PEP 517). No code of it runs here.

use dormouse_core::packages::{Build, Built, PackageEvent, PackageFile, PackageManager};
use dormouse_core::sandbox::hides_text;
use dormouse_core::{Error, ErrorCode, GuestPath, Outcome, Result, Status, Value};
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
pub(super) const PLACE: &str = "/workspace";
/// Most source distributions that one call builds.
const MAX_BUILDS: usize = 16;
/// Longest `pyproject.toml`, in bytes (1 MiB).
const MAX_PROJECT: usize = 1 << 20;
/// Most bytes that a source is unpacked to (64 MiB): it is held here, and copied into the machine that builds it.
const MAX_SOURCE: u64 = 64 << 20;
/// Most characters of a reason that is told.
const MAX_TOLD: usize = 300;
/// What helps where memory was too little.
const TOO_LITTLE: &str = "have the operator raise `--memory-max`, or take a version of it that has a wheel";
/// What a guest's Python says to who starts a program.
const NO_PROCESSES: &str = "no processes in this sandbox";
/// Characters shown of a path.
const MAX_SHOWN: usize = 100;
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
pub(super) type Made = Result<(String, Vec<u8>), Unbuilt>;

/// Why a source distribution was not built, and what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unbuilt {
    pub(crate) why: String,
    pub(crate) hint: &'static str,
}

impl Unbuilt {
    /// It lies in the source itself.
    pub(crate) fn by_itself(why: &str) -> Self {
        Self { why: why.to_owned(), hint: "take another version of it, or one that has a wheel" }
    }

    /// It needs a compiler.
    fn native(why: String) -> Self {
        let hint = "packages with native code need the Docker provider; an older version may be pure Python";
        Self { why, hint }
    }

    /// What builds it is not to be had.
    fn tools(error: &Error) -> Self {
        let hint = match error.code() {
            ErrorCode::CapabilityUnavailable if error.message().contains("allow") => {
                "have the operator add what builds it, and what that needs, to `--package-allow` (`DORMOUSE_PACKAGE_ALLOW`)"
            }
            _ => "take a version of it that has a wheel",
        };
        Self { why: format!("what builds it cannot be had: {}", error.message()), hint }
    }

    /// It ended otherwise than with a wheel.
    fn ended(outcome: &Outcome) -> Self {
        let hint = match &outcome.status {
            Status::Stopped(error) if error.code() == ErrorCode::LimitTime => {
                "have the operator raise `--timeout-max`, or take a version of it that has a wheel"
            }
            Status::Stopped(error) if error.code() == ErrorCode::LimitMemory => TOO_LITTLE,
            Status::Raised(exception) if exception.class == "MemoryError" => TOO_LITTLE,
            _ => "take another version of it, or one that has a wheel",
        };
        Self { why: failed(outcome), hint }
    }
}

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
        let leads_out = |path: &&String| path.starts_with('/') || path.split('/').any(|part| part == "..");
        if let Some(path) = table.iter().flat_map(|table| &table.backend_path).find(leads_out) {
            let shown: String = path.escape_debug().take(MAX_SHOWN).collect();
            return Err(format!("the back end that its pyproject.toml names lies outside of it: `{shown}`"));
        }
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
        let Sdist { filename, url, digest } = sdist;
        let packed = self.source.file(self.index, url, digest, filename, self.progress).await?;
        let (label, room) = (filename.clone(), self.settings.bounds.unpacked.min(MAX_SOURCE));
        let files = match blocking(move || archive::source(&label, &packed, room)).await? {
            Ok(files) => files,
            Err(error) => return Ok(Err(Unbuilt::by_itself(error.message()))),
        };
        self.built(name.as_ref(), &files, false).await
    }

    /// A wheel of a source; an editable one leads to where that lies.
    ///
    /// # Errors
    /// That no room was free to build it.
    pub(super) async fn built(
        &self,
        name: &str,
        files: &[archive::Unpacked],
        editable: bool,
    ) -> Result<Made> {
        let Some(machines) = self.machines else {
            return Ok(Err(Unbuilt::by_itself("nothing can be built here")));
        };
        if self.count_build() > MAX_BUILDS {
            let why = format!("more than {MAX_BUILDS} packages had to be built from their source");
            return Ok(Err(Unbuilt { why, hint: "install fewer packages at a time" }));
        }
        (self.progress)(PackageEvent::Building { name: name.to_owned() });
        let system = match BuildSystem::of(files) {
            Ok(system) => system,
            Err(why) => return Ok(Err(Unbuilt::by_itself(&why))),
        };
        if let Some(compiler) = system.compiler() {
            let why = format!("it is compiled ({compiler}), and a sandbox has no compiler");
            return Ok(Err(Unbuilt::native(why)));
        }
        let mut requires = system.requires.clone();
        for settled in [false, true] {
            let mut all = match self.tools(&requires).await {
                Ok(tools) => tools,
                Err(error) => return Ok(Err(Unbuilt::tools(&error))),
            };
            for file in files {
                all.push((below(&format!("source/{}", file.path))?, file.bytes.clone()));
            }
            let asked = json!({
                "backend": system.backend,
                "backend_path": system.backend_path,
                "kind": if editable { "editable" } else { "wheel" },
                "settled": settled,
            });
            all.push((below("build.json")?, asked.to_string().into_bytes()));
            let most = self.settings.bounds.archive;
            let build = Build { files: all, code: SCRIPT.to_owned(), takes: below("wheels")?, most };
            let Built { outcome, file } = machines.build(&self.owner, build).await?;
            let Some(wanted) = answered(&outcome) else { return Ok(Err(unbuilt(&outcome))) };
            match file {
                Some((name, bytes)) => return Ok(Ok((name, bytes))),
                None if wanted.is_empty() || settled => return Ok(Err(no_wheel())),
                None => requires.extend(wanted),
            }
        }
        Ok(Err(no_wheel()))
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

fn no_wheel() -> Unbuilt {
    Unbuilt::by_itself("its build made no wheel")
}

/// Why a build failed.
fn unbuilt(outcome: &Outcome) -> Unbuilt {
    let said = [&outcome.stderr.text, &outcome.stdout.text, &ended(outcome)];
    if said.iter().any(|text| text.contains(NO_PROCESSES)) {
        let why = "its build asks for a compiler or another program, and a sandbox has none";
        return Unbuilt::native(why.into());
    }
    Unbuilt::ended(outcome)
}

fn ended(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Raised(exception) if exception.message.is_empty() => exception.class.clone(),
        Status::Raised(exception) => format!("{}: {}", exception.class, exception.message),
        Status::Exited(status) => format!("it exited with {status}"),
        Status::Stopped(error) => error.message().to_owned(),
        Status::Returned(_) => "it did not answer as a build does".to_owned(),
    }
}

/// How a build ended, in one line, with the last line that it wrote about an error, or its last line at all.
fn failed(outcome: &Outcome) -> String {
    let lines =
        || [&outcome.stderr.text, &outcome.stdout.text].into_iter().flat_map(|text| text.lines().rev());
    let last =
        lines().find(|line| line.contains("rror")).or_else(|| lines().find(|line| !line.trim().is_empty()));
    let ended = ended(outcome);
    let told = match last {
        Some(line) => format!("its build failed: {} ({ended})", line.trim()),
        None => format!("its build failed: {ended}"),
    };
    let plain =
        told.chars().map(|letter| if letter.is_control() || hides_text(letter) { ' ' } else { letter });
    plain.take(MAX_TOLD).collect()
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
