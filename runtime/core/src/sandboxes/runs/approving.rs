//! Who is asked about the calls of a run that outlives its call: the question is kept in the journal, and whoever looks at the run
//! answers it, from any process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc, oneshot};

use super::super::Inner;
use crate::connections::{ApprovalRequest, Approver, Decision};
use crate::sandbox::RunId;

/// How often the journal is looked at for an answer of another process.
const LOOK: Duration = Duration::from_millis(250);

/// What a program is told whose call was allowed as another one.
const CHANGED: &str = "what the server says of the tool has changed since somebody was asked about the call: call it again, and \
                       somebody is asked again";

/// What a program is told that has ended meanwhile.
const ENDED: &str = "the run has ended";

tokio::task_local! {
    /// The number of the call that asks.
    pub(super) static CALL: u32;
}

/// What the driver is to write down about a call that needs to be allowed.
pub(super) enum Question {
    /// Somebody is asked about it.
    Asks { number: u32, request: ApprovalRequest },
    /// It is allowed, and made once this is written down: a process after this one is not to make it again.
    Begins { number: u32, written: oneshot::Sender<()> },
    /// It is not made.
    Refused { number: u32 },
}

/// Asks by way of the journal.
pub(super) struct ByJournal {
    inner: Arc<Inner>,
    run: RunId,
    most: Duration,
    /// Tells the driver, which writes the question down.
    questions: mpsc::UnboundedSender<Question>,
    answered: Arc<Notify>,
}

impl ByJournal {
    pub(super) fn new(
        inner: Arc<Inner>,
        run: RunId,
        most: Duration,
        answered: Arc<Notify>,
    ) -> (Self, mpsc::UnboundedReceiver<Question>) {
        let (questions, asked) = mpsc::unbounded_channel();
        (Self { inner, run, most, questions, answered }, asked)
    }

    /// How long an answer is waited for still: the call may have been asked about by a process before this one.
    fn left(&self, number: u32) -> Duration {
        let calls = self.inner.ledger.journal().calls(&self.run).unwrap_or_default();
        let begun = calls.iter().find(|call| call.number == number).map(|call| call.begun_at.0);
        let passed = begun.map_or(0, |begun| self.inner.clock.now().0.saturating_sub(begun));
        self.most.saturating_sub(Duration::from_millis(passed))
    }

    /// The decision, once the journal says that the call begins, if it does.
    async fn written(&self, number: u32, decision: Decision) -> Decision {
        if decision != Decision::Approved {
            let _ = self.questions.send(Question::Refused { number });
            return decision;
        }
        let (written, begins) = oneshot::channel();
        let told = self.questions.send(Question::Begins { number, written });
        match told {
            Ok(()) if begins.await.is_ok() => decision,
            _ => Decision::Denied(ENDED.into()),
        }
    }

    fn answer(&self, number: u32) -> Option<Decision> {
        let answers = self.inner.ledger.journal().answers(&self.run).ok()?;
        answers.into_iter().find(|answer| answer.number == number).map(|answer| answer.decision)
    }

    /// Whether somebody was asked about this call when its server said something else of the tool.
    fn has_changed(&self, number: u32, request: &ApprovalRequest) -> bool {
        let calls = self.inner.ledger.journal().calls(&self.run).unwrap_or_default();
        let asked = calls.into_iter().find(|call| call.number == number).and_then(|call| call.question);
        asked.is_some_and(|asked| asked.digest != request.digest)
    }
}

#[async_trait]
impl Approver for ByJournal {
    fn takes_several(&self) -> bool {
        true
    }

    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let Ok(number) = CALL.try_with(|number| *number) else {
            return Decision::Denied("nobody can be asked about this call".into());
        };
        match self.answer(number) {
            Some(Decision::Approved) if self.has_changed(number, &request) => {
                return self.written(number, Decision::Denied(CHANGED.into())).await;
            }
            Some(decision) => return self.written(number, decision).await,
            None => {}
        }
        if self.questions.send(Question::Asks { number, request }).is_err() {
            return Decision::Denied(ENDED.into());
        }
        let asked = async {
            loop {
                if let Some(decision) = self.answer(number) {
                    return decision;
                }
                let _ = tokio::time::timeout(LOOK, self.answered.notified()).await;
            }
        };
        let decision = tokio::time::timeout(self.left(number), asked).await.unwrap_or_else(|_| {
            let seconds = self.most.as_secs();
            Decision::Denied(format!("limit_approval: nobody has allowed the call within {seconds} seconds"))
        });
        self.written(number, decision).await
    }
}
