//! The sources of this process, for a run and for a check: `wasm`, `docker`, and programs of the operator's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse::{Access, Error, ErrorCode, Mount, Result};
use dormouse_docker::DockerProvider;
use dormouse_git::Remotes;
use dormouse_scenario::Plan;
use dormouse_sources::{
    CommandSource, DockerSource, HostRepositories, MakeSurface, MayClone, Mountable, Outside, Registry,
    Source, WasmSource,
};
use dormouse_tools::Surface;

use super::containers::EngineContainers;
use crate::args::{DockerArgs, SourceArgs};
use crate::command::serving::Serving;
use crate::settings::{self, Checked};

/// The folders of the files.
pub(super) fn folders(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let folder = |file: &PathBuf| {
        let file = file.canonicalize().map_err(|error| {
            Error::args_invalid(format!("`{}` cannot be read", file.display())).with_source(error)
        })?;
        Ok(file.parent().unwrap_or(Path::new("/")).to_owned())
    };
    let mut folders = files.iter().map(folder).collect::<Result<Vec<_>>>()?;
    folders.sort();
    folders.dedup();
    Ok(folders)
}

/// Which folders `mounts` may name, for every source: those of the files and those of `--mount`, to be written where
/// `--allow-writes` says so, and the skills that the arena names.
pub(super) fn mountable(files: &[PathBuf], plan: &Plan, mounts: &[Mount], writes: bool) -> Result<Mountable> {
    let most = if writes { Access::ReadWrite } else { Access::ReadOnly };
    let files = files.iter().map(|folder| (folder, most));
    let skills = plan.skills.iter().map(|(_, folder)| (folder, Access::ReadOnly));
    let mounts = mounts.iter().map(|mount| (&mount.source, mount.access));
    let all = files.chain(skills).chain(mounts);
    all.into_iter().try_fold(Mountable::default(), |rule, (folder, most)| rule.folder(folder, most))
}

/// The sources of a run.
pub(super) fn of_run(serving: &Serving, arguments: &SourceArgs, rule: &Mountable) -> Result<Registry> {
    let outside = serving.meant().confined.outside();
    let sandboxes = serving.sandboxes().cloned();
    let may = may_clone(serving.meant().remotes.clone());
    let (wasm, repositories) = match sandboxes {
        Some(sandboxes) => {
            let (runtime, skills) = (serving.runtime().clone(), serving.meant().skills.clone());
            let make: Arc<MakeSurface> =
                Arc::new(move || Surface::new(runtime.clone()).with_skills(skills.clone()));
            let wasm = WasmSource::new(sandboxes.clone(), make.clone()).with_grants(&serving.meant().grants);
            (Some(wasm), HostRepositories::new(may.clone(), sandboxes, make))
        }
        None => (None, HostRepositories::checking(may.clone())),
    };
    let wasm = wasm.map(|wasm| wasm.with_repositories(may));
    all((wasm, repositories), serving.docker().cloned(), &outside, arguments, rule)
}

/// What the operator says of an address of a repository.
fn may_clone(remotes: Option<Arc<Remotes>>) -> Arc<MayClone> {
    Arc::new(move |address| match &remotes {
        Some(remotes) => remotes.check(address),
        None => Err(Error::new(ErrorCode::CapabilityUnavailable, "no repository may be cloned here")
            .with_hint("allow its address with --allow-git URL, or --allow-git URL=VAR for its credential")),
    })
}

/// The same for a check: they refuse what those of a run refuse, and open nothing.
pub(super) fn of_check(arguments: &SourceArgs, rule: &Mountable, given: &Checked) -> Result<Registry> {
    let docker = settings::docker::engine(&arguments.docker)?;
    let may = may_clone(settings::git::remotes(&arguments.git, None)?);
    let wasm = WasmSource::checking()
        .with_grants(&given.grants)
        .with_rules(given.rules.clone())
        .with_repositories(may.clone());
    let repositories = HostRepositories::checking(may);
    all((Some(wasm), repositories), docker, &Outside::default(), arguments, rule)
}

fn all(
    (wasm, repositories): (Option<WasmSource>, HostRepositories),
    docker: Option<DockerProvider>,
    outside: &Outside,
    arguments: &SourceArgs,
    rule: &Mountable,
) -> Result<Registry> {
    let mut registry = Registry::default().with_outside(outside.clone());
    if let Some(source) = wasm {
        registry.register("wasm", Arc::new(source.with_mountable(rule.clone())));
    }
    let docker = match docker {
        Some(provider) => DockerSource::new(Arc::new(EngineContainers(provider))),
        None => lacking(&arguments.docker),
    };
    let docker = docker
        .with_mountable(rule.clone())
        .with_repositories(Arc::new(repositories))
        .with_network(arguments.docker_network);
    registry.register("docker", Arc::new(docker));
    for text in &arguments.sources {
        let (name, words) = own(text)?;
        if registry.find(&name).is_ok() {
            let message = format!("`--source`: there is a source `{name}` already");
            return Err(Error::args_invalid(message).with_hint("give it another name"));
        }
        let source: Arc<dyn Source> = Arc::new(CommandSource::new(words, outside.programs.clone())?);
        registry.register(&name, source);
    }
    Ok(registry)
}

/// The source `docker` without an image that it may start.
fn lacking(arguments: &DockerArgs) -> DockerSource {
    match arguments.no_docker {
        true => DockerSource::lacking(
            "the source `docker` has no engine: `--no-docker` says so",
            "leave --no-docker out, and allow the image with --docker-image IMAGE",
        ),
        false => DockerSource::lacking(
            "the source `docker` has no image that it may start",
            "allow the image with --docker-image IMAGE (docs/providers.md)",
        ),
    }
}

/// What `--source` means: a name, and a program with its arguments.
pub(super) fn own(text: &str) -> Result<(String, Vec<String>)> {
    let wrong = |why: &str| {
        Error::args_invalid(format!("`--source`: `{}` {why}", text.escape_debug()))
            .with_hint("write `--source NAME=COMMAND`; quotes group words, as in a shell")
    };
    let (name, command) = text.split_once('=').ok_or_else(|| wrong("is not NAME=COMMAND"))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(wrong("has no name of 1 to 64 letters, digits, `-` and `_`"));
    }
    let words = shlex::split(command).ok_or_else(|| wrong("has a quote that does not end"))?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok((name.to_owned(), words)),
        _ => Err(wrong("names no program")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_ones_own_has_a_name_and_words() {
        let (name, words) = own("pod-man=python3 'my source.py' --fast").unwrap();
        assert_eq!(
            (name.as_str(), words),
            ("pod-man", vec!["python3".into(), "my source.py".into(), "--fast".into()])
        );
        for wrong in ["x", "=x", "a b=x", "x=", "x='", "x=''"] {
            assert!(own(wrong).unwrap_err().message().starts_with("`--source`: "), "{wrong}");
        }
    }

    #[test]
    fn docker_and_wasm_are_there_whatever_is_said_and_nothing_takes_their_names() {
        let rule = Mountable::default();
        for no_docker in [false, true] {
            let docker = DockerArgs { no_docker, ..DockerArgs::default() };
            let sources = vec!["mine=cat".to_owned()];
            let registry = of_check(
                &SourceArgs { docker, sources, ..SourceArgs::default() },
                &rule,
                &Checked::default(),
            )
            .unwrap();
            for name in ["wasm", "docker", "mine"] {
                assert!(registry.find(name).is_ok(), "{name}");
            }
            let args = serde_json::Map::from_iter([("image".to_owned(), "x".into())]);
            let error = registry.find("docker").unwrap().check(&args).unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains("--docker-image")), "{error}");
            assert_eq!(error.message().contains("--no-docker"), no_docker, "{error}");
        }
        let sources = vec!["wasm=cat".to_owned()];
        let arguments = SourceArgs { sources, ..SourceArgs::default() };
        assert!(of_check(&arguments, &rule, &Checked::default()).is_err());
    }
}
