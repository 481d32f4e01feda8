//! Budgets at their bounds.

use async_trait::async_trait;

use super::*;

/// Answers `tokens` tokens, or the prompt's text when it tells none; waits first for as many milliseconds as `wait` says.
struct Echo {
    tokens: Option<(u64, u64)>,
    wait: u64,
}

#[async_trait]
impl Model for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    async fn complete(&self, prompt: &Prompt, _: usize) -> Result<Completion> {
        tokio::time::sleep(Duration::from_millis(self.wait)).await;
        let text = format!("{} {}", prompt.max_tokens, prompt.messages[0].text);
        Ok(Completion { text, tokens: self.tokens, is_cut: false })
    }
}

fn metered(echo: Echo, budget: ModelBudget) -> MeteredModel {
    MeteredModel::new(Arc::new(echo), budget, "o", ModelTotals::default())
}

fn quick(tokens: Option<(u64, u64)>, budget: ModelBudget) -> MeteredModel {
    metered(Echo { tokens, wait: 0 }, budget)
}

async fn code(model: &MeteredModel, text: &str) -> &'static str {
    match model.complete(Prompt::question(text)).await {
        Ok(_) => "ok",
        Err(error) => {
            assert!(error.hint().is_some(), "{error}");
            error.code().as_str()
        }
    }
}

#[tokio::test]
async fn calls_end_where_their_number_ends() {
    let model = quick(None, ModelBudget { calls: 2, ..ModelBudget::default() });
    assert_eq!([code(&model, "a").await, code(&model, "a").await], ["ok"; 2]);
    assert_eq!(code(&model, "a").await, "budget_exhausted");
    let narrow = model.limited_to(1);
    assert_eq!([code(&narrow, "a").await, code(&narrow, "a").await], ["ok", "budget_exhausted"]);
    assert_eq!((model.usage().calls, model.totals.of("o").calls, model.totals.of("p").calls), (2, 3, 0));
}

#[tokio::test]
async fn tokens_end_and_an_answer_is_asked_to_fit_into_what_is_left() {
    let budget = ModelBudget { tokens: 100, answer_tokens: 60, ..ModelBudget::default() };
    let model = quick(Some((10, 60)), budget);
    let answer = model.complete(Prompt::question("abcd")).await.unwrap();
    assert_eq!(answer.text, "60 abcd");
    let answer = model.complete(Prompt::question("abcd")).await.unwrap();
    assert_eq!(answer.text, "29 abcd");
    assert_eq!(model.usage().tokens(), 140);
    assert_eq!(code(&model, "a").await, "budget_exhausted");
}

#[tokio::test]
async fn a_prompt_and_an_answer_have_a_size() {
    let budget =
        ModelBudget { prompt_bytes: 10, answer_bytes: 12, answer_tokens: 9, ..ModelBudget::default() };
    let model = quick(None, budget);
    assert_eq!(code(&model, "0123456789").await, "ok");
    assert_eq!(code(&model, "0123456789a").await, "too_large");
    assert_eq!(model.usage().calls, 1, "a prompt that is refused costs nothing");
    let model = quick(None, ModelBudget { answer_bytes: 11, answer_tokens: 9, ..ModelBudget::default() });
    assert_eq!(code(&model, "0123456789").await, "too_large");
    assert_eq!(model.usage().failed_calls, 1);
}

#[tokio::test(start_paused = true)]
async fn time_ends_of_one_call_and_of_all() {
    let budget = ModelBudget { call_time: Duration::from_millis(100), ..ModelBudget::default() };
    let slow = || Echo { tokens: None, wait: 101 };
    assert_eq!(code(&metered(slow(), budget), "a").await, "model_unavailable");
    let model = metered(slow(), ModelBudget { time: Duration::from_millis(200), ..ModelBudget::default() });
    assert_eq!(code(&model, "a").await, "ok");
    assert_eq!(code(&model, "a").await, "model_unavailable", "99 ms are left of it");
    assert_eq!(code(&model, "a").await, "budget_exhausted");
}

#[tokio::test(start_paused = true)]
async fn calls_at_the_same_time_cannot_overdraw_and_a_dropped_one_counts() {
    let budget = ModelBudget { calls: 3, ..ModelBudget::default() };
    let model = metered(Echo { tokens: None, wait: 50 }, budget);
    let asked = (0..5).map(|_| code(&model, "a"));
    let mut codes = futures::future::join_all(asked).await;
    codes.sort_unstable();
    assert_eq!(codes, ["budget_exhausted", "budget_exhausted", "ok", "ok", "ok"]);
    let model = model.limited_to(3);
    let dropped = tokio::time::timeout(Duration::from_millis(10), code(&model, "a"));
    assert!(dropped.await.is_err());
    let usage = model.usage();
    assert_eq!((usage.calls, usage.failed_calls, usage.tokens()), (1, 1, 0));
}
