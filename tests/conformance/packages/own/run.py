"""Runs the own tests of one package by pytest, inside the guest, and prints what becomes of each.

Standard input is a JSON text: `package`, the options of pytest and the files of tests (`arguments`), what the names of tests must contain
(`only`) and which are not run (`without`). Each line of standard output that begins with the character 1 is JSON: a name when the test
begins, and a name, a word and a text when it ends. The last one is empty.
"""

import json
import os
import sys

sys.path.insert(0, "/own")

import pytest

asked = json.load(sys.stdin)


def say(*told):
    # Not by `sys.stdout`, which pytest captures. Its own dots are on the line before.
    os.write(1, b"\n\1" + json.dumps(told).encode() + b"\n")


def brief(longrepr):
    crash = getattr(longrepr, "reprcrash", None)
    lines = [line for line in (crash.message if crash else str(longrepr)).splitlines() if line.strip()]
    # A fixture or a module that fails has no crash; its error comes last.
    return (lines or [""])[0 if crash else -1][:200]


class Told:
    def __init__(self):
        self.ended = {}

    def pytest_collection_modifyitems(self, items):
        def is_wanted(item):
            name = f"{asked['package']}: {item.nodeid}"
            return asked["only"] in name and name not in asked["without"]

        items[:] = filter(is_wanted, items)

    def pytest_collectreport(self, report):
        if report.failed:
            say(report.nodeid, "failed", brief(report.longrepr))

    def pytest_runtest_logstart(self, nodeid):
        say(nodeid)

    def pytest_runtest_logreport(self, report):
        name = report.nodeid
        if report.failed:
            self.ended.setdefault(name, ("failed", brief(report.longrepr)))
        elif report.skipped and hasattr(report, "wasxfail"):
            self.ended[name] = ("skipped", "the test itself says that it fails")
        elif report.skipped:
            self.ended[name] = ("skipped", str(report.longrepr[2]).removeprefix("Skipped: "))
        elif report.when == "call":
            self.ended[name] = ("passed", "")

    def pytest_runtest_logfinish(self, nodeid):
        say(nodeid, *self.ended.get(nodeid, ("failed", "nothing was told of it")))


os.chdir("/project/" + asked["package"])
sys.path.insert(0, os.getcwd())
# As `dormouse sandbox exec` starts pytest (docs/packages.md). Plugins that the packages brought are named one by one.
usual = ["--rootdir=.", "--capture=sys", "-p", "no:faulthandler", "--basetemp=/tmp/pytest", "-p", "no:cacheprovider", "-p", "no:httpbin"]
quiet = ["-qq", "--tb=short", "--no-summary"]
pytest.main([*usual, *quiet, *asked["arguments"]], plugins=[Told()])
say()
