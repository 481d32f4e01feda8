//! Limits: the numbers that end a run, and the bounds of what it may say.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// One mebibyte, in bytes.
pub const MIB: u64 = 1 << 20;

/// What a run may use. Always on; there is no "unlimited".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time of the whole run, start-up included. Default 5 s, from 10 ms to the ceiling of 60 s (S1-18).
    pub wall: Duration,
    /// Deterministic budget of executed WebAssembly operations; none: not counted. Default none, because counting
    /// costs 16 to 35 % of CPU-bound code (docs/performance.md).
    pub fuel: Option<u64>,
    /// Bytes of all linear memories and tables together, the interpreter's own image included. Default 128 MiB, from
    /// 16 MiB to the ceiling of 512 MiB (S1-19).
    pub memory: u64,
    /// Bytes kept of each of standard output and standard error; the rest is drained and counted. Default 16 KiB, up to
    /// the ceiling of 8 MiB (S1-16).
    pub output: u64,
    /// Bytes that a run's own files may hold; and again, bytes that it may write to mounts, overwritten or not.
    /// Default 64 MiB, up to the ceiling of 1 GiB.
    pub disk: u64,
    /// Files, folders and links that there may be of its own; and again, that may be made below mounts.
    /// Default 10 000, up to the ceiling of 1 000 000.
    pub files: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(5),
            fuel: None,
            memory: 128 * MIB,
            output: 16 << 10,
            disk: 64 * MIB,
            files: 10_000,
        }
    }
}

impl Limits {
    /// The shortest wall-clock limit.
    pub const MIN_WALL: Duration = Duration::from_millis(10);
    /// The smallest memory limit, in bytes.
    pub const MIN_MEMORY: u64 = 16 * MIB;

    /// The default ceiling: 60 s, 10¹⁵ fuel, 512 MiB, 8 MiB of output a stream, 1 GiB and 10⁶ files written.
    pub fn ceiling() -> Self {
        Self {
            wall: Duration::from_secs(60),
            fuel: Some(1_000_000_000_000_000),
            memory: 512 * MIB,
            output: 8 * MIB,
            disk: 1024 * MIB,
            files: 1_000_000,
        }
    }

    /// These limits, if every one lies between its minimum and `ceiling`.
    ///
    /// # Errors
    /// `args_invalid`, naming the limit, the value and the bound.
    pub fn within(self, ceiling: &Limits) -> Result<Self> {
        let refuse = |name: &str, asked: String, low: String, high: String| {
            Error::args_invalid(format!("the {name} limit of {asked} is outside {low} to {high}"))
                .with_hint(format!("request {low} to {high}; the operator sets the ceiling"))
        };
        if self.wall < Self::MIN_WALL || self.wall > ceiling.wall {
            let ms = |d: Duration| format!("{} ms", d.as_millis());
            return Err(refuse("wall-clock", ms(self.wall), ms(Self::MIN_WALL), ms(ceiling.wall)));
        }
        if self.memory < Self::MIN_MEMORY || self.memory > ceiling.memory {
            let mib = |b: u64| format!("{} bytes ({} MiB)", b, b / MIB);
            return Err(refuse("memory", mib(self.memory), mib(Self::MIN_MEMORY), mib(ceiling.memory)));
        }
        if self.output > ceiling.output {
            let bytes = |b: u64| format!("{b} bytes");
            return Err(refuse("output", bytes(self.output), bytes(0), bytes(ceiling.output)));
        }
        if self.disk > ceiling.disk || self.files > ceiling.files {
            let both = |limits: &Limits| format!("{} bytes in {} files", limits.disk, limits.files);
            return Err(refuse("disk", both(&self), "0".into(), both(ceiling)));
        }
        if let (Some(asked), Some(most)) = (self.fuel, ceiling.fuel)
            && (asked == 0 || asked > most)
        {
            return Err(refuse("fuel", asked.to_string(), "1".into(), most.to_string()));
        }
        Ok(self)
    }
}

/// Caps on the JSON form of a value (docs/values.md; S1-13 to S1-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Levels of containers that are opened. Default 3, at most 16.
    pub depth: u32,
    /// Items shown of one container. Default 50, at most 10 000.
    pub items: u32,
    /// UTF-8 bytes kept of one string. Default 10 000, at most 1 MiB.
    pub string_bytes: u32,
    /// Bytes of the whole JSON text. Default 256 KiB, at most 8 MiB.
    pub total_bytes: u32,
    /// Frames of one stack trace. Default 30, at most 1 000.
    pub frames: u32,
    /// Items skipped of the outermost container ("more on request"). Default 0.
    pub offset: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 3, items: 50, string_bytes: 10_000, total_bytes: 256 << 10, frames: 30, offset: 0 }
    }
}

impl Bounds {
    /// The largest value of each cap, whatever the caller asks.
    pub const MAX: Bounds = Bounds {
        depth: 16,
        items: 10_000,
        string_bytes: 1 << 20,
        total_bytes: 8 << 20,
        frames: 1_000,
        offset: u32::MAX,
    };

    /// What a guest may go past its `total_bytes` by: it closes what it has opened after it has found that the text is long.
    const SLACK: usize = 64 << 10;
    /// Texts in an exception and its causes, each as long as a string may be.
    const TEXTS: usize = 12;
    /// Bytes of an exception besides its messages: traces and renderings of the language's own.
    const TRACES: usize = 1 << 20;
    /// Bytes of JSON that the shortest value takes.
    const SHORTEST_VALUE: usize = 16;

    /// The longest JSON text of a value that a guest may answer with, in bytes.
    pub fn value_bytes(&self) -> usize {
        self.total_bytes as usize + Self::SLACK
    }

    /// The longest JSON text of an exception that a guest may answer with, in bytes.
    pub fn exception_bytes(&self) -> usize {
        self.value_bytes() + Self::TEXTS * self.string_bytes as usize + Self::TRACES
    }

    /// How many values there may be in one answer, those inside others counted.
    pub(crate) fn values(&self) -> usize {
        self.value_bytes() / Self::SHORTEST_VALUE
    }

    /// Each cap lowered to [`Bounds::MAX`].
    #[must_use]
    pub fn clamped(self) -> Self {
        Self {
            depth: self.depth.min(Self::MAX.depth),
            items: self.items.min(Self::MAX.items),
            string_bytes: self.string_bytes.min(Self::MAX.string_bytes),
            total_bytes: self.total_bytes.min(Self::MAX.total_bytes),
            frames: self.frames.min(Self::MAX.frames),
            offset: self.offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_taken_up_to_the_ceiling_and_refused_past_it() {
        let ceiling = Limits::ceiling();
        assert!(Limits { wall: Duration::from_secs(60), ..Limits::default() }.within(&ceiling).is_ok());
        for bad in [
            Limits { wall: Duration::from_millis(60_001), ..Limits::default() },
            Limits { wall: Duration::from_millis(9), ..Limits::default() },
            Limits { memory: 512 * MIB + 1, ..Limits::default() },
            Limits { memory: 16 * MIB - 1, ..Limits::default() },
            Limits { output: 8 * MIB + 1, ..Limits::default() },
            Limits { fuel: Some(0), ..Limits::default() },
        ] {
            let error = bad.within(&ceiling).unwrap_err();
            assert_eq!(error.code(), crate::ErrorCode::ArgsInvalid);
            assert!(error.hint().is_some());
        }
    }
}
