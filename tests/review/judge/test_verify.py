"""Test verifying findings against the code: the request, the evidence required, and the findings that need no
request."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.context.tokens import TokenCounter
from swecli.models.errors import ProviderError
from swecli.models.finding import Finding, Judgement, ReviewRecord
from swecli.review.judge.grounding import ground
from swecli.review.judge.sources import Before, Source, Sources
from swecli.review.judge.verify import Verification, Verifier, _apply_judgement, _parse_judgement
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database
from tests.support.reviews import verdict_call
from tests.support.runtime import calls
from tests.support.scripted import ScriptedModel

CODE = """import os


def total(prices):
    return sum(prices) / len(prices)


def report(prices):
    return total(prices)
"""
CLAIM = Finding(
    "a.py", 5, "DIVISION_BY_ZERO", "an empty list divides by zero", "high", kind="correctness"
)
LINE = "return sum(prices) / len(prices)"


@pytest.fixture
def store() -> Iterator[ReviewStore]:
    database = open_database(":memory:")
    Path("a.py").write_text(CODE)
    yield ReviewStore(database, "/p")
    database.close()


def record(store: ReviewStore, *claims: Finding) -> list[Finding]:
    return store.record(
        store.begin(ReviewRecord("/p", (), "x")), ground(claims, Sources(Path.cwd()))
    ).new_findings


async def verify(
    store: ReviewStore, claims: list[Finding], *replies: Any, tokens: int = 10_000
) -> tuple[Verification, Any]:
    model = ScriptedModel(replies)
    verifier = Verifier(
        model, store, Sources(Path.cwd()), TokenCounter(model.profile.encoding), None, tokens
    )
    return await verifier.verify(claims), model


async def test_the_verify_request_contains_claim_and_code_but_not_severity_and_improvement(
    store: ReviewStore,
) -> None:
    claims = record(store, replace(CLAIM, improvement="guard it", loop=3))
    taken, model = await verify(
        store, claims, calls(verdict_call(("F-1", "confirmed", LINE), path="a.py"))
    )
    assert (taken.judgements["F-1"].verdict, taken.judgements["F-1"].line) == ("confirmed", 5)
    [request] = model.requests
    text = str(request.messages)
    assert request.purpose == "verify"
    assert "an empty list divides by zero" in text
    assert "     5     return sum(prices) / len(prices)" in text
    assert "Used in a.py:9: return total(prices)" in text
    assert "high" not in request.messages[1]["content"]
    assert "guard it" not in text


@pytest.mark.parametrize(
    "reply",
    [
        "I think it is fine.",
        calls(("judge_findings", "{")),
        calls(verdict_call(("F-9", "confirmed", LINE))),
    ],
)
async def test_an_unreadable_answer_gives_cannot_tell_and_is_not_cached(
    store: ReviewStore, reply: Any
) -> None:
    claims = record(store, CLAIM)
    taken, _ = await verify(store, claims, reply)
    assert (taken.judgements["F-1"].verdict, taken.judgements["F-1"].by) == (
        "cannot_tell",
        "failure",
    )
    again, _ = await verify(
        store, claims, calls(verdict_call(("F-1", "confirmed", LINE), path="a.py"))
    )
    assert again.judgements["F-1"].verdict == "confirmed"


async def test_a_verdict_is_read_from_an_answer_that_is_the_json(store: ReviewStore) -> None:
    name, arguments = verdict_call(("F-1", "confirmed", LINE), path="a.py")
    answer = f"```json\n{json.dumps(arguments)}\n```"
    taken, _ = await verify(store, record(store, CLAIM), answer)
    assert (taken.judgements["F-1"].verdict, taken.judgements["F-1"].line) == ("confirmed", 5)


@pytest.mark.parametrize("word", ["valid", "Confirmed.", True, None])
async def test_an_unknown_verdict_is_asked_for_again_with_what_is_wrong(
    store: ReviewStore, word: Any
) -> None:
    [claim] = record(store, CLAIM)
    wrong = json.dumps({"judgements": [{"id": "F-1", "verdict": word, "quote": LINE}]})
    taken, model = await verify(store, [claim], wrong, wrong)
    assert "$.judgements[0].verdict" in model.requests[1].messages[-1]["content"]
    assert _apply_judgement(claim, taken.judgements["F-1"]).is_unchecked


async def test_a_failed_request_gives_cannot_tell_and_leaves_later_findings_unverified(
    store: ReviewStore,
) -> None:
    claims = record(store, CLAIM)
    Path("b.py").write_text(CODE)
    claims += record(store, replace(CLAIM, path="b.py", severity="low"))
    taken, _ = await verify(store, claims, ProviderError("It broke."))
    assert {ref: j.verdict for ref, j in taken.judgements.items()} == {"F-1": "cannot_tell"}
    assert taken.problems == ["findings could not be checked: It broke."]


async def test_code_that_the_verifier_requests_is_sent_once(store: ReviewStore) -> None:
    Path("b.py").write_text("LIMIT = 3\n")
    ask = (
        "judge_findings",
        {"judgements": [{"id": "F-1", "verdict": "cannot_tell", "see": ["b.py:1"]}]},
    )
    taken, model = await verify(store, record(store, CLAIM), calls(ask), calls(ask))
    assert (len(model.requests), "LIMIT = 3" in str(model.requests[1].messages)) == (2, True)
    assert taken.judgements["F-1"].verdict == "cannot_tell"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".env", ".env may contain secrets"),
        ("link.py", ".env may contain secrets"),
        ("private/notes.py", "the project ignores it"),
        (
            "drafts/notes.py",
            "drafts/notes.py is named by an ignore file (.aiignore or .swecliignore)",
        ),
        ("../outside.py", "the path leads out of the project"),
    ],
)
async def test_a_place_that_may_hold_secrets_or_is_ignored_is_not_sent(
    store: ReviewStore, path: str, reason: str
) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".gitignore").write_text(".env\nprivate/\n")
    Path(".aiignore").write_text("drafts/\n")
    Path("link.py").symlink_to(".env")
    for name in (".env", "private/notes.py", "drafts/notes.py", "../outside.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("TOKEN = 'abc-123'\n")
    see = {"id": "F-1", "verdict": "cannot_tell", "see": [f"{path}:1"]}
    quoted = {"id": "F-1", "verdict": "refuted", "path": path, "quote": "TOKEN = 'abc-123'"}
    replies = [calls(("judge_findings", {"judgements": [row]})) for row in (see, quoted)]
    taken, model = await verify(store, record(store, CLAIM), *replies)
    assert f"{path}:1 is not shown: {reason}." in str(model.requests[1].messages)
    assert "abc-123" not in str([request.messages for request in model.requests])
    assert taken.judgements["F-1"].verdict == "cannot_tell"


@pytest.mark.parametrize(
    "suggestion", [f"    {LINE}", f"  {LINE}", f"    {LINE}".replace("su", "s u")]
)
@pytest.mark.parametrize("state", ["open", "gone"])
async def test_a_suggestion_that_equals_the_code_is_checked_and_not_compared(
    store: ReviewStore, suggestion: str, state: Any
) -> None:
    [claim] = record(store, replace(CLAIM, suggestion=suggestion))
    answer = calls(verdict_call(("F-1", "confirmed", LINE), path="a.py"))
    taken, model = await verify(store, [replace(claim, state=state)], answer)
    assert (len(model.requests), taken.judgements["F-1"].verdict) == (1, "confirmed")


async def test_a_claim_about_removed_code_is_shown_what_stood_nearest(store: ReviewStore) -> None:
    lines = CODE.split("\n")[:-1]
    removed = [f"old_{number} = 1" for number in range(100)]
    places = (*range(1, 4), *[4] * 100, *range(4, 10))
    old = Source("a.py", (*lines[:3], *removed, *lines[3:]), "x")
    sources = Sources(Path.cwd(), {"a.py": Before(old, places, frozenset(range(4, 104)), False)})
    claim = replace(CLAIM, line=9, evidence="old_3 = 1")
    [found] = store.record(
        store.begin(ReviewRecord("/p", (), "x")), ground([claim], sources)
    ).new_findings
    model = ScriptedModel([calls(verdict_call(("F-1", "confirmed", "old_3 = 1"), path="a.py"))])
    await Verifier(model, store, sources, TokenCounter(model.profile.encoding)).verify([found])
    assert found.line == 4
    assert str(model.requests[0].messages[1]["content"]).count(" - old_") == 80


def removal() -> Sources:
    """Return files of which a change has removed a guard of `a.py`, and the file `auth.py`."""
    Path("app.py").write_text("import auth\n")
    Path("a.py").write_text(CODE)
    guard = [*CODE.split("\n")[:4], "    if not prices: return 0", *CODE.split("\n")[4:-1]]
    before = Before(
        Source("a.py", tuple(guard), "x"), (1, 2, 3, 4, 5, 5, 6, 7, 8, 9), frozenset({5}), False
    )
    auth = Source("auth.py", ("def check():", "    return 1"), "x")
    gone = Before(auth, (1, 2), frozenset({1, 2}), True)
    return Sources(Path.cwd(), {"a.py": before, "auth.py": gone})


@pytest.mark.parametrize(
    ("claim", "quote", "shown"),
    [
        (
            Finding("a.py", 5, "GUARD", "no guard", evidence="if not prices: return 0"),
            "if not prices: return 0",
            "Removed by the change:\n     5 -     if not prices: return 0",
        ),
        (
            Finding("auth.py", 1, "GONE", "app.py needs it", evidence="def check():"),
            "def check():",
            "Named in app.py:1: import auth",
        ),
    ],
)
@pytest.mark.parametrize("verdict", ["confirmed", "refuted"])
async def test_removed_code_is_shown_to_the_verifier_and_can_confirm_a_claim_but_refutes_none(
    store: ReviewStore, claim: Finding, quote: str, shown: str, verdict: str
) -> None:
    sources = removal()
    review = store.begin(ReviewRecord("/p", (), "x"))
    [found] = store.record(review, ground([claim], sources)).new_findings
    model = ScriptedModel([calls(verdict_call(("F-1", verdict, quote), path=claim.path))])
    verifier = Verifier(model, store, sources, TokenCounter(model.profile.encoding))
    taken = await verifier.verify([found])
    expected = "confirmed" if verdict == "confirmed" else "cannot_tell"
    assert taken.judgements["F-1"].verdict == expected
    assert shown in str(model.requests[0].messages[1]["content"])


async def test_findings_are_verified_in_the_given_order_until_the_token_budget_is_spent(
    store: ReviewStore,
) -> None:
    Path("b.py").write_text(CODE)
    claims = record(
        store, replace(CLAIM, severity="low"), replace(CLAIM, path="b.py", severity="critical")
    )
    reply = calls(verdict_call(("F-2", "confirmed", LINE), path="b.py"))
    taken, _ = await verify(store, claims[::-1], reply, tokens=1)
    assert list(taken.judgements) == ["F-2"]


@pytest.mark.parametrize(
    ("state", "word", "again", "after"),
    [
        ("open", "confirmed", False, "open"),
        ("open", "refuted", False, "refuted"),
        ("gone", "confirmed", False, "open"),
        ("gone", "refuted", False, "fixed"),
        ("gone", "cannot_tell", False, "gone"),
        ("fixed", "confirmed", True, "regressed"),
        ("fixed", "confirmed", False, "fixed"),
        ("refuted", "confirmed", True, "open"),
        ("refuted", "cannot_tell", True, "open"),
        ("refuted", "refuted", True, "refuted"),
        ("dismissed", "refuted", False, "dismissed"),
    ],
)
def test_each_state_and_verdict_lead_to_the_expected_state(
    state: Any, word: Any, again: bool, after: str
) -> None:
    found = _apply_judgement(
        replace(CLAIM, id="F-1", state=state),
        Judgement(word, "a.py", 5, LINE, "w", "m"),
        again=again,
    )
    assert found.state == after


async def test_a_finding_that_the_verifier_calls_a_duplicate_is_refuted_and_becomes_an_alias(
    store: ReviewStore,
) -> None:
    [known] = record(store, CLAIM)
    store.update([replace(known, state="dismissed", reason="meant so")])
    [claim] = record(
        store, replace(CLAIM, line=4, message="the mean of nothing raises", same_as="F-1")
    )
    ask = (
        "judge_findings",
        {"judgements": [{"id": "F-2", "verdict": "confirmed", "same_as": "F-1"}]},
    )
    model = ScriptedModel([calls(ask)])
    verifier = Verifier(model, store, Sources(Path.cwd()), TokenCounter(model.profile.encoding))
    await verifier.check(SessionManager(store.database), [claim], {"F-2"})
    assert "F-2 may be F-1, which is known: DIVISION_BY_ZERO at a.py:5: an empty" in str(
        model.requests[0].messages
    )
    assert (store.get("F-2").state, store.get("F-2").reason) == (
        "refuted",
        "it is F-1, in other words",
    )
    assert [(f.id, f.state) for f in store.findings_of("R-2")] == [("F-1", "dismissed")]
    assert "DIVISION_BY_ZERO|4|the mean of nothing raises" in store.get("F-1").aliases


async def test_a_verifier_may_call_two_claims_of_one_request_the_same_problem(
    store: ReviewStore,
) -> None:
    other = replace(CLAIM, line=9, message="quite other words", code_smell_type="CRASH")
    claims = record(store, CLAIM, other, replace(other, line=4, message="and a third"))
    rows = [
        {"id": "F-1", "verdict": "confirmed", "quote": LINE, "same_as": "F-2"},
        {"id": "F-2", "verdict": "confirmed", "quote": LINE, "same_as": "F-1"},
        {"id": "F-3", "verdict": "confirmed", "quote": LINE, "same_as": "F-77"},
    ]
    model = ScriptedModel([calls(("judge_findings", {"judgements": rows}))])
    verifier = Verifier(model, store, Sources(Path.cwd()), TokenCounter(model.profile.encoding))
    await verifier.check(SessionManager(store.database), claims, {f.id for f in claims})
    states = [(f.id, f.state, f.verdict) for f in store.findings()]
    assert states == [
        ("F-1", "open", "confirmed"),
        ("F-2", "refuted", "refuted"),
        ("F-3", "open", "confirmed"),
    ]
    assert [f.id for f in store.findings_of("R-1")] == ["F-1", "F-3"]


async def test_a_claim_does_not_disappear_with_a_refuted_one(store: ReviewStore) -> None:
    claims = record(store, CLAIM, replace(CLAIM, line=9, message="quite other words"))
    rows = [
        {"id": "F-1", "verdict": "refuted", "quote": LINE},
        {"id": "F-2", "verdict": "confirmed", "quote": LINE, "same_as": "F-1"},
    ]
    taken, _ = await verify(store, claims, calls(("judge_findings", {"judgements": rows})))
    assert [taken.judgements[ref].verdict for ref in ("F-1", "F-2")] == ["refuted", "confirmed"]
    assert taken.duplicates == {}


async def test_a_fixed_finding_that_is_reported_again_and_confirmed_has_regressed(
    store: ReviewStore,
) -> None:
    [known] = record(store, CLAIM)
    store.update([replace(known, state="fixed")])
    model = ScriptedModel([calls(verdict_call(("F-1", "confirmed", LINE), path="a.py"))])
    verifier = Verifier(model, store, Sources(Path.cwd()), TokenCounter(model.profile.encoding))
    await verifier.check(SessionManager(store.database), [store.get("F-1")], {"F-1"})
    assert store.get("F-1").state == "regressed"


@pytest.mark.parametrize(
    ("row", "read"),
    [
        ({"quote": f"5: {LINE}"}, "confirmed"),
        ({"quote": f"```python\n     5     {LINE}\n```"}, "confirmed"),
        ({"quote": f"+    {LINE}", "path": "b/a.py"}, "confirmed"),
        ({"quote": LINE, "verdict": "refuted"}, "refuted"),
        ({"quote": "return sum(prices)  ... guarded"}, "cannot_tell"),
    ],
)
def test_a_quote_with_line_numbers_fences_or_diff_signs_is_matched_to_its_line(
    store: ReviewStore, row: dict[str, str], read: str
) -> None:
    whole = {"verdict": "confirmed", "path": "a.py", "line": 5, "why": "w"} | row
    found = _parse_judgement(whole, Sources(Path.cwd()), "m", "a.py")
    assert (found.verdict, found.line) == (read, 5 if read != "cannot_tell" else 0)


async def test_reported_findings_are_verified_before_those_that_are_gone(
    store: ReviewStore,
) -> None:
    Path("b.py").write_text(CODE)
    gone, claim = record(
        store, replace(CLAIM, severity="critical"), replace(CLAIM, path="b.py", severity="low")
    )
    model = ScriptedModel([calls(verdict_call()) for _ in range(2)])
    verifier = Verifier(model, store, Sources(Path.cwd()), TokenCounter(model.profile.encoding))
    await verifier.check(
        SessionManager(store.database), [replace(gone, state="gone"), claim], {claim.id}
    )
    places = [
        str(request.messages[1]["content"]).split(" at ")[1].split(":")[0]
        for request in model.requests
    ]
    assert places == ["b.py", "a.py"]


async def test_a_refuted_finding_is_verified_again_only_if_it_is_reported_again(
    store: ReviewStore,
) -> None:
    [claim] = record(store, CLAIM)
    store.update([replace(claim, state="refuted", verdict="refuted", reason="a guard stood above")])
    model = ScriptedModel([calls(verdict_call(("F-1", "confirmed", LINE), path="a.py"))])
    verifier = Verifier(model, store, Sources(Path.cwd()), TokenCounter(model.profile.encoding))
    await verifier.check(SessionManager(store.database), store.findings())
    assert model.requests == []
    await verifier.check(SessionManager(store.database), store.findings(), {"F-1"})
    assert (store.get("F-1").state, store.get("F-1").verdict) == ("open", "confirmed")
