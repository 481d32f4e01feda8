//! `cargo xtask torture`: builds the program of the torture run and runs it, with a container engine where one is to be had.

use anyhow::Result;
use dormouse_chores::outcome::Outcome;
use dormouse_chores::process;
use dormouse_chores::progress::complain;
use dormouse_test_engine::{Session, Start};

/// Arguments with which no container is wanted.
const WITHOUT: [&str; 3] = ["--help", "-h", "--containers=no"];

/// Runs it. The outcome also says whether nothing was left in the engine.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    process::cargo(&["build", "--release", "--workspace", "--bins"])?;
    let session = match wants_containers(arguments).then(Session::start).transpose()? {
        Some(Start::Ready(session)) => Some(session),
        Some(Start::Skipped(cause)) => {
            // The run counts it as skipped.
            complain(&format!("docker: not available ({cause})"));
            None
        }
        None => None,
    };
    let program = process::target().join("release/dormouse-tests-torture");
    let mut command = process::with_default_signals(program);
    command.args(arguments);
    if let Some(session) = &session {
        command.envs(session.environment());
    }
    let mut outcome = process::counted(&mut command)?;
    if let Some(session) = session {
        outcome.add(session.finish()?);
    }
    Ok(outcome)
}

fn wants_containers(arguments: &[String]) -> bool {
    let says_no = arguments.windows(2).any(|two| two == ["--containers", "no"]);
    !says_no && !arguments.iter().any(|argument| WITHOUT.contains(&argument.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_started_for_who_wants_one() {
        let wants = |words: &[&str]| {
            wants_containers(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert!(wants(&[]) && wants(&["--minutes", "1"]) && wants(&["--containers", "all"]));
        assert!(!wants(&["--containers", "no"]) && !wants(&["--help"]) && !wants(&["--containers=no"]));
    }
}
