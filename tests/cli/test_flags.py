"""Test how flags are parsed, and the errors for invalid combinations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.cli.flags import SUBCOMMANDS, Parser, parse_run, summary
from swecli.models.errors import UsageError
from tests.support.shell import Run


def test_no_arguments_start_a_new_interactive_session() -> None:
    args = parse_run([])
    assert (args.prompt, args.continue_last, args.resume, args.headless, args.model) == (
        "",
        False,
        None,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("argv", "name", "value"),
    [
        (["fix it"], "prompt", "fix it"),
        (["-p", "fix it"], "prompt", "fix it"),
        (["fix it", "-p"], "headless", True),
        (["--print", "--", "-x is a flag"], "prompt", "-x is a flag"),
        (["-c"], "continue_last", True),
        (["-r"], "resume", ""),
        (["--resume", "abc"], "resume", "abc"),
        (["-m", "a/b"], "model", "a/b"),
        (["--window", "5+3"], "window", "5+3"),
        (["-p", "--output-format", "json"], "output_format", "json"),
        (["-p", "--input-format=stream-json"], "input_format", "stream-json"),
        (["-C", "x"], "cwd", "x"),
        (["--no-color"], "color", False),
    ],
)
def test_each_flag_sets_its_value(argv: list[str], name: str, value: object) -> None:
    assert getattr(parse_run(argv), name) == value


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--frob"], r"Unknown option --frob\.  See `swecli --help`"),
        (["--modle=x"], r"Unknown option --modle\.  Did you mean --mode or --model\?"),
        (["--mod", "x"], r"Unknown option --mod\.  Did you mean --mode"),
        (["--yolo"], r"Unknown option --yolo\.  Did you mean --mode auto\?"),
        (["--dangerously-skip-permissions"], r"Did you mean --mode auto\?"),
        (["--allowedTools=Bash"], r"Did you mean `swecli config set allow RULE`\?"),
        (
            ["fix", "it", "now"],
            r'Unexpected arguments: it now\.  Put the prompt in quotes: "fix it now"',
        ),
        (
            ["session", "list"],
            r"Unknown subcommand 'session'\.  Did you mean `swecli sessions list`\? Put the prompt",
        ),
        (
            ["--db", "x", "sessions"],
            r"Put the subcommand first\.  For example: swecli sessions --help",
        ),
        (
            ["--db", "x", "sessions", "list"],
            r"Put the subcommand first\.  For example: swecli sessions list",
        ),
        (["-m"], r"-m/--model: expected one argument\."),
        (
            ["-p", "x", "--output-format", "xml"],
            r"--output-format: unknown value 'xml'\.  Choose: .*stream-json",
        ),
        (["-c", "-r", "x"], r"-c and -r cannot be used together"),
        (["-p", "-r"], r"-r needs a session id or name with -p"),
        (["--output-format", "json", "x"], r"--output-format needs -p\.  Add -p"),
        (["-p", "x", "-m", ""], r"--model has no value"),
        (["-p", "x", "--db="], r"--db has no value"),
        (["-C", ""], r"--cwd has no value"),
    ],
)
def test_an_invalid_flag_is_a_usage_error_with_a_hint(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_run(argv)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_help_names_every_subcommand_and_exit_code() -> None:
    text = Parser.for_run().format_help()
    assert all(f"swecli {name} " in text for name in SUBCOMMANDS)
    assert all(f" {code} " in text for code in (0, 1, 2, 42, 53, 75, 130, 143))


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_the_actions_that_help_names_are_there(
    name: str, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    lists = re.findall(r"(?:^|; )([a-z]+(?:, [a-z]+)+)(?=: |$)", summary(name))
    for action in ", ".join(lists).split(", ") if lists else []:
        with pytest.raises(SystemExit):
            run(name, action, "--help")
        assert f"usage: swecli {name} {action} " in capfd.readouterr().out


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        (["-p", "x", "--output-format", "json"], "json"),
        (["-p", "x", "--output-format=stream-json", "--frob"], "stream-json"),
        (["--output-format", "text", "-p"], "text"),
        (["--output-format", "text", "--output-format", "json"], "json"),
        (["-p", "--", "--output-format", "json"], "text"),
        (["--output-format"], "text"),
        (["--output-format", "xml"], "text"),
        (["sessions", "list", "--output-format", "json"], "text"),
        ([], "text"),
    ],
)
def test_the_output_format_is_found_even_in_invalid_flags(argv: list[str], asked: str) -> None:
    assert Parser.requested_format(argv) == asked


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("resume", "Did you mean `swecli --resume`"),
        ("reviwe", "Did you mean `swecli review`"),
        ("Session", "Did you mean `swecli sessions`"),
        ("help", "Did you mean `swecli --help`"),
        ("update", "Did you mean `swecli --check-update`"),
        ("xyzzy", "See `swecli --help`, or /help in a session"),
        ("src/main.py", "See `swecli --help`"),
        ("export", "Did you mean /export in a session or `swecli sessions export` or"),
        ("undo", "Did you mean /undo in a session or `swecli playbook undo` or"),
    ],
)
def test_a_single_word_is_refused_as_an_unknown_subcommand(word: str, meant: str) -> None:
    for argv in ([word], ["-c", word], [word, "-m", "demo"]):
        with pytest.raises(UsageError, match=r"Unknown subcommand") as caught:
            parse_run(argv)
        assert caught.value.hint.startswith(meant)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("argv", "prompt"),
    [
        (["fix the tests"], "fix the tests"),
        (["resume "], "resume "),
        (["--", "resume"], "resume"),
        (["-m", "demo", "--", "resume"], "resume"),
        (["-p", "resume"], "resume"),
        (["/help"], "/help"),
        (["!ls"], "!ls"),
        (["修复测试"], "修复测试"),
        ([""], ""),
    ],
)
def test_a_prompt_is_parsed_unchanged(argv: list[str], prompt: str) -> None:
    assert parse_run(argv).prompt == prompt


@given(st.text(max_size=30).filter(lambda word: not word.startswith("-")))
@pytest.mark.slow
def test_any_word_is_a_prompt_or_refused_in_one_line(word: str) -> None:
    assert parse_run(["--", word]).prompt == word
    try:
        parse_run([word])
    except UsageError as refused:
        complaint = str(refused)
    else:
        complaint = ""
    assert "\n" not in complaint
    assert not complaint or word.isascii()


def test_the_help_of_an_unknown_subcommand_is_an_error_and_not_the_general_help() -> None:
    with pytest.raises(UsageError, match=r"Unknown subcommand 'nosuch'"):
        parse_run(["nosuch", "--help"])
    with pytest.raises(UsageError, match=r"Did you mean `swecli review`"):
        parse_run(["reviwe", "-h"])
