"""Test finding anchors in a text: paths and commands that can be checked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.workspace import find_anchors

NAMED = {
    "Run `make check` before a commit": {"command:make check"},
    "Run `CI=1 npm run build && pytest`": {"command:CI=1 npm run build && pytest"},
    "The API lives in `src/api`": {"path:src/api"},
    "Read `config.toml` and docs/setup.md first": {"path:config.toml", "path:docs/setup.md"},
    "Use `DATABASE_URL=x python manage.py migrate`": {"path:manage.py"},
    "Tests live in tests/unit/": {"path:tests/unit/"},
    "Start it with ./scripts/dev.sh": {"path:scripts/dev.sh"},
    "Starte die Tests mit `make test`": {"command:make test"},
    "Files under `src/**/*.sql` are append-only": {"path:src/**/*.sql"},
}
NOT_NAMED = [
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


def test_paths_and_commands_in_a_text_are_found() -> None:
    assert {content: set(find_anchors(content)) for content in NAMED} == NAMED


def test_code_names_urls_and_versions_are_not_anchors() -> None:
    assert not {content: found for content in NOT_NAMED if (found := find_anchors(content))}


@given(st.text(max_size=200) | st.text(alphabet="`./-a b*_,:", max_size=60))
def test_anchors_of_any_text_are_sorted_unique_paths_and_commands(content: str) -> None:
    found = find_anchors(content)
    assert list(found) == sorted(set(found))
    assert all(anchor.partition(":")[0] in ("path", "command") for anchor in found)
