//! What was learned, as a file of rules.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dormouse_core::{Error, ErrorCode, Result};
use toml::Value;

use crate::host::Host;
use crate::learn::paths::{Path, patterns};
use crate::learn::{Learned, MAX_PLACES, Place, Seen};
use crate::path::PathPattern;

/// A rule that is written.
struct Rule {
    methods: BTreeSet<String>,
    /// None: all.
    paths: Option<BTreeSet<String>>,
    websocket: bool,
    count: u64,
}

/// Rules that are the same in one respect become one.
fn together<K: Ord>(rules: Vec<Rule>, respect: impl Fn(&Rule) -> K) -> Vec<Rule> {
    let mut all: BTreeMap<K, Rule> = BTreeMap::new();
    for rule in rules {
        match all.entry(respect(&rule)) {
            Entry::Vacant(vacant) => drop(vacant.insert(rule)),
            Entry::Occupied(mut own) => {
                let own = own.get_mut();
                own.count += rule.count;
                own.methods.extend(rule.methods);
                if let (Some(own), Some(paths)) = (&mut own.paths, rule.paths) {
                    own.extend(paths);
                }
            }
        }
    }
    all.into_values().collect()
}

impl Learned {
    /// The rules, for a profile of a name. What is noteworthy stands beside them as comments.
    ///
    /// # Errors
    /// `args_invalid` for a name of a profile that has other than letters, digits, `-` and `_`; `too_large` past 1000 rules.
    pub fn written(&self, profile: &str) -> Result<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if profile.is_empty() || !profile.bytes().all(is_plain) {
            let shown: String = profile.escape_debug().take(64).collect();
            return Err(Error::args_invalid(format!("`{shown}` is no name of a profile"))
                .with_hint("letters, digits, `-` and `_` make a name, such as `default`"));
        }
        let mut text = format!(
            "# What an audit holds, as rules: {} to {}. Read them before you use them: a segment of a path that\n\
             # looked like an id, or had many values, is `*` here.\n",
            counted(self.requests, "request"),
            counted(self.places.len() as u64, "place"),
        );
        let mut rules = 0;
        for ((host, port, protocol), place) in &self.places {
            for rule in place.rules() {
                rules += 1;
                text.push_str(&shown(profile, (host, *port, protocol), place, &rule));
            }
        }
        if rules == 0 {
            let _ = write!(text, "\n[profile.{profile}]\n");
        }
        if rules > MAX_PLACES {
            return Err(Error::new(
                ErrorCode::TooLarge,
                format!("these are {rules} rules, more than {MAX_PLACES}"),
            )
            .with_hint("read the audit of one sandbox or run: --sandbox ID, --run ID"));
        }
        text.push_str(&self.secrets());
        text.push_str(&self.refusals());
        Ok(text)
    }

    /// Secrets that were used. Where their values come from is not in the audit.
    fn secrets(&self) -> String {
        let mut all: BTreeMap<&str, BTreeSet<&Host>> = BTreeMap::new();
        for ((host, ..), place) in &self.places {
            for name in &place.secrets {
                all.entry(name).or_default().insert(host);
            }
        }
        let mut text = String::new();
        if !all.is_empty() {
            text.push_str("\n# Secrets that were used. Take their sources, and headers that rules set, from the file that was in force.\n");
        }
        for (name, hosts) in all {
            let hosts: Vec<String> = hosts.iter().map(|host| quoted(&host.to_string())).collect();
            let _ = write!(text, "# [secret.{name}]\n# hosts = [{}]\n", hosts.join(", "));
        }
        text
    }

    fn refusals(&self) -> String {
        let mut text = String::new();
        if !self.refused.is_empty() {
            text.push_str("\n# Refused then, and now:\n");
        }
        for ((host, port, reason), count) in &self.refused {
            let reason: String =
                reason.chars().filter(|letter| letter.is_ascii_lowercase() || *letter == '_').collect();
            let _ = writeln!(text, "# {} ({reason}), {}", host.authority(*port, 0), counted(*count, "time"));
        }
        text
    }
}

impl Place {
    /// Rules that allow what was seen, and as little else as patterns can say.
    fn rules(&self) -> Vec<Rule> {
        let mut of_method: BTreeMap<(bool, &String), Vec<(&Path, &Seen)>> = BTreeMap::new();
        for ((method, path), seen) in &self.requests {
            of_method.entry((seen.websocket, method)).or_default().push((path, seen));
        }
        // A rule for each method and path; then methods that have a path in common share one, and paths that have the same methods.
        let mut rules = Vec::new();
        for ((websocket, method), seen) in of_method {
            let one = |path: Option<String>, count| {
                let (methods, paths) =
                    (BTreeSet::from([method.clone()]), path.map(|path| BTreeSet::from([path])));
                Rule { methods, paths, websocket, count }
            };
            match patterns(seen.iter().map(|(path, _)| *path)) {
                None => rules.push(one(None, seen.iter().map(|(_, seen)| seen.count).sum())),
                Some(patterns) => {
                    let counts = counts(&patterns, &seen);
                    rules
                        .extend(patterns.into_iter().zip(counts).map(|(path, count)| one(Some(path), count)));
                }
            }
        }
        let rules = together(rules, |rule| (rule.websocket, rule.paths.clone()));
        let mut rules = together(rules, |rule| (rule.websocket, rule.methods.clone(), rule.paths.is_none()));
        if self.streams > 0 {
            rules.push(Rule { methods: BTreeSet::new(), paths: None, websocket: false, count: self.streams });
        }
        rules
    }
}

/// How often each pattern was asked for: a path counts for the first that fits it.
fn counts(patterns: &[String], seen: &[(&Path, &Seen)]) -> Vec<u64> {
    let read: Vec<Option<PathPattern>> =
        patterns.iter().map(|pattern| PathPattern::parse(pattern).ok()).collect();
    let mut counts = vec![0; patterns.len()];
    for (path, seen) in seen {
        let Path::Segments(segments) = path else { continue };
        // A star fits a star, and whatever a segment is.
        let text = format!("/{}", segments.join("/"));
        let at = read.iter().position(|pattern| pattern.as_ref().is_some_and(|pattern| pattern.fits(&text)));
        if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
            *count += seen.count;
        }
    }
    counts
}

fn shown(profile: &str, (host, port, protocol): (&Host, u16, &str), place: &Place, rule: &Rule) -> String {
    let what = if protocol == "tcp" { "stream" } else { "request" };
    let mut text = format!("\n# {}", counted(rule.count, what));
    if protocol != "tcp" && rule.paths.is_none() {
        text.push_str("; not all of their paths can be named, so each is allowed");
    }
    let _ = write!(text, "\n[[profile.{profile}.allow]]\nhost = {}\n", quoted(&host.to_string()));
    if protocol != "https" {
        let _ = writeln!(text, "protocol = \"{protocol}\"");
    }
    if (protocol, port) != ("https", 443) && (protocol, port) != ("http", 80) {
        let _ = writeln!(text, "port = {port}");
    }
    if !rule.methods.is_empty() {
        let methods: Vec<String> = rule.methods.iter().map(|method| quoted(method)).collect();
        let _ = writeln!(text, "methods = [{}]", methods.join(", "));
    }
    let paths: Vec<String> = rule.paths.iter().flatten().map(|path| quoted(path)).collect();
    match paths.as_slice() {
        [] => {}
        [path] => {
            let _ = writeln!(text, "paths = [{path}]");
        }
        paths => {
            let _ = writeln!(text, "paths = [\n    {},\n]", paths.join(",\n    "));
        }
    }
    if rule.websocket {
        text.push_str("websocket = true\n");
    }
    let networks: Vec<String> = place.networks().iter().map(|network| quoted(&network.to_string())).collect();
    if !networks.is_empty() {
        let _ = writeln!(text, "addresses = [{}]    # those that the name had", networks.join(", "));
    }
    text
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
