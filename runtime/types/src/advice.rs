//! What to do about a failure, typically, for one that says nothing more of its own: no answer is left without a hint.

use crate::ErrorCode;

impl ErrorCode {
    /// What to do about a failure of this code where nothing more is known: one lower-case sentence.
    pub fn advice(self) -> &'static str {
        match self {
            Self::ArgsInvalid => "change what the message names, and call again",
            Self::TooLarge => "send less at a time, or put it into files",
            Self::UnknownLanguage => "choose one of the installed languages",
            Self::GuestMissing | Self::GuestMismatch => "have the operator rebuild the guests",
            Self::VersionMismatch => "have the operator install one release as a whole",
            Self::BadComponent => "fix the component: the message says what is wrong with it",
            Self::LimitTime => "raise the time-out, or split the work into smaller parts",
            Self::LimitFuel => "raise the fuel, or leave it out and rely on the time-out",
            Self::LimitMemory => "raise the memory limit, or work on less data at a time",
            Self::LimitStack => "use a loop or an explicit stack instead of recursion",
            Self::LimitHost => "move less data in one call, and close files that are no longer needed",
            Self::GuestTrap => "call again: the next call gets a fresh interpreter",
            Self::ProjectFailed => "fix the project's bootstrap file, or name another",
            Self::NetworkDenied => "pass the data in the code, in standard input or in files",
            Self::WriteDenied => "write to `/tmp` or `/workspace`, or have the operator allow writes",
            Self::PathDenied => "name a path below a folder that the operator allows",
            Self::CapabilityUnavailable => "have the operator allow it, or do without it",
            Self::ProviderUnavailable => {
                "try again; if it persists, have the operator check the provider and the log"
            }
            Self::UnknownSource => "name a source that is registered",
            Self::TemplateMissingKey => "define the variable, or use one that exists",
            Self::HealthTimeout => "try again; if it persists, check what was started and what it prints",
            Self::Busy => "try again later",
            Self::Cancelled => "call again if the work is still wanted",
            Self::NotFound => "list what exists, and name that",
            Self::UnknownSandbox => "list the sandboxes, or create a new one",
            Self::UnknownCheckpoint => "list the sandbox's checkpoints",
            Self::CheckpointOfOtherSandbox => "fork from the checkpoint instead of restoring it",
            Self::NameTaken => "use the existing one, or choose another name",
            Self::InvalidState => "check its state, which the message names",
            Self::QuotaExceeded => "remove what is not needed, or have the operator raise the quota",
            Self::LimitDisk => "remove files, or create a sandbox with a larger quota",
            Self::Conflict => "read it again, and repeat the call",
            Self::StateDamaged => "restore an earlier checkpoint",
            Self::StateUnavailable => {
                "have the operator check the state folder and its disk; the log names the cause"
            }
            Self::ModelUnavailable => {
                "have the operator check the endpoint, the model and the key; the log names the cause"
            }
            Self::ModelRateLimited => "try again later, or ask less often",
            Self::BudgetExhausted => "ask less, or have the operator raise the budget",
            Self::IndexUnavailable => "try again; if it persists, have the operator check the package index",
            Self::Unsatisfiable => "loosen one of the requirements that the message names",
            Self::PackageRefused => "request another version; nothing was installed",
            Self::Unauthorized => "send `Authorization: Bearer TOKEN`",
            Self::Forbidden => "call the server by a name that it knows, or have the operator add it",
            Self::Internal => "try again; if it persists, check the log and report it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_an_advice_in_the_form_of_a_hint() {
        for code in ErrorCode::ALL {
            let advice = code.advice();
            let first = advice.chars().next();
            assert!(
                first.is_some_and(|first| !first.is_uppercase()) && !advice.ends_with('.'),
                "{code}: {advice}"
            );
        }
    }
}
