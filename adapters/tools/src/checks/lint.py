"""Looks for mistakes in Python files without running them. Fed to `python3 -` with the path of a job, as tests.py is."""

import ast
import builtins
import io
import json
import os
import re
import symtable
import sys
import warnings

MOST_FAILURES = 200


def problem(path, line, message):
    return {"name": "lint", "file": path, "line": line, "message": message[:2000]}


def tables(table):
    yield table
    for child in table.get_children():
        yield from tables(child)


def compiled(source, path):
    """What the compiler says: the syntax error that it ends with, and its warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            compile(source, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return [problem(path, getattr(error, "lineno", None), f"{type(error).__name__}: {error.args[0]}")]
    return [problem(path, each.lineno, f"{each.category.__name__}: {each.message}") for each in warned]


def undefined(tree, table, path):
    """Names that nothing in the file binds and that are no builtins. A name that is bound in any scope is let pass."""
    bound, used = set(), set()
    for each in tables(table):
        for symbol in each.get_symbols():
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter() or symbol.is_namespace():
                bound.add(symbol.get_name())
            if symbol.is_referenced():
                used.add(symbol.get_name())
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    missing = {name for name in used - bound - caught if not hasattr(builtins, name) and not name.startswith("__")}
    seen = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in missing and node.id not in seen:
            seen.add(node.id)
            yield problem(path, node.lineno, f"undefined name '{node.id}'")


def unused(tree, source, path):
    """Imports of the file itself whose name stands nowhere else in it, not even in a text."""
    if os.path.basename(path) == "__init__.py":
        return
    lines = source.splitlines()
    for node in tree.body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or getattr(node, "module", None) == "__future__":
            continue
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            again = alias.asname is not None and alias.asname == alias.name
            own = "\n".join(lines[node.lineno - 1:node.end_lineno])
            rest = "\n".join(lines[:node.lineno - 1] + lines[node.end_lineno:])
            if name != "*" and not again and "noqa" not in own and not re.search(rf"\b{re.escape(name)}\b", rest):
                yield problem(path, node.lineno, f"'{alias.asname or alias.name}' is imported and not used")


def builtin(source, path):
    found = compiled(source, path)
    try:
        tree, table = ast.parse(source), symtable.symtable(source, path, "exec")
    except (SyntaxError, ValueError):
        return found
    text = source.decode("utf-8", "replace")
    stars = any(alias.name == "*" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names)
    made = re.search(r"\b(globals|exec|eval|vars|locals)\s*\(|__getattr__", text)
    if not stars and not made:
        found.extend(undefined(tree, table, path))
    found.extend(unused(tree, text, path))
    return found


def by_pyflakes(api, source, path):
    reporter_module = __import__("pyflakes.reporter", fromlist=["Reporter"])
    output = io.StringIO()
    api.check(source.decode("utf-8", "replace"), path, reporter_module.Reporter(output, output))
    for line in output.getvalue().splitlines():
        match = re.match(r"(.+?):(\d+):(?:\d+:?)? (.*)", line)
        if match:
            yield problem(path, int(match[2]), match[3])


def by_pycodestyle(pycodestyle, path):
    found = []

    class Report(pycodestyle.BaseReport):
        def error(self, line, offset, text, check):
            code = super().error(line, offset, text, check)
            if code:
                found.append(problem(path, line, text))
            return code

    pycodestyle.StyleGuide(quiet=2, reporter=Report, parse_argv=False, config_file=None).check_files([path])
    return found


def installed(name):
    try:
        return __import__(name, fromlist=["*"])
    except ImportError:
        return None


def main(job):
    os.chdir(job["folder"])
    pyflakes, pycodestyle = installed("pyflakes.api"), installed("pycodestyle")
    names = [name for name, module in (("pyflakes", pyflakes), ("pycodestyle", pycodestyle)) if module]
    found, notes = [], []
    if not names:
        notes.append("a check of our own: syntax, undefined names, unused imports; `pip install pyflakes pycodestyle` for more")
    for path in job["files"]:
        with open(path, "rb") as file:
            source = file.read()
        found.extend(compiled(source, path) if names else builtin(source, path))
        if pyflakes:
            found.extend(by_pyflakes(pyflakes, source, path))
        if pycodestyle:
            found.extend(by_pycodestyle(pycodestyle, path))
    once = {(each["file"], each["line"], each["message"]): each for each in found}
    with open(job["result"], "w") as file:
        json.dump({"complete": True, "tool": "+".join(names) or "builtin", "notes": notes, "problems": len(once),
                   "failures": list(once.values())[:MOST_FAILURES]}, file)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        asked = json.load(file)
    main(asked)
