"""Checks in commands: which check a command line runs, whether it passed, and which other checks it covers."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Outside of quotes: a redirection such as `2>&1`, or what separates two commands.
_TOKEN = re.compile(
    r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?P<redirection>\d*>&\d*-?|&>>?)|(?P<operator>\|\||&&|\|&?|[;&\n])""",
    re.DOTALL,
)
_REDIRECTION = re.compile(r"\s*(?:\d*>&\d+-?|(?:&|\d*)>>?\s*[^\s&|;]+)")
_ASSIGNMENT = re.compile(r"^(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
_WRAPPER = re.compile(
    r"^(?:(?:time|nice|sudo|command|exec|env|npx|bunx|stdbuf\s+-\S+|timeout\s+\S+|(?:uv|poetry|pdm|hatch|pipenv)\s+run|"
    r"bundle\s+exec|pnpm\s+exec|yarn\s+exec|(?:\S*/)?python[\d.]*\s+-m)\s+)+"
)
# Words that name a check, and programs that only check.
_CHECK = re.compile(
    r"(?:^|[\s/.:_-])(?:py)?(?:tests?|checks?|lint|specs?|verify|build|compile|typecheck|pytest|unittest|tox|nox|jest|"
    r"vitest|mocha|mypy|pyright|ruff|flake8|eslint|tsc|clippy|vet|ctest|rspec|phpunit)(?:$|[\s/.:_\d-])"
)
_NO_CHECK = re.compile(
    r"^(?:\S*/)?(?:cat|ls|grep|rg|find|sed|echo|git|cd|rm|mv|cp|mkdir|head|tail|less|test|which|touch)\b"
)
# The first line of a command's result, with the status of each program of its last pipeline.
_STATUSES = re.compile(r"exit code \d+(?: \([A-Z\d]+\))? \(((?:\S+ \d+, )+\S+ \d+)\)\n")
# The last lines of test runners: `3 failed, 12 passed`, `12 passed; 0 failed`; `Ran 5 tests in 1 s`.
_COUNTED = re.compile(r"\b(\d+) (passed|failed|errors?)\b")
_RAN = re.compile(r"^Ran \d+ tests? in ", re.MULTILINE)
_SUMMARY = 10  # lines at the end of an output that may summarize it


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a command line: its `name`, equal for equal checks, and whether it `passed` (None: unknown)."""

    name: str = ""
    passed: bool | None = None


def find_check(command: str, exit_code: int | None, output: str) -> Check:
    """Find the check that a finished command ran. Commands around it are seen through: those before and after it, and
    what its output was piped into."""
    pipelines = _split(command)
    names = [[normalize_command(part) for part in parts] for _, parts in pipelines]
    places = [
        (row, column)
        for row, parts in enumerate(names)
        for column, part in enumerate(parts)
        if is_check(part)
    ]
    if not places or "<<" in command:
        return Check()
    name = " && ".join(names[row][column] for row, column in places)
    first, column = places[0]
    passed: bool | None = None
    if first == len(pipelines) - 1:
        passed = _status_in_pipeline(column, len(names[first]), exit_code, output)
    elif all(operator == "&&" for operator, _ in pipelines[first + 1 :]):
        # each one ran only because those before it had succeeded
        only_checks = len({row for row, _ in places}) == len(pipelines) - first
        is_plain = all(len(parts) == 1 for _, parts in pipelines[first:])
        if is_plain and (exit_code == 0 or only_checks):
            passed = exit_code == 0
    return Check(name, _read_summary(output, command) if passed is None else passed)


def is_check(part: str) -> bool:
    """Return True if a normalized simple command, or a program's name, is a check."""
    return not _NO_CHECK.match(part) and _CHECK.search(part.lower()) is not None


def programs(command: str) -> set[str]:
    """Return the names of the programs that a command line runs, without folders."""
    parts = (
        _ASSIGNMENT.sub("", f"{part} ").split() for _, line in _split(command) for part in line
    )
    return {words[0].rpartition("/")[2] for words in parts if words}


def covers(wide: str, narrow: str) -> bool:
    """Return True if a check runs at least what another one runs: the same program, restricted to nothing but what
    restricts the other one too. Flags without a value select nothing."""
    wider, narrower = wide.split(), narrow.split()
    if wide == narrow or wider[0] != narrower[0] or "&&" in wider or "&&" in narrower:
        return False
    return all(
        (word.startswith("-") and "=" not in word) or _is_within(word, narrower[1:])
        for word in wider[1:]
    )


def _is_within(word: str, others: list[str]) -> bool:
    folder = word.rstrip("/") + "/"
    return any(one == word or one.startswith((folder, f"{word}::")) for one in others)


def normalize_command(part: str) -> str:
    """Remove assignments, wrappers, redirections and `bin/` folders of a simple command, so that equal checks are
    equal."""
    part = _REDIRECTION.sub("", part).strip().strip("()").strip()
    while (shorter := _WRAPPER.sub("", _ASSIGNMENT.sub("", part + " ")).strip()) != part:
        part = shorter
    return " ".join(re.sub(r"^\S*/bin/(?=\S)", "", part).split())


def _split(command: str) -> list[tuple[str, list[str]]]:
    """Split a command line into pipelines of simple commands, each pipeline with the operator before it."""
    found: list[tuple[str, list[str]]] = [("", [])]
    begin = 0
    for token in _TOKEN.finditer(command):
        operator = token["operator"]
        if operator is None:
            continue
        found[-1][1].append(command[begin : token.start()])
        begin = token.end()
        if not operator.startswith("|") or operator == "||":
            found.append((operator, []))
    found[-1][1].append(command[begin:])
    kept = [(operator, [part for part in parts if part.strip()]) for operator, parts in found]
    return [(operator, parts) for operator, parts in kept if parts]


def _status_in_pipeline(place: int, length: int, exit_code: int | None, output: str) -> bool | None:
    """Return whether a program of the last pipeline succeeded; None if its own status was not recorded."""
    if length == 1:
        return None if exit_code is None else exit_code == 0
    match = _STATUSES.match(output)
    statuses = [int(one.rpartition(" ")[2]) for one in match[1].split(", ")] if match else []
    return statuses[place] == 0 if len(statuses) == length else None


def _read_summary(output: str, command: str) -> bool | None:
    """Return whether the end of an output says that all tests passed; None if it says nothing of them. A line that the
    command itself wrote, as by `echo 3 passed`, is no summary."""
    lines = [line for line in output.splitlines() if not line or line not in command]
    last = "\n".join(lines[-_SUMMARY:])
    counts = [(int(count), what) for count, what in _COUNTED.findall(last)]
    if counts:
        return all(count == 0 or what == "passed" for count, what in counts)
    return "FAILED (" not in last if _RAN.search(last) else None
