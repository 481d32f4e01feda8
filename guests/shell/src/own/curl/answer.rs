//! The body of an answer: unpacked where it is wanted, and written as it comes.

use std::time::{Instant, SystemTime};

use dormouse_contract::net::Head;

use super::super::web::desk::Desk;
use super::super::web::encoding::Decoder;
use super::super::web::exchange::Talk;
use super::super::web::sink::Sink;
use super::super::web::{dates, headers};
use super::failure::{ENCODING, Failure, LARGE, RANGE, WRITE};
use super::settings::Settings;
use super::write_out::Report;

/// The most bytes of a body that nobody wants, which are read for the sake of the connection.
const DRAINED: usize = 64 << 10;
/// Bytes that are unpacked at once: what they come to may be a thousand times as much.
const UNPACKED: usize = 4 << 10;

/// How an answer is taken.
pub(super) struct Answer<'a> {
    pub(super) set: &'a Settings,
    pub(super) desk: &'a Desk<'a>,
    /// The first byte that was asked for.
    pub(super) from: u64,
    pub(super) is_head: bool,
}

impl Answer<'_> {
    pub(super) async fn receive(
        &self,
        talk: &mut Talk,
        head: &Head,
        sink: &mut Sink,
        begun: Instant,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let text = |name| headers::text(&head.headers, name);
        if self.is_head {
            drain(talk).await;
            report.file = sink.name().map(str::to_owned);
            return Ok(());
        }
        if self.from > 0 && head.status == 416 {
            // All of it is there.
            return Ok(());
        }
        if self.from > 0 && head.status == 200 {
            let told = "HTTP server doesn't seem to support byte ranges. Cannot resume.";
            return Err(Failure::new(RANGE, told));
        }
        if self.set.served_name
            && let Some(name) = headers::file_name(&head.headers)
        {
            self.rename(sink, &name).await?;
        }
        report.file = sink.name().map(str::to_owned);
        let length = text("content-length").and_then(|text| text.parse::<u64>().ok());
        let too_large = || Failure::new(LARGE, "Maximum file size exceeded");
        if self.set.largest.is_some_and(|most| length.is_some_and(|length| length > most)) {
            return Err(too_large());
        }
        let encoding = text("content-encoding").filter(|_| self.set.compressed).unwrap_or_default();
        let mut decoder = Decoder::of(&encoding).ok_or_else(|| {
            let told =
                "Unrecognized content encoding type. libcurl understands deflate, gzip content encodings.";
            Failure::new(ENCODING, told)
        })?;
        let broken = |_| Failure::new(ENCODING, "Error while processing content unencoding");
        loop {
            let came = report.received;
            let piece = talk.piece().await;
            let piece = piece.map_err(|why| Failure::of_body(why, begun.elapsed(), came, length))?;
            if piece.is_empty() {
                break;
            }
            report.received += piece.len() as u64;
            if self.set.largest.is_some_and(|most| report.received > most) {
                return Err(too_large());
            }
            if matches!(decoder, Decoder::Plain) {
                sink.write(&piece, self.desk).await.map_err(Failure::unwritten)?;
                continue;
            }
            for part in piece.chunks(UNPACKED) {
                let bytes = decoder.push(part.to_vec()).map_err(broken)?;
                sink.write(&bytes, self.desk).await.map_err(Failure::unwritten)?;
            }
        }
        let rest = decoder.finish().map_err(broken)?;
        sink.write(&rest, self.desk).await.map_err(Failure::unwritten)?;
        sink.finish(self.desk).await.map_err(Failure::unwritten)?;
        if self.set.remote_time
            && let Some(path) = sink.file()
            && let Some(time) = text("last-modified").and_then(|text| dates::time(&text))
        {
            self.stamp(path, time).await?;
        }
        Ok(())
    }

    /// Takes the name that the server gives.
    async fn rename(&self, sink: &mut Sink, name: &str) -> Result<(), Failure> {
        let Some(path) = sink.file() else { return Ok(()) };
        let path = path.with_file_name(name);
        if self.desk.fs.exists(&path).await? {
            let told = format!("Failed writing received data to disk/application: {name} is there already");
            return Err(Failure::new(WRITE, told));
        }
        *sink = Sink::at(path);
        Ok(())
    }

    async fn stamp(&self, path: &std::path::Path, time: SystemTime) -> Result<(), Failure> {
        Ok(self.desk.fs.set_modified_time(path, time).await?)
    }
}

/// Reads a body that nobody wants, as long as it is short.
pub(super) async fn drain(talk: &mut Talk) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < DRAINED {
        match talk.piece().await {
            Ok(piece) if !piece.is_empty() => all.extend(piece),
            _ => break,
        }
    }
    all
}
