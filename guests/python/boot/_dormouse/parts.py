"""A snippet that calls `asyncio.run` is run in parts, so that what it runs can pause.

A part is a module of its own in the same namespace. In one whose statement calls `asyncio.run`, outside of functions, that call is
awaited: nothing lies below it on the stack then.
"""

import ast
import copy

# A name that no snippet has; it is found among the builtins.
RUN = "__dormouse_run"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
           ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Awaiting(ast.NodeTransformer):
    def __init__(self, names):
        self.names, self.found, self.awaits = names, False, False

    def visit(self, node):
        self.awaits |= isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith))
        return node if isinstance(node, _SCOPES) else super().visit(node)

    def visit_Call(self, node):
        self.generic_visit(node)
        function = node.func
        plain = isinstance(function, ast.Name) and function.id in self.names
        attribute = (isinstance(function, ast.Attribute) and function.attr == "run"
                     and isinstance(function.value, ast.Name) and function.value.id == "asyncio")
        if not (plain or attribute):
            return node
        self.found = True
        call = ast.Call(ast.Name(RUN, ast.Load()), [function, *node.args], node.keywords)
        return ast.fix_missing_locations(ast.copy_location(ast.Await(ast.copy_location(call, node)), node))


def _imported(module):
    """The names that stand for `asyncio.run` in it."""
    return {alias.asname or alias.name for node in module.body if isinstance(node, ast.ImportFrom) and node.module == "asyncio"
            for alias in node.names if alias.name == "run"}


def split(text, name):
    """The parts of a snippet; None: it is one."""
    try:
        module = ast.parse(text, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    parts, plain, names = [], [], _imported(module)
    for statement in module.body:
        awaiting = _Awaiting(names)
        changed = awaiting.visit(copy.deepcopy(statement))
        # What awaits by itself runs in a loop already, in which there is no other.
        if awaiting.found and not awaiting.awaits:
            parts += [plain] * bool(plain) + [[changed]]
            plain = []
        else:
            plain.append(statement)
    if not parts:
        return None
    parts += [plain] * bool(plain)
    return [ast.Module(part, []) for part in parts]
