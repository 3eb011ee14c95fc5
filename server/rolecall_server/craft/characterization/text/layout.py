"""Expressions as a formatter would lay them out: one line where it fits, else an element a line."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from rolecall_server.python_trees import parse_expression

_INDENT = 4
_NUMBERS = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*+(?:'|\\?\Z)|"(?:\\.|[^"\\])*+(?:"|\\?\Z))"""
    r"""|(?<=[0-9.])e(?:\+|(?P<sign>-))0*(?=[0-9])"""
    r"""|(?<=\w) (?P<power>\*\*) (?=\w)"""
    r"""|(?<![\w.])(?P<whole>\d+) (?=\.\w)""",
    re.DOTALL,
)
"""Strings, which stay as they are; exponents with a sign they need not have; powers of names and numbers;
whole numbers before a dot."""


def lay_out(source: str, *, indent: int, width: int, before: int = 0, after: int = 0) -> str:
    """Return *source*, an expression, at *indent* spaces, in lines of at most *width* characters where it can be.

    *before* and *after* are the characters that stand on its first and last line besides.
    """
    return _lay_out(parse_expression(source), indent, width, before, after)


def on_one_line(source: str) -> str:
    """Return *source*, an expression, as formatters write it where there is room."""
    return _written(parse_expression(source))


def _written(node: ast.expr) -> str:
    """Return *node* on one line, as formatters write numbers and powers."""
    return _NUMBERS.sub(_as_formatted, ast.unparse(node))


def _as_formatted(found: re.Match[str]) -> str:
    return f"({found['whole']})" if found["whole"] else found["text"] or found["power"] or f"e{found['sign'] or ''}"


def with_quotes(code: str, quote: str) -> str:
    """Return *code* with its string literals in *quote* where that needs no more escapes, and no ``u`` before them."""
    lines = code.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    # From the end on, so that the places before it stay true.
    for token in reversed(tokens):
        if token.type == tokenize.STRING and token.start[0] == token.end[0]:
            row = token.start[0] - 1
            line = lines[row]
            lines[row] = line[: token.start[1]] + _requoted(token.string, quote) + line[token.end[1] :]
    return "".join(lines)


def _requoted(literal: str, quote: str) -> str:
    """Return a literal in the quotes that need fewer escapes; in *quote* where both need as many."""
    prefix = literal[: len(literal) - len(literal.lstrip("urbURBfF"))]
    body = literal[len(prefix) :]
    prefix = prefix.replace("u", "").replace("U", "")
    if body.startswith(('"""', "'''")) or "r" in prefix.lower():
        return prefix + body
    pieces = [piece[1:] if piece in ("\\'", '\\"') else piece for piece in re.findall(r"\\.|[^\\]", body[1:-1])]
    other = "'" if quote == '"' else '"'
    chosen = quote if pieces.count(quote) <= pieces.count(other) else other
    escaped = "".join(f"\\{piece}" if piece == chosen else piece for piece in pieces)
    return f"{prefix}{chosen}{escaped}{chosen}"


def _lay_out(node: ast.expr, indent: int, width: int, before: int, after: int) -> str:
    flat = _written(node)
    if indent + before + len(flat) + after <= width or "\n" in flat:
        return flat
    inner = indent + _INDENT
    pad = "\n" + " " * inner
    match node:
        case ast.List(elts=parts):
            opening, closing = "[", "]"
        case ast.Tuple(elts=parts):
            opening, closing = "(", ")"
        case ast.Set(elts=parts):
            opening, closing = "{", "}"
        case ast.Dict() if all(key is not None for key in node.keys):
            rows = [_pair(key, value, inner, width) for key, value in zip(node.keys, node.values, strict=True) if key]
            return "{" + "".join(f"{pad}{row}," for row in rows) + "\n" + " " * indent + "}"
        case ast.Call():
            return _call(node, indent, width)
        case _:
            return flat
    rows = [_lay_out(part, inner, width, 0, 1) for part in parts]
    return opening + "".join(f"{pad}{row}," for row in rows) + "\n" + " " * indent + closing if rows else flat


def _pair(key: ast.expr, value: ast.expr, indent: int, width: int) -> str:
    name = _written(key)
    return f"{name}: {_lay_out(value, indent, width, len(name) + 2, 1)}"


def _call(node: ast.Call, indent: int, width: int) -> str:
    inner = indent + _INDENT
    rows = [_lay_out(one, inner, width, 0, 1) for one in node.args]
    for word in node.keywords:
        name = f"{word.arg}=" if word.arg else "**"
        rows.append(name + _lay_out(word.value, inner, width, len(name), 1))
    function = ast.unparse(node.func)
    if not rows:
        return f"{function}()"
    pad = "\n" + " " * inner
    flat = ", ".join(rows)
    if "\n" not in flat and inner + len(flat) <= width:
        return f"{function}({pad}{flat}\n{' ' * indent})"
    return f"{function}(" + "".join(f"{pad}{row}," for row in rows) + "\n" + " " * indent + ")"
