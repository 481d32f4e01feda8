"""Annotations that are texts, such as `"list[int]"`, where a snippet may make no code from text.

What only names types is looked up all the same. What calls anything is code.
"""

import annotationlib
import ast

_NAMING = (
    ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Starred, ast.Constant,
    ast.BinOp, ast.BitOr, ast.UnaryOp, ast.USub, ast.Load,
)  # fmt: skip


def _names_types(text):
    return all(isinstance(node, _NAMING) for node in ast.walk(ast.parse(text, mode="eval")))


def _may_make_code():
    try:
        compile("0", "<string>", "eval")
    except PermissionError:
        return False
    return True


# These two may do it for the two after them (see origin.c), and for nobody else.
def _compile(text, name, mode):
    return compile(text, name, mode)


def _eval(code, globals, locals):
    return eval(code, globals, locals)


def compile_type(text, name, mode):
    if not _may_make_code() and not _names_types(text):
        raise PermissionError("an annotation that calls something is not allowed here")
    return _compile(text, name, mode)


def eval_type(source, globals=None, locals=None):
    if isinstance(source, str):
        source = compile_type(source, "<string>", "eval")
    return _eval(source, annotationlib.__dict__ if globals is None else globals, locals)


def install():
    annotationlib.compile, annotationlib.eval = compile_type, eval_type
