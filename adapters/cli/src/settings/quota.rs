//! What the options of quotas mean: numbers of things, and sizes. What those of times mean is `keep`'s.

use std::time::Duration;

use dormouse::sandboxes::Rules;
use dormouse::{Error, Result};
use dormouse_tools::HostFolders;

use super::{keep, units};
use crate::args::QuotaArgs;

/// The least room for files that is worth a sandbox, and the most that one can have: 1 MiB to 1 TiB.
const ROOM: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 40;

/// The key of what is no sandbox's.
const DOWNLOADS: &str = "downloads";

/// Every key of sandboxes, with what it sets.
const KEYS: [(&str, Set); 12] = [
    ("sandboxes", |rules, value| count(value, &mut rules.quota.per_owner)),
    ("sandboxes-in-all", |rules, value| count(value, &mut rules.quota.in_all)),
    ("checkpoints", |rules, value| count(value, &mut rules.quota.checkpoints)),
    ("saved", |rules, value| size(value, &mut rules.quota.saved.of_owner)),
    ("saved-in-all", |rules, value| size(value, &mut rules.quota.saved.in_all)),
    ("awake", |rules, value| size(value, &mut rules.quota.awake.of_owner)),
    ("awake-in-all", |rules, value| size(value, &mut rules.quota.awake.in_all)),
    ("runs", |rules, value| count(value, &mut rules.runs)),
    ("run-calls", |rules, value| count(value, &mut rules.run_budget.calls)),
    ("run-bytes", |rules, value| {
        rules.run_budget.bytes = units::size("--quota", value)?;
        Ok(())
    }),
    ("run-seconds", |rules, value| {
        let mut seconds = 0;
        count(value, &mut seconds)?;
        rules.run_budget.running = Duration::from_secs(seconds.into());
        Ok(())
    }),
    ("run-tokens", |rules, value| {
        let mut tokens = 0;
        count(value, &mut tokens)?;
        rules.run_budget.tokens = tokens.into();
        Ok(())
    }),
];

type Set = fn(&mut Rules, &str) -> Result<()>;

/// The numbers of sandboxes under these options.
///
/// # Errors
/// `args_invalid` for a key that there is not, one that comes twice, and a value that is none.
pub(crate) fn rules(mut rules: Rules, arguments: &QuotaArgs) -> Result<Rules> {
    for (key, value) in pairs(arguments)? {
        if let Some((_, set)) = KEYS.iter().find(|(known, _)| *known == key) {
            set(&mut rules, value)?;
        }
    }
    if let Some(text) = &arguments.disk_max {
        let most = units::size("--disk-max", text)?;
        if !ROOM.contains(&most) {
            return Err(Error::args_invalid("`--disk-max` must be 1MiB to 1TiB"));
        }
        rules.ceiling.disk = most;
        rules.defaults.disk = rules.defaults.disk.min(most);
    }
    keep::rules(rules, &arguments.keeps)
}

/// How many bytes of downloads there may be.
///
/// # Errors
/// As [`rules`].
pub(crate) fn downloads(arguments: &QuotaArgs) -> Result<u64> {
    let told = pairs(arguments)?.into_iter().find(|(key, _)| *key == DOWNLOADS);
    told.map_or(Ok(HostFolders::DOWNLOADS), |(_, value)| units::size("--quota", value))
}

/// The keys, which are all known, each once, and their values.
fn pairs(arguments: &QuotaArgs) -> Result<Vec<(&str, &str)>> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for text in &arguments.quotas {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        if key != DOWNLOADS && KEYS.iter().all(|(known, _)| *known != key) {
            let known = KEYS.map(|(known, _)| known).join(", ");
            return Err(Error::args_invalid(format!(
                "`--quota`: there is no quota `{}`",
                key.escape_debug()
            ))
            .with_hint(format!("the quotas are {known}, {DOWNLOADS}")));
        }
        if pairs.iter().any(|(earlier, _)| *earlier == key) {
            return Err(Error::args_invalid(format!("`--quota`: `{key}` is given twice")));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

fn count(value: &str, into: &mut u32) -> Result<()> {
    *into = value.parse().map_err(|_| {
        Error::args_invalid(format!("`--quota`: `{}` is not a number", value.escape_debug()))
            .with_hint("write a number such as `--quota sandboxes=500`")
    })?;
    Ok(())
}

fn size(value: &str, into: &mut Option<u64>) -> Result<()> {
    *into = Some(units::size("--quota", value)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use dormouse::sandbox::RunBudget;

    use super::*;

    fn meant(quotas: &[&str], disk_max: Option<&str>) -> Result<Rules> {
        let quotas = quotas.iter().map(|text| (*text).to_owned()).collect();
        rules(
            Rules::default(),
            &QuotaArgs { quotas, disk_max: disk_max.map(str::to_owned), ..QuotaArgs::default() },
        )
    }

    #[test]
    fn each_key_sets_its_number_and_the_others_stay() {
        let usual = Rules::default();
        assert_eq!(meant(&[], None).unwrap(), usual);
        let rules = meant(&["sandboxes=7", "saved=20GiB", "awake-in-all=1GB", "checkpoints=0"], Some("1GiB"))
            .unwrap();
        assert_eq!((rules.quota.per_owner, rules.quota.checkpoints, rules.quota.in_all), (7, 0, 10_000));
        assert_eq!((rules.quota.saved.of_owner, rules.quota.saved.in_all), (Some(20 << 30), None));
        assert_eq!((rules.quota.awake.of_owner, rules.quota.awake.in_all), (None, Some(1_000_000_000)));
        assert_eq!((rules.ceiling.disk, rules.defaults.disk), (1 << 30, usual.defaults.disk));
        let rules =
            meant(&["runs=3", "run-calls=4", "run-bytes=1MiB", "run-seconds=60", "run-tokens=5"], None)
                .unwrap();
        let wanted = RunBudget { calls: 4, bytes: 1 << 20, running: Duration::from_secs(60), tokens: 5 };
        assert_eq!((rules.runs, rules.run_budget), (3, wanted));
        assert_eq!(meant(&[], Some("100MiB")).unwrap().defaults.disk, 100 << 20);
    }

    #[test]
    fn what_is_no_quota_is_refused_with_what_there_is() {
        for bad in
            [&["sandbox=7"][..], &["saved"], &["saved=much"], &["sandboxes=-1"], &["awake=1", "awake=2"]]
        {
            assert!(meant(bad, None).is_err(), "{bad:?}");
        }
        let told = |quotas: &[&str]| {
            let quotas = quotas.iter().map(|text| (*text).to_owned()).collect();
            downloads(&QuotaArgs { quotas, ..QuotaArgs::default() })
        };
        assert_eq!((told(&[]).unwrap(), told(&["downloads=1KiB"]).unwrap()), (10 << 30, 1024));
        assert!(meant(&["downloads=1KiB"], None).is_ok() && told(&["downloads=x"]).is_err());
        let error = meant(&["x=1"], None).unwrap_err();
        assert!(error.hint().unwrap().contains("saved-in-all"), "{error:?}");
        assert!(meant(&[], Some("1KiB")).is_err() && meant(&[], Some("2TiB")).is_err());
    }
}
