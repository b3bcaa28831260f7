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

from swecli.models.errors import ProviderError
from swecli.models.finding import Finding, Judgement, ReviewRecord
from swecli.review.judge import verify as verify_module
from swecli.review.judge.grounding import ground
from swecli.review.judge.ledger import recheck
from swecli.review.judge.sources import Before, Source, Sources
from swecli.review.judge.verify import Verification, _apply_judgement
from swecli.store.reviews import ReviewStore
from tests.support.databases import open_database
from tests.support.reviews import make_verifier, verdict_call
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


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask about each claim in a request of its own."""
    monkeypatch.setattr(verify_module, "_MAX_CLAIMS", 1)


def record(store: ReviewStore, *claims: Finding) -> list[Finding]:
    return store.record(
        store.begin(ReviewRecord("/p", (), "x")), ground(claims, Sources(Path.cwd()))
    ).new_findings


async def verify(
    store: ReviewStore, claims: list[Finding], *replies: Any, tokens: int = 10_000
) -> tuple[Verification, Any]:
    model = ScriptedModel(replies)
    verifier = make_verifier(model, store, Sources(Path.cwd()), tokens=tokens)
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
    assert "     5       return sum(prices) / len(prices)" in text
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


@pytest.mark.usefixtures("one_by_one")
async def test_a_failed_request_gives_cannot_tell_and_leaves_later_findings_unverified(
    store: ReviewStore,
) -> None:
    claims = record(store, CLAIM)
    Path("b.py").write_text(CODE)
    claims += record(store, replace(CLAIM, path="b.py", severity="low"))
    taken, _ = await verify(store, claims, ProviderError("It broke."))
    assert {ref: j.verdict for ref, j in taken.judgements.items()} == {"F-1": "cannot_tell"}
    assert taken.problems == ["findings could not be checked: It broke."]


async def test_a_verifier_looks_up_code_in_two_steps_and_answers_in_the_third(
    store: ReviewStore,
) -> None:
    Path("b.py").write_text("LIMIT = 3\nRATES = [1]\n")
    search = ("search_files", {"pattern": "LIMIT"})
    read = ("read_file", {"path": "b.py"})
    verdict = verdict_call(("F-1", "confirmed", "RATES = [1]"), path="b.py")
    taken, model = await verify(
        store, record(store, CLAIM), calls(search), calls(read), calls(verdict)
    )
    offered = [[spec.name for spec in request.tools] for request in model.requests]
    assert offered == [["read_file", "search_files", "judge_findings"]] * 2 + [["judge_findings"]]
    assert "RATES = [1]" in str(model.requests[2].messages)
    judgement = taken.judgements["F-1"]
    assert (judgement.verdict, judgement.path, judgement.line) == ("confirmed", "b.py", 2)
    assert taken.requests == 3
    # what it looked up may change: the verdict is not reused
    [claim] = [replace(finding, judgement=judgement) for finding in store.findings()]
    again, model = await verify(store, [claim], calls(verdict_call(("F-1", "refuted", LINE))))
    assert len(model.requests) == 1


async def test_a_quote_of_code_that_the_verifier_was_not_shown_is_no_evidence(
    store: ReviewStore,
) -> None:
    Path("b.py").write_text("RATES = [1, 2]\n")
    answer = calls(verdict_call(("F-1", "confirmed", "RATES = [1, 2]"), path="b.py"))
    taken, _ = await verify(store, record(store, CLAIM), answer)
    assert taken.judgements["F-1"].verdict == "cannot_tell"


@pytest.mark.parametrize(
    "path", [".env", "link.py", "private/notes.py", "drafts/notes.py", "../outside.py"]
)
async def test_a_file_that_may_hold_secrets_or_is_ignored_is_not_sent(
    store: ReviewStore, path: str
) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".gitignore").write_text(".env\nprivate/\n")
    Path(".aiignore").write_text("drafts/\n")
    Path("link.py").symlink_to(".env")
    for name in (".env", "private/notes.py", "drafts/notes.py", "../outside.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("TOKEN = 'abc-123'\n")
    quoted = {"id": "F-1", "verdict": "refuted", "path": path, "quote": "TOKEN = 'abc-123'"}
    replies = [
        calls(("search_files", {"pattern": "TOKEN"})),
        calls(("judge_findings", {"judgements": [quoted]})),
    ]
    taken, model = await verify(store, record(store, CLAIM), *replies)
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
    await make_verifier(model, store, sources).verify([found])
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
            "       -     if not prices: return 0\n     5       return sum",
        ),
        (
            Finding("auth.py", 1, "GONE", "app.py needs it", evidence="def check():"),
            "def check():",
            "auth.py, which the change deletes:\n     1 - def check():",
        ),
    ],
)
@pytest.mark.parametrize("verdict", ["introduced", "refuted"])
@pytest.mark.parametrize("field", ["quote", "absent"])
async def test_removed_code_is_shown_to_the_verifier_and_can_confirm_a_claim_but_refutes_none(
    store: ReviewStore, claim: Finding, quote: str, shown: str, verdict: str, field: str
) -> None:
    sources = removal()
    review = store.begin(ReviewRecord("/p", (), "x"))
    [found] = store.record(review, ground([claim], sources)).new_findings
    row = {"id": "F-1", "verdict": verdict, "path": claim.path, field: quote}
    model = ScriptedModel([calls(("judge_findings", {"judgements": [row]}))])
    taken = await make_verifier(model, store, sources, change="It changes: a.py").verify([found])
    expected = "introduced" if verdict == "introduced" else "cannot_tell"
    assert taken.judgements["F-1"].verdict == expected
    assert shown in str(model.requests[0].messages[1]["content"])


async def judge_change(store: ReviewStore, claim: Finding, **answer: str) -> tuple[Judgement, str]:
    """Return the judgement on a claim about a change that adds line 5 of `a.py`, and what the verifier was shown."""
    lines = tuple(CODE.split("\n")[:-1])
    old = Source("a.py", (*lines[:4], *lines[5:]), "x")
    places = (1, 2, 3, 4, 6, 7, 8, 9)
    before = Before(old, places, frozenset(), False, frozenset({5}))
    sources = Sources(Path.cwd(), {"a.py": before})
    [found] = store.record(
        store.begin(ReviewRecord("/p", (), "x")), ground([claim], sources)
    ).new_findings
    row = {"id": found.id, "path": "a.py", **answer}
    model = ScriptedModel([calls(("judge_findings", {"judgements": [row]}))] * 2)
    intent = "Return the mean of the prices"
    change = f"What its author says it is for:\n> {intent}\nIt changes: a.py, tests/test_a.py"
    verifier = make_verifier(model, store, sources, change=change, intent=intent)
    taken = await verifier.verify([found])
    return taken.judgements[found.id], str(model.requests[0].messages[1]["content"])


@pytest.mark.parametrize(
    ("answer", "verdict", "side"),
    [
        ({"verdict": "introduced", "quote": LINE}, "introduced", "head"),
        ({"verdict": "introduced", "quote": "def total(prices):", "side": "base"}, "cannot_tell", "head"),
        ({"verdict": "introduced", "absent": "def total(prices):"}, "cannot_tell", "head"),
        ({"verdict": "pre_existing", "quote": "return total(prices)"}, "pre_existing", "base"),
        ({"verdict": "pre_existing", "quote": LINE, "side": "base"}, "cannot_tell", "head"),
        ({"verdict": "intended", "quote": "Return the mean of the prices"}, "intended", "head"),
        ({"verdict": "intended", "quote": "as everybody knows"}, "cannot_tell", "head"),
        ({"verdict": "intended", "quote": "It changes: a.py"}, "cannot_tell", "head"),
        ({"verdict": "intended", "quote": LINE}, "cannot_tell", "head"),
        ({"verdict": "refuted", "quote": LINE}, "refuted", "head"),
        ({"verdict": "introduced", "quote": "    "}, "cannot_tell", "head"),
        ({"verdict": "introduced", "quote": "os"}, "cannot_tell", "head"),
    ],
)  # fmt: skip
async def test_a_verdict_on_a_change_needs_evidence_on_its_side(
    store: ReviewStore, answer: dict[str, str], verdict: str, side: str
) -> None:
    claim = replace(CLAIM, line=9) if "return total" in str(answer) else CLAIM
    judgement, _ = await judge_change(store, claim, **answer)
    assert (judgement.verdict, judgement.side) == (verdict, side)


@pytest.mark.parametrize(("line", "verdict"), [(1, "intended"), (2, "cannot_tell")])
async def test_a_test_that_a_change_has_written_says_what_is_intended(
    store: ReviewStore, line: int, verdict: str
) -> None:
    texts = ("assert total([]) == 0", "assert total([1]) == 1")
    Path("tests").mkdir()
    Path("tests/test_a.py").write_text("\n".join(texts))
    old = Source("tests/test_a.py", texts[1:], "x")
    before = {
        "a.py": Before(Source("a.py", (), "x"), (), frozenset(), False, frozenset({5})),
        "tests/test_a.py": Before(old, (2,), frozenset(), False, frozenset({1})),
    }
    sources = Sources(Path.cwd(), before)
    [found] = store.record(
        store.begin(ReviewRecord("/p", (), "x")), ground([CLAIM], sources)
    ).new_findings
    row = {"id": "F-1", "verdict": "intended", "path": "tests/test_a.py", "quote": texts[line - 1]}
    replies = [
        calls(("read_file", {"path": "tests/test_a.py"})),
        calls(("judge_findings", {"judgements": [row]})),
    ]
    verifier = make_verifier(ScriptedModel(replies), store, sources, change="It changes: a.py")
    taken = await verifier.verify([found])
    assert taken.judgements["F-1"].verdict == verdict


@pytest.mark.parametrize(("line", "is_old"), [(5, False), (9, True)])
async def test_a_claim_about_lines_that_the_change_does_not_touch_is_called_probably_old(
    store: ReviewStore, line: int, is_old: bool
) -> None:
    _, shown = await judge_change(store, replace(CLAIM, line=line), verdict="cannot_tell")
    assert ("Probably old" in shown) == is_old
    assert ("     5 +     return sum" in shown) != is_old


async def test_a_verdict_for_code_is_none_for_a_change(store: ReviewStore) -> None:
    judgement, _ = await judge_change(store, CLAIM, verdict="confirmed", quote=LINE)
    assert (judgement.verdict, judgement.by) == ("cannot_tell", "failure")


async def test_a_claim_that_rests_on_a_rule_is_checked_with_its_text(store: ReviewStore) -> None:
    claims = record(store, replace(CLAIM, kind="check", code_smell_type="money"))
    model = ScriptedModel([calls(verdict_call(("F-1", "confirmed", LINE), path="a.py"))])
    rules = {"money": "No floats for money.", "names": "Nouns."}
    await make_verifier(model, store, Sources(Path.cwd()), rules=rules).verify(claims)
    text = str(model.requests[0].messages)
    assert ("No floats for money." in text, "Nouns." in text) == (True, False)


@pytest.mark.usefixtures("one_by_one")
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
        ("open", "intended", False, "refuted"),
        ("open", "pre_existing", False, "open"),
        ("gone", "pre_existing", False, "open"),
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
    verifier = make_verifier(model, store, Sources(Path.cwd()))
    await verifier.check([claim], {"F-2"})
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
    verifier = make_verifier(model, store, Sources(Path.cwd()))
    await verifier.check(claims, {f.id for f in claims})
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
    verifier = make_verifier(model, store, Sources(Path.cwd()))
    await verifier.check([store.get("F-1")], {"F-1"})
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
async def test_a_quote_with_line_numbers_fences_or_diff_signs_is_matched_to_its_line(
    store: ReviewStore, row: dict[str, str], read: str
) -> None:
    whole = {"id": "F-1", "verdict": "confirmed", "path": "a.py", "line": 5, "why": "w"} | row
    answer = calls(("judge_findings", {"judgements": [whole]}))
    taken, _ = await verify(store, record(store, CLAIM), answer)
    found = taken.judgements["F-1"]
    assert (found.verdict, found.line) == (read, 5 if read != "cannot_tell" else 0)


@pytest.mark.usefixtures("one_by_one")
async def test_reported_findings_are_verified_before_those_that_are_gone(
    store: ReviewStore,
) -> None:
    Path("b.py").write_text(CODE)
    gone, claim = record(
        store, replace(CLAIM, severity="critical"), replace(CLAIM, path="b.py", severity="low")
    )
    model = ScriptedModel([calls(verdict_call()) for _ in range(4)])
    verifier = make_verifier(model, store, Sources(Path.cwd()))
    await verifier.check([replace(gone, state="gone"), claim], {claim.id})
    places = [
        str(request.messages[1]["content"]).split(" at ")[1].split(":")[0]
        for request in model.requests
    ]
    assert list(dict.fromkeys(places)) == ["b.py", "a.py"]


async def test_a_refuted_finding_is_verified_again_only_if_it_is_reported_again(
    store: ReviewStore,
) -> None:
    [claim] = record(store, CLAIM)
    store.update([replace(claim, state="refuted", verdict="refuted", reason="a guard stood above")])
    model = ScriptedModel([calls(verdict_call(("F-1", "confirmed", LINE), path="a.py"))])
    verifier = make_verifier(model, store, Sources(Path.cwd()))
    await verifier.check(store.findings())
    assert model.requests == []
    await verifier.check(store.findings(), {"F-1"})
    assert (store.get("F-1").state, store.get("F-1").verdict) == ("open", "confirmed")


async def test_a_gone_finding_that_stands_is_found_by_what_shows_it_from_then_on(
    store: ReviewStore,
) -> None:
    other = "return sum(prices) / (len(prices))"
    [claim] = record(store, replace(CLAIM, suggestion=f"    {other}"))
    Path("a.py").write_text(f"# another line\n{CODE.replace(LINE, other)}")
    recheck(store, Sources(Path.cwd()))
    assert store.get(claim.id).state == "gone"
    answer = calls(verdict_call((claim.id, "confirmed", other), path="a.py"))
    verifier = make_verifier(ScriptedModel([answer]), store, Sources(Path.cwd()))
    await verifier.check(store.findings())
    standing = store.get(claim.id)
    assert (standing.state, standing.line, standing.suggestion) == ("open", 6, "")
    assert recheck(store, Sources(Path.cwd())) == []
    assert store.get(claim.id).state == "open"


async def test_of_several_places_of_a_quote_the_one_nearest_to_the_claim_is_evidence(
    store: ReviewStore,
) -> None:
    Path("a.py").write_text(f"{CODE}\n\n{CODE}")
    [claim] = record(store, replace(CLAIM, line=16))
    answer = calls(verdict_call((claim.id, "confirmed", LINE), path="a.py"))
    taken, _ = await verify(store, [claim], answer)
    assert taken.judgements[claim.id].line == 16


async def test_claims_of_several_files_are_asked_about_together(store: ReviewStore) -> None:
    paths = [f"part_{number}.py" for number in range(8)]
    for path in paths:
        Path(path).write_text(CODE)
    claims = record(store, *(replace(CLAIM, path=path) for path in paths))
    rows = [(claim.id, "confirmed", LINE) for claim in claims]
    replies = [calls(verdict_call(*rows[:6], path="")), calls(verdict_call(*rows[6:], path=""))]
    taken, model = await verify(store, claims, *replies)
    asked = [str(request.messages[1]["content"]).count("### F-") for request in model.requests]
    assert asked == [6, 2]
    places = {taken.judgements[claim.id].path for claim in claims}
    assert places == set(paths)
