"""Shell commands against rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.commands import allows, escaped, exactly, touches


@pytest.mark.parametrize("command", ["git status", "git status --short", "git status -- 'a b'"])
def test_a_pattern_allows_plain_commands(command: str) -> None:
    assert allows("git status*", command)


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf x",
        "git status && rm x",
        "git status || rm x",
        "git status | sh",
        "git status & rm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status > x",
        "git status < x",
        "git status\nrm x",
        "git status\rrm x",
        "git status ${x@P}",
        "git status <(rm x)",
        "git status \u202e",
        "git status\xa0x",
        "git log",
        " git status",
    ],
)
def test_a_pattern_never_allows_more_than_one_plain_command(command: str) -> None:
    assert not allows("git status*", command)
    assert not allows("git status *", command)


def test_word_for_word_allows_anything() -> None:
    for command in ("a | b > c", "echo $(date)", "ls *.py && x [1]"):
        assert allows(command, command)
        assert allows(escaped(command), command)


def test_a_blank_and_star_cover_the_bare_command() -> None:
    assert allows("pytest *", "pytest")
    assert touches("rm *", "rm")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "cd a && rm -rf x",
        "cd a;rm x",
        "echo $(rm x)",
        'echo "$(date; rm x)"; ls',
        "echo `rm x`",
        "(rm x)",
        "{ rm x; }",
        "FOO=1 rm x",
        "/bin/rm x",
        "sudo -u me rm x",
        "env A=b rm x",
        "xargs -0 rm x",
        "find . -name x -exec rm {} +",
        "bash -c 'cd y; rm x'",
        "sh -c \"bash -c 'rm x'\"",
        "'rm' x",
        "r\\m x",
        "rm    x",
        "if true; then rm x; fi",
        "true\nrm x",
        "a | rm x",
        "a & rm x",
        "timeout 5 rm x",
        "! rm x",
        "rm \\\n x",
        "echo 'unclosed; rm x",
    ],
)
def test_a_deny_pattern_finds_its_command_wherever_it_stands(command: str) -> None:
    assert touches("rm *", command)


@pytest.mark.parametrize(
    "command", ["git rm x", "echo rm x", "git commit -m 'fix; rm x'", 'grep "a|rm x" f', "format x", "ls"]
)
def test_a_deny_pattern_leaves_other_commands_alone(command: str) -> None:
    assert not touches("rm *", command)


COMMANDS = st.text(alphabet=st.sampled_from("ab *?[]'\"\\;&|<>$()`\n!-."), min_size=1, max_size=20)


@given(COMMANDS, COMMANDS)
def test_an_escaped_command_covers_itself_alone(command: str, other: str) -> None:
    assert exactly(escaped(command), command)
    assert allows(escaped(command), command)
    assert touches(escaped(command), command)
    if other != command:
        assert not exactly(escaped(command), other)
        assert not allows(escaped(command), other)


@given(COMMANDS, st.sampled_from([";", "&&", "||", "|", "&", "\n", "$(", "`", ">", "<"]), COMMANDS)
def test_no_wildcard_reaches_over_a_joint(head: str, joint: str, tail: str) -> None:
    command = f"ok {head}{joint}{tail}"
    for pattern in ("ok*", "ok *", "*", "*ok*"):
        assert not allows(pattern, command)


@given(COMMANDS, st.sampled_from([";", "&&", "||", "|", "\n"]))
def test_what_is_denied_alone_is_denied_in_company(words: str, joint: str) -> None:
    assert touches("evil *", f"ls{joint} evil {words}") or not touches("evil *", f"evil {words}")


@given(st.text(max_size=60))
def test_any_text_can_be_judged(command: str) -> None:
    touches("rm *", command)
    allows("rm *", command)
