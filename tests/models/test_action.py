"""Test how a slash line is read by what an action declares."""

from __future__ import annotations

import pytest

from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need, Words
from swecli.models.errors import UsageError


@Action(
    Need.SESSION,
    Words("P-7 [TEXT]"),
    (Flag("--when", "words that bring it up", "WORDS"), Flag("--pin", "in every prompt")),
)
def edit(subject: object, asked: Invocation) -> ActionResult:
    """Change a strategy.

    More about it.
    """
    return ActionResult([subject, asked.text, {flag: asked.value(flag) for flag in asked.flags}])


@Action(Need.SESSION)
async def list_(subject: object, asked: Invocation) -> ActionResult:
    """List all of them"""
    return ActionResult(asked.name)


scan = Action(
    Need.AGENT,
    Words("[PATH ...]", is_quoted=True),
    (
        Flag("--skip", "leave these out", "PATTERN", is_repeated=True),
        Flag("--level", "how much", choices=("low", "high")),
        Flag("--yes", "do not ask", in_session=False),
    ),
    name="scan",
)
find = Action(Need.SESSION, Words("TEXT", is_text=True), in_shell=False, name="find")
mark = Action(Need.SESSION, is_command=True, name="mark")
export = Action(Need.SESSION, in_session=False, name="export")
notes = Family("notes", "Show notes", (list_, edit, find, mark, export), default="list")


def test_name_and_help_come_from_the_function() -> None:
    assert (edit.name, edit.help, edit.about) == ("edit", "Change a strategy", "change a strategy")
    assert edit.usage == "P-7 [TEXT] [--when WORDS] [--pin]"
    assert edit.words.metavar == "P-7 TEXT"
    assert list_.name == "list"


@pytest.mark.parametrize(
    ("line", "text", "flags"),
    [
        ("P-1  run tox", "P-1 run tox", {}),
        ("P-1 --pin run tox", "P-1 run tox", {"--pin": ""}),
        ("P-1 --when before a commit --pin", "P-1", {"--when": "before a commit", "--pin": ""}),
        ('P-1 --when "a commit"', "P-1", {"--when": "a commit"}),
        ("P-1 --when", "P-1", {"--when": ""}),
        ("P-1 --when a commit --verbose too", "P-1 --verbose too", {"--when": "a commit"}),
    ],
)
async def test_flags_are_taken_out_of_a_line_with_the_words_behind_them(
    line: str, text: str, flags: dict[str, str]
) -> None:
    result = await edit.perform("subject", edit.read(line))
    assert result.value == ["subject", text, flags]


def test_the_rest_of_a_line_that_is_a_text_is_left_as_it_is() -> None:
    assert find.read("two  spaces --pin").text == "two  spaces --pin"
    assert find.read("").words == ()


def test_words_are_refused_by_an_action_that_takes_none() -> None:
    with pytest.raises(UsageError, match="Unexpected argument 'more'"):
        list_.read("more of them")


@pytest.mark.parametrize(
    ("line", "action", "rest", "name"),
    [
        ("", list_, "", ""),
        ("--pin", list_, "--pin", ""),
        ("List", list_, "", "list"),
        ("edit  P-1 x", edit, "P-1 x", "edit"),
    ],
)
async def test_a_line_names_an_action_or_is_for_the_default_one(
    line: str, action: Action, rest: str, name: str
) -> None:
    assert notes.read(line) == (action, rest, name)
    assert (await list_.perform(None, list_.read("", name))).value == name


@pytest.mark.parametrize(
    ("line", "action", "rest"),
    [
        ("edit P-1", edit, "P-1"),
        ("tests of yesterday", find, "tests of yesterday"),
        ("", find, ""),
        ("--all", find, "--all"),
    ],
)
def test_a_first_word_that_names_no_action_may_be_one_of_the_default(
    line: str, action: Action, rest: str
) -> None:
    finding = Family("notes", "Show notes", (edit, find), "find", default_takes_words=True)
    assert finding.read(line)[:2] == (action, rest)


@pytest.mark.parametrize(
    ("line", "hint"),
    [("dance", "Choose: list, edit, find"), ("mark", "Use /mark"), ("export", "Choose: list")],
)
def test_what_a_session_does_not_have_there_is_refused_with_what_it_has(
    line: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=f"Unknown notes action '{line}'") as caught:
        notes.read(line)
    assert caught.value.hint.startswith(hint)


def test_quotes_join_words_and_a_flag_may_be_repeated() -> None:
    asked = scan.read("'my notes' src --skip '*.lock' --level low --skip 'a b'")
    assert asked.words == ("my notes", "src")
    assert asked.flags == {"--skip": ("*.lock", "a b"), "--level": ("low",)}
    with pytest.raises(UsageError, match="Cannot parse the arguments of scan: No closing"):
        scan.read("'my notes")


def test_a_value_that_is_not_offered_is_refused() -> None:
    with pytest.raises(UsageError, match="--level: unknown value 'odd'") as refused:
        scan.read("--level odd")
    assert refused.value.hint == "Choose: low, high."


def test_a_flag_of_a_shell_alone_is_a_word_in_a_session() -> None:
    assert scan.read("--yes").words == ("--yes",)
    assert scan.usage == "[PATH ...] [--skip PATTERN] [--level low|high]"
