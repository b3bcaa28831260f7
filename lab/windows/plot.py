"""Plots the input tokens of a session's turns under each policy, as text and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

import plotext

from lab.windows.policies import PolicyUsage

_ROWS, _MIN_WIDTH = 20, 30
_SVG_COLUMNS, _LETTER_WIDTH, _LINE = 100, 9, 18  # pixels of a letter's width and of a line


def plot(replays: Sequence[PolicyUsage], width: int) -> list[str]:
    """Plot input tokens by turn on a logarithmic scale, in lines of at most `width` columns (or the minimum width).
    Each policy is drawn with its first letter and has at least one turn."""
    curves = {
        replayed.policy: _curve(replayed, max(_MIN_WIDTH, width) // 3) for replayed in replays
    }
    values = [value for _, curve in curves.values() for value in curve]
    ticks = [n * 10**power for power in range(13) for n in (1, 2, 5)]
    shown = [tick for tick in ticks if min(values) <= tick <= max(values)][-_ROWS // 2 :] or [
        min(values)
    ]
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.limit_size(False, False)
    plotext.plot_size(max(_MIN_WIDTH, width), _ROWS)
    plotext.yscale("log")
    for name, (turns, curve) in curves.items():
        plotext.plot(turns, curve, marker=name[0], label=name)
        plotext.xticks([turns[0], turns[-1]])
    plotext.yticks(shown, [f"{tick:,}" for tick in shown])
    drawn = plotext.uncolorize(plotext.build()).splitlines()
    return ["input tokens a turn, by turn:", *(line.rstrip() for line in drawn)]


def _curve(replayed: PolicyUsage, points: int) -> tuple[list[int], list[float]]:
    """Return turns and their input tokens, averaged if there are more turns than points."""
    size = -(-len(replayed.turns) // points)
    shared = [replayed.turns[n : n + size] for n in range(0, len(replayed.turns), size)]
    return [some[-1].turn for some in shared], [
        max(1.0, sum(t.input for t in some) / len(some)) for some in shared
    ]


def svg(replays: Sequence[PolicyUsage], title: str) -> str:
    """Return the plot as an SVG document."""
    lines = ["", f" {title}: a simulation", *plot(replays, _SVG_COLUMNS)]
    rows = "".join(
        f'<tspan x="0" y="{(n + 1) * _LINE}">{escape(line)}</tspan>\n'
        for n, line in enumerate(lines)
    )
    size = f'width="{(_SVG_COLUMNS + 1) * _LETTER_WIDTH}" height="{(len(lines) + 1) * _LINE}"'
    text = 'font-family="monospace" font-size="15" fill="#1f2430" xml:space="preserve"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<title>{escape(title)}</title>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n<text {text}>{rows}</text>\n</svg>\n'
    )
