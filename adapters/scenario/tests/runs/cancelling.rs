//! A run that is given up: the call ends, scopes close, the report has what there is.

use std::sync::Arc;

use dormouse_scenario::{Event, Observer, Options, Status};
use tokio_util::sync::CancellationToken;

use super::{Stage, arena};

/// Gives the run up when a tool says that it waits, and keeps what it heard.
#[derive(Default)]
struct GivesUp {
    token: CancellationToken,
    heard: std::sync::Mutex<Vec<String>>,
}

impl Observer for GivesUp {
    fn event(&self, event: Event<'_>) {
        let told = match event {
            Event::CallProgress { message, .. } => {
                self.token.cancel();
                message.to_owned()
            }
            Event::RepetitionFinished { repetition, status, .. } => {
                format!("{repetition} {}", status.as_str())
            }
            Event::CallFinished { tool, ok, .. } => format!("{tool} {ok}"),
            _ => return,
        };
        self.heard.lock().unwrap().push(told);
    }
}

#[tokio::test]
async fn a_run_that_is_given_up_in_a_call_closes_everything_and_reports() {
    let stage = Stage::new();
    let observer = Arc::new(GivesUp::default());
    let options =
        Options { cancel: observer.token.clone(), observer: observer.clone(), ..Options::default() };
    let scenario = "repetitions: 3\nturns:\n  - tool_calls: [{tool: Say}, {tool: Wait}, {tool: Say}]\n  - tool_calls: [{tool: Say}]\nconversation_assertions: [{type: tool_exec, params: {tool: Say}}]\n";
    let report = stage.run_with(&arena("session", scenario), &options).await;
    assert_eq!((report.status, report.exit_code()), (Status::Cancelled, 130));
    let one = &report.scenarios[0].repetitions[0];
    let outcomes: Vec<bool> = one.turns[0].calls().map(|call| call.problem.is_none()).collect();
    assert_eq!((outcomes, one.turns.len(), one.gates.len()), (vec![true, false], 1, 0));
    assert_eq!(one.turns[0].status, Status::Cancelled);
    assert_eq!(report.totals.unfinished, 3);
    let wanted = ["open session", "Say session", "Wait session", "given up session", "close session"];
    assert_eq!(stage.double.diary(), wanted);
    assert_eq!(*observer.heard.lock().unwrap(), ["Say true", "waiting", "Wait false", "1 cancelled"]);
    assert!(report.to_html().contains("cancelled"));
}

#[tokio::test]
async fn a_run_that_is_given_up_before_it_begins_opens_nothing() {
    let stage = Stage::new();
    let options = Options::default();
    options.cancel.cancel();
    let report = stage.run_with(&arena("run", "turns: [{tool_calls: [{tool: Say}]}]"), &options).await;
    assert_eq!((report.exit_code(), stage.double.live()), (130, 0));
    assert!(stage.double.diary().is_empty());
}

#[tokio::test]
async fn a_run_whose_future_is_dropped_closes_its_scopes() {
    let stage = Stage::new();
    let observer = Arc::new(GivesUp::default());
    let options = Options { observer: observer.clone(), ..Options::default() };
    let plan = stage.plan(&arena("session", "turns: [{tool_calls: [{tool: Wait}]}]")).unwrap();
    tokio::select! {
        _ = dormouse_scenario::run(&plan, &stage.registry, &options) => panic!("nobody ends the call"),
        () = observer.token.cancelled() => {}
    }
    // The scopes close in tasks of their own.
    let closed = async {
        while stage.double.live() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), closed).await.unwrap();
}
