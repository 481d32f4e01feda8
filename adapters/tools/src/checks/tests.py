"""Runs tests in a sandbox. It is fed to `python3 -` with the path of a job; what came of it is written to the job's result."""

import ast
import importlib
import inspect
import json
import os
import shutil
import sys
import time
import traceback
import types
import unittest

MOST_FAILURES = 50
MOST_MESSAGE = 2000
OPERATORS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
             ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


class Results:
    """What came of the tests so far. It is written before each file, so that one that ends the program leaves it."""

    def __init__(self, path, tool):
        self.path, self.tool = path, tool
        self.counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        self.failures, self.notes, self.running = [], [], None

    def note(self, kind, name, file=None, line=None, message=""):
        self.counts[kind] += 1
        if kind in ("failed", "errors") and len(self.failures) < MOST_FAILURES:
            self.failures.append({"name": name, "file": file, "line": line, "message": message[:MOST_MESSAGE]})

    def write(self, complete):
        counts = dict(self.counts, total=sum(self.counts.values()))
        with open(self.path, "w") as file:
            json.dump({"complete": complete, "running": self.running, "tool": self.tool, "notes": self.notes, "tests": counts,
                       "failures": self.failures}, file)


def place(error, file):
    """Where it happened: the last line in the test's own file, and the line that raised, if that lies elsewhere."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno, ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if frame.filename != "<stdin>" and f"{os.sep}unittest{os.sep}" not in frame.filename]
    own = [frame for frame in frames if frame.filename == file]
    chosen = (own or frames)[-1] if frames else None
    last = frames[-1] if frames else None
    raised = f"\nraised at {last.filename}:{last.lineno} in {last.name}" if last and last is not chosen else ""
    return (chosen.filename, chosen.lineno, raised) if chosen else (file, None, "")


def described(error, file):
    path, line, raised = place(error, file)
    try:
        text = str(error)
    except Exception as worse:
        text = f"its text cannot be told: {worse!r}"
    return {"file": path, "line": line, "message": f"{type(error).__name__}: {text}"[:MOST_MESSAGE - len(raised)] + raised}


class Told(unittest.TestResult):
    """Hands what unittest says to the results."""

    def __init__(self, results, file):
        super().__init__()
        self.results, self.file = results, file

    def say(self, kind, test, error=None):
        name = getattr(test, "shown", None) or str(test)
        self.results.note(kind, name, **(described(error, self.file) if error else {}))

    def addSuccess(self, test):
        self.say("passed", test)

    def addSkip(self, test, reason):
        self.say("skipped", test)

    def addFailure(self, test, err):
        self.say("failed", test, err[1])

    def addError(self, test, err):
        self.say("errors", test, err[1])

    def addExpectedFailure(self, test, err):
        self.say("passed", test)

    def addUnexpectedSuccess(self, test):
        self.say("failed", test, AssertionError("it was expected to fail, and passed"))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            subtest.shown = f"{getattr(test, 'shown', test)} {subtest._subDescription()}"
            self.say("failed" if failed else "errors", subtest, err[1])


def explain(text, left, operator, right):
    def short(value):
        try:
            shown = repr(value)
        except Exception as error:
            shown = f"<{type(value).__name__}: {error!r}>"
        return shown if len(shown) <= 600 else shown[:600] + "..."
    return f"assert {text}\nwhere {short(left)} {operator} {short(right)}"


class Asserts(ast.NodeTransformer):
    """Lets an assert without a message say what it compared. The sides are evaluated once, in their order."""

    def visit_Assert(self, node):
        if node.msg is not None:
            return node
        text = ast.unparse(node.test)
        test, message = node.test, ast.Constant(f"assert {text}")
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            def kept(name, value):
                return ast.NamedExpr(ast.Name(name, ast.Store()), value)
            left, right = "_dormouse_left", "_dormouse_right"
            test = ast.Compare(kept(left, test.left), test.ops, [kept(right, test.comparators[0])])
            message = ast.Call(ast.Name("_dormouse_explain", ast.Load()), [
                ast.Constant(text), ast.Name(left, ast.Load()), ast.Constant(OPERATORS[type(test.ops[0])]),
                ast.Name(right, ast.Load())], [])
        new = ast.copy_location(ast.Assert(test, message), node)
        return ast.fix_missing_locations(new)


def load(path):
    """The module of a test file, as `import` would make it from the folder around its packages."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    folder, name = os.path.split(path)
    parts = [name.removesuffix(".py")]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    package = ".".join(parts[:-1])
    if package:
        importlib.import_module(package)
    name = ".".join(parts)
    while name in sys.modules and getattr(sys.modules[name], "__file__", None) != path:
        name += "_"
    module = types.ModuleType(name)
    module.__file__, module.__package__ = path, package
    module._dormouse_explain = explain
    sys.modules[name] = module
    exec(compile(Asserts().visit(tree), path, "exec", dont_inherit=True), module.__dict__)
    return module


def needed(function, given=0):
    """The parameters that a plain test function cannot do without: fixtures, which only pytest has."""
    parameters = list(inspect.signature(function).parameters.values())[given:]
    return [each.name for each in parameters if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


class Plain(unittest.FunctionTestCase):
    """A function `test_...`, alone or of a class `Test...`."""

    def __init__(self, function, shown, owner=None):
        super().__init__(function)
        self.function, self.owner, self.shown = function, owner, shown

    def runTest(self):
        if inspect.iscoroutinefunction(self.function):
            raise RuntimeError("an async test function needs pytest and a plugin, or unittest.IsolatedAsyncioTestCase")
        names = needed(self.function, 1 if self.owner else 0)
        if names:
            raise RuntimeError(f"it takes {', '.join(names)}: fixtures need pytest, which is not installed")
        if not self.owner:
            self.function()
            return
        instance = self.owner()
        try:
            call(instance, "setup_method")
            getattr(instance, self.function.__name__)()
        finally:
            call(instance, "teardown_method")


def call(instance, name):
    method = getattr(instance, name, None)
    if method:
        method(*[None] * len(needed(method)))


def suite_of(module, shown):
    loader, suite = unittest.TestLoader(), unittest.TestSuite()
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__ and not isinstance(value, types.FunctionType):
            continue
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            tests = loader.loadTestsFromTestCase(value)
            for test in tests:
                test.shown = f"{shown}::{name}::{getattr(test, '_testMethodName', 'runTest')}"
            suite.addTest(tests)
        elif isinstance(value, type) and name.startswith("Test"):
            for method, function in inspect.getmembers(value, inspect.isfunction):
                if method.startswith("test"):
                    suite.addTest(Plain(function, f"{shown}::{name}::{method}", value))
        elif isinstance(value, types.FunctionType) and name.startswith("test") and value.__module__ == module.__name__:
            suite.addTest(Plain(value, f"{shown}::{name}"))
    return suite


def run_here(job, results):
    for path in job["files"]:
        shown = os.path.relpath(path, job["folder"])
        told = Told(results, path)
        results.running = shown
        results.write(False)
        try:
            suite_of(load(path), shown).run(told)
        except BaseException as error:
            results.note("errors", shown, **described(error, path))


def run_pytest(pytest, job, results):
    class Plugin:
        def pytest_runtest_logreport(self, report):
            if report.when == "call" or report.outcome != "passed":
                self.tell(report, "failed" if report.when == "call" else "errors")

        def pytest_collectreport(self, report):
            if report.outcome == "failed":
                self.tell(report, "errors")

        def tell(self, report, bad):
            kind = {"passed": "passed", "skipped": "skipped"}.get(report.outcome, bad)
            crash = getattr(report.longrepr, "reprcrash", None)
            message = getattr(crash, "message", None) or str(report.longrepr or "")
            path, line = getattr(crash, "path", None), getattr(crash, "lineno", None)
            if kind in ("passed", "skipped"):
                path = line = None
            results.note(kind, report.nodeid, path and str(path), line, message)

    # A sandbox has no /dev/null and no users, after whom pytest names the folder of `tmp_path`.
    os.devnull, folder = f"{job['result']}.null", f"{job['result']}.tmp"
    options = ["-p", "no:cacheprovider", "-p", "no:faulthandler", "--capture=sys", "--color=no", "-q", "--rootdir", job["folder"],
               "--basetemp", folder]
    status = pytest.main([*options, *(job["files"] if job["chosen"] else [job["folder"]])], plugins=[Plugin()])
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(os.devnull):
        os.remove(os.devnull)
    if status not in (0, 1, 5) and not results.failures:
        results.note("errors", "pytest", message=f"pytest ended with status {int(status)}; its output says why")


def main(job):
    os.chdir(job["folder"])
    sys.path.insert(0, job["folder"])
    try:
        import pytest
    except ImportError:
        pytest = None
    results = Results(job["result"], f"pytest {pytest.__version__}" if pytest else "unittest")
    if pytest:
        run_pytest(pytest, job, results)
    else:
        results.notes.append("pytest is not installed: plain test functions ran without its fixtures")
        run_here(job, results)
    results.write(True)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        asked = json.load(file)
    main(asked)
