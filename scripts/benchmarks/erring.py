"""Reviews by a reviewer that errs as models do: it names lines that are one to three off, tells problems twice, names a
secret file, and reports nothing that is known. Between two reviews some problems are repaired by a line above, and some
are moved into another file. Its verifier knows the truth."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.benchmarks.planting import commit, git, reviewed
from swecli.models.finding import Finding
from swecli.models.review_events import ReviewFinished
from swecli.review.judge.repair import build_suggestion_edit

PROBLEMS = 24  # of them a third is repaired, a third moved, a third left
PER_FILE = 6
OFFSETS = (-3, -2, -1, 1, 2, 3)
SECRET = "hunter2-and-more"
MADE = PROBLEMS  # the number of the problem in the file that calls itself generated
_HEAD = "import math\n\n\n"


def work(number: int) -> str:
    """Return a function with a problem."""
    return (
        f"def work_{number}(given):\n    total_{number} = given + {number}\n"
        f"    return total_{number} / (given - {number})\n\n\n"
    )


def calm(number: int) -> str:
    """Return a function without a problem, which the reviewer reports nevertheless."""
    return f"def calm_{number}(given):\n    return given * {number} + 1\n\n\n"


def path_of(number: int) -> str:
    return "made.py" if number == MADE else f"part_{number // PER_FILE}.py"


class ErringReviewer:
    """Reports the problems of the lines that it is shown, except known ones, and judges claims by the truth. `places`
    maps each problem to its file, `repaired` are those that are none any more, `sent` is all that it was sent."""

    def __init__(self) -> None:
        self.places = {number: path_of(number) for number in range(PROBLEMS + 1)}
        self.repaired, self.sent, self.asked = set[int](), list[str](), set[str]()
        self.has_looked_up = False

    def __call__(self, request: Any) -> Any:
        from tests.support.scripted import Reply, ScriptedCall

        text = "\n".join(str(message["content"]) for message in request.messages)
        self.sent.append(text)
        if request.purpose == "verify" and not self.has_looked_up:
            self.has_looked_up = True  # once, at a secret
            return Reply("", (ScriptedCall("read_file", {"path": ".env"}),), usage=None)
        if request.purpose == "verify":
            rows = [self._judge(part) for part in text.split("### F-")[1:]]
            call = ScriptedCall("judge_findings", {"judgements": rows})
            return Reply("", (call,), usage=None)
        part = text[text.rindex("\nPart ") :].partition("\nEnd this part")[0]
        is_second = part in self.asked
        self.asked.add(part)
        found = self._report(part, is_second=is_second)
        call = ScriptedCall("report_findings", {"done": is_second, "findings": found})
        return Reply("", (call,), usage=None)

    def _report(self, part: str, *, is_second: bool) -> list[dict[str, Any]]:
        """Return the entries of one report: the first words of each problem, and the second words for the even ones;
        those of the odd ones come with the second report."""
        known = set(re.findall(r"work_\d+", part.partition("\nKnown, ")[2]))
        shown = part.partition("\nKnown, ")[0]
        found = list[dict[str, Any]]()
        for number in map(int, re.findall(r"return total_(\d+) /", shown)):
            if f"work_{number}" in known:
                continue
            if not is_second:
                found.append(self._entry(number, OFFSETS[number % len(OFFSETS)]))
            if is_second == bool(number % 2):
                found.append(self._entry(number, 0, in_other_words=True))
        if not is_second:
            found += [self._false_alarm(int(n)) for n in re.findall(r"def calm_(\d+)", shown)]
            found.append(
                {"path": ".env", "line": 1, "code_smell_type": "SECRET", "message": "it is secret"}
            )
        return found

    def _entry(self, number: int, offset: int, *, in_other_words: bool = False) -> dict[str, Any]:
        path, line = self.places[number], self.line_of(number)
        row = {
            "path": path, "line": max(1, line + offset), "severity": "high", "code_smell_type": "DIVISION_BY_ZERO",
            "message": f"work_{number} divides by zero when given is {number}",
            "evidence": f"return total_{number} / (given - {number})",
            "suggestion": f"    return total_{number} / (given - {number} or 1)",
        }  # fmt: skip
        if in_other_words:
            words = f"dividing by zero in work_{number} if given equals {number}"
            row |= {"code_smell_type": "ZERO_DIVISION", "message": words}
        return row

    def _false_alarm(self, number: int) -> dict[str, Any]:
        path = path_of(number)
        lines = Path(path).read_text("utf-8").split("\n")
        line = lines.index(f"def calm_{number}(given):") + 2
        message = f"calm_{number} may overflow"
        return {"path": path, "line": line, "code_smell_type": "OVERFLOW", "message": message}

    def line_of(self, number: int) -> int:
        lines = Path(self.places[number]).read_text("utf-8").split("\n")
        return lines.index(f"    return total_{number} / (given - {number})") + 1

    def _judge(self, part: str) -> dict[str, Any]:
        """Answer by the truth."""
        ref = f"F-{part.split(':', 1)[0]}"
        claim = part.partition("\nClaim: ")[2].partition("\n")[0]
        name, _, digits = re.search(r"(work|calm)(_)(\d+)", claim).groups()  # type: ignore[union-attr]
        number = int(digits)
        row = {"id": ref, "why": "seen", "path": path_of(number)}
        if name == "calm":
            return {**row, "verdict": "refuted", "quote": f"return given * {number} + 1"}
        row["path"] = self.places[number]
        if number in self.repaired:
            return {**row, "verdict": "refuted", "quote": f"if given == {number}:"}
        quote = f"return total_{number} / (given - {number})"
        return {**row, "verdict": "introduced", "quote": quote}


def write_project() -> None:
    """Write the base of the change and the change itself, on a branch `topic`."""
    git("init", "-q", "-b", "main")
    Path(".gitignore").write_text(".env\n")
    Path(".env").write_text(f"PASSWORD={SECRET}\n")
    for at in range(0, PROBLEMS, PER_FILE):
        Path(path_of(at)).write_text(_HEAD)
    commit()
    git("checkout", "-q", "-b", "topic")
    for at in range(0, PROBLEMS, PER_FILE):
        numbers = range(at, at + PER_FILE)
        text = "".join(work(number) + calm(number) for number in numbers)
        Path(path_of(at)).write_text(_HEAD + text)
    Path("made.py").write_text("# generated, do not edit\n" + work(MADE))
    Path("long.py").write_text(f"x = '{'x' * 6_000}'\n")
    commit()


def change_project(reviewer: ErringReviewer) -> tuple[list[int], list[int]]:
    """Repair a third of the problems by a guard above, and move a third into other files. Return their numbers."""
    repaired, moved = list(range(0, PROBLEMS, 3)), list(range(1, PROBLEMS, 3))
    for number in repaired:
        path = Path(path_of(number))
        old = f"    total_{number} = given"
        guard = f"    if given == {number}:\n        return 0\n"
        path.write_text(path.read_text().replace(old, guard + old))
    for number in moved:
        path = Path(path_of(number))
        path.write_text(path.read_text().replace(work(number), ""))
        reviewer.places[number] = f"moved_{number}.py"
        Path(f"moved_{number}.py").write_text("# moved here\n" + work(number))
    reviewer.repaired = set(repaired)
    commit()
    return repaired, moved


def erring() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each figure: its name, value, goal, and whether the goal is met."""
    from tests.support.reviews import review_store
    from tests.support.runtime import make_runtime

    Path("erring").mkdir()
    os.chdir("erring")
    os.environ["SWECLI_HOME"] = str(Path.cwd().with_name("erring-home"))
    write_project()
    reviewer = ErringReviewer()
    runtime = make_runtime(reviewer, review_part_tokens=1_500, review_loops=200)
    first = asyncio.run(reviewed(runtime))
    of = {number: find(first, number) for number in range(PROBLEMS + 1)}
    told = [row for rows in of.values() for row in rows]
    right = [n for n, rows in of.items() for row in rows if row.line == reviewer.line_of(n)]
    yield figure("lines off by 1 to 3, right in the end", len(right), len(told))
    applied = sum(applies(row, n) for n, rows in of.items() for row in rows)
    yield figure("their suggestions replace the right line", applied, len(told))
    doubled = len(told) - PROBLEMS - 1
    yield "told twice: listed twice", f"{doubled} of {PROBLEMS + 1}", "0", doubled == 0
    false = [row for row in first.findings if "calm_" in row.message and row.is_open]
    yield "clean change beside each, still open", f"{len(false)} of {PROBLEMS}", "0", not false
    leaked = sum(SECRET in text for text in reviewer.sent)
    yield "requests with a secret that was named", f"{leaked}", "0", not leaked
    yield figure("a new file marked as generated: found", len(of[MADE]), 1)
    unread = [file.path for file in first.coverage.files if file.not_read]
    is_said = unread == ["long.py"] and not first.complete
    yield "a new file with a long line: not read, said so", str(is_said), "True", is_said
    second = asyncio.run(reviewed(runtime))
    same = open_states(first) == open_states(second)
    yield "a second run lists the same", str(same), "True", same
    repaired, moved = change_project(reviewer)
    asyncio.run(reviewed(runtime))
    store = review_store(runtime)
    now = {n: store.get(rows[0].id) for n, rows in of.items() if rows}
    fixed = sum(now[n].state == "fixed" for n in repaired if n in now)
    yield figure("repaired above: fixed", fixed, len(repaired))
    kept = sum(now[n].is_open and now[n].path == reviewer.places[n] for n in moved if n in now)
    yield figure("moved to another file: followed", kept, len(moved))
    known = {row.id for row in first.findings}
    new = [row.id for row in store.findings(["open"]) if row.id not in known]
    yield "new findings for what was moved", f"{len(new)}", "0", not new
    runtime.close()
    os.chdir("..")


def figure(name: str, count: int, whole: int) -> tuple[str, str, str, bool]:
    return name, f"{count} of {whole}", "all", count == whole


def find(end: ReviewFinished, number: int) -> list[Finding]:
    pattern = re.compile(rf"work_{number}\b")
    return [row for row in end.findings if pattern.search(row.message) and row.is_open]


def open_states(end: ReviewFinished) -> set[tuple[str, str, int, str]]:
    return {(row.id, row.path, row.line, row.status) for row in end.findings if row.is_open}


def applies(finding: Finding, number: int) -> bool:
    """Return whether applying the suggestion repairs the line of the problem."""
    call, _ = build_suggestion_edit(finding, Path.cwd())
    [edit] = call.parameters["edits"]
    bad = f"return total_{number} / (given - {number})"
    return bad in edit["old_text"] and bad not in edit["new_text"]
