//! What the options of times mean: how long sandboxes are kept that nobody calls.

use std::time::Duration;

use dormouse::sandboxes::Rules;
use dormouse::{Error, Result};

use super::units;

/// The shortest and the longest of these times.
const LEAST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(3650 * 24 * 3600);

/// Every key, with the time that it sets.
const KEYS: [(&str, Place); 5] = [
    ("idle", |rules| &mut rules.defaults.idle),
    ("idle-max", |rules| &mut rules.ceiling.idle),
    ("retention", |rules| &mut rules.defaults.retention),
    ("retention-max", |rules| &mut rules.ceiling.retention),
    ("unused", |rules| &mut rules.unused),
];

type Place = fn(&mut Rules) -> &mut Duration;

/// The numbers of sandboxes under these options. What a sandbox has that nothing is asked of raises the most that can be asked, and
/// is at most what is given for that.
///
/// # Errors
/// `args_invalid` for a key that there is not, one that comes twice, a time that is none or outside 1 s to 3650 days, and a default
/// above the most that is given.
pub(super) fn rules(mut rules: Rules, keeps: &[String]) -> Result<Rules> {
    let mut given: Vec<&str> = Vec::new();
    for text in keeps {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let Some((key, place)) = KEYS.iter().find(|(known, _)| *known == key) else {
            let known = KEYS.map(|(known, _)| known).join(", ");
            return Err(Error::args_invalid(format!("`--keep`: there is no key `{}`", key.escape_debug()))
                .with_hint(format!("the keys are {known}")));
        };
        if given.contains(key) {
            return Err(Error::args_invalid(format!("`--keep`: `{key}` is given twice")));
        }
        let time = units::duration("--keep", value)?;
        if !(LEAST..=MOST).contains(&time) {
            return Err(Error::args_invalid(format!("`--keep`: `{key}` must be 1s to 3650days")));
        }
        *place(&mut rules) = time;
        given.push(key);
    }
    let (defaults, ceiling) = (&mut rules.defaults, &mut rules.ceiling);
    for (key, most, default, ceiling) in [
        ("idle", "idle-max", &mut defaults.idle, &mut ceiling.idle),
        ("retention", "retention-max", &mut defaults.retention, &mut ceiling.retention),
    ] {
        if *default <= *ceiling {
            continue;
        }
        match (given.contains(&key), given.contains(&most)) {
            (true, true) => {
                return Err(Error::args_invalid(format!("`--keep`: `{key}` is more than `{most}`"))
                    .with_hint(format!("raise `{most}`, or lower `{key}`")));
            }
            (true, false) => *ceiling = *default,
            _ => *default = *ceiling,
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(keeps: &[&str]) -> Result<Rules> {
        rules(Rules::default(), &keeps.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn each_key_sets_its_time_and_a_default_is_never_above_the_most() {
        assert_eq!(meant(&[]).unwrap(), Rules::default());
        let day = Duration::from_secs(24 * 3600);
        let rules = meant(&["idle=2min", "unused=3days", "retention=90days"]).unwrap();
        assert_eq!((rules.defaults.idle, rules.unused), (Duration::from_secs(120), 3 * day));
        assert_eq!((rules.defaults.retention, rules.ceiling.retention), (90 * day, 90 * day));
        let rules = meant(&["idle-max=1min"]).unwrap();
        assert_eq!(rules.defaults.idle, rules.ceiling.idle);
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_there_is() {
        for bad in [
            &["never=1s"][..],
            &["idle"],
            &["idle=10"],
            &["idle=1ms"],
            &["idle=5000days"],
            &["idle=1s", "idle=2s"],
            &["idle=2h", "idle-max=1h"],
        ] {
            assert!(meant(bad).is_err(), "{bad:?}");
        }
        assert!(meant(&["never=1s"]).unwrap_err().hint().unwrap().contains("retention-max"));
    }
}
