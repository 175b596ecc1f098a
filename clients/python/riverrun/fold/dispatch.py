"""Which rule an event type has. A known type without one is kept in the ledger, as it was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..decode.payload import PayloadError
from .actions import action_required, action_resolved
from .benchmarks import benchmark_comparison, benchmark_configuration, benchmark_dataset, benchmark_trial
from .blocks import item_updated
from .files import file
from .find import touch_turn
from .halt import follow_status
from .hooks import hook
from .items import item_completed, item_retracted, item_started
from .jobs import (
    job_created,
    job_ended,
    job_item_completed,
    job_item_failed,
    job_item_started,
    job_progress,
    job_started,
)
from .plain import (
    agent_changed,
    cost_recorded,
    handoff_completed,
    ledger,
    model_completed,
    queue_changed,
)
from .processes import process_ended, process_input, process_output, process_started
from .reasoning import reasoning_delta, reasoning_summary
from .repair import snapshot
from .step import Step
from .tasks import attempt, task_completed, task_created, task_failed, task_status, task_updated
from .text import model_delta, tool_args
from .tools import tool_ended, tool_failed, tool_progress, tool_result, tool_started
from .turns import (
    history_rolled_back,
    session,
    thread,
    turn_cancelled,
    turn_completed,
    turn_failed,
    turn_started,
    turn_submitted,
)

Rule = Callable[[Step, dict[str, Any]], None]

RULES: Final[dict[str, Rule]] = {
    "model.delta": model_delta,
    "reasoning.delta": reasoning_delta,
    "reasoning.summary": reasoning_summary,
    "tool.args": tool_args,
    # It repeats what the other events say.
    "model.raw": lambda step, payload: None,
    "item.started": item_started,
    "item.updated": item_updated,
    "item.completed": item_completed,
    "item.retracted": item_retracted,
    "session.created": session,
    "session.updated": session,
    "thread.started": thread,
    "thread.updated": thread,
    "turn.submitted": turn_submitted,
    "turn.started": turn_started,
    "turn.completed": turn_completed,
    "turn.failed": turn_failed,
    "turn.cancelled": turn_cancelled,
    "task.created": task_created,
    "task.updated": task_updated,
    "task.accepted": task_status("accepted"),
    "task.queued": task_status("queued"),
    "task.started": task_status("running"),
    "task.waiting": task_status("waiting_input"),
    "task.blocked": task_status("blocked"),
    "task.paused": task_status("paused"),
    "task.resumed": task_status("running"),
    "task.retrying": task_status("retrying"),
    "task.cancel_requested": task_status("cancelling"),
    "task.cancelled": task_status("cancelled"),
    "task.timed_out": task_status("timed_out"),
    "task.lost": task_status("lost"),
    "task.archived": task_status("archived"),
    "task.failed": task_failed,
    "task.completed": task_completed,
    "task.attempt.started": attempt("running"),
    "task.attempt.completed": attempt("completed"),
    "task.attempt.failed": attempt("failed"),
    "model.completed": model_completed,
    "tool.started": tool_started,
    "tool.progress": tool_progress,
    "tool.result": tool_result,
    "tool.failed": tool_failed,
    "tool.cancelled": tool_ended("cancelled"),
    "tool.outcome_unknown": tool_ended("unknown"),
    "action.required": action_required,
    "action.resolved": action_resolved,
    "queue.changed": queue_changed,
    "hook.started": hook("running"),
    "hook.completed": hook("completed"),
    "hook.failed": hook("failed"),
    "file.processing.started": file("running"),
    "file.processing.completed": file("completed"),
    "file.processing.failed": file("failed"),
    "agent.changed": agent_changed,
    "handoff.completed": handoff_completed,
    "cost.recorded": cost_recorded,
    "process.started": process_started,
    "process.output": process_output,
    "process.input": process_input,
    "process.completed": process_ended("completed"),
    "process.failed": process_ended("failed"),
    "process.terminated": process_ended("cancelled"),
    "job.created": job_created,
    "job.started": job_started,
    "job.progress": job_progress,
    "job.item.started": job_item_started,
    "job.item.completed": job_item_completed,
    "job.item.failed": job_item_failed,
    "job.completed": job_ended("completed"),
    "job.failed": job_ended("failed"),
    "job.cancelled": job_ended("cancelled"),
    "benchmark.dataset.resolved": benchmark_dataset,
    "benchmark.configuration.resolved": benchmark_configuration,
    "benchmark.trial.started": benchmark_trial("running"),
    "benchmark.trial.completed": benchmark_trial("completed"),
    "benchmark.trial.failed": benchmark_trial("failed"),
    "benchmark.reward.recorded": benchmark_trial(None),
    "benchmark.comparison.completed": benchmark_comparison,
    "history.rollback.completed": history_rolled_back,
    "snapshot.updated": snapshot,
    "snapshot.repaired": snapshot,
}


def run(step: Step) -> None:
    payload = step.event.payload
    if isinstance(payload, PayloadError):
        return step.problem("malformed", str(payload))
    problems = step.state["problems"]["count"]
    touch_turn(step)
    RULES.get(step.event.type, ledger)(step, payload)
    # An event that was refused says nothing about its session.
    if step.state["problems"]["count"] == problems:
        follow_status(step)
