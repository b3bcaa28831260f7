"""Test the list of system calls that the sandbox denies."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from swecli.tools import confine
from swecli.tools.confine import system_call_filter

HEADERS = {
    "x86_64": (0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": (1, "/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_of_calls_are_those_of_the_kernels_headers(machine: str) -> None:
    column, header = HEADERS[machine]
    if not Path(header).exists():
        pytest.skip(f"{header} is not installed")
    found = re.findall(r"__NR(?:3264)?_(\w+) (\d+)", Path(header).read_text())
    numbers = {name: int(number) for name, number in found}
    denied = confine._DENIED | confine._MISSING
    wrong = {
        name: calls[column]
        for name, calls in denied.items()
        if name in numbers and numbers[name] != calls[column]
    }
    assert wrong == {}
    assert len(denied.keys() & numbers.keys()) > 40


@pytest.mark.parametrize("machine", HEADERS)
def test_each_jump_of_the_program_stays_inside_it(machine: str) -> None:
    operations = list(struct.iter_unpack("=HBBI", system_call_filter(machine)))
    for index, (code, if_true, if_false, _) in enumerate(operations):
        if code in (confine._JUMP_IF_EQUAL, confine._JUMP_IF_ANY_BIT):
            assert index + 1 + max(if_true, if_false) < len(operations)
    assert operations[-1] == (confine._RETURN, 0, 0, confine._ALLOW)


def test_for_an_unknown_processor_there_is_no_program() -> None:
    assert system_call_filter("riscv64") == b""
