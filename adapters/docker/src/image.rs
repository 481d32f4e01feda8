//! Images: which may be used, where they come from, and what of them has to be neutralised.
//!
//! Owns: the allow-list, the form of references, pulling. An image's own entry point, user, health check and command are
//! never used; the paths that it declares as volumes are covered, so that nothing of it is writable without a bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bollard::query_parameters::CreateImageOptionsBuilder;
use dormouse_containers::pulse;
use dormouse_core::{Error, ErrorCode, Result};
use futures::StreamExt as _;
use tokio::time::timeout;

use crate::engine::Engine;
use crate::fault::{is_missing, wrong};
use crate::settings::Settings;

/// How long it is remembered which image a reference stands for.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Longest reference, in bytes.
const MAX_REFERENCE: usize = 512;
/// Most volumes that an image may declare.
const MAX_VOLUMES: usize = 16;

/// An image that the engine has and the operator allows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// What the engine calls it: `sha256:…`.
    pub(crate) id: String,
    /// What people call it.
    pub(crate) reference: String,
    /// Paths that it declares as volumes.
    pub(crate) volumes: Vec<String>,
}

/// The images that were asked for lately.
#[derive(Default)]
pub(crate) struct Images(Mutex<HashMap<String, (Instant, Arc<Image>)>>);

/// The reference that is meant, if it is allowed; none asked for means the first one.
///
/// # Errors
/// `args_invalid` for what is no reference; `capability_unavailable` for what is not allowed.
pub(crate) fn allowed<'a>(settings: &'a Settings, asked: Option<&str>) -> Result<&'a str> {
    let Some(asked) = asked else {
        return settings.images.first().map(String::as_str).ok_or_else(|| {
            Error::new(ErrorCode::CapabilityUnavailable, "the operator allows no images")
                .with_hint("the operator allows one with `--docker-image NAME`")
        });
    };
    check_form(asked)?;
    let same = |allowed: &&String| tagged(allowed) == tagged(asked);
    settings.images.iter().find(same).map(String::as_str).ok_or_else(|| {
        let list: Vec<&str> = settings.images.iter().take(20).map(String::as_str).collect();
        Error::new(ErrorCode::CapabilityUnavailable, format!("the image `{asked}` is not allowed")).with_hint(
            if list.is_empty() {
                "the operator allows no images".to_owned()
            } else {
                format!("the operator allows {}", list.join(", "))
            },
        )
    })
}

/// Refuses what is no `[HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST]`.
fn check_form(reference: &str) -> Result<()> {
    let refuse = |why: &str| {
        let shown: String = reference.escape_debug().take(80).collect();
        Err(Error::args_invalid(format!("`{shown}` is not an image: {why}"))
            .with_hint("write NAME:TAG or NAME@sha256:DIGEST"))
    };
    if reference.is_empty() || reference.len() > MAX_REFERENCE {
        return refuse("it must have 1 to 512 bytes");
    }
    let (name, digest) = match reference.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (reference, None),
    };
    if let Some(digest) = digest {
        let hexadecimal = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        let digits = digest.strip_prefix("sha256:").unwrap_or_default();
        if digits.len() != 64 || !digits.bytes().all(hexadecimal) {
            return refuse("its digest is not `sha256:` and 64 hexadecimal digits");
        }
    }
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let ends = name.ends_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || !ends || !name.chars().all(fine) || name.contains("..") || name.contains("//") {
        return refuse("a name has letters, digits, `.`, `_`, `-`, `/` and one `:` before its tag");
    }
    Ok(())
}

/// With the tag that no tag means.
fn tagged(reference: &str) -> String {
    let last = reference.rsplit('/').next().unwrap_or_default();
    if last.contains([':', '@']) { reference.to_owned() } else { format!("{reference}:latest") }
}

impl Images {
    /// The image that is meant, pulled if need be.
    ///
    /// # Errors
    /// As [`allowed`]; `capability_unavailable` when the engine does not have it; `provider_unavailable`.
    pub(crate) async fn find(
        &self,
        engine: &Engine,
        settings: &Settings,
        asked: Option<&str>,
    ) -> Result<Arc<Image>> {
        let reference = allowed(settings, asked)?;
        if let Some((at, image)) = self.known().get(reference)
            && at.elapsed() < REMEMBERED
        {
            return Ok(image.clone());
        }
        let image = match look(engine, reference).await? {
            Some(image) => image,
            None if settings.pull => {
                pulse::excused(pull(engine, settings, reference)).await?;
                look(engine, reference).await?.ok_or_else(|| missing(reference, true))?
            }
            None => return Err(missing(reference, false)),
        };
        let image = Arc::new(image);
        self.known().insert(reference.to_owned(), (Instant::now(), image.clone()));
        Ok(image)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, Arc<Image>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(reference: &str, pulled: bool) -> Error {
    let error = Error::new(
        ErrorCode::CapabilityUnavailable,
        format!("the container engine does not have the image `{reference}`"),
    );
    if pulled {
        return error.with_hint("the registry did not give it");
    }
    error.with_hint(format!(
        "`docker pull {reference}`, or have the operator let it be fetched: `--docker-pull`"
    ))
}

/// The image of a reference, if the engine has it.
pub(crate) async fn look(engine: &Engine, reference: &str) -> Result<Option<Image>> {
    let docker = engine.docker().await?;
    let what = "look at an image";
    let looked = engine.ask(what, async {
        match docker.inspect_image(reference).await {
            Err(fault) if is_missing(&fault) => Ok(None),
            looked => looked.map(Some),
        }
    });
    let Some(found) = looked.await? else { return Ok(None) };
    let refuse = |why: String| {
        Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("the image `{reference}` cannot be used: {why}"),
        )
        .with_hint("use another image"))
    };
    let architecture = found.architecture.unwrap_or_default();
    let info = engine.ask("ask the container engine for its version", docker.version()).await?;
    let own = info.arch.unwrap_or_default();
    if !architecture.is_empty() && !own.is_empty() && architecture != own {
        return refuse(format!("it is for {architecture}, the container engine for {own}"));
    }
    if found.os.is_some_and(|os| !os.is_empty() && os != "linux") {
        return refuse("it is not for Linux".into());
    }
    let volumes = found.config.and_then(|config| config.volumes).unwrap_or_default();
    if volumes.len() > MAX_VOLUMES {
        return refuse(format!("it declares {} volumes, more than {MAX_VOLUMES}", volumes.len()));
    }
    let Some(id) = found.id else { return refuse("it has no id".into()) };
    Ok(Some(Image { id, reference: reference.to_owned(), volumes }))
}

/// Pulls an image; what the engine says meanwhile goes to the log.
async fn pull(engine: &Engine, settings: &Settings, reference: &str) -> Result<()> {
    let docker = engine.docker().await?;
    let options = CreateImageOptionsBuilder::default().from_image(&tagged(reference)).build();
    let mut progress = docker.create_image(Some(options), None, None);
    tracing::info!(image = reference, "pulling an image");
    let pulling = async {
        while let Some(step) = progress.next().await {
            let step = step.map_err(|fault| wrong(&format!("pull the image `{reference}`"), fault))?;
            if let Some(fault) = step.error_detail.and_then(|detail| detail.message) {
                let fault: String = fault.chars().filter(|c| !c.is_control()).take(300).collect();
                return Err(Error::new(
                    ErrorCode::CapabilityUnavailable,
                    format!("the image `{reference}` could not be pulled: {fault}"),
                )
                .with_hint("pull it by hand to see why, or use an image that the engine has"));
            }
            tracing::debug!(image = reference, layer = step.id, status = step.status, "pulling");
        }
        Ok(())
    };
    match timeout(settings.pull_within, pulling).await {
        Ok(pulled) => pulled,
        Err(_) => Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("the image `{reference}` was not pulled within {} s", settings.pull_within.as_secs()),
        )
        .with_hint("pull it by hand, then try again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CON-03: a bad tag, and text that a shell would take for more.
    #[test]
    fn con_03_what_is_no_reference_is_refused_and_what_is_not_listed_not_allowed() {
        let digest = "0123456789abcdef".repeat(4);
        let images = vec!["python:3.12".into(), format!("tools@sha256:{digest}"), "busybox".into()];
        let settings = Settings { images, ..Settings::default() };
        assert_eq!(allowed(&settings, None).unwrap(), "python:3.12");
        assert_eq!(allowed(&settings, Some("busybox:latest")).unwrap(), "busybox");
        assert!(allowed(&settings, Some(&format!("tools@sha256:{digest}"))).is_ok());
        let code = |asked: &str| allowed(&settings, Some(asked)).unwrap_err().code();
        for bad in
            ["", "image:latest; rm -rf", "-v", "a b", "a@sha256:12", "a@md5:1", "../x", "a\0", "$(id)", "a:"]
        {
            assert_eq!(code(bad), ErrorCode::ArgsInvalid, "{bad:?}");
        }
        assert_eq!(code(&"a".repeat(513)), ErrorCode::ArgsInvalid);
        for other in ["python", "python:3.13", &format!("tools@sha256:{}", "0".repeat(64))] {
            assert_eq!(code(other), ErrorCode::CapabilityUnavailable, "{other:?}");
        }
    }
}
