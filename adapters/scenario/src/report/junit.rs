//! The same as JUnit XML, which CI systems read: a suite for each scenario, a case for each repetition.
//!
//! Whatever tools said goes through [`visible`] first; the library escapes it and leaves out what XML cannot hold.

use std::time::Duration;

use dormouse_core::{Error, Result};
use quick_junit::{NonSuccessKind, Report as Whole, TestCase, TestCaseStatus, TestSuite};

use super::parts::visible;
use super::record::{Problem, RepetitionRecord, Report, ScenarioRecord, Status};

impl Report {
    /// The report as JUnit XML. A repetition that failed is a `failure`; what could not be opened is an `error`; what was
    /// given up, or never begun, is `skipped`.
    ///
    /// # Errors
    /// `internal`; no value of a report is known that cannot be XML.
    pub fn to_junit(&self) -> Result<String> {
        let mut whole = Whole::new(visible(&self.name));
        whole.timestamp = self.started.parse().ok();
        whole.set_time(time(self.duration_ms));
        if let Some(problem) = &self.problem {
            let mut suite = TestSuite::new("servers of scope run");
            suite.add_test_case(not_opened("servers of scope run", problem));
            whole.add_test_suite(suite);
        }
        for scenario in &self.scenarios {
            whole.add_test_suite(suite(scenario));
        }
        whole.to_string().map_err(|error| Error::internal("the report cannot be XML", error))
    }
}

fn suite(scenario: &ScenarioRecord) -> TestSuite {
    let mut suite = TestSuite::new(visible(&scenario.id));
    suite.set_time(time(scenario.duration_ms));
    if let Some(problem) = &scenario.problem {
        suite.add_test_case(in_file(not_opened("servers of scope scenario", problem), scenario));
    }
    for repetition in &scenario.repetitions {
        suite.add_test_case(in_file(case(repetition), scenario));
    }
    suite
}

fn case(repetition: &RepetitionRecord) -> TestCase {
    let name = format!("repetition {}", repetition.number);
    let mut case = match (&repetition.problem, repetition.status) {
        (Some(problem), Status::Failed) => not_opened(&name, problem),
        (_, status) => TestCase::new(name, told(status, &repetition.failures())),
    };
    case.set_time(time(repetition.open_ms + repetition.work_ms + repetition.close_ms));
    case.set_assertions(repetition.gates.len());
    case
}

fn told(status: Status, failures: &[String]) -> TestCaseStatus {
    let mut told = match status {
        Status::Passed => return TestCaseStatus::success(),
        Status::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::Cancelled | Status::Skipped => TestCaseStatus::skipped(),
    };
    let first = failures.first().map_or_else(|| status.as_str().to_owned(), |first| visible(first));
    told.set_message(first);
    if status == Status::Failed {
        told.set_description(visible(&failures.join("\n")));
    }
    told
}

/// A case of what could not be opened.
fn not_opened(name: &str, problem: &Problem) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(visible(&problem.message.text)).set_type(visible(&problem.code));
    status.set_description(visible(&problem.line()));
    TestCase::new(name, status)
}

fn in_file(mut case: TestCase, scenario: &ScenarioRecord) -> TestCase {
    case.set_classname(visible(&scenario.id));
    case.extra.insert("file".into(), visible(&scenario.file).into());
    case
}

fn time(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default()
}
