"""Test `swecli context` on a stored session: show, plan and change what turns sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.shell import Run, script

pytestmark = pytest.mark.slow


def talk(run: Run, *prompts: str) -> None:
    model = script("talk.json", *["ok"] * len(prompts))
    for number, prompt in enumerate(prompts):
        run("-p", prompt, "-m", model, "--window", "2", *(["-c"] if number else []))


def test_the_context_of_a_stored_session_can_be_shown_planned_and_changed(run: Run) -> None:
    talk(run, "the marker is KIWI", "two", "three", "four")
    whole = run("context", "show", "--json").json
    assert whole["total"] == sum(part["tokens"] for part in whole["parts"]) + whole["residual"]
    assert "tools" in run("context", "show").out
    assert whole["next"]["how"] == "window"
    why = run("context", "why", "KIWI", "--json").json
    assert [(one["turn"], one["sent"], one["back"]) for one in why] == [(1, False, "/pin T1")]
    assert run("context", "pin", "T1", "--json").json["pinned"] == [1]
    assert "pinned 1" in run("context", "show").out
    assert "unpinned T1" in run("context", "unpin").out
    log = run("context", "log", "--json").json
    assert [row["how"] for row in log] == ["window", "begin"]
    assert run("context", "undo", "--json").json == {"undone": log[0]["id"], "how": "window"}
    assert run("context", "log", "--json").json[1]["undone"] is True


def test_every_action_counts_the_same_tokens(run: Run) -> None:
    talk(run, "one", "two", "three", "four")
    total = run("context", "show", "--json").json["total"]
    assert run("context", "show", "--json").json["next"]["after"] == total
    assert run("context", "window", "--json").json["tokens"] == total
    assert f"--- {total:,} tokens" in run("context", "prompt").out
    found = run("context", "window", "1", "--preview", "--json").json
    assert (found["tokens_now"], found["leaves"]) == (total, ["T3"])


def test_a_session_is_measured_for_its_model_even_if_that_is_unavailable(run: Run) -> None:
    talk(run, "one")
    with_it = run("context", "show", "--json").json
    for file in Path().rglob("talk.json"):
        file.unlink()
    without = run("context", "show", "--json").json
    assert without["parts"] == with_it["parts"]
    other = run("context", "show", "--json", "--model", "openai/gpt-4.1")
    assert other.json["limit"] > 500_000, "sizes come from the local table, without a key"
    asked = run("context", "compact", "--model", "openai/gpt-4.1")
    assert "OPENAI_API_KEY is not set" in asked.complaint, (
        "a summary is requested, which needs the key"
    )


def test_window_prompt_and_compact_work_from_the_shell(run: Run) -> None:
    talk(run, "one", "two", "three")
    assert run("context", "window", "1", "--preview", "--json").json["first"] == 3
    assert "2 turns sent, 1 stored" in run("context", "window").out
    assert run("context", "window", "full", "--json").json["first"] == 1
    asked = run("context", "prompt", "what", "now", "--json").json["messages"]
    assert [m["content"] for m in asked if m["role"] == "user"][-1].startswith("what now")
    assert "--- turn 3" in run("context", "prompt").out
    model = script("sum.json", "SUMMARY.")
    outcome = run("context", "compact", "the numbers", "--model", model)
    assert "summarised by" in outcome.out, outcome.err
    again = run("context", "compact", "--model", model)
    assert (again.code, "nothing to summarise" in again.err) == (42, True)


def test_an_imported_session_can_be_compacted_before_its_first_turn(run: Run) -> None:
    chat = "".join(f"#### say {n}\n\n" + f"answer {n}\n" * 50 + "\n" for n in range(3))
    Path("chat.md").write_text(f"# aider chat started at 2025-12-03 14:43:45\n\n{chat}")
    assert "Imported 3 turns" in run("sessions", "import", "chat.md").out
    outcome = run("context", "compact", "--model", script("sum.json", "SUMMARY."))
    assert "T1 to T3 summarised" in outcome.out, outcome.err
    sent = run("context", "prompt", "what now", "--json").json["messages"]
    assert ["SUMMARY." in json.dumps(sent), "answer 1" in json.dumps(sent)] == [True, False]


@pytest.mark.parametrize(
    "words",
    [
        ("undo",),
        ("unpin",),
        ("pin", "T9"),
        ("pin", "x"),
        ("why", "  "),
        ("window", "abc"),
        ("window", "99999"),
        ("window", "0"),
    ],
)
def test_an_invalid_action_is_refused_in_one_line(run: Run, words: tuple[str, ...]) -> None:
    talk(run, "one")
    outcome = run("context", *words)
    assert (outcome.code, outcome.err.count("\n")) == (42, 1)


def test_show_reports_that_there_is_no_session(run: Run) -> None:
    assert "no session" in run("context", "show").err


def test_a_fork_keeps_the_context_log_and_the_export_has_messages(run: Run) -> None:
    talk(run, "one", "two", "three", "four")
    session = run("sessions", "list", "--json").json[0]["id"]
    before = [row["how"] for row in run("context", "log", "--json").json]
    run("sessions", "fork", session)
    assert [row["how"] for row in run("context", "log", "--json").json] == before
    Path("out.json").write_text(run("sessions", "export", session).out)
    assert json.loads(Path("out.json").read_text())["messages"]


def test_a_turn_that_left_is_listed_and_sent_again_with_the_next_prompt(run: Run) -> None:
    talk(run, "the marker is KIWI", "two", "three", "four")
    left = run("context", "left", "--json").json
    assert [turn["turn"] for turn in left["turns"]] == [1, 2]
    printed = run("context", "left").out
    assert '"the marker is KIWI"' in printed
    assert "swecli context back T2 sends it again" in printed
    assert "user: the marker is KIWI" in run("context", "left", "T1").out
    assert run("context", "back", "T1", "--json").json["brought_back"] == [1]
    assert "brought back 1" in run("context", "show").out
    model = script("more.json", "ok", "ok")
    run("-p", "five", "-c", "-m", model)
    assert "The user brings back turn T1" in run("context", "prompt", "full T5").out
    assert "brought back" not in run("context", "show").out


def test_a_turn_that_cannot_be_brought_back_is_named_in_one_line(run: Run) -> None:
    talk(run, "one", "two", "three", "four")
    for words, reason in (
        (("back", "T9"), "There is no turn T9 in this session."),
        (("back", "T4"), "T4 is sent with the next request anyway."),
        (("back", "T1", "--off"), "T1 was not brought back."),
        (("left", "seven"), "'seven' is not a turn."),
    ):
        outcome = run("context", *words)
        assert (outcome.code, reason in outcome.complaint) == (42, True), outcome.err
