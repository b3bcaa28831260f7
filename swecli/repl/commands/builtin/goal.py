"""`/goal`: let the assistant take turns until a command exits with 0."""

from __future__ import annotations

from swecli.repl.commands.base import CommandContext, command


@command(usage="[--turns N] [--budget-usd X] [--minutes N] COMMAND")
async def _goal(ctx: CommandContext, args: str) -> None:
    """Take turns until COMMAND exits with 0, such as pytest -q; /undo goal takes all of it back"""
    # late: most sessions have no goal
    from swecli.actions.goal import Goal, GoalRun
    from swecli.repl.commands.goal_face import ScreenGoalFace

    goal = Goal.read(args, ctx.runtime.settings)
    await GoalRun(ctx.runtime, goal, ScreenGoalFace(ctx)).run()
