//! Commits as text: the formats of `log` and their placeholders, and times.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use git2::{Commit, Oid, Repository, Signature, Time};

use crate::context::{Failure, Git, Result};

/// How a commit's times are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dates {
    #[default]
    Default,
    Iso,
    Strict,
    Short,
    Rfc,
    Unix,
    Raw,
    Relative,
}

impl Dates {
    pub(crate) fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "default" | "local" => Self::Default,
            "iso" | "iso8601" => Self::Iso,
            "iso-strict" | "iso8601-strict" => Self::Strict,
            "short" => Self::Short,
            "rfc" | "rfc2822" => Self::Rfc,
            "unix" => Self::Unix,
            "raw" => Self::Raw,
            "relative" => Self::Relative,
            _ => return Err(Failure::fatal(format!("unknown date format {name}"))),
        })
    }

    pub(crate) fn of(self, time: Time) -> String {
        let (zone, local) =
            (offset(time, ""), Civil::of(time.seconds() + i64::from(time.offset_minutes()) * 60));
        let Civil { year, month, day, hour, minute, second, weekday } = local;
        let (weekday, name) = (WEEKDAYS[weekday], MONTHS[month - 1]);
        let clock = format!("{hour:02}:{minute:02}:{second:02}");
        match self {
            Self::Default => format!("{weekday} {name} {day} {clock} {year} {zone}"),
            Self::Iso => format!("{year:04}-{month:02}-{day:02} {clock} {zone}"),
            Self::Strict if time.offset_minutes() == 0 => format!("{year:04}-{month:02}-{day:02}T{clock}Z"),
            Self::Strict => format!("{year:04}-{month:02}-{day:02}T{clock}{}", offset(time, ":")),
            Self::Short => format!("{year:04}-{month:02}-{day:02}"),
            Self::Rfc => format!("{weekday}, {day} {name} {year} {clock} {zone}"),
            Self::Unix => time.seconds().to_string(),
            Self::Raw => format!("{} {zone}", time.seconds()),
            Self::Relative => ago(time.seconds()),
        }
    }
}

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn offset(time: Time, between: &str) -> String {
    let minutes = time.offset_minutes().abs();
    format!("{}{:02}{between}{:02}", time.sign(), minutes / 60, minutes % 60)
}

/// A moment on the calendar.
struct Civil {
    year: i64,
    month: usize,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    weekday: usize,
}

impl Civil {
    /// Days are counted from 1 March of year 0, so that leap days end a year.
    fn of(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: usize::try_from(month).unwrap_or(1),
            day: of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0),
        }
    }
}

fn ago(seconds: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let past = i64::try_from(now.as_secs()).unwrap_or(0) - seconds;
    let many = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    let (minutes, hours) = ((past + 30) / 60, (past + 1800) / 3600);
    let days = (past + 43_200) / 86_400;
    match past {
        ..0 => "in the future".into(),
        0..90 => many(past, "second"),
        _ if minutes < 90 => many(minutes, "minute"),
        _ if hours < 36 => many(hours, "hour"),
        _ if days < 14 => many(days, "day"),
        _ if days < 70 => many((days + 3) / 7, "week"),
        _ if days < 365 => many((days + 15) / 30, "month"),
        _ if days < 1825 => {
            let months = (days * 12 * 2 + 365) / (365 * 2);
            let (years, months) = (months / 12, months % 12);
            if months == 0 {
                return many(years, "year");
            }
            format!("{years} year{}, {}", if years == 1 { "" } else { "s" }, many(months, "month"))
        }
        _ => many((days + 183) / 365, "year"),
    }
}

/// The names that point to commits.
pub(crate) struct Decorations(BTreeMap<Oid, Vec<String>>);

impl Decorations {
    /// The names in git's order: what is checked out, tags, then branches, each from the last.
    pub(crate) fn of(git: &Git) -> Result<Self> {
        let mut names: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
        let (head, branch) = (git.head()?, git.branch()?);
        if let Some(head) = &head {
            let text = branch.as_ref().map_or("HEAD".to_owned(), |branch| format!("HEAD -> {branch}"));
            names.entry(head.id()).or_default().push(text);
        }
        for (prefix, shown) in [("refs/tags/", "tag: "), ("refs/remotes/", ""), ("refs/heads/", "")] {
            let mut found = Vec::new();
            for reference in git.repository.references_glob(&format!("{prefix}*"))? {
                let reference = reference?;
                let Ok(commit) = reference.peel_to_commit() else { continue };
                let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
                found.push((name, commit.id()));
            }
            found.sort();
            found.reverse();
            for (name, id) in found {
                let short = &name[prefix.len()..];
                if prefix == "refs/heads/" && branch.as_deref() == Some(short) {
                    continue;
                }
                names.entry(id).or_default().push(format!("{shown}{short}"));
            }
        }
        Ok(Self(names))
    }

    fn text(&self, id: Oid) -> Option<String> {
        self.0.get(&id).map(|names| names.join(", "))
    }
}

/// How a commit is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Oneline,
    Short,
    Medium,
    Full,
    Fuller,
    /// With placeholders; `true`: a line end after each, not between them.
    Custom(String, bool),
}

impl Format {
    pub(crate) fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "oneline" => Self::Oneline,
            "short" => Self::Short,
            "medium" => Self::Medium,
            "full" => Self::Full,
            "fuller" => Self::Fuller,
            _ => match (name.strip_prefix("format:"), name.strip_prefix("tformat:")) {
                (Some(text), _) => Self::Custom(text.into(), false),
                (_, Some(text)) => Self::Custom(text.into(), true),
                _ if name.contains('%') => Self::Custom(name.into(), true),
                _ => return Err(Failure::fatal(format!("invalid --pretty format: {name}"))),
            },
        })
    }
}

/// What commits are shown with.
pub(crate) struct View<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) dates: Dates,
    pub(crate) decorations: Option<Decorations>,
    /// Names of commits in the fixed formats are short.
    pub(crate) short: bool,
    /// Names decorate commits in the fixed formats.
    pub(crate) decorate: bool,
}

impl View<'_> {
    fn id(&self, id: Oid, short: bool) -> Result<String> {
        if !short {
            return Ok(id.to_string());
        }
        let object = self.repository.find_object(id, None);
        // The parents of a shallow history are names only.
        Ok(match object {
            Ok(object) => object.short_id()?.as_str().unwrap_or_default().to_owned(),
            Err(_) => id.to_string()[..7].to_owned(),
        })
    }

    fn decoration(&self, id: Oid) -> String {
        let names = self.decorate.then(|| self.decorations.as_ref()?.text(id)).flatten();
        names.map_or_else(String::new, |names| format!(" ({names})"))
    }

    /// A commit in a format; with a line end unless the format is one that goes between.
    pub(crate) fn text(&self, commit: &Commit<'_>, format: &Format) -> Result<String> {
        match format {
            Format::Oneline => {
                let (id, subject) = (self.id(commit.id(), self.short)?, subject(commit));
                Ok(format!("{id}{} {subject}\n", self.decoration(commit.id())))
            }
            Format::Custom(format, _) => self.custom(commit, format),
            _ => self.long(commit, format),
        }
    }

    fn long(&self, commit: &Commit<'_>, format: &Format) -> Result<String> {
        let mut text =
            format!("commit {}{}\n", self.id(commit.id(), self.short)?, self.decoration(commit.id()));
        if commit.parent_count() > 1 {
            let parents: Vec<String> =
                commit.parent_ids().map(|id| self.id(id, true)).collect::<Result<_>>()?;
            text.push_str(&format!("Merge: {}\n", parents.join(" ")));
        }
        let (author, committer) = (commit.author(), commit.committer());
        let date = |who: &Signature<'_>| self.dates.of(who.when());
        match format {
            Format::Short => text.push_str(&format!("Author: {}\n", person(&author))),
            Format::Full => {
                text.push_str(&format!("Author: {}\nCommit: {}\n", person(&author), person(&committer)));
            }
            Format::Fuller => {
                text.push_str(&format!("Author:     {}\nAuthorDate: {}\n", person(&author), date(&author)));
                text.push_str(&format!(
                    "Commit:     {}\nCommitDate: {}\n",
                    person(&committer),
                    date(&committer)
                ));
            }
            _ => text.push_str(&format!("Author: {}\nDate:   {}\n", person(&author), date(&author))),
        }
        text.push('\n');
        let message = message(commit);
        let shown = if *format == Format::Short { subject(commit) } else { message };
        for line in shown.trim_end().lines() {
            // An empty line keeps its indent, as in git.
            text.push_str(&format!("    {line}\n"));
        }
        Ok(text)
    }

    fn custom(&self, commit: &Commit<'_>, format: &str) -> Result<String> {
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            let used = self.placeholder(commit, &rest[1..], &mut text)?;
            if used == 0 {
                text.push('%');
            }
            rest = &rest[1 + used..];
        }
        text.push_str(rest);
        Ok(text)
    }

    /// Writes what a placeholder stands for; the answer is its length without `%`, 0 if it is none.
    fn placeholder(&self, commit: &Commit<'_>, rest: &str, text: &mut String) -> Result<usize> {
        let parents = |short: bool| -> Result<String> {
            let ids: Vec<String> = commit.parent_ids().map(|id| self.id(id, short)).collect::<Result<_>>()?;
            Ok(ids.join(" "))
        };
        let names = || self.decorations.as_ref().and_then(|names| names.text(commit.id()));
        let Some(first) = rest.chars().next() else { return Ok(0) };
        match first {
            'H' => text.push_str(&commit.id().to_string()),
            'h' => text.push_str(&self.id(commit.id(), true)?),
            'T' => text.push_str(&commit.tree_id().to_string()),
            't' => text.push_str(&self.id(commit.tree_id(), true)?),
            'P' => text.push_str(&parents(false)?),
            'p' => text.push_str(&parents(true)?),
            's' => text.push_str(&subject(commit)),
            'b' => text.push_str(&body(commit)),
            'B' => text.push_str(&message(commit)),
            'n' => text.push('\n'),
            '%' => text.push('%'),
            'd' => text.push_str(&names().map_or_else(String::new, |names| format!(" ({names})"))),
            'D' => text.push_str(&names().unwrap_or_default()),
            'x' => {
                let code = rest.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let Some(code) = code else { return Ok(0) };
                text.push(char::from(code));
                return Ok(3);
            }
            'C' => {
                // There are no colours.
                let names = ["red", "green", "blue", "reset"];
                let named =
                    names.iter().find(|name| rest[1..].starts_with(**name)).map(|name| 1 + name.len());
                let bracket = rest[1..].starts_with('(').then(|| rest.find(')').map(|at| at + 1)).flatten();
                return Ok(named.or(bracket).unwrap_or(0));
            }
            'a' => return Ok(self.person(&commit.author(), &rest[1..], text)),
            'c' => return Ok(self.person(&commit.committer(), &rest[1..], text)),
            _ => return Ok(0),
        }
        Ok(first.len_utf8())
    }

    fn person(&self, who: &Signature<'_>, rest: &str, text: &mut String) -> usize {
        let when = |dates: Dates| dates.of(who.when());
        let email = String::from_utf8_lossy(who.email_bytes()).into_owned();
        let shown = match rest.chars().next() {
            Some('n' | 'N') => String::from_utf8_lossy(who.name_bytes()).into_owned(),
            Some('e' | 'E') => email,
            Some('l' | 'L') => email.split('@').next().unwrap_or_default().to_owned(),
            Some('d') => when(self.dates),
            Some('D') => when(Dates::Rfc),
            Some('i') => when(Dates::Iso),
            Some('I') => when(Dates::Strict),
            Some('s') => when(Dates::Short),
            Some('t') => when(Dates::Unix),
            Some('r') => when(Dates::Relative),
            _ => return 0,
        };
        let _ = write!(text, "{shown}");
        2
    }
}

fn person(who: &Signature<'_>) -> String {
    format!("{} <{}>", String::from_utf8_lossy(who.name_bytes()), String::from_utf8_lossy(who.email_bytes()))
}

fn message(commit: &Commit<'_>) -> String {
    String::from_utf8_lossy(commit.message_bytes()).into_owned()
}

/// The first paragraph as one line.
pub(crate) fn subject(commit: &Commit<'_>) -> String {
    let message = message(commit);
    let lines: Vec<&str> =
        message.trim_start_matches('\n').lines().take_while(|line| !line.trim().is_empty()).collect();
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join(" ")
}

/// What follows it.
fn body(commit: &Commit<'_>) -> String {
    let message = message(commit);
    let start = message.trim_start_matches('\n');
    let mut rest = start;
    while let Some((line, after)) = rest.split_once('\n') {
        if line.trim().is_empty() {
            return after.trim_start_matches('\n').to_owned();
        }
        rest = after;
    }
    String::new()
}
