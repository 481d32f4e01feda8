//! Archives into a container of the engine and out of it, by its id.

use std::io::{self, Write};

use bollard::query_parameters::{DownloadFromContainerOptionsBuilder, UploadToContainerOptionsBuilder};
use dormouse_containers::{Archive, BrokenOff, pieces};
use dormouse_core::Result;
use futures::TryStreamExt as _;
use tokio::time::timeout;

use crate::fault::{slow, wrong};
use crate::shared::Shared;

/// Sends what `write` writes as an archive into a folder of a container.
///
/// # Errors
/// As [`put`].
pub(crate) async fn send(
    shared: &Shared,
    container: &str,
    folder: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Result<()> {
    let (body, writing) = pieces(write);
    let sent = put(shared, container, folder, body).await;
    let _ended = writing.await;
    sent
}

/// Sends an archive into a folder of a container.
///
/// # Errors
/// `limit_disk` when it does not fit; `provider_unavailable`.
pub(crate) async fn put(shared: &Shared, container: &str, folder: &str, archive: Archive) -> Result<()> {
    let within = shared.settings.transfer_within;
    let docker = shared.engine.docker().await?.clone().with_timeout(within);
    let options = UploadToContainerOptionsBuilder::default().path(folder).build();
    let what = "put files into a container";
    let body = bollard::body_try_stream(archive);
    let sent = timeout(within, docker.upload_to_container(container, Some(options), body)).await;
    sent.map_err(|_| slow(what, within))?.map_err(|fault| wrong(what, fault))
}

/// An archive of a folder of a container.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn get(shared: &Shared, container: &str, folder: &str) -> Result<Archive> {
    let docker = shared.engine.docker().await?.clone().with_timeout(shared.settings.transfer_within);
    let options = DownloadFromContainerOptionsBuilder::default().path(folder).build();
    let stream = docker.download_from_container(container, Some(options));
    Ok(Box::pin(stream.map_err(|fault| io::Error::other(BrokenOff(Box::new(fault))))))
}
