"""A fake GitHub with one pull request, on the loopback. It validates bodies by the published JSON schemas and line
numbers by the diff. Of GraphQL, which those schemas do not cover, it supports the one query and the one mutation
that a review sends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from jsonschema import Draft7Validator

from swecli.review.target.diffs import FileDiff, parse_hunks

SCHEMAS = json.loads(
    (Path(__file__).parents[1] / "review" / "schemas" / "github.json").read_text(encoding="utf-8")
)
REPO = "/repos/{owner}/{repo}"
WHERE = f"{REPO}/pulls/{{pull_number}}"
BOT = "swecli-bot"
HEAD = "a" * 40


class _Git:
    """Runs git in a folder, with an index of its own."""

    def __init__(self, folder: Path, index: str) -> None:
        self.folder = folder
        keys = [
            f"GIT_{role}_{name}" for role in ("AUTHOR", "COMMITTER") for name in ("NAME", "EMAIL")
        ]
        self.environ = {
            **os.environ,
            **dict.fromkeys(keys, "a@example.org"),
            "GIT_INDEX_FILE": index,
        }

    def __call__(self, *words: str, text: str = "", strip: bool = True) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=self.environ, input=text, check=True, capture_output=True, text=True
        )  # fmt: skip
        return done.stdout.strip() if strip else done.stdout


class FakeGitHub:
    """A GitHub API at `url`: `with FakeGitHub({"a.py": patch}) as github:`.

    `refuse` maps "METHOD last/part" to the (status, headers) of refusals to send, each used once. `refuse_paths` are
    files that accept no comments. `posted` are the accepted bodies, `comments` the comments in the diff, `issue`
    those in the conversation, `resolved` the ids of comments in resolved threads, `head` the newest commit.
    """

    def __init__(self, patches: dict[str, str], number: int = 7, token: str = "secret") -> None:
        self.patches, self.number, self.token = patches, number, token
        self.refuse: dict[str, list[tuple[int, dict[str, str]]]] = {}
        self.refuse_paths: set[str] = set()
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.comments: list[dict[str, Any]] = []
        self.reviews: list[dict[str, Any]] = []
        self.issue: list[dict[str, Any]] = []
        self.resolved: set[int] = set()
        self.resolved_by: dict[int, str] = {}
        self.may_write = True
        self.tells_permissions = True
        self.head, self.base = HEAD, "b" * 40
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(*outer.get(self.path, self.headers.get("authorization", "")))

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                self.answer(
                    *outer.write(
                        self.command,
                        self.path,
                        self.headers.get("authorization", ""),
                        json.loads(data),
                    )
                )

            do_PATCH = do_POST

            def answer(self, status: int, body: Any, headers: dict[str, str]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {
                    "content-type": "application/json",
                    "content-length": str(len(data)),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeGitHub:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def follow(self, folder: Path) -> None:
        """Make the commit that is checked out in the folder the pull request's head, and its base the one before it:
        what the head has, without the patches."""
        with tempfile.TemporaryDirectory() as index:
            self._follow(_Git(folder, f"{index}/index"), folder)

    def _follow(self, git: _Git, folder: Path) -> None:
        git("read-tree", "HEAD")
        for path, patch in self.patches.items():
            diff = FileDiff(path, hunks=parse_hunks(patch))
            file = folder / path
            before = diff.undo(file.read_text("utf-8").split("\n")[:-1] if file.exists() else ())
            if not before:
                git("update-index", "--force-remove", path)
                continue
            blob = git("hash-object", "-w", "--stdin", text="".join(f"{row}\n" for row in before))
            git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        self.base = git("commit-tree", git("write-tree"), text="before the change")
        self.head = git("commit-tree", "HEAD^{tree}", "-p", self.base, text="the change")
        git("update-ref", "HEAD", self.head)
        for path in self.patches:
            shown = git("diff", self.base, self.head, "--", path, strip=False)
            self.patches[path] = shown[shown.find("@@") :] if "@@" in shown else ""

    def environ(self, token: str | None = None) -> dict[str, str]:
        return {
            "GITHUB_API_URL": self.url,
            "GITHUB_REPOSITORY": "acme/shop",
            "GITHUB_TOKEN": self.token if token is None else token,
        }

    def get(self, path: str, given: str) -> tuple[int, Any, dict[str, str]]:
        where, _, query = path.partition("?")
        last = where.rsplit("/", 1)[-1]
        if refused := self._take_refusal(f"GET {last}", given):
            return refused
        base = f"/repos/acme/shop/pulls/{self.number}"
        if where == "/user":
            return 200, {"login": BOT}, {}
        if where == "/repos/acme/shop":
            told = {"permissions": {"pull": True, "push": self.may_write}}
            return 200, {"full_name": "acme/shop"} | (told if self.tells_permissions else {}), {}
        if where == base:
            return (
                200,
                {"number": self.number, "head": {"sha": self.head}, "base": {"sha": self.base}},
                {},
            )
        page = int(re.search(r"[?&]page=(\d+)", "?" + query)[1]) if "page=" in query else 1  # type: ignore[index]
        lists = {
            f"{base}/comments": self.comments,
            f"{base}/reviews": self.reviews,
        }
        lists[f"/repos/acme/shop/issues/{self.number}/comments"] = self.issue
        if where in lists:
            return 200, lists[where][(page - 1) * 100 : page * 100], {}
        return 404, {"message": "Not Found"}, {}

    def write(
        self, method: str, path: str, given: str, body: dict[str, Any]
    ) -> tuple[int, Any, dict[str, str]]:
        last = path.rsplit("/", 1)[-1]
        if given != f"Bearer {self.token}":
            return 401, {"message": "Bad credentials"}, {}
        if refused := self._take_refusal(f"{method} {last}", given):
            return refused
        if not self.may_write:
            return 403, {"message": "Resource not accessible by integration"}, {}
        if path == "/graphql":
            return 200, self._graphql(body), {}
        pull, issue = (
            f"/repos/acme/shop/pulls/{self.number}",
            f"/repos/acme/shop/issues/{self.number}/comments",
        )
        shapes = {f"{pull}/reviews": f"{WHERE}/reviews", f"{pull}/comments": f"{WHERE}/comments"}
        shapes[issue] = f"{REPO}/issues/{{issue_number}}/comments"
        shapes |= {
            f"{pull}/comments/{row['id']}/replies": f"{WHERE}/comments/{{comment_id}}/replies"
            for row in self.comments
        }
        shapes |= {
            f"/repos/acme/shop/issues/comments/{row['id']}": f"{REPO}/issues/comments/{{comment_id}}"
            for row in self.issue
        }
        schema = SCHEMAS.get(f"{method} {shapes.get(path, path)}")
        if schema is None:
            return 404, {"message": "Not Found"}, {}
        wrong = [error.message for error in Draft7Validator(schema).iter_errors(body)]
        wrong += [f"no such field: {name}" for name in body if name not in schema["properties"]]
        rows = (
            body.get("comments", [])
            if last == "reviews"
            else [body]
            if path == f"{pull}/comments"
            else []
        )
        wrong += [problem for row in rows if (problem := self._out_of_diff(row))]
        if last == "reviews" and body.get("event") == "COMMENT" and not body.get("body"):
            wrong.append("body is required")
        wrong += ["body is too long"] if len(body.get("body", "")) > 65_536 else []
        if wrong:
            return 422, {"message": "Validation Failed", "errors": wrong}, {}
        kind = "summary" if "/issues/" in path else last
        self.posted.append((f"{kind} edited" if method == "PATCH" else kind, body))
        if method == "PATCH":
            next(row for row in self.issue if path.endswith(f"/{row['id']}"))["body"] = body["body"]
            return 200, {}, {}
        user = {"user": {"login": BOT}}
        if kind == "summary":
            self.issue.append({"id": len(self.posted), "body": body["body"], **user})
        for row in [body] if last == "replies" else rows:
            self.comments.append(
                {
                    "id": 1000 + len(self.comments),
                    "body": row["body"],
                    "path": row.get("path", ""),
                    "in_reply_to_id": int(path.split("/")[-2]) if last == "replies" else None,
                    **user,
                }
            )
        if last == "reviews":
            self.reviews.append({"body": body["body"], **user})
        return 201, {"id": len(self.posted)}, {}

    def _graphql(self, body: dict[str, Any]) -> dict[str, Any]:
        if "reviewThreads" in body["query"]:
            ids = [row["id"] for row in self.comments if row["path"]]
            begin = int(body["variables"]["after"] or 0)
            has_more = len(ids) > begin + 100
            ids = ids[begin : begin + 100]
            nodes = [
                {
                    "id": f"T{n}",
                    "isResolved": n in self.resolved,
                    "resolvedBy": {"login": self.resolved_by[n]} if n in self.resolved_by else None,
                    "comments": {"nodes": self._thread(n)},
                }
                for n in ids
            ]
            page = {"hasNextPage": has_more, "endCursor": str(begin + 100)}
            threads = {"pageInfo": page, "nodes": nodes}
            return {"data": {"repository": {"pullRequest": {"reviewThreads": threads}}}}
        if "unresolveReviewThread" in body["query"]:
            self.resolved.discard(int(body["variables"]["id"][1:]))
            self.posted.append(("reopened", body["variables"]))
            return {"data": {"unresolveReviewThread": {"thread": {"isResolved": False}}}}
        if "resolveReviewThread" in body["query"]:
            self.resolved.add(int(body["variables"]["id"][1:]))
            self.posted.append(("resolved", body["variables"]))
            return {"data": {"resolveReviewThread": {"thread": {"isResolved": True}}}}
        return {"errors": [{"message": "unknown query"}]}

    def _thread(self, first: int) -> list[dict[str, Any]]:
        """Return the comments of a thread as GraphQL does: a bot's login is without its ending."""
        return [
            {
                "databaseId": row["id"],
                "body": row["body"],
                "author": {"login": row["user"]["login"].removesuffix("[bot]")},
                "authorAssociation": row.get("association", "NONE"),
            }
            for row in self.comments
            if first in (row["id"], row.get("in_reply_to_id"))
        ]

    def reply(
        self, text: str, login: str = "ann", association: str = "MEMBER", about: str = ""
    ) -> None:
        """Let a person reply with a text, "" for none, to the newest thread that has the words `about`, and resolve
        it."""
        threads = [row for row in self.comments if row["path"] and about in row["body"]]
        first = threads[-1]["id"]
        user = {"login": login}
        row = {"id": 5_000 + len(self.comments), "body": text, "path": "", "user": user}
        if text:
            self.comments.append({**row, "in_reply_to_id": first, "association": association})
        self.resolved.add(first)
        self.resolved_by[first] = login

    def _take_refusal(self, what: str, given: str) -> tuple[int, Any, dict[str, str]] | None:
        if given not in ("", f"Bearer {self.token}"):
            return 401, {"message": "Bad credentials"}, {}
        waiting = self.refuse.get(what)
        if not waiting:
            return None
        status, headers = waiting.pop(0)
        return status, {"message": headers.get("said", f"refused with {status}")}, headers

    def _out_of_diff(self, row: dict[str, Any]) -> str:
        if row.get("subject_type") == "file":
            is_changed = row["path"] in self.patches and row["path"] not in self.refuse_paths
            return "" if is_changed else "path must be part of the diff"
        diff = FileDiff(row["path"], hunks=parse_hunks(self.patches.get(row["path"], "")))
        lines = range(row.get("start_line", row["line"]), row["line"] + 1)
        if (
            row["path"] in self.refuse_paths
            or not set(lines) <= diff.lines
            or row.get("side") != "RIGHT"
        ):
            return "pull_request_review_thread.line must be part of the diff"
        return "" if len(row["body"]) <= 65_536 else "body is too long"
