"""Checks the types of Python files with mypy, where it is installed. Fed to `python3 -` with the path of a job."""

import json
import os
import re
import sys

MOST_FAILURES = 200


def main(job):
    os.chdir(job["folder"])
    result = {"complete": True, "tool": "mypy", "notes": [], "problems": 0, "failures": []}
    try:
        from mypy import api, main as _
    except ImportError as error:
        # Of newer releases a part is machine code.
        result.update(missing=str(error))
    else:
        options = ["--no-color-output", "--no-error-summary", "--hide-error-context", "--no-pretty", "--show-error-codes",
                   "--cache-dir", "/tmp/.mypy_cache", "--ignore-missing-imports"]
        output, errors, status = api.run([*options, *job["files"]])
        found = []
        for line in output.splitlines():
            match = re.match(r"(.+?):(\d+):(?:\d+:)? error: (.*)", line)
            if match:
                path = os.path.join(job["folder"], match[1])
                found.append({"name": "types", "file": path, "line": int(match[2]), "message": match[3][:2000]})
        if status and not found:
            text = (errors or output)[-2000:]
            found.append({"name": "mypy", "file": None, "line": None, "message": text or f"mypy ended with status {status}"})
        result.update(problems=len(found), failures=found[:MOST_FAILURES])
    with open(job["result"], "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        asked = json.load(file)
    main(asked)
