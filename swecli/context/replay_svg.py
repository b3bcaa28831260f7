"""A replay as an SVG line chart: input tokens of each turn, a line for each policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from swecli.context.replay import Replayed
from swecli.context.replay_plot import Scale, curve, short

WIDTH, HEIGHT = 960, 540
LEFT, RIGHT, TOP, BOTTOM = 78, 20, 92, 58
# Turns differ by an order of magnitude: more points than these would be a thicket.
POINTS = 80
FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"
INK, FAINT = "#1f2430", "#d9dde5"
# A colour and a dash for each, so that they differ in black and white too.
LOOKS = {
    "full": ("#b2432f", "2 5"),
    "exact": ("#8a6d00", "7 4"),
    "slack": ("#2c6fbb", "11 4 2 4"),
    "compact90": ("#7a3f98", "4 3"),
    "ours": ("#12805c", ""),
}


def svg(replays: Sequence[Replayed], title: str) -> str:
    """The document. Its height axis is logarithmic, and says so."""
    curves = {replayed.policy: curve(replayed, POINTS) for replayed in replays}
    scale = Scale.over(curves.values())
    turns = [figures.turn for figures in replays[0].turns] if replays else []
    return "\n".join([*_frame(title), *_grid(scale), *_below(turns), *_lines(curves, scale), "</g>", "</svg>", ""])


def _frame(title: str) -> Iterator[str]:
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(title)}>'
    yield f"<title>{escape(title)}</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield f'<g font-family="{escape(FONT)}" font-size="14" fill="{INK}">'
    yield f'<text x="{LEFT}" y="28" font-size="17" font-weight="600">{escape(title)}</text>'
    yield f'<text x="{LEFT}" y="50" font-size="13">input tokens a turn, on a logarithmic scale; simulated</text>'


def _grid(scale: Scale) -> Iterator[str]:
    for tick in scale.ticks():
        y = _height(scale, tick)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{FAINT}"/>'
        yield f'<text x="{LEFT - 10}" y="{y + 5:.1f}" text-anchor="end" font-size="13">{short(tick)}</text>'


def _below(turns: Sequence[int]) -> Iterator[str]:
    base = HEIGHT - BOTTOM
    yield f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" stroke="{INK}"/>'
    places = sorted({round(part * (len(turns) - 1) / 4) for part in range(5)}) if turns else []
    for place in places:
        x = _across(place, len(turns))
        yield f'<text x="{x:.1f}" y="{base + 22}" text-anchor="middle" font-size="13">{turns[place]}</text>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{base + 44}" text-anchor="middle">turn</text>'


def _lines(curves: dict[str, list[float]], scale: Scale) -> Iterator[str]:
    for number, (name, values) in enumerate(curves.items()):
        colour, dash = LOOKS[name]
        look = f'fill="none" stroke="{colour}" stroke-width="2.2" stroke-linejoin="round"'
        look += f' stroke-dasharray="{dash}"' if dash else ""
        places = [f"{_across(n, len(values)):.1f},{_height(scale, value):.1f}" for n, value in enumerate(values)]
        # a line of one turn would be invisible: it gets a second end
        places += [f"{LEFT + 6},{_height(scale, values[0]):.1f}"] if len(values) == 1 else []
        yield f'<polyline points="{" ".join(places)}" {look}/>'
        x = LEFT + number * 150
        yield f'<line x1="{x}" y1="72" x2="{x + 34}" y2="72" {look}/>'
        yield f'<text x="{x + 42}" y="77">{escape(name)}</text>'


def _across(place: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (place / (count - 1) if count > 1 else 0)


def _height(scale: Scale, value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * scale.place(value)
