"""What a pull request's summary comment carries from push to push: what was read, and the findings, without code."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.finding import KINDS, OPEN_STATES, SEVERITIES, VERDICTS, Finding
from swecli.redact import redact
from swecli.review.target.github import GitHub

MARK = re.compile(r"<!-- swecli-state ([A-Za-z0-9+/=]+) -->")
LARGEST = 2_000_000  # bytes of a state that is unpacked
MOST_ALIASES = 4
LONGEST = 30_000  # letters of the packed state; the comment has more to hold
_TEXTS = (
    "path",
    "kind",
    "code_smell_type",
    "severity",
    "message",
    "verdict",
    "state",
    "block",
    "symbol",
    "fingerprint",
)
_STATES = (*OPEN_STATES, "fixed")


@dataclass(frozen=True, slots=True)
class PullState:
    """As the last push left it: `digests` of the hunks that were read, `findings` without their code; `comment` is the
    id of the summary (0: there is none yet) and `body` its text."""

    head: str = ""
    digests: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    comment: int = 0
    body: str = ""


def read_state(github: GitHub, number: int) -> PullState:
    """The state that stands on the pull request. Only a comment of our own account counts, and all of it is checked:
    what is not as we write it is no state, and the review a full one. Raises GitHubFailed."""
    if not github.token:
        return PullState()
    login = github.login()
    rows = [row for row in github.pages(f"issues/{number}/comments") if (row.get("user") or {}).get("login") == login]
    for row in reversed(rows):
        body = str(row.get("body") or "")
        if match := MARK.search(body):
            head, digests, findings = _unpacked(match[1]) or ("", (), ())
            return PullState(head, digests, findings, int(row["id"]), body)
    return PullState()


def packed(head: str, digests: Iterable[str], findings: Sequence[Finding]) -> str:
    """The state as a hidden line. Of a very large one the findings stay, then fewer digests: what is read again is
    only paid for again."""
    rows = [_row(finding) for finding in findings if finding.state in _STATES]
    listed = list(dict.fromkeys(digests))
    while True:
        data = json.dumps({"v": 1, "head": head, "digests": listed, "findings": rows}, separators=(",", ":"))
        text = base64.b64encode(zlib.compress(data.encode("utf-8", "replace"), 9)).decode("ascii")
        if len(text) <= LONGEST or not (listed or rows):
            return f"<!-- swecli-state {text} -->"
        listed, rows = (listed[: len(listed) // 2], rows) if listed else ([], rows[: len(rows) // 2])


def _row(finding: Finding) -> dict[str, Any]:
    row = {name: getattr(finding, name) for name in _TEXTS} | {"line": finding.line, "end_line": finding.end_line or 0}
    return row | {
        "message": redact(finding.message)[:200],
        "aliases": [redact(a) for a in finding.aliases[:MOST_ALIASES]],
    }


def _unpacked(text: str) -> tuple[str, tuple[str, ...], tuple[Finding, ...]] | None:
    try:
        data = json.loads(zlib.decompressobj().decompress(base64.b64decode(text, validate=True), LARGEST))
        head, digests = data["head"], data["digests"]
        fit = data["v"] == 1 and isinstance(head, str) and re.fullmatch(r"[0-9a-f]{6,64}", head)
        if not fit or not all(isinstance(one, str) and len(one) <= 300 for one in digests):
            return None
        return head, tuple(digests), tuple(_finding(row) for row in data["findings"])
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error, RecursionError):
        return None


def _finding(row: dict[str, Any]) -> Finding:
    """Raises ValueError for what we do not write."""
    texts = {name: row[name] for name in _TEXTS}
    numbers, aliases = (row["line"], row["end_line"]), row["aliases"]
    known = (texts["severity"] in SEVERITIES and texts["kind"] in KINDS) and texts["verdict"] in (*VERDICTS, "refuted")
    fit = all(isinstance(text, str) and len(text) <= 500 for text in (*texts.values(), *aliases))
    fit = fit and all(type(number) is int and 0 <= number < 10**8 for number in numbers)
    inside = fit and not texts["path"].startswith("/") and ".." not in texts["path"].split("/")
    block = texts["block"] if fit else ""
    if (
        not inside
        or not known
        or texts["state"] not in _STATES
        or not re.fullmatch(r"[0-9a-f]{6,40}", texts["fingerprint"])
    ):
        raise ValueError("this is no state of ours")
    if block and not re.fullmatch(r'\[\d{1,7},"[0-9a-f]{20}",(?:null|\d{1,6})\]', block):
        raise ValueError("this is no digest of ours")
    return Finding(line=row["line"], end_line=row["end_line"] or None, aliases=tuple(aliases), **texts)
