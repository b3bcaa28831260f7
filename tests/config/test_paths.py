"""Test where files are stored (SWECLI_HOME or the platform's folders) and that only the user can read them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from swecli.models.errors import ConfigError


def test_swecli_home_holds_everything(tmp_path: Path) -> None:
    paths = Paths.find({"SWECLI_HOME": str(tmp_path / "here")})
    assert {paths.config, paths.data, paths.state, paths.cache} == {tmp_path / "here"}
    assert [p.name for p in (paths.config_file, paths.database, paths.history, paths.log)] == [
        "config.toml",
        "swecli.db",
        "history",
        "swecli.log",
    ]


def test_finding_paths_creates_nothing_and_ensure_creates_private_folders(tmp_path: Path) -> None:
    paths = Paths.find({"SWECLI_HOME": str(tmp_path / "a" / "b")})
    assert not (tmp_path / "a").exists()
    paths.ensure()
    paths.ensure()
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_swecli_home_can_start_with_a_tilde_or_be_relative() -> None:
    assert Paths.find({"SWECLI_HOME": "~/x"}).config == Path(os.environ["HOME"]) / "x"
    assert Paths.find({"SWECLI_HOME": "x"}).config == Path.cwd() / "x"


@pytest.mark.parametrize("home", ["~nobody-of-that-name/x", "/tmp/\udcff"])
def test_an_invalid_swecli_home_is_an_error(home: str) -> None:
    with pytest.raises(ConfigError, match="Set it to a folder you can write to"):
        Paths.find({"SWECLI_HOME": home})


def test_without_swecli_home_the_xdg_folders_are_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    paths = Paths.find({})
    assert paths.config_file == tmp_path / "CONFIG" / "swecli" / "config.toml"
    assert paths.database == tmp_path / "DATA" / "swecli" / "swecli.db"
    assert paths.log == tmp_path / "STATE" / "swecli" / "swecli.log"


def test_a_folder_that_cannot_be_made_raises_oserror() -> None:
    Path("file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        Paths.find({"SWECLI_HOME": "file/x"}).ensure()
