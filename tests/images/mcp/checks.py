"""Runs the tests below a path and writes what came of them into a file: checks.py PATH RESULT.

Tests are unittest's, and plain `test_` functions with bare asserts.
"""

import ast
import importlib.util
import json
import linecache
import os
import sys
import unittest

MAX_FAILURES = 100
MAX_MESSAGE = 4000


def files(path):
    if os.path.isfile(path):
        return [path]
    found = []
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith(".") and name != "node_modules")
        fits = (n for n in names if n.endswith(".py") and (n.startswith("test_") or n.endswith("_test.py")))
        found += [os.path.join(folder, name) for name in fits]
    return sorted(found)


def load(file, label):
    """The tests of a file, with their names. A file that does not load is a test that fails."""
    sys.path.insert(0, os.path.dirname(file))
    try:
        spec = importlib.util.spec_from_file_location(os.path.basename(file)[:-3], file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    except BaseException as error:
        def broken(error=error):
            raise error

        return [(label, unittest.FunctionTestCase(broken))]
    tests = [(f"{label}::{'.'.join(t.id().split('.')[1:])}", t) for t in flat(unittest.defaultTestLoader.loadTestsFromModule(module))]
    for name, value in vars(module).items():
        if name.startswith("test_") and callable(value) and getattr(value, "__module__", None) == module.__name__:
            tests.append((f"{label}::{name}", unittest.FunctionTestCase(value)))
    return tests


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def where(trace):
    """Both sides of the comparison that a bare assert made."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    line = linecache.getline(frame.f_code.co_filename, trace.tb_lineno).strip()
    try:
        test = ast.parse(line).body[0].test
        sides = [test.left, test.comparators[0]]
        values = [repr(eval(compile(ast.Expression(side), "", "eval"), frame.f_globals, frame.f_locals)) for side in sides]
        sign = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}[type(test.ops[0])]
    except Exception:
        return line
    return f"{line}, where {values[0]} {sign} {values[1]}"


class Result(unittest.TestResult):
    def __init__(self, names):
        super().__init__()
        self.names, self.bad, self.passed = names, [], 0

    def tell(self, test, error):
        kind, value, trace = error
        message = f"{kind.__name__}: {value}" if str(value) else kind.__name__
        if isinstance(value, AssertionError) and not value.args and trace is not None:
            message = f"AssertionError: {where(trace)}"
        self.bad.append({"test": self.names.get(id(test), str(test)), "message": message[:MAX_MESSAGE]})

    def addSuccess(self, test):
        self.passed += 1

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.tell(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.tell(test, error)


def summary(result):
    counts = [
        (result.passed, "passed"),
        (len(result.failures), "failed"),
        (len(result.errors), "ended in errors"),
        (len(result.skipped), "skipped"),
    ]
    total = sum(count for count, _ in counts)
    told = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{total} test{'' if total == 1 else 's'}: {told} (unittest)" if total else "no tests found"


def main(path, into):
    root = path if os.path.isdir(path) else os.path.dirname(path)
    tests = [test for file in files(path) for test in load(file, os.path.relpath(file, root))]
    result = Result({id(test): name for name, test in tests})
    unittest.TestSuite(test for _, test in tests).run(result)
    counts = {
        "passed": result.passed,
        "failed": len(result.failures),
        "errors": len(result.errors),
        "skipped": len(result.skipped),
    }
    found = {
        "passed": bool(tests) and result.wasSuccessful(),
        "summary": summary(result),
        "tests": {"total": sum(counts.values()), **counts},
        "failures": result.bad[:MAX_FAILURES],
    }
    with open(into, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
