"""A session as something to send on: one self-contained HTML page, Markdown or JSON."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from swecli.pages.page import markdown_to_html, render

FORMATS = ("html", "md", "json")
Archive = Mapping[str, Any]  # what `SessionManager.export` gives, redacted
_COUNTED = ("input", "cache_read", "cache_write", "output")
_CHART = 160  # units: the height of the chart's drawing


@dataclass(frozen=True, slots=True)
class _Bar:
    """One turn in the chart: what its requests sent, of which the provider had `cached`, in tokens."""

    turn: int
    sent: int
    cached: int
    height: float
    cached_height: float


def session_as(form: str, whole: Archive) -> str:
    """A session in one of FORMATS."""
    if form == "json":
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return _html(whole) if form == "html" else _markdown(whole)


def _html(whole: Archive) -> str:
    """A session as one page: no script, no request to anywhere, light and dark by the reader's setting."""
    turns = [_turn(whole, at) for at in range(len(whole["interactions"]))]
    sums = {name: sum(one[name] for one in whole["requests"]) for name in _COUNTED}
    return render(
        "session.html",
        title=_title(whole),
        whole=whole,
        turns=turns,
        bars=_bars(whole),
        chart=_CHART,
        sums=sums,
        cost=_cost(whole),
    )


def _markdown(whole: Archive) -> str:
    """A session as Markdown: queries as headings, answers as they are, calls with the first lines of their results."""
    lines = [f"# {_title(whole)}", "", f"{whole['model']} · {whole['directory']} · {whole['created_at'][:10]}", ""]
    for message in whole["messages"]:
        if message["role"] == "user":
            images = "".join(f"\n\n{image['label']} {image['name']}" for image in message.get("images") or ())
            lines += [f"## T{message['interaction']}: {message['content'].strip()}{images}", ""]
        elif message["content"].strip():
            lines += [message["content"].strip(), ""]
        for call in message["tool_calls"]:
            text = _result(call)
            fence = "`" * max(3, 1 + max((len(run) for run in _backticks(text)), default=0))
            lines += [f"**{call['name']}** {_arguments(call)}", "", fence, text, fence, ""]
    return "\n".join(lines)


def _backticks(text: str) -> Iterable[str]:
    return "".join(char if char == "`" else " " for char in text).split()


def _title(whole: Archive) -> str:
    return whole["title"] or whole["first_query"].strip().split("\n")[0][:80] or "An empty session"


def _cost(whole: Archive) -> str:
    """Money where every request has a price, else nothing."""
    prices = [one["cost"] for one in whole["requests"]]
    return f"${sum(prices):,.4f}" if prices and None not in prices and sum(prices) else ""


def _turn(whole: Archive, at: int) -> dict[str, Any]:
    """A turn with its messages, and beside it the strategies it was shown, cited, and left behind."""
    turn, later = whole["interactions"][at], whole["interactions"][at + 1 : at + 2]
    known = {bullet["id"]: bullet for bullet in whole["playbook"]}
    begin, end = turn["started_at"], later[0]["started_at"] if later else "9"
    return {
        "number": turn["number"],
        "status": turn["status"],
        "messages": [_message(one) for one in whole["messages"] if one["interaction"] == turn["number"]],
        "learned": [one for one in whole["playbook"] if begin <= one["created_at"] < end],
        "cited": [known.get(name, {"id": name, "content": ""}) for name in turn["cited"] or ()],
        "shown": len(turn["shown"] or ()),
    }


def _message(message: Archive) -> dict[str, Any]:
    return {
        "role": message["role"],
        "text": message["content"] if message["role"] == "user" else "",
        "images": message.get("images") or (),
        "html": markdown_to_html(message["content"]) if message["role"] != "user" else "",
        "calls": [
            {
                "name": call["name"],
                "arguments": _arguments(call),
                "failed": bool(call["error"]) or call["exit_code"] not in (None, 0) or call["approved"] is False,
                "diff": _diff(call),
                "result": _result(call),
            }
            for call in message["tool_calls"]
        ],
    }


def _arguments(call: Archive) -> str:
    """The arguments on one line; a path or a command alone stands without its name."""
    given = {name: value for name, value in call["parameters"].items() if name not in ("edits", "content")}
    plain = next(iter(given.values())) if len(given) == 1 else None
    return plain if isinstance(plain, str) and "\n" not in plain else json.dumps(given, ensure_ascii=False)


def _result(call: Archive) -> str:
    return (call["error"] or call.get("full_result") or call["result"] or "").rstrip()


def _diff(call: Archive) -> list[tuple[str, str]]:
    """The lines of what an edit replaced and wrote, each with its sign: "+", "-" or " "."""
    given = call["parameters"]
    pairs = [(str(edit.get("old_text", "")), str(edit.get("new_text", ""))) for edit in _edits(given)]
    if isinstance(given.get("content"), str):
        pairs.append(("", given["content"]))
    lines: list[tuple[str, str]] = []
    for old, new in pairs:
        lines += [(line[0], line[2:]) for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+- "]
    return lines


def _edits(given: Archive) -> list[Archive]:
    found = given.get("edits")
    return [edit for edit in found if isinstance(edit, dict)] if isinstance(found, list) else []


def _bars(whole: Archive) -> list[_Bar]:
    """Each turn's tokens, scaled to the largest."""
    sent = {turn["number"]: [0, 0] for turn in whole["interactions"]}
    for one in whole["requests"]:
        if one["purpose"] == "turn" and one["interaction"] in sent:
            sent[one["interaction"]][0] += one["input"] + one["cache_read"] + one["cache_write"]
            sent[one["interaction"]][1] += one["cache_read"]
    scale = _CHART / max((total for total, _ in sent.values()), default=0) if any(t for t, _ in sent.values()) else 0
    return [_Bar(turn, total, cached, total * scale, cached * scale) for turn, (total, cached) in sent.items()]
