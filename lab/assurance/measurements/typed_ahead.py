"""Keys that are typed while the assistant works, when a question appears among them."""

from __future__ import annotations

from itertools import product

from lab.assurance.measurements.rows import Measurement, Row
from tests.support.typist import ESC, Typist, run_prompt, stream_answers

_SEED = 50_000
_AFTER_ESCAPE = ("1", "2", "3", "5", "y", "n", "1. do it otherwise", "5\r", "y\r", "\r")
_GAPS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.29, 0.31, 0.35, 0.5, 0.6, 1.0)  # seconds between keys


def measure(count: int) -> list[Row]:
    """Type `count` streams of keys, and what follows Esc at as many gaps as there are tenths of it."""
    answered = [f"stream of seed {seed}" for seed in stream_answers(count, _SEED)]
    cases = list(product(_AFTER_ESCAPE, _GAPS))[: max(1, count // 10)]
    stopped = [f"Esc, {keys!r} {gap} s apart" for keys, gap in cases if _answers(keys, gap)]
    return [
        Row("streams of words, digits, pastes, arrows and Enter", count, answered),
        Row("Esc at an open question, then digits, letters or Enter", len(cases), stopped),
    ]


def _answers(keys: str, gap: float) -> bool:
    """Return whether keys after Esc answer the question that Esc was typed at."""
    given: list[int | None] = []

    async def play(typist: Typist) -> None:
        given.append(await typist.answer(ESC, *keys, gap=gap))

    run_prompt(play)
    return given != [None]


_METHOD = """\
A person types on while a question appears: the keys go to the prompt with random pauses, all shorter than the time
after which a question accepts an answer. A stream holds if it does not answer the question. The clock is virtual, the
prompt and its key bindings are real."""

TYPED_AHEAD = Measurement(
    "Keys typed while it works",
    _METHOD,
    measure,
    quick=20,
    whole=2_000,
)
