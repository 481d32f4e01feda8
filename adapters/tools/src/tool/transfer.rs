//! `sandbox_upload` and `sandbox_download`: whole files and archives, in and out.

use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use dormouse_core::fair::{Fair, Full};
use dormouse_core::sandbox::{Batch, Owner, Piece};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::files::{MAX_BASE64, base64};
use super::read::{MAX_PLACE, path, path_field};
use super::verb::{Answer, CHANGES, Kept, Verb, by_id, naming};
use crate::archive::{self, MAX_PACKED, unpack};
use crate::decode::Arguments;
use crate::field::{Absent, Field, Kind};
use crate::resource;
use crate::schema::{self, Object};

/// Largest file that is downloaded, in bytes (256 MiB).
const MAX_FILE: u64 = archive::MAX_BYTES;
/// Bytes of a file of the host that are on their way at a time (8 MiB).
const PIECE: u64 = 8 << 20;
/// Largest file that comes within an answer, in bytes (48 KiB).
const INLINE: u64 = 48 << 10;

pub(crate) fn upload() -> Verb {
    Verb {
        name: "sandbox_upload",
        title: "Upload a file or an archive to a sandbox",
        description: "Puts a whole file into a sandbox, from base64 or from a file of the host that the operator allows. \
            A larger file comes in pieces, with `offset`. With `unpack` it is a zip, tar or tar.gz, and its files are put below `path`. All of it is written or nothing. \
            An archive with links, devices, absolute paths or `..`, or one that unpacks to far more than its size, is \
            refused as a whole.",
        fields: naming([
            path_field(),
            Field::new(
                "content_base64",
                Kind::Text { min: 0, max: MAX_BASE64, absent: Absent::None },
                "The bytes as base64, at most 8 MiB. Or `host_path`.",
            ),
            Field::text(
                "host_path",
                64 << 10,
                Absent::None,
                "A file of the host of any size, instead of `content_base64`.",
            ),
            Field::flag("unpack", "It is an archive, and `path` the folder for its files. Default false."),
            Field::integer(
                "offset",
                (0, MAX_PLACE),
                Absent::None,
                "For a file that comes in pieces: where this piece begins. 0 begins the file; later ones go where it ends.",
            ),
        ]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("path", schema::text("The file, or the folder that was unpacked into."))
            .optional("files", schema::integer(0, "Files that were written."))
            .optional("bytes", schema::integer(0, "Bytes that were written."))
            .optional("size_bytes", schema::integer(0, "Bytes that the file has now; only of a piece."))
            .optional("sha256", schema::text("SHA-256 of what was uploaded, in hexadecimal.")),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(take(kept, arguments, &caller.owner)),
    }
}

async fn take(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let path = path(&mut arguments)?;
    let is_archive = arguments.flag("unpack");
    let offset = arguments.integer("offset");
    if offset.is_some() && (is_archive || arguments.is_given("host_path")) {
        return Err(Error::args_invalid("only a file by content comes in pieces")
            .with_hint("leave out `offset`, or give `content_base64` without `unpack`"));
    }
    if !is_archive
        && !arguments.is_given("content_base64")
        && let Some(host) = arguments.take_text("host_path")
    {
        return from_host(kept, arguments, owner, (host, path)).await;
    }
    let bytes = match (arguments.take_text("content_base64"), arguments.take_text("host_path")) {
        (Some(text), None) => base64("content_base64", &text)?,
        (None, Some(host)) => kept.host.read(host, MAX_PACKED).await?.bytes,
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
    let target = path.clone();
    if let Some(offset) = offset {
        let written = bytes.len();
        let id = kept.there_or_new(&mut arguments, owner).await?;
        let size = kept.sandboxes.write_piece(owner, &by_id(&id), target, offset, bytes).await?;
        let answer = json!({
            "sandbox_id": id.as_str(),
            "path": path.as_str(),
            "files": 1,
            "bytes": written,
            "size_bytes": size,
            "sha256": sha256,
        });
        return Ok(answer.into());
    }
    let id = kept.there_or_new(&mut arguments, owner).await?;
    let handle = by_id(&id);
    let (count, size) = if is_archive {
        let contents = unpacked(&kept.archives, owner, bytes, target);
        kept.sandboxes.upload_at_its_turn(owner, &handle, contents).await?
    } else {
        let size = bytes.len() as u64;
        kept.sandboxes.upload(owner, &handle, Vec::new(), vec![(target, bytes)]).await?;
        (1, size)
    };
    let answer = json!({
        "sandbox_id": id.as_str(),
        "path": path.as_str(),
        "files": count,
        "bytes": size,
        "sha256": sha256,
    });
    Ok(answer.into())
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
    Error::new(ErrorCode::Busy, format!("{waiting} archives wait to be unpacked already"))
        .with_hint("try again in a moment, or send one archive after the other")
}

/// A file of the host, piece by piece: it is gathered beside its place and renamed at its end.
async fn from_host(
    kept: &Kept,
    mut arguments: Arguments,
    owner: &Owner,
    (host, path): (String, GuestPath),
) -> Result<Answer> {
    let mut file = kept.host.open(host).await?;
    let id = kept.there_or_new(&mut arguments, owner).await?;
    let handle = by_id(&id);
    let mut upload = kept.sandboxes.upload_in_pieces(owner, &handle, path.clone())?;
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
    let size = upload.finish().await?;
    // What is acknowledged is saved, as that of any other upload.
    kept.sandboxes.upload(owner, &handle, Vec::new(), Vec::new()).await?;
    let answer = json!({
        "sandbox_id": id.as_str(),
        "path": path.as_str(),
        "files": 1,
        "bytes": size,
        "sha256": HEXLOWER.encode(&sum.finalize()),
    });
    Ok(answer.into())
}

pub(crate) fn download() -> Verb {
    let named = Object::new()
        .description("A name for the file, for front doors that hand out resources.")
        .required("uri", schema::text("Its address."))
        .required("name", schema::text("Its name. Untrusted text."))
        .required("mime_type", schema::text("What it holds, by its name."))
        .required("size_bytes", schema::integer(0, "Its size."))
        .build();
    Verb {
        name: "sandbox_download",
        title: "Download a file of a sandbox",
        description: "Takes a whole file out of a sandbox. A file of at most 48 KiB comes as base64. A larger one, or any \
            with `save`, is written below the operator's folder for downloads, and `host_path` says where. Without such a \
            folder only its size and sum come back: read it in pieces with sandbox_read.",
        fields: naming([
            path_field(),
            Field::flag("save", "Writes it below the operator's folder, however small. Default false."),
        ]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("path", schema::text("The file."))
            .optional("size_bytes", schema::integer(0, "Its size."))
            .optional("sha256", schema::text("SHA-256 of it, in hexadecimal."))
            .optional("content_base64", schema::text("The file; only when it is small and not saved."))
            .optional("host_path", schema::text("Where it was saved; only when it was."))
            .optional("resource", named),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(give(kept, arguments, &caller.owner)),
    }
}

async fn give(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let path = path(&mut arguments)?;
    let id = kept.there(&mut arguments, owner)?;
    let Piece { bytes, size, .. } =
        kept.sandboxes.read(owner, &by_id(&id), path.clone(), 0, MAX_FILE).await?;
    if size > bytes.len() as u64 {
        return Err(Error::new(ErrorCode::TooLarge, format!("`{path}` has more than {MAX_FILE} bytes"))
            .with_hint("read it in pieces with sandbox_read"));
    }
    let name = path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    let mut answer = json!({
        "sandbox_id": id.as_str(),
        "path": path.as_str(),
        "size_bytes": size,
        "sha256": HEXLOWER.encode(&Sha256::digest(&bytes)),
        "resource": {
            "uri": resource::uri(&id, &path),
            "name": name,
            "mime_type": resource::mime(&name),
            "size_bytes": size,
        },
    });
    let save = arguments.flag("save");
    if save || (size > INLINE && kept.host.can_write()) {
        let saved = kept.host.save(id.as_str().to_owned(), name, bytes).await?;
        answer["host_path"] = saved.display().to_string().into();
    } else if size <= INLINE {
        answer["content_base64"] = BASE64.encode(&bytes).into();
    }
    Ok(answer.into())
}
