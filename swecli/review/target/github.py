"""GitHub's REST interface as far as a review needs it, and the state that a pull request carries between pushes."""

from __future__ import annotations

import base64
import json
import os
import re
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlsplit

from swecli.certificates import trusted_certificates
from swecli.llm.http import load_httpx, proxy_for
from swecli.models.errors import BadInput, SwecliError, Unavailable
from swecli.models.finding import KINDS, OPEN_STATES, SEVERITIES, Finding, Verdict
from swecli.redact import redact
from swecli.tools.git import GitFailed, run_git
from swecli.values import dataclass

_API = "https://api.github.com"
_VERSION = "2022-11-28"
_TIMEOUT = 30  # seconds
_MAX_RETRY_AFTER = 60  # seconds that GitHub may ask for before the same request is retried
_PAGE_SIZE = 100
_MAX_PAGES = 30  # GitHub lists at most 3,000 files of a pull request
_REMOTE = re.compile(r"(?:[:/])(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?$")
KEPT_HINT = "The findings are kept: swecli findings list"
_STATE = re.compile(r"<!-- swecli-state ([A-Za-z0-9+/=]+) -->")
_MAX_UNPACKED = 2_000_000  # bytes
_MAX_PACKED = 30_000  # characters, of the 65,536 that a comment can have
_MAX_ALIASES = 4
_MAX_REASON = 200  # characters of a reply that are kept
_STATES = (*OPEN_STATES, "fixed", "dismissed")
# in a comment on a finding, and in its last reply
MARK = re.compile(r"<!-- swecli(-fixed)? ([0-9a-f]{6,40}) -->")
_BOT_ENDING = "[bot]"  # ends an app's login in REST, not in GraphQL
# a ticked box of a finding in the summary comment, which only who may write to the repository can edit
_MARK_OF_BOX = re.compile(r"^- \[[xX]\] .*<!-- swecli-box ([0-9a-f]{6,40}) -->", re.MULTILINE)
_TICKED = "its box in the summary was ticked"
_WRITERS = ("OWNER", "MEMBER", "COLLABORATOR")  # associations with a repository
# a page of threads, with their first 50 comments
_THREADS = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(first: 100, after: $after) {
pageInfo { hasNextPage endCursor } nodes { id isResolved resolvedBy { login } comments(first: 50) { nodes {
databaseId body authorAssociation author { login } } } } } } } }"""
# the text fields of a finding that are carried, each with the pattern that its value must match
_TEXTS = {
    "path": r"(?!/).*", "kind": "|".join(KINDS), "code_smell_type": ".*", "severity": "|".join(SEVERITIES),
    "message": ".*", "verdict": "|".join(get_args(Verdict)), "state": "|".join(_STATES),
    "reason": ".*",
    "block": r'|\[\d{1,7},"[0-9a-f]{20}",(?:null|\d{1,6})(?:,"(?:[0-9a-f]{20})?")?\]',
    "symbol": ".*", "fingerprint": "[0-9a-f]{6,40}",
}  # fmt: skip


class GitHubError(SwecliError):
    """GitHub refused a request or cannot be reached. `status` is the HTTP status: 429 for every rate limit, 0 without
    a readable answer."""

    def __init__(self, message: str, hint: str = KEPT_HINT, status: int = 0) -> None:
        super().__init__(message, hint)
        self.status = status
        if status in (0, 429) or status >= 500:
            self.exit_code = Unavailable.exit_code


@dataclass(frozen=True, slots=True)
class GitHub:
    """A repository on GitHub, `owner/name`. The token may be empty to read public data. Methods raise GitHubError."""

    repository: str
    token: str = field(default="", repr=False)
    api: str = _API

    @classmethod
    def connect(cls, root: Path, environ: Mapping[str, str]) -> GitHub:
        """Return the repository of a folder, by GITHUB_REPOSITORY or the remote "origin". The token is GITHUB_TOKEN or
        GH_TOKEN, the address GITHUB_API_URL. Raises BadInput when it is not a repository of GitHub."""
        name = environ.get("GITHUB_REPOSITORY", "")
        remote = ""
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
            with suppress(GitFailed):
                remote = run_git(root, "remote", "get-url", "origin", environ=environ).strip()
            if (match := _REMOTE.search(remote)) is None:
                hint = f"The remote origin is {remote or 'missing'}: set GITHUB_REPOSITORY to owner/name."
                raise BadInput("The repository's name on GitHub is unknown.", hint)
            name = f"{match['owner']}/{match['name']}"
        api = environ.get("GITHUB_API_URL", "") or _API
        parts = urlsplit(api)
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise BadInput(
                f"GITHUB_API_URL {api!r} is not an https address.", "A token goes over https only."
            )
        token = environ.get("GITHUB_TOKEN", "") or environ.get("GH_TOKEN", "")
        return cls(name, token, api.rstrip("/"))

    def login(self) -> str:
        """Return the account of the token. The token of an Actions job may not ask for it; its account is the bot's."""
        try:
            answer = self.request("GET", "/user")
        except GitHubError as error:
            if error.status != 403:
                raise
            return "github-actions[bot]"
        if not isinstance(answer, dict) or "login" not in answer:
            raise GitHubError("GitHub's answer names no login.")
        return str(answer["login"])

    def may_write(self) -> bool:
        """Return False if GitHub says that the token may not write to the repository, as in a fork's pull request."""
        answer = self.request("GET", f"/repos/{quote(self.repository)}")
        permissions = answer.get("permissions") if isinstance(answer, dict) else None
        return not isinstance(permissions, dict) or permissions.get("push") is not False

    def graphql(self, query: str, **variables: Any) -> dict[str, Any]:
        """Return the data of a GraphQL query; errors in the answer raise too."""
        answer = self.request("POST", "/graphql", {"query": query, "variables": variables})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, dict) or answer.get("errors"):
            reason = _parse_reason(json.dumps(answer).encode())
            raise GitHubError(f"GitHub refused a query ({reason}).", status=403)
        return data

    def get_list(self, path: str, name: str, kind: type) -> list[Any]:
        """Return all pages of a list of objects, each of which must have the field `name` of type `kind`."""
        objects: list[Any] = []
        for page in range(1, _MAX_PAGES + 1):
            answer = self.request("GET", f"{path}?per_page={_PAGE_SIZE}&page={page}")
            items = answer if isinstance(answer, list) else [None]
            if not all(
                isinstance(item, dict) and isinstance(item.get(name), kind) for item in items
            ):
                problem = f"GitHub's answer is not a list of objects with a field {name!r}."
                raise GitHubError(problem)
            objects += items
            if len(items) < _PAGE_SIZE:
                break
        return objects

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        is_retry: bool = False,
    ) -> Any:
        """Send a request and return the decoded JSON. `path` is relative to the repository, or absolute with a `/`."""
        httpx = load_httpx()
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": _VERSION,
            "User-Agent": "swecli",
        }
        if self.token:  # httpx does not send it to the target of a redirect
            headers["Authorization"] = f"Bearer {self.token}"
        api = self.api.removesuffix("/v3") if path == "/graphql" else self.api
        url = f"{api}{path}"
        if not path.startswith("/"):
            url = f"{api}/repos/{quote(self.repository)}/{path}"
        try:
            answer = _make_client(proxy_for(url)).request(method, url, json=body, headers=headers)
            wait = answer.headers.get("retry-after", "")
            is_short = wait.isdecimal() and int(wait) <= _MAX_RETRY_AFTER
            if not is_retry and is_short and answer.status_code in (403, 429):
                time.sleep(int(wait))
                return self.request(method, path, body, is_retry=True)
            if answer.is_error:
                raise self._error_of(answer, path)
            return answer.json() if answer.content else None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            reason = str(error).rstrip(".") or type(error).__name__
            raise GitHubError(f"GitHub cannot be reached at {self.api}: {reason}.") from error
        except (ValueError, RecursionError) as error:
            raise GitHubError(
                f"What answers at {self.api} is not GitHub: its answer is not JSON."
            ) from error

    def _error_of(self, answer: Any, path: str) -> GitHubError:
        """Return the error of an httpx response."""
        reason = _parse_reason(answer.content[:100_000])
        status = answer.status_code
        wait = answer.headers.get("retry-after")
        is_limited = (
            wait or answer.headers.get("x-ratelimit-remaining") == "0" or "rate limit" in reason
        )
        if status == 429 or (status == 403 and is_limited):
            advice = f"Try again in {wait} s." if wait and wait.isdecimal() else "Try again later."
            return GitHubError(
                f"GitHub's rate limit is reached ({reason}).", f"{advice} {KEPT_HINT}", 429
            )
        subject = f"pull request {path.split('/')[1]}" if path.startswith("pulls/") else path
        message, hint = {
            401: (f"GitHub does not accept the token (401, {reason}).",
                  f"Set GITHUB_TOKEN{' to a valid token' if self.token else ''}."),
            403: (f"GitHub refused it (403, {reason}).", "The token needs permission to write pull requests."),
            404: (f"There is no {subject} in {self.repository} (404).",
                  "Check the number, and that the token may see the repository."),
            422: (f"GitHub rejected the request (422, {reason}).", ""),
        }.get(status, (f"GitHub answered with {status} ({reason}).", ""))  # fmt: skip
        return GitHubError(message, f"{hint} {KEPT_HINT}".strip(), status)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment in a thread. `is_writers` says whether its author works on the repository."""

    id: int
    login: str
    text: str
    is_writers: bool


@dataclass(frozen=True, slots=True)
class Resolution:
    """That somebody resolved the thread of a finding, or ticked its box in the summary: with the `reason` they gave, ""
    without one. It dismisses the finding if `may_dismiss`: somebody who works on the repository gave a reason."""

    reason: str
    may_dismiss: bool
    thread: str = ""  # "" for a box
    comment: int = 0  # of the finding


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of comments in a diff, the finding's first. `resolved_by` is "" if that is not known."""

    id: str
    is_resolved: bool
    resolved_by: str
    comments: tuple[Comment, ...]

    @classmethod
    def load(cls, github: GitHub, number: int) -> list[Thread]:
        """Return the threads of a pull request. Raises GitHubError."""
        owner, _, name = github.repository.partition("/")
        threads: list[Thread] = []
        after = None
        for _ in range(_MAX_PAGES):
            data = github.graphql(_THREADS, owner=owner, name=name, number=number, after=after)
            try:
                page = data["repository"]["pullRequest"]["reviewThreads"]
                threads += [cls._parse(node) for node in page["nodes"]]
                after = page["pageInfo"]["endCursor"] if page["pageInfo"]["hasNextPage"] else None
            except (KeyError, TypeError, AttributeError) as error:
                raise GitHubError("GitHub's answer about threads cannot be read.") from error
            if after is None:
                break
        return threads

    @classmethod
    def _parse(cls, node: Mapping[str, Any]) -> Thread:
        comments = tuple(
            Comment(
                row["databaseId"],
                str((row["author"] or {}).get("login", "")),
                str(row["body"]),
                row["authorAssociation"] in _WRITERS,
            )
            for row in node["comments"]["nodes"]
        )
        resolved_by = str((node["resolvedBy"] or {}).get("login", ""))
        return cls(node["id"], bool(node["isResolved"]), resolved_by, comments)

    def find_resolution(self, login: str) -> tuple[str, Resolution] | None:
        """Return the fingerprint of the finding whose thread a person resolved, and what they said last; None for
        other threads, and those that we resolved since the finding is fixed."""
        own_login = login.removesuffix(_BOT_ENDING)
        own_comments = [comment for comment in self.comments if comment.login == own_login]
        marks = [
            (*mark, comment.id) for comment in own_comments for mark in MARK.findall(comment.text)
        ]
        is_fixed = any(fixed for fixed, _, _ in marks)
        if not self.is_resolved or not marks or is_fixed or self.resolved_by == own_login:
            return None
        replies = [comment for comment in self.comments if comment.login == self.resolved_by]
        reason = " ".join(replies[-1].text.split())[:_MAX_REASON] if replies else ""
        may_dismiss = bool(reason) and replies[-1].is_writers
        _, fingerprint, comment = marks[0]
        return fingerprint, Resolution(reason, may_dismiss, self.id, comment)


@cache
def _make_client(proxy: str | None) -> Any:
    """Return the client of all requests: loading its certificates takes longer than a request."""
    # reads the environment: the variables of certificates are everybody's
    verify = trusted_certificates(os.environ)
    return load_httpx().Client(
        verify=verify, proxy=proxy, trust_env=False, timeout=_TIMEOUT, follow_redirects=True
    )


def _parse_reason(body: bytes) -> str:
    """Return the reason that an answer gives, from JSON or HTML."""
    try:
        value = json.loads(body)
        errors = [
            error if isinstance(error, str) else str(error.get("message") or error.get("code"))
            for error in value.get("errors") or ()
        ]
        text = ": ".join([str(value.get("message") or ""), *errors[:2]])
    except (ValueError, AttributeError):
        text = re.sub(r"<[^>]*>", " ", body[:2_000].decode("utf-8", "replace"))
    return " ".join(text.split())[:200] or "no reason given"


@dataclass(frozen=True, slots=True)
class PullState:
    """The state that the last push left: its `head`, the `digests` of the hunks read, and the findings without code.
    `comment` is the id of the summary comment that carries it (0: none), `body` the comment's text."""

    head: str = ""
    digests: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    comment: int = 0
    body: str = ""
    resolutions: Mapping[str, Resolution] = field(default_factory=dict, compare=False)
    """What people did with findings since, by fingerprint."""

    @classmethod
    def load(cls, github: GitHub, number: int) -> PullState:
        """Return the state stored on a pull request. It is empty, so that the review is a full one, unless a comment of
        our own account holds a valid one. Raises GitHubError."""
        if not github.token:
            return cls()
        login = github.login()
        for comment in reversed(github.get_list(f"issues/{number}/comments", "id", int)):
            body = str(comment.get("body") or "")
            match = _STATE.search(body)
            if match and (comment.get("user") or {}).get("login") == login:
                return replace(_unpack_state(match[1]), comment=comment["id"], body=body)
        return cls()

    def with_resolutions(self, github: GitHub, number: int) -> PullState:
        """Return the state with what people did with its findings on the pull request. Raises GitHubError."""
        if not (github.token and self.findings):
            return self
        login = github.login()
        threads = Thread.load(github, number)
        boxes = {mark: Resolution(_TICKED, True) for mark in _MARK_OF_BOX.findall(self.body)}
        resolved = dict(filter(None, (thread.find_resolution(login) for thread in threads)))
        return replace(self, resolutions=boxes | resolved)

    def pack(self) -> str:
        """Return the state as an HTML comment. If it is too large, digests are dropped first: they are reread."""
        rows = [
            {name: getattr(finding, name) for name in _TEXTS}
            | {
                "line": finding.line,
                "end_line": finding.end_line or 0,
                "removed": finding.removed,
                "message": redact(finding.message)[:200],
                "reason": redact(finding.reason)[:_MAX_REASON],
                "aliases": [redact(alias) for alias in finding.aliases[:_MAX_ALIASES]],
            }
            for finding in self.findings
            if finding.state in _STATES
        ]
        digests = self.digests
        while True:
            state = {"v": 1, "head": self.head, "digests": digests, "findings": rows}
            data = json.dumps(state, separators=(",", ":")).encode("utf-8", "replace")
            text = base64.b64encode(zlib.compress(data, 9)).decode("ascii")
            if len(text) <= _MAX_PACKED or not (digests or rows):
                return f"<!-- swecli-state {text} -->"
            rows = rows if digests else rows[: len(rows) // 2]
            digests = digests[: len(digests) // 2]


def _unpack_state(text: str) -> PullState:
    try:
        packed = base64.b64decode(text, validate=True)
        data = json.loads(zlib.decompressobj().decompress(packed, _MAX_UNPACKED))
        head = data["head"]
        digests = data["digests"]
        findings: list[Finding] = []
        is_valid = (
            data["v"] == 1
            and re.fullmatch(r"[0-9a-f]{6,64}", head)
            and all(len(digest) <= 300 for digest in digests)
        )
        for row in data["findings"]:
            texts = {name: row[name] for name in _TEXTS if name in row or name != "reason"}
            place = (row["line"], row["end_line"])
            aliases = row["aliases"]
            removed = row.get("removed", False)
            is_valid = (
                is_valid
                and all(re.fullmatch(_TEXTS[name], text, re.DOTALL) for name, text in texts.items())
                and all(len(text) <= 500 for text in (*texts.values(), *aliases))
                and ".." not in texts["path"].split("/")
                and all(type(number) is int and 0 <= number < 10**8 for number in place)
                and isinstance(removed, bool)
            )
            findings.append(
                Finding(
                    line=place[0],
                    end_line=place[1] or None,
                    aliases=tuple(aliases),
                    removed=removed,
                    **texts,
                )
            )
        return PullState(head, tuple(digests), tuple(findings)) if is_valid else PullState()
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error, RecursionError):
        return PullState()
