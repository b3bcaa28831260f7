"""A patch that git takes, and a skill with a head that is YAML."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.models.playbook import Bullet
from swecli.playbook.handover import agents_patch, skill

BULLETS = [
    Bullet("P-2", "use uv", scope="user"),
    Bullet("P-1", "run `tox`\nalways", scope="project"),
    Bullet("P-3", "only here", scope="session"),
    Bullet("P-4", "not any more", scope="project", state="disabled"),
    Bullet("P-5", "see old.py", scope="project", stale="old.py"),
]


@pytest.mark.parametrize(
    "text", [None, "", "# Agents\n", "# Agents", "a\r\nb\r\n", "x\n\ny\n", "a\x0cb\n\x0b\nc\u2028d\n\x0c"]
)
def test_git_applies_the_patch_and_a_second_one_replaces_the_first(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    if text is not None:
        file.write_bytes(text.encode())

    def apply(bullets: list[Bullet]) -> str:
        before = file.read_bytes().decode() if file.exists() else None
        patch = agents_patch(before, bullets)
        subprocess.run(["git", "apply", "-p1", "-"], input=patch.encode(), cwd=tmp_path, check=True)
        return file.read_bytes().decode()

    done = apply(BULLETS)
    assert done.startswith(text or "")
    assert "- run `tox` always\n- use uv\n" in done
    assert "only here" not in done
    assert "not any more" not in done
    assert "old.py" not in done
    assert agents_patch(done, BULLETS) == ""
    assert apply([Bullet("P-9", "new <!-- /swecli:playbook -->", scope="user")]).count("<!--") == 2


def test_a_skill_names_itself_after_the_project() -> None:
    lines = skill(BULLETS, 'My "Shop"').splitlines()
    assert lines[:2] == ["---", "name: my-shop-playbook"]
    assert lines[2].startswith('description: "Strategies learned while working on My \\"Shop\\".')
    assert lines[-2:] == ["- run `tox` always", "- use uv"]
