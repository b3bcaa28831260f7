"""GitHub's REST interface, as far as a review needs it: a pull request, its files, its comments, a new review."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from swecli.models.errors import BadInput, SwecliError
from swecli.tools.git import GitFailed, run_git

API = "https://api.github.com"
VERSION = "2022-11-28"
SECONDS = 30
LONGEST_WAIT = 60  # seconds that GitHub may ask for before the same request is sent again
PAGE, MOST_PAGES = 100, 30  # GitHub lists 3,000 files of a pull request at most
_REMOTE = re.compile(r"(?:[:/])(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?$")
KEPT = "The findings are kept: swecli findings list"


class GitHubFailed(SwecliError):
    """GitHub refused, or cannot be reached. `status` is 0 without an answer."""

    def __init__(self, message: str, hint: str = KEPT, status: int = 0) -> None:
        super().__init__(message, hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class GitHub:
    """One repository there, `owner/name`. `token` may be empty where only public things are read."""

    repository: str
    token: str = ""
    api: str = API

    def get(self, path: str) -> Any:
        """Ask for something below the repository, or from the top with a `/` in front. Raises GitHubFailed."""
        return self.send("GET", path)

    def login(self) -> str:
        """Whose token it is; the token of an Actions job may not ask, and is that of its bot. Raises GitHubFailed."""
        try:
            return str(self.get("/user")["login"])
        except GitHubFailed as error:
            if error.status != 403:
                raise
            return "github-actions[bot]"

    def query(self, text: str, **variables: Any) -> dict[str, Any]:
        """The data that GraphQL answers with. Raises GitHubFailed, also for errors within the answer."""
        answer = self.send("POST", "/graphql", {"query": text, "variables": variables})
        if answer.get("errors"):
            raise GitHubFailed(f"GitHub refused a query ({_said(json.dumps(answer).encode())}).", status=403)
        return dict(answer["data"])

    def pages(self, path: str) -> list[Any]:
        """All entries of a list. Raises GitHubFailed."""
        out: list[Any] = []
        for page in range(1, MOST_PAGES + 1):
            rows = self.get(f"{path}?per_page={PAGE}&page={page}")
            if not isinstance(rows, list):
                raise GitHubFailed("GitHub's answer is no list.")
            out += rows
            if len(rows) < PAGE:
                break
        return out

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, again: bool = False) -> Any:
        """Make or change something. Raises GitHubFailed."""
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION, "User-Agent": "swecli"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None if body is None else json.dumps(body).encode()
        headers |= {"Content-Type": "application/json"} if data is not None else {}
        api = self.api.removesuffix("/v3") if path == "/graphql" else self.api
        url = f"{api}{path}" if path.startswith("/") else f"{api}/repos/{quote(self.repository)}/{path}"
        try:
            request = urllib.request.Request(url, data, headers, method=method)
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                wait = error.headers.get("retry-after") or ""
                if not again and error.code in (403, 429) and wait.isdecimal() and int(wait) <= LONGEST_WAIT:
                    time.sleep(int(wait))
                    return self.send(method, path, body, again=True)
                raise _refused(error, path, self) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise GitHubFailed(f"GitHub cannot be reached at {self.api}: {reason}.") from error


def _refused(error: urllib.error.HTTPError, path: str, github: GitHub) -> GitHubFailed:
    """The line for each refusal."""
    said = _said(error.read(100_000))
    status, headers = error.code, error.headers
    if status == 429 or (status == 403 and (headers.get("retry-after") or headers.get("x-ratelimit-remaining") == "0")):
        wait = headers.get("retry-after")
        when = f"Try again in {wait} s." if wait else "Try again later."
        return GitHubFailed(f"GitHub's rate limit is reached ({said}).", f"{when} {KEPT}", status)
    thing = f"pull request {path.split('/')[1]}" if path.startswith("pulls/") else path
    message, hint = {
        401: (f"GitHub does not take the token (401, {said}).",
              f"Set GITHUB_TOKEN{' to a valid token' if github.token else ''}."),
        403: (f"GitHub forbids it (403, {said}).", "The token needs permission to write pull requests."),
        404: (f"There is no {thing} in {github.repository} (404).",
              "Check the number, and that the token may see the repository."),
        422: (f"GitHub cannot use the request (422, {said}).", ""),
    }.get(status, (f"GitHub answered with {status} ({said}).", ""))  # fmt: skip
    return GitHubFailed(message, f"{hint} {KEPT}".strip(), status)


def _said(body: bytes) -> str:
    """GitHub's own words, on one line."""
    try:
        row = json.loads(body)
        errors = [e if isinstance(e, str) else str(e.get("message") or e.get("code")) for e in row.get("errors") or ()]
        text = ": ".join([str(row.get("message") or ""), *errors[:2]])
    except (ValueError, AttributeError):
        text = body[:200].decode("utf-8", "replace")
    return " ".join(text.split())[:200] or "no reason given"


def connect(root: Path, environ: Mapping[str, str]) -> GitHub:
    """The repository this folder belongs to, by GITHUB_REPOSITORY or the remote "origin"; token and address from the
    environment (GITHUB_TOKEN or GH_TOKEN, GITHUB_API_URL).

    Raises BadInput when it is no repository of GitHub.
    """
    name = environ.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        try:
            remote = run_git(root, "remote", "get-url", "origin", environ=environ).strip()
        except GitFailed as error:
            hint = "Set GITHUB_REPOSITORY to owner/name, or add the remote origin."
            raise BadInput("It is not known which repository on GitHub this is.", hint) from error
        match = _REMOTE.search(remote)
        if match is None:
            raise BadInput(f"The remote {remote!r} is no repository on GitHub.", "Set GITHUB_REPOSITORY to owner/name.")
        name = f"{match['owner']}/{match['name']}"
    api = environ.get("GITHUB_API_URL", "") or API
    parts = urlsplit(api)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise BadInput(f"GITHUB_API_URL {api!r} is no https address.", "A token goes over https only.")
    return GitHub(name, environ.get("GITHUB_TOKEN", "") or environ.get("GH_TOKEN", ""), api.rstrip("/"))
