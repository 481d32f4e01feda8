"""Runs the tests of one module of CPython's test package, inside the guest. The value is a JSON text with what became
of them."""

import importlib
import json
import os
import sys
import sysconfig
import unittest

sys.path.insert(0, "/py/test-suite")
# The guest has the docstrings of C code, but none of the build's variables that would say so.
sysconfig.get_config_vars()["WITH_DOC_STRINGS"] = 1

from test import support


# As CPython's own runner without `-u`: nothing that takes long, and no network.
support.use_resources = {}
support.verbose = 0

asked = json.load(sys.stdin)


def flat(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def brief(error):
    kind, value, _ = error
    lines = [line for line in str(value).splitlines() if line.strip()] or [""]
    # The loader's own error ends with the one that matters.
    line = lines[-1] if lines[0].startswith("Failed to import") else lines[0]
    return f"{kind.__name__}: {line}"[:200]


class Results(unittest.TestResult):
    passed = 0

    def __init__(self):
        super().__init__()
        self.failed, self.reasons, self.bad = {}, {}, False

    def startTest(self, test):
        super().startTest(test)
        self.bad = False
        try:
            os.write(2, f"\n\1test {test.id()}\n".encode("utf-8", "replace"))
        except OSError:
            pass

    def stopTest(self, test):
        super().stopTest(test)
        if self.bad:
            return
        self.passed += 1

    def fail(self, test, message):
        self.bad = True
        self.failed.setdefault(test.id(), message)

    def addError(self, test, error):
        self.fail(test, brief(error))

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.fail(test, brief(error))

    def addUnexpectedSuccess(self, test):
        self.fail(test, "it is expected to fail and passed")

    def addSkip(self, test, reason):
        if not self.bad:
            self.bad = True
            self.reasons[reason] = self.reasons.get(reason, 0) + 1


# They reach CPython's C interface through `ctypes.pythonapi`, which has no symbols here.
if asked["module"] == "test.test_code" or asked["module"].startswith("test.test_capi"):
    sys.modules["ctypes"] = None

results = Results()
try:
    module = importlib.import_module(asked["module"])
except unittest.SkipTest as skip:
    results.reasons[str(skip)] = 1
else:
    tests = list(flat(unittest.defaultTestLoader.loadTestsFromModule(module)))
    if asked["only"]:
        tests = [test for test in tests if test.id() in asked["only"]]
    tests = [test for test in tests if test.id() not in asked["without"]]
    # `test` knows its folder; the tests tidy up in all others.
    sys.path[:] = [folder for folder in sys.path if not folder.startswith("/py/test-suite")]
    suite = unittest.TestSuite(tests)
    for _ in range(5):
        # Some tests count on a stack as deep as that of CPython's own runner.
        suite = unittest.TestSuite([suite])
    suite.run(results)

json.dumps({"passed": results.passed, "failed": results.failed, "skipped": results.reasons})
