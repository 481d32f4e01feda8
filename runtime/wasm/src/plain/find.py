"""Finds the calls of tools that a program's text shows, so that they can be looked at before it runs.

A call counts if its names stand in the text, and if nothing that the text shows can catch its failure: a program that expects one
is right.
"""

import ast
import builtins
import json
import math
import sys

import dormouse

_MOST = 500
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.Match)
# A call in one of these is made where they stand.
_THROUGH = (ast.Starred, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.IfExp, ast.comprehension)
# Functions that raise what a call raises that they are given; methods that keep what they are given.
_RAISE = {"gather", "wait_for", "shield", "timeout", "list", "tuple", "map", "sum", "dict", "zip"}
_KEEP = {"append", "extend", "add", "insert", "create_task", "ensure_future", "setdefault", "update", "format", "join"}
_SWALLOW = {"suppress", "raises", "assertRaises", "assertRaisesRegex"}
_PLAIN = {"staticmethod", "classmethod", "property"}


def _names(node):
    """All names and attributes in it."""
    return {part.id if isinstance(part, ast.Name) else part.attr
            for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))}


def _last(node):
    """The name that a function is called by."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _swallowed(node):
    """Whether a `try` may keep what is raised in it to itself: it has a handler, or leaves from its `finally`."""
    def leaves(part):
        if isinstance(part, (ast.Return, ast.Break, ast.Continue)):
            return True
        return not isinstance(part, (*_SCOPES, ast.Lambda, ast.ClassDef)) and any(map(leaves, ast.iter_child_nodes(part)))
    return isinstance(node, (ast.Try, ast.TryStar)) and (bool(node.handlers) or any(map(leaves, node.finalbody)))


def _lambda(node):
    """The name that is given to a function of one expression."""
    is_one = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.targets) == 1
    return _last(node.targets[0]) if is_one else None


def _path(node):
    """The names behind `tools`; None: it is something else."""
    path = []
    while True:
        if isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            path.append(node.slice.value)
            node = node.value
        else:
            break
    is_tools = isinstance(node, ast.Name) and node.id == "tools"
    return path[::-1] if is_tools and path and not any(name.startswith("__") for name in path) else None


class _Other(Exception):
    """No literal that JSON has."""


def _literal(node):
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str):
            if any("\ud800" <= c <= "\udfff" for c in value):
                raise _Other
            return value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and -2 ** 63 <= value < 2 ** 63 or isinstance(value, float) and math.isfinite(value):
            return value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = _literal(node.operand)
        if type(value) in (int, float):
            return -value
    elif isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(item) for item in node.elts]
    elif isinstance(node, ast.Dict):
        keys = [_literal(key) if key else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(keys, map(_literal, node.values)))
    raise _Other


class _Arguments:
    def __init__(self, call):
        self.literals, self.others, self.whole, self.positional = {}, [], True, False
        for given in call.args:
            self.position(given, len(call.args))
        for keyword in call.keywords:
            self.named(keyword.arg, keyword.value)

    def position(self, given, count):
        if isinstance(given, ast.Dict) and count == 1:
            for key, value in zip(given.keys, given.values):
                is_named = isinstance(key, ast.Constant) and isinstance(key.value, str)
                self.named(key.value if is_named else None, value)
        elif count > 1 and not isinstance(given, ast.Starred) or isinstance(
                given, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp)):
            self.positional = True
        else:
            self.whole = False

    def named(self, name, value):
        if name is None:
            # What is spread may replace what stands before it.
            self.whole = False
            self.others += self.literals
            self.literals = {}
            return
        self.literals.pop(name, None)
        try:
            self.literals[name] = _literal(value)
        except _Other:
            self.others.append(name)


class _Program:
    """What holds for a program as a whole."""

    def __init__(self, module):
        nodes = list(ast.walk(module))
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.defined = {node.name for node in nodes if isinstance(node, (*_SCOPES, ast.ClassDef))}
        self.defined |= {alias.asname or alias.name for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "asyncio"
                         for alias in node.names}
        self.defined |= {_lambda(node) for node in nodes}
        # Calls that block fail where they stand.
        self.blocks = not any(isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)) for node in nodes)
        self.own_contexts = bool({"__exit__", "__aexit__", "contextmanager", "asynccontextmanager"} &
                                 (self.defined | {_last(node) for node in nodes}))
        tries = [node for node in nodes if _swallowed(node)]
        withs = [node for node in nodes if isinstance(node, (ast.With, ast.AsyncWith)) and self.swallows(node)]
        foreign = [call for call in calls if not self.is_known(call)]
        self.catches = bool(tries or withs or self.own_contexts) or any(
            "return_exceptions" in (getattr(node, "arg", None), getattr(node, "value", None)) for node in nodes
            if isinstance(node, (ast.keyword, ast.Constant))) or bool(
            {"exception", "add_done_callback", "set_exception_handler", "wait"} &
            {node.attr for node in nodes if isinstance(node, ast.Attribute)})
        # A program that looks for tools may know which are there.
        self.looks = any(isinstance(node, ast.Call) and (
            _last(node.func) in ("hasattr", "getattr", "dir") or _path(node.func) in (["search"], ["describe"])) for node in nodes)
        self.caught = self.reach(nodes, set().union(*(_names(part) for node in tries + withs for part in node.body), *(
            _names(part) for call in foreign for part in (*call.args, *(keyword.value for keyword in call.keywords))),
            # What is handed on may be called, or awaited, where a failure is caught.
            self.handed(module) if self.catches else ()))
        self.mentioned = self.used(module)

    def swallows(self, node):
        return self.own_contexts or any(_last(getattr(item.context_expr, "func", None)) in _SWALLOW for item in node.items)

    def is_known(self, call):
        """Whether what is called lets through what its arguments raise."""
        function, name = call.func, _last(call.func)
        if name == "wait" or any(keyword.arg is None or keyword.arg == "return_exceptions" and getattr(keyword.value, "value", True) is not False
                                 for keyword in call.keywords):
            return False
        if isinstance(function, ast.Name):
            return name in self.defined or hasattr(builtins, name)
        return name in _KEEP or _path(function) is not None or (
            isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "asyncio")

    def handed(self, module):
        """The functions of the program that are used in another way than by a call that is awaited, or a statement, where it stands."""
        handed = set()

        def visit(node, parent):
            called = isinstance(parent, ast.Call) and parent.func is node
            if isinstance(node, (ast.Name, ast.Attribute)) and not called and isinstance(node.ctx, ast.Load):
                handed.add(_last(node))
            if isinstance(node, ast.Call) and not isinstance(parent, (ast.Await, ast.Expr)) and not (
                    isinstance(parent, ast.Call) and self.is_known(parent) and _last(parent.func) == "run"):
                handed.add(_last(node.func))
            for child in ast.iter_child_nodes(node):
                visit(child, node)

        visit(module, None)
        return handed & self.defined

    def may_catch(self, name):
        """Whether a function's failure may be caught, or never comes."""
        return name in self.caught or name not in self.mentioned

    @staticmethod
    def reach(nodes, caught):
        """The names behind these: what functions of such a name call, and what variables are made of."""
        made = {}

        def note(names, part):
            for name in names:
                made.setdefault(name, set()).update(_names(part))

        for node in nodes:
            if isinstance(node, _SCOPES):
                for part in node.body:
                    note([node.name], part)
            elif isinstance(node, ast.ClassDef):
                note([node.name], node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    note(_names(target), node.value)
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value:
                note(_names(node.target), node.value)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                note(_names(node.target), node.iter)
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    if item.optional_vars:
                        note(_names(item.optional_vars), item.context_expr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                for part in node.args:
                    note(_names(node.func.value), part)
        left = list(caught)
        while left:
            new = made.get(left.pop(), set()) - caught
            caught |= new
            left += new
        return caught

    @staticmethod
    def used(module):
        """The functions that the program mentions outside of themselves."""
        used, inside = set(), []

        def visit(node):
            name = _last(node)
            if name is not None and name not in inside and isinstance(node.ctx, ast.Load):
                used.add(name)
            scope = node.name if isinstance(node, _SCOPES) else _lambda(node)
            if scope:
                inside.append(scope)
            for child in ast.iter_child_nodes(node):
                visit(child)
            if scope:
                inside.pop()

        visit(module)
        return used


class _Finder:
    def __init__(self, program):
        self.program, self.found = program, []

    def visit(self, node, caught=False, surfaces=False, foreign=False):
        """`caught`: what it raises may be caught. `surfaces`: what a call raises is raised where it stands. `foreign`: it is given to a
        function that may catch what it raises."""
        program = self.program
        if _swallowed(node):
            self.all(node.body, True)
            self.all((*node.handlers, *node.orelse, *node.finalbody), caught)
        elif isinstance(node, (ast.With, ast.AsyncWith)) and program.swallows(node):
            self.all(node.items, caught)
            self.all(node.body, True)
        elif isinstance(node, _SCOPES):
            decorated = {_last(part) for part in node.decorator_list} - _PLAIN
            self.all((*node.decorator_list, node.args), caught)
            self.all(node.body, caught or bool(decorated) or program.may_catch(node.name))
        elif (name := _lambda(node)) is not None:
            self.children(node.value, caught or program.catches or program.may_catch(name))
        elif isinstance(node, (ast.Lambda, ast.GeneratorExp)) and foreign or isinstance(node, ast.Lambda) and program.catches:
            self.children(node, True)
        elif isinstance(node, ast.Await):
            self.visit(node.value, caught, True)
        elif isinstance(node, ast.Call):
            self.call(node, caught, surfaces, foreign)
        elif isinstance(node, _BRANCHES) and program.looks:
            self.children(node, True)
        elif isinstance(node, _THROUGH):
            self.children(node, caught, surfaces, foreign)
        else:
            self.children(node, caught, False, foreign)

    def all(self, nodes, caught):
        for node in nodes:
            self.visit(node, caught)

    def children(self, node, caught, surfaces=False, foreign=False):
        for child in ast.iter_child_nodes(node):
            self.visit(child, caught, surfaces, foreign)

    def call(self, node, caught, surfaces, foreign):
        program, path = self.program, _path(node.func)
        is_own = path is not None and path not in (["search"], ["describe"])
        if is_own and not caught and (surfaces or program.blocks or not (foreign or program.catches)):
            self.note(path, node)
        if path is None:
            self.visit(node.func, caught, False, foreign)
        known = program.is_known(node)
        for part in (*node.args, *node.keywords):
            value = part.value if isinstance(part, ast.keyword) else part
            self.visit(value, caught, surfaces and known and _last(node.func) in _RAISE, foreign or not known)

    def note(self, path, node):
        given = _Arguments(node)
        self.found.append({"line": node.func.end_lineno, "name": ".".join(path), "literals": given.literals, "others": given.others,
                           "whole": given.whole, "positional": given.positional})


def _is_ours(module):
    """Whether `tools` is what the sandbox has, wherever the program uses it."""
    imported = False
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            if node.module == "dormouse":
                imported |= node in module.body and any(alias.name in ("tools", "*") for alias in node.names if not alias.asname)
                if any("tools" == alias.asname != alias.name for alias in node.names):
                    return False
            elif any((alias.asname or alias.name) in ("tools", "*") for alias in node.names):
                return False
            continue
        if isinstance(node, ast.Import):
            names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name):
            names = {node.id} if not isinstance(node.ctx, ast.Load) else {"tools"} if node.id in ("exec", "eval") else ()
        elif isinstance(node, ast.Constant):
            names = {node.value} if isinstance(node.value, str) else ()
        elif isinstance(node, ast.arg):
            names = {node.arg}
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names = node.names
        elif isinstance(node, ast.alias):
            names = ()
        else:
            names = {getattr(node, "name", None), getattr(node, "rest", None)}
        if "tools" in names:
            return False
    return imported or sys.modules["__main__"].__dict__.get("tools") is dormouse.tools


def calls(text):
    """The calls as JSON; `[]` for a text that cannot be read."""
    sys.modules["__main__"].__dict__.pop("__dormouse_program__", None)
    try:
        module = ast.parse(text.removeprefix("\ufeff"))
        if not _is_ours(module):
            return "[]"
        finder = _Finder(_Program(module))
        finder.visit(module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "[]"
    return json.dumps(finder.found if len(finder.found) <= _MOST else [])
