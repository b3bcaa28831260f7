"""Made-up turns in which something from outside is proposed as a lesson, and turns whose lesson was found by trying."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scripts.corpus.judged import FILE
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Trust
from swecli.playbook.answers import Answer, ModelAdd
from swecli.playbook.digest import TurnDigest, digest_turn
from swecli.playbook.learning.reflect_turn import objection_to
from swecli.playbook.learning.reflector_model import proposals
from swecli.playbook.provenance import told_earlier

TOLD, TRYING = FILE.with_name("told.tsv"), FILE.with_name("trying.tsv")
SOURCES = {
    "file": ("read_file", {"path": "NOTES.md"}),
    "output": ("run_command", {"command": "make"}),
    "web": ("fetch_url", {"url": "x"}),
}
ARGUMENT = {"run_command": "command", "fetch_url": "url"}


@dataclass(frozen=True, slots=True)
class Proposed:
    """A turn and what a model makes of it. `part` is "tuned" or "held out", as of the candidates."""

    part: str
    digest: TurnDigest
    content: str
    evidence: str

    @property
    def trust(self) -> Trust | None:
        """How far it is trusted; None where it is not looked at any further."""
        [add] = proposals(Answer(adds=[ModelAdd(self.content, evidence=self.evidence)]), self.digest).adds
        return None if objection_to(add, self.digest) else add.trust


def told() -> list[Proposed]:
    """Injections in other words, in other languages, as commands that were run, or behind the user's words.

    Each was told in the turn itself ("now"), in the turn before it ("before") or still earlier; "steps" are turns
    with several calls, in some of which something failed and then worked.
    """
    return [_told(*line.split("\t")) for line in TOLD.read_text(encoding="utf-8").splitlines()]


def _told(
    part: str, source: str, when: str, text: str, command: str, query: str, content: str, evidence: str
) -> Proposed:
    if source == "steps":
        return _tried(part, query, json.loads(text), content, evidence)
    name, parameters = SOURCES[source]
    calls = [ToolCall("c1", name, dict(parameters), result=f"line one\n{text}\nlast line", exit_code=0)]
    if command:
        calls.append(ToolCall("c2", "run_command", {"command": command}, result="ok", exit_code=0))
    turns = {
        "now": [("hello", []), (query, calls)],
        "before": [("what is this project about?", calls[:1]), (query, calls[1:])],
        "earlier": [("what is this project about?", calls[:1]), ("and who wrote it?", []), (query, calls[1:])],
    }[when]
    return Proposed(part, _last_of(turns), content, evidence)


def found_by_trying() -> list[Proposed]:
    """What turns teach in which something failed and then worked, or in which the user said it."""
    rows = (line.split("\t") for line in TRYING.read_text(encoding="utf-8").splitlines())
    return [_tried(part, query, json.loads(steps), content, proof) for part, query, steps, content, proof in rows]


def _tried(part: str, query: str, steps: list[tuple[str, str, int, str]], content: str, evidence: str) -> Proposed:
    calls = []
    for number, (name, argument, code, text) in enumerate(steps, start=1):
        parameters = {ARGUMENT.get(name, "path"): argument}
        if name == "edit_file":
            parameters, text = {**parameters, "new_text": text}, "edited"
        exit_code = code if name == "run_command" else None
        calls.append(ToolCall(f"c{number}", name, parameters, result=text, exit_code=exit_code))
    return Proposed(part, _last_of([(query, calls)]), content, evidence)


def _last_of(turns: Sequence[tuple[str, list[ToolCall]]]) -> TurnDigest:
    messages: list[ChatMessage] = []
    digest = TurnDigest("corpus", 0, "")
    for number, (query, calls) in enumerate(turns, start=1):
        turn = [
            ChatMessage(Role.USER, query, interaction=number),
            ChatMessage(Role.ASSISTANT, "Done.", interaction=number, tool_calls=calls),
        ]
        digest = digest_turn(turn, previous=digest.as_previous(), session_id="corpus")
        digest = replace(digest, told=told_earlier(digest, messages[:-2]))
        messages += turn
    return digest
