"""Which repository on GitHub this is, and with which token it is spoken to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.review.target.github import connect
from tests.support.project import make_project


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("git@github.com:acme/shop.git", "acme/shop"),
        ("https://github.com/acme/shop", "acme/shop"),
        ("ssh://git@github.com/acme/shop.x.git", "acme/shop.x"),
    ],
)
def test_the_repository_is_known_by_its_remote(remote: str, name: str) -> None:
    root = make_project(Path("shop").resolve())
    with pytest.raises(BadInput, match="which repository"):
        connect(root, {"PATH": "/usr/bin:/bin"})
    subprocess.run(["git", "remote", "add", "origin", remote], cwd=root, check=True)
    assert connect(root, {"PATH": "/usr/bin:/bin"}).repository == name


def test_a_token_goes_over_https_only() -> None:
    with pytest.raises(BadInput, match="https"):
        connect(Path.cwd(), {"GITHUB_REPOSITORY": "a/b", "GITHUB_API_URL": "http://example.org"})
