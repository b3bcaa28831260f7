"""Two people with a clone each, on machines of their own, who share, change and switch off strategies over ten commits
with merges: what the next request of each holds, and which line it is told."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from swecli.config.paths import Paths
from swecli.config.project_files import SHARED_FOLDER, read_project_files
from swecli.config.trust import TrustLedger
from tests.support.shell import COMMAND, environment
from tests.support.strict_provider import Call, Received, Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

CHECK = "run the tests with `make check`"
CHECK_ALL = "run the tests with `make check-all`"
BRITISH = "texts for people are in British English"
LINES = "lines have at most 88 characters"
LINES_CHANGED = "lines have at most 100 characters"
_VERIFY = "please verify it"
_IN_PROMPT = re.compile(r"^- \[P-\d+\] (?:\(unconfirmed\) )?(.*)$", re.MULTILINE)
_TOLD = re.compile(rf"^.*(?:Shared strategies|{re.escape(SHARED_FOLDER)}/).*$", re.MULTILINE)


@dataclass
class Person:
    """One person: a home and a clone."""

    name: str
    folder: Path
    server: StrictProvider

    @property
    def clone(self) -> Path:
        return self.folder / "clone"

    @property
    def environ(self) -> dict[str, str]:
        home = self.folder / "home"
        own = {"HOME": str(home), "SWECLI_HOME": str(home / "swecli")}
        return environment({**own, **self.server.environ()})

    def git(self, *arguments: str, check: bool = True) -> str:
        return str(self._run(["git", *arguments], check=check).stdout)

    def swecli(self, *arguments: str) -> str:
        """Run a command of swecli and return what it printed, to either stream."""
        done = self._run([*COMMAND, *arguments], check=True)
        return f"{done.stdout}{done.stderr}"

    def commit(self, message: str) -> None:
        """Commit everything, and send it to the common repository."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        self.git("pull", "-q", "--no-edit")
        self.git("push", "-q")

    def add(self, text: str) -> str:
        """Store a strategy and return its id."""
        found = re.search(r"P-\d+", self.swecli("playbook", "add", text))
        assert found, "it names what it added"
        return found[0]

    def id_of(self, text: str) -> str:
        """Return the id of the strategy with a text."""
        listed = self.swecli("playbook", "list")
        return next(line.split()[0] for line in listed.splitlines() if text in line)

    def trust(self) -> None:
        """Trust the files of the clone as they are now, as `/trust` does after its question."""
        ledger = TrustLedger.find(Paths.find(self.environ))
        ledger.approve(self.clone.resolve(), read_project_files(self.clone))

    def ask(self, query: str = "hello") -> tuple[list[str], list[str]]:
        """Ask the model something; return the strategies of that request, and the lines about shared ones."""
        model = f"openai/{OPENAI_MODEL}"
        told = self.swecli("-p", query, "-m", model, "--mode", "auto", "--no-reflect")
        system = str(self.server.bodies[-1]["messages"][0]["content"])
        return _IN_PROMPT.findall(system), _TOLD.findall(told)

    def _run(self, command: Sequence[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.clone, env=self.environ, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{self.name}: {command}: {done.stdout}{done.stderr}")
        return done


@dataclass
class Row:
    """What a person sees after something has happened."""

    what: str
    sees: dict[str, tuple[list[str], list[str]]]  # of each person: strategies, lines


@dataclass
class TwoClones:
    """The story. `ada` and `ben` share a repository that both push to."""

    folder: Path
    rows: list[Row] = field(default_factory=list)
    evidence: list[str] = field(
        default_factory=list
    )  # what each is shown of what the rule on tests did

    def play(self) -> list[Row]:
        """Play it and return a row for each thing that happened, and collect what each is shown at the end."""
        with StrictProvider(_answer) as server:
            self.ada, self.ben = (
                Person(name, self.folder / name, server) for name in ("Ada", "Ben")
            )
            self._make_clones()
            self._both_trust()
            for what, happen in self._story():
                happen()
                seen = {person.name: person.ask() for person in (self.ada, self.ben)}
                self.rows.append(Row(what, seen))
            self.evidence = evidence_of((self.ada, self.ben), CHECK_ALL)
        return self.rows

    def _make_clones(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        common = self.folder / "common.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(common)], check=True)
        for person in (self.ada, self.ben):
            (person.folder / "home").mkdir(parents=True)
            subprocess.run(
                ["git", "clone", "-q", str(common), str(person.clone)],
                check=True,
                stderr=subprocess.DEVNULL,
            )
            person.git("config", "user.name", person.name)
            person.git("config", "user.email", f"{person.name.lower()}@example.org")
            person.git("config", "pull.rebase", "false")
            if person is self.ada:
                (person.clone / "Makefile").write_text("check check-all:\n\t@true\n")
                person.git("checkout", "-q", "-B", "main")
                person.git("add", "-A")
                person.git("commit", "-q", "-m", "Begin")
                person.git("push", "-q", "-u", "origin", "main")

    def _story(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield what happens, with the numbers of its commits."""
        yield "1. Ada shares how tests are run; Ben pulls", self._ada_shares
        yield "Ben trusts what he sees", self.ben.trust
        yield "2. Ben rewords it; Ada pulls", self._ben_rewords
        yield "Ada trusts it", self.ada.trust
        yield "3, 4. both share one at the same time, and merge", self._both_share
        yield "both trust what they see", self._both_trust
        yield "Ada switches Ben's rule on lines off", self._ada_switches_off
        yield "5. Ben changes that rule; Ada pulls and trusts it", self._ben_changes_lines
        yield "6, 7. both change the rule on tests: Ada's merge conflicts", self._conflict
        yield "8. Ada takes Ben's text; Ben pulls, both trust", self._resolve
        yield "9, 10. both share what came of it, and merge", self._share_evidence
        yield "11. Ben removes Ada's rule on texts; Ada pulls", self._remove

    def _ada_shares(self) -> None:
        self.ada.swecli("playbook", "share", self.ada.add(CHECK))
        self.ada.commit("Share how tests are run")
        self.ben.git("pull", "-q")

    def _ben_rewords(self) -> None:
        name = self.ben.id_of(CHECK)
        self.ben.swecli("playbook", "edit", name, CHECK_ALL)
        self.ben.swecli("playbook", "share", name)
        self.ben.commit("Reword how tests are run")
        self.ada.git("pull", "-q")

    def _both_trust(self) -> None:
        self.ada.trust()
        self.ben.trust()

    def _both_share(self) -> None:
        self.ada.swecli("playbook", "share", self.ada.add(BRITISH))
        self.ben.swecli("playbook", "share", self.ben.add(LINES))
        self.ada.commit("Share the language of texts")
        self.ben.commit("Share the length of lines")
        self.ada.git("pull", "-q")

    def _ada_switches_off(self) -> None:
        self.ada.swecli("playbook", "edit", self.ada.id_of(LINES), "--off")

    def _ben_changes_lines(self) -> None:
        name = self.ben.id_of(LINES)
        self.ben.swecli("playbook", "edit", name, LINES_CHANGED)
        self.ben.swecli("playbook", "share", name)
        self.ben.commit("Allow longer lines")
        self.ada.git("pull", "-q")
        self.ada.trust()

    def _conflict(self) -> None:
        for person, text in (
            (self.ben, f"{CHECK_ALL} twice"),
            (self.ada, f"{CHECK_ALL} in parallel"),
        ):
            name = person.id_of(CHECK_ALL)
            person.swecli("playbook", "edit", name, text)
            person.swecli("playbook", "share", name)
        self.ben.commit("Run the tests twice")
        self.ada.git("add", "-A")
        self.ada.git("commit", "-q", "-m", "Run the tests in parallel")
        self.ada.git("pull", "-q", "--no-edit", check=False)

    def _resolve(self) -> None:
        self.ada.git("checkout", "--theirs", SHARED_FOLDER)
        self.ada.git("add", "-A")
        self.ada.git("commit", "-q", "-m", "Merge: run the tests twice")
        self.ada.git("push", "-q")
        self.ben.git("pull", "-q")
        self._both_trust()

    def _share_evidence(self) -> None:
        for person in (self.ada, self.ben):
            person.ask(_VERIFY)
            person.swecli("playbook", "share", "--evidence")
        self.ada.commit("Share what came of it")
        self.ben.commit("Share what came of it")
        self.ada.git("pull", "-q")

    def _remove(self) -> None:
        [file] = [
            file
            for file in (self.ben.clone / SHARED_FOLDER).glob("*.md")
            if BRITISH in file.read_text(encoding="utf-8")
        ]
        file.unlink()
        self.ben.commit("Remove the language of texts")
        self.ada.git("pull", "-q")


def _answer(request: Received) -> Reply:
    """Play the model: asked for the tests, it runs them, and cites the strategy that says how."""
    messages = request.body["messages"]
    if _VERIFY not in str(messages[1]["content"]):
        return Reply("Hello.")
    if messages[-1]["role"] != "tool":
        return Reply(calls=(Call("run_command", {"command": "make check-all"}),))
    system = str(messages[0]["content"])
    cited = next(
        (line[2:].split()[0] for line in system.splitlines() if "`make check-all`" in line), ""
    )
    return Reply(f"They pass {cited}.")


def render(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table: a strategy by its distinctive words."""
    lines = ["| what happens | Ada's next request has | Ben's next request has |", "|---|---|---|"]
    for row in rows:
        lines.append(f"| {row.what} | {_cell(row.sees['Ada'])} | {_cell(row.sees['Ben'])} |")
    return "\n".join(lines) + "\n"


def _cell(seen: tuple[list[str], list[str]]) -> str:
    strategies, told = seen
    texts = " · ".join(sorted(strategies)) or "nothing"
    notices = "".join(f"<br>*{line.removeprefix('swecli: ')}*" for line in told)
    return texts + notices


def evidence_of(people: Sequence[Person], text: str) -> list[str]:
    """Return what `/playbook show` says at each person of who saw what of a strategy."""
    shown = []
    for person in people:
        lines = person.swecli("playbook", "show", person.id_of(text)).splitlines()
        shown += [
            f"{person.name} reads of the rule on tests: {line.strip()}"
            for line in lines
            if re.match(r"\s+(?:Ada|Ben): ", line)
        ]
    return shown
