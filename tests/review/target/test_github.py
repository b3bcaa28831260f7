"""Test finding the GitHub repository and its token, and failed requests."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from swecli.models.errors import BadInput
from swecli.review.target.github import GitHub, GitHubError
from tests.support.project import make_project

RECEIVED: list[bytes] = []  # received requests, newest last


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("git@github.com:acme/shop.git", "acme/shop"),
        ("https://github.com/acme/shop", "acme/shop"),
        ("ssh://git@github.com/acme/shop.x.git", "acme/shop.x"),
    ],
)
def test_the_repository_name_is_taken_from_the_remote(remote: str, name: str) -> None:
    root = make_project(Path("shop").resolve())
    with pytest.raises(BadInput, match="name on GitHub is unknown"):
        GitHub.connect(root, {"PATH": "/usr/bin:/bin"})
    subprocess.run(["git", "remote", "add", "origin", remote], cwd=root, check=True)
    assert GitHub.connect(root, {"PATH": "/usr/bin:/bin"}).repository == name


def test_an_api_url_without_https_is_refused() -> None:
    with pytest.raises(BadInput, match="https"):
        GitHub.connect(
            Path.cwd(), {"GITHUB_REPOSITORY": "a/b", "GITHUB_API_URL": "http://example.org"}
        )


@contextmanager
def serve_answer(answer: bytes) -> Iterator[GitHub]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                RECEIVED.append(connection.recv(65_536))
                connection.sendall(answer)

        Thread(target=serve, daemon=True).start()
        yield GitHub("acme/shop", api=f"http://127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", b"220 mail ready\r\n\r\n", b""]
)
def test_a_cut_or_invalid_http_response_is_a_connection_error(answer: bytes) -> None:
    with (
        serve_answer(answer) as github,
        pytest.raises(GitHubError, match="cannot be reached at") as raised,
    ):
        github.request("GET", "pulls/7")
    assert not raised.value.message.endswith("..")


@pytest.mark.parametrize("body", [b"[]", b"{}", b"7", b"null", b"[7]", b'[{"id": "x"}]'])
def test_a_response_with_unexpected_json_is_an_error(body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    with serve_answer(head + body) as github, pytest.raises(GitHubError, match="GitHub's answer"):
        github.login()
    if body != b"[]":
        with (
            serve_answer(head + body) as github,
            pytest.raises(GitHubError, match="GitHub's answer"),
        ):
            github.get_list("pulls/7/comments", "id", int)


def test_a_redirect_to_another_server_is_followed_without_the_token() -> None:
    with serve_answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}") as other:
        head = (
            f"HTTP/1.1 301 Moved\r\nLocation: {other.api}/x\r\nContent-Length: 0\r\n\r\n".encode()
        )
        with serve_answer(head) as github:
            GitHub("acme/shop", "secret", github.api).request("GET", "pulls/7")
    assert [b"secret" in request for request in RECEIVED[-2:]] == [True, False]
