"""Generate a session of mixed work from a seed: reads, searches, edits, commands, talk, pauses, strategies.

The texts are random words in realistic forms: code has indents and long names, results are as short or long as real
ones, one in twenty is very long, and one turn in five follows a pause that outlasts a provider's cache.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from swecli.context.situation import environment_notes
from swecli.models.notes import notes_to_json
from swecli.models.window_spec import WindowSpec

BEGAN = datetime(2025, 3, 3, 9, tzinfo=UTC)
PAUSED = 0.2  # share of turns after a long pause
LEARNED = 0.12  # share of turns that leave a strategy
LONG_RESULT = 0.05  # share of results as long as a tool allows
LONGEST = 30_000  # characters of such a result
SOON, LATE = (15, 150), (400, 9_000)  # seconds before a turn, without and with a pause

WORDS = tuple(
    """
    account address amount answer archive balance basket billing border branch buffer bundle button cache cancel
    cart catalog category change charge check client column commit config contact copy count coupon credit
    currency customer default delivery discount draft error event export factor filter folder format gateway
    group handler header import index inventory invoice item label ledger length level limit list margin market
    member merge method module monthly notice number offer option order package page parser partner payment
    period policy price process product profile quantity query queue quote range rate reader receipt record
    refund region report request result return round sale schema score season section seller service session
    shipment shop size source stock store subtotal summary supplier table target tax tenant token total tracker
    transfer type unit update user value vendor version voucher warehouse weight window writer year zone
    """.split()  # noqa: SIM905  one word a line would be two pages
)
PLAIN = tuple(
    """
    the a of to and in is that it for on with as this by not are be from when which one all so only after before
    then because where here there again also without until both each
    """.split()  # noqa: SIM905  one word a line would be two pages
)
KINDS = {"read": 28, "search": 20, "edit": 26, "command": 16, "talk": 10}


def exported(turns: int, seed: int, model: str) -> dict[str, Any]:
    """Return the session in the format of `swecli sessions export` and `import`."""
    return _Work(random.Random(f"{seed} {turns}"), turns).session(turns, seed, model)


class _Work:
    def __init__(self, rng: random.Random, turns: int) -> None:
        self.rng = rng
        self.now = BEGAN
        self.messages: list[dict[str, Any]] = []
        self.calls = 0
        self.late = (
            set(rng.sample(range(2, turns + 1), min(turns - 1, round(PAUSED * turns))))
            if turns > 1
            else set()
        )
        self.files = [
            f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{rng.choice(WORDS)}.py" for _ in range(60)
        ]

    def session(self, turns: int, seed: int, model: str) -> dict[str, Any]:
        rows, strategies = [], []
        for number in range(1, turns + 1):
            began = self.turn(number)
            rows.append(
                {"number": number, "status": "done", "started_at": began, "finished_at": self.at()}
            )
            if self.rng.random() < LEARNED:
                strategies.append(self.strategy())
        digits = f"{self.rng.getrandbits(128):032x}"
        return {
            "id": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])),
            "directory": "/home/dev/shop",
            "title": f"mixed work {turns}, seed {seed}",
            "model": model,
            "window_spec": str(WindowSpec(5, 3)),
            "first_query": self.messages[0]["content"][:200],
            "created_at": BEGAN.isoformat(),
            "updated_at": self.at(),
            "interactions": rows,
            "messages": self.messages,
            "playbook": strategies,
        }

    def at(self) -> str:
        return self.now.isoformat()

    def turn(self, number: int) -> str:
        """Add one interaction: a question, some steps with calls, an answer. Returns its start time."""
        low, high = LATE if number in self.late else SOON
        self.pass_by(self.rng.randint(low, high))
        began, query = self.at(), self.sentence(self.rng.randint(8, 45))
        notes = environment_notes(Path("/home/dev/shop"), self.now.date(), "linux")
        self.say(number, "user", query, notes=notes_to_json(notes))
        kind = self.rng.choices(list(KINDS), list(KINDS.values()))[0]
        for calls in STEPS[kind](self):
            self.pass_by(self.rng.randint(3, 18))
            took = sum(call["duration_ms"] for call in calls)
            self.say(number, "assistant", self.sentence(self.rng.randint(0, 25)), tool_calls=calls)
            self.pass_by(took / 1000)
        self.pass_by(self.rng.randint(4, 30))
        self.say(number, "assistant", self.prose(self.rng.randint(40, 260)))
        return began

    def say(self, number: int, role: str, content: str, **more: Any) -> None:
        message = {"role": role, "content": content, "interaction": number, "created_at": self.at()}
        self.messages.append(message | more)

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def call(
        self, name: str, parameters: dict[str, Any], result: str, seconds: float = 0.05
    ) -> dict[str, Any]:
        self.calls += 1
        if self.rng.random() < LONG_RESULT:
            result = self.longer(result)
        milliseconds = round(seconds * 1000)
        call_id = f"call_{self.calls:05d}"
        return {
            "id": call_id,
            "name": name,
            "parameters": parameters,
            "result": result,
            "duration_ms": milliseconds,
        }

    def longer(self, text: str) -> str:
        while len(text) < LONGEST:
            text += "\n" + self.code(80)
        return text[:LONGEST]

    def name(self) -> str:
        return f"{self.rng.choice(WORDS)}_{self.rng.choice(WORDS)}"

    def file(self) -> str:
        return self.rng.choice(self.files)

    def sentence(self, words: int) -> str:
        chosen = [
            self.rng.choice(PLAIN if self.rng.random() < 0.5 else WORDS) for _ in range(words)
        ]
        return " ".join(chosen).capitalize() + ("." if chosen else "")

    def prose(self, words: int) -> str:
        sentences = [self.sentence(self.rng.randint(6, 20)) for _ in range(max(1, words // 13))]
        return " ".join(sentences) + f" See `{self.file()}`."

    def code(self, lines: int) -> str:
        return "\n".join(self.code_line() for _ in range(lines))

    def code_line(self) -> str:
        indent = "    " * self.rng.randint(0, 3)
        one, two, three = self.name(), self.name(), self.rng.choice(WORDS)
        shapes = (
            f"def {one}(self, {two}: int, {three}: str) -> None:",
            f"{one} = self.{two}({three}, {self.rng.randint(0, 999)})",
            f"if {one} is not None and {two}.{three} > {self.rng.randint(0, 99)}:",
            f"return {one}[{three}].{two}()",
            f"# {self.sentence(9)}",
            "",
        )
        return indent + self.rng.choice(shapes)

    def strategy(self) -> dict[str, Any]:
        self.pass_by(3)
        words = {"content": self.sentence(self.rng.randint(9, 22)), "created_at": self.at()}
        return words | {"kind": "strategy", "scope": "session", "state": "active", "trust": "user"}

    def read(self) -> dict[str, Any]:
        first, count = self.rng.randint(1, 300), self.rng.randint(40, 220)
        lines = self.code(count).split("\n")
        shown = "\n".join(f"{first + n:>5}  {line}" for n, line in enumerate(lines))
        given = {"path": self.file(), "start_line": first, "end_line": first + count}
        return self.call("read_file", given, shown)

    def search(self) -> dict[str, Any]:
        found = [
            f"{self.file()}:{self.rng.randint(1, 900)}: {self.code_line()}"
            for _ in range(self.rng.randint(3, 60))
        ]
        return self.call(
            "search_files", {"pattern": self.name(), "glob": "*.py"}, "\n".join(found), 0.3
        )

    def edit(self) -> dict[str, Any]:
        path, old, new = (
            self.file(),
            self.code(self.rng.randint(2, 12)),
            self.code(self.rng.randint(3, 20)),
        )
        given = {"path": path, "edits": [{"old_text": old, "new_text": new}]}
        return self.call("edit_file", given, f"{path}: 1 place changed\n{self.code(6)}", 0.1)

    def command(self) -> dict[str, Any]:
        lines = [
            f"{self.file()}::test_{self.name()} PASSED" for _ in range(self.rng.randint(5, 120))
        ]
        given = {"command": f"pytest -v {self.file()}"}
        return self.call(
            "run_command", given, "\n".join(lines) + "\nexit code 0", self.rng.randint(1, 40)
        )


Steps = Callable[[_Work], list[list[dict[str, Any]]]]


def _read(work: _Work) -> list[list[dict[str, Any]]]:
    return [
        [work.read() for _ in range(work.rng.choice((1, 1, 2)))]
        for _ in range(work.rng.randint(1, 4))
    ]


def _search(work: _Work) -> list[list[dict[str, Any]]]:
    return [
        [work.search()],
        *([work.search()] for _ in range(work.rng.randint(0, 2))),
        [work.read()],
    ]


def _edit(work: _Work) -> list[list[dict[str, Any]]]:
    edits = [[work.edit()] for _ in range(work.rng.randint(1, 4))]
    return [[work.search()], [work.read()], *edits, [work.command()]]


def _command(work: _Work) -> list[list[dict[str, Any]]]:
    return [[work.command()] for _ in range(work.rng.randint(1, 3))]


def _talk(work: _Work) -> list[list[dict[str, Any]]]:
    return []


STEPS: dict[str, Steps] = {
    "read": _read,
    "search": _search,
    "edit": _edit,
    "command": _command,
    "talk": _talk,
}
