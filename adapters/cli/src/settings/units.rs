//! Times and sizes as people write them.

use std::time::{Duration, SystemTime};

use bytesize::ByteSize;
use dormouse::{Error, Result};

/// A duration such as `10s`, `500ms` or `1m 30s`. A bare number is refused: it could mean anything.
pub(crate) fn duration(option: &str, text: &str) -> Result<Duration> {
    let hint = match text.parse::<f64>() {
        Ok(_) => format!("a time needs a unit: write `{option} {text}s` or `{option} {text}ms`"),
        Err(_) => "write a time such as `10s`, `500ms` or `1m 30s`".into(),
    };
    humantime::parse_duration(text).map_err(|_| {
        Error::args_invalid(format!("`{option}`: `{}` is not a time", text.escape_debug())).with_hint(hint)
    })
}

/// A size such as `256MiB`, `1GB` or `4096` (bytes).
pub(crate) fn size(option: &str, text: &str) -> Result<u64> {
    let size = text.parse::<ByteSize>().map_err(|_| {
        Error::args_invalid(format!("`{option}`: `{}` is not a size", text.escape_debug()))
            .with_hint("write a size such as `256MiB`, `1GB` or `4096` (bytes)")
    })?;
    Ok(size.as_u64())
}

/// A number of cores such as `2` or `0.5`, in thousandths.
pub(crate) fn thousandths(option: &str, text: &str) -> Result<u64> {
    let wrong = || {
        Error::args_invalid(format!("`{option}`: `{}` is not a number of cores", text.escape_debug()))
            .with_hint("write a number such as `2` or `0.5`, in thousandths at the finest")
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 3 || whole.len() > 6 {
        return Err(wrong());
    }
    let (whole, part): (u64, u64) =
        (whole.parse().map_err(|_| wrong())?, format!("{part:0<3}").parse().map_err(|_| wrong())?);
    Ok(whole * 1_000 + part)
}

/// An instant such as `2026-01-31T12:00:00Z`.
pub(crate) fn instant(option: &str, text: &str) -> Result<SystemTime> {
    humantime::parse_rfc3339_weak(text).map_err(|_| {
        Error::args_invalid(format!("`{option}`: `{}` is not an instant", text.escape_debug()))
            .with_hint("write it as `2026-01-31T12:00:00Z`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit() {
        for (text, ms) in [("10s", 10_000), ("500ms", 500), ("1m 30s", 90_000), ("2min", 120_000)] {
            assert_eq!(duration("--timeout", text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        for text in ["", "10", "1.5", "-1s", "ten", "10 s x", "s", "99999999999999999999s"] {
            assert!(duration("--timeout", text).is_err(), "{text:?}");
        }
        let error = duration("--timeout", "10").unwrap_err();
        assert_eq!(error.hint(), Some("a time needs a unit: write `--timeout 10s` or `--timeout 10ms`"));
    }

    #[test]
    fn sizes_are_bytes_unless_they_say_otherwise() {
        let cases = [
            ("256MiB", 256 << 20),
            ("1GB", 1_000_000_000),
            ("64 KiB", 65_536),
            ("0", 0),
            ("4096", 4096),
            ("1.5KiB", 1536),
        ];
        for (text, bytes) in cases {
            assert_eq!(size("--memory", text).unwrap(), bytes, "{text}");
        }
        for text in ["", "MiB", "-1", "1 apple", "0x10", "1MiBs"] {
            assert!(size("--memory", text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn cores_are_read_in_thousandths() {
        for (text, millis) in [("2", 2_000), ("0.5", 500), ("1.25", 1_250), ("0.010", 10), ("0", 0)] {
            assert_eq!(thousandths("--cpu", text).unwrap(), millis, "{text}");
        }
        for text in ["", ".", "1.", ".5", "-1", "1e3", "0.0001", "one", "99999999999999999999", "1.+1"] {
            assert!(thousandths("--cpu", text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn instants_are_read_in_utc() {
        let at = instant("--clock", "1970-01-02T00:00:00Z").unwrap();
        assert_eq!(at, SystemTime::UNIX_EPOCH + Duration::from_secs(86_400));
        assert!(instant("--clock", "yesterday").is_err());
    }
}
