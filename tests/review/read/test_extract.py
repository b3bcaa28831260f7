"""Test extracting findings from a reviewer's reply, with a line for every entry that is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.context.reported_findings import MAX_LINE
from swecli.models.finding import SMELLS
from swecli.models.message import ModelReply, ToolCall
from swecli.review.read.extract import extract


def finding_row(**fields: Any) -> dict[str, Any]:
    base = {
        "path": "src/a.py",
        "line": 4,
        "severity": "high",
        "code_smell_type": "LONG_METHOD",
        "message": "too long",
    }
    return base | fields


ONE, TWO = json.dumps(finding_row()), json.dumps(finding_row(path="b.py", line=9))
FIRST_VERSION = {
    "path": "src/a.py",
    "line": 45,
    "severity": "medium",
    "type": "code_smell",
    "codeSmellType": "MAGIC_NUMBERS",
    "message": "Hardcoded 403",
    "improvement": "Name it.\n```suggestion\nLIMIT = 403\n```",
    "range": {"startLine": 45, "endLine": 47},
}

# answer → number of findings, and whether a loss must be reported
ANSWERS: dict[str, tuple[str, int, bool]] = {
    "a finding": (ONE, 1, False),
    "a list": (f"[{ONE}, {TWO}]", 2, False),
    "a report": (f'{{"findings": [{ONE}, {TWO}]}}', 2, False),
    "a report of the first version": (json.dumps({"issues": [FIRST_VERSION]}), 1, False),
    "a report in a fence": (f'```json\n{{"findings": [{ONE}]}}\n```', 1, False),
    "two fences in prose": (f"So:\n```json\n{ONE}\n```\nand:\n```json\n{TWO}\n```", 2, False),
    "whole entries before a cut": (f'{{"findings": [{ONE}, {TWO}, {{"path": "c', 2, False),
    "an entry without a line": (json.dumps({**finding_row(), "line": None}), 0, True),
    "a severity that is none": (json.dumps(finding_row(severity="spicy")), 0, True),
    "an empty path": (json.dumps(finding_row(path=" ")), 0, True),
    "an entry that is a word": ('{"findings": ["x"]}', 0, True),
    "an empty report": ('{"findings": []}', 0, False),
    "other JSON": ('Use {"a": 1} or ["b"].', 0, False),
    "prose": ("1. `src/a.py:3` LEAK: one", 0, False),
    "no line in the file": (json.dumps(finding_row(line=-3)), 1, False),
    "line 10^30": (json.dumps(finding_row(line=10**30)), 1, False),
    "control characters": (json.dumps(finding_row(message="a\x1b[31mb\x07")), 1, False),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_follows_the_schema_is_extracted_and_what_does_not_is_reported(name: str) -> None:
    text, count, loss = ANSWERS[name]
    found = extract(ModelReply(text), 3)
    assert (len(found.findings), bool(found.losses)) == (count, loss), found.losses
    assert all(0 <= finding.line <= MAX_LINE and finding.loop == 3 for finding in found.findings)
    assert all(finding.message.isprintable() for finding in found.findings)


def test_a_lost_entry_is_named_with_what_is_wrong() -> None:
    [line] = extract(ModelReply(json.dumps(finding_row(line="17")))).losses
    assert line.startswith("an entry cannot be used, $.line: '17' is not of type 'integer': {")


def test_a_finding_of_the_first_version_has_its_range_and_its_suggestion() -> None:
    [finding] = extract(ModelReply(json.dumps(FIRST_VERSION))).findings
    assert (finding.line, finding.end_line, finding.kind) == (45, 47, "smell")
    assert (finding.suggestion, finding.improvement) == ("LIMIT = 403", "Name it.")


@pytest.mark.parametrize(
    ("fields", "kind", "rule"),
    [
        ({"code_smell_type": "magic numbers"}, "smell", "MAGIC_NUMBERS"),
        ({"code_smell_type": "off by one", "kind": "correctness"}, "correctness", "OFF_BY_ONE"),
        ({"code_smell_type": "sql injection", "kind": "security"}, "security", "SQL_INJECTION"),
        ({"code_smell_type": "No print()", "kind": "check"}, "check", "No print()"),
        ({"code_smell_type": "Spaghetti", "kind": "smell"}, "correctness", "SPAGHETTI"),
    ],
)
def test_a_type_becomes_one_of_eleven_smells_or_a_rule_of_another_kind(
    fields: dict[str, Any], kind: str, rule: str
) -> None:
    [finding] = extract(ModelReply(json.dumps(finding_row(**fields)))).findings
    assert (finding.kind, finding.code_smell_type) == (kind, rule)
    assert len(SMELLS) == 11


def test_only_a_report_that_can_be_used_whole_is_one() -> None:
    whole = {"part": 2, "done": True, "findings": [finding_row()]}
    assert extract(ModelReply(json.dumps(whole))).reports == [(2, True)]
    broken = {**whole, "findings": [finding_row(), {"path": "b.py"}]}
    found = extract(ModelReply(json.dumps(broken)))
    assert (len(found.findings), found.reports) == (1, [])
    cut = extract(ModelReply(json.dumps(whole)[:-2]))
    assert (len(cut.findings), cut.reports) == (1, [])


def test_a_report_call_is_read_and_a_malformed_one_is_reported() -> None:
    good = ToolCall("c1", "report_findings", {"findings": [finding_row()]})
    bad = ToolCall("c2", "report_findings")
    other = ToolCall("c3", "read_file", {"path": "a.py", "line": 3})
    found = extract(ModelReply(calls=[good, bad, other], malformed={"c2": "no JSON"}))
    assert len(found.findings) == 1
    assert found.losses == ["a call of report_findings could not be read: no JSON"]


@given(st.text(alphabet=st.sampled_from("{}[]\",:'`\n\\ab1-/#*"), max_size=120))
def test_extracting_from_any_text_raises_no_error(text: str) -> None:
    extract(ModelReply(text))


@given(st.integers(0, len(f"[{ONE}, {TWO}]")))
def test_findings_complete_before_a_cut_are_kept(cut: int) -> None:
    text = f"[{ONE}, {TWO}]"
    found = extract(ModelReply(text[:cut]))
    assert len(found.findings) == (cut > len(ONE)) + (cut >= len(text) - 1)
