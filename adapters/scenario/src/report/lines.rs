//! What failed, each on one line, for whoever does not open the page: the console, and JUnit's report.

use super::record::{GateRecord, Problem, RepetitionRecord, Status, TurnRecord};

impl Problem {
    /// What happened, its code, and what to do about it.
    pub fn line(&self) -> String {
        format!("{} [{}]{}", self.message, self.code, more(Some(self)))
    }
}

impl TurnRecord {
    /// Why it failed, and where that stands; none for one that did not fail.
    pub fn line(&self) -> Option<String> {
        let why = self.failure.as_ref().filter(|_| self.status == Status::Failed)?;
        let failed = self.calls().find(|call| call.failure.is_some());
        let place = failed.and_then(|call| call.place.as_deref()).unwrap_or(&self.place);
        let more = more(failed.and_then(|call| call.problem.as_ref()));
        Some(format!("turn {} FAILED: {why}{more} ({place})", self.number))
    }
}

impl GateRecord {
    /// Its type and tool, and whether it holds; where it does not, why it is there, why it fails, and where it stands.
    pub fn line(&self) -> String {
        let tool = self.tool.as_ref().map(|tool| format!(" {tool}")).unwrap_or_default();
        if self.passed {
            return format!("gate {}{tool} holds", self.kind);
        }
        let message = self.message.as_ref().map(|message| format!("{message}: ")).unwrap_or_default();
        let more = more(self.details.problem.as_ref());
        format!("gate {}{tool} FAILS: {message}{}{more} ({})", self.kind, self.reason, self.place)
    }
}

impl RepetitionRecord {
    /// All that failed in it, in order.
    pub fn failures(&self) -> Vec<String> {
        let problem = self.problem.iter().map(Problem::line);
        let turns = self.turns.iter().filter_map(TurnRecord::line);
        let gates = self.gates.iter().filter(|gate| !gate.passed).map(GateRecord::line);
        problem.chain(turns).chain(gates).collect()
    }
}

/// What a call's message leaves to the hint: which argument is wrong, which tools there are. On one line, as all here.
fn more(problem: Option<&Problem>) -> String {
    let hint = problem.and_then(|problem| problem.hint.as_ref());
    let words = |hint: &super::text::Text| hint.text.split_whitespace().collect::<Vec<_>>().join(" ");
    hint.map(|hint| format!("; {}", words(hint))).unwrap_or_default()
}
