"""Test looking up a bullet's anchors in real files, and that reading alone verifies nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import Bullet
from swecli.playbook.workspace import WorkspaceLookup, find_anchors

FILES = {
    "src/api/users.py": "",
    "docs/setup.md": "",
    "Makefile": "CHECKS := all\n.PHONY: check\ncheck test: src\n\tpytest\nlint:\n\truff check\n",
    "web/package.json": "{}",
    "package.json": '{"scripts": {"build": "vite build", "test": "vitest"}}',
}
REASONS = {
    "The API lives in `src/api`": "",
    "The API lives in `src/rest`": "src/rest does not exist",
    "Branch off `origin/main`": "",
    "Users are in `users.py`": "",
    "Users are in `people.py`": "people.py does not exist",
    "Look at `src/**/*.py`": "",
    "Look at `docs/api/**/*.md`": "docs/api/**/*.md does not exist",
    "Run `make check` first": "",
    "Run `make -j2 lint CHECKS=all`": "",
    "Run `make deploy` last": "the Makefile has no target deploy",
    "Run `npm run build`": "",
    "Run `npm install left-pad`": "",
    "Run `npm run deploy`": "package.json has no script deploy",
    "Run `cd web && npm run deploy`": "",
    "Run `CI=1 tox -e py311 && make deploy`": "the Makefile has no target deploy",
    "Run ./scripts/dev.sh": "scripts/dev.sh does not exist",
    "Settings are in ~/.config/shop.toml": "",
}


def first_missing(lookup: WorkspaceLookup, anchors: Iterable[str]) -> str:
    """Return what is missing of the first anchor that is, or ""."""
    alone = (Bullet("P-1", "x", anchors=(anchor,)) for anchor in anchors)
    return next((one for bullet in alone if (one := lookup.missing(bullet))), "")


@pytest.fixture
def lookup(tmp_path: Path) -> WorkspaceLookup:
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return WorkspaceLookup(root)


def missing_anchor(lookup: WorkspaceLookup, content: str) -> str:
    return first_missing(lookup, find_anchors(content))


def test_a_missing_anchor_is_named_with_the_reason(lookup: WorkspaceLookup) -> None:
    assert {content: missing_anchor(lookup, content) for content in REASONS} == REASONS


def test_a_bullet_is_stale_only_if_all_of_its_anchors_are_missing() -> None:
    lookup = WorkspaceLookup(Path(__file__).parent)
    assert lookup.missing(Bullet("P-1", "Read `test_workspace.py`")) == ""
    assert lookup.missing(Bullet("P-2", "Use tabs")) is None, "only checked strategies are verified"
    assert lookup.missing(Bullet("P-3", "`nowhere.py` was renamed to `test_workspace.py`")) == ""
    assert (
        lookup.missing(Bullet("P-4", "Read `nowhere.py`, then `src/gone.py`"))
        == "nowhere.py does not exist"
    )


def test_a_folder_or_an_interpreter_does_not_hide_that_a_named_file_is_gone(
    lookup: WorkspaceLookup,
) -> None:
    (lookup.root / ".venv" / "bin").mkdir(parents=True)
    (lookup.root / ".venv" / "bin" / "python").touch()
    gone = "scripts/lint.py does not exist"
    for content in ("Run `.venv/bin/python scripts/lint.py`", "Run `python scripts/lint.py src/`"):
        assert lookup.missing(Bullet("P-1", content)) == gone
    stored = ("path:.venv/bin/python", "path:scripts/lint.py")
    assert lookup.missing(Bullet("P-1", "Lint it", anchors=stored)) == gone
    assert lookup.missing(Bullet("P-1", "Code is in `src/`")) == ""


def test_stored_anchors_are_looked_up_and_invalid_ones_are_ignored(lookup: WorkspaceLookup) -> None:
    assert (
        lookup.missing(Bullet("P-1", "Use tabs", anchors=("path:src/rest", "flag:-q")))
        == "src/rest does not exist"
    )
    assert lookup.missing(Bullet("P-1", "Use tabs", anchors=("moon:full", "path:", "x"))) is None


def test_anchors_can_be_looked_up_despite_malformed_files_and_cyclic_links(
    lookup: WorkspaceLookup,
) -> None:
    (lookup.root / "package.json").write_text("[1, 2")
    (lookup.root / "loop.py").symlink_to("loop.py")
    assert missing_anchor(lookup, "Run `npm run build`") == "package.json has no script build"
    assert missing_anchor(lookup, "Read loop.py") in ("", "loop.py does not exist")


@given(
    st.text(max_size=120) | st.text(alphabet="`./-a b*_,:&|", max_size=60),
    st.sampled_from(["path", "command"]),
)
def test_any_anchor_can_be_looked_up(value: str, kind: str) -> None:
    lookup = WorkspaceLookup(Path())
    first_missing(lookup, [f"{kind}:{value}", *find_anchors(value)])


def test_anchors_missing_in_a_subfolder_are_looked_up_in_the_whole_project(
    lookup: WorkspaceLookup,
) -> None:
    below = WorkspaceLookup(lookup.root / "web", above=lookup.root)
    for content in ("The API is in `src/api`", "Users are in `users.py`", "Run `make check` first"):
        assert below.missing(Bullet("P-1", content)) == "", content
    assert (
        first_missing(below, find_anchors("Run `make deploy`"))
        == "the Makefile has no target deploy"
    )
