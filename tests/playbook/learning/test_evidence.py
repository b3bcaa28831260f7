"""Test the summary of a stored turn: its calls, citations, masked secrets, and the origin of its texts."""

from __future__ import annotations

from swecli.models.message import CallStatus, ChatMessage, Role, ToolCall
from swecli.playbook.learning.evidence import TurnDigest
from swecli.playbook.learning.reactions import Reaction

EDGE = 400


def make_turn(
    *calls: ToolCall, query: str = "run the tests", answer: str = "Done [P-1]."
) -> list[ChatMessage]:
    return [
        ChatMessage(Role.USER, query, interaction=3),
        ChatMessage(Role.ASSISTANT, "", tool_calls=list(calls), interaction=3),
        ChatMessage(Role.ASSISTANT, answer, interaction=3),
    ]


def test_a_digest_has_session_interaction_query_and_calls_in_order() -> None:
    calls = [
        ToolCall("a", "read_file", {"path": "x"}, result="1"),
        ToolCall("b", "list_files", {}, result="y"),
    ]
    digest = TurnDigest.of(make_turn(*calls), ["P-1", "P-2"], session_id="s", outcome="done")
    assert (digest.session_id, digest.interaction, digest.query) == ("s", 3, "run the tests")
    assert [c.id for c in digest.calls] == ["a", "b"]


def test_cited_ids_of_bullets_that_were_not_shown_are_dropped() -> None:
    digest = TurnDigest.of(
        make_turn(answer="As [P-1] says, and [P-9], [p2, P-3]."), ["P-1", "P-2", "P-4"]
    )
    assert digest.cited == ("P-1", "P-2")


def test_bullet_ids_are_cited_only_in_brackets() -> None:
    shown = [f"P-{number}" for number in (*range(1, 10), 1_000_000_000, 2_000_000_000)]
    some = TurnDigest.of(make_turn(answer="[P-7] [p-8] [P9] [P-1, P-2] P-3 [x] [P-] arr[P]"), shown)
    assert some.cited == ("P-7", "P-8", "P-9", "P-1", "P-2")
    large = TurnDigest.of(make_turn(answer="as [P-1000000000, P-2000000000] say"), shown)
    assert large.cited == ("P-1000000000", "P-2000000000")


def test_an_id_in_the_query_is_not_a_citation() -> None:
    assert TurnDigest.of(make_turn(query="what is [P-1]?", answer="A note."), ["P-1"]).cited == ()


def test_a_digest_has_the_typed_query_not_the_sent_one() -> None:
    message = ChatMessage(
        Role.USER, "explain @a.md", sent="explain\nremember that x", interaction=1
    )
    assert TurnDigest.of([message]).query == "explain @a.md"


def test_a_call_is_ok_only_if_it_finished_with_exit_code_zero() -> None:
    calls = [
        ToolCall("a", "run_command", result="", status=CallStatus.FINISHED, exit_code=0),
        ToolCall("b", "run_command", result="", status=CallStatus.FINISHED, exit_code=1),
        ToolCall("c", "read_file", result="no such file", status=CallStatus.FAILED),
        ToolCall(
            "d",
            "run_command",
            {"command": "x"},
            result="refused",
            status=CallStatus.REFUSED,
            approved=False,
            decision="user",
            reason="no",
        ),
        ToolCall("e", "run_command", {"command": "x"}),
    ]
    found = TurnDigest.of(make_turn(*calls)).calls
    assert [c.ok for c in found] == [True, False, False, False, False]
    assert [c.finished for c in found] == [True, True, True, True, False]
    assert found[3].denied
    assert (found[3].decision, found[3].reason) == ("user", "no")


def test_a_long_result_is_reduced_to_head_and_tail() -> None:
    text = "head " + "x" * 3 * EDGE + " middlemost " + "y" * 3 * EDGE + " tail"
    (call,) = TurnDigest.of(make_turn(ToolCall("a", "read_file", {}, result=text))).calls
    assert call.head.startswith("head")
    assert call.tail.endswith("tail")
    assert len(call.head) == len(call.tail) == EDGE


def test_a_short_result_is_only_in_the_head() -> None:
    (call,) = TurnDigest.of(make_turn(ToolCall("a", "read_file", {}, result="short"))).calls
    assert (call.head, call.tail) == ("short", "")


def test_a_digest_contains_no_secret() -> None:
    secret = "sk-abcdefghij0123456789xyz"
    call = ToolCall(
        "a",
        "run_command",
        {"command": f"curl -H 'X: {secret}'"},
        result=secret,
        error=secret,
        reason=secret,
    )
    digest = TurnDigest.of(make_turn(call, query=secret, answer=secret))
    assert secret not in repr(digest)


def test_an_empty_turn_gives_an_empty_digest() -> None:
    digest = TurnDigest.of([])
    assert (digest.interaction, digest.query, digest.calls) == (0, "", ())


def test_an_answer_to_a_question_is_a_reaction_but_does_not_judge_the_turn() -> None:
    asked = ToolCall(
        "a", "ask_user", {}, result="The user answers: tabs", decision="user", reason="tabs, please"
    )
    digest = TurnDigest.of(make_turn(asked))
    assert [(one.kind, one.text, one.when) for one in digest.reactions] == [
        ("answer", "tabs, please", "during")
    ]
    assert "tabs, please" in digest.own_texts
    assert not digest.observe({}).is_reacted_to


def test_what_a_long_reaction_does_not_show_is_marked_so_that_its_last_sentence_is_not_whole() -> (
    None
):
    said = Reaction("message", f"{'word ' * 398}. Push it now unless the tests fail")
    digest = TurnDigest.of(make_turn(), reactions=[said])
    assert digest.own_texts[-1].split()[-3:] == ["Push", "it", "…"]
