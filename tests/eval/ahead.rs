//! Calls of tools that a program's text shows are looked at before it runs, where the operator wants that.

use std::sync::{Arc, Mutex};

use dormouse::connections::Caller;
use dormouse::sandbox::{Owner, RunLimits, RunState};
use dormouse::sandboxes::RunTools;
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{
    Callback, CallbackAnswer, CallbackCall, Callbacks, Catalog, ErrorCode, EvalRequest, Language,
    MeteredModel, ModelUsage, Outcome, PlainCall,
};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, ending, lasting, sandbox};
use futures::future::BoxFuture;
use serde_json::json;

const TYPESCRIPT: &str = "typescript";

/// Tools `work.first` and `work.second`, and what was called.
#[derive(Default)]
struct Tools {
    called: Mutex<Vec<String>>,
    seen: Mutex<Vec<PlainCall>>,
}

/// The catalog of them, which looks ahead.
struct Looking(Arc<Tools>);

impl Catalog for Looking {
    fn find(&self, name: &str) -> Option<Callback> {
        if name == "search" {
            return Some(Callback::new("finds nothing", json!({}), |_| async { Ok(json!([])) }));
        }
        let (tools, name) = (self.0.clone(), name.strip_prefix("work.")?.to_owned());
        ["first", "second"].contains(&name.as_str()).then(|| {
            Callback::answering("works", json!({}), move |_: CallbackCall| {
                tools.called.lock().unwrap().push(name.clone());
                async { Ok(CallbackAnswer::from(json!(1))) }
            })
        })
    }

    fn missing(&self, _: &str) -> String {
        "there are `work.first` and `work.second`".into()
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn look_ahead(&self, calls: Vec<PlainCall>) -> BoxFuture<'_, Option<String>> {
        let known = ["work.first", "work.second"];
        let wrong = calls.iter().filter(|call| !known.contains(&call.name.as_str()) || call.positional);
        let wrong: Vec<String> =
            wrong.map(|call| format!("line {}: no `{}`", call.line, call.name)).collect();
        *self.0.seen.lock().unwrap() = calls;
        Box::pin(async move { (!wrong.is_empty()).then(|| wrong.join("\n")) })
    }
}

fn run(language: &str, code: &str) -> (Outcome, Arc<Tools>) {
    let tools = Arc::<Tools>::default();
    let outcome = sandbox::run(sandbox::snippet(language, code).catalog(Arc::new(Looking(tools.clone()))));
    (outcome, tools)
}

#[test]
fn a_program_whose_third_call_is_misspelt_makes_no_call_at_all() {
    for (language, code) in [
        (
            PYTHON,
            "print('begins')\na = await tools.work.first(n=1)\nb = await tools.work.second(n=a)\n\nc = await tools.work.thrid(n=b)",
        ),
        (
            JAVASCRIPT,
            "console.log('begins');\nconst a = await tools.work.first({ n: 1 });\nconst b = await tools.work.second({ n: a });\n\nconst c = await tools.work.thrid({ n: b });",
        ),
        (
            TYPESCRIPT,
            "console.log('begins');\nconst a: number = await tools.work.first({ n: 1 });\nenum E { b }\n\nconst c = await tools.work.thrid({ n: E.b as number });",
        ),
        (
            PHP,
            "echo 'begins';\n$a = tools()->work->first(n: 1);\n$b = tools()->work->second(n: $a);\n\n$c = tools()->work->thrid(n: $b);",
        ),
    ] {
        let (outcome, tools) = run(language, code);
        let error = outcome.stopped().unwrap_or_else(|| panic!("{language}: {}", ending::told(&outcome)));
        assert_eq!(
            (error.code(), error.message()),
            (ErrorCode::ArgsInvalid, "line 5: no `work.thrid`"),
            "{language}"
        );
        assert_eq!((outcome.stdout.text.as_str(), outcome.exit_code()), ("", 2), "{language}");
        assert!(tools.called.lock().unwrap().is_empty(), "{language}");
        // The same program, once it is right.
        let (outcome, tools) = run(language, &code.replace("thrid", "first"));
        assert!(outcome.is_ok(), "{language}: {}", ending::told(&outcome));
        assert!(!tools.called.lock().unwrap().is_empty(), "{language}");
    }
}

/// A program that can be saved is looked at as well.
#[test]
fn a_program_that_may_wait_is_refused_before_it_begins() {
    for (language, call) in [(PYTHON, "await tools.gone.x()"), (JAVASCRIPT, "await tools.gone.x({})")] {
        let tools = Arc::<Tools>::default();
        let snippet = sandbox::snippet(language, call).catalog(Arc::new(Looking(tools.clone())));
        let outcome = sandbox::wait(async { snippet.start().await?.finish().await }).unwrap();
        assert_eq!(outcome.stopped().unwrap().code(), ErrorCode::ArgsInvalid, "{language}");
    }
}

#[test]
fn arguments_are_told_as_they_stand_in_the_text() {
    for (language, code) in [
        (
            PYTHON,
            "x = 1\nawait tools.work.first({'a': 'q\"\\u00e9'}, b=[1, -2.5, {'c': None}], d=x, e=f'{x}')",
        ),
        (
            JAVASCRIPT,
            "const x = 1;\nawait tools.work.first({ a: 'q\"\\u00e9', b: [1, -2.5, { c: null }], d: x, e: `${x}` })",
        ),
        (
            TYPESCRIPT,
            "const x = 1 as number;\nawait tools.work.first({ a: 'q\"é', 'b': [1, -2.5, { c: null }], d: x, e: `${x}` })",
        ),
        (
            PHP,
            "$x = 1;\ntools()->work->first(['a' => 'q\"é'], b: [1, -2.5, ['c' => null]], d: $x, e: \"$x\");",
        ),
    ] {
        let (outcome, tools) = run(language, code);
        assert!(outcome.is_ok(), "{language}: {}", ending::told(&outcome));
        let seen = tools.seen.lock().unwrap();
        let call = seen.first().unwrap_or_else(|| panic!("{language}: no call"));
        assert_eq!((call.line, call.name.as_str(), call.whole), (2, "work.first", true), "{language}");
        let literals = json!({"a": "q\"é", "b": [1, -2.5, {"c": null}]});
        assert_eq!(serde_json::Value::Object(call.literals.clone()), literals, "{language}");
        assert_eq!(call.others, ["d", "e"], "{language}");
    }
}

/// Programs that run to their end, whatever they have in their text.
fn right(language: &str, programs: &[&str]) {
    for code in programs {
        let (outcome, _) = run(language, code);
        assert!(outcome.is_ok(), "{language}: {code}\n{}", ending::told(&outcome));
    }
}

#[test]
fn right_programs_in_python_are_not_refused() {
    right(
        PYTHON,
        &[
            "# tools.gone.x()\nawait tools.work.first()",
            "'tools.gone.x()'",
            "f'{1} tools.gone.x()'",
            "\"\"\"\ntools.gone.x()\n\"\"\"",
            "x: 'tools.gone.x()' = 1\nx",
            "tools = {'a': 1}\ntools['a']",
            "class T:\n class gone:\n  x = staticmethod(lambda: 7)\ntools = T\ntools.gone.x()",
            "class T:\n class gone:\n  x = staticmethod(lambda: 7)\ndef f(tools): return tools.gone.x()\nf(T)",
            "class T:\n class gone:\n  x = staticmethod(lambda: 7)\n(lambda tools: tools.gone.x())(T)",
            "class A:\n tools = 5\n def m(self): return self.tools\nA().m()",
            "[tools for tools in [1]][0]",
            "if (tools := 3): x = tools\nx",
            "import sys as tools\nlen(tools.version) > 1",
            "import sys\nfrom types import SimpleNamespace as N\nglobals()['tools'] = N(gone=N(x=lambda: 1))\ntools.gone.x()",
            "exec('class tools:\\n class gone:\\n  x = staticmethod(lambda: 7)')\ntools.gone.x()",
            "match {'a': 1}:\n case {'a': tools}: told = tools\ntold",
            "try: 1 / 0\nexcept ZeroDivisionError as tools: told = str(tools)\ntold",
            "with open('/tmp/a', 'w') as tools: tools.write('x')",
            "try:\n await tools.gone.x()\nexcept Exception: told = 1\ntold",
            "try:\n await tools.work.first(1)\nexcept Exception: told = 1\ntold",
            "import asyncio\nawait asyncio.gather(tools.gone.x(), return_exceptions=True)\n1",
            "async def attempt(call):\n try: return await call\n except Exception: return 1\nawait attempt(tools.gone.x())",
            "async def f(): return await tools.gone.x()\ntry: await f()\nexcept Exception: pass\n1",
            "async def f(): return await tools.gone.x()\nasync def g(): return await f()\ntry: await g()\nexcept Exception: pass\n1",
            "import asyncio\ntask = asyncio.create_task(tools.gone.x())\ntry: await task\nexcept Exception: pass\n1",
            "import asyncio\nasync def f(): await tools.gone.x()\ntasks = []\ntasks.append(asyncio.create_task(f()))\nfor t in tasks:\n try: await t\n except Exception: pass\n1",
            "def retry(f):\n async def g():\n  try: return await f()\n  except Exception: return 1\n return g\n@retry\nasync def f(): return await tools.gone.x()\nawait f()",
            "async def never(): await tools.gone.x()\n1",
            "call = lambda: tools.gone.x()\n1",
            "from contextlib import suppress\nwith suppress(Exception): await tools.gone.x()\n1",
            "class Quiet:\n def __enter__(self): pass\n def __exit__(self, *_): return True\nwith Quiet(): await tools.gone.x()\n1",
            "found = await tools.search('x')\nif found: await tools.gone.x()\n1",
            "if hasattr(tools, 'gone') and False: await tools.gone.x()\n1",
            "arguments = {'n': 1}\nawait tools.work.first(**arguments)",
            "await tools['work']['first']({'n': 1}, m=2)",
            "name = 'first'\nawait getattr(tools.work, name)(n=1)",
            "await tools.work[f'{\"first\"}'](n=1)",
            "from dormouse import tools as t\nawait t.work.first()",
            "from dormouse import *\nawait tools.work.first()",
            "await tools.work.second(n=await tools.work.first())",
            "tools.work.first(n=1)",
            "list(map(lambda n: tools.work.first(n=n), [1, 2]))",
            "import asyncio\nsum(await asyncio.gather(*(tools.work.first(n=n) for n in range(3))))",
            "import asyncio\nasync def main(): return await tools.work.first()\nasyncio.run(main())",
            "print(str(tools), tools)",
        ],
    );
}

/// A function, or its coroutine, is handed to another one of the program that catches what it raises.
#[test]
fn right_programs_whose_functions_are_handed_to_one_that_catches_are_not_refused() {
    let job = "async def job(): return await tools.gone.x()\n";
    let safe = "async def safe(f):\n try: return await f()\n except Exception: return 'c'\n";
    let programs = [
        format!("{job}{safe}await safe(job)"),
        format!("{job}async def safe(f):\n try: return await f\n except Exception: return 'c'\nawait safe(job())"),
        format!("import asyncio\n{job}async def safe(f):\n try: return await f\n except Exception: return 'c'\nawait asyncio.gather(*[safe(job()) for _ in range(2)])"),
        format!("{job}def guard(f):\n async def g():\n  try: return await f()\n  except Exception: return 'c'\n return g\njob = guard(job)\nawait job()"),
        format!("{safe}async def inner(): return await tools.gone.x()\nasync def job(): return await inner()\nasync def main(fs):\n for f in fs: await safe(f)\nawait main([job])"),
        format!("{job}class D:\n def __init__(self, f): self.f = f\n async def run(self):\n  try: await self.f()\n  except Exception: pass\nawait D(job).run()"),
        "async def f():\n try: await tools.gone.x()\n finally: return 1\nawait f()".to_owned(),
        "for _ in range(2):\n try: await tools.gone.x()\n finally: break".to_owned(),
        "import asyncio\nopts = {'return_exceptions': True}\nlen(await asyncio.gather(tools.gone.x(), **opts))".to_owned(),
    ];
    right(PYTHON, &programs.each_ref().map(String::as_str));
    right(
        PHP,
        &[
            "function f() { try { tools()->gone->x(); } finally { return 1; } } return f();",
            "<p>tools()->gone->x()</p>\n<?php echo 1;",
        ],
    );
}

const JAVASCRIPT_PROGRAMS: [&str; 32] = [
    "// tools.gone.x({})\nawait tools.work.first({})",
    "/* tools.gone.x({}) */ 1",
    "'tools.gone.x({})'",
    "`tools.gone.x({}) ${1}`",
    "/tools.gone.x\\(\\{\\}\\)/.test('x')",
    "{ const tools = { gone: { x: () => 7 } }; tools.gone.x({}) }",
    "(function (tools) { return tools.gone.x({}) })({ gone: { x: () => 7 } })",
    "((tools) => tools.gone.x({}))({ gone: { x: () => 7 } })",
    "(({ tools }) => tools.gone.x({}))({ tools: { gone: { x: () => 7 } } })",
    "class A { tools = { gone: { x: () => 7 } }; m() { return this.tools.gone.x({}) } } new A().m()",
    "const o = { tools: { gone: { x: () => 7 } } }; o.tools.gone.x({})",
    "for (const tools of [1]) tools",
    "try { throw { gone: { x: () => 7 } } } catch (tools) { tools.gone.x({}) }",
    "try { await tools.gone.x({}) } catch { 1 }",
    "try { await tools.work.first('text') } catch { 1 }",
    "await tools.gone.x({}).catch(() => 1)",
    "await tools.gone.x({}).then((v) => v, () => 1)",
    "(await Promise.allSettled([tools.gone.x({})])).length",
    "async function f() { return await tools.gone.x({}) }\ntry { await f() } catch { 1 }",
    "const f = async () => await tools.gone.x({});\nconst g = async () => await f();\ntry { await g() } catch { 1 }",
    "async function attempt(work) { try { return await work() } catch { return 1 } }\nawait attempt(() => tools.gone.x({}))",
    "const tasks = [];\ntasks.push(tools.gone.x({}));\nfor (const t of tasks) { try { await t } catch {} }\n1",
    "async function never() { await tools.gone.x({}) }\n1",
    "const never = () => tools.gone.x({});\n1",
    "const found = await tools.search('x');\nif (found.length) await tools.gone.x({});\n1",
    "const given = { n: 1 };\nawait tools.work.first({ ...given, m: 2 })",
    "const given = { n: 1 };\nawait tools.work.first(given)",
    "await tools['work']['first']({ n: 1 })",
    "const name = 'first';\nawait tools.work[name]({ n: 1 })",
    "await tools.work.second({ n: await tools.work.first({}) })",
    "(await Promise.all([1, 2].map((n) => tools.work.first({ n })))).length",
    "const { work } = tools;\nawait work.first({ n: 1 })",
];

#[test]
fn right_programs_in_javascript_are_not_refused() {
    right(JAVASCRIPT, &JAVASCRIPT_PROGRAMS);
}

#[test]
fn right_programs_in_typescript_are_not_refused() {
    right(TYPESCRIPT, &JAVASCRIPT_PROGRAMS);
    right(
        TYPESCRIPT,
        &[
            "type T = { tools: { gone: { x(): number } } };\nconst n: number = await tools.work.first({ n: 1 } as const);\nn",
            "const o = { tools: { gone: { x: (o: object) => 7 } } };\no.tools!.gone.x({})",
            "await (tools as any).work.first({ n: 1 } satisfies object)",
            "namespace N { export const tools = 1 }\nN.tools",
        ],
    );
}

#[test]
fn right_programs_in_php_are_not_refused() {
    right(
        PHP,
        &[
            "// tools()->gone->x()\ntools()->work->first();",
            "# tools()->gone->x()\n1;",
            "/* tools()->gone->x() */ 1;",
            "'tools()->gone->x()';",
            "$n = 1; \"{$n} tools()->gone->x()\";",
            "$t = <<<TEXT\ntools()->gone->x()\nTEXT;\n$t;",
            "$t = <<<'TEXT'\ntools()->gone->x()\nTEXT;\n$t;",
            "class A { function tools() { return $this; } public $gone; function x() { return 1; } }\n(new A)->tools()->x();",
            "class B { static function tools() { return new B; } function x() { return 1; } }\nB::tools()->x();",
            "namespace App; function tools() { return new class { public $gone; function x() { return 1; } }; }\ntools()->x();",
            "try { tools()->gone->x(); } catch (Exception $e) { 1; }",
            "try { tools()->work->first('text'); } catch (TypeError $e) { 1; }",
            "function f() { return tools()->gone->x(); }\ntry { f(); } catch (Exception $e) { 1; }",
            "function never() { return tools()->gone->x(); }\n1;",
            "$f = fn() => tools()->gone->x();\n1;",
            "$f = function () { return tools()->gone->x(); };\n1;",
            "function attempt($f) { try { return $f(); } catch (Exception $e) { return 1; } }\nattempt(fn() => tools()->gone->x());",
            "if (tools()->search('x')) { tools()->gone->x(); }\n1;",
            "isset($nothing) && tools()->gone->x();\n1;",
            "$given = ['n' => 1];\ntools()->work->first(...$given);",
            "$given = ['n' => 1];\ntools()->work->first($given, m: 2);",
            "tools()->work->{'first'}(n: 1);",
            "$name = 'first';\ntools()->work->$name(n: 1);",
            "tools()->work->first(class: 'x', fn: [1, 2], match: true ? 1 : 2);",
            "array_map(fn($n) => tools()->work->first(n: $n), [1, 2]);",
            "tools()->work->second(n: tools()->work->first());",
            "$t = tools()->work; $t->first(n: 1);",
            "<?php tools()->work->first(n: 1);",
        ],
    );
}

/// An earlier program has put something else in the place of `tools`.
#[test]
fn what_an_earlier_program_has_made_of_tools_is_its_own() {
    for (language, before, code) in [
        (PYTHON, "class tools:\n class gone:\n  x = staticmethod(lambda: 7)", "tools.gone.x()"),
        (JAVASCRIPT, "globalThis.tools = { gone: { x: () => 7 } }; 1", "tools.gone.x({})"),
    ] {
        let request = |code: &str| {
            let catalog = Arc::new(Looking(Arc::default()));
            sandbox::snippet(language, code).catalog(catalog).into_request().unwrap()
        };
        let wasm = Settings::new().and_then(WasmProvider::new).unwrap();
        let (first, second) = sandbox::wait(async {
            let mut session = wasm.session(&request("").language).await.unwrap();
            let first = wasm.continue_session(&mut session, &request(before)).await.unwrap();
            (first, wasm.continue_session(&mut session, &request(code)).await.unwrap())
        });
        assert!(first.is_ok() && second.is_ok(), "{language}: {}", ending::told(&second));
    }
}

/// A refused program leaves its interpreter as it was.
#[test]
fn what_was_there_before_a_refused_program_is_there_after_it() {
    for (language, before, code, after) in [
        (
            PYTHON,
            "x = 5\n41",
            "x = 6\nawait tools.gone.x()",
            "[x, _, len([n for n in dir() if 'dormouse' in n])] == [5, 41, 0]",
        ),
        (JAVASCRIPT, "var x = 5; 41", "x = 6; await tools.gone.x({})", "x === 5"),
        (PHP, "$x = 5;", "$x = 6; tools()->gone->x();", "$x === 5 && !isset($__dormouse_program__);"),
    ] {
        let request = |code: &str| {
            let catalog = Arc::new(Looking(Arc::default()));
            sandbox::snippet(language, code).catalog(catalog).into_request().unwrap()
        };
        let wasm = Settings::new().and_then(WasmProvider::new).unwrap();
        sandbox::wait(async {
            let mut session = wasm.session(&request("").language).await.unwrap();
            assert!(wasm.continue_session(&mut session, &request(before)).await.unwrap().is_ok());
            let refused = wasm.continue_session(&mut session, &request(code)).await.unwrap();
            assert_eq!(
                refused.stopped().map(dormouse::Error::code),
                Some(ErrorCode::ArgsInvalid),
                "{language}"
            );
            let told = wasm.continue_session(&mut session, &request(after)).await.unwrap();
            assert_eq!(
                told.value().and_then(dormouse::Value::as_bool),
                Some(true),
                "{language}: {}",
                ending::told(&told)
            );
        });
    }
}

/// What runs in the background call.
struct ForRuns(Arc<Tools>);

impl RunTools for ForRuns {
    fn servers(&self) -> Vec<String> {
        vec!["work".into()]
    }

    fn callbacks(&self, _: &Caller, _: ModelUsage) -> (Callbacks, Option<MeteredModel>) {
        let mut callbacks = Callbacks::default();
        callbacks.set_catalog(Arc::new(Looking(self.0.clone())));
        (callbacks, None)
    }
}

/// In a sandbox that lasts, in the foreground and in the background: files and variables are as before, and the next program runs.
#[test]
fn a_sandbox_that_lasts_goes_on_after_a_refused_program() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = lasting::open(folder.path());
    let tools = Arc::<Tools>::default();
    lasting::sandboxes(&dormouse).serve_runs(Arc::new(ForRuns(tools.clone())));
    for (language, before, code, after) in [
        (PYTHON, "x = 5", "x = 6\nawait tools.work.first()\nawait tools.work.thrid()", "x == 5"),
        (
            JAVASCRIPT,
            "var x = 5",
            "x = 6;\nawait tools.work.first({});\nawait tools.work.thrid({})",
            "x === 5",
        ),
        (
            TYPESCRIPT,
            "var x: number = 5",
            "x = 6;\nawait tools.work.first({});\nawait tools.work.thrid({} as object)",
            "x === 5",
        ),
        (PHP, "$x = 5;", "$x = 6;\ntools()->work->first();\ntools()->work->thrid();", "$x === 5;"),
    ] {
        let kept = lasting::named(&dormouse, language);
        lasting::run(&kept, language, before);
        let mut request = EvalRequest::new(Language::parse(language).unwrap(), code);
        request.context.callbacks.set_catalog(Arc::new(Looking(tools.clone())));
        let refused = sandbox::wait(kept.run(request)).unwrap();
        let error = refused.stopped().unwrap_or_else(|| panic!("{language}: {}", ending::told(&refused)));
        assert_eq!((error.code(), error.message()), (ErrorCode::ArgsInvalid, "line 3: no `work.thrid`"));
        assert_eq!((refused.recovery, refused.recovery_reason), (None, None), "{language}: nothing is lost");
        assert_eq!(lasting::shown(&kept, language, after), true, "{language}");
        let request = EvalRequest::new(Language::parse(language).unwrap(), code);
        let ended = sandbox::wait(async {
            let run = kept.start_run(request, RunLimits::default()).await.unwrap();
            loop {
                let now = lasting::sandboxes(&dormouse).run(&Owner::local(), run.id.as_str()).unwrap();
                if !now.state.is_open() {
                    return now;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        });
        let end = ended.end.unwrap();
        assert_eq!(
            (ended.state, end.error.map(|error| error.code)),
            (RunState::Failed, Some(ErrorCode::ArgsInvalid))
        );
        assert_eq!(ended.usage.calls, 0, "{language}");
        assert_eq!(lasting::shown(&kept, language, after), true, "{language}");
    }
    assert!(tools.called.lock().unwrap().is_empty());
    lasting::close(dormouse);
}
