//! The table: one row for each figure, as Markdown that reads well in a terminal, or as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use crate::stats::Summary;
use crate::turns::Measured;

/// The limits that were on in every row; the column `with fuel` has fuel in addition.
pub(crate) const LIMITS: &str = "wall, memory, output";

/// What a figure is to reach.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum Goal {
    /// Our p50 is at most this, in the row's unit.
    AtMost(f64),
    /// As [`Goal::AtMost`]: hoped for, not promised.
    Moonshot(f64),
    /// Our p99 is at most this, in the row's unit.
    P99AtMost(f64),
    /// Our p50 is at most this share of the peer's.
    Share(f64),
    /// Our p50 is at most this much more than the peer's, in the row's unit.
    More(f64),
    /// Our p50 is at most one in this many of the peer's.
    OneIn(f64),
    /// Our p50 is at least this many times the peer's.
    Times(f64),
}

impl Goal {
    fn text(self, unit: &str) -> String {
        match self {
            Goal::AtMost(bound) => format!("≤ {bound} {unit}"),
            Goal::Moonshot(bound) => format!("moonshot ≤ {bound} {unit}"),
            Goal::P99AtMost(bound) => format!("p99 ≤ {bound} {unit}"),
            Goal::Share(share) => format!("≤ {share} ×"),
            Goal::More(more) => format!("≤ peer + {more} {unit}"),
            Goal::OneIn(parts) => format!("≤ 1/{parts} ×"),
            Goal::Times(times) => format!("≥ {times} ×"),
        }
    }

    /// Whether it is reached; none: not known without the peer.
    fn met(self, ours: &Summary, peer: Option<f64>) -> Option<bool> {
        let ratio = peer.filter(|peer| *peer != 0.0).map(|peer| ours.p50 / peer);
        match self {
            Goal::AtMost(bound) | Goal::Moonshot(bound) => Some(ours.p50 <= bound),
            Goal::P99AtMost(bound) => Some(ours.p99 <= bound),
            Goal::More(more) => peer.map(|peer| ours.p50 <= peer + more),
            Goal::Share(share) => ratio.map(|ratio| ratio <= share),
            Goal::OneIn(parts) => ratio.map(|ratio| ratio * parts <= 1.0),
            Goal::Times(times) => ratio.map(|ratio| ratio >= times),
        }
    }
}

/// One figure.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    what: String,
    unit: &'static str,
    limits: &'static str,
    ours: Measured,
    fuel: Option<Measured>,
    peer: Option<(String, Measured)>,
    goals: Vec<Goal>,
}

impl Row {
    pub(crate) fn new(
        id: impl Into<String>,
        what: impl Into<String>,
        unit: &'static str,
        ours: Measured,
    ) -> Self {
        let (id, what) = (id.into(), what.into());
        Self { id, what, unit, limits: LIMITS, ours, fuel: None, peer: None, goals: Vec::new() }
    }

    /// The same with fuel on.
    pub(crate) fn fuel(mut self, fuel: Measured) -> Self {
        self.fuel = Some(fuel);
        self
    }

    pub(crate) fn peer(mut self, name: impl Into<String>, measured: Measured) -> Self {
        self.peer = Some((name.into(), measured));
        self
    }

    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goals.push(goal);
        self
    }

    /// Whether ours could be measured.
    pub(crate) fn is_measured(&self) -> bool {
        self.ours.is_ok()
    }

    fn ratio(&self) -> Option<f64> {
        match (&self.ours, &self.peer) {
            (Ok(ours), Some((_, Ok(peer)))) if peer.p50 != 0.0 => Some(ours.p50 / peer.p50),
            _ => None,
        }
    }

    fn met(&self) -> String {
        let Ok(ours) = &self.ours else { return "not measured".into() };
        let peer = self.peer.as_ref().and_then(|(_, peer)| peer.as_ref().ok()).map(|peer| peer.p50);
        let word = |goal: &Goal| match goal.met(ours, peer) {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "unknown",
        };
        self.goals.iter().map(word).collect::<Vec<_>>().join("; ")
    }

    fn cells(&self) -> [String; 12] {
        let figure = |pick: fn(&Summary) -> f64| self.ours.as_ref().map_or("-".into(), |s| number(pick(s)));
        let (peer, peer_p50) = match &self.peer {
            None => ("-".into(), "-".into()),
            Some((name, Ok(summary))) => (name.clone(), number(summary.p50)),
            Some((name, Err(why))) => (format!("{name}: {why}"), "-".into()),
        };
        let what = match &self.ours {
            Ok(_) => self.what.clone(),
            Err(why) => format!("{} ({why})", self.what),
        };
        let fuel = match &self.fuel {
            None => "-".into(),
            Some(Ok(summary)) => number(summary.p50),
            Some(Err(why)) => why.clone(),
        };
        let goals = self.goals.iter().map(|goal| goal.text(self.unit)).collect::<Vec<_>>();
        [
            what,
            self.limits.into(),
            format!("{} {}", figure(|s| s.p50), self.unit),
            figure(|s| s.p90),
            figure(|s| s.p99),
            self.ours.as_ref().map_or("-".into(), |s| s.n.to_string()),
            fuel,
            peer,
            peer_p50,
            self.ratio().map_or("-".into(), |ratio| {
                if ratio < 0.2 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
            }),
            if goals.is_empty() { "-".into() } else { goals.join("; ") },
            if goals.is_empty() { "-".into() } else { self.met() },
        ]
        .map(|cell| cell.replace(['|', '\n'], " "))
    }
}

/// Three significant digits, more before the point.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

const HEAD: [&str; 12] = [
    "figure",
    "limits on",
    "p50",
    "p90",
    "p99",
    "n",
    "with fuel",
    "peer",
    "peer p50",
    "ratio",
    "goal",
    "met",
];

/// The rows as one Markdown table with aligned columns.
pub(crate) fn render(rows: &[Row]) -> String {
    let lines: Vec<[String; 12]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(Row::cells)).collect();
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
        if index == 0 {
            for width in &widths {
                let _ = write!(text, "| {:-<width$} ", "");
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: f64, peer: Option<f64>, goal: Goal) -> Row {
        let measured = |value: f64| Ok(Summary::of(&[value]).unwrap());
        let row = Row::new("id", "what", "ms", measured(ours)).goal(goal);
        match peer {
            Some(value) => row.peer("peer", measured(value)),
            None => row.peer("peer", Err("not installed".into())),
        }
    }

    #[test]
    fn a_goal_is_met_at_its_bound_and_missed_past_it() {
        assert_eq!(row(0.1, Some(1.0), Goal::OneIn(10.0)).met(), "yes");
        assert_eq!(row(0.11, Some(1.0), Goal::OneIn(10.0)).met(), "**no**");
        assert_eq!(row(10.0, Some(1.0), Goal::Times(10.0)).met(), "yes");
        assert_eq!(row(0.2, None, Goal::AtMost(0.2)).met(), "yes");
        assert_eq!(row(10.0, Some(4.0), Goal::More(6.0)).met(), "yes");
        assert_eq!(row(10.1, Some(4.0), Goal::More(6.0)).met(), "**no**");
    }

    #[test]
    fn a_missing_peer_is_said_and_leaves_the_goal_unknown() {
        let row = row(1.0, None, Goal::Share(0.7));
        assert_eq!(row.met(), "unknown");
        assert!(render(&[row]).contains("peer: not installed"));
    }
}
