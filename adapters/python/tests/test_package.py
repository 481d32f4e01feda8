"""The installed package, as its users have it. Run by the phase `dist` of `cargo xtask test`, in an environment with the wheel."""

import asyncio
import importlib
import json
import math
import os
import pathlib
import pickle
import signal
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import dormouse

class Values(unittest.TestCase):
    def test_the_first_minute(self):
        self.assertEqual(dormouse.run("1+1").value, 2)

    def test_values_are_pythons_own(self):
        for code, wanted in [
            ("None", None),
            ("True", True),
            ("2 ** 100", 2**100),
            ("-(2 ** 53)", -(2**53)),
            ("1.5", 1.5),
            ("float('inf')", math.inf),
            ("'ä\\U0001f600'", "ä\U0001f600"),
            ("b'\\x00\\xff'", b"\x00\xff"),
            ("[1, [2], (3,)]", [1, [2], (3,)]),
            ("{'a': {1: 2}}", {"a": {1: 2}}),
            ("{1, 2}", {1, 2}),
            ("frozenset([1])", frozenset([1])),
        ]:
            outcome = dormouse.run(code)
            self.assertEqual(outcome.value, wanted, code)
            self.assertIs(type(outcome.value), type(wanted), code)
            self.assertFalse(outcome.is_cut, code)
        self.assertTrue(math.isnan(dormouse.run("float('nan')").value))
        self.assertEqual(str(dormouse.run("-0.0").value), "-0.0")

    def test_sdk_11_odd_values_are_told_as_what_they_are(self):
        self.assertEqual(dormouse.run("9007199254740993n", language="javascript").value, 2**53 + 1)
        self.assertEqual(dormouse.run("'\\ud800'").value, "\ufffd")
        keys = dormouse.run("{float('nan'): 1, float('nan'): 2}").value
        self.assertEqual([value for _, value in (keys.items() if isinstance(keys, dict) else keys)], [1, 2])
        self.assertEqual(dormouse.run("{(1, 2): 3}").value, {(1, 2): 3})
        out = dormouse.run("import sys; sys.stdout.buffer.write(b'a\\xffb'); sys.stdout.buffer.flush()")
        self.assertEqual(out.stdout, "a\ufffdb")
        parts = []
        dormouse.run("print('ä' * 100000)", on_output=lambda stream, text: parts.append((stream, text)))
        self.assertEqual("".join(text for _, text in parts), "ä" * 100000 + "\n")

    def test_objects_references_and_what_is_cut(self):
        value = dormouse.run("class A:\n  def __init__(self): self.b = [1]\nA()").value
        self.assertEqual((value.class_name, value.properties), ("A", {"b": [1]}))
        cycle = dormouse.run("a = []; a.append(a); a")
        self.assertIsNotNone(cycle.value)
        cut = dormouse.run("list(range(10))", preview_items=3)
        self.assertEqual((cut.value, cut.is_cut), ([0, 1, 2], True))
        self.assertEqual(len(dormouse.run("list(range(9000))").value), 9000)

    def test_what_is_too_large_or_too_like_another_is_told(self):
        self.assertEqual(dormouse.run("10 ** 5000").value, 10**5000)
        self.assertEqual(dormouse.run("-(10 ** 9000) + 7").value, -(10**9000) + 7)
        keys = dormouse.run("{'k' * 300 + str(n): n for n in range(3)}")
        self.assertTrue(keys.is_cut)
        self.assertEqual(dormouse.run("new Set([1, true, '1'])", language="javascript").value, [1, True, "1"])
        self.assertTrue(dormouse.run("list(range(100000))").is_cut)
        self.assertLess(len(repr(dormouse.run("'x' * 1000000"))), 300)

    def test_outcomes_and_errors_can_be_pickled(self):
        outcome = dormouse.run("{'a': (1, 2)}")
        self.assertEqual(pickle.loads(pickle.dumps(outcome)), outcome)
        error = dormouse.run("while True: pass", timeout_ms=100).error
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.code, again.message, again.hint), (error.code, error.message, error.hint))
        with self.assertRaises(dormouse.SnippetError) as raised:
            dormouse.run("1 / 0").value
        self.assertIn("ZeroDivisionError", str(pickle.loads(pickle.dumps(raised.exception))))


class Ends(unittest.TestCase):
    def test_a_run_ends_in_four_ways(self):
        raised = dormouse.run("def f():\n  return 1 / 0\nf()", name="mine.py")
        self.assertEqual((raised.ok, raised.exit_code, raised.exception.line), (False, 1, 2))
        self.assertIn("mine.py", raised.exception.traceback)
        left = dormouse.run("import sys; sys.exit(3)")
        self.assertEqual((left.exit_code, left.exception, left.error), (3, None, None))
        with self.assertRaisesRegex(dormouse.SnippetError, "status 3"):
            left.value
        self.assertIsNone(dormouse.run("exit(0)").value)
        stopped = dormouse.run("x = 'a' * 10 ** 9", memory_bytes=64 << 20)
        self.assertTrue(stopped.error is not None or stopped.exception is not None)
        late = dormouse.run("while True: pass", timeout_ms=100)
        self.assertEqual((late.error.code, late.exit_code, late.timed_out), ("limit_time", 124, True))
        self.assertTrue(late.error.hint)
        with self.assertRaises(dormouse.Error):
            late.value

    def test_what_keeps_a_run_from_starting_is_an_error(self):
        for options, code in [
            ({"language": "cobol"}, "unknown_language"),
            ({"timeout_ms": 10**9}, "args_invalid"),
            ({"mounts": {"/data": "/nowhere/at/all"}}, "path_denied"),
            ({"mounts": {"/data": dormouse.Mount("/tmp", writable=True)}}, "write_denied"),
        ]:
            with self.assertRaises(dormouse.Error, msg=str(options)) as raised:
                dormouse.run("1", **options)
            self.assertEqual(raised.exception.code, code, options)
            self.assertTrue(raised.exception.hint, options)
        with self.assertRaisesRegex(TypeError, "timeout"):
            dormouse.run("1", timeout=5)
        for wrong in (
            {"seed": -1},
            {"timeout_ms": "5"},
            {"stdin": 5},
            {"callbacks": {"a": 5}},
            {"callbacks": []},
            {"on_output": 5},
            {"mounts": ["/tmp"]},
            {"allow_eval": 1},
            {"allow_network": 1},
        ):
            with self.assertRaises((TypeError, ValueError), msg=str(wrong)) as refused:
                dormouse.run("1", **wrong)
            self.assertRegex(str(refused.exception), f"{next(iter(wrong))}|callback", str(wrong))
        with self.assertRaises(TypeError):
            dormouse.run(b"1")
        with self.assertRaises(TypeError):
            dormouse.Dormouse(url="http://127.0.0.1:1", allow_writes=True)

    def test_net_a_run_reaches_what_the_program_allows_and_nothing_else(self):
        from http.server import BaseHTTPRequestHandler, HTTPServer

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("content-length", "5")
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        port = server.server_address[1]
        code = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/').read().decode()"
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder, "net.toml")
            rules.write_text(f'[[profile.default.allow]]\nhost = "127.0.0.1"\nport = {port}\nprotocol = "http"\n')
            audit = pathlib.Path(folder, "audit.jsonl")
            with dormouse.Dormouse(pathlib.Path(folder, "state"), network=rules, network_audit=audit) as engine:
                self.assertIsNone(engine.run("1").network)
                self.assertFalse(engine.run(code).ok)
                outcome = engine.run(code, allow_network=True)
                self.assertEqual((outcome.value, outcome.network["requests"]), ("hello", 1))
                lasting = engine.create(name="lasting", network="default")
                self.assertEqual(lasting.run(code).value, "hello")
                self.assertEqual(lasting.run(code, allow_network=True).value, "hello")
                with self.assertRaises(dormouse.Error) as refused:
                    engine.sandbox("without").run(code, allow_network=True)
                self.assertEqual(refused.exception.code, "network_denied")
            self.assertEqual(audit.read_text().count('"event":"sent"'), 3)
        denied = dormouse.Dormouse(allow_net=["other.test"]).run(code, allow_network=True)
        self.assertEqual(denied.network["denied"][0]["reason"], "host")
        with self.assertRaises(dormouse.Error) as refused:
            dormouse.run(code, allow_network=True)
        self.assertEqual(refused.exception.code, "network_denied")
        self.assertIn("allow_net", refused.exception.hint)
        for wrong in ({"secrets": ["K=env:HOME@a.test"]}, {"network_audit": "x"}, {"allow_net": ["a/b"]}):
            with self.assertRaises(dormouse.Error, msg=str(wrong)) as refused:
                dormouse.Dormouse(**wrong).run("1")
            self.assertEqual(refused.exception.code, "args_invalid", str(wrong))
        with self.assertRaises(TypeError):
            dormouse.Dormouse(allow_net="api.example.com")

    def test_fuel_and_seed(self):
        twice = [dormouse.run("import random; random.random()", seed=7).value for _ in range(2)]
        self.assertEqual(twice[0], twice[1])

    def test_sdk_10_ctrl_c_ends_the_run_and_not_the_interpreter(self):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            dormouse.run("while True: pass", timeout_ms=60_000)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual(dormouse.run("1 + 1").value, 2)

        def interrupted():
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            dormouse.run("call_tool('f')", callbacks={"f": interrupted})

    def test_sdk_09_a_thousand_threads(self):
        found, lock = [], threading.Lock()

        def one(number):
            value = dormouse.run(f"{number} * 2", timeout_ms=60_000).value
            with lock:
                found.append((number, value))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(1000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        self.assertEqual(sorted(found), [(number, number * 2) for number in range(1000)])


class Functions(unittest.TestCase):
    def test_functions_are_called_on_the_callers_thread_and_may_be_coroutines(self):
        where = []

        def add(a, b=1):
            where.append(threading.get_ident())
            return a + b

        async def later(text):
            await asyncio.sleep(0.01)
            return text.upper()

        outcome = dormouse.run(
            "[call_tool('add', a=1), call_tool('add', a=1, b=5), call_tool('later', text='x')]",
            callbacks={"add": add, "later": later},
        )
        self.assertEqual(outcome.value, [2, 6, "X"])
        self.assertEqual(set(where), {threading.get_ident()})

    def test_sdk_12_a_call_within_a_call(self):
        inner = lambda: dormouse.run("20 + 1").value  # noqa: E731
        self.assertEqual(dormouse.run("2 * call_tool('f')", callbacks={"f": inner}).value, 42)
        deep = lambda n: n and 1 + dormouse.run(  # noqa: E731
            "call_tool('f', n=N)".replace("N", str(n - 1)), callbacks={"f": deep}, timeout_ms=60_000
        ).value
        self.assertEqual(deep(6), 6)
        told = []
        dormouse.run("print(1)", on_output=lambda stream, text: told.append(dormouse.run("5").value))
        self.assertEqual(told[0], 5)
        with tempfile.TemporaryDirectory() as folder, dormouse.Dormouse(folder) as engine:
            box, other = engine.sandbox("box"), engine.sandbox("other")
            found = []

            def within():
                found.append(other.run("7").value)
                try:
                    box.run("1")
                except dormouse.Error as error:
                    found.append(error.code)

            box.run("x = 1\ncall_tool('f')", callbacks={"f": within})
            self.assertEqual((found, box.run("x").value), ([7, "invalid_state"], 1))
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        endless = lambda: dormouse.run("while True: pass", timeout_ms=60_000).ok  # noqa: E731
        with self.assertRaises(KeyboardInterrupt):
            dormouse.run("call_tool('f')", callbacks={"f": endless}, timeout_ms=60_000)

    def test_sdk_15_runs_whose_functions_run_snippets_do_not_wait_for_each_other(self):
        engine = dormouse.Dormouse(max_running=2)
        found, lock = [], threading.Lock()

        def inner():
            time.sleep(0.05)
            return engine.run("5").value

        def one():
            value = engine.run("call_tool('inner')", callbacks={"inner": inner}, timeout_ms=30_000).value
            with lock:
                found.append(value)

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(found, [5] * 4)

    def test_hints_are_for_programs(self):
        for call, hint in [
            (lambda: dormouse.Dormouse().sandbox("x"), "`state`"),
            (lambda: dormouse.run("1", timeout_ms=10**9), "`max_timeout_ms`"),
            (lambda: dormouse.run("1", mounts={"/m": dormouse.Mount("/tmp", writable=True)}), "`allow_writes`"),
        ]:
            with self.assertRaises(dormouse.Error) as raised:
                call()
            self.assertIn(hint, raised.exception.hint)

    def test_what_a_function_raises_is_the_snippets_exception(self):
        def wrong():
            raise ValueError("no such item")

        outcome = dormouse.run("call_tool('wrong')", callbacks={"wrong": wrong})
        self.assertIn("ValueError: no such item", outcome.exception.message)
        odd = dormouse.run("call_tool('odd')", callbacks={"odd": object})
        self.assertIn("TypeError", odd.exception.message)
        with self.assertRaises(dormouse.Error) as raised:
            dormouse.run("1", callbacks={"not a name": wrong})
        self.assertEqual(raised.exception.code, "args_invalid")

    def test_output_is_told_while_it_is_written(self):
        told = []
        code = "import sys\nprint('a', flush=True)\nprint('b', file=sys.stderr)\ncall_tool('mark')\nprint('c')"
        dormouse.run(
            code,
            callbacks={"mark": lambda: told.append(("mark", ""))},
            on_output=lambda stream, text: told.append((stream, text)),
        )
        self.assertLess(told.index(("stdout", "a\n")), told.index(("mark", "")))
        self.assertEqual("".join(text for stream, text in told if stream == "stdout"), "a\nc\n")

        def broken(stream, text):
            raise RuntimeError("the reader is broken")

        with self.assertRaisesRegex(RuntimeError, "the reader is broken"):
            dormouse.run("print(1)", on_output=broken)

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a").write_text("x")
            reading = "open('/data/a').read()"
            self.assertEqual(dormouse.run(reading, mounts={"/data": folder}).value, "x")
            denied = dormouse.run("open('/data/b', 'w')", mounts={"/data": folder})
            self.assertIsNotNone(denied.exception)
            engine = dormouse.Dormouse(allow_writes=True)
            mounts = {"/data": dormouse.Mount(folder, writable=True)}
            engine.run("open('/data/b', 'w').write('y')", mounts=mounts).value
            self.assertEqual(pathlib.Path(folder, "b").read_text(), "y")
        asked = "import os, sys; (os.environ['A'], sys.stdin.read(), os.getcwd())"
        self.assertEqual(dormouse.run(asked, env={"A": "1"}, stdin="in", cwd="/tmp").value, ("1", "in", "/tmp"))

    def test_parts_of_two_releases_are_refused(self):
        from dormouse import _native, _transport, _version

        with tempfile.TemporaryDirectory() as place:
            pathlib.Path(place, "_release", "lib", "dormouse", "99.0.0").mkdir(parents=True)
            with mock.patch.object(_transport, "__file__", os.path.join(place, "_transport.py")):
                with self.assertRaises(dormouse.Error) as raised:
                    _transport.installed()
        self.assertEqual(raised.exception.code, "version_mismatch")
        self.assertIn("99.0.0", str(raised.exception))
        with mock.patch.object(_native, "VERSION", "99.0.0"):
            with self.assertRaisesRegex(ImportError, "^version_mismatch: .*99.0.0"):
                importlib.reload(_version)
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place, "99.0.0")
            (folder / "guests").mkdir(parents=True)
            with self.assertRaises(dormouse.Error) as raised:
                _native.Engine(json.dumps({"installed": str(folder)}))
        self.assertEqual(raised.exception.code, "version_mismatch")


if __name__ == "__main__":
    unittest.main()
