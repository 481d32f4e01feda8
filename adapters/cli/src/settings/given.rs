//! What sandboxes are given of the host by this process: mounts, skills, writes, memory. Nothing of it is remembered for the next.

use dormouse::sandbox::SpecMount;
use dormouse::sandboxes::{MountRule, Rules};
use dormouse::{Error, Grants, Limits, Policy, Result};
use dormouse_tools::Skills;

use super::{grants, skills, units};
use crate::args::GivenArgs;

/// What a command of `sandbox` gives.
pub(crate) struct Given {
    /// Its mounts, those of skills among them.
    pub(crate) grants: Grants,
    /// What new sandboxes see of instructions and scripts.
    pub(crate) skills: Skills,
    /// What calls can ask for.
    pub(crate) policy: Policy,
}

/// What the arguments mean. Reads the beginning of each skill.
pub(crate) fn given(arguments: &GivenArgs) -> Result<Given> {
    let writes = arguments.allow_writes;
    let mut policy = Policy { allow_writes: writes, ..Policy::default() };
    most_memory(&mut policy, arguments.memory_max.as_deref())?;
    let mounts = grants::mounts(&arguments.mounts, writes, "--allow-writes")?;
    let skills = skills(&arguments.skills)?;
    let grants = skills.granted(&Grants { mounts, ..Grants::default() })?;
    Ok(Given { grants, skills, policy })
}

/// What `--memory-max` means: the ceiling, and a default that is not above it.
pub(super) fn most_memory(policy: &mut Policy, text: Option<&str>) -> Result<()> {
    if let Some(text) = text {
        policy.ceiling.memory = units::size("--memory-max", text)?;
        if !(Limits::MIN_MEMORY..=4 << 30).contains(&policy.ceiling.memory) {
            return Err(Error::args_invalid("`--memory-max` must be 16MiB to 4GiB"));
        }
        policy.defaults.memory = policy.defaults.memory.min(policy.ceiling.memory);
    }
    Ok(())
}

/// The mounts of these grants, and no others.
pub(super) fn offered(grants: &Grants) -> MountRule {
    let mount = |mount: &dormouse::Mount| SpecMount {
        source: mount.source.clone(),
        target: mount.target.clone(),
        access: mount.access,
    };
    MountRule::Offered(grants.mounts.iter().map(mount).collect())
}

/// The rules with what is given: the policy's ceiling of memory is that of sandboxes, too.
pub(crate) fn rules(mut rules: Rules, policy: &Policy, mounts: MountRule) -> Rules {
    rules.ceiling.memory = policy.ceiling.memory;
    Rules { mounts, ..rules }
}
