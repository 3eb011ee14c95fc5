"""Small changes to the expressions of a call that keep their types: what boundaries and mutants are found with."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeGuard

from rolecall_server.craft.characterization.inputs.preparation import is_preparation
from rolecall_server.craft.characterization.observation import LIKELY, NEAR_ANOTHER, CandidateCall
from rolecall_server.python_trees import parse_expression

_WORD = re.compile(r"[^\W\d]\w*")
_LITERAL = re.compile(r"[\d'\"\[{]|\b(?:True|False|None)\b")
"""A piece of an expression that can be varied."""
_LETTERS = "aAbz09_- .,éß"
_MAX_CHARACTERS = 80
_STRICT = ("fromstring", "UUID")


def vary(call: CandidateCall, others: Sequence[CandidateCall], strings: Sequence[str], random: Random) -> CandidateCall:
    """Return *call* with one operand changed in some piece, or replaced by that of another call of the same form in
    *others*.

    *strings* are texts that the module may treat in a way of its own.
    """
    if not call.operands:
        return call
    varying = [place for place, source in enumerate(call.operands) if _LITERAL.search(source)]
    place = random.choice(varying or range(len(call.operands)))
    same_form = [one for one in others if (one.template, one.patched) == (call.template, call.patched)]
    if same_form and random.random() < 0.2:
        changed = random.choice(same_form).operands[place]
    else:
        changed = vary_expression(call.operands[place], strings, random)
    operands = (*call.operands[:place], changed, *call.operands[place + 1 :])
    origin = NEAR_ANOTHER if call.is_through_another else max(call.origin, LIKELY)
    return replace(call, operands=operands, origin=origin)


def vary_expression(source: str, strings: Sequence[str], random: Random) -> str:
    """Return *source* with one literal in it changed; as it is where it has none."""
    tree = parse_expression(source)
    # The number in `-1` is changed together with its sign, as one literal.
    fixed = {id(node.operand) for node in ast.walk(tree) if _is_negative(node)}
    fixed |= {id(part) for node in ast.walk(tree) if _is_strict(node) for part in node.args}
    fixed |= {id(part) for node in ast.walk(tree) if is_preparation(node) for part in (node.value, node.slice)}
    fixed |= {id(node.args[1]) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_setting(node)}
    fixed |= {id(node.right) for node in ast.walk(tree) if _is_in_folder(node)}
    places = [node for node in ast.walk(tree) if _is_variable(node) and id(node) not in fixed]
    if not places:
        return source
    chosen = random.choice(places)
    changed = _Exchange(chosen, _varied(chosen, strings, random)).visit(tree)
    return ast.unparse(changed)


class _Exchange(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().visit(node)


def _is_in_folder(node: ast.AST) -> TypeGuard[ast.BinOp]:
    """Return whether a node is a file in a test's folder, whose name says nothing."""
    return isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and isinstance(node.op, ast.Div)


def _is_setting(node: ast.Call) -> bool:
    """Return whether a call sets an attribute, whose name stays."""
    return isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(node.args) == 3


def _is_negative(node: ast.AST) -> TypeGuard[ast.UnaryOp]:
    """Return whether a node is a number with its sign."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)


def _is_strict(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return whether a node is a call that refuses nearly every other text."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _STRICT


def _is_variable(node: ast.AST) -> bool:
    if _is_negative(node):
        return True
    if isinstance(node, ast.Constant):
        return node.value is not Ellipsis
    return isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict)


def _varied(node: ast.AST, strings: Sequence[str], random: Random) -> ast.expr:  # noqa: PLR0911 - one case for each kind
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return _number(_vary_integer(-number, random))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as number)):
            return _number(_vary_float(-number, random))
        case ast.Constant(value=bool() as flag):
            return ast.Constant(not flag)
        case ast.Constant(value=int() as number):
            return _number(_vary_integer(number, random))
        case ast.Constant(value=float() as number):
            return _number(_vary_float(number, random))
        case ast.Constant(value=str() as text):
            return ast.Constant(vary_text(text, strings, random))
        case ast.Constant(value=bytes() as data):
            return ast.Constant(random.choice((data + b"a", data[1:], data[:-1], data * 2, data.upper())))
        case ast.List() | ast.Tuple() | ast.Set():
            return _vary_items(node, random)
        case ast.Dict():
            return _vary_pairs(node, strings, random)
        case ast.expr():
            return node
        case _:
            raise TypeError(node)


def _number(value: float) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _vary_float(number: float, random: Random) -> float:
    steps = (-number, number + 1, number / 2, number * 10, 0.0)
    return random.choice(steps)


def _vary_integer(number: int, random: Random) -> int:
    steps = (number + 1, number - 1, -number, number * 10, number + 10, number * 2, number // 2, number + 100, 0)
    return random.choice(steps) if abs(number) < 10**40 else number // 10


def vary_text(text: str, strings: Sequence[str], random: Random) -> str:
    """Return *text* with one change, at most 80 characters long, or as long as it was."""
    place = random.randrange(len(text) + 1)
    head, tail = text[:place], text[place:]
    other = random.choice(strings) if strings else ""
    forms = (
        lambda: head + tail[1:],
        lambda: head + random.choice(_LETTERS) + tail,
        lambda: head + random.choice(_LETTERS) + tail[1:],
        lambda: head + tail[:1] + tail,
        text.upper,
        text.lower,
        text.title,
        text.swapcase,
        lambda: text + other,
        lambda: other + text,
        lambda: head + other + tail,
        lambda: f"{text} {other}",
        lambda: f"{text}_{other}",
        lambda: other,
        # Texts with a form of their own, as markup, keep it where a word of theirs becomes another that is known.
        lambda: _with_word(text, other, random),
        lambda: _with_word(text, other, random),
        lambda: _with_word(text, other, random),
        lambda: text + text,
        lambda: text[::-1],
        lambda: text.replace("_", "-").replace(" ", "_"),
        lambda: f"{text}{random.randrange(12)}",
    )
    return random.choice(forms)()[: max(_MAX_CHARACTERS, len(text))]


def _with_word(text: str, other: str, random: Random) -> str:
    """Return *text* with *other* in the place of one of its words, wherever that stands."""
    words = _WORD.findall(text)
    if not words:
        return other
    return re.sub(rf"\b{re.escape(random.choice(words))}\b", lambda _: other, text)


def _vary_items(node: ast.List | ast.Tuple | ast.Set, random: Random) -> ast.expr:
    items = list(node.elts)
    match random.randrange(4):
        case 0 if items:
            items.pop(random.randrange(len(items)))
        case 1 if items:
            items.append(random.choice(items))
        case 2:
            items.reverse()
        case _ if items:
            items.insert(0, random.choice((ast.Constant(0), ast.Constant(""), random.choice(items))))
        case _:
            items.append(random.choice((ast.Constant(1), ast.Constant("a"))))
    if isinstance(node, ast.Set):
        return ast.Set(items) if items else ast.Call(ast.Name("set"), [], [])
    return type(node)(items, ast.Load())


def _vary_pairs(node: ast.Dict, strings: Sequence[str], random: Random) -> ast.expr:
    pairs = list(zip(node.keys, node.values, strict=True))
    if pairs and random.random() < 0.5:
        pairs.pop(random.randrange(len(pairs)))
    else:
        pairs.append((ast.Constant(random.choice(("a", "b", "key", *strings))), ast.Constant(random.randrange(3))))
    return ast.Dict([key for key, _ in pairs], [value for _, value in pairs])
