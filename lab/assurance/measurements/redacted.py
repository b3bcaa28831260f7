"""Secrets in text that leaves the session, and ordinary text that looks like them."""

from __future__ import annotations

import sysconfig
from itertools import islice
from pathlib import Path

from lab.assurance.measurements.rows import Measurement, Row
from swecli.redact import redact
from tests.support.secrets import harmless, secrets

_ROOT = Path(__file__).resolve().parents[3]
_PAGE = "what-holds.md"  # which lists the false alarms
_FILES = 12  # of ordinary text, for each seed
_PIECE = 8  # characters of a secret that may not be left together
_AROUND = (
    ("alone", "{}"),
    ("in a sentence", "Use {} for this, and tell nobody."),
    ("between lines", "first\n{}\nlast\n"),
    ("coloured", "\x1b[1m\n{}\x1b[0m"),
    ("in a diff", "@@ -1 +1 @@\n-old\n+{}\n"),
)


def measure(count: int) -> list[Row]:
    """Redact secrets of `count` seeds, look-alikes, and twelve files of ordinary text for each seed."""
    rows = []
    for name, frame in _AROUND:
        failures, made = [], 0
        for seed in range(count):
            for kind, (text, secret) in secrets(seed).items():
                made += 1
                failures += [f"{kind}, seed {seed}"] if _is_left(secret, frame.format(text)) else []
        seen = f"{len(secrets())} kinds"
        rows.append(Row(f"secrets {name} masked", made, failures, seen))
    changed = [line for line in harmless() if redact(line) != line]
    rows.append(Row("look-alikes left as they are", len(harmless()), changed))
    pages = [page for page in _ROOT.glob("docs/**/*.md") if page.name != _PAGE]
    ours = [*pages, *_ROOT.glob("swecli/**/*.py")]
    rows.append(_ordinary("lines of swecli's own pages and source left", ours, count))
    library = Path(sysconfig.get_path("stdlib"))
    theirs = [file for file in library.rglob("*.py") if _is_ordinary(file.relative_to(library))]
    rows.append(_ordinary("lines of Python's standard library left", theirs, count))
    return rows


def _is_left(secret: str, text: str) -> bool:
    """Return whether a piece of the secret is still in the redacted text."""
    clean = redact(text)
    size = min(_PIECE, len(secret))
    return any(secret[at : at + size] in clean for at in range(len(secret) - size + 1))


def _is_ordinary(file: Path) -> bool:
    """Return whether a file of the library is no test, whose keys and passwords are made to look real, and installed
    with Python itself."""
    return not {"site-packages", "test", "tests", "idle_test"} & set(file.parts)


def _ordinary(attempt: str, files: list[Path], count: int) -> Row:
    failures, made = [], 0
    for file in islice(sorted(files), count * _FILES):
        text = file.read_text(encoding="utf-8", errors="replace")
        lines = text.split("\n")
        made += len(lines)
        clean = redact(text)
        if clean != text:
            changed = set(lines) - set(clean.split("\n"))
            failures += [f"{file.name}: `{line.strip()[:90]}`" for line in lines if line in changed]
    return Row(attempt, made, failures, f"{min(len(files), count * _FILES)} files")


_METHOD = """\
Secrets in the formats of the big services are generated and put into text. A secret holds if no eight characters of
it are left together. Ordinary text holds, line by line, if it is not changed: what is changed there is a false
alarm."""

REDACTED = Measurement(
    "Secrets masked in text",
    _METHOD,
    measure,
    quick=2,
    whole=60,
)
