"""The grammar of running: the tests, a command, the last command again."""

from __future__ import annotations

import re

from swecli.llm.demo.intents import Intent, Run, RunAgain, RunTests
from swecli.llm.demo.phrase import PRONOUNS, Phrase
from swecli.llm.demo.rules import QUOTE, any_of, rule

# Programs that a line may simply begin with.
_PROGRAMS = any_of(
    r"pytest|python3?|pip|uv|tox|nox|ruff|mypy|npm|npx|node|yarn|pnpm|cargo|git",
    r"ls|pwd|cat|wc|echo|grep|rg|find|head|tail|touch|mkdir|mv|cp|diff|curl|date|env|which|uname|"
    r"whoami|df|du|ps|tree|sed|awk",
    r"bash|sh|true|false|go (?=test|build|run|vet|mod)|make (?=[\w-]+$)|make$|docker (?=\w)|\./\S+|scripts/\S+",
)
_START = any_of("run", "execute", "start", "try", "launch", "do", "rerun", "re-run")
_WHOSE = any_of(
    "all", "the", "our", "my", "its", "these", "project'?s", "whole", "full", "entire", "unit", "integration"
)
_PASS = any_of("pass(?:ing)?", "green", "ok", "work", "run", "good")
_ASK = any_of("do", "are", "check (?:that|if|whether)", "check", "see if")
_LAST = any_of("it", "this", "that", "the (?:last|same|previous) (?:command|one|thing)")


def _run(match: re.Match[str], phrase: Phrase) -> Intent | None:
    command = phrase.value(match["command"]).strip()
    return Run(command) if command and command.lower() not in PRONOUNS else None


def _bare(match: re.Match[str], phrase: Phrase) -> Intent:
    return Run(phrase.value(match[0]))


def _ticks(match: re.Match[str], phrase: Phrase) -> Intent | None:
    quoted = phrase.part(match[0])
    return Run(quoted.text) if quoted and quoted.style == "tick" else None


def _tests(match: re.Match[str], phrase: Phrase) -> Intent:
    return RunTests(next(iter(phrase.paths(match["rest"])), ""))


def _again(match: re.Match[str], phrase: Phrase) -> Intent:
    return RunAgain()


RULES = (
    rule(rf"{_START}(?: {_WHOSE})* tests?(?:uite| suite)?\b(?P<rest>.*)$", _tests),
    rule(r"test (?:it|this|everything|that|the (?:project|code|app))\b(?P<rest>.*)$", _tests),
    rule(rf"{_ASK}(?: {_WHOSE})* tests?(?: still)? {_PASS}\b(?P<rest>.*)$", _tests),
    rule(rf"(?:run|do|execute|try|repeat|start) {_LAST}$", _again),
    rule(r"(?:repeat|again|once more|rerun|re-run)(?: (?:it|that|the last command))?$", _again),
    rule(
        r"(?:run|execute|exec|invoke|launch|call)(?: (?:the |this )?(?:shell )?(?:command|script|program))?"
        rf"\s*:?\s+(?P<command>{QUOTE}|.+)$",
        _run,
    ),
    rule(rf"(?:use|start|try) (?:the command )?(?P<command>{_PROGRAMS}(?:\s.*)?|{QUOTE})$", _run),
    rule(r"[$!]\s*(?P<command>.+)$", _run),
    rule(rf"{QUOTE}$", _ticks),
)

# Tried when nothing else fits: "find" and "tree" are words first and programs second.
LAST_RULES = (rule(rf"{_PROGRAMS}(?:\s.*|$)", _bare),)
