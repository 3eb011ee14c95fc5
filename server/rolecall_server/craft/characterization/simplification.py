"""Chosen calls in a simpler form that shows the same: without needless steps and mocks, without odd texts."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rolecall_server.craft.characterization.call_trials import TrialState, confirmed, observe_new, usable
from rolecall_server.craft.characterization.execution import Verdicts, kill
from rolecall_server.craft.characterization.observation import IN_REPOSITORY, Arc, CandidateCall, Observation
from rolecall_server.python_trees import parse_expression
from rolecall_server.sandbox import Mutant

_ATTEMPTS = 3
"""So many forms of a call are tried on the mutants that it tells."""
_LEAST_S = 5.0
_PLAIN_TEXTS = ("'abc'", "'a b'", "'1'")
_LONGEST_PLAIN = 12
_SIGNS_OF_A_MESSAGE = re.compile(r"[%{}\\]|\w \w+ \w")


@dataclass
class Simplified:
    """The calls that take the place of others, and what each does."""

    forms: dict[CandidateCall, CandidateCall]
    observations: Mapping[CandidateCall, Observation]


async def simplified(
    work: TrialState,
    chosen: Collection[CandidateCall],
    pool: Mapping[CandidateCall, Observation],
    killed: Mapping[Mutant, CandidateCall | None],
) -> Simplified:
    """Return simpler forms of the *chosen* calls that end in the same way and tell all mutants that these tell."""
    forms = {call: list(_forms(call)) for call in chosen}
    await observe_new(work, [form for each in forms.values() for form in each])
    alike = {
        form: work.seen[form]
        for call, each in forms.items()
        for form in each
        if form in work.seen and usable(work, form, work.seen[form]) and _ends_alike(call, form, pool[call], work)
    }
    steady = await confirmed(work, alike) if alike else {}
    told: dict[CandidateCall, list[Mutant]] = {}
    for mutant, call in killed.items():
        if call is not None:
            told.setdefault(call, []).append(mutant)
    fitting = {call: [one for one in each if one in steady] for call, each in forms.items()}
    found: dict[CandidateCall, CandidateCall] = {}
    arcs = Counter(arc for call in chosen for arc in pool[call].arcs)
    for attempt in range(_ATTEMPTS):
        tried = {call: each[attempt] for call, each in fitting.items() if call not in found and attempt < len(each)}
        telling = await _telling(work, tried, steady, told)
        for call in telling:
            if _keeps_every_way(arcs, pool[call], steady[tried[call]]):
                found[call] = tried[call]
    return Simplified(found, steady)


def _forms(call: CandidateCall) -> Iterator[CandidateCall]:
    """Yield simpler forms of *call*, the best first."""
    for place, source in enumerate(call.operands):
        plainer = [*_with_fewer_steps(source), *(_PLAIN_TEXTS if _is_odd(call, source) else ())]
        for other in plainer:
            yield replace(call, operands=(*call.operands[:place], other, *call.operands[place + 1 :]))
    places = [place for place, _ in call.patched]
    if places and all("Mock(" in call.operands[one] and f"{{{one}}}" not in call.template for one in places):
        kept = range(min(places))  # what is patched comes last
        yield replace(call, operands=call.operands[: len(kept)], names=call.names[: len(kept)], patched=())


def _with_fewer_steps(source: str) -> Iterator[str]:
    """Yield ``[(name := made), step, name][-1]`` without one or all of its steps."""
    match parse_expression(source) if source.startswith("[(") else None:
        case ast.Subscript(value=ast.List(elts=[ast.NamedExpr(value=made) as named, *steps, ast.Name()])):
            yield ast.unparse(made)
            for left_out in range(len(steps) if len(steps) > 1 else 0):
                kept = [ast.unparse(step) for number, step in enumerate(steps) if number != left_out]
                yield f"[({ast.unparse(named)}), {', '.join(kept)}, {named.target.id}][-1]"
        case _:
            return


def _is_odd(call: CandidateCall, source: str) -> bool:
    """Return whether nobody passed *source* here, and it is a text that looks like a message or a template."""
    node = parse_expression(source) if call.origin > IN_REPOSITORY and source[:1] in "'\"" else None
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return len(node.value) > _LONGEST_PLAIN or _SIGNS_OF_A_MESSAGE.search(node.value) is not None


def _ends_alike(call: CandidateCall, form: CandidateCall, seen: Observation, work: TrialState) -> bool:
    """Return whether *form* does what *call* does; where an argument differs, it may give another value of its kind."""
    other = work.seen[form]
    if call.operands[1:] == form.operands[1:] or call.patched != form.patched:
        return other.outcome == seen.outcome
    return (other.kind, other.type_name, bool(other.effects)) == (seen.kind, seen.type_name, bool(seen.effects))


async def _telling(
    work: TrialState,
    tried: Mapping[CandidateCall, CandidateCall],
    seen: Mapping[CandidateCall, Observation],
    told: Mapping[CandidateCall, Sequence[Mutant]],
) -> list[CandidateCall]:
    """Return the calls whose form that is *tried* tells each of their mutants, too."""
    trials = [(mutant, (form,)) for call, form in tried.items() for mutant in told.get(call, ())]
    if not trials:
        return list(tried)
    verdicts = await kill(replace(work.stage, timeout_s=max(_LEAST_S, work.left_s)), seen, trials)
    if not isinstance(verdicts, Verdicts):
        return []
    return [call for call in tried if all(mutant in verdicts.killed for mutant in told.get(call, ()))]


def _keeps_every_way(arcs: Counter[Arc], seen: Observation, other: Observation) -> bool:
    """Return whether all ways are still taken once *other* stands for *seen*; count them in *arcs* if so."""
    after = arcs - Counter(seen.arcs) + Counter(other.arcs)
    if any(arc not in after for arc in seen.arcs):
        return False
    arcs.clear()
    arcs.update(after)
    return True
