"""A session, or what was spent over days, as something to send on: one self-contained HTML page, no script, no style or
picture from elsewhere, light and dark by the reader's setting; a session as Markdown or JSON too."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt

from swecli.models.errors import BadInput

FORMATS = ("html", "md", "json")
_Archive = Mapping[str, Any]  # what `SessionManager.export` gives, redacted
_COUNTED = ("input", "cache_read", "cache_write", "output")
_CHART = 160  # units: the height of the chart's drawing
# HTML of a model or of a repository is text; a picture would be fetched from wherever it says
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def format_session(form: str, whole: _Archive) -> str:
    """A session in one of FORMATS."""
    if form == "json":
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return _html(whole) if form == "html" else _markdown(whole)


def _html(whole: _Archive) -> str:
    turns = [_turn(whole, at) for at in range(len(whole["interactions"]))]
    sums = {name: sum(one[name] for one in whole["requests"]) for name in _COUNTED}
    return _render(
        "session.html",
        title=_title(whole),
        whole=whole,
        turns=turns,
        bars=_bars(whole),
        chart=_CHART,
        sums=sums,
        cost=_cost(whole),
    )


def _markdown(whole: _Archive) -> str:
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
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            lines += [f"**{call['name']}** {_arguments(call)}", "", fence, text, fence, ""]
    return "\n".join(lines)


def _title(whole: _Archive) -> str:
    return whole["title"] or whole["first_query"].strip().split("\n")[0][:80] or "An empty session"


def _cost(whole: _Archive) -> str:
    """Money where every request has a price, else nothing."""
    prices = [one["cost"] for one in whole["requests"]]
    return f"${sum(prices):,.4f}" if prices and None not in prices and sum(prices) else ""


def _turn(whole: _Archive, at: int) -> dict[str, Any]:
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


def _message(message: _Archive) -> dict[str, Any]:
    return {
        "role": message["role"],
        "text": message["content"] if message["role"] == "user" else "",
        "images": message.get("images") or (),
        "html": _markdown_to_html(message["content"]) if message["role"] != "user" else "",
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


def _arguments(call: _Archive) -> str:
    """The arguments on one line; a path or a command alone stands without its name."""
    given = {name: value for name, value in call["parameters"].items() if name not in ("edits", "content")}
    plain = next(iter(given.values())) if len(given) == 1 else None
    return plain if isinstance(plain, str) and "\n" not in plain else json.dumps(given, ensure_ascii=False)


def _result(call: _Archive) -> str:
    return (call["error"] or call.get("full_result") or call["result"] or "").rstrip()


def _diff(call: _Archive) -> list[tuple[str, str]]:
    """The lines of what an edit replaced and wrote, each with its sign: "+", "-" or " "."""
    given = call["parameters"]
    pairs = [(str(edit.get("old_text", "")), str(edit.get("new_text", ""))) for edit in _edits(given)]
    if isinstance(given.get("content"), str):
        pairs.append(("", given["content"]))
    lines: list[tuple[str, str]] = []
    for old, new in pairs:
        lines += [(line[0], line[2:]) for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+- "]
    return lines


def _edits(given: _Archive) -> list[_Archive]:
    found = given.get("edits")
    return [edit for edit in found if isinstance(edit, dict)] if isinstance(found, list) else []


def _bars(whole: _Archive) -> list[dict[str, float]]:
    """Each turn's bar in the chart: tokens that its requests sent, of which the provider had `cached`."""
    sent = {turn["number"]: [0, 0] for turn in whole["interactions"]}
    for one in whole["requests"]:
        if one["purpose"] == "turn" and one["interaction"] in sent:
            sent[one["interaction"]][0] += one["input"] + one["cache_read"] + one["cache_write"]
            sent[one["interaction"]][1] += one["cache_read"]
    scale = _CHART / max((total for total, _ in sent.values()), default=0) if any(t for t, _ in sent.values()) else 0
    return [
        {"turn": turn, "sent": total, "cached": cached, "height": total * scale, "cached_height": cached * scale}
        for turn, (total, cached) in sent.items()
    ]


def render_report(found: dict[str, Any]) -> str:
    """The page of what `daily_spending` found."""
    charts = []
    for name, part, title in (("sent", "cached", "Tokens sent a day"), ("cost", "", "US dollars a day")):
        top = max(day[name] or 0 for day in found["days"])
        if top:
            scale = _CHART / top
            bars = [(day, (day[name] or 0) * scale, (day[part] if part else 0) * scale) for day in found["days"]]
            charts.append({"title": title, "name": name, "top": top, "bars": bars})
    first, last = found["days"][0]["name"], found["days"][-1]["name"]
    return _render("report.html", title=f"Spent from {first} to {last}", charts=charts, chart=_CHART, found=found)


def _markdown_to_html(text: str) -> str:
    """Markdown as HTML in which nothing is loaded or run: raw HTML is shown as text, pictures as links."""
    return str(_MARKDOWN.render(text))


def write_new_file(path: Path, text: str, hint: str) -> None:
    """Write a file that is not there yet. Raises BadInput with what else can be done."""
    try:
        with path.open("xb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        why = "exists already" if isinstance(error, FileExistsError) else f"cannot be written: {error.strerror}"
        raise BadInput(f"{path} {why}.", hint) from error


def _render(template: str, **values: Any) -> str:
    """A page of a template of this folder; values are escaped, but for those that the template calls safe."""
    folder = files("swecli.pages")
    loader = jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8"))
    return (
        jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        .get_template(template)
        .render(**values)
    )
