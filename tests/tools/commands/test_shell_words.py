"""Test splitting commands into words."""

from __future__ import annotations

import pytest

from swecli.tools.base import ToolError
from swecli.tools.commands.shell_words import parse_command


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls -la", ["ls", "-la"]),
        (
            "grep -rn 'a b' --include=\"*.py\" x\"y\"'z'",
            ["grep", "-rn", "a b", "--include=*.py", "xyz"],
        ),
        ("find . \\( -name \\*.py \\)", ["find", ".", "(", "-name", "*.py", ")"]),
        (
            "git show HEAD~3 HEAD^ HEAD@{1} stash@{0}",
            ["git", "show", "HEAD~3", "HEAD^", "HEAD@{1}", "stash@{0}"],
        ),
        ('grep "a$" x', ["grep", "a$", "x"]),
        ('echo "a\\"b\\.c" ""', ["echo", 'a"b\\.c', ""]),
        ("ls 2>/dev/null >&2 </dev/null", ["ls"]),
        ("head -n 5 -20", ["head", "-n", "5", "-20"]),
        ("echo a#b !x", ["echo", "a#b", "!x"]),
    ],
)
def test_words_are_parsed_as_the_program_gets_them(command: str, words: list[str]) -> None:
    (part,) = parse_command(command)
    assert [word.text for word in part.words] == words


def test_operators_separate_simple_commands() -> None:
    assert [(part.operator, part.raw) for part in parse_command("a 'x' | b && c || d ; e")] == [
        ("", "a 'x'"), ("|", "b"), ("&&", "c"), ("||", "d"), (";", "e"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "glob"), [("*.py", True), ("a?", True), ("[ab]", True), ("'*'", False), ("\\*", False)]
)
def test_quoted_wildcards_are_not_wildcards(word: str, glob: bool) -> None:
    assert parse_command(f"ls {word}")[0].words[1].has_wildcard is glob


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("ls &", "background"), ("ls |& cat", "|&"), ("a=1 ls", "sets a variable"), ("a=1", "sets a variable"),
        ("ls $x", "uses a variable"), ('ls "$x"', "uses a variable"), ("ls $(x)", "a command inside"),
        ("ls `x`", "command inside"),
        ("cat <(x)", "command inside"), ("ls {a,b}", "expands"), ("ls {1..3}", "expands"), ("ls {a,'b'}", "expands"),
        ("ls ~", "home"), ("ls a=~/x", "home"), ("ls $'a'", "$'"), ("(ls)", "group"), ("{ ls; }", "group"),
        ("ls > x", "file"),
        ("ls >> /dev/null/x", "file"), ("cat < x", "file"), ("cat <<< x", "here-document"), ("ls # x", "comment"),
        ("'ls'", "plain word"), ("l\\s", "not clear"), ("! ls", "negation"),
        ("if a; then b; fi", "condition"), ("for a in b; do c; done", "loop"),
        ("ls 'x", "parsed"), ("ls &&", "parsed"),
        ("f() { ls; }", "function"),
        ("", "empty"), ("# x", "comment"), ("a=b", "variable"), ("ls\tx", "invisible"),
    ],
)  # fmt: skip
def test_a_command_that_cannot_be_parsed_is_refused_with_the_reason(command: str, why: str) -> None:
    with pytest.raises(ToolError, match=why.replace("|", "[|]").replace("$", "[$]")):
        parse_command(command)


@pytest.mark.parametrize("command", ["a;" * 50_000, "$((" * 30_000, "'" * 99_999, "{" * 100_000])
def test_a_command_that_is_too_long_is_not_parsed(command: str) -> None:
    with pytest.raises(ToolError, match="more than 10,000"):
        parse_command(command)
