"""The curator: one validated, capped, repeatable delta, and a line for all it refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import MAX_WORDS, Bullet, Evidence, Kind, Op, Scope, SessionPlaybook, State, Tag, Trust
from swecli.playbook.describe import lines_of
from swecli.playbook.digest import CallDigest, TurnDigest
from swecli.playbook.here import Here
from swecli.playbook.learning.curator import Curator, make_delta
from swecli.playbook.learning.proposals import AddProposal, Reflection, TagProposal

DIGEST = TurnDigest("s", 4, "go on", shown=("P-1", "P-2"))


def playbook() -> SessionPlaybook:
    book = SessionPlaybook()
    book.add("Use tabs for indentation")
    book.add("Run the tests with pytest -q")
    book.add("Deploy with make ship", state="disabled")
    book.add("Read docs/api.md first", state="quarantined", trust="repository")
    return book


def add(content: str, trust: Trust = "reasoning", source: str = "", **more: Any) -> AddProposal:
    source = source or ("teaching" if trust == "user" else "model")
    evidence = Evidence(source, more.pop("quote", f"so said about {content}"), "s", 4, trust=trust)
    fields = {"section": "general", "kind": "strategy", "scope": "project"} | more
    return AddProposal(content=content, trust=trust, evidence=(evidence,), **fields)


def tag(bullet_id: str, name: Tag = "helpful", source: str = "command", **more: Any) -> TagProposal:
    return TagProposal(bullet_id, name, "because", 0.5, source, evidence=(Evidence(source, "because", "s", 4),), **more)


def sift(
    *adds: AddProposal, tags: tuple[TagProposal, ...] = (), digest: TurnDigest = DIGEST
) -> tuple[list[Op], list[str]]:
    found = Curator().sift(Reflection(tags=tags, adds=adds), playbook(), digest)
    return found.ops, found.refused


def test_other_words_name_other_things() -> None:
    book = SessionPlaybook()
    book.add("Run the checks with `make check`", anchors=("command:make check",))
    said = add("Always run the checks with `make check` and `ruff check`", "user")
    [op] = Curator().sift(Reflection(adds=(said,)), book, DIGEST).ops
    assert (op.op, op.bullet_id) == ("UPDATE", "P-1")
    assert op.fields["anchors"] == ["command:make check", "command:ruff check"]


def test_what_the_user_removed_comes_back_by_the_users_own_words_only() -> None:
    gone = [Bullet("P-7", "Run the tests with tox", state="deleted"), Bullet("P-8", "Use spaces", state="deleted")]
    curator = Curator(removed=gone)

    def sifted(*adds: AddProposal) -> tuple[list[str], list[str]]:
        found = curator.sift(Reflection(adds=adds), SessionPlaybook(), DIGEST)
        return [op.fields["content"] for op in found.ops], found.refused

    added, refused = sifted(
        add("Run all the tests with tox"), add("Lint with ruff"), add("Run the tests with tox", "web")
    )
    assert added == ["Lint with ruff"]
    assert refused[0] == 'not learned: "Run all the tests with tox": you removed P-7, which says so'
    assert len(refused) == 2
    assert sifted(add("Never use spaces"))[0] == ["Never use spaces"]
    assert sifted(add("Run the tests with tox", "user")) == (["Run the tests with tox"], [])


def test_an_addition_carries_all_its_fields_and_its_evidence() -> None:
    ops, refused = sift(add("Use pnpm", "user", section="tools", kind="preference"))
    (op,) = ops
    assert op.op == "ADD"
    assert op.bullet_id == ""
    assert op.fields == {
        "content": "Use pnpm",
        "section": "tools",
        "kind": "preference",
        "scope": "project",
        "state": "active",
        "trust": "user",
        "anchors": ["command:pnpm"],
    }
    assert op.evidence[0].quote == "so said about Use pnpm"
    assert refused == []


def test_text_from_outside_waits_in_quarantine() -> None:
    for trust in ("repository", "tool", "web"):
        (op,), _ = sift(add("Run make bootstrap before anything", trust))  # type: ignore[arg-type]
        assert op.fields["state"] == "quarantined"


def test_nothing_out_of_nothing() -> None:
    assert Curator().curate(Reflection(), playbook(), DIGEST).delta is None
    assert Curator().curate([], playbook(), DIGEST).delta is None


def test_a_refused_proposal_leaves_a_line_with_its_reason() -> None:
    ops, refused = sift(add("Be careful"), add(""), add("x " * 100, "user"), add("The token is abc123def", "user"))
    assert ops == []
    assert len(refused) == 4
    assert "general advice" in " ".join(refused)
    assert "abc123def" not in " ".join(refused)


def test_three_additions_a_turn_the_users_first() -> None:
    models = [add(f"Use library{i} for part{i}") for i in range(5)]
    ops, refused = sift(*models, add("Use pnpm", "user"))
    assert len(ops) == 3
    assert ops[0].fields["content"] == "Use pnpm"
    assert len(refused) == 3
    assert "limit" in refused[0]


def test_two_changes_a_turn() -> None:
    book = SessionPlaybook()
    for i in range(4):
        book.add(f"Use library{i} for part{i}")
    adds = tuple(add(f"Use library{i} for part{i}", "user") for i in range(4))
    found = Curator().sift(Reflection(adds=adds), book, DIGEST)
    assert [op.op for op in found.ops] == ["UPDATE", "UPDATE"]
    assert len(found.refused) == 2


def test_a_duplicate_becomes_evidence_for_the_bullet_there_is() -> None:
    (op,), _ = sift(add("Always use tabs for indentation", "user"))
    assert (op.op, op.bullet_id, op.fields) == ("UPDATE", "P-1", {"trust": "user"})
    assert op.evidence[0].source == "teaching"


def test_a_more_exact_word_of_the_user_replaces_the_text() -> None:
    (op,), _ = sift(add("Use tabs for indentation in Python", "user"))
    assert (op.op, op.bullet_id) == ("UPDATE", "P-1")
    assert op.fields["content"] == "Use tabs for indentation in Python"


def test_the_opposite_from_the_user_sets_the_old_bullet_aside() -> None:
    ops, _ = sift(add("Never use tabs for indentation", "user"))
    assert [(op.op, op.bullet_id) for op in ops] == [("QUARANTINE", "P-1"), ("ADD", "")]


def test_a_correction_sets_aside_what_it_replaces_and_a_lesson_does_not() -> None:
    ops, _ = sift(add("Use spaces for indentation", "user", replaces=True))
    assert [op.op for op in ops] == ["QUARANTINE", "ADD"]
    ops, _ = sift(add("Use spaces for indentation", "user"))
    assert [op.op for op in ops] == ["ADD"]


def test_a_pinned_bullet_is_never_set_aside() -> None:
    book = SessionPlaybook()
    book.add("Use tabs for indentation", state="pinned")
    found = Curator().sift(Reflection(adds=(add("Never use tabs for indentation", "user"),)), book, DIGEST)
    assert [(op.op, op.fields["state"]) for op in found.ops] == [("ADD", "quarantined")]
    assert lines_of(make_delta(DIGEST, found.ops, "rules")) == (
        "? Never use tabs for indentation (waits for your yes: it contradicts P-1, which you pinned)",
    )


@pytest.mark.parametrize("state", ["active", "pinned"])
def test_the_users_newer_words_take_the_place_of_their_older_ones(state: State) -> None:
    book = SessionPlaybook()
    book.add("The tests run with `pytest -q tests/unit`", trust="user", state=state)
    newer = add("The tests run with `pytest -q tests/integration`", "user")
    ops = Curator().sift(Reflection(adds=(newer,)), book, DIGEST).ops
    lines = lines_of(make_delta(DIGEST, ops, "rules"))
    if state == "active":
        assert [op.op for op in ops] == ["QUARANTINE", "ADD"]
        assert lines[0] == "P-1 set aside: you said since: The tests run with `pytest -q tests/integration`"
    else:
        assert [(op.op, op.fields["state"]) for op in ops] == [("ADD", "quarantined")]
        assert "waits for your yes: it would replace P-1, which you pinned" in lines[0]


def test_the_opposite_from_a_reflector_waits_with_a_link_to_what_it_contradicts() -> None:
    ops, refused = sift(add("Never use tabs for indentation"))
    assert [(op.op, op.fields["state"], op.evidence[-1].quote) for op in ops] == [
        ("ADD", "quarantined", "it contradicts P-1")
    ]
    assert lines_of(make_delta(DIGEST, ops, "m")) == (
        "? Never use tabs for indentation (waits for your yes: it contradicts P-1)",
    )
    assert refused == []
    assert sift(add("Never use tabs for indentation", "tool"))[0] == []


def test_what_names_something_that_is_not_here_waits_unless_the_user_said_it(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("check:\n")
    curator = Curator(here=Here(tmp_path, tools={"read_file"}))
    texts = ("Read src/plan.md before a release", "Look it up with the browse_web tool", "Put notes into Makefile")
    found = curator.sift(Reflection(adds=tuple(map(add, texts))), playbook(), DIGEST)
    assert [
        (op.fields["state"], op.fields.get("anchors"), op.evidence[1:] and op.evidence[1].quote) for op in found.ops
    ] == [
        ("quarantined", ["path:src/plan.md"], "src/plan.md is not here"),
        ("quarantined", ["tool:browse_web"], "there is no tool browse_web"),
        ("active", None, ()),
    ]
    said = curator.sift(Reflection(adds=(add(texts[0], "user"),)), playbook(), DIGEST)
    assert said.ops[0].fields["state"] == "active"


def test_what_came_from_outside_becomes_active_when_the_work_shows_it() -> None:
    ops, _ = sift(add("Read docs/api.md first", source="transition"))
    assert [(op.op, op.bullet_id, op.fields) for op in ops] == [
        ("UPDATE", "P-4", {"state": "active", "trust": "reasoning"})
    ]
    assert sift(add("Read docs/api.md first", source="model"))[0] == []


def test_a_disabled_bullet_comes_back_only_by_the_users_word() -> None:
    ops, refused = sift(add("Deploy with make ship"))
    assert ops == []
    assert "disabled" in refused[0]
    (op,), _ = sift(add("Deploy with make ship", "user"))
    assert (op.op, op.bullet_id, op.fields) == ("UPDATE", "P-3", {"state": "active", "trust": "user"})


def test_the_users_word_confirms_what_came_from_outside() -> None:
    (op,), _ = sift(add("Read docs/api.md first", "user"))
    assert (op.op, op.bullet_id, op.fields) == ("UPDATE", "P-4", {"state": "active", "trust": "user"})


def test_a_reflector_that_parrots_a_shown_bullet_adds_nothing() -> None:
    ops, refused = sift(add("Use tabs for indentation", quote="Use tabs for indentation"))
    assert ops == []
    assert "it repeats P-1, which was in the prompt" in refused[0]


def test_a_restated_bullet_with_a_witness_gets_the_evidence() -> None:
    call = CallDigest("c", "run_command", {"command": "pytest -q"}, head="3 passed")
    digest = TurnDigest("s", 4, "go on", calls=(call,), shown=("P-2",))
    (op,), _ = sift(add("Run tests with pytest -q", quote="3 passed"), digest=digest)
    assert (op.op, op.bullet_id, op.fields) == ("UPDATE", "P-2", {"trust": "reasoning"})


def test_the_same_addition_twice_is_one_with_both_evidences() -> None:
    (op,), refused = sift(add("Use pnpm for installs", "user"), add("Use pnpm for installs here"))
    assert len(op.evidence) == 2
    assert refused == []


def test_tags_need_a_known_bullet() -> None:
    ops, refused = sift(tags=(tag("P-1"), tag("P-99")))
    assert [(op.op, op.bullet_id, op.tag) for op in ops] == [("TAG", "P-1", "helpful")]
    assert "P-99" in refused[0]


def test_one_tag_a_bullet_and_turn_the_first_verdict_counts() -> None:
    ops, _ = sift(tags=(tag("P-1", "neutral"), tag("P-1", "harmful", "model"), tag("P-1", "helpful", "model")))
    assert [op.tag for op in ops] == ["harmful"]


def test_a_model_that_repeats_the_users_verdict_counts_nothing() -> None:
    user = tag("P-1", "harmful", "correction", about="previous")
    ops, _ = sift(tags=(user, tag("P-1", "harmful", "model")))
    assert len(ops) == 1
    ops, _ = sift(tags=(user, tag("P-1", "helpful", "command")))
    assert len(ops) == 2


def test_secrets_leave_the_evidence_too() -> None:
    (op,), _ = sift(add("Use pnpm", "user", quote="with password=abc123def45"))
    assert "abc123def45" not in repr(op)


def test_the_same_proposals_make_the_same_delta_id_and_others_another() -> None:
    curator, book = Curator(), playbook()
    one = Reflection(adds=(add("Use pnpm", "user"),))
    first, second = (curator.curate(one, book, DIGEST).delta for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.id == second.id
    ids = {
        first.id,
        make_delta(DIGEST, first.ops, "someone").id,
        make_delta(TurnDigest("s", 5, "go on"), first.ops, "rules").id,
        make_delta(TurnDigest("t", 4, "go on"), first.ops, "rules").id,
        make_delta(DIGEST, (), "rules").id,
    }
    assert len(ids) == 5


def test_a_delta_names_its_turn_its_author_and_what_was_refused() -> None:
    delta = (
        Curator()
        .curate(
            Reflection(adds=(add("Use pnpm", "user"), add("Be careful"))),
            playbook(),
            DIGEST,
            author="m",
            refused=["before"],
        )
        .delta
    )
    assert delta is not None
    assert (delta.session_id, delta.interaction, delta.author) == ("s", 4, "rules"), "nothing of it is the model's"
    assert delta.refused[0] == "before"
    assert "general advice" in delta.refused[1]


SECRET = "ghp_0123456789abcdefABCDEF0123456789abcd"
IDS = st.sampled_from(["P-1", "P-2", "P-3", "P-4", "P-5", "P-77", "", "x"])
TEXTS = st.one_of(
    st.text(max_size=120),
    st.sampled_from(
        ["Use pnpm", "Use tabs for indentation", "Never use tabs for indentation", "Be careful", "x " * 99]
    ),
    st.text(max_size=20).map(lambda t: f"{t} {SECRET} {t}"),
    st.integers(0, 9).map(lambda n: f"Use library{n} for part{n}"),
)
EVIDENCE = st.builds(Evidence, st.sampled_from(["model", "teaching", "command"]), TEXTS)
ADDS = st.builds(
    AddProposal,
    content=TEXTS,
    section=st.just("general"),
    kind=st.sampled_from(get_args(Kind)),
    scope=st.sampled_from(get_args(Scope)),
    trust=st.sampled_from(get_args(Trust)),
    evidence=st.tuples(EVIDENCE),
    replaces=st.booleans(),
)
TAGS = st.builds(
    TagProposal,
    bullet_id=IDS,
    tag=st.sampled_from(get_args(Tag)),
    why=TEXTS,
    weight=st.floats(0, 1),
    source=st.sampled_from(["model", "command", "correction"]),
    about=st.sampled_from(["turn", "previous"]),
    evidence=st.tuples(EVIDENCE),
)
BOOKS = st.lists(st.tuples(TEXTS, st.sampled_from(get_args(State))), max_size=5)


@given(st.lists(ADDS, max_size=9), st.lists(TAGS, max_size=9), BOOKS)
def test_no_delta_breaks_the_rules(
    adds: list[AddProposal], tags: list[TagProposal], bullets: list[tuple[str, State]]
) -> None:
    book = SessionPlaybook()
    for content, state in bullets:
        book.add(content, state=state)
    delta = Curator().curate([Reflection(tags=tuple(tags)), Reflection(adds=tuple(adds))], book, DIGEST).delta
    if delta is None:
        return
    names = [op.op for op in delta.ops]
    assert names.count("ADD") <= 3
    assert names.count("UPDATE") + names.count("MERGE") <= 2
    assert all(op.bullet_id in book.bullets for op in delta.ops if op.op != "ADD")
    assert all(op.bullet_id == "" and op.evidence for op in delta.ops if op.op == "ADD")
    assert all(len(op.fields["content"].split()) <= MAX_WORDS for op in delta.ops if "content" in op.fields)
    assert all(
        op.fields["state"] == "quarantined"
        for op in delta.ops
        if op.fields.get("trust") in ("repository", "tool", "web")
    )
    assert SECRET not in repr(delta)
    assert not {"REMOVE", "MERGE", "PIN"} & set(names)
