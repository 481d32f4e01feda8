//! What a run may touch: mounts, project, environment, clock.

use std::path::{Path, PathBuf};

use dormouse::grants::{WallClock, set_variable};
use dormouse::{Access, Error, ErrorCode, Grants, GuestPath, Mount, Policy, Project, Result, keys};

use super::{source, units};
use crate::args::GrantArgs;

/// The grants of a run, without program arguments, and the policy that allows them.
pub(super) fn grants(arguments: &GrantArgs) -> Result<(Grants, Policy)> {
    let mounts = mounts(&arguments.mounts, arguments.writes, "--writes")?;
    let project = project(arguments.project.as_deref(), arguments.bootstrap.as_deref(), arguments.writes)?;
    let directory = arguments.cwd.as_deref().map(GuestPath::parse).transpose()?;
    let clock = match &arguments.clock {
        Some(text) => WallClock::Fixed(units::instant("--clock", text)?),
        None => WallClock::System,
    };
    let mut environment = Vec::new();
    for text in &arguments.environment {
        set_variable(&mut environment, variable(text)?);
    }
    let stdin = arguments.stdin.as_deref().map(source::input).transpose()?.unwrap_or_default();
    let grants = Grants {
        mounts,
        project,
        environment,
        program: None,
        arguments: Vec::new(),
        directory,
        stdin,
        seed: arguments.seed,
        clock,
    };
    grants.check()?;
    Ok((grants, Policy { allow_writes: arguments.writes, ..Policy::default() }))
}

/// What `--project` and `--bootstrap` mean.
pub(super) fn project(
    folder: Option<&Path>,
    bootstrap: Option<&str>,
    writes: bool,
) -> Result<Option<Project>> {
    let Some(folder) = folder else {
        return match bootstrap {
            Some(_) => Err(Error::args_invalid("`--bootstrap` needs `--project`")
                .with_hint("name the project's folder with --project")),
            None => Ok(None),
        };
    };
    let project = Project {
        source: folder_of("--project", folder)?,
        access: if writes { Access::ReadWrite } else { Access::ReadOnly },
        bootstrap: bootstrap.map(str::to_owned),
    };
    project.check()?;
    Ok(Some(project))
}

/// The folders of `--mount`, each existing and with its real path. `option` is what would allow writes.
pub(super) fn mounts(texts: &[String], writes: bool, option: &str) -> Result<Vec<Mount>> {
    let mut mounts = Vec::with_capacity(texts.len());
    for text in texts {
        let mut mount = Mount::parse(text)?;
        mount.source = folder_of("--mount", &mount.source)?;
        if mount.access == Access::ReadWrite && !writes {
            return Err(Error::new(
                ErrorCode::WriteDenied,
                format!("`--mount {}` requests writes", text.escape_debug()),
            )
            .with_hint(format!("add {option}, or leave `:rw` out")));
        }
        mounts.push(mount);
    }
    Ok(mounts)
}

/// The real path of a folder that exists.
fn folder_of(option: &str, path: &Path) -> Result<PathBuf> {
    let shown = path.display().to_string();
    let refuse = |why: &str| {
        Error::new(
            ErrorCode::PathDenied,
            format!("`{option}`: `{}` cannot be shown: {why}", shown.escape_debug()),
        )
        .with_hint("name a folder that exists and that you can read")
    };
    let real = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => refuse("there is no such folder"),
        _ => refuse(&source::plain(&error)),
    })?;
    if !real.is_dir() {
        return Err(refuse("it is not a folder"));
    }
    keys::check_mount(&real)?;
    for folder in keys::folders().map(|folder| real.join(folder)).filter(|folder| folder.is_dir()) {
        tracing::warn!(option, folder = %folder.display(), "a folder that is shown holds keys");
    }
    Ok(real)
}

fn variable(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(Error::args_invalid(format!("`--env`: `{}` is not NAME=VALUE", text.escape_debug()))
            .with_hint("write `--env NAME=VALUE`; the host's own variables are never passed on")),
    }
}
