"""Items: begun, completed, withdrawn."""

from __future__ import annotations

from typing import Any

from .cite import cite_unless_annotated, reset_scanner
from .contents import (
    HAVE_STATUS,
    Block,
    Item,
    blocks_of,
    contents_of,
    id_of,
    is_text,
    item_of,
    keeps_contents,
    patched,
    references_of,
    status_of,
)
from .derived import decrease
from .find import find_task, item_by_id, live_task
from .opened import close_item, is_done, is_open, open_item
from .step import ItemAt, Step


def item_started(step: Step, started: dict[str, Any]) -> None:
    task = live_task(step)
    if task is None:
        return
    item_id = id_of(started["item"])
    if item_id is None:
        return step.problem("malformed", "the item has no id")
    known = item_by_id(step, task, item_id)
    if known is None:
        _check_place(step, task, item_id, started["outputIndex"])
        at = push_item(step, task, started["item"])
    else:
        at = _restart_item(step, known, started["item"])
    _announce_contents(step, at)


def item_completed(step: Step, completed: dict[str, Any]) -> None:
    task = live_task(step)
    if task is None:
        return
    patch = completed["item"]
    item_id = id_of(patch)
    if item_id is None:
        return step.problem("malformed", "the item has no id")
    at = item_by_id(step, task, item_id)
    if at is None:
        _check_place(step, task, item_id, completed["outputIndex"])
        at = push_item(step, task, item_of(patch))
        _announce_contents(step, at)
    elif not is_open(step, at):
        return step.problem("already_ended", f"item `{item_id}` was complete")
    elif not _patch_item(step, at, patch):
        return
    finish_item(step, at, status_of(patch) or "completed")


def item_retracted(step: Step, told: dict[str, Any]) -> None:
    task = find_task(step)
    at = None if task is None else item_by_id(step, task, told["itemId"])
    if at is None:
        return step.problem("unknown_item", f"item `{told['itemId']}`")
    state = step.task(at.task)
    retracted = state.get("retracted", [])
    if at.item in retracted:
        return
    state["retracted"] = sorted([*retracted, at.item])
    close_item(step, at)
    _set_status(step, at, "incomplete")
    step.change()


def push_item(step: Step, task: int, item: Item) -> ItemAt:
    """Puts a new item at the end of the output, open."""
    output = step.own(step.task(task), "output")
    at = ItemAt(task, len(output))
    item_id = id_of(item)
    if item_id is not None:
        step.output(task).positions[item_id] = at.item
    output.append(_in_progress(item))
    open_item(step, at)
    _count(step, at)
    step.change()
    return at


def _restart_item(step: Step, at: ItemAt, item: Item) -> ItemAt:
    """An item that begins again is what it says now."""
    _discount(step, at)
    task = step.task(at.task)
    step.own(task, "output")[at.item] = _in_progress(item)
    open_item(step, at)
    retracted = [position for position in task.pop("retracted", ()) if position != at.item]
    if retracted:
        task["retracted"] = retracted
    _count(step, at)
    step.change()
    return at


def _in_progress(item: Item) -> Item:
    return {"status": "in_progress", **item} if item["type"] in HAVE_STATUS else item


def _check_place(step: Step, task: int, item_id: str, output_index: int) -> None:
    place = len(step.peek_task(task)["output"])
    if output_index != place:
        step.problem("output_index", f"item `{item_id}` at {output_index}, the next place is {place}")


def _count(step: Step, at: ItemAt) -> None:
    """Enters what others look up in the item: the call that it belongs to, the numbers that it can be cited by."""
    item = step.peek_item(at)
    step.derived.add_caller(at.task, item)
    step.output(at.task).references.update(references_of(item))


def _discount(step: Step, at: ItemAt) -> None:
    """Takes out what `_count` entered, before the item changes."""
    item = step.peek_item(at)
    step.derived.remove_caller(at.task, item)
    for number in references_of(item):
        decrease(step.output(at.task).references, number)


def _announce_contents(step: Step, at: ItemAt) -> None:
    """An item may begin with contents: they are told like contents that came later."""
    kind, parts = contents_of(step.peek_item(at))
    for part in range(parts):
        step.change()
        if kind == "summary":
            step.change()
        elif kind == "block":
            block = step.peek_block(at, part)
            if block is not None and is_text(block) and block["text"] != "":
                step.change()
                cite_unless_annotated(step, at, part)


def _patch_item(step: Step, at: ItemAt, patch: Item) -> bool:
    """Merges: an absent member keeps, a present one replaces, null clears. False if the types differ."""
    item = step.peek_item(at)
    if item["type"] != patch["type"]:
        detail = f"a patch of type `{patch['type']}` does not fit an item of type `{item['type']}`"
        step.problem("wrong_item_type", detail)
        return False
    keeps = keeps_contents(patch)
    before = blocks_of(item)
    if not keeps:
        _discount(step, at)
    step.own(step.task(at.task), "output")[at.item] = patched(item, patch)
    if not keeps:
        _count(step, at)
        _keep_annotations(step, at, before)
    return True


def _keep_annotations(step: Step, at: ItemAt, before: list[Block]) -> None:
    """A text that was only confirmed keeps the annotations that were found in it."""
    for part, block in enumerate(blocks_of(step.peek_item(at))):
        if block["type"] != "text":
            continue
        old = before[part] if part < len(before) else None
        if old is None or old["type"] != "text" or old["text"] != block["text"]:
            reset_scanner(step, at, part)
            cite_unless_annotated(step, at, part)
        elif "annotations" not in block and "annotations" in old:
            step.block(at, part)["annotations"] = old["annotations"]


def finish_item(step: Step, at: ItemAt, status: str) -> None:
    """Closes what is open in the item, then the item."""
    _, parts = contents_of(step.peek_item(at))
    for part in range(parts):
        if not is_done(step, at, part):
            step.change()
    _set_status(step, at, status)
    close_item(step, at)
    step.change()


def _set_status(step: Step, at: ItemAt, status: str) -> None:
    if step.peek_item(at)["type"] in HAVE_STATUS:
        step.item(at)["status"] = status
