"""What a review is expected to take, before anything is paid for."""

from __future__ import annotations

from swecli.llm.price_table import Row, cost_of
from swecli.models.coverage import Estimate
from swecli.models.message import Usage
from swecli.review.target.plan import Plan

# chosen by hand, not measured: the system message with its tools, and what a reply takes
BASE_TOKENS = 3_200
REPLY_TOKENS = 700
READ_TOKENS = 2_500  # a file that is read around a part
MOST_LOOPS_OF_PART = 3
VERIFY_SHARE = 2 / 3  # at most, of the reviewer's requests


def make_estimate(plan: Plan, most_loops: int, price: Row, *, verify: bool) -> Estimate:
    """The ranges for a plan: least where each part is reported at once and nothing is found, most where each takes
    three loops with reading and every finding is checked."""
    parts = plan.parts[:most_loops]
    loops = (len(parts), min(most_loops, len(plan.parts) * MOST_LOOPS_OF_PART))
    shown = sum(part.tokens for part in parts)
    least = shown + len(parts) * (BASE_TOKENS + REPLY_TOKENS)
    # each loop sends the conversation again; after loop 5 its window keeps it from growing
    most = MOST_LOOPS_OF_PART * (shown + loops[1] * (BASE_TOKENS + READ_TOKENS))
    checks = -(-loops[1] // 2) if verify else 0
    tokens = (least, int(most * (1 + VERIFY_SHARE if verify else 1)))
    replies = (loops[0] * REPLY_TOKENS, (loops[1] + checks) * REPLY_TOKENS)
    costs = [
        cost_of(Usage(input=max(0, size - reply), output=reply), price)
        for size, reply in zip(tokens, replies, strict=True)
    ]
    cost = (costs[0], costs[1]) if costs[0] is not None and costs[1] is not None else None
    requests = (loops[0], loops[1] + checks)
    return Estimate(loops, requests, tokens, cost, len(plan.parts) * 2, "constants")


def in_words(estimate: Estimate) -> str:
    """`3 to 9 loops, 3 to 14 requests, 21,000 to 120,000 tokens, $0.04 to $0.31; --loops 12 would read all parts`."""
    low, high = estimate.tokens
    cost = f"${estimate.cost[0]:.2f} to ${estimate.cost[1]:.2f}" if estimate.cost else "price unknown"
    text = (
        f"expected: {estimate.loops[0]} to {estimate.loops[1]} loops, {estimate.requests[0]} to {estimate.requests[1]} "
        f"requests, {low:,} to {high:,} tokens, {cost}"
    )
    return (
        f"{text}; --loops {estimate.loops_for_all} for all parts"
        if estimate.loops_for_all > estimate.loops[1]
        else text
    )
