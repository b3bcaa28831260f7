"""Test anchors: finding them in a text, looking them up in real files, and what a missing one does to a strategy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.app import Runtime
from swecli.models.playbook import Bullet, Delta, Op
from swecli.models.session import Session
from swecli.playbook.learning.service import _check_anchors
from swecli.playbook.workspace import WorkspaceLookup, find_anchors, note_anchors
from tests.support.playbook import perform
from tests.support.runtime import make_runtime


def test_a_session_without_an_existing_directory_has_no_workspace(tmp_path: Path) -> None:
    assert WorkspaceLookup.of(Session("s", str(tmp_path / "gone"))) is None
    assert WorkspaceLookup.of(Session("s")) is None


async def test_anchors_are_not_checked_without_strategies_of_the_project() -> None:
    runtime = make_runtime()
    session = runtime.sessions.current_session
    assert session is not None
    assert await _check_anchors(runtime.sessions, session) == ()
    ops = (Op("ADD", fields={"content": "Use `nowhere.py`", "scope": "user"}),)
    runtime.sessions.playbook.apply(Delta("d", ops, "user"), session)
    assert await _check_anchors(runtime.sessions, session) == (), (
        "strategies for all projects are not checked"
    )


def add(runtime: Runtime, content: str, **fields: str) -> None:
    """Add a strategy that a model proposed, as the program does: it is noted whether what it names is there."""
    session = runtime.sessions.session
    op = Op("ADD", fields={"content": content, "scope": "project"} | fields)
    applied = runtime.sessions.playbook.apply(Delta(content, (op,), "user"), session)
    note_anchors(runtime.sessions, session, applied.added)


async def check(runtime: Runtime) -> list[str]:
    """Check the anchors, as at a start, and return the lines."""
    return [*await _check_anchors(runtime.sessions, runtime.sessions.session)]


def in_prompts(runtime: Runtime) -> list[str]:
    return [bullet.id for bullet in runtime.sessions.session.playbook.live_bullets()]


async def test_a_missing_file_is_reported_in_one_line_for_all_strategies_that_name_it() -> None:
    runtime = make_runtime()
    Path("gone.py").write_text("")
    for number in range(5):
        add(runtime, f"Read `gone.py` for matter {number}")
    assert await check(runtime) == []
    Path("gone.py").unlink()
    [line] = await check(runtime)
    assert line.startswith("P-1, P-2, P-3 and 2 more are stale and stay out of prompts: ")
    assert in_prompts(runtime) == []


async def test_a_stale_strategy_that_is_pinned_or_the_users_is_reported_as_still_in_prompts() -> (
    None
):
    runtime = make_runtime()
    Path("gone.py").write_text("")
    add(runtime, "Read `gone.py` as it is pinned", state="pinned")
    add(runtime, "Read `gone.py` as a result says")
    add(runtime, "Read `gone.py` as I say", trust="user")
    Path("gone.py").unlink()
    first, second, third = await check(runtime)
    assert first.startswith("P-2 is stale and stays out of prompts: ")
    assert second.startswith("P-1 is stale and stays in prompts, being pinned: ")
    assert third.startswith("P-3 is stale and stays in prompts, being your word: ")
    assert in_prompts(runtime) == ["P-1", "P-3"]
    states = [row[1] for row in perform(runtime, "list", []).rows]
    assert sorted(states) == ["active, stale", "active, stale?", "pinned, stale?"]


@pytest.mark.parametrize(
    "sentence",
    [
        "a file news/NAME.txt per change, one sentence",
        "secrets live in config/local.env, which is never committed",
        "write migrations as db/YYYY-MM-DD_name.sql",
        "new tests go to tests/test_AREA.py",
        "put a file changes/NNN.md beside each change",
        "bug reports: attach out/trace.json",
        "`make ship` comes last",
    ],
)
@pytest.mark.parametrize("trust", ["user", "tool"])
async def test_what_never_existed_makes_nothing_stale(sentence: str, trust: str) -> None:
    runtime = make_runtime()
    add(runtime, sentence, trust=trust)
    assert await check(runtime) == []
    assert in_prompts(runtime) == ["P-1"]


async def test_what_an_earlier_version_called_stale_at_birth_is_in_prompts_after_a_check() -> None:
    runtime = make_runtime()
    add(runtime, "Write news/NAME.txt", trust="tool")
    stale = {"P-1": "news/NAME.txt does not exist"}
    runtime.sessions.playbook.record_anchor_checks(runtime.sessions.session, stale, ())
    assert in_prompts(runtime) == []
    await check(runtime)
    assert in_prompts(runtime) == ["P-1"]


async def test_a_strategy_is_used_again_when_its_file_comes_back() -> None:
    runtime = make_runtime()
    Path("gone.py").write_text("")
    add(runtime, "Read `gone.py` first")
    Path("gone.py").unlink()
    await check(runtime)
    Path("gone.py").write_text("")
    assert await check(runtime) == []
    assert in_prompts(runtime) == ["P-1"]
    Path("gone.py").unlink()
    assert len(await check(runtime)) == 1, "it was there again"


@pytest.mark.parametrize("fields", [{}, {"trust": "user"}, {"state": "pinned"}])
async def test_a_yes_settles_that_a_file_is_gone(fields: dict[str, str]) -> None:
    runtime = make_runtime()
    Path("gone.py").write_text("")
    add(runtime, "Read `gone.py` first", **fields)
    state = runtime.sessions.session.playbook.bullets["P-1"].state
    Path("gone.py").unlink()
    await check(runtime)
    assert [row["id"] for row in perform(runtime, "review", []).value] == ["P-1"]
    perform(runtime, "review", ["P-1", "use"])
    for _ in range(2):
        bullet = runtime.sessions.session.playbook.bullets["P-1"]
        assert (bullet.stale, bullet.state) == ("", state)
        assert in_prompts(runtime) == ["P-1"]
        assert await check(runtime) == []
    assert perform(runtime, "review", []).value == []


async def test_a_new_text_of_a_strategy_was_never_there() -> None:
    runtime = make_runtime()
    Path("here.py").write_text("")
    add(runtime, "Read `here.py` first", trust="tool")
    perform(runtime, "edit", ["P-1", "Read", "`later.py`", "first"])
    assert await check(runtime) == []
    assert in_prompts(runtime) == ["P-1"]


NAMED = {
    "The API lives in `src/api`": {"path:src/api"},
    "Read `config.toml` and docs/setup.md first": {"path:config.toml", "path:docs/setup.md"},
    "Use `DATABASE_URL=x python manage.py migrate`": {"path:manage.py"},
    "Tests live in tests/unit/": {"path:tests/unit/"},
    "Start it with ./scripts/dev.sh": {"path:scripts/dev.sh"},
    "Files under `src/**/*.sql` are append-only": {"path:src/**/*.sql"},
}
NOT_NAMED = [
    "Run `make check` before a commit",
    "Use tabs, not spaces",
    "`db.close()` belongs into every fixture",
    "Read `user.name` and `asyncio.run`",
    "Say yes/no and read/write access plainly",
    "Written with Node.js 20 and Next.js",
    "See https://example.org/docs/setup.md",
    "Version 1.2.3 is the last one",
    "Make sure that prices are rounded late",
    "Look into `cd web && cat vite.config.js`",
]


def test_paths_in_a_text_are_found() -> None:
    assert {content: set(find_anchors(content)) for content in NAMED} == NAMED


def test_code_names_urls_and_versions_are_not_anchors() -> None:
    assert not {content: found for content in NOT_NAMED if (found := find_anchors(content))}


@given(st.text(max_size=200) | st.text(alphabet="`./-a b*_,:", max_size=60))
def test_anchors_of_any_text_are_sorted_unique_paths_and_commands(content: str) -> None:
    found = find_anchors(content)
    assert list(found) == sorted(set(found))
    assert all(anchor.partition(":")[0] in ("path", "command") for anchor in found)


FILES = {
    "src/api/users.py": "",
    "docs/setup.md": "",
    "web/package.json": "",
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
    "Run ./scripts/dev.sh": "scripts/dev.sh does not exist",
    "Settings are in ~/.config/shop.toml": "",
}


def first_missing(lookup: WorkspaceLookup, anchors: Iterable[str]) -> str:
    """Return what is missing of the first anchor that is, or ""."""
    alone = (Bullet("P-1", "x", anchors=(anchor,)) for anchor in anchors)
    checks = [lookup.check(bullet) for bullet in alone]
    return next((check.missing_anchor for check in checks if check.missing_anchor), "")


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
    assert lookup.check(Bullet("P-1", "Read `test_workspace.py`")).exists
    assert lookup.check(Bullet("P-2", "Use tabs")).exists is None, (
        "only checked strategies are verified"
    )
    assert lookup.check(Bullet("P-3", "`nowhere.py` was renamed to `test_workspace.py`")).exists
    assert (
        lookup.check(Bullet("P-4", "Read `nowhere.py`, then `src/gone.py`")).missing_anchor
        == "nowhere.py does not exist"
    )


def test_a_folder_or_an_interpreter_does_not_hide_that_a_named_file_is_gone(
    lookup: WorkspaceLookup,
) -> None:
    (lookup.root / ".venv" / "bin").mkdir(parents=True)
    (lookup.root / ".venv" / "bin" / "python").touch()
    gone = "scripts/lint.py does not exist"
    for content in ("Run `.venv/bin/python scripts/lint.py`", "Run `python scripts/lint.py src/`"):
        assert lookup.check(Bullet("P-1", content)).missing_anchor == gone
    stored = ("path:.venv/bin/python", "path:scripts/lint.py")
    assert lookup.check(Bullet("P-1", "Lint it", anchors=stored)).missing_anchor == gone
    assert lookup.check(Bullet("P-1", "Code is in `src/`")).exists


def test_stored_anchors_are_looked_up_and_invalid_ones_are_ignored(lookup: WorkspaceLookup) -> None:
    assert (
        lookup.check(Bullet("P-1", "Use tabs", anchors=("path:src/rest", "flag:-q"))).missing_anchor
        == "src/rest does not exist"
    )
    assert (
        lookup.check(Bullet("P-1", "Use tabs", anchors=("moon:full", "path:", "x"))).exists is None
    )


def test_anchors_can_be_looked_up_despite_cyclic_links(lookup: WorkspaceLookup) -> None:
    (lookup.root / "loop.py").symlink_to("loop.py")
    assert missing_anchor(lookup, "Read loop.py") in ("", "loop.py does not exist")


@given(
    st.text(max_size=120) | st.text(alphabet="`./-a b*_,:&|", max_size=60),
    st.sampled_from(["path", "moon"]),
)
def test_any_anchor_can_be_looked_up(value: str, kind: str) -> None:
    lookup = WorkspaceLookup(Path())
    first_missing(lookup, [f"{kind}:{value}", *find_anchors(value)])


def test_anchors_missing_in_a_subfolder_are_looked_up_in_the_whole_project(
    lookup: WorkspaceLookup,
) -> None:
    below = WorkspaceLookup(lookup.root / "web", above=lookup.root)
    for content in ("The API is in `src/api`", "Users are in `users.py`"):
        assert below.check(Bullet("P-1", content)).exists, content
