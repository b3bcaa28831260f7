"""Command lines of checks: which they are, whether two are the same, and how a run ended."""

from __future__ import annotations

import re

from swecli.playbook.turn_digest import CallDigest

_SPLIT = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_ASSIGNMENT = re.compile(r"^(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
_WRAPPER = re.compile(
    r"^(?:(?:time|nice|sudo|command|exec|env|npx|bunx|stdbuf\s+-\S+|timeout\s+\S+|(?:uv|poetry|pdm|hatch|pipenv)\s+run|"
    r"bundle\s+exec|pnpm\s+exec|yarn\s+exec)\s+)+"
)
_CD = re.compile(r"^(?:cd|pushd)\s+\S+$")
# A check says in one of its words that it tests, checks or compiles, or is a program that does nothing else.
_CHECK = re.compile(
    r"(?:^|[\s/.:_-])(?:py)?(?:tests?|checks?|lint|specs?|verify|build|compile|typecheck|pytest|unittest|tox|nox|jest|"
    r"vitest|mocha|mypy|pyright|ruff|flake8|eslint|tsc|clippy|vet|ctest|rspec|phpunit)(?:$|[\s/.:_\d-])"
)
_NO_CHECK = re.compile(
    r"^(?:\S*/)?(?:cat|ls|grep|rg|find|sed|echo|git|cd|rm|mv|cp|mkdir|head|tail|less|test|which|touch)\b"
)
_FAILING = re.compile(r"fail|error|✗|✕|not ok|panicked", re.IGNORECASE)
_VARYING = re.compile(r"\b\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds)\b|0x[0-9a-f]+|\b\d\d:\d\d(?::\d\d)?\b")
_MOST_LINES = 50


def bare(command: str) -> str:
    """A command line without assignments, wrappers, `cd` and the virtual environment's folder: equal for the same
    work."""
    parts = (_bare(part) for part in _SPLIT.split(command.strip()))
    return " ".join(" && ".join(part for part in parts if part and not _CD.match(part)).split())


def _bare(part: str) -> str:
    part, before = part.strip().strip("()"), None
    while before != part:
        before = part
        part = _WRAPPER.sub("", _ASSIGNMENT.sub("", part + " ")).strip()
    return re.sub(r"^\S*/bin/(?=\S)", "", part)


def program(command: str) -> str:
    """The program that a command line runs; of a Python module the module's name."""
    words = bare(command).split() or [""]
    name = words[0].rsplit("/", 1)[-1]
    if re.fullmatch(r"python[\d.]*", name) and len(words) > 2 and words[1] == "-m":
        return words[2]
    return name


def check_of(call: CallDigest) -> str:
    """The check that a call runs, as a key; "" where it runs none, or its exit code may be another program's."""
    if not call.command or re.search(r"(?<!\|)\|(?!\|)|\|\||;|\n", call.command):
        return ""
    key = bare(call.command)
    parts = key.split(" && ")
    return key if not _NO_CHECK.match(parts[-1]) and _CHECK.search(parts[-1].lower()) else ""


def passed(call: CallDigest) -> bool | None:
    """Whether a command ended well; None for one that did not end, and for other tools."""
    if not call.finished or call.denied or not call.command:
        return None
    return call.ok


def failing_lines(output: str) -> tuple[str, ...]:
    """The lines of an output that name what fails, without times: equal for the same failures."""
    lines = (" ".join(_VARYING.sub("#", line).split()) for line in output.splitlines() if _FAILING.search(line))
    return tuple(dict.fromkeys(lines))[:_MOST_LINES]
