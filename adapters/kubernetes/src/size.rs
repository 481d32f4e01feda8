//! What a sandbox may use, and how its folders share it.

use dormouse_containers::Room;
use dormouse_core::sandbox::SandboxSpec;
use dormouse_core::{Error, Result};

use crate::settings::Settings;

/// Most names in `/tmp` that are counted on.
const TMP_NAMES: u64 = 20_000;
/// Bytes of `/dev/shm` that are left free of the memory, at most an eighth of it.
const SHARED: u64 = 16 << 20;
/// Bytes of the memory limit that no file can take, at most a quarter of it.
const PROGRAMS: u64 = 32 << 20;

/// How large a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Bytes.
    pub(crate) memory: u64,
    /// Bytes of `/workspace`.
    pub(crate) workspace: u64,
    /// Bytes of `/tmp`.
    pub(crate) tmp: u64,
    pub(crate) cpu_millis: u32,
}

impl Size {
    /// The size of a pod for a sandbox like this. Folders in memory take together less than the memory.
    pub(crate) fn of(spec: &SandboxSpec, settings: &Settings) -> Self {
        let memory = spec.memory;
        let tmp = settings.tmp_bytes.min(memory / 4);
        let taken = tmp.saturating_add(SHARED.min(memory / 8)).saturating_add(PROGRAMS.min(memory / 4));
        let workspace = match settings.storage_class {
            Some(_) => spec.disk,
            None => spec.disk.min(memory.saturating_sub(taken)),
        };
        Self { memory, workspace, tmp, cpu_millis: spec.cpu_millis }
    }
}

/// A pool whose template confines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vetted {
    /// The pool.
    pub(crate) pool: String,
    /// The container of the sandbox.
    pub(crate) container: Option<String>,
    /// Whether it has the helper for images without a shell.
    pub(crate) helped: bool,
    /// Whether there is one beside it that leads to the gate.
    pub(crate) has_gate: bool,
    /// Its limits: bytes, and thousandths of a core.
    pub(crate) memory: u64,
    pub(crate) cpu_millis: u64,
    /// Whether its `/workspace` is a volume that outlives pods.
    pub(crate) keeps: bool,
}

impl Vetted {
    /// Refuses a sandbox that asks for more than the template gives.
    ///
    /// # Errors
    /// `args_invalid`.
    pub(crate) fn admit(&self, spec: &SandboxSpec) -> Result<()> {
        let most = |name: &str, asked: u64, most: u64| {
            if asked <= most {
                return Ok(());
            }
            Err(Error::args_invalid(format!(
                "`{name}` of {asked} is more than the {most} that the template of the pool `{}` gives",
                self.pool
            ))
            .with_hint(format!(
                "make a sandbox with no more, or of a pool whose template gives it; what one has that asks for nothing, and the \
                 most that can be asked for, is the operator's `{name}` in the configuration of Kubernetes",
            )))
        };
        most("memory_bytes", spec.memory, self.memory)?;
        most("cpu_millis", spec.cpu_millis.into(), self.cpu_millis)
    }
}

/// What the folders of a sandbox can hold.
pub(crate) fn room(spec: &SandboxSpec, settings: &Settings) -> Room {
    Room {
        bytes: spec.disk.saturating_add(settings.tmp_bytes),
        names: u64::from(spec.files).saturating_add(TMP_NAMES),
    }
}

/// Bytes of a quantity as Kubernetes writes it, such as `512Mi`; thousandths for a processor's with `millis`.
pub(crate) fn quantity(text: &str, millis: bool) -> Option<u64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return None,
    };
    let value = number * factor * if millis { 1e3 } else { 1.0 };
    // Quantities are far below what a float holds exactly.
    (0.0..9e15).contains(&value).then(|| format!("{value:.0}").parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_memory_leave_room_for_programs_and_a_volume_is_as_large_as_asked() {
        let spec = SandboxSpec { memory: 256 << 20, disk: 1 << 30, ..SandboxSpec::default() };
        let size = Size::of(&spec, &Settings::default());
        assert!(size.workspace + size.tmp + (32 << 20) < size.memory, "{size:?}");
        let settings = Settings { storage_class: Some("fast".into()), ..Settings::default() };
        assert_eq!(Size::of(&spec, &settings).workspace, 1 << 30);
    }

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (text, bytes) in
            [("512Mi", 512 << 20), ("1Gi", 1 << 30), ("1e3", 0), ("1500k", 1_500_000), ("7", 7)]
        {
            assert_eq!(quantity(text, false), (bytes > 0).then_some(bytes), "{text}");
        }
        assert_eq!(
            (quantity("500m", true), quantity("2", true), quantity("0.5", true)),
            (Some(500), Some(2000), Some(500))
        );
        assert_eq!((quantity("", false), quantity("-1", false)), (None, None));
    }
}
