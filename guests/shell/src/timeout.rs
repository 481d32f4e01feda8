//! `timeout`: the shell itself ends what it interprets; what the host runs is told how long it may.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use bashkit::{Builtin, BuiltinContext, ExecResult, ExecutionPlan, Result, SubCommand, async_trait};

/// The variable that carries a deadline to programs, in milliseconds since 1970. Programs do not see it.
const DEADLINE: &str = "__DORMOUSE_DEADLINE";
/// The exit status of a usage that is not understood.
const USAGE: i32 = 125;
/// The longest time that is told apart from for ever.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The command.
pub(crate) struct Timeout;

struct Meant<'a> {
    duration: Duration,
    preserve_status: bool,
    command: &'a [String],
}

#[async_trait]
impl Builtin for Timeout {
    /// Runs only when there is no plan: the usage is wrong.
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let why = read(context.args).err().unwrap_or_default();
        Ok(ExecResult::err(format!("timeout: {why}\n"), USAGE))
    }

    async fn execution_plan(&self, context: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        let Ok(Meant { duration, preserve_status, command }) = read(context.args) else { return Ok(None) };
        let Some((name, args)) = command.split_first() else { return Ok(None) };
        let stdin = context.stdin.cloned();
        let outer = context.env.get(DEADLINE).and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
        let deadline = (now() + milliseconds(duration)).min(outer);
        let assignments = vec![(DEADLINE.to_owned(), deadline.to_string())];
        let command = SubCommand { name: name.clone(), args: args.to_vec(), stdin, assignments };
        Ok(Some(ExecutionPlan::Timeout { duration, preserve_status, command }))
    }
}

fn read(words: &[String]) -> std::result::Result<Meant<'_>, String> {
    let mut preserve_status = false;
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "--preserve-status" => preserve_status = true,
            "--foreground" | "-v" | "--verbose" => {}
            "-k" | "-s" | "--kill-after" | "--signal" if !after.is_empty() => {
                rest = &after[1..];
                continue;
            }
            "--" => {
                rest = after;
                break;
            }
            option if option.starts_with("--kill-after=") || option.starts_with("--signal=") => {}
            option if option.len() > 2 && (option.starts_with("-k") || option.starts_with("-s")) => {}
            option if option.len() > 1 && option.starts_with('-') => {
                return Err(format!("unrecognized option '{option}'"));
            }
            _ => break,
        }
        rest = after;
    }
    match rest {
        [] | [_] => Err("missing operand".into()),
        [time, command @ ..] => {
            let duration = duration(time).ok_or_else(|| format!("invalid time interval '{time}'"))?;
            Ok(Meant { duration, preserve_status, command })
        }
    }
}

/// `5`, `0.5s`, `2m`, `1h`, `1d`; 0 is for ever.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = match text.char_indices().next_back()? {
        (at, 's') => (&text[..at], 1.0),
        (at, 'm') => (&text[..at], 60.0),
        (at, 'h') => (&text[..at], 3600.0),
        (at, 'd') => (&text[..at], 86400.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    match seconds {
        0.0 => Some(LONGEST),
        seconds if seconds > 0.0 => {
            Some(Duration::try_from_secs_f64(seconds).map_or(LONGEST, |time| time.min(LONGEST)))
        }
        _ => None,
    }
}

fn now() -> u64 {
    milliseconds(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How long a program that starts now may take, if `timeout` stands before it.
pub(crate) fn left(environment: &HashMap<String, String>) -> Option<u32> {
    let deadline: u64 = environment.get(DEADLINE)?.parse().ok()?;
    Some(u32::try_from(deadline.saturating_sub(now())).unwrap_or(u32::MAX))
}

/// The environment as programs see it.
pub(crate) fn exported(environment: &HashMap<String, String>) -> Vec<(&str, &str)> {
    let all = environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, _)| *name != DEADLINE).collect()
}
