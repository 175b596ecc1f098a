"""The open items of a task, by their positions in its output."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Any

from .contents import Item
from .step import ItemAt, Step


def is_open(step: Step, at: ItemAt) -> bool:
    return at.item in step.output(at.task).scanners


def open_item(step: Step, at: ItemAt) -> None:
    """Opens the item, from the beginning."""
    entries = step.own_list(step.task(at.task), "open")
    place = _place_of(entries, at.item)
    if is_open(step, at):
        entries[place] = {"position": at.item}
    else:
        entries.insert(place, {"position": at.item})
    step.output(at.task).scanners[at.item] = []


def close_item(step: Step, at: ItemAt) -> None:
    if not is_open(step, at):
        return
    task = step.task(at.task)
    entries = step.own_list(task, "open")
    entries.pop(_place_of(entries, at.item))
    if not entries:
        del task["open"]
    del step.output(at.task).scanners[at.item]


def newest_open(step: Step, task: int, fits: Callable[[Item], bool]) -> ItemAt | None:
    state = step.peek_task(task)
    for entry in reversed(state.get("open", ())):
        if fits(state["output"][entry["position"]]):
            return ItemAt(task, entry["position"])
    return None


def is_done(step: Step, at: ItemAt, part: int) -> bool:
    if not is_open(step, at):
        return False
    entries = step.peek_task(at.task)["open"]
    return part in entries[_place_of(entries, at.item)].get("done", ())


def mark_done(step: Step, at: ItemAt, part: int, done: bool) -> None:
    if not is_open(step, at) or is_done(step, at, part) == done:
        return
    entries = step.own_list(step.task(at.task), "open")
    entry = step.own(entries, _place_of(entries, at.item))
    parts = step.own_list(entry, "done")
    if done:
        insort(parts, part)
    else:
        parts.remove(part)
    if not parts:
        del entry["done"]


def _place_of(entries: list[dict[str, Any]], position: int) -> int:
    """Where the position stands, or would stand, in the list."""
    return bisect_left(entries, position, key=lambda entry: entry["position"])
