"""Test exporting a session as HTML, Markdown and JSON: complete, escaped, and without anything that a browser would
load or run."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.message import STEER, ChatMessage, Role
from swecli.pages.page import FORMATS, format_session
from swecli.store.session_files.importing import import_session
from tests.support.command_context import ScriptedContext
from tests.support.databases import open_database
from tests.support.runtime import User, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedCall

HOSTILE = (
    "</details></style><script>alert(1)</script> ![x](https://example.com/x.png) [y](javascript:alert(1)) "
    "<img src=https://example.com/y.png> <b onclick=alert(1)>b</b>"
)
EDIT = {"path": "calc.py", "edits": [{"old_text": "a - b", "new_text": "a + b"}]}


class PageTags(HTMLParser):
    """Collects the tags of a page, and the attributes that a browser follows or runs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.followed: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.followed += [
            (tag, name, value)
            for name, value in attrs
            if name in ("src", "href") or name[:2] == "on"
        ]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


async def run_session(*queries: str) -> Runtime:
    Path("calc.py").write_text("def add(a, b):\n    return a - b\n")
    read = Reply("I look.", (ScriptedCall("read_file", {"path": "calc.py"}),))
    replies = [
        read,
        Reply("", (ScriptedCall("edit_file", EDIT),)),
        f"Done: **mended**. {HOSTILE}",
        "Second ```` answer.",
    ]
    runtime = make_runtime(replies, User())
    for query in queries:
        await run_turn(runtime, query)
    return runtime


def export_session(runtime: Runtime) -> dict[str, Any]:
    assert runtime.sessions.current_session is not None
    return runtime.sessions.archive.export(runtime.sessions.current_session.id)


@pytest.mark.slow
async def test_an_html_export_shows_turns_calls_and_diffs_and_loads_no_script_or_image() -> None:
    whole = export_session(await run_session(f"mend add {HOSTILE}", "and now?"))
    page = PageTags(format_session("html", whole))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert {follow for follow in page.followed if not (follow[2] or "").startswith("#")} == {
        (
            "a",
            "href",
            "https://example.com/x.png",
        )  # A picture becomes a link, which is loaded only on a click.
    }
    assert page.tags.count("details") == 2
    assert {"T1", "T2", "read_file", "edit_file", "mended"} <= set(page.texts)
    assert "+     return a + b" not in page.texts
    assert [line for line in page.texts if line[:2] in ("+ ", "- ")] == ["- a - b", "+ a + b"]


def make_export(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return an exported session of one turn with these messages of the assistant."""
    message = {"role": "assistant", "content": "", "interaction": 1, "tool_calls": []}
    query = message | {"role": "user", "content": "mend it"}
    turn = {"number": 1, "status": "done", "started_at": "2026", "cited": (), "shown": ()}
    texts = dict.fromkeys(("title", "model", "directory", "created_at", "first_query"), "")
    lists = {"interactions": [turn], "requests": [], "playbook": []}
    return texts | lists | {"messages": [query, *(message | fields for fields in messages)]}


def make_edit(edits: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    call = {
        "name": "edit_file",
        "parameters": {"path": "a.py", "edits": edits},
        "result": "Edited.",
    }
    return {
        "tool_calls": [
            call | {"status": "finished", "error": None, "exit_code": None, "approved": True} | more
        ]
    }


def test_a_markdown_export_shows_an_edit_as_a_diff_and_its_result_only_if_it_failed() -> None:
    old = "".join(f"line {number}\n" for number in range(20))
    edits = [
        {"old_text": "a - b", "new_text": "a + b"},
        {"old_text": old, "new_text": old.replace("line 9", "line nine")},
    ]
    text = format_session("md", make_export(make_edit(edits)))
    assert "```diff\n-a - b\n+a + b\n …\n line 6\n line 7\n line 8\n-line 9\n+line nine\n" in text
    assert "line 13" not in text, "three lines around a change"
    assert "Edited." not in text
    refused = format_session(
        "md", make_export(make_edit(edits, approved=False, status="refused", error="Refused."))
    )
    assert "+a + b" in refused
    assert "Refused." in refused


@pytest.mark.parametrize("form", ["html", "md"])
def test_an_export_has_the_thoughts_folded(form: str) -> None:
    exported = format_session(
        form, make_export({"reasoning": "I think </details> so.", "content": "Yes."})
    )
    page = PageTags(exported)
    assert page.tags.count("details") == 1
    assert any("I think" in text for text in page.texts)


def test_a_short_diff_of_a_page_is_open_and_a_long_one_folded() -> None:
    short = [{"old_text": "a", "new_text": "b"}]
    long = [{"old_text": "", "new_text": "line\n" * 100}]
    assert "<details open>" in format_session("html", make_export(make_edit(short)))
    assert "<details>" in format_session("html", make_export(make_edit(long)))


async def test_a_markdown_export_has_the_turns_in_order_and_a_fence_for_each_call() -> None:
    text = format_session("md", export_session(await run_session("mend add", "and now?")))
    assert (
        text.index("## T1: mend add")
        < text.index("**read_file** calc.py")
        < text.index("## T2: and now?")
    )
    assert len(re.findall("^```", text, re.MULTILINE)) == 4, "two calls, each with its fence"


@pytest.mark.slow
async def test_a_session_without_requests_or_without_turns_is_exported_as_html() -> None:
    whole = export_session(await run_session("hello"))
    assert "svg" in PageTags(format_session("html", whole)).tags
    assert "svg" not in PageTags(format_session("html", whole | {"requests": []})).tags
    assert "An empty session" in format_session(
        "html", whole | {"interactions": [], "first_query": "", "messages": []}
    )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.slow
async def test_an_export_contains_no_secret_and_does_not_overwrite_a_file(form: str) -> None:
    runtime = await run_session("the key is ghp_" + "a1B2" * 9)
    ctx = ScriptedContext(runtime)
    printed = (await ctx.type(f"/export {form} out.{form}")).split()
    assert (printed[:-1], Path(printed[-1]).name) == (
        ["exported", "1", "turn", "to"],
        f"out.{form}",
    )
    text = Path(f"out.{form}").read_text(encoding="utf-8")
    assert "ghp_a1B2" not in text
    with pytest.raises(BadInput, match="exists already"):
        await ctx.type(f"/export {form} out.{form}")
    assert Path(f"out.{form}").read_text(encoding="utf-8") == text


async def test_a_json_export_can_be_imported() -> None:
    runtime = await run_session("mend add", "and now?")
    await ScriptedContext(runtime).type("/export json whole.json")
    other = open_database(Path("other.db"))
    assert import_session(other, json.loads(Path("whole.json").read_text())).interactions == 2
    other.close()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ("pdf", "Unknown format 'pdf'"),
        ("html no/such/folder.html", "cannot be written: No such file"),
    ],
)
async def test_exporting_to_an_unknown_format_or_a_missing_folder_is_an_error(
    args: str, complaint: str
) -> None:
    with pytest.raises(SwecliError, match=complaint):
        await ScriptedContext(await run_session("hello")).type(f"/export {args}")


async def test_an_export_without_a_name_leaves_the_working_folder_as_it_was() -> None:
    runtime = await run_session("mend add")
    before = set(Path().iterdir())
    for name in ("swecli-mend-add.html", "swecli-mend-add-2.html"):
        printed = await ScriptedContext(runtime, width=300).type("/export")
        assert printed.rstrip().endswith(f"exports/{name}")
    assert set(Path().iterdir()) == before


async def test_exporting_a_session_without_turns_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to export"):
        await ScriptedContext(make_runtime([])).type("/export")


@pytest.mark.parametrize("form", ["md", "html"])
async def test_an_export_shows_what_a_hook_said_where_the_user_said_nothing(form: str) -> None:
    runtime = make_runtime(["Done."])
    await run_turn(runtime, "mend it", learn=False)
    said = ChatMessage(Role.USER, sent="run the tests", status=STEER)
    runtime.sessions.append(said)
    assert "run the tests" in format_session(form, export_session(runtime))
