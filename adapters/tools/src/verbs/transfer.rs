//! `sandbox_upload` and `sandbox_download`: whole files and archives, in and out.

use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use dormouse_core::fair::{Fair, Full};
use dormouse_core::sandbox::{Batch, Owner, Piece, SandboxId};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};
use sha2::{Digest as _, Sha256};

use super::Verb;
use super::read::{MAX_PLACE, path_row};
use super::write::{MAX_BASE64, base64};
use crate::archive::{self, MAX_PACKED, unpack};
use crate::call::{Answer, Caller};
use crate::resource;
use crate::services::{Services, Target, found};
use crate::spec::{CHANGES, Nested, Order, answer, any_text, arguments, flag, integer, text};

/// Largest file that is downloaded, in bytes (256 MiB).
const MAX_FILE: u64 = archive::MAX_BYTES;
/// Bytes of a file of the host that are on their way at a time (8 MiB).
const PIECE: u64 = 8 << 20;
/// Largest file that comes within an answer, in bytes (48 KiB).
const INLINE: u64 = 48 << 10;

arguments! {
    /// What `sandbox_upload` is asked.
    pub(crate) struct Upload {
        target: Target = Target::table(),
        path: GuestPath = path_row(),
        content_base64: Option<String> =
            any_text(MAX_BASE64, "The bytes as base64, at most 8 MiB. Or `host_path`.").optional(),
        host_path: Option<String> =
            text(64 << 10, "A file of the host of any size, instead of `content_base64`.").optional(),
        unpack: bool = flag("It is an archive, and `path` the folder for its files. Default false."),
        offset: Option<u64> = integer::<u64>(
            (0, MAX_PLACE),
            "For a file that comes in pieces: where this piece begins. 0 begins the file; later ones go where it ends.",
        ).optional(),
    }
}

answer! {
    /// What it answers.
    pub(crate) struct Uploaded {
        sandbox_id: SandboxId = "The sandbox.",
        path: GuestPath = "The file, or the folder that was unpacked into.",
        files: usize = "Files that were written.",
        bytes: u64 = "Bytes that were written.",
        size_bytes: Option<u64> = "Bytes that the file has now; only of a piece.",
        sha256: String = "SHA-256 of what was uploaded, in hexadecimal.",
    }
}

pub(crate) fn upload() -> Verb<Upload, Uploaded> {
    Verb {
        name: "sandbox_upload",
        title: "Upload a file or an archive to a sandbox",
        description: "Puts a whole file into a sandbox, from base64 or from a file of the host that the operator allows. \
            Send a larger file in parts, with `offset`. With `unpack` the content is a zip, tar or tar.gz that is \
            unpacked below `path`. It is written completely or not at all. \
            An archive with links, devices, absolute paths or `..`, or one that unpacks to far more than its size, is \
            refused as a whole.",
        arguments: Upload::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(take(services, caller, asked)),
    }
}

async fn take(services: &Services, caller: &Caller, asked: Upload) -> Result<Answer<Uploaded>> {
    let Upload { target, path, content_base64, host_path, unpack, offset } = asked;
    let owner = &caller.owner;
    if offset.is_some() && (unpack || host_path.is_some()) {
        return Err(Error::args_invalid("only a file given by `content_base64` can be sent in parts")
            .with_hint("leave out `offset`, or give `content_base64` without `unpack`"));
    }
    let bytes = match (content_base64, host_path) {
        (Some(text), None) => base64("content_base64", &text)?,
        (None, Some(host)) if !unpack => return from_host(services, owner, &target, (host, path)).await,
        (None, Some(host)) => services.host.read(host, MAX_PACKED).await?.bytes,
        (Some(_), Some(_)) => {
            return Err(Error::args_invalid("both `content_base64` and `host_path` are given")
                .with_hint("give the bytes, or name a file of the host, and leave the other out"));
        }
        (None, None) => {
            return Err(Error::args_invalid("one of `content_base64` and `host_path` is needed")
                .with_hint("give `content_base64`, or name a file of the host with `host_path`"));
        }
    };
    let sha256 = HEXLOWER.encode(&Sha256::digest(&bytes));
    let size = bytes.len() as u64;
    let sandbox = services.get_or_create(&target, owner).await?;
    let (handle, place) = (found(&sandbox), path.clone());
    let (files, bytes, size_bytes) = if let Some(offset) = offset {
        let whole = services.sandboxes.write_piece(owner, &handle, place, offset, bytes).await?;
        (1, size, Some(whole))
    } else if unpack {
        let contents = unpacked(&services.archives, owner, bytes, place);
        let (files, bytes) = services.sandboxes.upload_at_its_turn(owner, &handle, contents).await?;
        (files, bytes, None)
    } else {
        services.sandboxes.upload(owner, &handle, Vec::new(), vec![(place, bytes)]).await?;
        (1, size, None)
    };
    Ok(Uploaded { sandbox_id: sandbox.id, path, files, bytes, size_bytes, sha256 }.into())
}

/// What an archive holds, when its turn has come: one is unpacked at a time.
async fn unpacked(archives: &Arc<Fair>, owner: &Owner, packed: Vec<u8>, target: GuestPath) -> Result<Batch> {
    let _turn = archives.line(owner).map_err(|full| too_many(&full))?.await;
    let read = tokio::task::spawn_blocking(move || unpack(&packed, &target));
    let unpacked = read.await.map_err(|error| Error::internal("the archive was not read", error))??;
    Ok(Batch { folders: unpacked.folders, files: unpacked.files })
}

/// More archives wait to be unpacked than may.
fn too_many(Full(waiting): &Full) -> Error {
    Error::new(ErrorCode::Busy, format!("{waiting} archives are already waiting to be unpacked"))
        .with_hint("try again in a moment, or send one archive after the other")
}

/// A file of the host, piece by piece: it is gathered beside its place and renamed at its end.
async fn from_host(
    services: &Services,
    owner: &Owner,
    target: &Target,
    (host, path): (String, GuestPath),
) -> Result<Answer<Uploaded>> {
    let mut file = services.host.open(host).await?;
    let sandbox = services.get_or_create(target, owner).await?;
    let handle = found(&sandbox);
    let mut upload = services.sandboxes.upload_in_pieces(owner, &handle, path.clone())?;
    let mut sum = Sha256::new();
    let poured = loop {
        match file.piece(PIECE).await {
            Ok(bytes) if bytes.is_empty() => break Ok(()),
            Ok(bytes) => {
                sum.update(&bytes);
                if let Err(error) = upload.add(bytes).await {
                    break Err(error);
                }
            }
            Err(error) => break Err(error),
        }
    };
    if let Err(error) = poured {
        upload.abandon().await;
        return Err(error);
    }
    let bytes = upload.finish().await?;
    // What is acknowledged is saved, as that of any other upload.
    services.sandboxes.upload(owner, &handle, Vec::new(), Vec::new()).await?;
    let sha256 = HEXLOWER.encode(&sum.finalize());
    Ok(Uploaded { sandbox_id: sandbox.id, path, files: 1, bytes, size_bytes: None, sha256 }.into())
}

arguments! {
    /// What `sandbox_download` is asked.
    pub(crate) struct Download {
        target: Target = Target::table(),
        path: GuestPath = path_row(),
        save: bool = flag("Writes it below the operator's folder, however small. Default false."),
    }
}

answer! {
    /// What it answers.
    pub(crate) struct Downloaded {
        sandbox_id: SandboxId = "The sandbox.",
        path: GuestPath = "The file.",
        size_bytes: u64 = "Its size.",
        sha256: String = "SHA-256 of it, in hexadecimal.",
        content_base64: Option<String> = "The file; only when it is small and not saved.",
        host_path: Option<String> = "Where it was saved; only when it was.",
        resource: Nested<Named> = "The address of the file as a resource.",
    }
}

answer! {
    /// A name for a file.
    pub(crate) struct Named {
        uri: String = "Its address.",
        name: String = "Its name. Untrusted text.",
        mime_type: &'static str = "Its media type, derived from its name.",
        size_bytes: u64 = "Its size.",
    }
}

pub(crate) fn download() -> Verb<Download, Downloaded> {
    Verb {
        name: "sandbox_download",
        title: "Download a file of a sandbox",
        description: "Takes a whole file out of a sandbox. A file of at most 48 KiB comes as base64. A larger one, or any \
            with `save`, is written below the operator's folder for downloads, and `host_path` says where. Without such a \
            folder only its size and sum come back: read it in pieces with sandbox_read.",
        arguments: Download::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(give(services, caller, asked)),
    }
}

async fn give(services: &Services, caller: &Caller, asked: Download) -> Result<Answer<Downloaded>> {
    let Download { target, path, save } = asked;
    let sandbox = services.there(&target, &caller.owner)?;
    let Piece { bytes, size, .. } =
        services.sandboxes.read(&caller.owner, &found(&sandbox), path.clone(), 0, MAX_FILE).await?;
    if size > bytes.len() as u64 {
        return Err(Error::new(ErrorCode::TooLarge, format!("`{path}` has more than {MAX_FILE} bytes"))
            .with_hint("read it in pieces with sandbox_read"));
    }
    let name = path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    let (uri, mime_type) = (resource::uri(&sandbox.id, &path), resource::mime(&name));
    let resource = Nested(Named { uri, name: name.clone(), mime_type, size_bytes: size });
    let sha256 = HEXLOWER.encode(&Sha256::digest(&bytes));
    let (mut content_base64, mut host_path) = (None, None);
    if save || (size > INLINE && services.host.can_write()) {
        let saved = services.host.save(sandbox.id.as_str().to_owned(), name, bytes).await?;
        host_path = Some(saved.display().to_string());
    } else if size <= INLINE {
        content_base64 = Some(BASE64.encode(&bytes));
    }
    let answer = Downloaded {
        sandbox_id: sandbox.id,
        path,
        size_bytes: size,
        sha256,
        content_base64,
        host_path,
        resource,
    };
    Ok(answer.into())
}
