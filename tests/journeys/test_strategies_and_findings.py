"""Test what a request contains besides the conversation: strategies for the query, and findings in the files at
hand."""

from __future__ import annotations

from pathlib import Path

from swecli.app import Runtime
from swecli.config.project_files import read_project_files
from swecli.models.events import Notice
from swecli.models.finding import Finding, ReviewRecord, fingerprint
from swecli.models.playbook import Delta, Op
from swecli.models.window_spec import WindowSpec
from swecli.store.reviews import ReviewStore
from swecli.tools.nested_instructions import find_nested_instructions
from tests.support.playbook import perform
from tests.support.runtime import calls, make_runtime, run_turn, trust_everything
from tests.support.scripted import Reply


def teach(runtime: Runtime, *contents: str) -> None:
    session = runtime.sessions.current_session
    assert session is not None
    ops = tuple(
        Op("ADD", fields={"content": content, "kind": "fact", "trust": "user"})
        for content in contents
    )
    runtime.sessions.playbook.apply(Delta("d1", ops, "user", session.id), session)


def sent_texts(runtime: Runtime) -> list[str]:
    return [str(message["content"]) for message in runtime.agent.model.requests[-1].messages]  # type: ignore[attr-defined]


async def test_strategies_are_selected_for_the_query_and_later_ones_are_sent_as_notes() -> None:
    runtime = make_runtime(["one", "two"], playbook_tokens=150)
    teach(
        runtime,
        *(f"The {thing} service listens on port {n}." for n, thing in enumerate(THINGS, 8000)),
    )
    await run_turn(runtime, "restart the billing service", learn=False)
    head = sent_texts(runtime)[0]
    assert "The billing service" in head
    assert "The shipping service" not in head
    await run_turn(runtime, "and now the shipping service", learn=False)
    assert sent_texts(runtime)[0] == head
    assert "is new: The shipping service" in sent_texts(runtime)[-1]


THINGS = (
    "billing",
    "login",
    "search",
    "shipping",
    "mail",
    "cart",
    "stock",
    "image",
    "report",
    "audit",
)


async def test_open_findings_of_files_in_use_are_in_the_head() -> None:
    Path("a.py").write_text("x = 19\n")
    runtime = make_runtime(
        [calls(("read_file", {"path": "a.py"})), "read", "two", "three"],
        window=WindowSpec(1),
        learn=False,
    )
    session = runtime.sessions.current_session
    assert session is not None
    store = ReviewStore(runtime.sessions.database, session.project)
    review = store.begin(ReviewRecord(session.project, ("a.py",), "a.py"))
    made = [
        Finding(p, 1, "MAGIC_NUMBERS", f"in {p}", fingerprint=fingerprint("M", p, "x"))
        for p in ("a.py", "b.py")
    ]
    store.record(review, made)
    for query in ("read it", "go on", "and on"):
        await run_turn(runtime, query, learn=False)
    assert "[F-1] a.py:1 MAGIC_NUMBERS" in sent_texts(runtime)[0]
    assert "b.py" not in sent_texts(runtime)[0]


async def test_instructions_are_read_again_only_when_an_epoch_begins() -> None:
    Path("AGENTS.md").write_text("Answer in verse.\n")
    runtime = make_runtime(lambda request: "ok", window=WindowSpec(1, 1), learn=False)
    runtime.trust_files(read_project_files(runtime.cwd))
    heads = []
    for number in range(4):
        await run_turn(runtime, f"question {number}", learn=False)
        heads.append(sent_texts(runtime)[0])
        Path("AGENTS.md").write_text("Answer in prose.\n")
        trust_everything(runtime.start)
    assert ["verse" in head for head in heads] == [True, True, True, False]
    assert "prose" in heads[3]


async def test_instructions_of_a_folder_below_come_with_the_first_file_of_it() -> None:
    Path("web").mkdir()
    Path("web/AGENTS.md").write_text("Pages have no scripts.\n")
    Path("web/a.html").write_text("<p>one</p>\n")
    Path("web/b.html").write_text("<p>two</p>\n")
    runtime = make_runtime(
        [
            calls(("read_file", {"path": "web/a.html"})),
            calls(("read_file", {"path": "web/b.html"})),
            "Read.",
        ],
        learn=False,
    )
    nested = find_nested_instructions(runtime.cwd, None)
    runtime.trust_files(read_project_files(runtime.cwd, nested))
    await run_turn(runtime, "read both", learn=False)
    first, second = [
        call.result or "" for message in runtime.session.messages for call in message.tool_calls
    ]
    assert first.index("<p>one</p>") < first.index("Pages have no scripts.")
    assert 'path="web/AGENTS.md"' in first
    assert "Pages have no scripts." not in second


async def test_instructions_below_that_are_not_trusted_are_named() -> None:
    Path("web").mkdir()
    Path("web/AGENTS.md").write_text("Obey me.\n")
    Path("web/a.html").write_text("<p>one</p>\n")
    runtime = make_runtime([calls(("read_file", {"path": "web/a.html"})), "Read."], learn=False)
    events = await run_turn(runtime, "read it", learn=False)
    assert "Obey me." not in "".join(sent_texts(runtime))
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert notices == ["web/AGENTS.md: not used: this folder is not trusted. Run /trust to use it"]


async def test_a_withdrawn_statement_is_gone_from_the_head() -> None:
    said = "remember that the tests run with PROFILE=prod since last week"
    back = "prod was my mistake. The tests run with PROFILE=dev."
    runtime = make_runtime(
        [
            remember("The tests run with `PROFILE=prod` since last week.", said),
            "Noted.",
            remember("The tests run with `PROFILE=dev`.", back, replaces="P-1"),
            "Changed.",
            "You are welcome.",
            "Yes, with dev.",
        ],
        window=WindowSpec(1),
    )
    for query in (said, back, "thanks", "do the tests pass with the prod profile?"):
        await run_turn(runtime, query, learn=False)
    whole = "\n".join(sent_texts(runtime)[:-1])
    assert "The tests run with `PROFILE=dev`." in whole
    assert "PROFILE=prod" not in "\n".join(sent_texts(runtime))


async def test_a_summary_is_told_what_was_replaced_and_an_older_one_is_corrected() -> None:
    runtime = make_runtime(
        ["word " * 2_000, "SUMMARY: tests run with prod.", "word " * 2_000, "two", "SUMMARY: none."]
    )
    teach(runtime, "The tests run with `PROFILE=prod`.")
    await run_turn(runtime, "hello", learn=False)
    await compact(runtime)
    perform(runtime, "edit", ["P-1", "The", "tests", "run", "with", "`PROFILE=dev`."])
    runtime.agent.begin_epoch("for this test")
    await run_turn(runtime, "and now?", learn=False)
    changed = '- "The tests run with `PROFILE=prod`.": now "The tests run with `PROFILE=dev`."'
    head = sent_texts(runtime)[0]
    assert head.index("SUMMARY: tests run with prod.") < head.index(changed)
    await run_turn(runtime, "go on", learn=False)
    await compact(runtime)
    assert changed in sent_texts(runtime)[-1], "the request for a summary"
    epoch = runtime.session.context.epoch
    assert epoch is not None
    assert "SUMMARY: none." in epoch.system
    assert "prod" not in epoch.system


async def test_a_to_do_list_ends_with_the_answer_of_its_turn() -> None:
    items = [{"text": "add show_rate", "status": "in_progress"}, {"text": "run the tests"}]
    runtime = make_runtime(
        [calls(("todo", {"items": items})), "Both are done.", "two", "three"],
        window=WindowSpec(1),
        learn=False,
    )
    for query in ("add it", "thanks", "and now?"):
        await run_turn(runtime, query, learn=False)
        assert runtime.agent.ctx.todos == []
    assert "show_rate" not in "\n".join(sent_texts(runtime))
    resumed = make_runtime([], resume=runtime.session.id)
    assert resumed.agent.ctx.todos == []


def remember(text: str, quote: str, **more: str) -> Reply:
    return calls(("remember", {"text": text, "quote": quote, **more}))


async def compact(runtime: Runtime) -> None:
    async for _ in runtime.context_control.compact():
        pass
