"""A summary of a conversation made by rules: requests in order, files, commands with their ends, the last answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.texts import shortened
from swecli.llm.demo.view import Interaction, Made, interactions, text_of
from swecli.models.message import ApiMessage

LONGEST_QUERY = 160
LONGEST_ANSWER = 400


def condense(messages: Sequence[ApiMessage]) -> str:
    """The summary, under the headings that a summary is asked for; never empty.

    It is at most half as long as what the messages hold: then it stops after the lines that fit.
    """
    parts = list(interactions(messages))
    if len(parts) > 1 and not parts[-1].made and not parts[-1].answer:
        parts.pop()  # the request for the summary itself
    source = sum(len(text_of(message.get("content"))) for message in messages if message.get("role") != "system")
    return _fitting(_lines(parts), max(40, source // 2))


def _lines(parts: list[Interaction]) -> list[str]:
    made = [made for part in parts for made in part.made]
    commands = [f"- `{m.call.command}`: {ending(m)}" for m in made if m.call.command]
    answer = shortened(parts[-1].answer, LONGEST_ANSWER) if parts else ""
    sections: tuple[tuple[str, list[str]], ...] = (
        ("## Request", [f"{n}. {shortened(part.query, LONGEST_QUERY)}" for n, part in enumerate(parts, 1)]),
        ("## Done", [*_paths(made, ("write_file", "edit_file"), "changed"), *commands]),
        ("## Known", [*_paths(made, ("read_file",), "read"), *([f"Last answer: {answer}"] if answer else [])]),
        ("## Open", []),
    )
    return [line for title, body in sections for line in (title, *(body or ["None."]))]


def _paths(made: Iterable[Made], names: tuple[str, ...], verb: str) -> list[str]:
    done = (m.call.path for m in made if m.call.name in names and Outcome(m.call, m.result or "").ok)
    return [f"- {verb} {path}" for path in dict.fromkeys(done) if path]


def ending(made: Made) -> str:
    """How a command ended, in two or three words."""
    outcome = Outcome(made.call, made.result or "")
    if outcome.exit_code is not None:
        return f"exit code {outcome.exit_code}"
    return "refused" if outcome.refused else "no result"


def _fitting(lines: list[str], limit: int) -> str:
    """As many lines as fit, the first cut if it alone is too long."""
    text = lines[0][:limit]
    for line in lines[1:]:
        if len(text) + len(line) + 1 > limit:
            return text
        text += "\n" + line
    return text
