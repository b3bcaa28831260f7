"""Test reading command lines."""

from __future__ import annotations

import pytest

from swecli.tools.commands.syntax import read_command


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls -la", ["ls", "-la"]),
        ("grep -rn 'a b' --include=\"*.py\" x\"y\"'z'", ["grep", "-rn", "a b", "--include=*.py", "xyz"]),
        ("find . \\( -name \\*.py \\)", ["find", ".", "(", "-name", "*.py", ")"]),
        ("git show HEAD~3 HEAD^ HEAD@{1} stash@{0}", ["git", "show", "HEAD~3", "HEAD^", "HEAD@{1}", "stash@{0}"]),
        ('grep "a$" x', ["grep", "a$", "x"]),
        ('echo "a\\"b\\.c" ""', ["echo", 'a"b\\.c', ""]),
        ("ls 2>/dev/null >&2 </dev/null", ["ls"]),
        ("head -n 5 -20", ["head", "-n", "5", "-20"]),
        ("echo a#b !x", ["echo", "a#b", "!x"]),
        ("ls \\\n -la # all", ["ls", "-la"]),
        ("git commit -m 'a\n\nb'", ["git", "commit", "-m", "a\n\nb"]),
        ("git commit -F - <<'E'\n$x\nE", ["git", "commit", "-F", "-"]),
        ("$'rm' x", ["rm", "x"]),
    ],
)  # fmt: skip
def test_words_are_read_as_the_program_gets_them(command: str, words: list[str]) -> None:
    line = read_command(command)
    (simple,) = line.commands
    assert [word.text for word in simple.words] == words
    assert all(word.is_known for word in simple.words)
    assert line.problem == ""


def test_operators_and_lines_separate_simple_commands() -> None:
    commands = read_command("a 'x' | b && c || d ; e\nf").commands
    assert [(command.operator, command.raw) for command in commands] == [
        ("", "a 'x'"), ("|", "b"), ("&&", "c"), ("||", "d"), (";", "e"), (";", "f"),
    ]  # fmt: skip


def test_input_and_files_of_a_line_are_read() -> None:
    line = read_command("cat < in > out 2>err <<'E'\nbody $x\nE")
    assert (line.commands[0].input, line.outputs, line.inputs) == (
        "body $x\n",
        ("out", "err"),
        ("in",),
    )


@pytest.mark.parametrize(
    ("word", "is_glob"),
    [("*.py", True), ("a?", True), ("[ab]", True), ("'*'", False), ("\\*", False)],
)
def test_quoted_wildcards_are_not_wildcards(word: str, is_glob: bool) -> None:
    assert read_command(f"ls {word}").commands[0].words[1].has_wildcard is is_glob


@pytest.mark.parametrize(
    "word",
    ["$x", '"$x"', '"a ${x} b"', "~", "a=~/x", "{a,b}", "{1..3}", "$(x)", "<(x)", "$'\\x41'"],
)
def test_a_word_that_the_shell_replaces_is_not_known(word: str) -> None:
    assert not read_command(f"ls {word}").commands[-1].words[1].is_known


@pytest.mark.parametrize(
    "text", ["$(rm x)", "`rm x`", '"a$(rm x)b"', "<(rm x)", "a$(echo $(rm x))", "<<E\n$(rm x)\nE"]
)
def test_the_commands_in_substitutions_are_read(text: str) -> None:
    assert "rm x" in [command.raw for command in read_command(f"ls {text}").commands]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("ls &", "contains &"), ("a=1 ls", "contains a=1"), ("a=1", "contains a=1"), ("(ls)", "contains (ls)"),
        ("{ ls; }", "contains { ls; }"), ("! ls", "contains ! ls"), ("if a; then b; fi", "contains if a"),
        ("for a in b; do c; done", "contains for a"), ("f() { ls; }", "contains f() "),
        ("ls ${x@P}", "contains ${x@P}"),
        ("ls > $x", "contains > $x"), ("$x", "plain word"), ("ls 'x", "parsed"), ("ls &&", "parsed"), ("", "empty"),
        ("# x", "empty"), ("ls\rx", "invisible"),
    ],
)  # fmt: skip
def test_what_may_be_missing_has_a_reason(command: str, why: str) -> None:
    assert why in read_command(command).problem


@pytest.mark.parametrize("command", ["a;" * 50_000, "$((" * 30_000, "'" * 99_999, "{" * 100_000])
def test_a_command_that_is_too_long_is_not_read(command: str) -> None:
    assert "more than 10,000" in read_command(command).problem


@pytest.mark.parametrize("text", ["{\U0010ffff a", "echo {1\U0010ffff}", "echo {1..\U0010ffff}"])
def test_a_character_that_ends_the_process_in_the_parser_is_not_read(text: str) -> None:
    assert read_command(text).problem
