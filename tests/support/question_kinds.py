"""Every kind of question at the prompt: what opens it in a terminal, and what answers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.local_servers import NO_LOCAL_SERVERS
from tests.support.shell import script
from tests.support.terminal import Terminal

_F4 = "\x1bOS"
_ESC = "\x1b"


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"text": "", "calls": [{"name": name, "arguments": arguments}]}


_RUN = _call("run_command", command="sh make.sh", access="outside", why="It needs the network.")
_ASK = _call("ask_user", question="Which colour?", choices=["red", "green", "blue as the sea"])
_PLAN = _call("present_plan", plan="Turn the sign.", steps=["Report"])
_OPEN = "Answer with a number"


_CONNECT = ("", "Which model should answer")


@dataclass(frozen=True)
class QuestionKind:
    """`steps` are what is typed until the question is open, each with a pattern on the screen to wait for afterwards.
    `title` is a text that the question shows once. `answer` is typed, and the screen shows the pattern `answered`.
    Without `replies` of a model it is the first start, where none was chosen."""

    steps: Sequence[tuple[str, str]]
    title: str
    answer: str
    answered: str
    replies: Sequence[Any] = ()
    flags: Sequence[str] = ()

    @contextmanager
    def open(self, columns: int, rows: int) -> Iterator[Terminal]:
        """Start the program in a terminal, and open the question."""
        model = ("-m", script("s.json", *self.replies)) if self.replies else ()
        with Terminal(*model, *self.flags, columns=columns, rows=rows, environ=ENVIRON) as terminal:
            if model:
                terminal.wait("· (ask|plan) ·")
            for keys, pattern in self.steps:
                terminal.keys(keys)
                terminal.wait(pattern)
            yield terminal


# no notification
ENVIRON = {
    "SWECLI_REFLECT_WITH_MODEL": "false",
    "SWECLI_LEARN": "false",
    "SWECLI_NOTIFY": "off",
    **NO_LOCAL_SERVERS,
}
QUESTION_KINDS = {
    "permission": QuestionKind(
        steps=[("go\r", _OPEN)],
        title="Run this?",
        answer="3",
        answered="refused",
        replies=[_RUN, "Done."],
    ),
    "instead": QuestionKind(
        steps=[("go\r", _OPEN), ("4", "Esc to skip")],
        title="What to do instead?",
        answer="nothing\r",
        answered="refused",
        replies=[_RUN, "Done."],
    ),
    "of the model": QuestionKind(
        steps=[("go\r", _OPEN)],
        title="Your answer?",
        answer="2",
        answered="answered: green",
        replies=[_ASK, "Done."],
    ),
    "plan": QuestionKind(
        steps=[("go\r", _OPEN)],
        title="Accept this plan?",
        answer="3",
        answered="refused",
        replies=[_PLAN, "Done."],
        flags=("--mode", "plan"),
    ),
    "list": QuestionKind(
        steps=[("/model\r", "type to search")],
        title="type to search",
        answer=_ESC,
        answered="^>$",
        replies=["Done."],
    ),
    "list with keys": QuestionKind(
        steps=[
            ("say one\r", "no cost[^~]*^>$"),
            ("say two\r", "Two[^~]*no cost[^~]*^>$"),
            ("say three\r", "F4 to list[^~]*Three[^~]*no cost[^~]*^>$"),
            (_F4, "Esc closes"),
        ],
        title="Turns that are not sent any more",
        answer=_ESC,
        answered="^>$",
        replies=["One.", "Two.", "Three."],
        flags=("--window", "1"),
    ),
    "first start": QuestionKind(
        steps=[_CONNECT],
        title="Which model should answer?",
        answer=_ESC,
        answered="Nothing was changed",
    ),
    "key": QuestionKind(
        steps=[_CONNECT, ("2", "Your key of openai")],
        title="Your key of openai",
        answer=_ESC,
        answered="Nothing was changed",
    ),
}
