//! `llm_query` in snippets (S3-13).

use std::time::{Duration, Instant};

use dormouse::ModelBudget;
use dormouse_tests::wire::PATIENCE;
use dormouse_tests::{sandbox, wait_until};
use dormouse_tools::Profile;
use serde_json::json;

use super::{Desk, KEY, Say, Setup, call};

#[test]
fn s3_13_a_snippet_asks_the_model() {
    let desk = Desk::new([Say::Text("four".into())]);
    assert_eq!(desk.python("llm_query('two and two?', system='be short', max_tokens=9)"), "\"four\"");
    let asked = desk.server.asked().remove(0);
    let messages =
        json!([{"role": "system", "content": "be short"}, {"role": "user", "content": "two and two?"}]);
    assert_eq!((&asked.body["messages"], &asked.body["max_tokens"]), (&messages, &json!(9)));
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}").as_str());
    assert_eq!(desk.text("rlm_vars", json!({})), "[]", "what is bound is not a variable of the user's");
    let used = desk.call("rlm_usage", json!({})).structured;
    assert_eq!(used["model"], "m");
    assert_eq!(
        (
            &used["calls"],
            &used["failed_calls"],
            &used["input_tokens"],
            &used["output_tokens"],
            &used["total_tokens"]
        ),
        (&json!(1), &json!(0), &json!(10), &json!(5), &json!(15))
    );
}

#[test]
fn s3_11_the_model_is_there_again_after_a_reset_and_after_waking() {
    let desk = Desk::new([]);
    assert_eq!(desk.python("def ask(x): return llm_query(x) + '!'\nask('a')"), "\"a!\"");
    desk.text("rlm_reset", json!({}));
    assert_eq!(desk.python("def ask(x): return llm_query(x) + '?'\nask('b')"), "\"b?\"");
    let stopped = desk.call("rlm_exec", json!({"code": "while True: pass", "timeout": 1}));
    assert!(stopped.is_error);
    assert_eq!(desk.python("ask('c')"), "\"c?\"", "after a run that was stopped");
    let desk = desk.again();
    assert_eq!(desk.python("ask('d')"), "\"d?\"", "woken from what was saved");
}

#[test]
fn several_texts_are_asked_about_at_once_and_answered_in_order() {
    let desk = Desk::new([]);
    let code = "answers = llm_query_batched([f'p{i}' for i in range(12)])\n(answers == [f'p{i}' for i in range(12)], len(answers))";
    assert_eq!(desk.python(code), "[true,12]");
    assert_eq!(desk.server.asked().len(), 12);
    assert!(desk.server.most_under_way() <= 4, "{} at one time", desk.server.most_under_way());
    assert_eq!(desk.python("llm_query_batched([])"), "[]");
    let many = "try: llm_query_batched(['p'] * 33)\nexcept LlmError as e: print(e.code)";
    assert_eq!(desk.python(many).trim(), "args_invalid");
    assert!(desk.python("llm_query(3)").contains("TypeError: a prompt is a str, not int"));
    assert!(desk.python("llm_query('p', max_tokens=0)").contains("max_tokens"));
}

/// An error shows the class by its name and the frames of the user's code alone.
#[test]
fn an_error_of_the_model_shows_the_users_code_alone() {
    let desk = Desk::new([]);
    let reply =
        desk.call("rlm_exec", json!({"code": "def f():\n    return llm_query('p', max_tokens=0)\nf()"}));
    assert!(reply.text.contains("\nLlmError: args_invalid"), "{}", reply.text);
    assert!(reply.text.contains("in f\n"), "{}", reply.text);
    for ours in ["_bind", "in llm_query", "in ask", "<dormouse>"] {
        assert!(!reply.text.contains(ours), "{ours}: {}", reply.text);
    }
    let exception = &reply.structured["exception"];
    assert_eq!(exception["class"], "LlmError");
    assert_eq!(exception["stack_trace"].as_array().map(Vec::len), Some(2), "{exception}");
    let shown = "(LlmError.__name__, repr(LlmError), llm_query.__qualname__)";
    assert_eq!(desk.python(shown), r#"["LlmError","<class 'LlmError'>","llm_query"]"#);
}

#[test]
fn a_file_does_not_hide_a_name_of_the_hosts() {
    let desk = Desk::new([]);
    for var in ["llm_query", "llm_query_batched", "LlmError"] {
        let reply = desk.call("rlm_load", json!({"path": "none.txt", "var": var}));
        assert_eq!(reply.structured["error"]["code"], "args_invalid", "{}", reply.text);
        assert!(reply.text.contains("a name of the sandbox's own"), "{}", reply.text);
    }
}

#[test]
fn other_languages_and_fresh_sandboxes_ask_by_the_tools_name() {
    let desk = Desk::with(Setup { profile: Profile::Sandbox, ..Setup::default() }, []);
    for (language, code) in [
        ("python", "llm_query('a')"),
        ("python", "call_tool('llm_query', prompt='a')"),
        ("javascript", "await callTool('llm_query', { prompt: 'a' })"),
        ("php", "call_tool('llm_query', ['prompt' => 'a'])"),
    ] {
        for mut arguments in [json!({}), json!({"session_key": "k"})] {
            (arguments["language"], arguments["code"]) = (language.into(), code.into());
            let reply = desk.call("sandbox_eval", arguments);
            assert_eq!(reply.structured["result"]["value"], "a", "{language}: {}", reply.text);
        }
    }
    let spec = desk.surface.get("sandbox_eval").unwrap();
    assert!(spec.description.contains("llm_query"));
}

/// The model's time is not the snippet's; the snippet's own time still is.
#[test]
fn the_wall_clock_stands_still_while_the_model_answers() {
    let slow = || Say::After(Duration::from_millis(2_500));
    let desk = Desk::new([slow(), slow(), slow()]);
    let short = |code: &str| desk.call("rlm_exec", json!({"code": code, "timeout": 2}));
    let reply = short("llm_query('a') + llm_query('b')");
    assert_eq!(reply.text, "\"latelate\"");
    let begin = Instant::now();
    let reply = short("x = llm_query('c')\nwhile True: pass");
    assert_eq!(reply.structured["error"]["code"], "limit_time", "{}", reply.text);
    assert!(begin.elapsed() >= Duration::from_millis(4_400));
    let reply = short("import time\nllm_query('d')\ntime.sleep(60)");
    assert_eq!(reply.structured["error"]["code"], "limit_time", "{}", reply.text);
}

/// Endless asking ends at the budget, and costs the endpoint nothing more.
#[test]
fn llm_04_asking_ends_where_the_budget_ends() {
    let budget = ModelBudget { calls: 3, ..ModelBudget::default() };
    let desk = Desk::with(Setup { budget, ..Setup::default() }, []);
    let code = "codes = {}\n\
        for i in range(10_000):\n\
        \x20   try: code = 'ok' if llm_query('a') else ''\n\
        \x20   except LlmError as e: code = e.code\n\
        \x20   codes[code] = codes.get(code, 0) + 1\n\
        codes";
    assert_eq!(desk.python(code), r#"{"ok":3,"budget_exhausted":997,"tool_error":9000}"#);
    assert_eq!(desk.server.asked().len(), 3);
    // The next call has its own.
    assert_eq!(desk.python("llm_query('b')"), "\"b\"");
    let batch = "try: llm_query_batched(['a'] * 10)\nexcept LlmError as e: print(e.code)";
    assert_eq!(desk.python(batch).trim(), "budget_exhausted");
    assert_eq!(desk.server.asked().len(), 4, "a batch that does not fit is not begun");
}

#[test]
fn llm_04_tokens_end_as_well() {
    let budget = ModelBudget { tokens: 40, ..ModelBudget::default() };
    let desk = Desk::with(Setup { budget, ..Setup::default() }, []);
    let code = "n = 0\ntry:\n  while True: llm_query('a'); n += 1\nexcept LlmError as e: print(n, e)";
    let told = desk.python(code);
    assert!(told.starts_with("3 budget_exhausted: the 40 tokens"), "{told}");
}

/// Prompts and answers have a size, whatever the snippet or the model sends.
#[test]
fn llm_03_huge_prompts_and_answers_are_refused() {
    let desk = Desk::new([
        Say::Text("a".repeat(1 << 20)),
        Say::Endless,
        Say::Raw("not JSON".into()),
        Say::Raw("[".repeat(100_000)),
    ]);
    let told = |code: &str| {
        let code = format!("try: {code}\nexcept LlmError as e: print(e.code, len(str(e)) < 400)");
        desk.python(&code).trim().to_owned()
    };
    assert_eq!(told("llm_query('a' * (600 << 10))"), "too_large True");
    assert_eq!(told("llm_query('a' * (8 << 20))"), "tool_error True");
    assert_eq!(desk.server.asked().len(), 0);
    assert_eq!(told("llm_query('long')"), "too_large True");
    assert_eq!(told("llm_query('endless')"), "too_large True");
    assert_eq!(told("llm_query('odd')"), "model_unavailable True");
    assert_eq!(told("llm_query('deep')"), "model_unavailable True");
    assert_eq!(desk.python("llm_query('ok')"), "\"ok\"");
}

#[test]
fn s3_12_a_rate_limit_is_an_exception_with_its_code() {
    let busy = || Say::Status(429, Some("0"), String::new());
    let desk = Desk::new([busy(), Say::Text("now".into()), busy(), busy(), busy()]);
    assert_eq!(desk.python("llm_query('a')"), "\"now\"");
    let code = "try: llm_query('a')\nexcept LlmError as e: print(e.code)";
    assert_eq!(desk.python(code).trim(), "model_rate_limited");
}

#[test]
fn a_cancelled_run_cancels_the_models_call() {
    let desk = Desk::new([Say::After(Duration::from_secs(60))]);
    desk.python("x = 1");
    let server = desk.server.clone();
    let running =
        sandbox::spawn(call(desk.surface.clone(), "rlm_exec".into(), json!({"code": "llm_query('a')"})));
    wait_until("the endpoint is asked", PATIENCE, || server.under_way() == 1);
    running.abort();
    wait_until("the endpoint works for nobody any more", PATIENCE, || server.under_way() == 0);
    let told = "1\n(recovery: before_run, an earlier call was cancelled before it ended)";
    assert_eq!(desk.python("x"), told, "the sandbox is as before the run");
    assert_eq!(desk.call("rlm_usage", json!({})).structured["failed_calls"], 1);
}

#[test]
fn without_a_model_asking_raises_and_says_what_is_missing() {
    let desk = Desk::with(Setup { configured: false, ..Setup::default() }, []);
    let told = desk.python("try: llm_query('a')\nexcept LlmError as e: print(e.code, e)");
    assert!(told.contains("capability_unavailable"), "{told}");
    let text = "no model reachable: client declared no sampling capability and no --llm-endpoint is set";
    assert!(told.contains(text), "{told}");
    let reply = desk.call("rlm_sub_agent", json!({"signature": "a -> b", "inputs": {"a": "x"}}));
    assert_eq!(reply.structured["error"]["code"], "capability_unavailable");
    assert!(reply.text.contains(text), "{}", reply.text);
}

/// A snippet that looks everywhere finds no key, and an endpoint that repeats it is not believed.
#[test]
fn llm_02_the_key_is_nowhere_in_the_guest() {
    let echoes = format!(r#"{{"error": {{"message": "bad key {KEY}", "code": "{KEY}"}}}}"#);
    let desk = Desk::new([Say::Status(401, None, echoes.clone()), Say::Status(500, Some("0"), echoes)]);
    let code = "import gc, os, sys\n\
        gc.unfreeze()\n\
        told = []\n\
        for i in range(2):\n\
        \x20   try: told.append(llm_query('a'))\n\
        \x20   except LlmError as e: told.append(repr(e) + repr(e.__dict__) + repr(e.__cause__) + repr(e.__context__))\n\
        seen = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))]\n\
        parts = ['sk-test', '0123']\n\
        marked = lambda s: isinstance(s, str) and all(part in s for part in parts)\n\
        found = [s for o in seen for s in (o.values() if isinstance(o, dict) else o) if marked(s)]\n\
        (len(told), len(seen) > 1000, found, [t for t in told if marked(t)], marked(str(dict(os.environ))), marked(str(sys.argv)))";
    assert_eq!(desk.python(code), "[2,true,[],[],false,false]");
}

/// An endpoint that answers with the key: it is in no answer, no variable, no file and nothing that is saved.
#[test]
fn llm_02_a_key_that_the_endpoint_repeats_does_not_reach_the_sandbox() {
    let told = format!("your key is Bearer {KEY}");
    let says = [Say::Text(told.clone()), Say::Text(told)];
    let desk = Desk::new(says);
    let code = "answer = llm_query('which key?')\nopen('/workspace/answer', 'w').write(answer)\nanswer";
    assert_eq!(desk.python(code), "\"your key is Bearer [key removed]\"");
    assert_eq!(desk.python("llm_query('once more')"), "\"your key is Bearer [key removed]\"");
    let desk = desk.again();
    assert_eq!(desk.python("answer == open('/workspace/answer').read()"), "true");
    assert_eq!(desk.python("'sk-' in answer"), "false");
}
