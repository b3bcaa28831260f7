"""The meter: what the next request is made of, what the provider counted, and how much room is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from swecli.agent.agent import Agent
from swecli.context.budget import DEFAULT_MAX_TOKENS, request_limit


@dataclass(frozen=True, slots=True)
class Meter:
    """Tokens. `parts` in the order of the request; their sum and `residual` is `total`, which is the provider's
    figure as far as one is known: `counted` and `provider` are the two counts of the last request, 0 before it.

    `reserve` is kept for the answer, `limit` what a request may have, None where the model's window is unknown;
    `threshold` is where the ladder begins; `cached` is the part of the request that was sent before.
    """

    parts: tuple[tuple[str, int], ...]
    residual: int
    total: int
    limit: int | None
    reserve: int
    threshold: int | None
    cached: int
    counted: int = 0
    provider: int = 0
    estimated: bool = False

    def to_json(self) -> dict[str, Any]:
        """All fields as plain JSON values."""
        return asdict(self) | {"parts": [{"name": name, "tokens": tokens} for name, tokens in self.parts]}

    def grouped(self) -> list[tuple[str, int]]:
        """The parts with all interactions of the window as one, for a short view."""
        out: list[tuple[str, int]] = []
        for name, tokens in self.parts:
            kind = "window" if name.startswith("interaction ") else "pins" if name.startswith("pinned ") else name
            if out and out[-1][0] == kind:
                out[-1] = (kind, out[-1][1] + tokens)
            else:
                out.append((kind, tokens))
        return out


def meter(agent: Agent, query: str = "") -> Meter:
    """Measure the next request, for a query or for none. Nothing is stored."""
    prepared, fitting = agent.prepare(query).prepared, agent.fitting()
    parts = [("tools", agent.counter.count_tools(agent.tools.specs()))]
    parts += [(segment.name, segment.tokens) for segment in prepared.segments]
    own = prepared.tokens + parts[0][1]
    parts.append(("frames", own - sum(tokens for _, tokens in parts)))
    total = fitting.measure(prepared.keyed).tokens
    window, output = agent.model.context_window, agent.settings.max_tokens or agent.model.max_output
    session = agent.sessions.current_session
    context = session.context if session else None
    return Meter(
        parts=tuple(part for part in parts if part[1]),
        residual=total - own,
        total=total,
        limit=request_limit(window, output),
        reserve=output or DEFAULT_MAX_TOKENS,
        threshold=window * fitting.rules.threshold // 100 if window else None,
        cached=0 if prepared.opens is not None else own - _fresh(parts),
        counted=context.asked_counted if context else 0,
        provider=context.asked_prompt if context else 0,
        estimated=agent.counter.estimated,
    )


def _fresh(parts: Sequence[tuple[str, int]]) -> int:
    """What no request has held yet: the query."""
    return sum(tokens for name, tokens in parts if name == "query")
