"""Test a pull request from its first push to its fifth, each on a fresh machine, against a strict service and a strict
GitHub: what is dismissed stays so, and nothing is called fixed that is not."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.github import FakeGitHub
from tests.support.shell import CompletedRun, swecli
from tests.support.strict_provider import Call, Received, Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

pytestmark = pytest.mark.slow

HEAD = "import os\n\n\n"
SHARE = "def share(total, count):\n    return total / count\n\n\n"
LABEL = "def label(names):\n    return names[1]\n\n\n"
RATES = "def rates(path):\n    return open(path).read()\n\n\n"
PARSE = "def parse(text):\n    return eval(text)\n"
# the type of a problem: the severity, the line that shows it, and a suggestion
PROBLEMS = {
    "DIVISION_BY_ZERO": ("high", "return total / count", ""),
    "OFF_BY_ONE": ("high", "return names[1]", "    return names[0 + 1]"),
    "RESOURCE_LEAK": ("high", "return open(path).read()", ""),
    "CODE_INJECTION": ("critical", "return eval(text)", ""),
}


@dataclass
class Team:
    """A reviewer that reports the problems of added lines, and a verifier that knows the truth: `truths` has for each
    type of problem the verdict, the path and the line that shows it. It looks up where moved code stands now."""

    truths: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    reviewed: int = 0
    verified: int = 0

    def __call__(self, request: Received) -> Reply:
        messages = request.body["messages"]
        text = "\n".join(str(message.get("content")) for message in messages)
        if "judge_findings" not in json.dumps(request.body["tools"]):
            self.reviewed += 1
            return self._report(text)
        has_looked_up = messages[-1]["role"] == "tool"
        if "Its code is not where it was" in text and not has_looked_up:
            return Reply(calls=(Call("read_file", {"path": "shop/reading.py"}, id="read"),))
        self.verified += 1
        return self._judge(text)

    def _report(self, text: str) -> Reply:
        part, _, known = text.partition("\nKnown, ")
        rows: list[dict[str, object]] = []
        for kind, (severity, line, suggestion) in PROBLEMS.items():
            shown = re.search(rf"(\d+) \+ +{re.escape(line)}$", part, re.MULTILINE)
            if shown is None or kind in known:
                continue
            row: dict[str, object] = {
                "path": re.findall(r"^## (\S+)", part[: shown.start()], re.MULTILINE)[-1]
            }
            row |= {"line": int(shown[1]), "code_smell_type": kind, "severity": severity}
            row |= {"message": f"{kind} there", "evidence": line, "suggestion": suggestion}
            rows.append(row)
        report = {"done": True, "findings": rows}
        return Reply(calls=(Call("report_findings", report, id="report"),))

    def _judge(self, text: str) -> Reply:
        rows = []
        for name, kind in re.findall(r"^### (F-\d+): (\w+) at", text, re.MULTILINE):
            verdict, path, quote = self.truths[kind]
            rows.append(
                {"id": name, "verdict": verdict, "path": path, "quote": quote, "why": "seen"}
            )
        return Reply(calls=(Call("judge_findings", {"judgements": rows}, id="judge"),))


@dataclass
class Project:
    """The repository of a pull request, and what each of its pushes does on a machine of its own."""

    origin: Path
    hub: FakeGitHub
    team: Team = field(default_factory=Team)
    pushes: int = 0

    def git(self, *words: str) -> str:
        who = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
        done = subprocess.run(
            [*who, *words], cwd=self.origin, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.origin / name).parent.mkdir(exist_ok=True)
            (self.origin / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "Work on orders")

    def push(self) -> tuple[CompletedRun, list[tuple[str, dict[str, Any]]]]:
        """Review what is on the branch; return the run, and what was posted."""
        self.pushes += 1
        hub = self.hub
        hub.head = self.git("rev-parse", "topic")
        hub.base = self.git("merge-base", "main", "topic")
        names = self.git("diff", "--name-only", hub.base, hub.head).split("\n")
        shown = {name: self.git("diff", hub.base, hub.head, "--", name) for name in names}
        hub.patches = {name: diff[diff.index("@@") :] for name, diff in shown.items()}
        clone = self.origin.with_name(f"runner{self.pushes}")
        self.git("clone", "-q", "-b", "topic", str(self.origin), str(clone))
        before = len(hub.posted)
        self.team.reviewed = self.team.verified = 0
        with StrictProvider(self.team) as server:
            home = {"SWECLI_HOME": str(clone.with_name(f"{clone.name}-home"))}
            words = ("--pr", "7", "--post", "--yes", "--fail-on", "high")
            where = ("-C", str(clone), "-m", f"openai/{OPENAI_MODEL}")
            environ = server.environ() | hub.environ() | home
            done = swecli("review", *words, *where, environ=environ)
            assert server.refusals == []
        return done, hub.posted[before:]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    origin = tmp_path / "origin"
    origin.mkdir()
    with FakeGitHub({}) as hub:
        project = Project(origin, hub)
        project.git("init", "-q", "-b", "main")
        project.commit({"shop/orders.py": HEAD, "shop/reading.py": HEAD})
        project.git("checkout", "-q", "-b", "topic")
        yield project


def kinds(posted: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [kind for kind, _ in posted]


def states(done: CompletedRun) -> dict[str, str]:
    """Return the type of each printed finding with its marks."""
    rows = re.findall(r"^F-\d+ (\S+):\d+ (\w+) .*\[(.*)\]$", done.out, re.MULTILINE)
    return {kind: f"{path}: {marks}" for path, kind, marks in rows}


def test_five_pushes_of_a_pull_request(project: Project) -> None:
    orders = "shop/orders.py"
    here = f"{orders}: open, introduced"
    truths = project.team.truths
    truths |= {kind: ("introduced", orders, line) for kind, (_, line, _) in PROBLEMS.items()}
    project.commit({orders: HEAD + SHARE + LABEL + RATES + PARSE})
    done, posted = project.push()
    assert (done.code, kinds(posted)) == (1, ["reviews", "summary"]), done.err
    assert len(posted[0][1]["comments"]) == 4
    assert states(done) == dict.fromkeys(PROBLEMS, here)

    # a maintainer gives a reason, the author says "Done" and repairs nothing, a suggestion that is useless is applied
    hub = project.hub
    hub.reply("The process ends at once.", about="RESOURCE_LEAK")
    hub.reply("Done, see the last commit.", "author", "CONTRIBUTOR", about="DIVISION_BY_ZERO")
    share = SHARE.replace("total / count", "(total) / count")
    label = LABEL.replace("names[1]", "names[0 + 1]")
    truths["DIVISION_BY_ZERO"] = ("introduced", orders, "return (total) / count")
    truths["OFF_BY_ONE"] = ("introduced", orders, "return names[0 + 1]")
    project.commit({orders: HEAD + share + label + RATES + PARSE})
    done, posted = project.push()
    assert (done.code, kinds(posted)) == (1, ["replies", "reopened", "summary edited"])
    assert "This still stands, and counts." in posted[0][1]["body"]
    assert states(done) == {
        "CODE_INJECTION": here,
        "DIVISION_BY_ZERO": here,
        "OFF_BY_ONE": here,
        "RESOURCE_LEAK": f"{orders}: dismissed",
    }

    # a rebase onto another commit of main costs no request and no comment
    project.git("checkout", "-q", "main")
    project.commit({"README.md": "A shop.\n"})
    project.git("checkout", "-q", "topic")
    project.git("rebase", "-q", "main")
    done, posted = project.push()
    assert (done.code, kinds(posted)) == (1, ["summary edited"])
    assert (project.team.reviewed, project.team.verified) == (0, 0)

    # one is repaired, and a function with another moves into another file
    label = LABEL.replace("names[1]", "names[0] if names else ''")
    truths["OFF_BY_ONE"] = ("refuted", orders, "return names[0] if names else ''")
    truths["CODE_INJECTION"] = ("introduced", "shop/reading.py", "return eval(text)")
    project.commit({orders: HEAD + share + label + RATES, "shop/reading.py": HEAD + PARSE})
    done, posted = project.push()
    assert (done.code, kinds(posted)) == (1, ["replies", "resolved", "summary edited"])
    assert "fixed in" in posted[0][1]["body"]
    assert states(done)["CODE_INJECTION"] == "shop/reading.py: open, introduced"

    # the token of a fork may not write
    hub.may_write = False
    share = SHARE.replace("total / count", "total / count if count else 0")
    truths["DIVISION_BY_ZERO"] = ("refuted", orders, "return total / count if count else 0")
    project.commit({orders: HEAD + share + label + RATES})
    done, posted = project.push()
    assert (done.code, kinds(posted)) == (1, [])
    assert "may not write to acme/shop" in done.err
    assert states(done)["CODE_INJECTION"] == "shop/reading.py: open, introduced"
    assert len([row for row in hub.comments if row["path"]]) == 4, "no finding got a second thread"
    assert len(hub.issue) == 1
