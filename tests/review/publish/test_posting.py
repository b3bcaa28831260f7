"""Test posting findings to a pull request: one review per push, the rest in one summary that stores the state, none
twice."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scripts.benchmarks.pushes import pushes
from swecli.models.errors import BadInput, SwecliError
from swecli.models.finding import Finding
from swecli.models.review_events import Coverage, ReviewFinished
from swecli.review.publish.posting import MAX_INLINE, Push, plan_push
from swecli.review.target.diffs import FileDiff, parse_hunks
from swecli.review.target.github import GitHub, PullState, Thread
from swecli.review.target.targets import Target
from tests.support.github import BOT, HEAD, FakeGitHub

PATCH = "@@ -1,3 +1,4 @@\n one\n+two\n+three\n four\n"


def make_finding(path: str, line: int, mark: str, **fields: object) -> Finding:
    known = {"verdict": "confirmed", "severity": "high", "fingerprint": mark * 8, "id": "F-1"}
    return Finding(path, line, "DEAD_CODE", f"m {mark}", **{**known, **fields})  # type: ignore[arg-type]


INSIDE, RANGE = (
    make_finding("a.py", 2, "a", suggestion="x = 1"),
    make_finding("a.py", 2, "b", end_line=3, suggestion="y"),
)
OUTSIDE, OTHER = make_finding("a.py", 40, "c", suggestion="z"), make_finding("z.py", 1, "d")
LONG = make_finding(
    "a.py", 3, "e", end_line=9, suggestion="never: its lines are not all in the diff"
)


@pytest.fixture
def hub() -> Iterator[FakeGitHub]:
    with FakeGitHub({"a.py": PATCH, "b.py": PATCH}) as hub:
        yield hub


def make_push(
    hub: FakeGitHub, *findings: Finding, token: str = "secret", left: bool = False
) -> Push:
    github = GitHub("acme/shop", token, hub.url)
    end = ReviewFinished(0, 0, 1, {}, "R-1", "done", findings, coverage=Coverage(total=int(left)))
    diffs = {path: FileDiff(path, hunks=parse_hunks(patch)) for path, patch in hub.patches.items()}
    target = Target(
        ("--pr", "7"),
        "",
        (),
        diffs,
        pr=7,
        head=hub.head,
        earlier=PullState.load(github, 7),
        github=github,
    )
    return plan_push(target, end, ["d1"])


def posted_kinds(hub: FakeGitHub) -> list[str]:
    return [kind for kind, _ in hub.posted]


def test_only_findings_in_the_diff_are_posted_inline_and_a_second_run_posts_nothing(
    hub: FakeGitHub,
) -> None:
    everything = (
        INSIDE,
        RANGE,
        OUTSIDE,
        OTHER,
        LONG,
        make_finding("a.py", 2, "f", state="dismissed"),
    )
    assert list(make_push(hub, *everything).post().lines) == [
        "posted: 3 inline, 1 on files, 1 in the summary, 0 fixed, 0 already posted"
    ]
    assert posted_kinds(hub) == ["reviews", "comments", "summary"]
    comments, text = hub.posted[0][1]["comments"], hub.posted[2][1]["body"]
    assert [(c["line"], c.get("start_line")) for c in comments] == [(2, None), (3, 2), (4, 3)]
    assert ["```suggestion" in c["body"] for c in comments] == [True, True, False]
    assert "**DEAD_CODE** (high, line 40) m c" in hub.posted[1][1]["body"]
    assert "z.py:1" in text
    assert "5 open findings, 4 with a comment" in text
    assert list(make_push(hub, *everything).post().lines) == ["nothing new, 4 already posted"]
    assert len(hub.posted) == 3


def test_a_comment_on_a_file_that_github_rejects_is_in_the_summary(hub: FakeGitHub) -> None:
    hub.refuse_paths = {"a.py"}
    done = make_push(hub, OUTSIDE).post()
    assert (done.findings, done.rejected) == (0, 1)
    assert posted_kinds(hub) == ["summary"]
    assert "a.py:40" in hub.posted[0][1]["body"]


def test_a_dry_run_posts_nothing(hub: FakeGitHub) -> None:
    lines = make_push(hub, INSIDE, OUTSIDE).lines
    assert [line.split(" ")[0] for line in lines] == ["inline", "on", "1"]
    assert hub.posted == []


def test_if_an_inline_comment_is_refused_all_are_comments_on_files_or_in_the_summary(
    hub: FakeGitHub,
) -> None:
    hub.refuse_paths = {"b.py"}
    done = make_push(hub, INSIDE, make_finding("b.py", 2, "f"), OTHER).post()
    assert (
        done.lines[-1]
        == "posted: 0 inline, 1 on files, 2 in the summary, 0 fixed, 0 already posted"
    )
    assert (done.findings, done.rejected) == (2, 1)
    assert posted_kinds(hub) == ["comments", "summary"]
    assert "**DEAD_CODE** (high, line 2) m a" in hub.posted[0][1]["body"]
    assert "b.py:2" in hub.posted[1][1]["body"]


def test_300_findings_are_posted_as_a_review_of_the_ten_worst_and_one_summary(
    hub: FakeGitHub,
) -> None:
    severities = ("medium", "high", "critical")
    findings = [
        make_finding("a.py", 2, "a", fingerprint=f"{n:08x}", severity=severities[n % 3])
        for n in range(300)
    ]
    make_push(hub, *findings).post()
    assert posted_kinds(hub) == ["reviews", "summary"]
    assert len(hub.posted[0][1]["comments"]) == MAX_INLINE
    assert all("(critical)" in comment["body"] for comment in hub.posted[0][1]["comments"])
    make_push(hub, *findings).post()
    assert len(hub.posted) == 2


def test_low_undecided_and_late_findings_are_not_inline_but_late_critical_ones_are(
    hub: FakeGitHub,
) -> None:
    quiet = [
        make_finding("a.py", 2, "a", severity="low"),
        make_finding("a.py", 2, "b", verdict="cannot_tell"),
        make_finding("a.py", 3, "c", late=True),
    ]
    critical = make_finding("a.py", 3, "d", late=True, severity="critical")
    assert [f.fingerprint[0] for f in make_push(hub, *quiet, critical).inline] == ["d"]


def test_a_fixed_finding_gets_one_reply_and_its_thread_is_resolved(hub: FakeGitHub) -> None:
    make_push(hub, INSIDE).post()
    fixed = replace(INSIDE, state="fixed", reason="it checks now")
    make_push(hub, fixed).post()
    assert posted_kinds(hub)[2:] == ["replies", "resolved", "summary edited"]
    assert "fixed in aaaaaaaaaaaa: it checks now" in hub.posted[2][1]["body"]
    make_push(hub, fixed).post()
    assert len(hub.posted) == 5


def test_a_finding_whose_thread_a_person_resolved_is_not_posted_again(hub: FakeGitHub) -> None:
    make_push(hub, INSIDE).post()
    hub.resolved.add(hub.comments[0]["id"])
    assert list(make_push(hub, INSIDE).post().lines) == ["nothing new, 1 already posted"]


def test_a_summary_that_another_job_posted_meanwhile_is_edited(hub: FakeGitHub) -> None:
    first, second = make_push(hub, INSIDE), make_push(hub, OUTSIDE)
    first.post()
    second.post()
    assert len(hub.issue) == 1


def test_two_jobs_on_one_commit_comment_on_a_finding_once(hub: FakeGitHub) -> None:
    first, second = make_push(hub, INSIDE, OUTSIDE), make_push(hub, INSIDE, OUTSIDE)
    first.post()
    done = second.post()
    assert posted_kinds(hub) == ["reviews", "comments", "summary", "summary edited"]
    assert done.lines[-1] == ("posted: 0 inline, 0 in the summary, 0 fixed, 2 already posted")
    assert (done.findings, done.rejected) == (0, 0)


def test_threads_of_all_pages_are_read(hub: FakeGitHub) -> None:
    user = {"user": {"login": BOT}}
    for number in range(121):
        body = f"x <!-- swecli {number:08x} -->"
        hub.comments.append({"id": 1 + number, "body": body, "path": "a.py", **user})
    threads = Thread.load(GitHub("acme/shop", "secret", hub.url), 7)
    assert len(threads) == 121


def test_if_resolving_a_thread_is_refused_the_reply_and_the_summary_are_still_posted(
    hub: FakeGitHub,
) -> None:
    make_push(hub, INSIDE).post()
    hub.refuse["POST graphql"] = [(403, {})]
    lines = make_push(hub, replace(INSIDE, state="fixed")).post().lines
    assert lines[0].startswith("threads could not be resolved, only replied to: GitHub refused it")
    assert posted_kinds(hub)[2:] == ["replies", "summary edited"]


def test_a_finding_that_is_gone_is_only_noted_in_the_summary(hub: FakeGitHub) -> None:
    make_push(hub, INSIDE).post()
    make_push(hub, replace(INSIDE, state="gone")).post()
    assert posted_kinds(hub)[2:] == ["summary edited"]
    assert "gone, not verified" in hub.posted[2][1]["body"]


def test_the_summary_of_an_incomplete_review_begins_with_how_much_was_read(hub: FakeGitHub) -> None:
    make_push(hub, INSIDE, left=True).post()
    assert hub.posted[1][1]["body"].startswith("**Incomplete:** read 0 of 1")


def test_the_state_is_loaded_from_the_summary_without_the_code_of_findings(hub: FakeGitHub) -> None:
    make_push(hub, replace(INSIDE, evidence="secret code", anchor="secret code")).post()
    state = PullState.load(GitHub("acme/shop", "secret", hub.url), 7)
    assert (state.head, state.digests) == (HEAD, ("d1",))
    assert [(f.fingerprint, f.state, f.verdict, f.evidence, f.anchor) for f in state.findings] == [
        (INSIDE.fingerprint, "open", "confirmed", "", "")
    ]


def state_comment(**fields: object) -> str:
    row = {"v": 1, "head": "a" * 40, "digests": [], "findings": []} | fields
    return f"<!-- swecli-state {base64.b64encode(zlib.compress(json.dumps(row).encode())).decode()} -->"


GOOD_ROW = {
    "path": "a.py", "line": 1, "end_line": 0, "kind": "smell", "code_smell_type": "X", "severity": "high",
    "message": "m", "verdict": "", "state": "open", "block": "", "symbol": "", "fingerprint": "ab" * 4, "aliases": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "<!-- swecli-state AAAA -->",
        state_comment(v=2),
        state_comment(head="<script>"),
        state_comment(digests=[1]),
        state_comment(findings=[{}]),
        *(
            state_comment(findings=[GOOD_ROW | wrong])
            for wrong in (
                {"path": "../../etc/passwd"}, {"line": -4}, {"line": 10**9}, {"state": "refuted"}, {"severity": "x"},
                {"reason": 3}, {"message": "m" * 600}, {"fingerprint": "--"}, {"block": "[1]"}, {"aliases": [1]},
            )
        ),
    ],
)  # fmt: skip
def test_an_invalid_state_comment_is_ignored_and_replaced_in_place(
    hub: FakeGitHub, text: str
) -> None:
    hub.issue.append({"id": 5, "body": text, "user": {"login": BOT}})
    state = PullState.load(GitHub("acme/shop", "secret", hub.url), 7)
    assert (state.digests, state.findings, state.comment) == ((), (), 5)
    make_push(hub, INSIDE).post()
    assert len(hub.issue) == 1


def test_a_state_or_marker_in_a_comment_of_another_user_is_ignored(hub: FakeGitHub) -> None:
    hub.issue.append(
        {
            "id": 5,
            "body": PullState("a" * 40, ("d1",), (INSIDE,)).pack(),
            "user": {"login": "mallory"},
        }
    )
    hub.comments.append(
        {"id": 6, "body": f"<!-- swecli {INSIDE.fingerprint} -->", "user": {"login": "mallory"}}
    )
    push = make_push(hub, INSIDE)
    assert (push.target.earlier.digests, push.already_posted, len(push.inline)) == ((), (), 1)


@pytest.mark.slow
def test_each_of_five_pushes_with_a_rebase_reviews_and_posts_only_what_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = list(pushes())
    assert [(row.reviewer, row.posted) for row in rows] == [
        (1, {"review of 2": 1, "summary": 1}),
        (0, {}),
        (1, {"review of 2": 1, "replies": 1, "resolved": 1, "summary edited": 1}),
        (0, {"summary edited": 1}),
        (0, {"replies": 2, "resolved": 2, "summary edited": 1}),
    ]
    assert rows[-1].states == {"open": 1, "fixed": 4}


def test_a_post_refused_with_retry_after_is_retried(hub: FakeGitHub) -> None:
    hub.refuse["POST reviews"] = [(403, {"retry-after": "0"})]
    assert make_push(hub, INSIDE).post().lines[0].startswith("posted: 1 inline")


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (401, {}, "does not accept the token"),
        (403, {}, "refused it"),
        (403, {"x-ratelimit-remaining": "0"}, "rate limit"),
        (403, {"said": "You have exceeded a secondary rate limit."}, "rate limit"),
        (429, {"retry-after": "600"}, "Try again in 600 s"),
        (404, {}, "There is no issues/7/comments"),
        (422, {}, "rejected the request"),
        (500, {}, "answered with 500"),
    ],
)
def test_each_error_status_of_github_has_a_message_of_one_line_and_an_exit_code(
    hub: FakeGitHub, status: int, headers: dict[str, str], message: str
) -> None:
    hub.refuse["POST comments"] = [(status, headers)]
    with pytest.raises(SwecliError) as caught:
        make_push(hub, OTHER).post()
    assert message in str(caught.value)
    assert caught.value.exit_code == (
        75 if "rate limit" in str(caught.value) or status in (429, 500) else 1
    )
    assert "findings are kept" in caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_missing_token_and_an_unreachable_server_are_errors(hub: FakeGitHub) -> None:
    with pytest.raises(BadInput, match="no token"):
        make_push(hub, INSIDE, token="").post()
    with pytest.raises(SwecliError, match="cannot be reached"):
        GitHub("acme/shop", "", "http://127.0.0.1:9").request("GET", "pulls/7")


def test_a_deleted_comment_is_reported_and_the_other_findings_are_posted(hub: FakeGitHub) -> None:
    make_push(hub, INSIDE, RANGE).post()
    push = make_push(hub, replace(INSIDE, state="fixed"), replace(RANGE, state="fixed"), OTHER)
    del hub.comments[0]
    lines = push.post().lines
    assert "could not be replied to" in lines[0]
    assert lines[-1].startswith("posted: 0 inline, 1 in the summary, 2 fixed")
    assert posted_kinds(hub)[2:] == ["replies", "resolved", "summary edited"]
