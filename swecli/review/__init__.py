"""Reviews: findings, their ledger, targets and exports; a review is a turn of the agent's loop."""
