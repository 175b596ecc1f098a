"""Facts that need little: usage, cost, the queue, the acting agent, and the families that are kept as told."""

from __future__ import annotations

import sys
from typing import Any

from .find import find_task, named_turn
from .step import Step, put

_KEPT = 64
"""Entries kept per family; the longest unchanged one goes first, and is counted."""
_LARGEST_COUNT = 2**64 - 1
_COUNTS = ("inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningTokens", "totalTokens")


def model_completed(step: Step, completed: dict[str, Any]) -> None:
    usage = completed.get("usage")
    if usage is not None:
        task, turn = find_task(step), named_turn(step)
        holders: list[dict[str, Any]] = [step.state]
        holders += [] if task is None else [step.task(task)]
        holders += [] if turn is None else [step.turn(turn)]
        for holder in holders:
            holder["usage"] = add_usage(holder["usage"], usage)
        step.change()
    ledger(step, completed)


def cost_recorded(step: Step, cost: dict[str, Any]) -> None:
    currency = cost.get("currency", "USD")
    costs = step.own(step.state, "cost")
    # JSON has no infinity.
    most = sys.float_info.max
    costs[currency] = min(max(costs.get(currency, 0.0) + float(cost["amount"]), -most), most)
    step.change()


def queue_changed(step: Step, changed: dict[str, Any]) -> None:
    step.state["queue"] = changed["queued"]
    step.change()


def agent_changed(step: Step, changed: dict[str, Any]) -> None:
    _set_agent(step, changed["agent"])


def handoff_completed(step: Step, completed: dict[str, Any]) -> None:
    _set_agent(step, completed["to"])


def _set_agent(step: Step, agent: str) -> None:
    task = find_task(step)
    if task is not None:
        step.task(task)["agent"] = agent
    # A child's agent is its own.
    if task is None or "parentTaskId" not in step.peek_task(task):
        step.state["agent"] = agent
    step.change()


def ledger(step: Step, payload: dict[str, Any]) -> None:
    """Keeps the last word about what the event names."""
    event = step.event
    # What we do not know we do not keep: the log has it, and it is delivered as it came.
    if not event.known:
        return
    entry: dict[str, Any] = {"key": _ledger_key(step, payload), "type": event.type, "sequence": event.sequence}
    put(entry, "turnId", step.scope.get("turnId"))
    put(entry, "payload", event.raw_payload)
    families = step.own(step.state, "ledger")
    family = families.setdefault(event.type.partition(".")[0], {"entries": []}).copy()
    families[event.type.partition(".")[0]] = family
    family["entries"] = [other for other in family["entries"] if other["key"] != entry["key"]]
    if len(family["entries"]) == _KEPT:
        family["entries"].pop(0)
        family["dropped"] = family.get("dropped", 0) + 1
    family["entries"].append(entry)
    step.change()


def _ledger_key(step: Step, payload: dict[str, Any]) -> str:
    """What the event is about: the thing that it names, a hook at its point, an edge of the graph, its task, or its type."""
    event = step.event
    named = event.subagent_id if event.subject is None else event.subject
    if named is not None:
        return named
    if event.type.startswith("hook.") and payload.get("hookName") is not None:
        named_parts = (payload.get("hookName"), payload.get("point"), step.scope.get("toolCallId"))
        return " ".join(part for part in named_parts if part is not None)
    target = {"task.delegated": "toTaskId", "task.dependency.updated": "targetId"}.get(event.type)
    task_id = step.scope.get("taskId") if event.type.startswith("task.") else None
    kind = payload.get("kind") if event.type == "task.dependency.updated" else None
    parts = (event.type, task_id, None if target is None else payload.get(target), kind)
    return " ".join(part for part in parts if part is not None)


def add_usage(total: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    out = dict(total)
    for name in _COUNTS:
        if name in more:
            out[name] = min(out.get(name, 0) + more[name], _LARGEST_COUNT)
    return out
