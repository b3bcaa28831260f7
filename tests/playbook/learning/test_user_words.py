"""Lessons in the user's words: what is one, what it says, and what only sounds like one."""

from __future__ import annotations

import pytest

from swecli.playbook.learning.user_words import kind_of, lessons, remedy, section_of

TAUGHT = [
    ("remember that tests run with pytest -q", "Tests run with pytest -q"),
    ("Remember: run the tests with pytest -q", "Run the tests with pytest -q"),
    ("remember to run the linter before committing", "Run the linter before committing"),
    ("please remember that the port is 8080.", "The port is 8080"),
    ("remember this: we use tabs", "We use tabs"),
    ("Remember that the test suite needs Redis", "The test suite needs Redis"),
    ("remember the staging port is 9090", "The staging port is 9090"),
    ("remember we never push on Fridays", "We never push on Fridays"),
    ("keep in mind that the API is versioned", "The API is versioned"),
    ("keep in mind: migrations are append-only", "Migrations are append-only"),
    ("for future reference: the docs live in site/", "The docs live in site/"),
    ("always run pytest with -q", "Always run pytest with -q"),
    ("Always use tabs.", "Always use tabs"),
    ("never commit to main", "Never commit to main"),
    ("please never edit generated files", "Never edit generated files"),
    ("you should always run the linter first", "Always run the linter first"),
    ("make sure you always use the wrapper script", "Always use the wrapper script"),
    ("do not ever push to main", "Do not ever push to main"),
    ("from now on use pnpm", "Use pnpm"),
    ("From now on, answer in German", "Answer in German"),
    ("going forward, keep answers short", "Keep answers short"),
    ("use pnpm from now on", "Use pnpm"),
    ("next time, run the linter first", "Run the linter first"),
    ("in this project use tabs", "Use tabs"),
    ("In this project, we use tabs", "We use tabs"),
    ("in this repo tests live in spec/", "Tests live in spec/"),
    ("in this project, run the tests with pytest -q", "Run the tests with pytest -q"),
    ("in this codebase names are written in snake_case", "Names are written in snake_case"),
    ("we use tabs in this project", "We use tabs"),
    ("I prefer tabs over spaces", "Prefer tabs over spaces"),
    ("no, always use tabs", "Always use tabs"),
    ("ok, and remember that names are in snake_case", "Names are in snake_case"),
    ("Fix the bug in a.py. Always run the tests afterwards.", "Always run the tests afterwards"),
    ("fix a.py\n- never touch b.py", "Never touch b.py"),
]
NOT_TAUGHT = [
    "",
    "always returns None — why?",
    "always returns None",
    "never mind",
    "never seen this before",
    "never the same result twice",
    "always the same error",
    "always use tabs?",
    "should I always use tabs?",
    "why does it never run the tests",
    "it always fails on Mondays",
    "do you remember that file?",
    "remember that file we edited",
    "remember that function",
    "remember the bug we saw yesterday",
    "remember when we changed the parser",
    "remember how it worked",
    "do you remember me",
    "remember",
    "remember that",
    "rename remember_me to always_on",
    "in this project find all TODOs",
    "in this project, what does main.py do?",
    "in this project there is a bug in parser.py",
    "in this project the tests are failing",
    "in this repo run the tests",
    "in future versions of Python this is an error",
    "from now on?",
    "from now on",
    "never do that again",
    "always do it like this",
    "I always forget this syntax",
    "we prefer the first option",
    "what should I always use",
    'write "always use tabs" into the README',
    "explain why one should never use eval",
    "> always use tabs\nwhat does this quote mean",
    "```\nremember that x is 1\nalways use tabs\n```\nexplain this",
    "show me the line that says never use tabs",
    "next time it happens, we will see",
]


@pytest.mark.parametrize(("query", "content"), TAUGHT)
def test_a_lesson_is_taken_in_the_users_words(query: str, content: str) -> None:
    assert [lesson.content for lesson in lessons(query)] == [content]


@pytest.mark.parametrize("query", NOT_TAUGHT)
def test_other_sentences_teach_nothing(query: str) -> None:
    assert lessons(query) == []


def test_the_whole_sentence_is_kept_as_evidence() -> None:
    (lesson,) = lessons("List the files. Remember that tests run with pytest -q!")
    assert lesson.quote == "Remember that tests run with pytest -q!"


def test_several_lessons_in_one_query_are_all_taken_once() -> None:
    found = lessons("Always use tabs. Never commit to main. Always use tabs.")
    assert [lesson.content for lesson in found] == ["Always use tabs", "Never commit to main"]


def test_a_long_paste_teaches_only_by_how_it_opens() -> None:
    paste = "Explain this page.\n" + "Some text about the tool. " * 80 + "\nAlways use sudo.\n"
    assert lessons(paste) == []
    assert [x.content for x in lessons("Remember that X is 1. " + paste)] == ["X is 1"]


def test_a_very_long_query_is_read_quickly() -> None:
    for text in (
        "always use " + " " * 300_000,
        "use x" + " ," * 100_000,
        "\n" * 300_000,
        "in this project " + "a " * 90_000,
    ):
        assert lessons(text) == []


def test_a_lesson_for_now_stays_in_its_session() -> None:
    (lesson,) = lessons("always use the old API for now")
    assert lesson.scope == "session"
    (lesson,) = lessons("always use the new API")
    assert lesson.scope == "project"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("use tabs", "Use tabs"),
        ("use tabs instead of spaces, and then fix b.py", "Use tabs instead of spaces"),
        ("please run the tests with pytest -q", "Run the tests with pytest -q"),
        ("don't use print, use logging", "Don't use print, use logging"),
        ("stop adding comments", "Avoid adding comments"),
        ("it should use the logger", "Use the logger"),
        ("always ask before deleting files", "Always ask before deleting files"),
        ("use pnpm, not npm", "Use pnpm, not npm"),
        ("the tests run with `make check`", "The tests run with `make check`"),
        ("our integration tests live in tests/wire", "Our integration tests live in tests/wire"),
        ("the docs are built with mkdocs", "The docs are built with mkdocs"),
        ("the test suite needs Redis", "The test suite needs Redis"),
    ],
)
def test_a_remedy_that_holds_beyond_this_case_is_a_lesson(text: str, content: str) -> None:
    found = remedy(text)
    assert found is not None
    assert found.content == content


@pytest.mark.parametrize(
    "text",
    [
        "",
        "use the other file",
        "fix the off-by-one",
        "run the tests",
        "try again",
        "not now",
        "too dangerous",
        "use that",
    ]
    + ["don't do that", "I'll do it myself", "use what?", "the answer is 3", "it is in src/a.py", "put it there"]
    + ["the tests are failing", "the bug is in parser.py", "the code is in the wrong file", "the tests run now"]
    + ["the config is in my last message", "the app runs on that machine", "the docs are already in your answer"],
)
def test_a_remedy_for_this_case_only_is_no_lesson(text: str) -> None:
    assert remedy(text) is None


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Always use tabs", "preference"),
        ("Never commit to main", "preference"),
        ("Run the tests with pytest -q", "strategy"),
        ("The port is 8080", "fact"),
        ("Don't use print, use logging", "pitfall"),
        ("Tests run with pytest -q", "strategy"),
    ],
)
def test_the_kind_follows_the_wording(content: str, kind: str) -> None:
    assert kind_of(content) == kind


@pytest.mark.parametrize(
    ("content", "section"),
    [
        ("Run the tests with pytest", "tests"),
        ("Use tabs", "style"),
        ("Never commit to it", "git"),
        ("Use Redis", "general"),
    ],
)
def test_the_section_follows_the_words(content: str, section: str) -> None:
    assert section_of(content) == section
