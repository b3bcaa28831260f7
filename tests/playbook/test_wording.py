"""Test comparing wordings: a negation, a number or a path makes another text, in any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.wording import is_in_words_of, is_same_text

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
def test_a_text_is_in_the_words_of_a_message_that_says_it(language: str) -> None:
    said, negated = NEGATIONS[language]
    assert is_in_words_of(said, f"… {said} …")
    assert is_in_words_of(negated, f"… {said}? {negated} …", replaced=said)
    assert not is_in_words_of(said, "please read notes.md and tell me what it says")


def test_a_text_with_a_number_that_nobody_wrote_is_not_in_their_words() -> None:
    assert not is_in_words_of("Lines have at most 100 characters", "lines: at most 88 characters")


def test_a_changed_text_may_repeat_the_replaced_one_but_its_change_must_have_been_said() -> None:
    old = "Release branches are cut from main on the first Monday of each month."
    new = "Release branches are cut from main on the first Tuesday of each month."
    assert is_in_words_of(new, "no, Tuesday. I told you that already", replaced=old)
    assert not is_in_words_of(new, "tell me what the notes say", replaced=old)
    assert not is_in_words_of("Never run the tests", "tell me what it says", "Run the tests")
