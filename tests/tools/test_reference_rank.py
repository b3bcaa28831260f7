"""Test the ranking of definitions by what refers to them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.reference_rank import Definition, SourceFile, rank_definitions
from swecli.tools.source_tags import name_words


def source(path: str, defines: str = "", uses: str = "", names: str = "") -> SourceFile:
    """Return a file; what is defined as `Shop.buy` is a part of `Shop`. `names` are words that name other files."""
    definitions = []
    for line, name in enumerate(defines.split(), 1):
        owner, _, own = name.rpartition(".")
        definitions.append(Definition(path, own, line, f"def {own}", owner))
    used = {name: uses.split().count(name) for name in uses.split()}
    return SourceFile(path, name_words(path), definitions, used, frozenset(names.split()))


def ranked(*files: SourceFile) -> list[str]:
    """Return the definitions, best first."""
    return [f"{one.path}:{one.name}" for one in rank_definitions(files)]


def scores(*files: SourceFile) -> dict[str, float]:
    return {f"{one.path}:{one.name}": score for one, score in rank_definitions(files).items()}


def test_what_more_files_refer_to_comes_first() -> None:
    assert ranked(
        source("lib/a.py", "rare often"),
        source("x/one.py", uses="often", names="lib"),
        source("x/two.py", uses="often rare", names="lib"),
    ) == ["lib/a.py:often", "lib/a.py:rare"]


def test_a_reference_from_an_important_file_counts_more() -> None:
    files = [
        source("lib/core.py", "core", uses="deep"),
        source("lib/deep.py", "deep"),
        source("lib/other.py", "other"),
        source("x/unimportant.py", uses="other", names="lib"),
        *(source(f"x/{number}.py", uses="core", names="lib") for number in range(5)),
    ]
    found = scores(*files)
    assert found["lib/deep.py:deep"] > found["lib/other.py:other"] > 0


def test_a_file_does_not_raise_its_own_definitions() -> None:
    assert scores(source("a.py", "f g", uses="f f f f")) == {"a.py:f": 0.0, "a.py:g": 0.0}


def test_a_name_counts_only_for_files_that_are_named_or_in_the_same_folder() -> None:
    found = scores(
        source("lib/a.py", "run"),
        source("far/b.py", "run"),
        source("lib/c.py", uses="run"),
        source("x/d.py", uses="run"),
    )
    assert found["lib/a.py:run"] > 0
    assert found["far/b.py:run"] == 0


def test_a_name_alone_does_not_name_the_file_that_is_called_like_it() -> None:
    assert scores(source("lib/run.py", "run"), source("x/d.py", uses="run", names="run")) == {
        "lib/run.py:run": 0.0
    }


def test_a_part_counts_only_where_the_whole_is_used_too() -> None:
    shop = source("lib/shop.py", "Shop Shop.buy")
    without = scores(shop, source("x/a.py", uses="buy", names="shop"))
    assert without["lib/shop.py:buy"] == 0
    beside = scores(shop, source("x/a.py", uses="Shop buy", names="shop"))
    assert beside["lib/shop.py:buy"] > 0


def test_what_nothing_refers_to_follows_in_the_order_of_the_files() -> None:
    assert ranked(
        source("lib/a.py", "one two"),
        source("lib/b.py", "used unused"),
        source("x/c.py", uses="used", names="lib"),
    ) == ["lib/b.py:used", "lib/b.py:unused", "lib/a.py:one", "lib/a.py:two"]


def test_a_name_that_very_many_files_define_counts_for_none() -> None:
    files = [source(f"lib/{number}.py", "get") for number in range(51)]
    assert sum(scores(*files, source("lib/x.py", uses="get")).values()) == 0


def test_nothing_has_no_ranks() -> None:
    assert ranked() == []


@given(
    st.lists(
        st.tuples(st.text("abc ", max_size=12), st.text("abc ", max_size=12)),
        max_size=8,
        min_size=1,
    )
)
def test_all_shares_together_are_at_most_one_and_the_order_is_repeatable(
    drawn: list[tuple[str, str]],
) -> None:
    files = [source(f"{number}.py", *pair) for number, pair in enumerate(drawn)]
    found = rank_definitions(files)
    assert 0 <= sum(found.values()) <= 1 + 1e-6
    assert [*found] == [*rank_definitions(files)]
    assert sorted(found.values(), reverse=True) == [*found.values()]
