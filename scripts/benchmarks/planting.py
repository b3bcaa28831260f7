"""Problems planted in real files (modules of packages installed for the tests, and three small projects): reported,
fixed, half fixed, moved and dismissed, by a scripted reviewer and a scripted verifier that know the truth. This
measures the machinery, not any model."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scripts.benchmarks.truth import FOLDER, load_cases
from swecli.models.finding import Finding
from swecli.models.review_events import ReviewFinished
from swecli.review.judge.ledger import set_state

PACKAGES = ("click", "jinja2", "rich", "httpx", "h11", "markdown_it", "jsonschema", "anyio")
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
# old text, new text, the type that a reviewer reports, and two descriptions
SWAPS = (
    (
        " is not None",
        " is None",
        "NULL_CHECK",
        "the test for {0} is inverted",
        "None is looked for the wrong way round in {0}",
    ),
    (
        " < ",
        " <= ",
        "OFF_BY_ONE",
        "{0} is compared one step too far",
        "the boundary of {0} is off by one",
    ),
    (
        " == ",
        " != ",
        "WRONG_CONDITION",
        "equality is inverted in {0}",
        "the comparison in {0} is inverted",
    ),
    (
        " and ",
        " or ",
        "WRONG_OPERATOR",
        "{0} needs both conditions",
        "both conditions of {0} have to hold",
    ),
)


@dataclass(slots=True)
class Place:
    """One changed line: its text before and after, the type that a reviewer reports, and whether it is a problem."""

    path: str
    old: str
    new: str
    kind: str
    words: tuple[str, str]
    bad: bool
    now: str = ""  # the current text, and whether it is still wrong
    broken: bool = field(default=True)

    @property
    def comment(self) -> str:
        """Return the comment sign of its file."""
        return "#" if self.path.endswith(".py") else "//"

    def line(self) -> int:
        lines = Path(self.path).read_text("utf-8").split("\n")
        return next((n for n, text in enumerate(lines, 1) if text.strip() == self.now.strip()), 0)


class Reviewer:
    """Reports every planted and harmless line that it is shown and one that does not exist, and judges by the truth.
    In round two it uses other descriptions and other type names."""

    def __init__(self, places: list[Place]) -> None:
        self.places, self.round, self.unsure = places, 0, 0

    def __call__(self, request: Any) -> Any:
        from tests.support.scripted import Reply, ScriptedCall

        if request.purpose == "verify":
            rows = [
                self._judged(part)
                for part in str(request.messages[-1]["content"]).split("### ")[1:]
            ]
            return Reply("", (ScriptedCall("judge_findings", {"judgements": rows}),), usage=None)
        text = "".join(str(m["content"]) for m in request.messages if m["role"] == "user")
        found = list[dict[str, Any]]()
        for place in self.places:
            if (
                place.now.strip() in text
                and (place.broken or not place.bad)
                and (line := place.line())
            ):
                name = place.kind if not self.round else place.kind.split("_")[0] + "_PROBLEM"
                row = {
                    "path": place.path,
                    "line": line,
                    "code_smell_type": name,
                    "evidence": place.now.strip(),
                }
                found.append(row | {"message": place.words[self.round], "severity": "high"})
        for wild in (
            {"path": "no/such.py", "line": 3},
            {"path": self.places[0].path, "line": 10**7},
        ):
            found.append(
                {
                    **wild,
                    "code_smell_type": "LOGIC",
                    "message": "there is none",
                    "severity": "critical",
                }
            )
        return Reply(
            "", (ScriptedCall("report_findings", {"done": True, "findings": found}),), usage=None
        )

    def _judged(self, part: str) -> dict[str, Any]:
        """Quote the actual line for a claim that is false; answer some harmless ones with "cannot tell"."""
        match = re.match(r"(F-\d+): \S+ at (.+?):(\d+)", part)
        assert match is not None, part[:80]
        lines = Path(match[2]).read_text("utf-8").split("\n")
        shown = lines[min(int(match[3]), len(lines)) - 1].strip()
        claim = next(line for line in part.split("\n") if line.startswith("Claim: ")).removeprefix(
            "Claim: "
        )
        ours = [
            place
            for place in self.places
            if place.path == match[2] and claim in map(one_line, place.words)
        ]
        true = next((place for place in ours if place.bad and place.broken), None)
        self.unsure += true is None and "# as in" in part
        wanted = "introduced" if true else "cannot_tell" if self.unsure % 5 == 4 else "refuted"
        quote = true.now.strip() if true else shown or next(line for line in lines if line.strip())
        row = {
            "id": match[1],
            "verdict": wanted,
            "path": match[2],
            "line": int(match[3]),
            "quote": quote,
        }
        return row | {"why": "seen"}


def copy_files() -> list[Path]:
    """Commit real modules of the installed packages to a new repository."""
    made = list[Path]()
    for name in PACKAGES:
        spec = find_spec(name)
        for path in sorted(Path(str(spec.origin)).parent.glob("*.py")) if spec else []:
            if 4_000 < path.stat().st_size < 40_000 and not path.name.startswith("__"):
                made.append(Path(name) / path.name)
                made[-1].parent.mkdir(exist_ok=True)
                shutil.copy(path, made[-1])
    git("init", "-q", "-b", "main")
    commit()
    return made


def plant(files: list[Path], problems: int, harmless: int) -> list[Place]:
    """Change at most one place per function and two per file, problems before harmless changes."""
    places = list[Place]()
    for path in files * 2:
        lines = path.read_text("utf-8").split("\n")
        taken = {place.new.strip() for place in places}
        for node in ast.walk(ast.parse("\n".join(lines))):
            if not isinstance(node, ast.FunctionDef) or len(places) == problems + harmless:
                continue
            bad = len(places) < problems
            old, new, kind, *words = SWAPS[len(places) % len(SWAPS)]
            at = next(
                (n for n in range(node.lineno, node.end_lineno or 0) if fits(lines, n, old, bad)),
                None,
            )
            if at is None or node.name in str(taken):
                continue
            before = lines[at]
            lines[at] = before.replace(old, new) if bad else f"{before}  # as in {node.name}"
            if not parses(lines):
                lines[at] = before
                continue
            wordings = [text.format(f"`{node.name}`") for text in words]
            places.append(
                Place(
                    str(path), before, lines[at], kind, (wordings[0], wordings[1]), bad, lines[at]
                )
            )
            taken.add(f"{node.name} {lines[at]}")
            break
        path.write_text("\n".join(lines), "utf-8")
    return places


def plant_languages() -> list[Place]:
    """Return the problems and harmless changes of the small projects, at most one per line."""
    for path in FOLDER.rglob("*/*"):
        Path(path.parent.name).mkdir(exist_ok=True)
        shutil.copy(path, Path(path.parent.name) / path.name)
    git("init", "-q", "-b", "main")
    commit()
    places = list[Place]()
    for case in sorted(load_cases(), key=lambda case: case.kind != "problem"):
        path, text = Path(case.project, case.row[0]), ""
        if (
            case.kind not in ("problem", "harmless")
            or (text := path.read_text("utf-8")).count(case.row[1]) != 1
        ):
            continue
        now = text.replace(case.row[1], case.row[2])
        old, new = next(
            pair
            for pair in zip(text.split("\n"), now.split("\n"), strict=True)
            if pair[0] != pair[1]
        )
        if any(place.now == old for place in places):
            continue
        family, says = (*case.row[3:], "any", f"{new.strip()} looks wrong")[:2]
        other = " ".join(
            word if n % 2 else "somehow" for n, word in enumerate(says.split())
        )  # half of the words
        places.append(
            Place(
                str(path),
                old,
                new,
                family.split()[0].upper(),
                (says, other),
                case.kind == "problem",
                new,
            )
        )
        path.write_text(now, "utf-8")
    return places


def fits(lines: list[str], at: int, old: str, bad: bool) -> bool:
    """Return True if the line can be changed: it occurs once in the file, and the replaced text occurs once in it."""
    text = lines[at].strip()
    simple = (
        text.startswith(("if ", "elif ", "while "))
        and text.endswith(":")
        and sum(text in line for line in lines) == 1
    )
    return simple and ((text.count(old) == 1 and '"' not in text) if bad else "#" not in text)


def parses(lines: list[str]) -> bool:
    try:
        return ast.parse("\n".join(lines)) is not None
    except SyntaxError:
        return False


def edit(places: list[Place]) -> None:
    """Fix a third of the problems, rewrite a third without fixing them, and move a third by inserting lines above."""
    for number, place in enumerate([place for place in places if place.bad]):
        path, text = Path(place.path), Path(place.path).read_text("utf-8")
        if number % 3 == 0:
            now, place.broken = place.old, False
        elif number % 3 == 1:
            now = re.sub(r"^(\s*\w+) (.*):$", r"\1 bool(\2):", place.now)
            now = now if now != place.now else f"{now}  {place.comment} as before"
        else:
            now, text = (
                place.now,
                f"{place.comment} a line above\n{place.comment} and another one\n" + text,
            )
        path.write_text(text.replace(place.now, now), "utf-8")
        place.now = now


async def reviewed(runtime: Any, **options: Any) -> ReviewFinished:
    from tests.support.reviews import begin_review

    review = await begin_review(runtime, "--base", "main", verify=True, **options)
    async with aclosing(review.run()) as events:
        return [event async for event in events if isinstance(event, ReviewFinished)][-1]


def found(end: ReviewFinished, place: Place) -> Finding | None:
    return next(
        (one for one in end.findings if one.path == place.path and one.line == place.line()), None
    )


def git(*words: str) -> None:
    subprocess.run(["git", *AUTHOR, *words], check=True, capture_output=True)


def one_line(text: str) -> str:
    return " ".join(text.split())


def commit() -> None:
    git("add", "-A")
    git("commit", "-qm", "x")


def planting(problems: int, harmless: int) -> Iterator[tuple[str, str, str, bool]]:
    """Return each figure: its name, value, goal, and whether the goal is met."""
    for name, where in (("real", "in real files"), ("languages", "in 3 languages")):
        Path(name).mkdir()
        os.chdir(name)
        os.environ["SWECLI_HOME"] = str(Path.cwd().with_name(f"{name}-home"))
        places = plant(copy_files(), problems, harmless) if name == "real" else plant_languages()
        for figure, *rest in measured(places):
            yield f"{where}: {figure}", *rest
        os.chdir("..")


def measured(places: list[Place]) -> Iterator[tuple[str, str, str, bool]]:
    from tests.support.reviews import review_store
    from tests.support.runtime import make_runtime

    git("checkout", "-q", "-b", "topic")
    commit()
    reviewer = Reviewer(places)
    runtime = make_runtime(reviewer, review_part_tokens=1_500, review_loops=200)
    store, end = review_store(runtime), asyncio.run(reviewed(runtime))
    of = {place.new: found(end, place) for place in places}
    bad, harmless = ([place for place in places if place.bad is which] for which in (True, False))
    kept = [of[place.new] for place in bad if of[place.new]]
    sure = sum(finding.has_verdict("confirmed") for finding in kept)
    yield "planted: kept", f"{len(kept)} of {len(bad)}", "all", len(kept) == len(bad)
    yield "true ones confirmed", f"{sure} of {len(bad)}", ">= .90", sure >= 0.9 * len(bad)
    loose = [one for place in harmless if (one := of[place.new]) and one.has_verdict("confirmed")]
    yield (
        "false ones not confirmed",
        f"{len(harmless) - len(loose)} of {len(harmless)}",
        ">= .80",
        len(loose) <= 0.2 * len(harmless),
    )
    wild = sum(
        one.has_verdict("confirmed") and not any(one is known for known in kept)
        for one in end.findings
    )
    yield "ungrounded that fail CI or are posted", f"{wild}", "0", wild == 0
    for place in harmless:
        if one := of[place.new]:
            set_state(store, one.id, "dismissed", f"meant so in {place.path}")
    edit(places)
    commit()
    reviewer.round = 1
    again = asyncio.run(reviewed(runtime))
    states = {place.new: store.get(one.id) for place in places if (one := of[place.new])}
    thirds = [[states[place.new] for place in bad[n::3] if place.new in states] for n in range(3)]
    fixed = [sum(one.state == "fixed" for one in third) for third in thirds]
    yield (
        "repaired, fixed after a check",
        f"{fixed[0]} of {len(thirds[0])}",
        ">= .90",
        fixed[0] >= 0.9 * len(thirds[0]),
    )
    yield (
        "half repaired or moved, called fixed",
        f"{fixed[1] + fixed[2]}",
        "0",
        not fixed[1] + fixed[2],
    )
    stays = sum(states[place.new].state == "dismissed" for place in harmless if place.new in states)
    yield (
        "dismissed kept, in other words",
        f"{stays} of {len(harmless)}",
        ">= .95",
        stays >= 0.95 * len(harmless),
    )
    new = len(
        {one.id for one in again.findings if one.verdict != "refuted"}
        - {one.id for one in end.findings}
    )
    yield "duplicates in the second review", f"{new}", "<= 2 %", new <= 1
    runtime.close()
