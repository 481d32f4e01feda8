//! What the tests stand on: two processes over one ledger, and short ways to call them.

use std::sync::Arc;
use std::time::Duration;

use crate::sandbox::{Handle, Name, Owner, Quota, SessionKey};
use crate::sandboxes::{Asked, Rules, Sandboxes, View};
use crate::testing::{FakeProvider, FaultyLedger, ManualClock};
use crate::{ErrorCode, EvalRequest, Language, Outcome, Policy, Result, Runtime, Status, Value};

/// How long anything may take that is waited for.
pub(super) const SOON: Duration = Duration::from_secs(60);

pub(super) struct World {
    pub(super) sandboxes: Sandboxes,
    pub(super) provider: FakeProvider,
    pub(super) ledger: FaultyLedger,
    pub(super) clock: Arc<ManualClock>,
    pub(super) owner: Owner,
    rules: Rules,
    policy: Policy,
}

/// Short numbers where the defaults are long.
pub(super) fn rules() -> Rules {
    Rules {
        quota: Quota { per_owner: 10, in_all: 20, checkpoints: 3, ..Quota::default() },
        waiting: 2,
        ..Rules::default()
    }
}

impl World {
    pub(super) fn new(rules: Rules) -> Self {
        Self::with(Policy::default(), rules)
    }

    pub(super) fn with(policy: Policy, rules: Rules) -> Self {
        let (ledger, clock) = (FaultyLedger::default(), Arc::new(ManualClock::default()));
        Self::over(ledger, clock, policy, rules)
    }

    fn over(ledger: FaultyLedger, clock: Arc<ManualClock>, policy: Policy, rules: Rules) -> Self {
        let provider = FakeProvider::default();
        let runtime = Runtime::new(policy.clone(), Arc::new(provider.clone()));
        let runtime = runtime.with_sandboxes(Arc::new(ledger.clone()), rules.clone(), clock.clone());
        let sandboxes = runtime.sandboxes().unwrap().clone();
        Self { sandboxes, provider, ledger, clock, owner: Owner::local(), rules, policy }
    }

    /// Another process on the same state folder.
    pub(super) fn neighbour(&self) -> Self {
        Self::over(self.ledger.clone(), self.clock.clone(), self.policy.clone(), self.rules.clone())
    }

    /// Another process on the same state folder, whose operator allows something else.
    pub(super) fn neighbour_with(&self, policy: Policy, rules: Rules) -> Self {
        Self::over(self.ledger.clone(), self.clock.clone(), policy, rules)
    }

    pub(super) async fn create(&self, name: &str) -> View {
        self.create_for(&self.owner, name).await
    }

    pub(super) async fn create_for(&self, owner: &Owner, name: &str) -> View {
        let asked = Asked { name: Some(Name::parse(name).unwrap()), ..Asked::default() };
        self.sandboxes.create(owner, asked).await.unwrap().0
    }

    pub(super) async fn with_key(&self, key: &str) -> (View, bool) {
        let asked = Asked { session_key: Some(SessionKey::parse(key).unwrap()), ..Asked::default() };
        self.sandboxes.create(&self.owner, asked).await.unwrap()
    }

    pub(super) async fn eval(&self, name: &str, code: &str) -> Result<Outcome> {
        self.eval_in(&self.owner, name, Language::python(), code).await
    }

    pub(super) async fn eval_in(
        &self,
        owner: &Owner,
        name: &str,
        language: Language,
        code: &str,
    ) -> Result<Outcome> {
        let request = EvalRequest::new(language, code);
        let done = self.sandboxes.eval(owner, &Handle::IdOrName(name), request).await;
        done.map(|(_, outcome)| outcome)
    }

    /// The text that `get NAME` gives.
    pub(super) async fn variable(&self, sandbox: &str, name: &str) -> String {
        match self.eval(sandbox, &format!("get {name}")).await.unwrap().status {
            Status::Returned(Value::String { value, .. }) => value,
            other => panic!("{other:?}"),
        }
    }

    /// How long the variable `v` is, asked for without a call that could make the sandbox grow.
    pub(super) async fn variable_now(&self, sandbox: &str) -> usize {
        let (handle, bounds) = (Handle::IdOrName(sandbox), crate::Bounds::default());
        let python = Language::python();
        let got = self.sandboxes.get_variable(&self.owner, &handle, python, "v".into(), None, bounds).await;
        match got.unwrap().status {
            Status::Returned(Value::String { value, .. }) => value.len(),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn view(&self, name: &str) -> Result<View> {
        self.sandboxes.get(&self.owner, &Handle::IdOrName(name))
    }

    pub(super) fn phase(&self, name: &str) -> &'static str {
        self.view(name).map_or_else(|error| error.code().as_str(), |view| view.sandbox.phase.as_str())
    }

    /// Lets time pass and does what is due then.
    pub(super) async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.sandboxes.rest().await;
        self.sandboxes.live().await.unwrap();
    }
}

pub(super) fn code<T>(result: Result<T>) -> Option<ErrorCode> {
    result.err().map(|error| error.code())
}
