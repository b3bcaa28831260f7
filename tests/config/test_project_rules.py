"""Test the permission rules that are stored per project folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.config.project_rules import ProjectRules
from swecli.models.errors import ConfigError


def test_rules_are_stored_per_folder_in_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "home" / "permissions.toml"
    assert ProjectRules(file, tmp_path / "a").rules == ()
    assert not file.exists()
    first, second = ProjectRules(file, tmp_path / "a"), ProjectRules(file, tmp_path / "b")
    first.add("run(make *)")
    second.add("run(pytest *)")
    first.add("run(make *)")
    first.add("edit(**)")
    assert ProjectRules(file, tmp_path / "a").rules == ("run(make *)", "edit(**)")
    assert ProjectRules(file, tmp_path / "b").rules == ("run(pytest *)",)
    assert ProjectRules(file, tmp_path / "a" / "below").rules == ()
    assert file.stat().st_mode & 0o777 == 0o600
    first.remove("run(make *)")
    assert ProjectRules(file, tmp_path / "a").rules == ("edit(**)",)


def test_rules_added_through_a_symlink_belong_to_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    ProjectRules(tmp_path / "p.toml", tmp_path / "link").add("run(make)")
    assert ProjectRules(tmp_path / "p.toml", tmp_path / "real").rules == ("run(make)",)


@pytest.mark.parametrize("text", ["[", "a = 1", "[a]", "[a]\nallow = 1", "[a]\nallow = [1]"])
def test_an_invalid_rules_file_is_an_error_that_names_it_and_is_not_changed(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "p.toml"
    rules = ProjectRules(file, tmp_path)
    file.write_text(text)
    with pytest.raises(ConfigError, match="p.toml"):
        ProjectRules(file, tmp_path)
    with pytest.raises(ConfigError, match="p.toml"):
        rules.add("run(make)")
    assert file.read_text() == text


def test_writable_file_is_empty_if_the_file_cannot_be_created(tmp_path: Path) -> None:
    assert ProjectRules(tmp_path / "new" / "p.toml", tmp_path).writable_file() == str(
        tmp_path / "new" / "p.toml"
    )
    (tmp_path / "p.toml").mkdir()
    (tmp_path / "file").write_text("")
    assert ProjectRules(tmp_path / "file" / "p.toml", tmp_path).writable_file() == ""


@given(
    rule=st.text(min_size=1).filter(
        lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text)
    )
)
def test_any_rule_is_stored_and_read_unchanged(
    tmp_path_factory: pytest.TempPathFactory, rule: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    ProjectRules(folder / "p.toml", folder / '[a]"b').add(rule)
    assert ProjectRules(folder / "p.toml", folder / '[a]"b').rules == (rule,)
