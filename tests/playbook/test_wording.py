"""Test comparing wordings: a negation, a number or a path makes another text, in any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.wording import is_same_text, is_statement_in, names_in

NEGATIONS = {
    "English": ("Run the slow tests before each commit.", "Do not run the slow tests before each commit."),
    "German": ("Führe die langsamen Tests aus", "Führe die langsamen Tests nicht aus"),
    "French": ("Lance les tests lents avant un commit", "Ne lance pas les tests lents avant un commit"),
    "Spanish": ("Ejecuta las pruebas lentas", "No ejecutes las pruebas lentas"),
    "Turkish": ("Yavaş testleri çalıştır", "Yavaş testleri çalıştırma"),
    "Finnish": ("Aja hitaat testit", "Älä aja hitaita testejä"),
    "Russian": ("Запускай медленные тесты", "Не запускай медленные тесты"),
    "Arabic": ("شغّل الاختبارات البطيئة", "لا تشغّل الاختبارات البطيئة"),
    "Japanese": ("遅いテストを実行する", "遅いテストを実行しない"),
    "Chinese": ("提交前运行慢速测试", "提交前不运行慢速测试"),
}  # fmt: skip
NUMBERS = {
    "English": ("Lines have at most 88 characters", "Lines have at most 100 characters"),
    "German": ("Zeilen haben höchstens 88 Zeichen", "Zeilen haben höchstens 100 Zeichen"),
    "French": ("Utilise numpy 1.26 ici", "Utilise numpy 2.1 ici"),
    "Spanish": ("Las líneas tienen 88 caracteres", "Las líneas tienen 89 caracteres"),
    "Turkish": ("Satırlar en fazla 88 karakter", "Satırlar en fazla 100 karakter"),
    "Finnish": ("Rivit ovat 88 merkkiä", "Rivit ovat 100 merkkiä"),
    "Russian": ("Не больше 88 символов", "Не больше 100 символов"),
    "Arabic": ("السطر ٨٨ حرفا", "السطر ١٠٠ حرفا"),
    "Japanese": ("一行は88文字まで", "一行は100文字まで"),
    "Chinese": ("每行最多88个字符", "每行最多100个字符"),
}  # fmt: skip


@pytest.mark.parametrize("language", NEGATIONS)
def test_a_negated_text_is_another_text(language: str) -> None:
    said, negated = NEGATIONS[language]
    assert is_same_text(said, f"  {said} ")
    assert not is_same_text(said, negated)


@pytest.mark.parametrize("language", NUMBERS)
def test_a_text_with_another_number_is_another_text(language: str) -> None:
    said, changed = NUMBERS[language]
    assert is_same_text(said, f"“{said}”.")
    assert not is_same_text(said, changed)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never commit files under `dist/`", "Commit files under `dist/`"),
        ("Format with ruff, not with black", "Format with black, not with ruff"),
        ("Read `.env` first", "Read `env` first"),
        ("Settings are in conf/a.toml", "Settings are in conf/b.toml"),
        ("Commit with -s", "Commit with --no-verify"),
        ("The tests can run in parallel", "The tests can't run in parallel"),
    ],
)
def test_texts_that_differ_in_a_word_a_path_a_flag_or_the_order_are_not_the_same(
    one: str, other: str
) -> None:
    assert not is_same_text(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Run the slow tests before each commit.", "run the slow test before each commits"),
        ("Use tabs, here", 'use "tabs" here!'),
        ("Écris les commits à l’impératif", "E\u0301cris les commits a\u0300 l'impératif."),
        ("テストは tox で実行。", "テストは tox で実行"),
    ],
)
def test_case_punctuation_and_english_endings_make_no_other_text(one: str, other: str) -> None:
    assert is_same_text(one, other)


@given(st.text(max_size=80))
def test_every_text_is_the_same_as_itself(text: str) -> None:
    assert is_same_text(text, text)
    assert is_same_text(text, f" {text}\n")


@pytest.mark.parametrize("language", NEGATIONS)
def test_a_message_states_what_it_says_and_not_its_opposite(language: str) -> None:
    said, negated = NEGATIONS[language]
    assert is_statement_in(said, [said])
    assert is_statement_in(negated, ["look", f"{negated}"])
    assert not is_statement_in(negated, [said])
    assert not is_statement_in(said, [negated])


@pytest.mark.parametrize("language", NUMBERS)
def test_a_message_does_not_state_another_number(language: str) -> None:
    said, changed = NUMBERS[language]
    assert is_statement_in(said, [said])
    assert not is_statement_in(changed, [said])


MESSAGE = (
    "Please run the tests with make check and fix what fails, but never touch the migrations folder, "
    "and read notes.md first. Error messages must never contain what the caller passed in! "
    "Remember that lines have at most 88 characters. Can we use tabs? Keep it short"
)


@pytest.mark.parametrize(
    "text",
    [
        "Error messages must never contain what the caller passed in.",
        "error messages must never contain what the caller passed in",
        "Error  messages must never contain\nwhat the caller passed in",
        'Error messages must never contain what "the caller" passed in',
        "Remember that lines have at most 88 characters.",
        "Lines have at most 88 characters",
        "Lines have at most `88` characters. Can we use tabs? Keep it short.",
        "Keep it short",
        MESSAGE,
    ],
)
def test_whole_sentences_are_what_the_user_wrote(text: str) -> None:
    assert is_statement_in(text, ["hello", MESSAGE])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "Never run the tests with make check; touch the migrations folder and fix it",
        "Touch the migrations folder first",
        "Run the tests with make check and commit notes to backup",
        "Touch the migrations folder",
        "never touch the migrations folder",
        "Error messages must always contain what the caller passed in",
        "Error messages must contain what the caller passed in",
        "Error messages must never contain what the caller passed in, unless asked",
        "in passed caller the what contain never must messages Error",
        "Error messages must never contain what the сaller passed in",
        "Lines have at most 89 characters",
        "Lines have at most 88² characters",
        "Can we use tabs",
        "We use tabs",
        "and read notes.md first. Error messages must never contain what the caller passed in!",
        "Please run the tests with make check. Keep it short.",
        "Keep it",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert not is_statement_in(text, ["hello", MESSAGE])


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("never push to main", "push to main"),
        ("please don't\npush to main", "push to main"),
        ("Never do this:\n\npush to main", "push to main"),
        ("Never:\n- Push to main.\n- Touch the migrations.", "Push to main"),
        ("Never:\n1. Push to main.\n2. Touch the migrations.", "Touch the migrations"),
        ("Nothing risky, e.g. Push to main.", "Push to main"),
        ("Never ... Push to main", "Push to main"),
        ("Not this; push to main", "push to main"),
        ("under no circumstances, push to main", "push to main"),
        ("no, push to main", "No push to main"),
        ("no push to main", "No, push to main"),
        ('Bob says: "Never ask. Push to main. Go." Is he right?', "Push to main"),
        ("Bob says 'Never ask. Push to main. Go.' and errs", "Push to main"),
        ("(Not my view. Push to main. Bob)", "Push to main"),
        ("¿Borras la base de datos?", "Borras la base de datos"),
        ("提交前运行测试吗？", "提交前运行测试"),
        ("Commit with -s", "Commit with -S"),
        ("Trinkt in Maßen", "Trinkt in Massen"),
        ("Push only if he agrees", "Push only"),
    ],
)
def test_a_part_that_may_turn_a_sentence_round_is_no_statement(message: str, part: str) -> None:
    assert is_statement_in(message, [message])
    assert not is_statement_in(part, [message])


def test_two_messages_are_not_joined() -> None:
    assert not is_statement_in("Never. Push to main", ["Never.", "Push to main"])


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\U000e0061", "\u00ad", "\ufe0f"])
def test_hidden_letters_make_no_other_text(hidden: str) -> None:
    assert is_statement_in(f"use{hidden} ta{hidden}bs", ["use tabs"])


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1, max_size=8))
def test_a_message_without_any_mark_states_itself_and_no_part_of_it(words: list[str]) -> None:
    message = " ".join(words)
    assert is_statement_in(message, [message])
    if len(words) > 1:
        assert not is_statement_in(" ".join(words[1:]), [message])
        assert not is_statement_in(" ".join(words[:-1]), [message])


@given(st.text(max_size=80), st.text(max_size=20))
def test_nothing_can_be_added_to_a_message(message: str, more: str) -> None:
    added = f"{message} added {more}"
    assert not is_statement_in(added, [message])


def test_code_in_a_text_is_what_is_more_than_words_and_numbers() -> None:
    text = "Run `python tools/snap.py --write` (see a.py), don't chmod 777 or set GIT_X=1 at https://x.y"
    found = [*names_in(text)]
    assert found == ["tools/snap.py", "--write", "a.py", "GIT_X=1", "https://x.y"]
