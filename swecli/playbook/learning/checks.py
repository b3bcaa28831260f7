"""Checks in commands: which check a command line runs, whether it passed, and which other checks it covers."""

from __future__ import annotations

import re

from swecli.values import dataclass

# Outside of quotes: a redirection such as `2>&1`, or what separates two commands.
_TOKEN = re.compile(
    r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?P<redirection>\d*>&\d*-?|&>>?)|(?P<operator>\|\||&&|\|&?|[;&\n])""",
    re.DOTALL,
)
# What a here-document gives to a program's input; its end is a line with the word behind `<<`.
_HERE_DOCUMENT = re.compile(
    r"""(?<!<)<<-?[ \t]*(?P<quote>['"]?)(?P<end>\w+)(?P=quote)(?P<rest>[^\n]*)"""
    r"(?:\n.*?(?=^[ \t]*(?P=end)[ \t]*$)[^\n]*|.*)",
    re.DOTALL | re.MULTILINE,
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
_COUNTS = re.compile(r"\b(\d+) (passed|failed|errors?)\b")
_UNITTEST_END = re.compile(r"^Ran \d+ tests? in ", re.MULTILINE)
_RAN_NONE = re.compile(r"^Ran 0 tests in ", re.MULTILINE)  # unittest succeeds, before Python 3.12
_SUMMARY = 10  # lines at the end of an output that may summarize it


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a command line: its `name`, equal for equal checks, and whether it `passed` (None: unknown)."""

    name: str = ""
    passed: bool | None = None


def find_check(command: str, exit_code: int | None, output: str) -> Check:
    """Find the check that a finished command ran. Commands around it are seen through: those before and after it, and
    what its output was piped into."""
    command = _HERE_DOCUMENT.sub(r"\g<rest>", command)
    pipelines = _split_commands(command)
    names = [[normalize_command(simple) for simple in commands] for _, commands in pipelines]
    positions = [
        (pipeline, index)
        for pipeline, commands in enumerate(names)
        for index, simple in enumerate(commands)
        if is_check(simple)
    ]
    if not positions:
        return Check()
    name = " && ".join(names[pipeline][index] for pipeline, index in positions)
    first, index = positions[0]
    passed: bool | None = None
    if first == len(pipelines) - 1:
        passed = _status_in_pipeline(index, len(names[first]), exit_code, output)
    elif all(operator == "&&" for operator, _ in pipelines[first + 1 :]):
        # each one ran only because those before it had succeeded
        only_checks = len({pipeline for pipeline, _ in positions}) == len(pipelines) - first
        is_plain = all(len(commands) == 1 for _, commands in pipelines[first:])
        if is_plain and (exit_code == 0 or only_checks):
            passed = exit_code == 0
    if passed and _RAN_NONE.search(output):
        passed = None
    elif passed is None:
        passed = _read_summary(output, command)
    return Check(name, passed)


def is_check(command: str) -> bool:
    """Return True if a normalized simple command is a check."""
    return not _NO_CHECK.match(command) and _CHECK.search(command.lower()) is not None


def find_succeeded(command: str, exit_code: int | None, output: str) -> list[str]:
    """Return the normalized simple commands of a finished command line that succeeded by their own status. One whose
    status is not known, as of what stands before a `;`, is left out."""
    if "<<" in command:
        return []
    pipelines = _split_commands(command)
    succeeded = list[str]()
    for index, (_, commands) in enumerate(pipelines):
        following = pipelines[index + 1 :]
        # each one after it ran only because it had succeeded
        has_passed_on = exit_code == 0 and all(operator == "&&" for operator, _ in following)
        for place, simple in enumerate(commands):
            if following:
                passed = has_passed_on and len(commands) == 1
            else:
                passed = _status_in_pipeline(place, len(commands), exit_code, output) is True
            if passed:
                succeeded.append(normalize_command(simple))
    return [simple for simple in succeeded if simple]


def covers(wide: str, narrow: str) -> bool:
    """Return True if a check runs at least what another one runs: the same program, restricted to nothing but what
    restricts the other one too, as `pytest tests` covers `pytest tests/test_a.py`. Flags without a value select
    nothing."""
    wide_words = wide.split()
    narrow_words = narrow.split()
    is_joined = "&&" in wide_words or "&&" in narrow_words
    if wide == narrow or wide_words[0] != narrow_words[0] or is_joined:
        return False
    return all(
        (word.startswith("-") and "=" not in word) or _contains_any(word, narrow_words[1:])
        for word in wide_words[1:]
    )


def _contains_any(target: str, others: list[str]) -> bool:
    """Return True if a folder, file or test is one of these, or one of these lies within it."""
    folder = target.rstrip("/") + "/"
    return any(other == target or other.startswith((folder, f"{target}::")) for other in others)


def normalize_command(command: str) -> str:
    """Remove assignments, wrappers, redirections and `bin/` folders of a simple command, so that equal checks are
    equal."""
    previous = ""
    command = _REDIRECTION.sub("", command).strip().strip("()").strip()
    while command != previous:
        previous = command
        command = _WRAPPER.sub("", _ASSIGNMENT.sub("", command + " ")).strip()
    return " ".join(re.sub(r"^\S*/bin/(?=\S)", "", command).split())


def _split_commands(command: str) -> list[tuple[str, list[str]]]:
    """Split a command line into pipelines of simple commands, each pipeline with the operator before it."""
    pipelines: list[tuple[str, list[str]]] = [("", [])]
    start = 0
    for token in _TOKEN.finditer(command):
        operator = token["operator"]
        if operator is None:
            continue
        pipelines[-1][1].append(command[start : token.start()])
        start = token.end()
        if not operator.startswith("|") or operator == "||":
            pipelines.append((operator, []))
    pipelines[-1][1].append(command[start:])
    visible = [(operator, [*filter(str.strip, commands)]) for operator, commands in pipelines]
    return [(operator, commands) for operator, commands in visible if commands]


def _status_in_pipeline(index: int, length: int, exit_code: int | None, output: str) -> bool | None:
    """Return whether a program of the last pipeline succeeded; None if its own status was not recorded."""
    if length == 1:
        return None if exit_code is None else exit_code == 0
    match = _STATUSES.match(output)
    statuses = match[1].split(", ") if match else []
    if len(statuses) != length:
        return None
    return statuses[index].rpartition(" ")[2] == "0"


def _read_summary(output: str, command: str) -> bool | None:
    """Return whether the end of an output says that all tests passed; None if it says nothing of them. A line that the
    command itself wrote, as by `echo 3 passed`, is no summary."""
    lines = [line for line in output.splitlines() if not line or line not in command]
    last = "\n".join(lines[-_SUMMARY:])
    counts = _COUNTS.findall(last)
    if counts:
        return all(int(count) == 0 or label == "passed" for count, label in counts)
    return (
        "FAILED (" not in last
        if _UNITTEST_END.search(last) and not _RAN_NONE.search(last)
        else None
    )
