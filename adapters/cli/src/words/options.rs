//! The arguments of tools as the command line has them: options and places of words, with values as they are typed.

/// How the number of an argument is typed.
#[derive(Clone, Copy)]
enum Unit {
    /// As it is.
    Plain,
    /// Bytes: `512MiB`.
    Size,
    /// Milliseconds: `15min`.
    Time,
    /// Thousandths: `0.5`.
    Cores,
}

/// Argument, what is typed for it, and how. A `name` is the sandbox's, but for checkpoints.
const ARGUMENTS: [(&str, &str, Unit); 24] = [
    ("name", "NAME", Unit::Plain),
    ("sandbox", "NAME", Unit::Plain),
    ("session_key", "--session-key", Unit::Plain),
    ("image", "--image", Unit::Plain),
    ("provider", "--provider", Unit::Plain),
    ("fallback", "--fallback", Unit::Plain),
    ("memory_bytes", "--memory", Unit::Size),
    ("disk_bytes", "--disk", Unit::Size),
    ("files", "--files", Unit::Plain),
    ("cpu_millis", "--cpu", Unit::Cores),
    ("processes", "--processes", Unit::Plain),
    ("idle_timeout_ms", "--idle", Unit::Time),
    ("retention_ms", "--retention", Unit::Time),
    ("persistence", "--persistence", Unit::Plain),
    ("durability", "--durability", Unit::Plain),
    ("env", "--env", Unit::Plain),
    ("repo", "--repo", Unit::Plain),
    ("branch", "--branch", Unit::Plain),
    ("allow_writes", "--allow-writes", Unit::Plain),
    ("path", "PATH", Unit::Plain),
    ("to", "TO", Unit::Plain),
    ("note", "--note", Unit::Plain),
    ("count", "--count", Unit::Plain),
    ("language", "--language", Unit::Plain),
];

/// What is typed for an argument of a tool. None: nothing can be.
pub(crate) fn option(tool: &str, argument: &str) -> Option<&'static str> {
    typed(tool, argument).map(|(option, _)| option)
}

fn typed(tool: &str, argument: &str) -> Option<(&'static str, Unit)> {
    match (tool, argument) {
        ("sandbox_checkpoint" | "sandbox_describe_checkpoint", "name") => Some(("--label", Unit::Plain)),
        ("sandbox_fork", "checkpoint_id") => Some(("--checkpoint", Unit::Plain)),
        (_, "checkpoint_id") => Some(("CHECKPOINT", Unit::Plain)),
        _ => ARGUMENTS.iter().find(|(name, ..)| *name == argument).map(|(_, option, unit)| (*option, *unit)),
    }
}

/// A message or a hint of a tool, with the options in the place of the arguments that it names, and their numbers as they are
/// typed. What stands in backticks otherwise is a caller's.
pub(crate) fn in_options(tool: &str, text: &str) -> String {
    const BEFORE: [&str; 5] = ["the field `", "give `", "add `", "leave `", "needs `"];
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, before)) =
        BEFORE.iter().filter_map(|before| Some((rest.find(before)?, *before))).min_by_key(|(at, _)| *at)
    {
        let (skipped, from) = rest.split_at(at);
        told.push_str(skipped);
        let found = from[before.len()..].split_once('`');
        let Some((after, (option, unit))) =
            found.and_then(|(argument, after)| Some((after, typed(tool, argument)?)))
        else {
            told.push_str(before);
            rest = &from[before.len()..];
            continue;
        };
        told.push_str(if before == BEFORE[0] { "`" } else { before });
        told.push_str(option);
        told.push('`');
        let bounds = ["outside ", "is ", "from "].iter().any(|sign| after.contains(sign));
        if bounds && !matches!(unit, Unit::Plain) {
            told.push_str(&in_units(after, unit));
            return told;
        }
        rest = after;
    }
    told + rest
}

/// A text with each whole number in it as it is typed.
fn in_units(text: &str, unit: Unit) -> String {
    let text = text.replacen("a whole number", unit.noun(), 1);
    let mut told = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let (digits, after) = from.split_at(from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len()));
        told.push_str(before);
        match digits.parse() {
            Ok(number) => told.push_str(&unit.of(number)),
            Err(_) => told.push_str(digits),
        }
        rest = after;
    }
    told + rest
}

impl Unit {
    fn noun(self) -> &'static str {
        match self {
            Self::Plain => "a whole number",
            Self::Size => "a size",
            Self::Time => "a time",
            Self::Cores => "a number of cores",
        }
    }

    /// The number in the largest unit in which it is whole.
    fn of(self, number: u64) -> String {
        let largest = |units: &[(u64, &str)]| {
            let unit = units.iter().find(|(size, _)| number > 0 && number.is_multiple_of(*size));
            unit.map_or_else(|| number.to_string(), |(size, name)| format!("{}{name}", number / size))
        };
        match self {
            Self::Plain => number.to_string(),
            Self::Size => largest(&[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")]),
            Self::Time => {
                largest(&[(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms")])
            }
            Self::Cores => {
                let text = format!("{}.{:03}", number / 1_000, number % 1_000);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Arguments;
    use crate::settings::units;

    #[test]
    fn errors_name_options_with_values_as_they_are_typed() {
        for (tool, text, told) in [
            (
                "sandbox_create",
                "the field `idle_timeout_ms` is 500, outside 1000 to 86400000",
                "`--idle` is 500ms, outside 1s to 1d",
            ),
            (
                "sandbox_create",
                "give `memory_bytes` a whole number from 16777216 to 536870912",
                "give `--memory` a size from 16MiB to 512MiB",
            ),
            (
                "sandbox_create",
                "the field `cpu_millis` is 5, outside 10 to 4000",
                "`--cpu` is 0.005, outside 0.01 to 4",
            ),
            (
                "sandbox_create",
                "the field `files` is 9, outside 100 to 200000",
                "`--files` is 9, outside 100 to 200000",
            ),
            ("sandbox_create", "leave `allow_writes` out; writes", "leave `--allow-writes` out; writes"),
            ("sandbox_checkpoint", "the field `name` has 9 bytes", "`--label` has 9 bytes"),
            ("sandbox_fork", "the field `count` is 0, outside 1 to 100", "`--count` is 0, outside 1 to 100"),
            ("sandbox_get", "there is no sandbox `files`", "there is no sandbox `files`"),
            ("sandbox_get", "the field `é", "the field `é"),
        ] {
            assert_eq!(in_options(tool, text), told, "{text}");
        }
    }

    #[test]
    fn what_is_typed_for_an_argument_can_be_typed() {
        let cli = Arguments::command();
        let known = cli.find_subcommand("sandbox").unwrap();
        let typable = |name: &str| {
            known
                .get_subcommands()
                .flat_map(|command| command.get_arguments())
                .chain(known.get_arguments())
                .any(|argument| {
                    argument.get_long() == name.strip_prefix("--")
                        || argument.get_value_names().is_some_and(|names| names.iter().any(|own| own == name))
                })
        };
        for (_, name, _) in ARGUMENTS {
            assert!(typable(name), "{name}");
        }
        assert!(typable("--label") && typable("--checkpoint") && typable("CHECKPOINT"));
    }

    #[test]
    fn numbers_are_told_as_they_are_read() {
        for number in [1, 999, 1_000, 1_024, 60_000, 90_000, 1 << 30, 86_400_000, 123_456_789] {
            assert_eq!(units::size("", &Unit::Size.of(number)).unwrap(), number);
            assert_eq!(units::duration("", &Unit::Time.of(number)).unwrap().as_millis(), number.into());
        }
        for number in [10, 500, 1_000, 1_500, 999_999] {
            assert_eq!(units::thousandths("", &Unit::Cores.of(number)).unwrap(), number);
        }
    }
}
