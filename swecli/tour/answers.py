"""The answers of the tour: results as quotations, and for anything else what it is and understands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swecli.models.message import ApiMessage
from swecli.tour.requests import Made, calls_in, own_words, results_in
from swecli.tour.steps import Step

_MOST_LINES = 40
_SUMMARY_LINES = 15
_LONGEST = 200

ABOUT = """\
This is the tour: a stand-in that shows how swecli works, without a network. It is no language model and understands \
six sentences, one a line:

- `list shop`: what is in a folder
- `read shop/prices.py`, or `read lines 1-20 of shop/prices.py`
- `search for "TAX" in shop`
- `change "0.19" to "0.21" in shop/prices.py`: shown as a diff, done when you allow it
- `run the tests`, or `run the tests with "npm test"`: asked first, then the exit code
- `remember that prices are in cents`: kept in the playbook

For real work name a model: set a key such as `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start again, or choose one \
with `swecli -m provider/name` or `/model provider/name`. `swecli models` lists the models you can use."""

REMEMBERED = """\
The words are yours and no model is needed: swecli stores them itself, right after this answer. The line with `+` \
shows it, `/playbook` lists it, `/prompt` shows it in the next request."""

NO_REVIEW = "The tour reviews nothing, so it finds nothing. Name a model for a review: -m provider/name"
NO_LESSONS = '{"tags": [], "add": []}'


def answer(steps: Sequence[Step], made: Sequence[Made]) -> str:
    """The turn's last message: what each call brought, in the words of its result."""
    parts, results = [], iter(made)
    for step in steps:
        result = next(results, None) if step.call else None
        if step.intent == "remember":
            parts.append(REMEMBERED)
        elif step.head and result is not None:
            parts.append(_report(step, result))
    return "\n\n".join(parts)


def _report(step: Step, made: Made) -> str:
    text = made.result or "(no result)"
    if step.intent != "test":
        return f"{step.head}:\n{quoted(text)}"
    command, code = made.call.arguments.get("command", ""), made.exit_code
    how = "did not run" if code is None else f"ended with exit code {code}"
    return f"{step.head}: `{command}` {how}.\n{quoted(text)}"


def quoted(text: str) -> str:
    """The text as a block, cut after `_MOST_LINES` lines; ends with a line end."""
    lines = text.split("\n")
    more = [f"… {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall(r"`+", text)), 3)
    return "\n".join([fence, *lines[:_MOST_LINES], *more, fence]) + "\n"


def condense(messages: Sequence[ApiMessage]) -> str:
    """A summary: the first request, the files, the commands with their exit codes; 15 lines at most."""
    asked = [words for message in messages if message.get("role") == "user" and (words := own_words(message))]
    made = calls_in(messages, results_in(messages))
    paths = dict.fromkeys(str(one.call.arguments.get("path") or "") for one in made)
    commands = [
        f"- `{_short(str(one.call.arguments.get('command') or ''))}`: exit code {one.exit_code}"
        for one in made
        if one.exit_code is not None
    ]
    files = [f"- {_short(path)}" for path in paths if path]
    room = _SUMMARY_LINES - 6
    files = files[-max(room // 2, room - len(commands)) :]
    commands = commands[-(room - len(files)) :]
    lines = ["## Request", _short(asked[0]) if asked else "None."]
    lines += ["## Done", *(commands or ["None."]), "## Known", *(files or ["None."])]
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
