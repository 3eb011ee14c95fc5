"""The filter of system calls, run here as the kernel runs it: what is refused, on machines that this one is not."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rolecall_server.sandbox.walls.system_calls import MACHINES, calls_to_try, filter_for

ALLOWED, KILLED, FAILED = 0x7FFF0000, 0x80000000, 0x00050000
OF_X32 = 0x40000000
NAMESPACES = {
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "mount": 0x00020000,
}
FAMILIES = {"unix": 1, "inet": 2, "inet6": 10, "netlink": 16}
REFUSED = {
    **dict.fromkeys(("setns", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "syslog"), errno.EPERM),
    **dict.fromkeys(("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd"), errno.ENOSYS),
    **dict.fromkeys(("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"), errno.ENOSYS),
}
WORDS = st.integers(min_value=0, max_value=2**32 - 1)
machines = pytest.mark.parametrize("machine", MACHINES)


def verdict(program: bytes, number: int, architecture: int, argument: int = 0) -> int:
    """Return what the kernel would do. Source: Documentation/networking/filter.rst, the classic machine."""
    facts = struct.pack("<IIQQ", number, architecture, 0, argument)
    lines, place, held = list(struct.iter_unpack("<HBBI", program)), 0, 0
    while True:
        code, if_true, if_false, constant = lines[place]
        place += 1
        match code:
            case 0x06:
                return constant
            case 0x20:
                (held,) = struct.unpack_from("<I", facts, constant)
            case _:
                holds = {0x15: held == constant, 0x35: held >= constant, 0x45: bool(held & constant)}[code]
                place += if_true if holds else if_false


@machines
@pytest.mark.parametrize("name", REFUSED)
@given(argument=WORDS)
def test_what_tests_do_not_need_fails_whatever_its_arguments(machine: str, name: str, argument: int) -> None:
    known = MACHINES[machine]
    assert verdict(filter_for(machine), known.numbers[name], known.audit, argument) == FAILED | REFUSED[name]


@machines
@given(family=WORDS)
@example(40)
@example(38)
def test_sockets_are_made_of_four_families_alone(machine: str, family: int) -> None:
    known = MACHINES[machine]
    for name in ("socket", "socketpair"):
        said = verdict(filter_for(machine), known.numbers[name], known.audit, family)
        assert said == (ALLOWED if family in FAMILIES.values() else FAILED | errno.EPERM)


@machines
@pytest.mark.parametrize("kind", NAMESPACES)
@given(others=WORDS)
def test_no_flag_for_a_namespace_passes_with_whatever_others(machine: str, kind: str, others: int) -> None:
    known = MACHINES[machine]
    for name in ("clone", "unshare"):
        said = verdict(filter_for(machine), known.numbers[name], known.audit, others | NAMESPACES[kind])
        assert said == FAILED | errno.EPERM


@machines
def test_processes_and_threads_are_started_as_ever(machine: str) -> None:
    known = MACHINES[machine]
    fork, thread = 17, 0x3D0F00
    for flags in (fork, thread, 0x4000 | 0x100 | fork):
        assert verdict(filter_for(machine), known.numbers["clone"], known.audit, flags) == ALLOWED
    assert verdict(filter_for(machine), known.numbers["unshare"], known.audit, 0x400) == ALLOWED


@machines
@given(number=st.integers(min_value=0, max_value=OF_X32 - 1), argument=WORDS)
def test_every_other_call_passes(machine: str, number: int, argument: int) -> None:
    known = MACHINES[machine]
    if number not in known.numbers.values():
        assert verdict(filter_for(machine), number, known.audit, argument) == ALLOWED


@machines
@given(number=WORDS, architecture=WORDS)
@example(20, 0x40000003)
def test_a_program_for_another_processor_is_ended(machine: str, number: int, architecture: int) -> None:
    if architecture != MACHINES[machine].audit:
        assert verdict(filter_for(machine), number, architecture) == KILLED


@given(number=st.integers(min_value=OF_X32, max_value=2**32 - 1))
@example(OF_X32 | 41)
@example(OF_X32 | 521)
def test_the_second_numbers_of_x86_64_are_no_way_around(number: int) -> None:
    assert verdict(filter_for("x86_64"), number, MACHINES["x86_64"].audit) == FAILED | errno.ENOSYS


@machines
def test_a_call_is_tried_for_each_rule_and_the_filter_refuses_it_as_is_said(machine: str) -> None:
    known = MACHINES[machine]
    tried = calls_to_try(machine)
    assert {name for name, *_ in tried} > REFUSED.keys()
    assert len({number for _, number, *_ in tried}) == len(known.numbers) - 1, "only socketpair is left out"
    for _, number, arguments, error in tried:
        assert verdict(filter_for(machine), number, known.audit, arguments[0] % 2**64) == FAILED | error


def test_a_machine_whose_calls_are_not_known_gets_no_filter() -> None:
    assert filter_for("pdp11") == b""
    assert calls_to_try("pdp11") == []
