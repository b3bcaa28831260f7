"""Test extracting findings from sixty forms of model output, with a warning for every loss."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.finding import SMELLS
from swecli.models.finding_parser import MAX_LINE
from swecli.models.message import ModelReply, ToolCall
from swecli.review.read.extract import extract


def finding_row(**fields: Any) -> dict[str, Any]:
    base = {
        "path": "src/a.py",
        "line": 4,
        "severity": "high",
        "codeSmellType": "LONG_METHOD",
        "message": "too long",
    }
    return base | fields


ONE, TWO = json.dumps(finding_row()), json.dumps(finding_row(path="b.py", line=9))
FENCED = f"```json\n{ONE}\n```"

# answer → number of findings, and whether a loss must be reported
ODD: dict[str, tuple[str, int, bool]] = {
    "a plain object": (ONE, 1, False),
    "a list": (f"[{ONE}, {TWO}]", 2, False),
    "under issues": (f'{{"issues": [{ONE}, {TWO}]}}', 2, False),
    "under findings": (f'{{"findings": [{ONE}]}}', 1, False),
    "deep inside": (f'{{"review": {{"result": {{"code_smells": [{ONE}]}}}}}}', 1, False),
    "in a fence": (FENCED, 1, False),
    "in a fence without a language": (f"```\n{ONE}\n```", 1, False),
    "in prose": (f"I looked and found {ONE} and that is all.", 1, False),
    "two fences": (f"{FENCED}\nand also\n```json\n{TWO}\n```", 2, False),
    "a fence and prose": (f"{FENCED}\nthen {TWO}", 2, False),
    "a finding on each line": (f"{ONE}\n{TWO}\n", 2, False),
    "a trailing comma in an object": (ONE[:-1] + ",}", 1, False),
    "a trailing comma in a list": (f"[{ONE},]", 1, False),
    "single quotes": (str(finding_row()), 1, False),
    "words of Python": (str({**finding_row(), "verified": True, "end": None}), 1, False),
    "names without quotes": ('{path: "a.py", line: 3, message: "x", severity: high}', 1, False),
    "comments": (f"[ // first\n{ONE}, # second\n/* third */ {TWO}]", 2, False),
    "a real line end in a text": (ONE.replace("too long", "too\nlong"), 1, False),
    "a quote that is not escaped": (
        '{"path": "a.py", "line": 2, "message": "calls "eval" here"}',
        1,
        False,
    ),
    "missing comma between entries": (f"[{ONE} {TWO}]", 2, False),
    "a byte order mark": (f"\ufeff{ONE}", 1, False),
    "windows line ends": (FENCED.replace("\n", "\r\n"), 1, False),
    "cut in the second entry": (f"[{ONE}, {TWO}"[:-20], 2, True),
    "cut between entries": (f'{{"issues": [{ONE},', 1, True),
    "cut in a message": (
        '{"issues": [{"path": "a.py", "line": 3, "code_smell_type": "DEAD_CODE", "mess',
        1,
        True,
    ),
    "cut right after the opening": ('{"issues": [', 0, True),
    "cut in a path": ('{"issues": [{"path": "a', 0, True),
    "cut inside a fence that is closed": (
        f'```json\n[{ONE}, {{"path": "b\n```\nmore words',
        1,
        True,
    ),
    "cut block, then a whole one": (f'```json\n[{ONE}, {{"path\n```\n```json\n{TWO}\n```', 2, True),
    "an empty list": ("[]", 0, False),
    "an empty list under issues": ('{"issues": []}', 0, False),
    "nothing at all": ("", 0, False),
    "only prose": ("I found nothing worth telling.", 0, False),
    "code in prose": ("Use `d = {'a': 1}` or `x[0]` there.", 0, False),
    "null": ("null", 0, False),
    "a list of words": ('["a", "b"]', 0, False),
    "no path": ('{"issues": [{"file": "", "path": null, "line": 3, "message": "x"}]}', 0, False),
    "a path that is empty text": (json.dumps(finding_row(path=" ``")), 0, True),
    "no message and no type": ('{"path": "a.py", "line": 3}', 0, True),
    "no line": (json.dumps({"path": "a.py", "message": "x"}), 1, False),
    "a line of words": (json.dumps(finding_row(line="near the top")), 1, False),
    "a line in a text": (json.dumps(finding_row(line="17")), 1, False),
    "a line with a letter": (json.dumps(finding_row(line="L17")), 1, False),
    "lines in a text": (json.dumps(finding_row(line="17-19")), 1, False),
    "a line that is a float": (json.dumps(finding_row(line=17.0)), 1, False),
    "line nought": (json.dumps(finding_row(line=0)), 1, False),
    "a negative line": (json.dumps(finding_row(line=-3)), 1, False),
    "a line that is true": (json.dumps(finding_row(line=True)), 1, False),
    "a line that is a list": (json.dumps(finding_row(line=[3, 9])), 1, False),
    "line 10^9": (json.dumps(finding_row(line=10**9)), 1, False),
    "line 10^30": (json.dumps(finding_row(line=10**30)), 1, False),
    "a path out of the project": (json.dumps(finding_row(path="../../etc/passwd")), 1, False),
    "an absolute path": (json.dumps(finding_row(path="/etc/passwd")), 1, False),
    "a path of Windows": (json.dumps(finding_row(path=".\\src\\a.py")), 1, False),
    "a message that is a list": (json.dumps(finding_row(message=["one", "two"])), 1, False),
    "a message that is a number": (json.dumps(finding_row(message=7)), 1, False),
    "a severity nobody knows": (json.dumps(finding_row(severity="spicy")), 1, True),
    "a severity that is an object": (json.dumps(finding_row(severity={"level": 3})), 1, True),
    "a smell nobody knows": (json.dumps(finding_row(codeSmellType="SpaghettiThing")), 1, False),
    "five hundred": (json.dumps([finding_row(line=n) for n in range(1, 501)]), 500, False),
    "a list written as a text": (
        json.dumps({"findings": json.dumps([finding_row(), finding_row(line=9)])}),
        2,
        False,
    ),
    "nested without end": ("[" * 5_000 + ONE, 0, True),
    "control letters": (json.dumps(finding_row(message="a\x1b[31mb\x07")), 1, False),
    "half a surrogate": (json.dumps(finding_row(message="\ud800x")), 1, False),
    "an XML answer": ("<finding><path>a.py</path><line>3</line></finding>", 0, False),
    "broken beyond reading": ('"path": "a.py", "line": 3, "codeSmellType" oh no', 0, True),
}


def test_the_table_has_sixty_forms_of_answers() -> None:
    assert len(ODD) >= 60


@pytest.mark.parametrize("name", ODD)
@pytest.mark.slow
def test_an_odd_response_is_salvaged_and_the_loss_is_reported(name: str) -> None:
    text, count, loss = ODD[name]
    found = extract(ModelReply(text), 3)
    assert len(found.findings) == count
    assert bool(found.lost) is loss, found.lost
    assert all(0 <= finding.line <= MAX_LINE and finding.loop == 3 for finding in found.findings)
    assert all(
        finding.path and finding.message and finding.code_smell_type for finding in found.findings
    )


def test_a_range_a_code_field_and_a_suggestion_block_are_read() -> None:
    text = json.dumps(
        finding_row(
            range={"startLine": 45, "endLine": 47},
            improvement="```suggestion\nLIMIT = 403\n```",
            line=45,
            code="x == 403",
        )
    )
    [finding] = extract(ModelReply(text)).findings
    assert (finding.line, finding.end_line) == (45, 47)
    assert (finding.suggestion, finding.improvement, finding.evidence) == (
        "LIMIT = 403",
        "",
        "x == 403",
    )
    assert (finding.severity, finding.kind) == ("high", "smell")


@pytest.mark.parametrize(
    ("fields", "kind", "rule"),
    [
        ({"codeSmellType": "magic numbers"}, "smell", "MAGIC_NUMBERS"),
        ({"codeSmellType": "long-function"}, "smell", "LONG_METHOD"),
        ({"codeSmellType": None, "type": "DEAD_CODE"}, "smell", "DEAD_CODE"),
        ({"codeSmellType": "off by one", "kind": "correctness"}, "correctness", "OFF_BY_ONE"),
        ({"codeSmellType": "sql injection"}, "security", "SQL_INJECTION"),
        ({"codeSmellType": "No print()", "kind": "check"}, "check", "No print()"),
        ({"codeSmellType": "Spaghetti", "kind": "smell"}, "correctness", "SPAGHETTI"),
    ],
)
def test_a_type_becomes_one_of_eleven_smells_or_a_rule_of_another_kind(
    fields: dict[str, Any], kind: str, rule: str
) -> None:
    [finding] = extract(ModelReply(json.dumps(finding_row(**fields)))).findings
    assert (finding.kind, finding.code_smell_type) == (kind, rule)
    assert len(SMELLS) == 11


def test_a_report_call_is_read_and_a_malformed_one_is_reported() -> None:
    good = ToolCall("c1", "report_findings", {"findings": [finding_row(), {"nonsense": 1}]})
    bad, other = (
        ToolCall("c2", "report_findings"),
        ToolCall("c3", "read_file", {"path": "a.py", "line": 3}),
    )
    found = extract(ModelReply(calls=[good, bad, other], malformed={"c2": "no JSON"}))
    assert len(found.findings) == 1
    assert found.lost == [
        "a call of report_findings could not be read whole, 0 of its findings were: no JSON"
    ]


@given(st.text(alphabet=st.sampled_from("{}[]\",:'`\n\\ab1-/#*"), max_size=120))
def test_extracting_from_any_text_raises_no_error(text: str) -> None:
    extract(ModelReply(text))


@given(st.integers(0, len(f"[{ONE}, {TWO}]")))
def test_findings_complete_before_a_cut_are_kept(cut: int) -> None:
    text = f"[{ONE}, {TWO}]"
    found = extract(ModelReply(text[:cut]))
    assert len(found.findings) >= (cut > len(ONE)) + (cut >= len(text) - 1)


@pytest.mark.parametrize(
    ("given", "read", "word"),
    [
        ("P0", "critical", ""), ("Sev-2", "medium", ""), (9.8, "critical", ""), ("CVSS 7.5", "high", ""),
        ("🔴 High", "high", ""), ("medium-high", "high", ""), ("low (nit)", "low", ""), ({"level": "high"}, "high", ""),
        (1, "low", ""), (None, "medium", ""), ("hoch", "high", ""), ("严重", "high", ""),
        ("пустяк", "medium", "пустяк"),
    ],
)  # fmt: skip
def test_a_severity_is_read_in_many_forms_and_an_unknown_one_is_reported(
    given: Any, read: str, word: str
) -> None:
    found = extract(
        ModelReply(json.dumps({"findings": [finding_row(severity=given)] * 3, "done": True}))
    )
    assert ({f.severity for f in found.findings}, found.reports) == ({read}, [(None, True)])
    assert [word in line for line in found.lost] == [True] * bool(word)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("12-19", (12, 19)), ("L12-L19", (12, 19)), ("12:4", (12, None)), ("12:4-19:7", (12, 19)), ("12..19", (12, 19)),
        ("12, 13, 14", (12, 14)), ("line 12, column 4", (12, None)), ({"start": 12, "end": 19}, (12, 19)),
        ({"start": {"line": 12}, "end": {"line": 19}}, (12, 19)), ("-12", (0, None)), ("twelve", (0, None)),
    ],
)  # fmt: skip
def test_a_line_or_range_is_read_in_many_forms(line: Any, place: tuple[int, int | None]) -> None:
    [found] = extract(ModelReply(json.dumps(finding_row(line=line)))).findings
    assert (found.line, found.end_line) == place


def test_a_line_or_range_appended_to_the_path_is_read() -> None:
    rows = [
        finding_row(path="src/a.py:12", line=None),
        finding_row(path="src/a.py#L12-L19", line=None),
    ]
    assert [
        (f.path, f.line, f.end_line) for f in extract(ModelReply(json.dumps(rows))).findings
    ] == [
        ("src/a.py", 12, None),
        ("src/a.py", 12, 19),
    ]


# two findings each: src/a.py, line 3, high · src/b.py, line 7, low
RECORDS = {
    "JSON by severity": json.dumps({
        "High Severity": [{"path": "src/a.py", "line": 3, "message": "one"}],
        "low": [{"path": "src/b.py", "line": 7, "message": "two"}],
    }),
    "JSON by path": json.dumps({
        "src/a.py": [{"line": 3, "severity": "high", "message": "one"}],
        "src/b.py": [{"line": 7, "severity": "low", "message": "two"}],
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_records_in_each_form_are_read_with_their_file_line_and_severity(name: str) -> None:
    found = extract(ModelReply(RECORDS[name])).findings
    read = [(one.path, one.line, one.severity, one.message) for one in found]
    assert read == [("src/a.py", 3, "high", "one"), ("src/b.py", 7, "low", "two")]


REPORT: dict[str, Any] = {"part": 1, "done": True, "findings": [finding_row()]}


@pytest.mark.parametrize(
    "call",
    [
        {"name": "report_findings", "arguments": REPORT},
        {"name": "report_findings", "arguments": json.dumps(REPORT)},
        {"type": "function", "name": "report_findings", "parameters": REPORT},
        [{"name": "report_findings", "arguments": REPORT}],
        {
            "tool_calls": [
                {
                    "type": "function",
                    "function": {"name": "report_findings", "arguments": json.dumps(REPORT)},
                }
            ]
        },
    ],
)
def test_a_tool_call_written_as_text_counts_as_a_report(call: Any) -> None:
    found = extract(ModelReply(f"<tool_call>{json.dumps(call)}</tool_call>"))
    assert (len(found.findings), found.reports) == (1, [(1, True)])


def test_a_cut_tool_call_written_as_text_does_not_count_as_a_report() -> None:
    call = {"function": {"name": "report_findings", "arguments": json.dumps(REPORT)[:-20]}}
    found = extract(ModelReply(json.dumps(call)))
    assert (len(found.findings), found.reports) == (1, [])


@pytest.mark.parametrize(
    "text",
    [
        "- path: src/a.py\n  line: 3\n  severity: high\n  message: one\n",
        "- **File**: `src/a.py`\n- **Line**: 3\n- **Issue**: one\n",
        "| file | line | type | problem |\n|---|---|---|---|\n| src/a.py | 3 | LEAK | one |",
        "<finding><path>src/a.py</path><line>3</line><message>one</message></finding>",
        "1. `src/a.py:3` LEAK: one",
    ],
)
def test_an_answer_in_words_is_no_report_so_that_it_is_asked_for_again(text: str) -> None:
    found = extract(ModelReply(text))
    assert (found.findings, found.reports) == ([], [])
