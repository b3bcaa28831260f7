"""Verdicts on the turn before: what is one, and what only looks like one."""

from __future__ import annotations

import pytest

from swecli.playbook.phrases import feedback

CORRECTIONS = [
    "no, that was wrong",
    "No, that's wrong.",
    "no that is wrong, use tabs",
    "nope, wrong file",
    "No.",
    "no",
    "no, use tabs",
    "no! not that one",
    "no, that was wrong: run the tests with pytest -q",
    "no, the other file",
    "that's not what I asked",
    "that is not what I asked for.",
    "That’s not what I meant, I meant the parser",
    "this is wrong",
    "it's wrong again",
    "that was completely wrong",
    "that isn't right",
    "that's not right, the port is 8080",
    "that's the wrong file",
    "wrong",
    "Wrong!",
    "wrong file, edit b.py",
    "incorrect.",
    "hmm, that's wrong",
    "thanks, but that's wrong",
    "ok but that was wrong",
    "actually, that is incorrect",
    "sorry, that's not it",
    "not what I asked for",
    "not like that",
    "not that one, please",
    "your answer is wrong",
    "your last change was wrong",
    "you're wrong",
    "you were wrong, it is in src",
    "you misunderstood",
    "you forgot to run the tests",
    "you deleted the wrong thing",
    "you should have used the existing helper",
    "you didn't run the tests",
    "I said tabs",
    "I meant the other branch",
    "I asked you to leave the tests alone",
    "I asked for a list, not a table",
    "I wanted JSON output, not YAML",
    "I told you to use pnpm",
    "stop adding comments",
    "stop doing that",
    "stop it",
    "stop running the tests after every edit",
    "don't do that again",
    "don't use print, use logging",
    "do not edit generated files; use the generator",
    "Don't write to stdout. Use the logger",
    "never do that again",
    "bad idea, it breaks the build",
]
UNDOS = [
    "undo that",
    "revert this, please",
    "revert your last change",
    "please undo your changes",
    "put it back",
    "no, undo that",
]
COMPLAINTS = [
    "that didn't work",
    "it doesn't work",
    "still not working",
    "still fails",
    "it's still broken",
    "still getting the same error",
    "that broke the build",
    "now the tests fail",
    "it's worse now",
]
PRAISES = [
    "thanks, that worked",
    "Thank you, perfect!",
    "perfect",
    "Perfect! Now add a test",
    "great, now do the same for b.py",
    "great, now fix the error in b.py",
    "that worked",
    "that works now",
    "it works",
    "works perfectly, thanks",
    "that fixed it",
    "that did the trick",
    "excellent.",
    "exactly what I wanted",
    "that's exactly what I wanted",
    "that's correct",
    "lgtm",
    "well done",
    "nice",
    "tests pass now",
    "awesome, commit it",
]
NEITHER = [
    "",
    "   ",
    "no idea what is wrong with this function",
    "no such file or directory: what does it mean",
    "No module named foo, why?",
    "no, thanks",
    "no thanks",
    "no problem",
    "no need to run the tests",
    "no, that's fine",
    "no, go ahead",
    "no, it's ok",
    "no. 5 in the list please",
    "nothing is wrong, go on",
    "what is wrong with this function?",
    "is that wrong?",
    "was that right?",
    "why is this wrong",
    "that's wrong, isn't it?",
    "find what is wrong with the parser",
    "this is wrong in the docs and right in the code",
    "wrong password leads to a 500, fix it",
    "wrong file handling in io.py: fix it",
    "wrong?",
    "that function is wrong, fix it",
    "that is not wrong at all",
    "the test is wrong about dates, correct it",
    "it doesn't work when n is 0, fix the loop",
    "this doesn't work on Windows because of paths?",
    "stop the server",
    "stop streaming when the socket closes",
    "stop retrying after three attempts",
    "don't forget to run the tests",
    "don't worry about the docs",
    "don't change anything yet, just tell me what you would do",
    "do not touch the config",
    "undo the last commit",
    "revert commit abc123",
    "put it in utils.py",
    "I wanted to ask about the parser",
    "I meant to ask you something",
    "not sure how this works",
    "not that it matters, but rename x",
    "now the tests",
    "you can run the tests",
    "you are in a git repository",
    "correct the typo in README",
    "perfect square check, write one",
    "perfect?",
    "great circle distance in geo.py",
    "nice level of the process, set it to 5",
    "exactly once delivery: implement it",
    "it works how?",
    "that works because of what",
    "works on my machine but not in CI",
    "great, now it's broken",
    "great, everything fails now, it is worse",
    "perfect, except for the naming",
    "nice, but slow",
    "that worked yesterday",
    "good morning",
    "thanks to the cache it is fast, keep it",
    "does it work?",
    "list files",
    "yes",
    "ok",
    "read app.py and tell me what is wrong",
    "remember that tests run with pytest -q",
    "that script is run by make",
    "it is a wrong assumption that users have one address",
]


def kind(query: str, asked: bool = False) -> str | None:
    found = feedback(query, asked)
    return found.kind if found else None


@pytest.mark.parametrize("query", CORRECTIONS)
def test_a_correction_is_recognised(query: str) -> None:
    found = feedback(query)
    assert found is not None
    assert found.kind == "correction"
    assert not found.good
    assert found.weight >= 0.5


@pytest.mark.parametrize("query", UNDOS)
def test_taking_back_is_recognised(query: str) -> None:
    assert kind(query) == "undo"


@pytest.mark.parametrize("query", COMPLAINTS)
def test_a_complaint_is_recognised(query: str) -> None:
    assert kind(query) == "complaint"


@pytest.mark.parametrize("query", PRAISES)
def test_praise_is_recognised(query: str) -> None:
    found = feedback(query)
    assert found is not None
    assert found.kind == "praise"
    assert found.good
    assert found.weight >= 0.5


@pytest.mark.parametrize("query", NEITHER)
def test_other_openings_are_no_verdict(query: str) -> None:
    assert kind(query) is None


def test_bare_thanks_weigh_little() -> None:
    found = feedback("thanks!")
    assert found is not None
    assert (found.kind, found.weight) == ("thanks", 0.2)


@pytest.mark.parametrize("query", ["no", "no, use the second one", "nope"])
def test_a_no_to_a_question_only_answers_it(query: str) -> None:
    assert kind(query, asked=False) == "correction"
    assert kind(query, asked=True) is None


@pytest.mark.parametrize("query", ["no, that was wrong", "no, you deleted the tests", "that's not what I asked"])
def test_plain_words_are_a_correction_even_after_a_question(query: str) -> None:
    assert kind(query, asked=True) == "correction"


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("no, that was wrong: use tabs", "use tabs"),
        ("that's not what I asked. List the tests", "List the tests"),
        ("no, use tabs", "use tabs"),
        ("don't use print, use logging", "don't use print, use logging"),
        ("stop adding comments", "stop adding comments"),
        ("no, that was wrong", ""),
    ],
)
def test_what_follows_the_verdict_is_kept_apart(query: str, rest: str) -> None:
    found = feedback(query)
    assert found is not None
    assert found.rest == rest


def test_the_quote_is_the_first_sentence() -> None:
    found = feedback("no, that was wrong. The tests are in spec/")
    assert found is not None
    assert found.quote == "no, that was wrong."


def test_a_very_long_query_is_read_quickly() -> None:
    for text in ("no " * 100_000, "a" * 500_000, " " * 500_000, "ok, " * 100_000, "don't " + "x " * 100_000):
        assert feedback(text) is None
