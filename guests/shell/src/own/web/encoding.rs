//! Bodies that a server has compressed, unpacked piece by piece.

use std::io::{self, Write as _};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// What is asked for.
pub(in crate::own) const ACCEPTED: &str = "deflate, gzip";

/// Unpacks a body.
pub(in crate::own) enum Decoder {
    Plain,
    Gzip(MultiGzDecoder<Vec<u8>>),
    /// Its first two bytes say which it is.
    Deflate(Vec<u8>),
    Zlib(ZlibDecoder<Vec<u8>>),
    Raw(DeflateDecoder<Vec<u8>>),
}

impl Decoder {
    /// For a `Content-Encoding`; none: it is not known here.
    pub(in crate::own) fn of(encoding: &str) -> Option<Self> {
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" | "none" => Some(Self::Plain),
            "gzip" | "x-gzip" => Some(Self::Gzip(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Some(Self::Deflate(Vec::new())),
            _ => None,
        }
    }

    /// What the next bytes unpack to.
    pub(in crate::own) fn push(&mut self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(bytes),
            Self::Gzip(decoder) => {
                decoder.write_all(&bytes)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zlib(decoder) => {
                decoder.write_all(&bytes)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Raw(decoder) => {
                decoder.write_all(&bytes)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Deflate(held) => {
                held.extend(bytes);
                let [first, second, ..] = held.as_slice() else { return Ok(Vec::new()) };
                let is_zlib = first & 15 == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0;
                let held = std::mem::take(held);
                *self = match is_zlib {
                    true => Self::Zlib(ZlibDecoder::new(Vec::new())),
                    false => Self::Raw(DeflateDecoder::new(Vec::new())),
                };
                self.push(held)
            }
        }
    }

    /// What is left at the end.
    pub(in crate::own) fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain | Self::Deflate(_) => Ok(Vec::new()),
            Self::Gzip(decoder) => decoder.finish(),
            Self::Zlib(decoder) => decoder.finish(),
            Self::Raw(decoder) => decoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn unpacked(encoding: &str, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut decoder = Decoder::of(encoding).unwrap();
        let mut out = Vec::new();
        for byte in bytes {
            out.extend(decoder.push(vec![*byte])?);
        }
        out.extend(decoder.finish()?);
        Ok(out)
    }

    #[test]
    fn a_body_is_unpacked_byte_by_byte() {
        let text = b"what was packed ".repeat(100);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&text).unwrap();
        zlib.write_all(&text).unwrap();
        raw.write_all(&text).unwrap();
        let packed = [
            ("gzip", gzip.finish().unwrap()),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", raw.finish().unwrap()),
            ("", text.clone()),
        ];
        for (encoding, bytes) in packed {
            assert_eq!(unpacked(encoding, &bytes).unwrap(), text, "{encoding}");
        }
        assert!(unpacked("gzip", b"this is not packed").is_err());
        assert!(Decoder::of("br").is_none());
    }
}
