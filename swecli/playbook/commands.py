"""Command lines: which program they run, whether two are the same, and what a result says about them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from swecli.playbook.digest import CallDigest

_SPLIT = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_ASSIGNMENT = re.compile(r"^(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
_WRAPPER = re.compile(
    r"^(?:(?:time|nice|sudo|command|exec|env|npx|bunx|stdbuf\s+-\S+|timeout\s+\S+|(?:uv|poetry|pdm|hatch|pipenv)\s+run|"
    r"bundle\s+exec|pnpm\s+exec|yarn\s+exec)\s+)+"
)
_CD = re.compile(r"^(?:cd|pushd)\s+\S+$")
_RUNNERS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"^(?:\S*/)?(?:{pattern})(?=\s|$)"))
    for name, pattern in (
        ("pytest", r"pytest|py\.test|python[\d.]*\s+-m\s+pytest"),
        (
            "unittest",
            r"python[\d.]*\s+-m\s+unittest|python[\d.]*\s+(?:\S+\s+)?manage\.py\s+test|python[\d.]*\s+setup\.py\s+test",
        ),
        ("tox", r"tox|nox|python[\d.]*\s+-m\s+(?:tox|nox)"),
        ("npm test", r"(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:test|t)(?::[\w:-]+)?"),
        ("jest", r"jest|vitest|mocha|ava|karma\s+start|playwright\s+test|cypress\s+run"),
        ("deno test", r"deno\s+test"),
        ("node test", r"node\s+--test"),
        ("go test", r"go\s+test|gotestsum"),
        ("cargo test", r"cargo\s+(?:\+\S+\s+)?(?:test|nextest)"),
        ("make test", r"make\s+(?:\S+\s+)*(?:test|tests|check)"),
        ("ctest", r"ctest"),
        ("mvn test", r"(?:mvn|mvnw|gradle|gradlew)\s+(?:\S+\s+)*(?:test|verify|check)"),
        ("rspec", r"rspec|rake\s+(?:test|spec)|rails\s+test"),
        ("phpunit", r"phpunit|pest"),
        ("dotnet test", r"dotnet\s+test"),
        ("mix test", r"mix\s+test"),
        ("swift test", r"swift\s+test"),
        ("test script", r"(?:bash\s+|sh\s+)?(?:\S*/)?(?:run[-_]?)?tests?(?:\.sh)?"),
    )
)
# An exit code of 1 from these is an answer, not a failure.
_ASKING_NAMES = "grep egrep fgrep rg ag ack diff cmp test [ which pgrep command type ps find locate"
_ASKING = frozenset(_ASKING_NAMES.split())
_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|(?:^|\n)(?:FAILED|FAIL:|ERROR:?|--- FAIL)\b", re.I
)
_PASSED = re.compile(r"\b[1-9]\d* (?:passed|passing|tests? ok)\b|test result: ok|(?:^|\n)(?:OK\b|PASS\b|ok\s+\S+\s)")
_MISUSE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (label, re.compile(pattern, re.IGNORECASE))
    for label, pattern in (
        ("command not found", r"command not found|not recognized as an internal|: not found$|No such command"),
        ("missing module", r"No module named|Cannot find module|ModuleNotFoundError"),
        ("unknown option", r"unrecogni[sz]ed (?:argument|option)|unknown (?:argument|option|flag)|invalid option|"
                           r"illegal option|No such option|bad option|unexpected argument|"
                           r"flag provided but not defined"),
        ("unknown target", r"missing script|No rule to make target|unknown (?:command|target|subcommand)|"
                           r"is not a \w+ command|no such (?:command|target|task)"),
        ("wrong usage", r"(?:^|\n)\s*usage:|the following arguments are required|missing (?:required )?argument|"
                        r"requires an argument|has no upstream branch"),
        ("no such file", r"can't open file|No such file or directory|file or directory not found|cannot find the path"),
        ("no tests found", r"no tests ran|collected 0 items|no tests? found|no test files"),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A command line taken apart. `key` is equal for the same work; `runner` is "" unless it runs tests."""

    key: str
    program: str
    runner: str
    operands: frozenset[str]
    exact: bool


def parse(command: str) -> Line:
    """Take a command line apart. `exact` is False where its exit code may be another program's (a pipe, `|| true`)."""
    parts = [part for part in (_bare(p) for p in _SPLIT.split(command.strip())) if part and not _CD.match(part)]
    runners = [(part, name) for part in parts for name in (_runner(part),) if name]
    main, runner = runners[0] if runners else (parts[0] if parts else "", "")
    rest = command.split(main, 1)[-1] if main else ""
    words = main.split()
    return Line(
        key=" ".join(" && ".join(parts).split()),
        program=_program(words),
        runner=runner,
        operands=frozenset(word for word in words[1:] if not word.startswith("-") and ("/" in word or "." in word)),
        exact=re.search(r"(?<!\|)\|(?!\|)|\|\||;|\n", rest) is None,
    )


def _bare(part: str) -> str:
    """A simple command without assignments, wrappers and the virtual environment's folder."""
    part = part.strip().strip("()")
    before = None
    while before != part:
        before = part
        part = _WRAPPER.sub("", _ASSIGNMENT.sub("", part + " ")).strip()
    return re.sub(r"^\S*/bin/(?=\S)", "", part)


def _runner(part: str) -> str:
    return next((name for name, pattern in _RUNNERS if pattern.match(part)), "")


def _program(words: list[str]) -> str:
    if not words:
        return ""
    name = words[0].rsplit("/", 1)[-1]
    if re.fullmatch(r"python[\d.]*", name):
        return words[2] if len(words) > 2 and words[1] == "-m" else "python"
    return name


def passed(call: CallDigest) -> bool | None:
    """Whether a command did its work: None where its exit code does not say, or it never ended."""
    if not call.finished or call.denied or not call.command:
        return None
    line = parse(call.command)
    if line.runner and not line.exact:
        output = call.output
        if _FAILED.search(output):
            return False
        return True if _PASSED.search(output) else None
    if call.exit_code == 1 and line.program in _ASKING:
        return None
    return call.ok


def misused(call: CallDigest) -> str:
    """In which way a failed command was the wrong command, in our words; "" when it may just have found a fault."""
    if passed(call) is not False:
        return ""
    if call.exit_code == 127:
        return "command not found"
    return next((label for label, pattern in _MISUSE if pattern.search(call.output)), "")


def same_family(one: Line, other: Line) -> bool:
    """Whether two lines run the same program, or the same kind of tests."""
    return bool(one.runner and one.runner == other.runner) or bool(one.program and one.program == other.program)


def covers(later: Line, earlier: Line) -> bool:
    """Whether a later run tests at least what the earlier one did (no paths named: everything)."""
    return not later.operands or (bool(earlier.operands) and earlier.operands <= later.operands)
