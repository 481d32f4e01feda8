//! Functions of the host as `tools()->SERVER->TOOL(argument: value)`, and several of them at once by `call_tools`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dormouse::EvalRequest;
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{PHP, sandbox, wait_until};
use serde_json::{Value as Json, json};

use super::kept::Kept;

/// What the host saw of the calls.
#[derive(Default)]
struct Seen {
    begun: AtomicUsize,
    under_way: AtomicUsize,
    /// Under way at one time, at most.
    most: AtomicUsize,
}

impl Seen {
    fn counts(&self) -> (usize, usize, usize) {
        let [begun, under_way, most] =
            [&self.begun, &self.under_way, &self.most].map(|count| count.load(Ordering::SeqCst));
        (begun, under_way, most)
    }

    fn begin(self: Arc<Self>) -> UnderWay {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        UnderWay(self)
    }
}

/// A call, until it has ended or was dropped.
struct UnderWay(Arc<Seen>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A request whose functions are `slow` (50 ms, gives its argument `n` back), `never`, `fail`, `echo`, `server.add`, `large`
/// (900,000 bytes) and some with odd names.
fn request(code: &str) -> (EvalRequest, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let (slow, never) = (seen.clone(), seen.clone());
    let echo = |arguments: Json| async move { Ok(arguments) };
    let snippet = sandbox::snippet(PHP, code)
        .timeout(Duration::from_secs(60))
        .callback("slow", "Gives n back.", json!({}), move |arguments: Json| {
            let call = slow.clone().begin();
            async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                drop(call);
                Ok(arguments["n"].clone())
            }
        })
        .callback("never", "Does not end.", json!({}), move |_| {
            let call = never.clone().begin();
            async move {
                std::future::pending::<()>().await;
                drop(call);
                Ok(Json::Null)
            }
        })
        .callback("fail", "Fails.", json!({}), |arguments: Json| async move {
            Err(arguments["why"].as_str().unwrap_or("closed").to_owned())
        })
        .callback("server.add", "Adds.", json!({}), |arguments: Json| async move {
            Ok(json!(arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0)))
        })
        .callback("large", "Much.", json!({}), |_| async { Ok(json!("x".repeat(900_000))) })
        .callback("deep", "Nested.", json!({}), |_| async {
            Ok((0..600).fold(json!(1), |inner, _| json!([inner])))
        });
    let snippet = ["echo", "search", "describe", "git-hub.list_all", "list.class.new", "__call", "0", "a..b"]
        .into_iter()
        .fold(snippet, |snippet, name| snippet.callback(name, "Gives its arguments back.", json!({}), echo));
    (snippet.into_request().unwrap(), seen)
}

/// The plain value that a snippet comes to, whose functions are those of [`request`].
#[track_caller]
fn plain(code: &str) -> Json {
    let (request, _) = request(&format!("{code};\nreturn json_encode($answer);"));
    let told = value(&sandbox::run_request(request))["value"].as_str().map(str::to_owned);
    serde_json::from_str(&told.expect("a text")).expect("JSON")
}

#[test]
fn tools_are_called_by_their_names() {
    for (code, answer) in [
        ("tools()->server->add(a: 1, b: 2)", json!(3)),
        ("tools()->server->add(['a' => 1, 'b' => 2])", json!(3)),
        ("tools()->server->add(['a' => 1, 'b' => 9], b: 2)", json!(3)),
        ("tools()->server->add(...['a' => 1], b: 2)", json!(3)),
        ("tools()->{'server.add'}(b: 4)", json!(4)),
        ("(function () { $add = tools()->server->add(...); return $add(a: 1, b: 2); })()", json!(3)),
        ("call_user_func([tools()->server, 'add'], a: 5)", json!(5)),
        ("array_sum(array_map(fn($n) => tools()->server->add(a: $n, b: 1), [1, 2, 3]))", json!(9)),
        ("tools()->{'git-hub'}->list_all(page: 2)", json!({"page": 2})),
        ("tools()->list->class->new(list: [], class: 2.5)", json!({"list": [], "class": 2.5})),
        ("tools()->echo(a: ['b' => [null, true, 2.5, 'ü']])", json!({"a": {"b": [null, true, 2.5, "ü"]}})),
        ("tools()->echo()", json!([])),
        ("tools()->echo([])", json!([])),
        ("tools()->echo([7, [8]])", json!([7, [8]])),
        ("tools()->echo(object: new stdClass, list: [])", json!({"object": [], "list": []})),
        ("tools()->search('two words')", json!({"text": "two words"})),
        ("tools()->search('two words', most: 5)", json!({"text": "two words", "most": 5})),
        ("tools()->search(text: 'two words')", json!({"text": "two words"})),
        ("tools()->search(['text' => 'x'])", json!({"text": "x"})),
        ("tools()->describe('server.add')", json!({"name": "server.add"})),
        ("tools()->slow(n: PHP_INT_MAX) === PHP_INT_MAX", json!(true)),
    ] {
        assert_eq!(plain(&format!("$answer = {code}")), answer, "{code}");
    }
}

#[test]
fn calls_at_once_keep_their_keys_and_their_order() {
    for (code, answer) in [
        ("call_tools([])", json!([])),
        ("call_tools([['server.add', ['a' => 1]], ['server.add', ['b' => 5]]])", json!([1, 5])),
        (
            "call_tools(['z' => ['slow', ['n' => 1]], 3 => ['fail'], 'a' => ['echo']], settle: true)",
            json!({"z": {"ok": 1}, "3": {"error": "closed"}, "a": {"ok": []}}),
        ),
        (
            "array_keys(call_tools([5 => ['slow', ['n' => 1]], 'x' => ['echo'], 2 => ['echo']]))",
            json!([5, "x", 2]),
        ),
        ("call_tools([['none'], ['deep']], true)[1]['error']", json!("the tool's answer is nested too deep")),
        (
            "call_tools(array_map(fn($n) => ['slow', ['n' => $n]], range(0, 600))) === range(0, 600)",
            json!(true),
        ),
        ("count(call_tools(array_fill(7, 3, ['fail', ['why' => 'x']]), settle: true))", json!(3)),
    ] {
        assert_eq!(plain(&format!("$answer = {code}")), answer, "{code}");
    }
}

#[test]
fn calls_at_once_take_the_time_of_the_slowest() {
    let code = "array_sum(call_tools(array_map(fn($n) => ['slow', ['n' => $n]], range(0, 99))))";
    let (request, seen) = request(code);
    assert_eq!(value(&sandbox::run_request(request))["value"], 4950);
    assert_eq!(seen.counts(), (100, 0, 100));
}

#[test]
fn failures_are_exceptions_at_the_place_of_the_call() {
    for (code, class, told) in [
        ("\ntools()->fail(why: 'shut')", "ToolError", "shut"),
        ("\ntools()->server->none()", "ToolError", "no tool `server.none`"),
        ("\ncall_tools([['fail', ['why' => 'shut']]])", "ToolError", "shut"),
        ("\ntools()->deep()", "ToolError", "nested too deep"),
        (
            "\ntools()->server->add(1, 2)",
            "TypeError",
            "server.add takes its arguments by name: write (argument: value)",
        ),
        ("\ntools()->search(1)", "TypeError", "search takes one string"),
        ("\ntools()->echo(x: \"\\xff\")", "ValueError", "must hold only what JSON can say"),
        ("\ntools()->echo(x: NAN)", "ValueError", "must hold only what JSON can say"),
        ("\ntools()->{\"\\xff\"}()", "ValueError", "must be valid UTF-8"),
        ("\ntools()->server = 1", "Error", "tools cannot be changed"),
        ("\nunset(tools()->server->add)", "Error", "tools cannot be changed"),
        ("\nclone tools()", "Error", "uncloneable"),
        ("\nserialize(tools())", "Exception", "not allowed"),
        (
            "\ncall_tools([['echo'], 'x' => 'echo'])",
            "ValueError",
            "['server.tool', ['argument' => value]]: see x, that is no array",
        ),
        ("\ncall_tools([[1]])", "ValueError", "see 0, its first item is no name"),
        ("\ncall_tools([['echo', 1]])", "ValueError", "its second item is no array"),
        ("\ncall_tools([['echo', [], 1]])", "ValueError", "it has more than a name and an array"),
        ("\ncall_tools([['echo', ['x' => INF]]])", "ValueError", "its arguments hold what JSON cannot say"),
        ("\ncall_tools([[\"\\xff\"]])", "ValueError", "its first item is no name"),
    ] {
        let (request, _) = request(code);
        let outcome = sandbox::run_request(request);
        let found = exception(&outcome);
        assert_eq!((found.class.as_str(), found.line), (class, Some(2)), "{code}: {found:?}");
        assert!(found.message.contains(told), "{code}: {}", found.message);
    }
}

#[test]
fn run_10_the_first_failure_of_a_batch_ends_its_other_calls() {
    let begin = Instant::now();
    let code = "$told = 'none';\ntry { call_tools([['never'], ['slow', ['n' => 1]], ['none'], ['fail']]); } catch (ToolError $e) { $told = $e->getMessage(); }\n[$told, tools()->slow(n: 4)]";
    let (request, seen) = request(code);
    let outcome = sandbox::run_request(request);
    let told = &value(&outcome)["value"];
    assert!(told[0]["value"].as_str().is_some_and(|text| text.starts_with("no tool `none`")), "{told}");
    assert_eq!(told[1]["value"], 4);
    // None of the batch is left, only the one after it was waited for.
    assert_eq!(seen.counts().1, 0);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());

    // What cannot be called keeps all others from being begun.
    let (request, seen) = self::request("call_tools([['slow', ['n' => 1]], ['echo', ['x' => NAN]]])");
    assert_ends(&sandbox::run_request(request), &["raised ValueError"]);
    assert_eq!(seen.counts(), (0, 0, 0));
}

#[test]
fn run_11_a_hundred_thousand_calls_in_one_batch_end_in_bounded_room() {
    let code = "$all = array_fill(0, 100000, ['slow', ['n' => 1]]);\n$told = 'none';\ntry { call_tools($all); } catch (ToolError $e) { $told = $e->getMessage(); }\n$first = $told;\n$again = call_tools($all, settle: true);\n[$first, count($again), count(array_filter($again, fn($one) => isset($one['ok'])))]";
    let (mut request, seen) = request(code);
    request.context.callbacks.max_calls = 1_500;
    let outcome = sandbox::run_request(request);
    let told = &value(&outcome)["value"];
    assert_eq!(told[0]["value"], "the run has made its 1500 tool calls");
    assert_eq!((&told[1]["value"], &told[2]["value"]), (&json!(100_000), &json!(0)));
    let (begun, under_way, most) = seen.counts();
    assert!(begun <= 1_500 && begun > 1_000 && most <= 256, "{begun} begun, {most} at one time");
    assert_eq!(under_way, 0);

    // Without a failure all of them are made, as many at one time as may.
    let code = "array_sum(call_tools(array_map(fn($n) => ['server.add', ['a' => $n]], range(1, 100000))))";
    let (mut request, _) = self::request(code);
    request.context.callbacks.max_calls = 100_000;
    assert_eq!(value(&sandbox::run_request(request))["value"], 5_000_050_000_u64);
}

#[test]
fn run_12_names_of_tools_are_data() {
    for (code, answer) in [
        ("$answer = tools()->__call('echo', ['a' => 1])", json!({"a": 1})),
        ("$answer = tools()->{'__call'}('0', ['a' => 1])", json!({"a": 1})),
        ("$answer = tools()->{'0'}(a: 1)", json!({"a": 1})),
        ("$answer = tools()->a->{''}->b(a: 1)", json!({"a": 1})),
        ("$answer = tools()->{'a.'}->b(a: 1)", json!({"a": 1})),
        ("$answer = call_tools([['__call', ['a' => 1]]])", json!([{"a": 1}])),
        ("$answer = tools()->echo(...['odd name' => 1, '' => 2])", json!({"odd name": 1, "": 2})),
    ] {
        assert_eq!(plain(code), answer, "{code}");
    }
    for name in [
        "''",
        "\"\\0\"",
        "\"a\\0b\"",
        "'`; drop'",
        "'<b>'",
        "'$x'",
        "\"\\u{202e}\"",
        "str_repeat('x', 1 << 20)",
    ] {
        for code in [
            format!("tools()->{{{name}}}()"),
            format!("tools()->{{{name}}}->b()"),
            format!("call_tools([[{name}]])"),
        ] {
            let (request, _) = request(&code);
            let outcome = sandbox::run_request(request);
            let found = exception(&outcome);
            assert_eq!(found.class, "ToolError", "{code}");
            assert!(
                found.message.starts_with("no tool `") && found.message.len() < 2_000,
                "{}",
                found.message
            );
        }
    }
}

#[test]
fn run_13_large_arguments_and_answers_are_bounded() {
    for (code, answer) in [
        ("$answer = strlen(tools()->large())", json!(900_000)),
        (
            "$answer = array_sum(array_map(strlen(...), call_tools(array_fill(0, 60, ['large']))))",
            json!(54_000_000),
        ),
        // More than the host takes at one time.
        (
            "$all = call_tools(array_fill(0, 60, ['echo', ['x' => str_repeat('x', 1000000)]]));\n$answer = array_sum(array_map(fn($one) => strlen($one['x']), $all))",
            json!(60_000_000),
        ),
        (
            "$answer = call_tools([['echo', ['x' => str_repeat('x', 2 << 20)]]], settle: true)[0]['error']",
            json!("the arguments have 2097160 bytes, at most 1048576 are taken"),
        ),
    ] {
        assert_eq!(plain(code), answer, "{code}");
    }
    // The program's own memory is what ends, and the next run goes on.
    let mut kept = Kept::new();
    let code =
        "$x = 1; $all = array_fill(0, 400, ['none', ['x' => str_repeat('x', 1 << 20)]]); call_tools($all)";
    assert_ends(&kept.call(code), &["raised OutOfMemoryError"]);
    assert_ends(&kept.call("call_tools([['none']])"), &["raised ToolError"]);
}

#[test]
fn run_14_a_run_that_ends_in_the_middle_of_a_batch_ends_its_calls() {
    let code = "call_tools(array_fill(0, 300, ['never']), settle: true)";
    let (mut late, seen) = request(code);
    late.context.limits.wall = Duration::from_millis(300);
    let begin = Instant::now();
    assert!(sandbox::run_request(late).timed_out());
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert_eq!(seen.counts(), (256, 0, 256));

    let (cancelled, seen) = request(code);
    let run = sandbox::spawn(sandbox::sandbox().runtime().eval(cancelled));
    wait_until("the calls are under way", Duration::from_secs(20), || seen.counts().1 == 256);
    run.abort();
    wait_until("the calls are dropped", Duration::from_secs(20), || seen.counts().1 == 0);
}

#[test]
fn nothing_of_an_ended_batch_reaches_the_next() {
    // The user's code that runs while arguments are read may make calls, and may throw.
    let code = "class A implements JsonSerializable { function __construct(public $f) {} function jsonSerialize(): mixed { return ($this->f)(); } }\n$inner = fn() => call_tools([['slow', ['n' => 2]], ['slow', ['n' => 3]]]);\n$answer = [call_tools([['echo', ['x' => new A($inner)]], ['echo', ['x' => new A($inner)]]])];\ntry { call_tools([['never'], ['echo', ['x' => new A(fn() => throw new Exception('mine'))]]]); } catch (Exception $e) { $answer[] = $e->getMessage(); }\n$answer[] = tools()->echo(x: new A(fn() => tools()->slow(n: 1)))";
    let inner = json!({"x": [2, 3]});
    assert_eq!(plain(code), json!([[inner, inner], "mine", {"x": 1}]));
    // A list that changes while it is read.
    let code = "$calls = [['echo', ['x' => null]], ['echo', ['x' => 1]]];\n$second = &$calls[1];\n$calls[0][1]['x'] = new class($second) implements JsonSerializable { function __construct(public &$other) {} function jsonSerialize(): mixed { $this->other = 5; return 1; } };\ntry { call_tools($calls); } catch (ValueError $e) { $answer = str_contains($e->getMessage(), 'that is no array'); }";
    assert_eq!(plain(code), json!(true));
}
