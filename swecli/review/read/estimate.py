"""What a review is expected to take, before anything is paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swecli.llm.price_table import Row, cost_of
from swecli.models.coverage import Estimate
from swecli.models.message import Usage
from swecli.review.target.plan import Plan

# chosen by hand, used until there are reviews to go by: the system message with its tools, and what a reply takes
BASE_TOKENS = 3_200
REPLY_TOKENS = 700
READ_TOKENS = 2_500  # a file that is read around a part
MOST_LOOPS_OF_PART = 3
VERIFY_SHARE = 2 / 3  # at most, of the reviewer's requests
ENOUGH = 5  # reviews from which on they are gone by
TRIM = 0.1  # of the measured ratios, left out at each end


def make_estimate(
    plan: Plan, most_loops: int, price: Row, past: Sequence[Mapping[str, float]], *, verify: bool
) -> Estimate:
    """The ranges for a plan: by what earlier reviews took for each token of their parts, the smallest and largest
    tenth left out; before there are enough, from each part reported at once to three loops with reading for each.

    Args:
        past: what earlier reviews took: `tokens` and `loops` for `shown` tokens in `parts` parts.
    """
    parts = plan.parts[:most_loops]
    shown = sum(part.tokens for part in parts)
    loops = (len(parts), min(most_loops, len(plan.parts) * MOST_LOOPS_OF_PART))
    # each loop sends the conversation again; after loop 5 its window keeps it from growing
    most = MOST_LOOPS_OF_PART * (shown + loops[1] * (BASE_TOKENS + READ_TOKENS)) * (1 + VERIFY_SHARE if verify else 1)
    tokens, basis = (shown + len(parts) * (BASE_TOKENS + REPLY_TOKENS), int(most)), "constants"
    if len(past) >= ENOUGH and parts:
        basis = f"the last {len(past)} reviews"
        low, high = _range([row["loops"] / row["parts"] for row in past])
        loops = (max(1, int(low * len(parts))), min(most_loops, -int(-high * len(plan.parts) // 1)))
        # what a loop takes beside its parts does not grow with them
        low, high = _range([row["tokens"] / (row["shown"] + row["parts"] * BASE_TOKENS) for row in past])
        size = shown + len(parts) * BASE_TOKENS
        tokens = (int(low * size), int(high * size) + 1)
    checks = -(-loops[1] // 2) if verify else 0
    replies = (loops[0] * REPLY_TOKENS, (loops[1] + checks) * REPLY_TOKENS)
    costs = [
        cost_of(Usage(input=max(0, size - reply), output=reply), price)
        for size, reply in zip(tokens, replies, strict=True)
    ]
    cost = (costs[0], costs[1]) if costs[0] is not None and costs[1] is not None else None
    return Estimate(loops, (loops[0], loops[1] + checks), tokens, cost, len(plan.parts) * 2, basis)


def _range(ratios: Sequence[float]) -> tuple[float, float]:
    ordered, cut = sorted(ratios), int(len(ratios) * TRIM)
    return ordered[cut], ordered[-1 - cut]


def in_words(estimate: Estimate) -> str:
    """`expected by constants: 3 to 9 loops, 3 to 14 requests, 21,000 to 120,000 tokens, $0.04 to $0.31; ...`."""
    low, high = estimate.tokens
    cost = f"${estimate.cost[0]:.2f} to ${estimate.cost[1]:.2f}" if estimate.cost else "price unknown"
    text = (
        f"expected by {estimate.basis}: {estimate.loops[0]} to {estimate.loops[1]} loops, {estimate.requests[0]} to "
        f"{estimate.requests[1]} requests, {low:,} to {high:,} tokens, {cost}"
    )
    more = f"; --loops {estimate.loops_for_all} for all parts" if estimate.loops_for_all > estimate.loops[1] else ""
    return text + more


def beside(estimate: Estimate | None, tokens: int, cost: float | None) -> str:
    """What it took, with what was expected beside it."""
    took = f"took {tokens:,} tokens, {'price unknown' if cost is None else f'${cost:.4f}'}"
    return f"{took} (expected {estimate.tokens[0]:,} to {estimate.tokens[1]:,} tokens)" if estimate else took
