//! What sandboxes are given of the host by this process: mounts, skills, writes, memory. Nothing of it is remembered for the next.

use dormouse::sandbox::SpecMount;
use dormouse::sandboxes::{MountRule, Rules};
use dormouse::{Error, Grants, Limits, Mount, Policy, Result};
use dormouse_tools::Skills;

use super::{docker, grants, kubernetes, packages, quota, skills, units};
use crate::args::{GivenArgs, McpArgs};

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

/// What a check of scenarios goes by.
#[derive(Default)]
pub(crate) struct Checked {
    /// What every sandbox is granted.
    pub(crate) grants: Grants,
    /// The numbers of sandboxes.
    pub(crate) rules: Rules,
}

/// What the options of a run of scenarios mean for a check: nothing is opened, started or made. Reads the beginning of each skill.
pub(crate) fn checked(arguments: &McpArgs, mounts: Vec<Mount>) -> Result<Checked> {
    let policy = policy(arguments)?;
    let grants = Grants { mounts, ..Grants::default() };
    grants.check()?;
    let grants = skills(&arguments.skills)?.granted(&grants)?;
    packages::check(&arguments.packages)?;
    let numbers = quota::rules(
        docker::rules(&arguments.docker, kubernetes::settings(&arguments.docker)?.as_ref()),
        &arguments.quota,
    )?;
    Ok(Checked { rules: rules(numbers, &policy, offered(&grants)), grants })
}

/// What calls can ask for, by the options of a server.
pub(super) fn policy(arguments: &McpArgs) -> Result<Policy> {
    let mut policy = Policy {
        allow_writes: arguments.allow_writes,
        allow_eval: !arguments.ceilings.no_eval,
        ..Policy::default()
    };
    let capacity = &arguments.capacity;
    policy.max_running = capacity.runs_max.map_or(policy.max_running, usize::from);
    policy.max_jobs = capacity.jobs_max.map_or(policy.max_jobs, usize::from);
    let memory = capacity.runs_memory.as_deref().map(|text| units::size("--runs-memory", text));
    policy.max_memory = memory.transpose()?;
    if let Some(text) = &arguments.ceilings.timeout_max {
        policy.ceiling.wall = units::duration("--timeout-max", text)?;
        if policy.ceiling.wall < Limits::MIN_WALL {
            return Err(Error::args_invalid("`--timeout-max` must be at least 10ms"));
        }
        policy.defaults.wall = policy.defaults.wall.min(policy.ceiling.wall);
    }
    most_memory(&mut policy, arguments.ceilings.memory_max.as_deref())?;
    Ok(policy)
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
