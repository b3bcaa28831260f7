"""Format a session as HTML, Markdown or JSON, and spending as HTML; pages have no scripts and load nothing."""

from __future__ import annotations

import difflib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt

from swecli.models.aside import ASIDE, Aside
from swecli.models.errors import BadInput
from swecli.models.message import CallStatus
from swecli.models.money import format_dollars
from swecli.pages.chart import DOLLARS, TOKENS, Bar, Chart, make_chart
from swecli.text import fence

FORMATS = ("html", "md", "json")
_Archive = Mapping[str, Any]  # of `SessionManager.export`, redacted, or a part of it
_TOKEN_COUNTS = ("input", "cache_read", "cache_write", "output")
_CACHED = "; the coloured part came from the cache of the provider"
_DIFF_HEADER = 3  # lines of a unified diff before the first line of text
_MAX_UNFOLDED = 60  # lines of a diff that is not folded: about a screen


def format_session(format_name: str, session: _Archive) -> str:
    """Format an exported session in one of FORMATS."""
    if format_name == "json":
        return json.dumps(session, indent=2, ensure_ascii=False) + "\n"
    if format_name == "html":
        return _session_html(session)
    return _session_markdown(session)


def _session_html(session: _Archive) -> str:
    markdown = _make_markdown()
    return _render(
        "session.html",
        title=_title(session),
        session=session,
        asked_before=[_aside_values(aside, markdown) for aside in _asides(session, 0)],
        turns=[
            _turn_values(session, index, markdown) for index in range(len(session["interactions"]))
        ],
        chart=_turn_chart(session),
        sums={
            name: sum(request[name] for request in session["requests"]) for name in _TOKEN_COUNTS
        },
        cost=_cost(session),
    )


def _make_markdown() -> MarkdownIt:
    """Return what formats the answers of one page: raw HTML is escaped, and pictures are disabled, because a browser
    would fetch them."""
    # late: only such a page needs pygments
    from swecli.pages.code import CodeColors

    options = {"html": False, "highlight": CodeColors().color}
    markdown = MarkdownIt("commonmark", options)
    return markdown.enable(["table", "strikethrough"]).disable("image")


def _session_markdown(session: _Archive) -> str:
    """Format queries as headings, answers as they are, thoughts folded, and calls with their diffs or results as code
    blocks."""
    lines = [f"# {_title(session)}", ""]
    lines += [f"{session['model']} · {session['directory']} · {session['created_at'][:10]}", ""]
    for message in _merge(session["messages"], _asides(session)):
        if isinstance(message, Aside):
            lines += [_quote(f"**Beside the conversation:** {message.question}"), ">"]
            lines += [_quote(message.answer), ""]
            continue
        if message["role"] == "user":
            images = "".join(
                f"\n\n{image['label']} {image['name']}" for image in message.get("images") or ()
            )
            lines += [f"## T{message['interaction']}: {_words(message).strip()}{images}", ""]
            continue
        if thoughts := _thoughts(message):
            lines += ["<details><summary>Thoughts</summary>", "", fence(thoughts), "", "</details>"]
            lines.append("")
        if message["content"].strip():
            lines += [message["content"].strip(), ""]
        for call in message["tool_calls"]:
            lines += [f"**{call['name']}** {_format_arguments(call)}", ""]
            changes = "\n".join(f"{sign}{line}" for sign, line in _changed_lines(call))
            if changes:
                lines += [fence(changes, "diff"), ""]
            if not changes or _has_failed(call):
                lines += [fence(_result(call)), ""]
    return "\n".join(lines)


def _asides(session: _Archive, turn: int | None = None) -> list[Aside]:
    """Return what was asked beside the conversation, or beside one turn (0: before the first one)."""
    asides: list[Aside] = []
    for request in session["requests"]:
        is_of_turn = turn in (None, request["interaction"])
        if request["purpose"] == ASIDE and is_of_turn:
            stored_at = datetime.fromisoformat(request["created_at"])
            aside = Aside.from_extra(request["extra"], stored_at)
            asides += [aside] if aside is not None else []
    return asides


def _merge(messages: Sequence[_Archive], asides: Sequence[Aside]) -> list[_Archive | Aside]:
    """Return messages with what was asked beside them, in the order of time."""
    merged: list[_Archive | Aside] = []
    asides_left = deque(asides)
    for message in messages:
        while asides_left and _is_before(asides_left[0], message):
            merged.append(asides_left.popleft())
        merged.append(message)
    return [*merged, *asides_left]


def _is_before(aside: Aside, message: _Archive) -> bool:
    sent_at = datetime.fromisoformat(message["created_at"])
    return aside.stored_at is not None and aside.stored_at < sent_at


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _words(message: _Archive) -> str:
    """Return what the user said, or where he said nothing what the model was told in his place."""
    return message["content"] or message.get("sent") or ""


def _thoughts(message: _Archive) -> str:
    return (message.get("reasoning") or "").strip()


def _title(session: _Archive) -> str:
    first_line: str = session["first_query"].strip().split("\n")[0]
    return session["title"] or first_line[:80] or "An empty session"


def _cost(session: _Archive) -> str:
    """Return the cost; "" if it is 0 or that of a request is unknown."""
    costs = [request["cost"] for request in session["requests"]]
    return f"${sum(costs):,.4f}" if costs and None not in costs and sum(costs) else ""


def _turn_values(session: _Archive, index: int, markdown: MarkdownIt) -> dict[str, Any]:
    """Return what session.html shows of a turn: its messages, and the bullets that it was shown, cited and learned."""
    turn = session["interactions"][index]
    following = session["interactions"][index + 1 : index + 2]
    bullets = {bullet["id"]: bullet for bullet in session["playbook"]}
    start = turn["started_at"]
    end = following[0]["started_at"] if following else "9"  # after every date as text
    messages = [
        message for message in session["messages"] if message["interaction"] == turn["number"]
    ]
    return {
        "number": turn["number"],
        "status": turn["status"],
        "messages": [
            _aside_values(message, markdown)
            if isinstance(message, Aside)
            else _message_values(message, markdown)
            for message in _merge(messages, _asides(session, turn["number"]))
        ],
        "learned": [
            bullet for bullet in session["playbook"] if start <= bullet["created_at"] < end
        ],
        "cited": [bullets.get(id, {"id": id, "content": ""}) for id in turn["cited"] or ()],
        "shown": len(turn["shown"] or ()),
    }


def _aside_values(aside: Aside, markdown: MarkdownIt) -> dict[str, Any]:
    return {"role": "aside", "text": aside.question, "html": str(markdown.render(aside.answer))}


def _message_values(message: _Archive, markdown: MarkdownIt) -> dict[str, Any]:
    is_query = message["role"] == "user"
    return {
        "role": message["role"],
        "text": _words(message) if is_query else "",
        "images": message.get("images") or (),
        "thoughts": _thoughts(message),
        "html": "" if is_query else str(markdown.render(message["content"])),
        "calls": [_call_values(call) for call in message["tool_calls"]],
    }


def _call_values(call: _Archive) -> dict[str, Any]:
    diff = _changed_lines(call)
    return {
        "name": call["name"],
        "arguments": _format_arguments(call),
        "failed": _has_failed(call),
        "outcome": "refused" if call["status"] == CallStatus.REFUSED else "failed",
        "diff": diff,
        "is_open": 0 < len(diff) <= _MAX_UNFOLDED,
        "result": _result(call),
    }


def _has_failed(call: _Archive) -> bool:
    """Return whether a call failed, was refused or did not end."""
    return call["status"] != CallStatus.FINISHED or call["exit_code"] not in (None, 0)


def _format_arguments(call: _Archive) -> str:
    """Format the arguments as JSON on one line, without file contents; a single line of text alone as it is."""
    arguments = {
        name: value
        for name, value in call["parameters"].items()
        if name not in ("edits", "content")
    }
    if len(arguments) == 1:
        only = next(iter(arguments.values()))
        if isinstance(only, str) and "\n" not in only:
            return only
    return json.dumps(arguments, ensure_ascii=False)


def _result(call: _Archive) -> str:
    return (call["error"] or call.get("full_result") or call["result"] or "").rstrip()


def _changed_lines(call: _Archive) -> list[tuple[str, str]]:
    """Return the lines that an edit or a write changed, with three lines around them, each with "+", "-" or " "; "…"
    stands for what is left out."""
    edits = call["parameters"].get("edits")
    content = call["parameters"].get("content")
    changes: list[tuple[str, str]] = []
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            changes.append((str(edit.get("old_text", "")), str(edit.get("new_text", ""))))
    if isinstance(content, str):
        changes.append(("", content))

    lines: list[tuple[str, str]] = []
    for old, new in changes:
        compared = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")
        if lines:
            lines.append((" ", "…"))
        for line in [*compared][_DIFF_HEADER:]:
            lines.append((" ", "…") if line.startswith("@@") else (line[0], line[1:]))
    return lines


def _turn_chart(session: _Archive) -> Chart | None:
    """Return the chart of the tokens that the requests of each turn sent, and of those cached by the provider."""
    sent_tokens = dict.fromkeys((turn["number"] for turn in session["interactions"]), 0)
    cached = dict(sent_tokens)
    for request in session["requests"]:
        number = request["interaction"]
        if request["purpose"] == "turn" and number in sent_tokens:
            sent_tokens[number] += request["input"] + request["cache_read"] + request["cache_write"]
            cached[number] += request["cache_read"]
    bars = [
        _token_bar(f"T{number}", tokens, cached[number]) for number, tokens in sent_tokens.items()
    ]
    largest = max((bar.amount for bar in bars), default=0)
    note = _CACHED if any(bar.cached for bar in bars) else ""
    return make_chart(TOKENS, f"Tokens sent per turn (largest: {largest:,})", note, bars)


def render_report(spending: dict[str, Any]) -> str:
    """Render the result of `daily_spending` as an HTML page."""
    days = spending["days"]
    period = f"{days[0]['name']} to {days[-1]['name']}"
    tokens = [_token_bar(day["name"][5:], day["sent"], day["cached"]) for day in days]
    dollars = [
        Bar(day["name"][5:], day["cost"] or 0, 0, format_dollars(day["cost"])) for day in days
    ]
    most_tokens = max(bar.amount for bar in tokens)
    most_dollars = max(bar.amount for bar in dollars)
    note = _CACHED if spending["total"]["cached"] else ""
    charts = [
        make_chart(TOKENS, f"Tokens sent a day, {period} (largest: {most_tokens:,})", note, tokens),
        make_chart(
            DOLLARS,
            f"US dollars a day, {period} (largest: {format_dollars(most_dollars)})",
            "",
            dollars,
        ),
    ]
    return _render(
        "report.html",
        title=f"Spent from {period}",
        charts=[chart for chart in charts if chart],
        spending=spending,
    )


def _token_bar(name: str, sent_tokens: int, cached: int) -> Bar:
    return Bar(name, sent_tokens, cached, f"{sent_tokens:,} tokens sent, {cached:,} of them cached")


def write_new_file(path: Path, text: str, hint: str) -> None:
    """Write a new file. Raises BadInput with the hint if it exists or cannot be written."""
    try:
        with path.open("xb") as file:
            file.write(text.encode("utf-8", "replace"))
    except FileExistsError as error:
        raise BadInput(f"{path} exists already.", hint) from error
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", hint) from error


def _render(template: str, **values: Any) -> str:
    """Render a template of this folder; values are escaped unless the template marks them as safe."""
    folder = files("swecli.pages")
    loader = jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8"))
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(template).render(**values)
