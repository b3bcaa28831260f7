"""The tool by which a reviewer reports, and the extraction of findings from its replies: tool calls, JSON in prose,
records, XML, tables and bullets, whole or truncated."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import Field

from swecli.llm.lenient_json import find_json_values
from swecli.models.finding import SEVERITIES, SMELLS, Finding, pluralize
from swecli.models.finding_rows import find_rows, parse_finding
from swecli.models.message import Display, ModelReply, ToolResult
from swecli.review.judge.sources import strip_whitespace
from swecli.tools.base import READ, Params, Tool, ToolContext, ToolPlan
from swecli.tools.execute import ToolRegistry

REPORT_TOOL = "report_findings"
_ITEM: dict[str, Any] = json.loads(
    Path(__file__).with_name(f"{REPORT_TOOL}.json").read_text(encoding="utf-8")
)
_STORED = "The findings are stored."
_LISTS = ("findings", "issues", "code_smells", "codeSmells", "results")
_MIN_QUOTATION = 40  # characters of a JSON value that is ignored if the code contains it
_LOOKS_LIKE = re.compile(r"codeSmellType|code_smell_type|\"(?:path|file)\"\s*:", re.IGNORECASE)
_FIELD = re.compile(
    r"^\s*(?P<bullet>(?:[-*+]|\d+[.)])\s+)?[\"'`*]*(?P<key>[A-Za-z<][\w< -]{1,24})[\"'`*]*\s*:[*]*\s+(?P<value>\S.*)$"
)
_PLACE = re.compile(
    r"[`*\[(]*(?P<path>[\w./@+-]+\.\w+|[\w./@+-]*/[\w.@+-]+)(?:[:#]|[`*]*,? \(?lines? |[`*]* (?=L))L?(?P<line>\d{1,9})"
    r"(?::\d{1,5}(?=:))?(?:\s*[-–]\s*L?(?P<end>\d{1,9}))?"
)
_LINK = re.compile(r"(?<![\w)\]])\[([^\]\n]+)\]\((?=[^()\s]*[/.#])[^()\s]+\)")
_LEAF = re.compile(r"<(?P<key>\w+)>\s*(?P<value>[^<]+?)\s*</(?P=key)>")
_ELEMENT = re.compile(r"<\w+(?P<attributes>(?:\s+\w+=\"[^\"<]*\")+)\s*/?>(?P<text>[^<]*)")
_ATTRIBUTE, _AS_LEAF = re.compile(r'\s+(\w+)="([^"]*)"'), r"<\1>\2</\1>"
_BAR = re.compile(
    r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)"
)  # between cells: neither escaped nor within code
_WORDS = {
    "message",
    "description",
    "issue",
    "title",
    "problem",
    "text",
    "summary",
    "type",
    "code_smell_type",
    "smell",
}
_TYPES = re.compile(r"\b(?:" + "|".join(SMELLS) + r"|[A-Z]{3,}(?:_[A-Z]+)+)\b")
_SEVERITY = re.compile(r"\b(?:" + "|".join(SEVERITIES) + r")\b", re.IGNORECASE)


class _ReportParams(Params):
    """Parameters of report_findings; entries are not validated here, so that a bad one does not reject the others."""

    part: Any = Field(
        None,
        description="The number of the part this is about.",
        json_schema_extra={"type": "integer"},
    )
    done: Any = Field(
        None,
        description="Whether the part is read to its end.",
        json_schema_extra={"type": "boolean"},
    )
    findings: Any = Field(
        description="The findings.", json_schema_extra={"type": "array", "items": _ITEM}
    )


def review_tools(tools: ToolRegistry) -> ToolRegistry:
    """Return the read-only tools and the one that reports. Findings are extracted and stored before that one runs."""

    def plan(params: _ReportParams, ctx: ToolContext) -> ToolPlan:
        count = len(params.findings) if isinstance(params.findings, list) else 1
        return ToolPlan(f"Report {pluralize(count, 'finding')}")

    async def run(params: _ReportParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
        return ToolResult(True, _STORED, Display(title="Findings", body=_STORED))

    text = Path(__file__).with_name(f"{REPORT_TOOL}.md").read_text(encoding="utf-8").strip()
    kept = [tool for tool in tools.values() if tool.kind.is_read_only and tool.offer.in_reviews]
    return ToolRegistry([*kept, Tool(REPORT_TOOL, text, _ReportParams, READ, run, plan)])


@dataclass(slots=True)
class Extraction:
    """What one reply reported, repetitions included. `lost` has a line for each thing that could not be used. `reports`
    has (part, done) of each well-formed report; part None is the running part, done None is unspecified."""

    loop: int = 0
    findings: list[Finding] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    reports: list[tuple[int | None, bool | None]] = field(default_factory=list)

    def add(self, value: Any, source: str, *, is_whole: bool) -> int:
        """Add the findings in a value and return their number. A whole value is a report if all entries of its list
        could be parsed."""
        value, is_cut = _decode_lists(value)
        source = "cut" if is_cut else source
        found = [
            parse_finding(row, self.loop, self.lost, source) for row in find_rows(value, self.lost)
        ]
        kept = [finding for finding in found if finding is not None]
        if source == "cut":  # only the last entry can be truncated
            kept = [replace(finding, source="json") for finding in kept[:-1]] + kept[-1:]
        self.findings += kept
        if is_whole and source != "cut" and isinstance(value, dict):
            listed = next((value[name] for name in _LISTS if name in value), None)
            if isinstance(listed, list) and len(kept) >= len(listed):
                part, done = value.get("part"), value.get("done")
                number = part if isinstance(part, int) and not isinstance(part, bool) else None
                self.reports.append((number, done if isinstance(done, bool) else None))
        return len(kept)


def extract(
    reply: ModelReply, loop: int = 0, paths: Collection[str] = (), shown: str = ""
) -> Extraction:
    """Return the findings in the text and the calls of a reply; never raises. Findings in prose count only if their
    path is one of `paths`. JSON that `shown`, the normalized code that the model was shown, contains is a quotation."""
    out, text = (
        Extraction(loop),
        _LINK.sub(r"\1", reply.text),
    )  # a link's brackets would be read as a list
    for call in [call for call in reply.calls if call.name == REPORT_TOOL]:
        problem = reply.malformed.get(call.id, "")
        if problem:
            values = find_json_values(reply.broken.get(call.id, ""))
            kept = sum(out.add(v.value, "cut" if v.cut else "call", is_whole=False) for v in values)
            line = f"a call of {REPORT_TOOL} could not be read whole, {kept} of its findings were: {problem[:160]}"
            out.lost.append(line)
        out.add(call.parameters, "call", is_whole=not problem)
    rest, end = (
        "",
        0,
    )  # the text without the values that held findings; brackets in prose look like values too
    values = find_json_values(text)
    for value in values:
        quoted = strip_whitespace(text[value.start : value.end])
        if len(quoted) >= _MIN_QUOTATION and quoted in shown:
            continue
        count = out.add(value.value, "cut" if value.cut else "json", is_whole=not value.repaired)
        keys = {str(key) for key in value.value} if isinstance(value.value, dict) else set()
        if value.cut and (count or _LOOKS_LIKE.search(str(value.value)) or keys & set(_LISTS)):
            out.lost.append(
                f"a block was cut off: {pluralize(count, 'finding')} of it could be read"
            )
        if count:
            rest, end = f"{rest}{text[end : value.start]}\n", value.end
    known, words, in_words = (
        {finding.key[:2] for finding in out.findings},
        rest + text[end:],
        list[Finding](),
    )
    for rows in (chain(_parse_records(words), _parse_tables(words)), _parse_bullets(words)):
        parsed = [parse_finding(row, loop, [], "text") for row in rows]
        in_words += [
            f for f in parsed if f is not None and f.path in paths and f.key[:2] not in known
        ]
        known |= {finding.key[:2] for finding in in_words}
    if not values and not in_words and _LOOKS_LIKE.search(text):
        out.lost.append("a block that looks like findings could not be read at all")
    out.findings += in_words
    return out


def _decode_lists(value: Any) -> tuple[Any, bool]:
    """Decode the lists of an object that are encoded as strings. Return also whether one of them was cut off."""
    is_cut, decoded = False, dict[str, Any]()
    for key in (*_LISTS, "raw") if isinstance(value, dict) else ():
        text = value.get(key)
        found = (
            find_json_values(text)
            if isinstance(text, str) and text.lstrip()[:1] in ("[", "{")
            else []
        )
        if found:
            inner = [_decode_lists(one.value) for one in found]
            is_cut = is_cut or any(one.cut for one in found) or any(cut for _, cut in inner)
            decoded[key] = inner[0][0] if len(inner) == 1 else [one for one, _ in inner]
    return ({**value, **decoded} if decoded else value), is_cut


# Findings in words: records, elements, tables, bullets


def _parse_records(text: str) -> Iterator[dict[str, Any]]:
    """Yield records of `key: value` lines, as in YAML, or of XML elements. A repeated key starts the next record, as
    does a bullet, unless each field is one. A record with a path but without a message holds the fields that the
    following ones share."""
    row: dict[str, Any] = {}
    common: dict[str, Any] = {}
    key, folded = "", -1  # the last key, and its column if its value is the block of lines below
    indents: list[int] = []  # of the record's fields if all are bullets
    text = _ELEMENT.sub(
        lambda m: (
            f"\n- element: x\n{_ATTRIBUTE.sub(_AS_LEAF, m['attributes'])}<message>{m['text']}</message>"
        ),
        text,
    )
    text = _LEAF.sub(
        lambda leaf: f"\n{leaf['key']}: {' '.join(unescape(leaf['value']).split())}\n", text
    )
    for line in [*text.split("\n"), "end: x", "end: x"]:
        if folded >= 0 and not line[: folded + 1].strip():
            row[key] = f"{row[key]}\n{line[folded + 2 :]}".lstrip("\n")
            continue
        match, folded = _FIELD.match(line), -1
        if match is None:
            continue
        key = match["key"].strip().lower().replace(" ", "_")
        indent, has_path, has_words = (
            match.start("bullet"),
            bool(row.keys() & {"path", "file"}),
            row.keys() & _WORDS,
        )
        starts = (
            not indents
            or indent < indents[0]
            or (indent > indents[-1] and has_path and not has_words)
        )
        if key in row or (key in common and has_words) or (match["bullet"] and starts):
            whole = common | row
            if has_words and ("path" in whole or "file" in whole):
                yield whole
            elif has_path:
                common = row
            row, indents = {}, []
        indents = [*indents, indent] if match["bullet"] and (indents or not row) else []
        row[key] = match["value"].strip().strip("\"'`")
        if row[key][0:1] in ("|", ">") and len(row[key]) < 3:
            row[key], folded = "", match.start("key")


def _parse_tables(text: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of Markdown tables by column name; a cell may be a place, `path:line`."""
    head: list[str] = []
    for line in text.split("\n"):
        cells = [cell.strip(" `*").replace("\\|", "|") for cell in _BAR.split(line.strip())]
        cells = cells[cells[0] == "" : len(cells) - (cells[-1] == "")]
        if len(cells) < 2:
            head = []
        elif not head:
            head = [cell.lower().replace(" ", "_") for cell in cells]
        elif not all(set(cell) <= set(":- ") for cell in cells):
            row: dict[str, Any] = dict(zip(head, cells, strict=False))
            if place := next((m for cell in cells if (m := _PLACE.fullmatch(cell))), None):
                row |= {"path": place["path"], "line": place["line"], "end_line": place["end"]}
            if kind := _TYPES.search(line):
                row.setdefault("code_smell_type", kind[0])
            yield row


def _parse_bullets(text: str) -> Iterator[dict[str, Any]]:
    """Yield lines that contain a place, `path:line`."""
    for line in text.split("\n"):
        if (match := _PLACE.search(line)) is None:
            continue
        rest = f"{line[: match.start()]} {line[match.end() :]}"
        kind, severity = _TYPES.search(rest), _SEVERITY.search(rest)
        message = " ".join(_TYPES.sub(" ", rest, count=1).split()).strip(" -*#:`|()[]—–.")
        yield {
            "path": match["path"], "line": match["line"], "end_line": match["end"], "message": message,
            "code_smell_type": kind[0] if kind else "", "severity": severity[0] if severity else "",
        }  # fmt: skip
