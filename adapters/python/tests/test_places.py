"""The installed package where it lasts: state, processes, installations, servers. As test_package.py."""

import asyncio
import contextlib
import gc
import json
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import dormouse

PACKAGE = pathlib.Path(dormouse.__file__).parent


def child(code, **changes):
    """Another process of this Python."""
    environment = {**os.environ, **changes.pop("env", {})}
    for name in changes.pop("without", ()):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, **changes
    )


def spawned(number):
    return dormouse.run(f"{number} + 1").value


class Lasting(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_sandbox_lasts_from_call_to_call_and_from_process_to_process(self):
        with dormouse.Dormouse(self.folder.name) as engine:
            box = engine.sandbox("box")
            box.run("x = 40")
            box.write_bytes("/workspace/a.bin", bytes(range(256)) * 10_000)
            self.assertEqual(box.read_bytes("/workspace/a.bin"), bytes(range(256)) * 10_000)
            self.assertEqual(box.exec("echo hi; exit 3")["exit_code"], 3)
            self.assertIn("a.bin", [one["path"] for one in box.files()["entries"]])
            self.assertEqual(engine.list()["sandboxes"][0]["name"], "box")
        code = f"import dormouse; print(dormouse.Dormouse({self.folder.name!r}).sandbox('box').run('x + 2').value)"
        ran = child(code)
        self.assertEqual((ran.stdout, ran.returncode), ("42\n", 0), ran.stderr)
        # That process has saved what it did at its end.
        ran = child(code.replace("x + 2", "x = 1; x"))
        ran = child(code)
        self.assertEqual(ran.stdout, "3\n", ran.stderr)

    def test_checkpoints_forks_and_the_end(self):
        with dormouse.Dormouse(self.folder.name) as engine:
            box = engine.create(name="box", memory_bytes=256 << 20)
            box.run("x = [1]")
            mark = box.checkpoint(note="before")
            box.run("x.append(2)")
            first, second = box.fork(2)
            first.run("x.append(3)")
            self.assertEqual(second.run("x").value, [1, 2])
            box.restore(mark["id"])
            self.assertEqual(box.run("x").value, [1])
            with self.assertRaises(dormouse.Error) as raised:
                engine.create(name="box")
            self.assertEqual(raised.exception.code, "name_taken")
            with self.assertRaisesRegex(TypeError, "memory_bytes"):
                box.run("1", memory_bytes=64 << 20)
            box.destroy()
            with self.assertRaises(dormouse.Error) as raised:
                box.get()
            self.assertEqual(raised.exception.code, "unknown_sandbox")
        with self.assertRaises(dormouse.Error) as raised:
            engine.run("1")
        self.assertEqual(raised.exception.code, "invalid_state")

    def test_a_sandbox_that_many_ask_for_at_once_is_made_once(self):
        with dormouse.Dormouse(self.folder.name) as engine:
            found, lock = [], threading.Lock()

            def one():
                box = engine.sandbox("same")
                with lock:
                    found.append(box.id)

            threads = [threading.Thread(target=one) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((len(found), len(set(found))), (20, 1))

    def test_a_file_is_written_whole_or_not_at_all(self):
        with dormouse.Dormouse(self.folder.name) as engine:
            box = engine.create(name="box", disk_bytes=1 << 20)
            box.write_bytes("/workspace/a", b"old")
            with self.assertRaises(dormouse.Error) as raised:
                box.write_bytes("/workspace/a", bytes(2 << 20))
            self.assertEqual((raised.exception.code, box.read_bytes("/workspace/a")), ("limit_disk", b"old"))
            self.assertEqual([one["path"] for one in box.files()["entries"] if "part" in one["path"]], [])

    def test_sandboxes_without_a_folder_of_state_are_refused_with_a_hint(self):
        with self.assertRaises(dormouse.Error) as raised:
            dormouse.Dormouse().sandbox("x")
        self.assertTrue(raised.exception.hint)

    def test_sdk_08_what_is_collected_takes_nothing_with_it(self):
        engine = dormouse.Dormouse(self.folder.name)
        box = engine.sandbox("box")
        box.run("x = 1")
        del box
        gc.collect()
        self.assertEqual(engine.sandbox("box").run("x = 2; x").value, 2)
        del engine
        gc.collect()
        with dormouse.Dormouse(self.folder.name) as engine:
            self.assertEqual(engine.sandbox("box").run("x").value, 2)

    def test_sdk_18_a_full_disk_loses_nothing_that_can_still_be_saved(self):
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", self.folder.name], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("only root can mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.folder.name], check=True)
        engine = dormouse.Dormouse(self.folder.name)
        box = engine.create(name="box", durability="call")
        box.run("n = 1")
        filler = pathlib.Path(self.folder.name, "filler")
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=64k"], capture_output=True)
        full = box.run("big = __import__('os').urandom(6_000_000); n = 2; n")
        self.assertEqual((full.value, full.unsaved.code), (2, "state_unavailable"))
        with self.assertRaises(dormouse.Error) as raised:
            engine.close()
        self.assertEqual(raised.exception.code, "state_unavailable")
        filler.unlink()
        self.assertEqual(box.run("n").value, 2)
        engine.close()
        with dormouse.Dormouse(self.folder.name) as again:
            self.assertEqual(again.sandbox("box").run("n").value, 2)

    def test_two_processes_on_one_folder(self):
        with dormouse.Dormouse(self.folder.name) as engine:
            engine.sandbox("mine").run("x = 1")
            code = (
                f"import dormouse\nwith dormouse.Dormouse({self.folder.name!r}) as d:\n"
                " print(d.sandbox('other').run('2').value)"
            )
            ran = child(code)
            self.assertEqual(ran.stdout, "2\n", ran.stderr)
            self.assertEqual(engine.sandbox("mine").run("x").value, 1)


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_many_at_once(self):
        outcomes = await asyncio.gather(*(dormouse.run_async(f"{number} + 1") for number in range(50)))
        self.assertEqual([outcome.value for outcome in outcomes], list(range(1, 51)))

    async def test_calls_of_one_sandbox_are_carried_out_in_their_order(self):
        with tempfile.TemporaryDirectory() as folder:
            async with dormouse.AsyncDormouse(folder) as engine:
                box = await engine.sandbox("box")
                await asyncio.gather(*(box.exec(f"echo {number} >> f") for number in range(30)))
                said = (await box.exec("echo $(cat f)"))["stdout"]
                self.assertEqual(said.split(), [str(number) for number in range(30)])

    async def test_functions_are_called_on_the_loop(self):
        loops = []

        async def slow(n):
            loops.append(asyncio.get_running_loop())
            await asyncio.sleep(0.01)
            return n * 2

        told = []
        outcome = await dormouse.run_async(
            "print('x'); call_tool('slow', n=2) + call_tool('plain')",
            callbacks={"slow": slow, "plain": lambda: 3},
            on_output=lambda stream, text: told.append(text),
        )
        self.assertEqual((outcome.value, loops), (7, [asyncio.get_running_loop()]))
        self.assertEqual("".join(told), "x\n")

    async def test_sdk_07_a_wait_that_is_cancelled_ends_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            async with dormouse.AsyncDormouse(folder) as engine:
                box = await engine.sandbox("box")
                await box.run("x = 1")
                task = asyncio.create_task(box.run("x = 2\nwhile True: pass", timeout_ms=60_000))
                await asyncio.sleep(0.3)
                begun = time.monotonic()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                # The sandbox is free again, and as it was before the run.
                self.assertEqual((await box.run("x")).value, 1)
                self.assertLess(time.monotonic() - begun, 20)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(engine.run("while True: pass", timeout_ms=60_000), 0.2)

    async def test_sandboxes(self):
        with tempfile.TemporaryDirectory() as folder:
            async with dormouse.AsyncDormouse(folder) as engine:
                box = await engine.sandbox("box")
                await box.write_bytes("/workspace/f", b"abc")
                self.assertEqual(await box.read_bytes("/workspace/f"), b"abc")
                twin, = await box.fork()
                self.assertEqual((await twin.exec("cat f"))["stdout"], "abc")


class Processes(unittest.TestCase):
    def test_sdk_05_a_fork_has_an_engine_of_its_own_and_is_told_of_the_others(self):
        dormouse.run("1")
        mine = dormouse.Dormouse()
        mine.run("1")
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            said = []
            try:
                said.append(dormouse.run("20 + 1").value)
                mine.run("1")
            except dormouse.Error as error:
                said.append(error.code)
            except BaseException as error:  # noqa: BLE001
                said.append(repr(error))
            os.write(writing, json.dumps(said).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            self.assertEqual(json.load(told), [21, "invalid_state"])
        os.waitpid(process, 0)
        self.assertEqual(mine.run("2").value, 2)

    def test_sdk_05_a_fork_does_not_open_the_folder_of_its_parent(self):
        with tempfile.TemporaryDirectory() as folder, dormouse.Dormouse(folder) as engine:
            box = engine.sandbox("box")
            box.run("x = 1")
            reading, writing = os.pipe()
            process = os.fork()
            if process == 0:
                said = "opened"
                try:
                    dormouse.Dormouse(folder).sandbox("box").run("x")
                except dormouse.Error as error:
                    said = error.code
                except BaseException as error:  # noqa: BLE001
                    said = repr(error)
                os.write(writing, said.encode())
                os._exit(0)
            os.close(writing)
            with os.fdopen(reading) as told:
                self.assertEqual(told.read(), "invalid_state")
            os.waitpid(process, 0)
            self.assertEqual(box.run("x").value, 1)

    def test_sdk_05_processes_that_are_spawned(self):
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            self.assertEqual(pool.map(spawned, range(4)), [1, 2, 3, 4])

    def test_sdk_06_the_end_of_the_interpreter_during_a_run(self):
        code = (
            "import dormouse, threading, time\n"
            "run = lambda: dormouse.run('while True: pass', timeout_ms=60000)\n"
            "threading.Thread(target=run, daemon=True).start()\n"
            "time.sleep(0.5); print('end')"
        )
        begun = time.monotonic()
        ran = child(code)
        self.assertEqual((ran.stdout, ran.returncode), ("end\n", 0), ran.stderr)
        self.assertLess(time.monotonic() - begun, 30)
        code = (
            "import asyncio, dormouse\n"
            "async def main():\n"
            "  asyncio.ensure_future(dormouse.run_async('call_tool(\"f\")', timeout_ms=60000, callbacks={'f': lambda: asyncio.sleep(50)}))\n"
            "  await asyncio.sleep(0.5)\n"
            "asyncio.run(main()); print('end')"
        )
        ran = child(code)
        self.assertEqual((ran.stdout, ran.returncode), ("end\n", 0), ran.stderr)

    def test_sdk_06_nothing_of_the_engine_comes_back_to_an_interpreter_that_has_ended(self):
        programs = [
            "import asyncio, dormouse\nasyncio.run(dormouse.run_async('1'))",
            "import asyncio, dormouse\nasync def f(): return (await dormouse.run_async('1')).value\n"
            "dormouse.run(\"call_tool('f')\", callbacks={'f': f})",
            "import asyncio, dormouse\nasync def main():\n"
            "  asyncio.ensure_future(dormouse.run_async('while True: print(1)', on_output=lambda s, t: None))\n"
            "  await asyncio.sleep(0.1)\n"
            "asyncio.run(main())",
        ]
        for code in programs * 6:
            ran = child(code)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), code)

    def test_sdk_05_a_fork_in_the_middle_of_runs_ends_as_it_should(self):
        code = (
            "import asyncio, dormouse, os, sys, threading\n"
            "async def runs():\n"
            "  while True: await asyncio.gather(*(dormouse.run_async('print(1)', on_output=lambda s, t: None) for _ in range(8)))\n"
            "threading.Thread(target=lambda: asyncio.run(runs()), daemon=True).start()\n"
            "dormouse.run('1')\n"
            "for _ in range(10):\n"
            "  child = os.fork()\n"
            "  if child == 0: sys.exit(dormouse.run('3').value)\n"
            "  assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3\n"
        )
        ran = child(code)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_the_import_is_light(self):
        # The first one writes what Python compiles.
        child("import dormouse")
        code = (
            "import time, resource; a = time.perf_counter()\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "import dormouse\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
        )
        ran = child(code)
        self.assertLess(int(ran.stdout), 20 << 10, "KiB of memory")

    def test_the_command_line(self):
        for command in ([sys.executable, "-m", "dormouse"], [str(pathlib.Path(sys.executable).with_name("dormouse"))]):
            ran = subprocess.run([*command, "eval", "6 * 7"], capture_output=True, text=True, timeout=120)
            self.assertEqual((ran.stdout, ran.returncode), ("42\n", 0), ran.stderr)


class Installations(unittest.TestCase):
    """Without the folders that an installation usually has."""

    def works(self, ran):
        self.assertEqual((ran.stdout, ran.returncode), ("2\n", 0), ran.stderr)

    def test_sdk_04_no_home_a_read_only_one_and_no_cache(self):
        code = "import dormouse; print(dormouse.run('1 + 1').value)"
        self.works(child(code, without=["HOME", "XDG_CACHE_HOME", "DORMOUSE_CACHE_DIR"]))
        # Nobody can make a folder there, not even root.
        for home in ("/proc", "/dev/null", "/proc/nowhere"):
            self.works(child(code, env={"HOME": home, "XDG_CACHE_HOME": "", "DORMOUSE_CACHE_DIR": ""}))
        # Somebody else's, as after `su`: what others can write is not believed.
        with tempfile.TemporaryDirectory() as home:
            cache = pathlib.Path(home, ".cache/dormouse/artifacts")
            cache.mkdir(parents=True)
            cache.chmod(0o777)
            self.works(child(code, env={"HOME": home, "XDG_CACHE_HOME": "", "DORMOUSE_CACHE_DIR": ""}))

    def test_sdk_03_a_damaged_installation_is_told(self):
        with copied() as folder:
            for artifact in pathlib.Path(folder).rglob("*.cwasm"):
                data = bytearray(artifact.read_bytes())
                data[len(data) // 2] ^= 1
                artifact.write_bytes(data)
            ran = child(
                "import dormouse\ntry: dormouse.run('1')\nexcept dormouse.Error as e: print(e.code, e.hint)",
                env={"PYTHONPATH": folder},
            )
            self.assertIn("guest_missing", ran.stdout, ran.stderr)
            self.assertIn("install", ran.stdout)

    def test_sdk_02_two_installations_side_by_side_and_files_that_a_group_may_write(self):
        with copied() as folder:
            for path in pathlib.Path(folder).rglob("*"):
                path.chmod(path.stat().st_mode | 0o020)
            code = "import dormouse; assert {!r} in dormouse.__file__; print(dormouse.run('1 + 1').value)"
            self.works(child(code.format(folder), env={"PYTHONPATH": folder}))
            self.works(child(code.format(str(PACKAGE.parent))))


@contextlib.contextmanager
def copied():
    """The package in another place."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cp", "-a", PACKAGE, folder], check=True)
        yield folder


class Servers(unittest.TestCase):
    """The same classes over a server."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        program = PACKAGE / "_release/bin/dormouse"
        tokens = pathlib.Path(self.folder.name, "tokens")
        tokens.write_text("somebody secret-token-of-a-test\n")
        tokens.chmod(0o600)
        state = pathlib.Path(self.folder.name, "state")
        command = [program, "serve", "--listen", "127.0.0.1:0", "--state-dir", state, "--token-file", tokens]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.server = subprocess.Popen(command, text=True, **pipes)
        self.addCleanup(self.end)
        # It says its address on a line of its own, before anything else.
        self.url = self.server.stdout.readline().strip()
        self.assertRegex(self.url, "^http://127")

    def end(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(60)
        self.server.stdout.close()

    def test_the_same_calls(self):
        engine = dormouse.Dormouse(url=self.url, token="secret-token-of-a-test")
        self.assertEqual(engine.run("1+1").value, 2)
        late = engine.run("while True: pass", timeout_ms=100)
        self.assertEqual(late.error.code, "limit_time")
        box = engine.sandbox("bo x")
        box.run("x = 40")
        self.assertEqual(engine.sandbox("bo x").run("x + 2").value, 42)
        box.write_bytes("/workspace/a", b"\x00\xff")
        self.assertEqual(box.read_bytes("/workspace/a"), b"\x00\xff")
        self.assertEqual(box.exec("wc -c < a")["stdout"].strip(), "2")
        mark = box.checkpoint()
        box.run("x = 0")
        box.restore(mark["id"])
        twin, = box.fork()
        self.assertEqual(twin.run("x").value, 40)
        told = []
        box.run("print('said')", on_output=lambda stream, text: told.append((stream, text)))
        self.assertEqual(told, [("stdout", "said\n")])
        with self.assertRaises(dormouse.Error) as raised:
            engine.run("1", callbacks={"f": print})
        self.assertEqual(raised.exception.code, "capability_unavailable")
        with self.assertRaises(dormouse.Error) as raised:
            engine.run("1", language="cobol")
        self.assertEqual(raised.exception.code, "unknown_language")
        for one in (box, twin):
            one.destroy()
        with self.assertRaises(dormouse.Error) as raised:
            dormouse.Dormouse(url=self.url, token="wrong").run("1")
        self.assertEqual(raised.exception.code, "unauthorized")

        async def main():
            engine = dormouse.AsyncDormouse(url=self.url, token="secret-token-of-a-test")
            box = await engine.sandbox("other")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(box.run("while True: pass", timeout_ms=60_000), 0.3)
            return (await box.run("6 * 7")).value

        self.assertEqual(asyncio.run(main()), 42)

    def test_no_server(self):
        with self.assertRaises(dormouse.Error) as raised:
            dormouse.Dormouse(url="http://127.0.0.1:9").run("1")
        self.assertEqual(raised.exception.code, "provider_unavailable")
        self.assertTrue(raised.exception.hint and raised.exception.causes)
        with self.assertRaises(dormouse.Error):
            dormouse.Dormouse(url="ftp://x")


class Documentation(unittest.TestCase):
    def test_the_quick_start_is_true(self):
        here = pathlib.Path(__file__).parent
        for page, most in (("adapters/python/README.md", 3), ("docs/getting-started/python.md", 3), ("README.md", 1)):
            page = here.parents[2] / page
            blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
            self.assertGreaterEqual(len(blocks), most)
            for block in blocks:
                with contextlib.redirect_stdout(None):
                    exec(compile(block, page, "exec"), {"__name__": "page"})

    def test_every_name_is_documented(self):
        for name in dormouse.__all__:
            if name != "__version__":
                self.assertTrue(getattr(dormouse, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
