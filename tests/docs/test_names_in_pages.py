"""Test that the commands, flags, scripts and code named in the pages exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from swecli.cli.flags import SUBCOMMANDS, Parser
from swecli.repl.commands.registry import CommandTable

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/how-to").glob("*.md")),
    *sorted((ROOT / "docs/tutorial").glob("*.md")),
]
TABLE = CommandTable.discover()
OWN_COMMAND = "fix"  # of the reader's project


def named_in(page: Path) -> list[str]:
    """Return the texts in backticks, and the commands of shell blocks."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [
        *re.findall(r"`([^`\n]+)`", prose),
        *re.findall(r"^\$ (swecli .*)", text, flags=re.MULTILINE),
    ]


def parser_of(words: list[str]) -> Parser:
    """Return the parser of the flags of `swecli WORDS`."""
    if not words or words[0] not in SUBCOMMANDS:
        return Parser.for_run()
    parser = Parser.for_subcommand(words[0])
    action = words[1] if len(words) > 1 else parser.get_default("default_action")
    for argument in parser._actions:
        if isinstance(argument.choices, dict):
            of_action = argument.choices.get(action, parser)
            assert isinstance(of_action, Parser)
            return of_action
    return parser


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_flags_and_scripts_named_on_a_page_exist(page: Path) -> None:
    missing: list[str] = []
    for text in named_in(page):
        slash = re.match(r"/([a-z]+)(?=$|[ |])", text)
        if slash and slash[1] != OWN_COMMAND and not TABLE.find(slash[1]):
            missing.append(text)
        if text.startswith("swecli "):
            words = re.sub(r"[\"'].*", "", text).removeprefix("swecli ").split()
            flags = [word for word in words if re.fullmatch(r"--[a-z][a-z-]+", word)]
            options = parser_of(words)._option_string_actions
            missing += [f"{text}: {flag}" for flag in flags if flag not in options]
        script = re.match(r"(?:\./|~/src/swecli/)?((?:scripts|lab)/[a-z_/-]+)", text)
        if script and not (ROOT / script[1]).exists():
            missing.append(text)
    assert missing == []


def test_each_listed_feature_has_a_page_and_a_test_or_is_marked_as_missing_or_half() -> None:
    text = (ROOT / "docs/explanation/compared.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| ").split(" | ")
        for line in text.splitlines()
        if re.match(r"\| (?!feature|---)", line)
    ]
    has = [row for row in rows if row[1] != "–"]
    assert all("](../" in page and "](../../tests/" in test for _, page, test in has)
    half = [row for row in has if row[1].startswith("half: ")]
    whole = len(has) - len(half)
    assert (
        f"{len(rows)} features that users of coding assistants ask for; swecli has {whole} of them, and half of "
        f"{len(half)} more" in text
    )


def test_the_glossary_names_each_term_once() -> None:
    rows = re.findall(
        r"^\| (.+?) \|",
        (ROOT / "docs/explanation/glossary.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    terms = [term for term in rows if term not in ("word", "---")]
    assert len(terms) == len(set(terms))


def test_code_shown_as_an_example_is_still_in_its_file() -> None:
    page = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```text\n# (swecli/\S+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(examples) == 3
    for file, example in examples:
        lines = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
        expected = [line.strip() for line in example.splitlines()]
        starts = range(len(lines) - len(expected) + 1)
        assert any(lines[start : start + len(expected)] == expected for start in starts), file
