"""Whether what a bullet names is here: real files, real programs, and nothing counts as verified that was only read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import Bullet
from swecli.playbook.anchors import anchors_of
from swecli.playbook.workspace import WorkspaceLookup

FILES = {
    "src/api/users.py": "",
    "docs/setup.md": "",
    "Makefile": "CHECKS := all\n.PHONY: check\ncheck test: src\n\tpytest\nlint:\n\truff check\n",
    "web/package.json": "{}",
    "package.json": '{"scripts": {"build": "vite build", "test": "vitest"}}',
}
REASONS = {
    "The API lives in src/api": "",
    "The API lives in src/rest": "src/rest is not here",
    "Users are in users.py": "",
    "Users are in people.py": "people.py is not here",
    "Look at `src/**/*.py`": "",
    "Look at `lib/**/*.py`": "lib/**/*.py is not here",
    "Run `make check` first": "",
    "Run `make -j2 lint CHECKS=all`": "",
    "Run `make deploy` last": "the Makefile has no target deploy",
    "Run `npm run build`": "",
    "Run `npm install left-pad`": "",
    "Run `npm run deploy`": "package.json has no script deploy",
    "Run `cd web && npm run deploy`": "",
    "Run pytest -q": "",
    "Run `ruff check`": "",
    "Run `just check`": "there is no command just here",
    "Run `CI=1 tox -e py311 && make check`": "there is no command tox here",
    "Run ./scripts/dev.sh": "scripts/dev.sh is not here",
    "Settings are in ~/.config/shop.toml": "",
}


@pytest.fixture
def here(tmp_path: Path) -> WorkspaceLookup:
    root, programs = tmp_path / "shop", tmp_path / "programs"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for program in (programs / "make", programs / "npm", programs / "pytest", root / ".venv/bin/ruff"):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return WorkspaceLookup(root, str(programs))


def missing(here: WorkspaceLookup, content: str) -> str:
    return here.of(anchors_of(content)) or ""


def test_what_is_missing_is_named(here: WorkspaceLookup) -> None:
    assert {content: missing(here, content) for content in REASONS} == REASONS


def test_only_what_was_found_is_a_verification(here: WorkspaceLookup) -> None:
    assert here.missing(Bullet("P-1", "The API lives in src/api")) == ""
    assert here.missing(Bullet("P-2", "Use tabs")) is None
    assert here.missing(Bullet("P-3", "Read src/api and src/rest"))


def test_anchors_that_were_stored_are_the_ones_that_are_looked_up(here: WorkspaceLookup) -> None:
    assert here.missing(Bullet("P-1", "Use tabs", anchors=("path:src/rest",))) == "src/rest is not here"
    assert here.missing(Bullet("P-1", "Use tabs", anchors=("moon:full", "path:", "x"))) is None


def test_broken_files_and_links_are_no_reason_to_fail(here: WorkspaceLookup) -> None:
    (here.root / "package.json").write_text("[1, 2")
    (here.root / "loop.py").symlink_to("loop.py")
    assert missing(here, "Run `npm run build`") == "package.json has no script build"
    assert missing(here, "Read loop.py") in ("", "loop.py is not here")


@given(st.text(max_size=120) | st.text(alphabet="`./-a b*_,:&|", max_size=60), st.sampled_from(["path", "command"]))
def test_no_anchor_makes_it_fail(value: str, kind: str) -> None:
    here = WorkspaceLookup(Path(), "/usr/bin")
    here.of([f"{kind}:{value}", *anchors_of(value)])


def test_what_is_not_below_is_looked_for_in_the_whole_project(here: WorkspaceLookup) -> None:
    below = WorkspaceLookup(here.root / "web", here.search_path, above=here.root)
    for content in ("The API lives in src/api", "Users are in users.py", "Run `make check` first", "Run `ruff check`"):
        assert below.of(anchors_of(content)) == "", content
    assert below.of(anchors_of("Run `make deploy`")) == "the Makefile has no target deploy"
