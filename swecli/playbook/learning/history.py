"""Learn from the commits in which a project took something back: the question about them, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from swecli.llm.model_json import read_object
from swecli.models.json_value import JsonObject
from swecli.models.past_commit import PastCommit
from swecli.models.playbook import Evidence, length_problem
from swecli.playbook.learning.question import fence
from swecli.playbook.moving_in import Proposal
from swecli.playbook.ranking import clean
from swecli.redact import has_secret, redact
from swecli.text import shorten, truncate
from swecli.values import dataclass

_MAX_TEXT = 600  # characters of a message in the question
_MAX_FILES = 8  # of a commit, in the question
_MAX_LESSONS = 10
_MAX_QUOTE = 80  # characters of a subject that is shown as a source


def build_question(commits: Sequence[PastCommit]) -> str:
    """Format commits, without secrets, as one fenced JSON object."""
    return fence({"commits": [_to_json(commit) for commit in commits]})


def _to_json(commit: PastCommit) -> JsonObject:
    return {
        "id": commit.id,
        "on": commit.date,
        "kind": commit.kind,
        "subject": redact(commit.subject),
        "text": truncate(redact(commit.text), _MAX_TEXT),
        "files": [redact(name) for name in commit.files[:_MAX_FILES]],
    }


def _quote(commit: PastCommit) -> Evidence:
    """Return a commit as evidence for a proposal."""
    subject = shorten(redact(commit.subject), _MAX_QUOTE)
    return Evidence(f"commit {commit.id} of {commit.date}", subject, trust="tool")


def lessons_schema() -> JsonObject:
    """Return the JSON schema of an answer."""
    text = {"type": "string"}
    lesson = {
        "type": "object",
        "properties": {"text": text, "commits": {"type": "array", "items": text}},
        "required": ["text", "commits"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"lessons": {"type": "array", "items": lesson}},
        "required": ["lessons"],
        "additionalProperties": False,
    }


@dataclass(slots=True)
class HistoryAnswer:
    """The proposals of an answer, and a line for each lesson that cannot be one."""

    proposals: list[Proposal] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def read_answer(text: str, commits: Sequence[PastCommit]) -> tuple[HistoryAnswer, str]:
    """Parse an answer. Returns what it proposes, and what is wrong with it, "" for nothing."""
    value, problem = read_object(text, lessons_schema())
    answer = HistoryAnswer()
    if problem:
        return answer, problem
    commits_by_id = {commit.id: commit for commit in commits}
    for lesson in value["lessons"][:_MAX_LESSONS]:
        content = clean(lesson["text"])
        objection = _objection(content, lesson["commits"], commits_by_id)
        if objection:
            answer.left_out.append(f'"{shorten(redact(content), _MAX_QUOTE)}": {objection}')
        else:
            commit_ids = dict.fromkeys(lesson["commits"])
            sources = tuple(_quote(commits_by_id[name]) for name in commit_ids)
            answer.proposals.append(Proposal(content, sources))
    return answer, ""


def _objection(
    content: str, commit_ids: Sequence[str], commits_by_id: Mapping[str, PastCommit]
) -> str:
    """Return why a lesson cannot be proposed, "" if it can."""
    unknown = [name for name in commit_ids if name not in commits_by_id]
    if unknown:
        return f"it names a commit that was not asked about: {unknown[0]:.20}"
    if not commit_ids:
        return "it names no commit"
    if not content:
        return "it is empty"
    if has_secret(content):
        return "it contains a secret"
    return length_problem(content)
