"""Findings on a pull request: inline where they may be, else in the summary, none twice, every refusal one line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swecli.models.errors import BadInput, SwecliError
from swecli.models.finding import Finding
from swecli.review.publish.posting import MOST_INLINE, dry_run, plan, send
from swecli.review.target.github import GitHub
from swecli.review.target.pull_request import pull_diffs
from tests.support.github import HEAD, FakeGitHub

PATCH = "@@ -1,3 +1,4 @@\n one\n+two\n+three\n four\n"


def one(path: str, line: int, mark: str, **fields: object) -> Finding:
    return Finding(path, line, "DEAD_CODE", f"m {mark}", fingerprint=mark * 8, id="F-1", **fields)  # type: ignore[arg-type]


INSIDE, RANGE = one("a.py", 2, "a", suggestion="x = 1"), one("a.py", 2, "b", end_line=3, suggestion="y")
OUTSIDE, OTHER = one("a.py", 40, "c", suggestion="z"), one("z.py", 1, "d")
LONG = one("a.py", 3, "e", end_line=9, suggestion="never: its lines are not all in the diff")


@pytest.fixture
def hub() -> Iterator[FakeGitHub]:
    with FakeGitHub({"a.py": PATCH, "b.py": PATCH}) as hub:
        yield hub


def client(hub: FakeGitHub, token: str = "secret") -> GitHub:
    return GitHub("acme/shop", token, hub.url)


def go(hub: FakeGitHub, *findings: Finding) -> tuple[int, int, int]:
    github = client(hub)
    diffs = pull_diffs(github, 7)
    posting = plan(findings, github, 7, HEAD, diffs)
    done = send(posting, github, diffs)
    return done.posted, done.failed, posting.known


def test_only_lines_in_the_diff_are_inline_and_a_second_run_posts_nothing(hub: FakeGitHub) -> None:
    everything = (INSIDE, RANGE, OUTSIDE, OTHER, LONG, one("a.py", 2, "f", state="dismissed"))
    assert go(hub, *everything) == (5, 0, 0)
    [(kind, body)] = hub.posted
    assert kind == "reviews"
    assert [(c["line"], c.get("start_line")) for c in body["comments"]] == [(2, None), (3, 2), (4, 3)]
    assert ["```suggestion" in c["body"] for c in body["comments"]] == [True, True, False]
    assert "a.py:40" in body["body"]
    assert "z.py:1" in body["body"]
    assert go(hub, *everything) == (0, 0, 5)
    assert len(hub.posted) == 1


def test_a_dry_run_posts_nothing(hub: FakeGitHub) -> None:
    diffs = pull_diffs(client(hub), 7)
    lines = dry_run(plan([INSIDE, OUTSIDE], client(hub), 7, HEAD, diffs), diffs)
    assert [line.split(" ")[0] for line in lines] == ["inline", "summary", "1"]
    assert hub.posted == []


def test_where_a_comment_is_refused_all_stand_in_the_summary_of_one_review(hub: FakeGitHub) -> None:
    hub.refuse_paths = {"b.py"}
    assert go(hub, INSIDE, one("b.py", 2, "f"), OUTSIDE) == (3, 0, 0)
    [(kind, body)] = hub.posted
    assert (kind, body.get("comments", [])) == ("reviews", [])
    assert go(hub, INSIDE, OUTSIDE) == (0, 0, 2)


def test_three_hundred_findings_are_one_review_of_the_ten_worst_and_a_table(hub: FakeGitHub) -> None:
    severities = ("low", "medium", "high")
    findings = [Finding("a.py", 2, f"T{n}", "m", severities[n % 3], fingerprint=f"{n:08x}") for n in range(300)]
    assert go(hub, *findings) == (300, 0, 0)
    [(kind, body)] = hub.posted
    assert (kind, len(body["comments"])) == ("reviews", MOST_INLINE)
    assert all("(high)" in comment["body"] for comment in body["comments"])
    assert body["body"].count("<!-- swecli ") == 290
    assert go(hub, *findings) == (0, 0, 300)
    assert len(hub.posted) == 1


def test_a_wait_that_github_asks_for_is_kept(hub: FakeGitHub) -> None:
    hub.refuse["POST reviews"] = [(403, {"retry-after": "0"})]
    assert go(hub, INSIDE) == (1, 0, 0)


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (401, {}, "does not take the token"),
        (403, {}, "forbids it"),
        (403, {"x-ratelimit-remaining": "0"}, "rate limit"),
        (429, {"retry-after": "600"}, "Try again in 600 s"),
        (404, {}, "There is no pull request 7"),
        (422, {}, "cannot use the request"),
        (500, {}, "answered with 500"),
    ],
)
def test_each_refusal_is_one_clear_line(hub: FakeGitHub, status: int, headers: dict[str, str], said: str) -> None:
    hub.refuse["POST reviews"] = [(status, headers)]
    with pytest.raises(SwecliError) as caught:
        go(hub, OUTSIDE)
    assert said in str(caught.value)
    assert "findings are kept" in caught.value.hint
    assert "\n" not in str(caught.value)


def test_without_a_token_or_a_server_it_is_said(hub: FakeGitHub) -> None:
    github = client(hub, token="")
    diffs = pull_diffs(github, 7)
    with pytest.raises(BadInput, match="no token"):
        send(plan([INSIDE], github, 7, HEAD, diffs), github, diffs)
    with pytest.raises(SwecliError, match="cannot be reached"):
        GitHub("acme/shop", "", "http://127.0.0.1:9").get("pulls/7")
