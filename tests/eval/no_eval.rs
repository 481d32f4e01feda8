//! A run that may make no code from text (S1-24): what a snippet writes is what runs.

use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{EvalRequest, Language, Outcome, Policy, Project};
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};

fn strict(language: &str, code: &str) -> Outcome {
    sandbox::run(sandbox::snippet(language, code).allow_eval(false))
}

/// The class of what a refused attempt raises.
fn class(language: &str) -> &'static str {
    if language == PYTHON { "PermissionError" } else { "EvalError" }
}

const REFUSED: &[(&str, &str)] = &[
    (PYTHON, "eval('1')"),
    (PYTHON, "exec('x = 1')"),
    (PYTHON, "compile('1', '<x>', 'eval')"),
    (PYTHON, "exec((lambda: 1).__code__)"),
    (PYTHON, "f = eval\nf('1')"),
    (PYTHON, "import builtins\nbuiltins.eval('1')"),
    (PYTHON, "getattr(__builtins__, 'ev' + 'al')('1')"),
    (PYTHON, "list(map(eval, ['1']))"),
    (PYTHON, "sorted(['1'], key=eval)"),
    (PYTHON, "import functools\nfunctools.partial(eval, '1')()"),
    (PYTHON, "import functools\nfunctools.reduce(lambda a, b: eval(b), ['1', '2'])"),
    (PYTHON, "import operator\noperator.call(exec, '1')"),
    (PYTHON, "import pickle\npickle.loads(b\"cbuiltins\\neval\\n(S'1'\\ntR.\")"),
    (PYTHON, "import pickle, io\npickle._Unpickler(io.BytesIO(b\"cbuiltins\\neval\\n(S'1'\\ntR.\")).load()"),
    (PYTHON, "import marshal\nmarshal.loads(marshal.dumps((lambda: 1).__code__))"),
    (PYTHON, "import types\ntypes.CodeType(0, 0, 0, 0, 1, 0, b'', (), (), (), 'f', 'f', 'f', 1, b'', b'')"),
    (PYTHON, "c = (lambda: 1).__code__\nc.replace(co_code=c.co_code)"),
    (PYTHON, "class A:\n  def __repr__(self): return eval('1')\nrepr(A())"),
    (PYTHON, "next(eval(x) for x in ['1'])"),
    (PYTHON, "async def f(): return eval('1')\nawait f()"),
    (PYTHON, "import types\ntypes.FunctionType((lambda: eval('1')).__code__, {'__name__': 'library'})()"),
    (PYTHON, "import timeit\ntimeit.timeit('1', number=1)"),
    (PYTHON, "import code\ncode.InteractiveInterpreter().runsource('1')"),
    (PYTHON, "import codeop\ncodeop.compile_command('1')"),
    (PYTHON, "import pdb\npdb.run('1')"),
    (PYTHON, "import dis\ndis.Bytecode('1')"),
    (PYTHON, "import contextlib\nwith contextlib.ExitStack() as s: s.callback(eval, '1')"),
    (PYTHON, "import profile\nprofile.run('1')"),
    (PYTHON, "import cProfile\ncProfile.Profile().run('1')"),
    (PYTHON, "import importlib\nimportlib._bootstrap._call_with_frames_removed(exec, 'x = 1')"),
    (
        PYTHON,
        "import importlib.abc, types\nclass L(importlib.abc.SourceLoader):\n  def get_data(self, path): return b'x = 1'\n  \
         def get_filename(self, name): return 'm.py'\nL().exec_module(types.ModuleType('m'))",
    ),
    (
        PYTHON,
        "import importlib.abc, types\nclass L(importlib.abc.InspectLoader):\n  def get_source(self, name): return 'x = 1'\n\
         L().exec_module(types.ModuleType('m'))",
    ),
    (PYTHON, "import importlib.abc\nimportlib.abc.InspectLoader.source_to_code('x = 1')"),
    (
        PYTHON,
        "import importlib.machinery\nimportlib.machinery.SourceFileLoader('m', 'm.py').source_to_code(b'x = 1', 'm.py')",
    ),
    (
        PYTHON,
        "import importlib.machinery, types\nl = importlib.machinery.SourceFileLoader('m', '/m.py')\nl.get_data = lambda path: b'x = 1'\n\
         l.exec_module(types.ModuleType('m'))",
    ),
    (PYTHON, "import annotationlib\nannotationlib.ForwardRef('print(1)').evaluate()"),
    (PYTHON, "import annotationlib\nannotationlib.eval('print(1)')"),
    (PYTHON, "import _dormouse.annotations as a\na._compile('1', 'x', 'eval')"),
    (PYTHON, "import inspect\ndef f(a: 'print(1)'): pass\ninspect.get_annotations(f, eval_str=True)"),
    (PYTHON, "import typing\ndef f(a: '[x for x in (1,)]'): pass\ntyping.get_type_hints(f)"),
    (
        PYTHON,
        "import typing\nclass A: __class_getitem__ = exec\ndef f(a: 'A[\"x = 1\"]'): pass\ntyping.get_type_hints(f)",
    ),
    (PYTHON, "import unittest.mock as m\nm.MagicMock(side_effect=exec)('x = 1')"),
    (
        PYTHON,
        "import logging.config, io\nlogging.config.fileConfig(io.StringIO('[loggers]\\nkeys=root\\n[handlers]\\nkeys=h\\n[formatters]\\nkeys=\\n\
         [logger_root]\\nhandlers=h\\n[handler_h]\\nclass=StreamHandler\\nargs=(print(1),)\\n'))",
    ),
    (
        PYTHON,
        "import dataclasses\nb = dataclasses._FuncBuilder({})\nb.add_fn('f', (), ('  print(1)',))\nclass A: pass\nb.add_fns_to_class(A)",
    ),
    (
        PYTHON,
        "import dataclasses, functools\n@dataclasses.dataclass\nclass A:\n  x: int = dataclasses.field(default_factory=functools.partial(eval, '1'))\nA()",
    ),
    (
        PYTHON,
        "import collections.abc\nclass M(collections.abc.Mapping):\n  __getitem__ = staticmethod(eval)\n  def __iter__(self): return iter(())\n  \
         def __len__(self): return 0\nM().get('1')",
    ),
    (PYTHON, "from multiprocessing.managers import MakeProxyType\nMakeProxyType('A', ['f(): pass\\ndef g'])"),
    (PYTHON, "import _dormouse_host\n_dormouse_host.eval_query('1', {})"),
    (
        PYTHON,
        "import asyncio\nasync def f():\n  loop = asyncio.get_running_loop()\n  loop.set_exception_handler(lambda l, c: done.set_exception(c['exception']))\n  \
         done = loop.create_future()\n  loop.call_soon(eval, '1')\n  await done\nasyncio.run(f())",
    ),
    (JAVASCRIPT, "eval('1')"),
    (JAVASCRIPT, "(0, eval)('1')"),
    (JAVASCRIPT, "eval?.('1')"),
    (JAVASCRIPT, "eval(...['1'])"),
    (JAVASCRIPT, "globalThis['ev' + 'al']('1')"),
    (JAVASCRIPT, "new Function('return 1')()"),
    (JAVASCRIPT, "Function()"),
    (JAVASCRIPT, "(() => {}).constructor('return 1')()"),
    (JAVASCRIPT, "(async () => {}).constructor('return 1')"),
    (JAVASCRIPT, "(function* () {}).constructor('yield 1')"),
    (JAVASCRIPT, "(async function* () {}).constructor('yield 1')"),
    (JAVASCRIPT, "class F extends Function { constructor() { super('return 1') } } new F()"),
    (JAVASCRIPT, "['1'].map(eval)"),
    (JAVASCRIPT, "Reflect.apply(eval, null, ['1'])"),
    (JAVASCRIPT, "Reflect.construct(Function, ['return 1'])"),
    (JAVASCRIPT, "eval.bind(null, '1')()"),
    (JAVASCRIPT, "({ get x() { return eval('1') } }).x"),
    (JAVASCRIPT, "await Promise.resolve('1').then(eval)"),
    (JAVASCRIPT, "setTimeout(eval, 1, '1')"),
    (JAVASCRIPT, "process.nextTick(eval, '1')"),
    (JAVASCRIPT, "const events = require('events'); new events().on('x', Function).emit('x', '1')"),
    (JAVASCRIPT, "import fs from 'fs'; export default eval('1')"),
];

#[test]
fn s1_24_what_would_make_code_from_text_raises() {
    let mut wrong = Vec::new();
    for (language, code) in REFUSED {
        let outcome = strict(language, code);
        let refused = outcome.exception().is_some_and(|raised| {
            raised.class == class(language) && raised.message.ends_with(" is not allowed here")
        });
        if !refused {
            wrong.push(format!("{language}: {code}\n  {}", dormouse_tests::ending::told(&outcome)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An assertion takes a value: a text is true in all three languages, and nothing runs what stands in it. So there is nothing to
/// hold back, with `eval` or without.
#[test]
fn s1_24_an_assertion_of_text_makes_no_code() {
    for allowed in [true, false] {
        for (language, code) in [
            (PYTHON, "ran = []\nassert 'ran.append(1)'\nassert True, 'ran.append(2)'\nlen(ran)"),
            (
                PYTHON,
                "ran = []\ntry:\n  assert False, 'ran.append(1)'\nexcept AssertionError: pass\nlen(ran)",
            ),
            (
                PYTHON,
                "import unittest\nran = []\nt = unittest.TestCase()\nt.assertTrue('ran.append(1)')\nt.assertEqual('ran.append(1)', 'ran.append(1)')\nlen(ran)",
            ),
            (
                JAVASCRIPT,
                "globalThis.ran = []; console.assert('ran.push(1)'); console.assert(false, 'ran.push(2)'); ran.length",
            ),
            (
                JAVASCRIPT,
                "globalThis.ran = []; const assert = require('assert'); assert('ran.push(1)'); assert.ok('ran.push(2)'); ran.length",
            ),
            (PHP, "$ran = 0; assert('$ran = 1'); assert(true, '$ran = 2'); return $ran;"),
            (PHP, "$ran = 0; try { assert(false, '$ran = 1'); } catch (AssertionError) {} return $ran;"),
            (
                PHP,
                "$GLOBALS['ran'] = 0; $f = 'assert'; $f('$GLOBALS[\"ran\"] = 1;'); return $GLOBALS['ran'];",
            ),
            (
                PHP,
                "$ran = 0; @assert_options(ASSERT_CALLBACK, 'strrev'); array_map('assert', ['$ran = 1;']); return $ran;",
            ),
        ] {
            let outcome = sandbox::run(sandbox::snippet(language, code).allow_eval(allowed));
            assert_eq!(value(&outcome)["value"], 0, "{language}, allowed {allowed}: {code}");
        }
    }
}

const PLAIN: &[(&str, &str)] = &[
    (PYTHON, "import dataclasses\n@dataclasses.dataclass\nclass A:\n  x: int = 1\nA().x"),
    (PYTHON, "from collections import namedtuple\nnamedtuple('A', 'x')(1).x"),
    (PYTHON, "import typing\nclass A(typing.NamedTuple):\n  x: int\nA(1).x"),
    (PYTHON, "import typing\ndef f(a: 'int'): pass\ntyping.get_type_hints(f)['a'](1)"),
    (PYTHON, "import enum\nclass A(enum.Enum):\n  x = 1\nA.x.value"),
    (PYTHON, "import enum\nenum.Enum('A', 'x').x.value"),
    (
        PYTHON,
        "import dataclasses\n@dataclasses.dataclass(frozen=True, order=True, slots=True)\nclass A:\n  x: int = 0\nint(A() < A(1))",
    ),
    (PYTHON, "import dataclasses\ndataclasses.make_dataclass('A', ['x'])(1).x"),
    (
        PYTHON,
        "import typing\ndef f(a: 'list[int] | None', b: 'typing.Literal[\"x\", -1]'): pass\nint(typing.get_type_hints(f)['a'] == list[int] | None)",
    ),
    (
        PYTHON,
        "import inspect\ndef f(a: 'dict[str, tuple[int, ...]]'): pass\nint(inspect.get_annotations(f, eval_str=True)['a'] == dict[str, tuple[int, ...]])",
    ),
    (PYTHON, "import inspect\nint('reverse=False' in str(inspect.signature(sorted)))"),
    (
        PYTHON,
        "import functools\n@functools.singledispatch\ndef f(x): return 0\n@f.register\ndef _(x: 'int | str'): return x\nf(1)",
    ),
    (PYTHON, "import unittest.mock as m\nm.MagicMock(side_effect=[1])()"),
    (PYTHON, "import logging.config\nlogging.config.dictConfig({'version': 1})\n1"),
    (PYTHON, "import gettext\ngettext.c2py('n != 1')(2)"),
    (
        PYTHON,
        "import multiprocessing.managers, cProfile, modulefinder, rlcompleter, __hello__, ntpath, zipapp\n1",
    ),
    (PYTHON, "import runpy\nint(3 * runpy.run_module('colorsys')['ONE_THIRD'])"),
    (PYTHON, "import json\njson.loads('1')"),
    (PYTHON, "import re\nint(re.compile('[0-9]').match('1')[0])"),
    (PYTHON, "import ast\nast.literal_eval('1')"),
    (PYTHON, "import ast\nast.parse('1').body[0].value.value"),
    (
        PYTHON,
        "import functools\n@functools.singledispatch\ndef f(x): return 0\n@f.register\ndef _(x: int): return x\nf(1)",
    ),
    (PYTHON, "import unittest.mock as m\ndef f(a): pass\nm.create_autospec(f, return_value=1)(2)"),
    (PYTHON, "import tomllib, csv, sqlite3, decimal, logging.config, email.parser, xmlrpc.client\n1"),
    (PYTHON, "import pickle\npickle.loads(pickle.dumps(1))"),
    (PYTHON, "import marshal\nmarshal.loads(marshal.dumps(1))"),
    (PYTHON, "import types\n@types.coroutine\ndef f(): yield\n1"),
    (PYTHON, "c = (lambda: 1).__code__\nc.replace(co_name='x').co_argcount + 1"),
    (PYTHON, "import asyncio\nawait asyncio.sleep(0, 1)"),
    (PYTHON, "import string\nint(string.Template('$x').substitute(x=1))"),
    (PYTHON, "try: eval('1')\nexcept PermissionError: x = 1\nx"),
    (JAVASCRIPT, "class A { #x = 1; get x() { return this.#x } } new A().x"),
    (JAVASCRIPT, "Number(`${1}`)"),
    (JAVASCRIPT, "JSON.parse('1')"),
    (JAVASCRIPT, "eval(1)"),
    (JAVASCRIPT, "Number(/[0-9]/.exec('1')[0])"),
    (JAVASCRIPT, "new RegExp('1').test('1') ? 1 : 0"),
    (JAVASCRIPT, "await (async () => 1)()"),
    (JAVASCRIPT, "(function* () { yield 1 })().next().value"),
    (JAVASCRIPT, "(function () {}) instanceof Function ? 1 : 0"),
    (
        JAVASCRIPT,
        "import fs from 'fs'; fs.writeFileSync('/tmp/a.json', '1'); export default (await import('/tmp/a.json')).default",
    ),
    (JAVASCRIPT, "await new Promise(done => setTimeout(done, 1, 1))"),
    (JAVASCRIPT, "try { eval('2') } catch (error) { error instanceof EvalError ? 1 : 0 }"),
];

#[test]
fn s1_24_what_makes_no_code_from_text_goes_on_working() {
    for (language, code) in PLAIN {
        let outcome = strict(language, code);
        assert_eq!(value(&outcome)["value"], 1, "{language}: {code}");
    }
}

/// What a snippet wrote into a file is as good as text that it hands to `eval`. The data that lies in files is not code.
#[test]
fn s1_24_what_a_snippet_has_written_is_not_imported() {
    let mut wrong = Vec::new();
    for (language, write, uses) in [
        (
            PYTHON,
            "open('/tmp/m.py', 'w').write('x = 1')\nimport sys\nsys.path.insert(0, '/tmp')",
            "import m\nm.x",
        ),
        (
            PYTHON,
            "import marshal, sys\nfrom importlib.util import MAGIC_NUMBER\n\
             open('/tmp/m.pyc', 'wb').write(MAGIC_NUMBER + bytes(12) + marshal.dumps((lambda: 1).__code__))\n\
             sys.path.insert(0, '/tmp')",
            "import m",
        ),
        (PYTHON, "open('/tmp/m.py', 'w').write('x = 1')", "import runpy\nrunpy.run_path('/tmp/m.py')['x']"),
        (JAVASCRIPT, "require('fs').writeFileSync('/tmp/m.js', 'exports.x = 1')", "require('/tmp/m.js').x"),
        (
            JAVASCRIPT,
            "require('fs').writeFileSync('/tmp/m.mjs', 'export const x = 1');",
            "(await import('/tmp/m.mjs')).x",
        ),
    ] {
        let code = format!("{write}\n{uses}");
        assert_ends(&sandbox::run(sandbox::snippet(language, &code)), &["returned"]);
        let outcome = strict(language, &code);
        let refused = outcome.exception().is_some_and(|raised| {
            raised.class == class(language)
                && raised.message.starts_with("code of /tmp/m.")
                && raised.message.ends_with(" is not allowed here: it can be written from here")
        });
        if !refused {
            wrong.push(format!("{language}: {code}\n  {}", dormouse_tests::ending::told(&outcome)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn s1_24_libraries_and_the_project_are_not_held_back() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".dormouse/bootstrap.py", "container = {'one': eval('1')}\n");
    write("templates.py", "def render(text): return eval(text)\n");
    write(".dormouse/bootstrap.mjs", "export const container = new Map([['one', eval('1')]]);\n");
    write("node_modules/old/index.js", "exports.render = (text) => new Function('return ' + text)();\n");
    write("new.mjs", "export const render = (text) => eval(text);\n");
    for (language, code) in [
        (PYTHON, "container('one')"),
        (PYTHON, "import templates\ntemplates.render('1')"),
        (JAVASCRIPT, "container('one')"),
        (JAVASCRIPT, "require('old').render('1')"),
        (JAVASCRIPT, "(await import('./new.mjs')).render('1')"),
    ] {
        let snippet = sandbox::snippet(language, code).allow_eval(false);
        let outcome = sandbox::run(snippet.project(Project::new(folder.path())));
        assert_eq!(value(&outcome)["value"], 1, "{language}: {code}");
    }
}

#[test]
fn s1_24_each_call_of_a_session_has_its_own_answer() {
    let provider = Settings::new().and_then(WasmProvider::new).unwrap();
    for (name, define, uses) in [
        (
            PYTHON,
            "def f(): return eval('1')\nexec('def g(): return eval(\"1\")')\nh = eval('lambda: eval(\"1\")')",
            ["f()", "g()", "h()"],
        ),
        (
            JAVASCRIPT,
            "function f() { return eval('1') } const g = new Function('return eval(\"1\")'), h = eval('() => eval(\"1\")')",
            ["f()", "g()", "h()"],
        ),
    ] {
        let language = Language::parse(name).unwrap();
        let mut session = sandbox::wait(provider.session(&language)).unwrap();
        let mut call = |code: &str, allow_eval: bool| {
            let request = EvalRequest { allow_eval, ..EvalRequest::new(language.clone(), code) };
            sandbox::wait(provider.continue_session(&mut session, &request)).unwrap()
        };
        assert_ends(&call(define, true), &["returned"]);
        for code in uses {
            assert_eq!(exception(&call(code, false)).class, class(name), "{name}: {code}");
            assert_eq!(value(&call(code, true))["value"], 1, "{name}: {code}");
        }
    }
}

#[test]
fn s1_24_a_name_excuses_no_one() {
    for (language, name) in [
        (PYTHON, "/usr/lib/python3.14/typing.py"),
        (PYTHON, "/<dormouse>/_dormouse/importlib_bootstrap.py"),
        (PYTHON, "<frozen importlib._bootstrap>"),
        (JAVASCRIPT, "dormouse:query"),
        (JAVASCRIPT, "/project/node_modules/x/index.js"),
        (JAVASCRIPT, "<input>"),
    ] {
        let outcome = sandbox::run(sandbox::snippet(language, "eval('1')").name(name).allow_eval(false));
        assert_eq!(exception(&outcome).class, class(language), "{name}");
    }
}

#[test]
fn s1_24_the_operator_can_forbid_it_to_all() {
    let guarded = sandbox::with_policy(Policy { allow_eval: false, ..Policy::default() });
    for language in [PYTHON, JAVASCRIPT] {
        let outcome = sandbox::wait(guarded.snippet(language, "eval('1')").allow_eval(true).run()).unwrap();
        assert_eq!(exception(&outcome).class, class(language));
    }
}
