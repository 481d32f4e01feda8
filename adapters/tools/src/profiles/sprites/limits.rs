//! `resourceLimits` of a sprite: processors and memory, asked for and shown in the seed's units.

use dormouse_core::sandbox::{ProviderName, SandboxSpec};
use dormouse_core::sandboxes::Rules;
use dormouse_core::{Error, Limits, Result};
use serde_json::{Map, Value as Json};

use crate::spec::{answer, schema};

/// Its name, in what is said of it.
const FIELD: &str = "resourceLimits";
/// The fewest thousandths of a processor.
const LEAST_CPU: u32 = 10;
/// Thousandths of one processor: what a sandbox without a container computes on at most.
const ONE: u32 = 1_000;
/// Bits of a MB, which is 2^20 bytes.
const MB: u32 = 20;

/// Sets what is asked for, within the operator's bounds.
///
/// # Errors
/// `args_invalid` for another key, what is no number, and what is outside the bounds.
pub(super) fn set(spec: &mut SandboxSpec, asked: Map<String, Json>, rules: &Rules) -> Result<()> {
    for (key, value) in asked.into_iter().filter(|(_, value)| !value.is_null()) {
        let number = value.as_f64().ok_or_else(|| wrong(&key, "is not a number", "a number"))?;
        match key.as_str() {
            "cpu" => spec.cpu_millis = thousandths(number, rules.ceiling.cpu_millis)?,
            "memory" => {
                let most = rules.most_memory(spec.provider);
                spec.memory = memory(number, Limits::MIN_MEMORY.min(most), most)?;
            }
            _ => return Err(wrong(&key, "is not known", "`cpu` and `memory`")),
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the bounds of an u32")]
fn thousandths(number: f64, most: u32) -> Result<u32> {
    let millis = number * f64::from(ONE);
    match (f64::from(LEAST_CPU)..=f64::from(most)).contains(&millis) {
        true => Ok(millis as u32),
        false => Err(outside(
            "cpu",
            number,
            f64::from(LEAST_CPU) / f64::from(ONE),
            f64::from(most) / f64::from(ONE),
        )),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "bounds of memory are far below 2^52"
)]
fn memory(number: f64, least: u64, most: u64) -> Result<u64> {
    let bytes = number * f64::from(1_u32 << MB);
    match (least as f64..=most as f64).contains(&bytes) {
        true => Ok(bytes as u64),
        false => Err(outside("memory", number, (least >> MB) as f64, (most >> MB) as f64)),
    }
}

fn outside(key: &str, number: f64, least: f64, most: f64) -> Error {
    wrong(key, &format!("is {number}, outside {least} to {most}"), "what the operator allows")
}

fn wrong(key: &str, what: &str, wanted: &str) -> Error {
    let shown: String = key.escape_debug().take(48).collect();
    Error::args_invalid(format!("the field `{FIELD}.{shown}` {what}")).with_hint(format!("give {wanted}"))
}

answer! {
    /// What a sprite may use.
    pub(super) struct Shown {
        cpu: Json = schema::number("Processors; less than 1 is a share of one."),
        memory: u64 = "Memory in MB.",
    }
}

/// What a sprite may use.
pub(super) fn shown(spec: &SandboxSpec) -> Shown {
    let millis = match spec.provider {
        ProviderName::Wasm => spec.cpu_millis.min(ONE),
        ProviderName::Docker | ProviderName::Kubernetes => spec.cpu_millis,
    };
    let cpu: Json = match millis % ONE {
        0 => (millis / ONE).into(),
        _ => (f64::from(millis) / f64::from(ONE)).into(),
    };
    Shown { cpu, memory: spec.memory >> MB }
}
