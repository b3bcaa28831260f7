"""Test the names of remote tools: such that every provider accepts, each of one tool only."""

from __future__ import annotations

import re

from swecli.tools.mcp.names import describe_renamed, name_tools


def test_a_plain_name_has_server_and_tool() -> None:
    assert name_tools("time", ["now"]) == {"now": "mcp__time__now"}


def test_odd_names_are_cleaned_cut_and_unique() -> None:
    odd = ["a tool", "a_tool", "x" * 200, "x" * 201, "schöne Töne", "a\u202etool"]
    named = name_tools("server", odd)
    assert set(named) == set(odd)
    assert len(set(named.values())) == len(odd)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in named.values())


def test_names_do_not_depend_on_the_order_of_a_list() -> None:
    assert name_tools("s", ["a b", "a_b"]) == name_tools("s", ["a_b", "a b"])


def test_each_other_name_is_told() -> None:
    named = name_tools("s", ["a b", "a_b", "c"])
    lines = describe_renamed("s", named)
    assert lines[0] == "'a b' is called mcp__s__a_b"
    assert lines[1].startswith("'a_b' is called mcp__s__a_b_")
    assert len(lines) == 2
