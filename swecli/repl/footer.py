"""The line under the prompt: model, mode, window, context and cost, made shorter until it fits."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.repl.render.formatting import money

SEPARATOR = " · "
Fragments = list[tuple[str, str]]
_MODE_STYLE = {"plan": "class:footer.plan", "edits": "class:footer.edits", "auto": "class:footer.auto"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the footer says. `held` is the interactions in the window, `context` a percentage; None: not known.

    `cost` in US dollars, None where a price is unknown. `hint` takes the whole line while it is set; `busy`
    says what goes on behind the prompt.
    """

    model: str
    mode: str
    window: str
    held: int | None = None
    context: int | None = None
    cost: float | None = 0.0
    busy: str = ""
    hint: str = ""


def footer(facts: Facts, width: int) -> Fragments:
    """The footer as styled pieces, at most `width` columns; what matters least goes first."""
    if facts.hint:
        return [("class:footer.hint", clip(facts.hint, width))]
    short = facts.model.rpartition("/")[2]
    for long, model, dropped in (
        (True, facts.model, 0),
        (False, facts.model, 0),
        (False, short, 0),
        (False, short, 1),
        (False, short, 2),
        (False, short, 3),
    ):
        pieces = _pieces(facts, model, long)
        pieces = pieces[: max(3, len(pieces) - dropped)]
        if _length(pieces) <= width:
            return _joined(pieces)
    rest = _pieces(facts, "", False)[1:3]
    room = width - _length([("", ""), *rest])
    return _joined([("class:footer", clip(short, room)), *rest]) if room > 2 else _joined([("", clip(short, width))])


def _pieces(facts: Facts, model: str, long: bool) -> Fragments:
    """Most important first: model, mode, window, context, cost, what goes on behind."""
    style = "class:footer"
    held = "" if facts.held is None else f": {facts.held}"
    pieces = [
        (style, model),
        (_MODE_STYLE.get(facts.mode, style), facts.mode),
        (style, f"window {facts.window}{held}" if long else f"{facts.window}{held}"),
    ]
    if facts.context is not None:
        pieces.append((style, f"context {facts.context}%" if long else f"{facts.context}%"))
    pieces.append((style, money(facts.cost) if facts.cost is not None else "cost unknown" if long else "$?"))
    if facts.busy:
        pieces.append(("class:footer.busy", facts.busy))
    return pieces


def _joined(pieces: Fragments) -> Fragments:
    out: Fragments = []
    for piece in pieces:
        out += [("class:footer", SEPARATOR), piece] if out else [piece]
    return out


def _length(pieces: Fragments) -> int:
    return sum(len(text) for _, text in pieces) + len(SEPARATOR) * max(0, len(pieces) - 1)


def clip(text: str, width: int) -> str:
    """The text in at most `width` columns, with an ellipsis where it was cut."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"[:width]
