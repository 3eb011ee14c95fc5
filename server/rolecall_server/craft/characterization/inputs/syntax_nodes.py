"""Expressions that give nodes of `ast`: for functions that read Python."""

from __future__ import annotations

from collections.abc import Mapping

_STATEMENTS = {
    "FunctionDef": "def f(a, b=2):\\n    return a + b",
    "AsyncFunctionDef": "async def f(a):\\n    await a",
    "ClassDef": "class A(B):\\n    x = 1",
    "Assign": "x = y = 1",
    "AnnAssign": "x: int = 1",
    "If": "if a:\\n    b = 1\\nelse:\\n    b = 2",
    "For": "for a in b:\\n    c(a)",
    "While": "while a:\\n    break",
    "With": "with a as b:\\n    pass",
    "Try": "try:\\n    a()\\nexcept ValueError as e:\\n    raise",
    "Return": "def f():\\n    return 1",
    "Import": "import a.b as c, d",
    "ImportFrom": "from a import b as c",
    "Expr": "a.b(c)",
}
_EXPRESSIONS = {
    "Call": "f(1, *a, b=2)",
    "Attribute": "a.b",
    "Name": "a",
    "Constant": "1",
    "Subscript": "a[0]",
    "BinOp": "a + 1",
    "BoolOp": "a and b",
    "Compare": "a < b",
    "List": "[a, 1]",
    "Tuple": "(a, 1)",
    "Dict": "{'a': 1}",
    "Lambda": "lambda a: a",
    "JoinedStr": "f'{a} b'",
    "ListComp": "[a for a in b if c]",
}
_NODES: Mapping[str, tuple[str, ...]] = {
    **{kind: (f"ast.parse('{source}').body[0]",) for kind, source in _STATEMENTS.items()},
    **{kind: (f'ast.parse("{source}", mode="eval").body',) for kind, source in _EXPRESSIONS.items()},
}
NODES: Mapping[str, tuple[str, ...]] = {
    **_NODES,
    "stmt": tuple(source for kind in _STATEMENTS for source in _NODES[kind]),
    "expr": tuple(source for kind in _EXPRESSIONS for source in _NODES[kind]),
    "AST": tuple(source for sources in _NODES.values() for source in sources),
    "Module": tuple(f"ast.parse('{source}')" for source in _STATEMENTS.values()),
}
"""Nodes of `ast`, by the names of their classes."""
